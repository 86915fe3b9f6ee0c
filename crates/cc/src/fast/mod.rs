//! FAST TCP: once per round trip the window goes half of the way to the one that keeps `alpha` packets in the queue (Jin, Wei and Low
//! 2004).
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
pub type Fast = WindowSender<Avoidance<FastRule>>;

/// A window that follows the mean round trip.
#[derive(Clone, Debug)]
pub struct FastRule {
    params: Params,
    rounds: Rounds,
    /// Mean round trip in seconds; absent before the first.
    mean: Option<f64>,
}

impl FastRule {
    /// Section IV-A: a mean over a third of a window of acknowledgements, or four.
    fn average(&mut self, window: &Window, rtt: TimeDelta) {
        let rtt = rtt.as_secs_f64().max(1e-9);
        let weight = (self.params.rtt_packets / window.packets()).min(self.params.rtt_weight);
        self.mean = Some(self.mean.map_or(rtt, |mean| (mean + weight * (rtt - mean)).max(1e-9)));
    }

    /// Mean queue delay in seconds.
    fn wait(&self) -> Option<f64> {
        self.mean.map(|mean| (mean - self.rounds.least).max(0.0))
    }

    /// Section IV-B, the window of the next round trip in packets.
    fn next(&self, w: f64, mean: f64) -> f64 {
        let Params { alpha, gamma, most, .. } = self.params;
        let target = self.rounds.least / mean * w + alpha;
        ((1.0 - gamma) * w + gamma * target).min(most * w)
    }

    /// Once per round trip.
    fn end_round(&mut self, window: &mut Window, ack: &Ack) {
        let Some(mean) = self.mean else { return };
        if window.in_slow_start() {
            if mean - self.rounds.least > self.params.mi_threshold.as_secs_f64() {
                window.ssthresh = window.cwnd;
            }
            return;
        }
        let (before, cwnd) = (window.cwnd, self.next(window.packets(), mean) * window.mss);
        if cwnd <= before {
            window.set(cwnd);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if ack.may_grow {
            window.grow(ack, cwnd, |flight| flight + cwnd - before);
        }
    }
}

impl Rule for FastRule {
    type Params = Params;

    fn new(params: &Params) -> (FastRule, &AvoidanceParams) {
        (FastRule { params: params.clone(), rounds: Rounds::NEW, mean: None }, &params.avoidance)
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.average(window, rtt);
        }
        if self.rounds.on_ack(window, ack).is_some() && !window.recovering {
            self.end_round(window, ack);
        }
    }

    fn increase(&mut self, _window: &Window, _ack: &Ack) -> f64 {
        0.0
    }

    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        self.params.loss_beta * window.packets()
    }

    fn queue_delay(&self) -> Option<TimeDelta> {
        self.wait().map(TimeDelta::from_secs_f64)
    }

    window_variables! { |self, window|
        queue: "packets" = self.wait().zip(self.mean).map(|(wait, mean)| window.packets() * wait / mean), "Packets of its own in the queue by its estimate";
        base_rtt: "ms" = self.rounds.least_ms(), "Smallest round trip";
    }
}
