//! The congestion window: growth, reduction, fast increase and its resumption (RFC 8298 section 4.1.2).

use super::Params;
use paceline_units::{Bytes, Time, TimeDelta};

/// Events since the last update of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowInput {
    /// Bytes newly acknowledged.
    pub acked: f64,
    /// Bytes in flight now.
    pub in_flight: f64,
    /// Bytes in flight before the report.
    pub before: f64,
    /// A loss event.
    pub loss: bool,
    /// An ECN event.
    pub ce: bool,
    /// The part of marked bytes under L4S; absent without.
    pub alpha: Option<f64>,
    /// Queue delay over its target.
    pub delay_fraction: f64,
    /// Trend of the queue delay, 0 to 1.
    pub trend: f64,
    /// Largest packet, bytes.
    pub mss: f64,
    /// Present throughput, bit/s.
    pub rate: f64,
    /// Bytes in flight that recent flights allow, bytes.
    pub flight_limit: f64,
}

impl WindowInput {
    /// Whether the flight fills the window, with head room: only then it may grow.
    fn fills(&self, params: &Params, head_room: f64, cwnd: f64) -> bool {
        if params.flight_before_report {
            head_room * self.before > cwnd
        } else {
            head_room * self.in_flight + self.acked > cwnd
        }
    }
}

/// `cwnd` and the state of fast increase.
#[derive(Clone, Debug)]
pub struct Window {
    /// The congestion window in bytes.
    pub cwnd: f64,
    /// The same in whole bytes, since it is asked for more often than it moves.
    whole: Bytes,
    /// Whether fast increase is on.
    pub in_fast_increase: bool,
    /// Whether there ever was a sign of congestion.
    pub had_congestion: bool,
    last_congestion: Time,
    last_update: Time,
    /// How far growth is back after congestion, 0 to 1.
    pub post: f64,
}

impl Window {
    /// The window of a flow that starts at `now`.
    pub fn new(params: &Params, now: Time) -> Window {
        let cwnd = params.initial_cwnd.max(params.min_cwnd).as_f64();
        let (in_fast_increase, had_congestion) = (true, false);
        Window {
            cwnd,
            whole: Bytes::new(cwnd as u64),
            in_fast_increase,
            had_congestion,
            last_congestion: now,
            last_update: now,
            post: 1.0,
        }
    }

