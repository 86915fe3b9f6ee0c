//! Scalable TCP: growth in proportion to the window, so that recovery takes as many round trips at any rate (Kelly 2003).
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
pub type Scalable = WindowSender<Avoidance<ScalableRule>>;

/// Multiplicative increase, multiplicative decrease.
#[derive(Clone, Debug)]
pub struct ScalableRule {
    params: Params,
}

impl Rule for ScalableRule {
    type Params = Params;

    fn new(params: &Params) -> (ScalableRule, &AvoidanceParams) {
        (ScalableRule { params: params.clone() }, &params.avoidance)
    }

    fn increase(&mut self, window: &Window, _ack: &Ack) -> f64 {
        let w = window.packets();
        if w <= self.params.lwnd { 1.0 } else { self.params.a * w }
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        let w = window.packets();
        let legacy = self.params.legacy_decrease && w <= self.params.lwnd;
        w * (1.0 - if legacy { 0.5 } else { self.params.b })
    }

    window_variables! { |self, window| }
}
