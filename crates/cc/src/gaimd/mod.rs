//! GAIMD: additive increase and multiplicative decrease with any two constants (Yang and Lam 2000).
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
pub type Gaimd = WindowSender<Avoidance<GaimdRule>>;

/// Additive increase, multiplicative decrease.
#[derive(Clone, Debug)]
pub struct GaimdRule {
    params: Params,
}

impl Rule for GaimdRule {
    type Params = Params;

    fn new(params: &Params) -> (GaimdRule, &AvoidanceParams) {
        (GaimdRule { params: params.clone() }, &params.avoidance)
    }

    fn increase(&mut self, _window: &Window, _ack: &Ack) -> f64 {
        self.params.alpha
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        self.params.beta * window.packets()
    }

    window_variables! { |self, window| }
}