    /// The congestion window in whole bytes.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        self.whole
    }

    fn set(&mut self, cwnd: f64) {
        (self.cwnd, self.whole) = (cwnd, Bytes::new(cwnd as u64));
    }

    /// Replaces the window, as coupling asks.
    pub fn assign(&mut self, params: &Params, cwnd: f64, mss: f64) {
        self.set(cwnd.max(smallest(params, mss)));
    }

    /// Contact was lost: growth begins anew from the smallest window.
    pub fn restart(&mut self, params: &Params, now: Time, mss: f64) {
        self.set(smallest(params, mss));
        (self.in_fast_increase, self.had_congestion) = (true, true);
        self.last_congestion = now;
    }

    /// Reports come again: the window is this, if it is not larger.
    pub fn resume(&mut self, params: &Params, cwnd: f64, mss: f64) {
        self.set(cwnd.max(self.cwnd).max(smallest(params, mss)));
    }

    /// One update. Loss and ECN reduce; without either the window follows the delay.
    pub fn update(&mut self, params: &Params, now: Time, input: &WindowInput) {
        if input.loss || input.ce {
            self.reduce(params, now, input);
        } else {
            self.follow_delay(params, now, input);
        }
        if params.max_bytes_in_flight_always && self.had_congestion {
            self.limit(params, input);
        }
        self.set(self.cwnd.max(smallest(params, input.mss)));
        self.check_to_resume_fast_increase(params, now, input.trend);
        self.last_update = now;
    }

    /// Section 4.1.2.1: at most once a round trip, which the caller sees to.
    fn reduce(&mut self, params: &Params, now: Time, input: &WindowInput) {
        self.cwnd *= match input.alpha {
            _ if input.loss => params.beta_loss,
            // The flight follows the target.
            Some(_) if params.follows_marks() => 1.0,
            Some(alpha) => 1.0 - alpha / (2.0 * params.l4s_head_room),
            None => params.beta_ecn,
        };
        self.leave_fast_increase();
        self.last_congestion = now;
        self.post = 0.0;
    }

    /// Moves the window by the queue delay (section 4.1.2.2, `update_cwnd`).
    fn follow_delay(&mut self, params: &Params, now: Time, input: &WindowInput) {
        self.post = ramp(now.saturating_since(self.last_congestion), params.post_congestion_delay);
        if self.in_fast_increase && input.trend >= params.qdelay_trend_th {
            self.leave_fast_increase();
        }
        let elapsed = now.saturating_since(self.last_update).as_secs_f64();
        let growth_acked = input.acked.min(params.acked_head_room * input.rate * elapsed / 8.0);
        let growth_acked = if growth_acked.is_nan() { input.acked } else { growth_acked };
        if self.in_fast_increase {
            if input.fills(params, params.fast_increase_use, self.cwnd) {
                self.cwnd += self.post * growth_acked;
            }
            return;
        }
        let off_target = 1.0 - input.delay_fraction;
        if off_target > 0.0 {
            if input.fills(params, params.window_use, self.cwnd) {
                self.cwnd += params.gain * off_target * growth_acked * input.mss / self.cwnd;
            }
        } else {
            let decrease = params.gain_down * -off_target * input.acked * input.mss / self.cwnd;
            self.cwnd -= decrease.min(params.max_decrease * self.cwnd);
            self.last_congestion = now;
        }
        if !params.max_bytes_in_flight_always {
            self.limit(params, input);
        }
    }

    fn limit(&mut self, params: &Params, input: &WindowInput) {
        if input.flight_limit > params.max_bytes_in_flight_floor.as_f64() {
            self.cwnd = self.cwnd.min(input.flight_limit);
        }
    }

    fn leave_fast_increase(&mut self) {
        self.in_fast_increase = false;
        self.had_congestion = true;
    }

    /// Section 4.1.2.7.
    fn check_to_resume_fast_increase(&mut self, params: &Params, now: Time, trend: f64) {
        if trend > params.qdelay_trend_lo {
            self.last_congestion = now;
        } else if !self.in_fast_increase
            && now.saturating_since(self.last_congestion) >= params.t_resume_fast_increase
        {
            self.in_fast_increase = true;
            self.last_congestion = now;
        }
    }
}

/// The smallest window, bytes.
fn smallest(params: &Params, mss: f64) -> f64 {
    params.min_cwnd.as_f64().max(params.min_cwnd_packets * mss)
}

