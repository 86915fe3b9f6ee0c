//! Vegas: the window follows how many packets it keeps in the queue, told by the round-trip time (Brakmo and Peterson
//! 1995).
//!
//! Rules without a text, and gaps that were filled, are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::state_variables;
use crate::reno::{self, RenoLaw};
use crate::window::{Ack, Cause, Law, Window, WindowSender};
use paceline_units::{Time, TimeDelta};

/// The sender half. `assign` overwrites window and threshold, not the smallest round trip.
pub type Vegas = WindowSender<VegasLaw>;

/// The window law of Vegas.
#[derive(Clone, Debug)]
pub struct VegasLaw {
    params: Params,
    /// Slow start and losses.
    reno: RenoLaw,
    /// `baseRTT`.
    base: Option<TimeDelta>,
    /// Round trips of this round: their sum in nanoseconds, and how many.
    sum: i64,
    count: i64,
    /// The first packet of the next round.
    round_end: u64,
    /// Whether slow start grows in this round: in every other.
    doubling: bool,
    /// Packets in the queue, at the end of the last round.
    diff: Option<f64>,
    queue_delay: Option<TimeDelta>,
}

impl VegasLaw {
    /// Once per round trip: expected less actual rate, times the smallest round trip, is what waits in the queue.
    fn end_round(&mut self, window: &mut Window, ack: &Ack) {
        let measured = self.base.filter(|_| self.count > 0);
        let mean = self.sum / self.count.max(1);
        (self.sum, self.count, self.round_end) = (0, 0, window.next);
        let fixed = !self.doubling;
        self.doubling = fixed;
        let Some(base) = measured else { return };
        self.queue_delay = Some(TimeDelta::from_nanos(mean) - base);
        let undelayed = base.as_nanos() as f64 / (mean.max(1)) as f64;
        let diff = window.packets() * (1.0 - undelayed);
        self.diff = Some(diff);
        if window.recovering {
            return;
        }
        if !window.in_slow_start() {
            self.avoid(window, ack, diff);
        } else if fixed && diff > self.params.gamma {
            // Bytes that the path holds without a queue, and a packet.
            window.set((window.cwnd * undelayed + window.mss).min(window.cwnd));
            window.ssthresh = window.cwnd;
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, diff: f64) {
        if diff < self.params.alpha && ack.may_grow {
            let mss = window.mss;
            window.grow(ack, window.cwnd + mss, |flight| flight + mss);
        } else if diff > self.params.beta {
            let least = self.params.cwnd_min as f64 * window.mss;
            window.set((window.cwnd - window.mss).max(least.min(window.cwnd)));
            // A smaller window is no reason for slow start.
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
    }

    /// The next round begins with what is sent from now on.
    fn new_round(&mut self, window: &Window) {
        (self.sum, self.count, self.round_end) = (0, 0, window.next);
    }
}

impl Law for VegasLaw {
    type Params = Params;
    type Note = ();

    fn new(params: &Params, window: &mut Window) -> VegasLaw {
        let reno = reno::Params {
            beta: params.loss_beta,
            beta_ecn: params.loss_beta,
            lw: params.lw,
            byte_counting: params.byte_counting,
            l: params.l,
            growth: params.growth,
            restart_after_idle: params.restart_after_idle,
            ..reno::Params::default()
        };
        VegasLaw {
            params: params.clone(),
            reno: RenoLaw::new(&reno, window),
            base: None,
            sum: 0,
            count: 0,
            round_end: 0,
            doubling: true,
            diff: None,
            queue_delay: None,
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.sum = self.sum.saturating_add(rtt.as_nanos());
            self.count += 1;
        }
        if ack.may_grow && window.in_slow_start() && self.doubling {
            self.reno.grow(window, ack);
        }
        if ack.newest >= self.round_end {
            self.end_round(window, ack);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _now: Time, cause: Cause) {
        self.reno.reduce(window, cause);
        self.new_round(window);
    }

    fn on_timed_out(&mut self, window: &mut Window, _now: Time, again: bool) {
        self.reno.time_out(window, again);
        self.new_round(window);
        self.doubling = true;
    }

    fn queue_delay(&self) -> Option<TimeDelta> {
        self.queue_delay
    }

    state_variables! { |self, window|
        cwnd: "packets" = window.packets(), "Congestion window";
        ssthresh: "packets" = window.threshold(), "Slow start threshold; absent before slow start ends";
        diff: "packets" = self.diff, "Packets in the queue by its estimate, last round";
        base_rtt: "ms" = self.base.map(TimeDelta::as_millis_f64), "Smallest round trip";
    }
}
