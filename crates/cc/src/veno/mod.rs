//! Veno: Vegas's count of the packets in the queue tells losses of congestion from others (Fu and Liew 2003).
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
pub type Veno = WindowSender<Avoidance<VenoRule>>;

/// Reno with two answers to a loss.
#[derive(Clone, Debug)]
pub struct VenoRule {
    params: Params,
    rounds: Rounds,
    /// Smallest round trip of the last round in seconds, where enough were measured.
    rtt: Option<f64>,
}

impl VenoRule {
    /// `N`: packets in the queue; absent where round trips do not tell.
    fn queued(&self, window: &Window) -> Option<f64> {
        self.rtt.map(|rtt| window.packets() * (1.0 - self.rounds.least / rtt))
    }

    fn is_congested(&self, window: &Window) -> bool {
        self.queued(window).is_none_or(|queued| queued >= self.params.beta)
    }
}

impl Rule for VenoRule {
    type Params = Params;

    fn new(params: &Params) -> (VenoRule, &AvoidanceParams) {
        (VenoRule { params: params.clone(), rounds: Rounds::NEW, rtt: None }, &params.avoidance)
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(round) = self.rounds.on_ack(window, ack) {
            self.rtt = (u64::from(round.count) >= self.params.samples).then_some(round.least);
        }
    }

    fn increase(&mut self, window: &Window, _ack: &Ack) -> f64 {
        if self.rtt.is_some() && self.is_congested(window) { self.params.congested_increase } else { 1.0 }
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        let Params { congested_loss, random_loss, .. } = self.params;
        window.packets() * if self.is_congested(window) { congested_loss } else { random_loss }
    }

    window_variables! { |self, window|
        n: "packets" = self.queued(window), "Packets in the queue by its estimate; absent where too few round trips were measured";
        base_rtt: "ms" = self.rounds.least_ms(), "Smallest round trip";
    }
}
