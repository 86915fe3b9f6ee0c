//! BIC: a binary search for the window between the last loss and what it left (Xu, Harfoush and Rhee 2004).
//!
//! Differences from the paper are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rule, Window, WindowSender};
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold, not the maximum.
pub type Bic = WindowSender<Avoidance<BicRule>>;

/// The search. Windows are packets.
#[derive(Clone, Debug)]
pub struct BicRule {
    params: Params,
    /// `max_win`: the middle of the search was above; 0 before the first loss.
    max_win: f64,
}

impl BicRule {
    /// Binary search, with additive increase where the way is long (sections III-A and III-B).
    fn search(&self, way: f64) -> f64 {
        let Params { divisor, s_min, s_max, smooth_part, .. } = self.params;
        let step = way / divisor;
        match smooth_part {
            Some(trips) if step <= 1.0 => divisor / trips,
            _ => step.clamp(s_min, s_max),
        }
    }

    /// Max probing: slow at first, as slow start beyond the maximum (section III-C).
    fn probe(&self, beyond: f64) -> f64 {
        let Params { divisor, s_max, smooth_part, .. } = self.params;
        match smooth_part {
            Some(trips) if beyond < divisor => divisor / trips,
            Some(_) => (beyond / (divisor - 1.0).max(1.0)).min(s_max),
            // 1, 2, 4, ... packets: each as soon as those before have been added.
            None => libm::exp2(libm::floor(libm::log2(beyond + 1.0))).min(s_max),
        }
    }
}

impl Rule for BicRule {
    type Params = Params;

    fn new(params: &Params) -> (BicRule, &AvoidanceParams) {
        (BicRule { params: params.clone(), max_win: 0.0 }, &params.avoidance)
    }

    fn increase(&mut self, window: &Window, _ack: &Ack) -> f64 {
        let w = window.packets();
        let step = match self.max_win - w {
            _ if w < self.params.low_window => 1.0,
            way if way > 0.0 => self.search(way),
            way => self.probe(-way),
        };
        self.params.ack_ratio * step
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        let (w, beta) = (window.packets(), self.params.beta);
        let falls = self.params.fast_convergence && w < self.max_win;
        self.max_win = if falls { w * (1.0 - beta / 2.0) } else { w };
        if w < self.params.low_window { 0.5 * w } else { (1.0 - beta) * w }
    }

    window_variables! { |self, window|
        max_win: "packets" = (self.max_win > 0.0).then_some(self.max_win), "Window that the search is for; absent before the first loss";
    }
}
