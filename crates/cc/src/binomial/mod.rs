//! The binomial laws: growth by an inverse power of the window, decrease by a power of it (Bansal and Balakrishnan 2001).
//!
//! Differences from the paper are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rule, Window, WindowSender};
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold.
pub type Binomial = WindowSender<Avoidance<BinomialRule>>;

/// Increase by alpha / w^k in a round trip, decrease by beta w^l.
#[derive(Clone, Debug)]
pub struct BinomialRule {
    params: Params,
}

impl Rule for BinomialRule {
    type Params = Params;

    fn new(params: &Params) -> (BinomialRule, &AvoidanceParams) {
        (BinomialRule { params: params.clone() }, &params.avoidance)
    }

    fn increase(&mut self, window: &Window, _ack: &Ack) -> f64 {
        self.params.alpha / libm::pow(window.packets(), self.params.increase_power)
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        let w = window.packets();
        w - self.params.beta * libm::pow(w, self.params.decrease_power)
    }

    window_variables! { |self, window| }
}
