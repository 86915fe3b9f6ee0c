//! Hybla: the window grows over a long round trip as fast in time as that of a connection with a short one (Caini and Firrincieli 2004).
//!
//! Differences from the paper are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rule, Window, WindowSender};
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold, not the smallest round trip.
pub type Hybla = WindowSender<Avoidance<HyblaRule>>;

/// Reno scaled by the round trip.
#[derive(Clone, Debug)]
pub struct HyblaRule {
    params: Params,
    /// Smallest round trip in seconds; infinite before the first.
    least_rtt: f64,
    /// The normalised round trip, at least 1.
    rho: f64,
}

impl Rule for HyblaRule {
    type Params = Params;

    fn new(params: &Params) -> (HyblaRule, &AvoidanceParams) {
        (HyblaRule { params: params.clone(), least_rtt: f64::INFINITY, rho: 1.0 }, &params.avoidance)
    }

    #[inline]
    fn on_ack(&mut self, _window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt.map(|rtt| rtt.as_secs_f64().max(1e-9)) else { return };
        if rtt < self.least_rtt {
            self.least_rtt = rtt;
            self.rho = (rtt / self.params.rtt0.as_secs_f64()).clamp(1.0, self.params.rho_max);
        }
    }

    /// 2^rho - 1 for each packet, which is e^(ln 2 rho).
    fn slow_start(&self) -> Option<f64> {
        (self.rho > 1.0).then(|| libm::exp2(self.rho) - 1.0)
    }

    fn increase(&mut self, _window: &Window, _ack: &Ack) -> f64 {
        self.rho * self.rho
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        self.params.beta * window.packets()
    }

    window_variables! { |self, window|
        rho: "" = self.rho, "Round trip over that of the reference, at least 1";
    }
}
