//! TCP-Illinois: losses say when to grow and when to shrink, queue delay says by how much (Liu, Basar and Srikant 2008).
//!
//! Differences from the paper are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rounds, Rule, Window, WindowSender};
use paceline_units::{Time, TimeDelta};

/// The sender half. `assign` overwrites window and threshold, not the round trips.
pub type Illinois = WindowSender<Avoidance<IllinoisRule>>;

/// Concave growth between losses.
#[derive(Clone, Debug)]
pub struct IllinoisRule {
    params: Params,
    rounds: Rounds,
    alpha: f64,
    beta: f64,
    /// `d_a`: mean queue delay of the last round, in seconds.
    delay: Option<f64>,
    /// Rounds in a row with a short queue, since there was a longer one; absent if there was none.
    short: Option<u64>,
}

impl IllinoisRule {
    /// `f1`: growth at a mean queue delay `d_a` where the longest was `d_m`.
    fn f1(&self, d_a: f64, d_m: f64) -> f64 {
        let Params { alpha_min, alpha_max, eta_1, .. } = self.params;
        let d_1 = eta_1 * d_m;
        if d_a <= d_1 {
            return alpha_max;
        }
        // kappa_1 / (kappa_2 + d_a), which meets alpha_max at d_1 and alpha_min at d_m.
        let way = ((d_a - d_1) / (d_m - d_1)).min(1.0);
        alpha_max / (1.0 + way * (alpha_max / alpha_min - 1.0))
    }

    /// `f2`: the part of the window that a loss takes.
    fn f2(&self, d_a: f64, d_m: f64) -> f64 {
        let Params { beta_min, beta_max, eta_2, eta_3, .. } = self.params;
        let (d_2, d_3) = (eta_2 * d_m, eta_3 * d_m);
        match d_a {
            _ if d_a <= d_2 => beta_min,
            _ if d_a >= d_3 => beta_max,
            _ => beta_min + (beta_max - beta_min) * (d_a - d_2) / (d_3 - d_2),
        }
    }

    /// Section 3.3: once per round trip.
    fn end_round(&mut self, window: &Window, mean: f64) {
        let d_m = (self.rounds.most - self.rounds.least).max(0.0);
        let d_a = (mean - self.rounds.least).max(0.0);
        self.delay = Some(d_a);
        if window.packets() < self.params.w_thresh {
            (self.alpha, self.beta) = (1.0, self.params.beta_max);
            return;
        }
        self.beta = self.f2(d_a, d_m);
        let is_short = d_a <= self.params.eta_1 * d_m;
        self.short = match self.short {
            _ if !is_short => Some(0),
            Some(rounds) if rounds + 1 >= self.params.theta => None,
            Some(rounds) => Some(rounds + 1),
            None => None,
        };
        if !is_short || self.short.is_none() {
            self.alpha = self.f1(d_a, d_m);
        }
    }
}

impl Rule for IllinoisRule {
    type Params = Params;

    fn new(params: &Params) -> (IllinoisRule, &AvoidanceParams) {
        let rule = IllinoisRule {
            params: params.clone(),
            rounds: Rounds::NEW,
            alpha: params.alpha_max,
            beta: params.beta_max,
            delay: None,
            short: None,
        };
        (rule, &params.avoidance)
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let round = self.rounds.on_ack(window, ack);
        if let Some(mean) = round.and_then(|round| round.mean()) {
            self.end_round(window, mean);
        }
    }

    fn increase(&mut self, window: &Window, _ack: &Ack) -> f64 {
        if window.packets() < self.params.w_thresh { 1.0 } else { self.alpha }
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        let w = window.packets();
        let beta = if w < self.params.w_thresh { self.params.beta_max } else { self.beta };
        (1.0 - beta) * w
    }

    fn queue_delay(&self) -> Option<TimeDelta> {
        self.delay.map(TimeDelta::from_secs_f64)
    }

    window_variables! { |self, window|
        alpha: "packets" = self.alpha, "Growth in a round trip of congestion avoidance";
        beta: "" = self.beta, "Part of the window that a loss takes";
        base_rtt: "ms" = self.rounds.least_ms(), "Smallest round trip";
    }
}