/// 0 at first, 1 from `length` on, straight between.
fn ramp(elapsed: TimeDelta, length: TimeDelta) -> f64 {
    if elapsed >= length { 1.0 } else { elapsed.as_secs_f64() / length.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::param::Profiles;

    const QUIET: WindowInput = WindowInput {
        acked: 2000.0,
        in_flight: 20_000.0,
        before: 22_000.0,
        loss: false,
        ce: false,
        alpha: None,
        delay_fraction: 0.0,
        trend: 0.0,
        mss: 1000.0,
        rate: 8e6,
        flight_limit: 1e9,
    };

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// A window of 20,000 B that has left fast increase.
    fn window(params: &Params) -> Window {
        let mut window =
            Window::new(&Params { initial_cwnd: Bytes::new(20_000), ..params.clone() }, Time::ZERO);
        window.in_fast_increase = false;
        window
    }

    fn after(params: &Params, input: WindowInput) -> f64 {
        let mut window = window(params);
        window.update(params, at(10), &input);
        assert_eq!(window.bytes(), Bytes::new(window.cwnd as u64));
        window.cwnd
    }

    #[test]
    fn fast_increase_adds_what_was_acknowledged_while_the_window_is_used() {
        let params = Params::rfc8298();
        let mut window = Window::new(&params, Time::ZERO);
        window.update(&params, at(10), &QUIET);
        assert_eq!(window.cwnd, 5000.0);
        window.update(&params, at(20), &WindowInput { in_flight: 1000.0, ..QUIET });
        assert_eq!(window.cwnd, 5000.0, "1.5 x 1000 + 2000 does not fill 5000");
        window.update(&params, at(30), &WindowInput { trend: 0.2, ..QUIET });
        assert!(!window.in_fast_increase && window.had_congestion);
    }

    #[test]
    fn the_delay_steers_the_window_otherwise() {
        let rfc = Params::rfc8298();
        assert_eq!(after(&rfc, QUIET), 20_100.0, "1 x 2000 x 1000/20000");
        assert_eq!(after(&rfc, WindowInput { delay_fraction: 1.5, ..QUIET }), 19_950.0);
        assert_eq!(after(&rfc, WindowInput { in_flight: 10_000.0, ..QUIET }), 20_000.0, "unused: no growth");
        assert_eq!(after(&rfc, WindowInput { flight_limit: 15_000.0, ..QUIET }), 15_000.0);
        let reference = Params::profile("reference-2022").unwrap();
        // 80 Mbit/s over 10 ms would be 100 kB: what was acknowledged counts whole; gain down 5.
        assert_eq!(after(&reference, WindowInput { delay_fraction: 1.5, ..QUIET }), 19_750.0);
        assert_eq!(
            after(&reference, WindowInput { delay_fraction: 100.0, ..QUIET }),
            15_000.0,
            "at most a quarter"
        );
    }

    #[test]
    fn loss_and_marks_reduce_by_their_factors() {
        let (rfc, reference) = (Params::rfc8298(), Params::profile("reference-2022").unwrap());
        assert_eq!(after(&rfc, WindowInput { loss: true, ce: true, ..QUIET }), 16_000.0);
        assert_eq!(after(&rfc, WindowInput { ce: true, ..QUIET }), 18_000.0);
        assert_eq!(after(&rfc, WindowInput { ce: true, alpha: Some(0.5), ..QUIET }), 15_000.0);
        assert_eq!(after(&reference, WindowInput { ce: true, alpha: Some(0.5), ..QUIET }), 16_000.0);
        assert_eq!(after(&Params { beta_loss: 0.01, ..rfc }, WindowInput { loss: true, ..QUIET }), 3000.0);
    }

    #[test]
    fn fast_increase_resumes_after_its_time_without_congestion() {
        let params = Params::rfc8298();
        let mut window = window(&params);
        window.update(&params, at(1000), &WindowInput { trend: 0.3, ..QUIET });
        for millis in (1100..6000).step_by(100) {
            window.update(&params, at(millis), &QUIET);
            assert!(!window.in_fast_increase, "at {millis} ms");
        }
        window.update(&params, at(6000), &QUIET);
        assert!(window.in_fast_increase);
    }

    #[test]
    fn growth_comes_back_gradually_after_congestion() {
        let params = Params::profile("reference-2022").unwrap();
        let mut window = window(&params);
        window.in_fast_increase = true;
        window.update(&params, at(10), &WindowInput { ce: true, alpha: Some(0.1), ..QUIET });
        assert_eq!(window.post, 0.0);
        window.update(&params, at(60), &QUIET);
        assert!((window.post - 0.5).abs() < 1e-9);
    }

    #[test]
    fn no_rate_means_no_growth_where_growth_follows_the_rate() {
        let reference = Params::profile("reference-2022").unwrap();
        assert_eq!(after(&reference, WindowInput { rate: 0.0, ..QUIET }), 20_000.0);
        assert_eq!(after(&Params::rfc8298(), WindowInput { rate: 0.0, ..QUIET }), 20_100.0);
    }
}
