//! YeAH: fast as Scalable TCP while its queue is short, as Reno while it is not, and it empties a queue of its own (Baiocchi,
//! Castellani and Vacirca 2007).
//!
//! Differences from the paper are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rounds, Rule, Window, WindowSender};
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold, not the round trips.
pub type Yeah = WindowSender<Avoidance<YeahRule>>;

/// Two modes, told by the queue.
#[derive(Clone, Debug)]
pub struct YeahRule {
    params: Params,
    rounds: Rounds,
    /// `Q`: packets of its own in the queue at the end of the last round.
    queue: f64,
    /// `count_reno`: the window that a greedy rival is taken to have, in packets.
    rival: f64,
    /// Rounds in a row in slow mode; 0 in fast mode.
    slow: u64,
    /// Rounds in fast mode since the rival's window was forgotten.
    fast: u64,
}

/// The window of a rival that has just begun, in packets.
const FIRST_RIVAL: f64 = 2.0;

impl YeahRule {
    /// Once per round trip, by its smallest round trip: the mode, and early decongestion.
    fn end_round(&mut self, window: &mut Window, rtt: f64) {
        let (base, w) = (self.rounds.least, window.packets());
        let wait = (rtt - base).max(0.0);
        self.queue = wait * w / rtt;
        let is_short = self.queue <= self.params.q_max && wait * self.params.phi <= base;
        if is_short {
            self.fast = self.fast.saturating_add(1);
            if self.fast > self.params.zeta {
                (self.rival, self.fast) = (FIRST_RIVAL, 0);
            }
            self.slow = 0;
            return;
        }
        if self.queue > self.params.q_max && w > self.rival {
            self.decongest(window);
        }
        self.rival = (self.rival + 1.0).max(FIRST_RIVAL);
        self.slow = self.slow.saturating_add(1);
    }

    /// Precautionary decongestion, down to a rival's window at most.
    fn decongest(&self, window: &mut Window) {
        let w = window.packets();
        let most = w / libm::exp2(self.params.epsilon);
        let left = (w - (self.queue / self.params.gamma).min(most)).max(self.rival);
        window.set(left * window.mss);
        window.ssthresh = window.cwnd;
    }
}

impl Rule for YeahRule {
    type Params = Params;

    fn new(params: &Params) -> (YeahRule, &AvoidanceParams) {
        let rule = YeahRule {
            params: params.clone(),
            rounds: Rounds::NEW,
            queue: 0.0,
            rival: FIRST_RIVAL,
            slow: 0,
            fast: 0,
        };
        (rule, &params.avoidance)
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(round) = self.rounds.on_ack(window, ack).filter(|round| round.count > 2) {
            self.end_round(window, round.least);
        }
    }

    fn increase(&mut self, window: &Window, _ack: &Ack) -> f64 {
        if self.slow > 0 { 1.0 } else { (self.params.a * window.packets()).max(1.0) }
    }

    /// A loss takes what is in the queue, at least an eighth and at most half of the window; half beside greedy rivals.
    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        let w = window.packets();
        let least = w / libm::exp2(self.params.delta);
        let takes = if self.slow < self.params.rho { self.queue.min(0.5 * w).max(least) } else { 0.5 * w };
        self.fast = 0;
        self.rival = (0.5 * self.rival).max(FIRST_RIVAL);
        w - takes
    }

    window_variables! { |self, window|
        q: "packets" = self.queue, "Packets in the queue by its estimate, last round";
        count_reno: "packets" = self.rival, "Window that a greedy rival is taken to have";
        slow: "" = if self.slow > 0 { 1.0 } else { 0.0 }, "1 in slow mode";
    }
}
