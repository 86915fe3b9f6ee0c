//! HighSpeed TCP: Reno whose increase and decrease depend on the window, for a response function that is less steep (RFC 3649).
//!
//! Differences from the text are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rule, Window, WindowSender};
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold.
pub type HighSpeed = WindowSender<Avoidance<HighSpeedRule>>;

/// The response function of section 5. Windows are packets.
#[derive(Clone, Debug)]
pub struct HighSpeedRule {
    params: Params,
}

impl HighSpeedRule {
    /// Place of a window between Low_Window and High_Window on a logarithmic scale: 0 to 1, and more above.
    fn place(&self, w: f64) -> f64 {
        let Params { low_window, high_window, .. } = self.params;
        let range = libm::log(high_window / low_window);
        if range > 0.0 { libm::log(w / low_window) / range } else { 1.0 }
    }

    /// `b(w)`: the part of the window that a loss takes.
    fn b(&self, w: f64) -> f64 {
        if w <= self.params.low_window {
            return 0.5;
        }
        let high = self.params.high_decrease;
        (0.5 + (high - 0.5) * self.place(w)).max(high)
    }

    /// `p(w)`: the loss ratio at which the mean window is `w`.
    fn p(&self, w: f64) -> f64 {
        let Params { low_p, high_p, .. } = self.params;
        low_p * libm::exp(self.place(w) * libm::log(high_p / low_p))
    }

    /// `a(w)`: packets more in a round trip.
    fn a(&self, w: f64) -> f64 {
        if w <= self.params.low_window {
            return 1.0;
        }
        let b = self.b(w);
        let a = w * w * self.p(w) * 2.0 * b / (2.0 - b);
        if self.params.whole_increase { libm::ceil(a).max(1.0) } else { a.max(1.0) }
    }
}

impl Rule for HighSpeedRule {
    type Params = Params;

    fn new(params: &Params) -> (HighSpeedRule, &AvoidanceParams) {
        (HighSpeedRule { params: params.clone() }, &params.avoidance)
    }

    fn increase(&mut self, window: &Window, _ack: &Ack) -> f64 {
        self.a(window.packets())
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        let w = window.packets();
        w * (1.0 - self.b(w))
    }

    window_variables! { |self, window|
        a: "packets" = self.a(window.packets()), "Growth in a round trip of congestion avoidance";
        b: "" = self.b(window.packets()), "Part of the window that a loss takes";
    }
}
