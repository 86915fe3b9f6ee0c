//! Copa: the window moves towards the rate at which delta times the queue delay is the time of a packet (Arun and Balakrishnan
//! 2018).
//!
//! Differences from the paper are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Cause, Extreme, Law, Marks, Sent, Window, WindowSender};
use crate::{PacketResult, SentPacket};
use paceline_units::{Bitrate, Time, TimeDelta};

/// The sender half. `assign` overwrites window and threshold, not the round trips.
pub type Copa = WindowSender<CopaLaw>;

/// Direction and speed of the window, judged once per window.
#[derive(Clone, Copy, Debug)]
struct Velocity {
    /// `v`: packets times delta in a round trip.
    v: f64,
    rises: bool,
    /// Windows in a row in this direction.
    same: u64,
    /// The first packet of the next window.
    end: u64,
}

const STILL: Velocity = Velocity { v: 1.0, rises: true, same: 0, end: 0 };

/// The window law of Copa.
#[derive(Clone, Debug)]
pub struct CopaLaw {
    params: Params,
    /// `RTTmin`, `RTTstanding`, and the negative of `RTTmax`.
    smallest: Extreme,
    standing: Extreme,
    longest: Extreme,
    velocity: Velocity,
    /// Window in bytes when the packet that was acknowledged last was sent.
    then: f64,
    /// The last time at which the queue was nearly empty.
    empty_at: Option<Time>,
    /// `1/delta` in competitive mode; absent in default mode.
    competing: Option<f64>,
}

impl CopaLaw {
    /// `1/delta` in packets.
    fn packets(&self) -> f64 {
        self.competing.unwrap_or(1.0 / self.params.delta)
    }

    /// `RTTstanding` and the queue delay `d_q`, in seconds.
    fn delay(&self) -> Option<(f64, f64)> {
        let (standing, smallest) = self.standing.least().zip(self.smallest.least())?;
        Some((standing, (standing - smallest).max(0.0)))
    }

    fn sample(&mut self, window: &Window, now: Time, rtt: TimeDelta) {
        let rtt = rtt.as_secs_f64().max(1e-9);
        let srtts = |part: f64| TimeDelta::from_secs_f64(part * window.round_trip.seconds().max(1e-9));
        self.smallest.update(now, self.params.min_rtt_window, rtt);
        self.standing.update(now, srtts(self.params.standing_part), rtt);
        self.longest.update(now, srtts(self.params.longest_rtts), -rtt);
    }

    /// Section 2.2: a queue that was not nearly empty for five round trips is somebody else's.
    fn choose_mode(&mut self, window: &Window, now: Time, wait: f64) {
        let range =
            self.longest.least().zip(self.smallest.least()).map_or(0.0, |(longest, least)| -longest - least);
        if wait <= self.params.empty_part * range.max(0.0) {
            self.empty_at = Some(now);
        }
        let since = now.saturating_since(*self.empty_at.get_or_insert(now)).as_secs_f64();
        if !self.params.competitive || since <= self.params.empty_rtts * window.round_trip.seconds() {
            self.competing = None;
        } else if self.competing.is_none() {
            self.competing = Some(1.0 / self.params.delta);
        }
    }

    /// Section 2.1, step 4: once per window, by the window when the acknowledged packet was sent.
    fn judge(&mut self, window: &Window, ack: &Ack) {
        if ack.newest < self.velocity.end {
            return;
        }
        let rises = window.cwnd > self.then;
        let same = if rises == self.velocity.rises { self.velocity.same.saturating_add(1) } else { 0 };
        let v = match same {
            0 => 1.0,
            _ if same >= self.params.velocity_rtts => 2.0 * self.velocity.v,
            _ => self.velocity.v,
        };
        // The window at most doubles in a round trip.
        let most = (window.packets() / self.packets()).max(1.0);
        self.velocity = Velocity { v: v.min(most), rises, same, end: window.next };
        if let Some(packets) = &mut self.competing {
            *packets = (*packets + 1.0).min(1e9);
        }
    }

    /// Section 2.1, steps 2 and 3.
    fn steer(&mut self, window: &mut Window, ack: &Ack, standing: f64, wait: f64) {
        let packets = ack.delivered as f64 / window.mss;
        // The rate is cwnd / RTTstanding and the target 1 / (delta d_q).
        let is_below = window.packets() * wait <= self.packets() * standing;
        if window.in_slow_start() {
            if is_below && ack.may_grow {
                window.set(window.cwnd + ack.delivered as f64);
            } else if !is_below {
                window.ssthresh = window.cwnd;
            }
            return;
        }
        if is_below != self.velocity.rises && self.velocity.v > 1.0 {
            (self.velocity.v, self.velocity.same) = (1.0, 0);
        }
        let step = self.velocity.v * self.packets() * packets / window.packets() * window.mss;
        if is_below && ack.may_grow {
            window.set(window.cwnd + step);
        } else if !is_below {
            let least = (self.params.cwnd_min as f64 * window.mss).min(window.cwnd);
            window.set((window.cwnd - step).max(least));
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
    }
}

impl Law for CopaLaw {
    type Params = Params;
    /// The window in bytes when the packet was sent.
    type Note = f64;

    const MARKS: Marks = Marks::Ignored;
    const LEAVES_ASSIGNMENTS: bool = false;

    fn new(params: &Params, _window: &mut Window) -> CopaLaw {
        CopaLaw {
            params: params.clone(),
            smallest: Extreme::NEW,
            standing: Extreme::NEW,
            longest: Extreme::NEW,
            velocity: STILL,
            then: 0.0,
            empty_at: None,
            competing: None,
        }
    }

    #[inline]
    fn on_sent(&mut self, window: &mut Window, _now: Time, _packet: &SentPacket) -> f64 {
        window.cwnd
    }

    #[inline]
    fn on_delivered(&mut self, _window: &Window, _now: Time, _packet: &PacketResult, sent: &Sent<f64>) {
        self.then = sent.note;
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.sample(window, ack.now, rtt);
        }
        let Some((standing, wait)) = self.delay() else { return };
        self.choose_mode(window, ack.now, wait);
        self.judge(window, ack);
        self.steer(window, ack, standing, wait);
    }

    /// Delay moves the window; in competitive mode a loss halves what it may keep in the queue.
    fn on_congestion(&mut self, window: &mut Window, _now: Time, _cause: Cause) {
        window.ssthresh = window.ssthresh.min(window.cwnd);
        if let Some(packets) = &mut self.competing {
            *packets = (*packets / 2.0).max(1.0 / self.params.delta);
        }
    }

    fn on_timed_out(&mut self, window: &mut Window, _now: Time, _again: bool) {
        window.ssthresh = f64::INFINITY;
        window.set(self.params.lw as f64 * window.mss);
        self.velocity = STILL;
    }

    fn pacing_rate(&self, window: &Window) -> Option<Bitrate> {
        let (standing, _) = self.delay()?;
        let rate = Bitrate::from_bps_f64(self.params.pace * 8.0 * window.cwnd / standing);
        Some(rate.max(Bitrate::from_bps(1)))
    }

    fn queue_delay(&self) -> Option<TimeDelta> {
        self.delay().map(|(_, wait)| TimeDelta::from_secs_f64(wait))
    }

    window_variables! { |self, window|
        queue_delay: "ms" = self.delay().map(|(_, wait)| wait * 1e3), "Queue delay by its estimate";
        v: "" = self.velocity.v, "Velocity";
        one_over_delta: "packets" = self.packets(), "1/delta";
        competitive: "" = if self.competing.is_some() { 1.0 } else { 0.0 }, "1 in competitive mode";
    }
}
