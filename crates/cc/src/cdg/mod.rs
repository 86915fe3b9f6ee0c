//! CDG: the window shrinks at random while round trips get longer, and losses without a full queue do not count (Hayes and Armitage 2011).
//!
//! Differences from the paper are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod gradient;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::draw::drawn;
use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rounds, Rule, Window, WindowSender};
use gradient::Gradient;
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold, not the gradients.
pub type Cdg = WindowSender<Avoidance<CdgRule>>;

/// Reno with a second cause of reductions.
#[derive(Clone, Debug)]
pub struct CdgRule {
    params: Params,
    rounds: Rounds,
    /// Largest round trip of this round in seconds; 0 before its first.
    largest: f64,
    smallest_gradient: Gradient,
    largest_gradient: Gradient,
    is_full: bool,
    /// The window without reductions for delay, in packets.
    shadow: f64,
    /// Reductions for delay since a gradient was negative; those left out are counted too.
    in_a_row: u64,
    /// Whether this round is the one after a reduction, which shows no effect of it yet.
    waits: bool,
    drawn: u64,
}

impl CdgRule {
    /// Once per round trip.
    fn end_round(&mut self, window: &mut Window, least: f64, most: f64) {
        let a = self.params.a;
        self.smallest_gradient.update(least, a);
        self.largest_gradient.update(most, a);
        self.shadow = if self.shadow > 0.0 { self.shadow + 1.0 } else { 0.0 };
        self.infer();
        self.drawn = self.drawn.wrapping_add((most * 1e9) as u64).wrapping_mul(31).wrapping_add(window.next);
        if core::mem::take(&mut self.waits) || window.recovering {
            return;
        }
        let gradient = self.gradient(window);
        let chance = f64::from(drawn(self.drawn)) / f64::from(u32::MAX);
        if gradient > 0.0 && chance < 1.0 - libm::exp(-gradient / self.params.g) {
            self.back_off(window);
        }
    }

    /// The larger of both gradients, averaged; in slow start the newest, since a mean comes too late.
    fn gradient(&self, window: &Window) -> f64 {
        let (smallest, largest) = (&self.smallest_gradient, &self.largest_gradient);
        if window.in_slow_start() {
            smallest.newest().max(largest.newest())
        } else {
            smallest.mean.max(largest.mean)
        }
    }

    /// A full queue lets the smallest round trip grow, and not the largest.
    fn infer(&mut self) {
        let (smallest, largest) = (self.smallest_gradient.mean, self.largest_gradient.mean);
        if smallest < 0.0 || largest < 0.0 {
            self.in_a_row = 0;
        }
        if smallest > 0.0 && largest <= 0.0 {
            self.is_full = true;
        } else if smallest * largest > 0.0 || largest < 0.0 {
            self.is_full = false;
        }
    }

    fn back_off(&mut self, window: &mut Window) {
        let b = self.params.b;
        self.in_a_row = self.in_a_row.saturating_add(1);
        if b > 0 && self.in_a_row > b {
            // Beside a flow that fills the queue reductions have no effect.
            if self.in_a_row >= 2 * b {
                self.in_a_row = 0;
            }
            return;
        }
        self.waits = true;
        let w = window.packets();
        self.shadow = self.shadow.max(w);
        let left = (self.params.beta * w).max(self.params.avoidance.ssthresh_min as f64).min(w);
        window.set(left * window.mss);
        window.ssthresh = window.cwnd;
    }
}

impl Rule for CdgRule {
    type Params = Params;

    fn new(params: &Params) -> (CdgRule, &AvoidanceParams) {
        let rule = CdgRule {
            params: params.clone(),
            rounds: Rounds::NEW,
            largest: 0.0,
            smallest_gradient: Gradient::NEW,
            largest_gradient: Gradient::NEW,
            is_full: false,
            shadow: 0.0,
            in_a_row: 0,
            waits: false,
            drawn: 0,
        };
        (rule, &params.avoidance)
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.largest = self.largest.max(rtt.as_secs_f64().max(1e-9));
        }
        if let Some(round) = self.rounds.on_ack(window, ack).filter(|round| round.count > 0) {
            let most = core::mem::take(&mut self.largest);
            self.end_round(window, round.least, most);
        }
    }

    fn increase(&mut self, _window: &Window, _ack: &Ack) -> f64 {
        1.0
    }

    fn decrease(&mut self, window: &Window, _now: Time, cause: Cause) -> f64 {
        let w = window.packets();
        if self.params.tolerance && cause == Cause::Loss && !self.is_full {
            return w;
        }
        let counted = if self.params.shadow { self.shadow.max(w) } else { w };
        self.shadow = 0.0;
        self.in_a_row = 0;
        (self.params.beta_loss * counted).min(w)
    }

    window_variables! { |self, window|
        gradient: "ms" = self.gradient(window), "Change of the round trip from round to round by which it may reduce";
        full: "" = if self.is_full { 1.0 } else { 0.0 }, "1 where the queue is inferred to be full";
        shadow: "packets" = (self.shadow > 0.0).then_some(self.shadow), "Window without reductions for delay; absent before one";
    }
}
