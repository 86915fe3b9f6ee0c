//! Compound TCP: Reno's window, and a second one that grows while no queue is seen (Tan, Song, Zhang and Sridharan 2006;
//! draft-sridharan-tcpm-ctcp-02).
//!
//! Differences from the draft are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rounds, Rule, Window, WindowSender};
use paceline_units::Time;

/// The sender half. `assign` overwrites the sum of both windows and the threshold, not the round trips.
pub type Compound = WindowSender<Avoidance<CompoundRule>>;

/// A window of losses and a window of delay, of which the sender uses the sum.
#[derive(Clone, Debug)]
pub struct CompoundRule {
    params: Params,
    rounds: Rounds,
    /// `dwnd`: the delay window in packets.
    dwnd: f64,
    /// `diff`: packets of its own in the queue at the end of the last round.
    diff: Option<f64>,
}

impl CompoundRule {
    /// Once per round trip, by its smallest round trip.
    fn end_round(&mut self, window: &mut Window, ack: &Ack, rtt: f64) {
        let (w, bytes, before) = (window.packets(), window.cwnd, self.dwnd);
        let diff = w * (1.0 - self.rounds.least / rtt);
        self.diff = Some(diff);
        let Params { alpha, k, zeta, gamma, low_window, whole, .. } = self.params;
        if diff >= gamma {
            self.dwnd = (before - zeta * diff).max(0.0);
        } else if ack.may_grow && w >= low_window {
            let growth = (alpha * libm::pow(w, k) - 1.0).max(0.0);
            self.dwnd = before + if whole { libm::floor(growth) } else { growth };
        }
        let cwnd = bytes + (self.dwnd - before) * window.mss;
        if cwnd > bytes {
            window.grow(ack, cwnd, |flight| flight + cwnd - bytes);
        } else {
            window.set(cwnd);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
    }
}

impl Rule for CompoundRule {
    type Params = Params;

    fn new(params: &Params) -> (CompoundRule, &AvoidanceParams) {
        let rule = CompoundRule { params: params.clone(), rounds: Rounds::NEW, dwnd: 0.0, diff: None };
        (rule, &params.avoidance)
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let round = self.rounds.on_ack(window, ack);
        if window.in_slow_start() {
            self.dwnd = 0.0;
            return;
        }
        // A window that was assigned may be smaller.
        self.dwnd = self.dwnd.min(window.packets());
        let enough = |round: &crate::window::Round| u64::from(round.count) >= self.params.samples;
        if let Some(round) = round.filter(enough).filter(|_| !window.recovering) {
            self.end_round(window, ack, round.least);
        }
    }

    fn increase(&mut self, _window: &Window, _ack: &Ack) -> f64 {
        1.0
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        let w = window.packets();
        let reno = (w - self.dwnd).max(0.0) / 2.0;
        self.dwnd = ((1.0 - self.params.beta) * w - reno).max(0.0);
        reno + self.dwnd
    }

    window_variables! { |self, window|
        dwnd: "packets" = self.dwnd, "Delay window, a part of the congestion window";
        diff: "packets" = self.diff, "Packets of its own in the queue by its estimate, last round";
    }
}
