//! Westwood+: after a loss the window is what the path delivered, times the smallest round trip (Grieco and Mascolo 2004).
//!
//! Differences from the paper are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rule, Window, WindowSender};
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold, not the bandwidth.
pub type Westwood = WindowSender<Avoidance<WestwoodRule>>;

/// Additive increase, adaptive decrease.
#[derive(Clone, Debug)]
pub struct WestwoodRule {
    params: Params,
    /// Smallest round trip in seconds; infinite before the first.
    least_rtt: f64,
    /// Begin of the present sample, and the bytes delivered since.
    began: Option<Time>,
    delivered: u64,
    /// `BWE`: bytes a second; absent before the first sample.
    bandwidth: Option<f64>,
}

impl WestwoodRule {
    /// A sample for each round trip, so that compressed acknowledgements count as what they are.
    fn estimate(&mut self, window: &Window, ack: &Ack) {
        let began = *self.began.get_or_insert(ack.now);
        let elapsed = ack.now.saturating_since(began).as_secs_f64();
        self.delivered = self.delivered.saturating_add(ack.delivered);
        let interval = window.round_trip.seconds().max(self.params.least_interval.as_secs_f64());
        if elapsed <= interval || elapsed <= 0.0 {
            return;
        }
        let (sample, past) = (self.delivered as f64 / elapsed, self.params.filter);
        let estimate = self.bandwidth.map_or(sample, |before| past * before + (1.0 - past) * sample);
        self.bandwidth = Some(estimate);
        (self.began, self.delivered) = (Some(ack.now), 0);
    }
}

impl Rule for WestwoodRule {
    type Params = Params;

    fn new(params: &Params) -> (WestwoodRule, &AvoidanceParams) {
        let rule = WestwoodRule {
            params: params.clone(),
            least_rtt: f64::INFINITY,
            began: None,
            delivered: 0,
            bandwidth: None,
        };
        (rule, &params.avoidance)
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.least_rtt = self.least_rtt.min(rtt.as_secs_f64().max(1e-9));
        }
        self.estimate(window, ack);
    }

    fn increase(&mut self, _window: &Window, _ack: &Ack) -> f64 {
        1.0
    }

    /// Bandwidth times smallest round trip; half of the window before both are known. It never grows by a loss.
    fn decrease(&mut self, window: &Window, _now: Time, _cause: Cause) -> f64 {
        let w = window.packets();
        match self.bandwidth {
            Some(bandwidth) if self.least_rtt.is_finite() => (bandwidth * self.least_rtt / window.mss).min(w),
            _ => 0.5 * w,
        }
    }

    window_variables! { |self, window|
        bwe: "Mbit/s" = self.bandwidth.map(|bandwidth| bandwidth * 8e-6), "Bandwidth estimate; absent before the first sample";
        rtt_min: "ms" = self.least_rtt.is_finite().then_some(self.least_rtt * 1e3), "Smallest round trip";
    }
}
