//! H-TCP: the window grows faster the longer ago the last congestion event is, and gives up what the queue holds (Leith and
//! Shorten 2004).
//!
//! Differences from the paper are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod backoff;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Avoidance, AvoidanceParams, Cause, Rule, Window, WindowSender};
use backoff::Backoff;
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold, not the time of the last congestion event.
pub type Htcp = WindowSender<Avoidance<HtcpRule>>;

/// Growth by the time since the last congestion event.
#[derive(Clone, Debug)]
pub struct HtcpRule {
    params: Params,
    backoff: Backoff,
    /// When the last congestion event was; absent before the first acknowledgement of congestion avoidance.
    event: Option<Time>,
    /// `alpha` of the last acknowledgement.
    alpha: f64,
}

impl HtcpRule {
    /// `alpha` so many seconds after a congestion event, over this smallest round trip.
    fn alpha(&self, elapsed: f64, least_rtt: f64) -> f64 {
        let Params { alpha_linear, alpha_square, rtt_reference, rtt_scaling_max, .. } = self.params;
        let beyond = (elapsed - self.params.delta_l.as_secs_f64()).max(0.0);
        let mut alpha = 1.0 + alpha_linear * beyond + alpha_square * beyond * beyond;
        if self.params.rtt_scaling && least_rtt.is_finite() {
            alpha *= (least_rtt / rtt_reference.as_secs_f64()).clamp(0.1, rtt_scaling_max);
        }
        // The mean window at a loss ratio does not depend on beta.
        2.0 * (1.0 - self.backoff.beta()) * alpha.max(1.0)
    }
}

impl Rule for HtcpRule {
    type Params = Params;

    fn new(params: &Params) -> (HtcpRule, &AvoidanceParams) {
        let rule =
            HtcpRule { params: params.clone(), backoff: Backoff::new(params), event: None, alpha: 1.0 };
        (rule, &params.avoidance)
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.backoff.on_ack(window, ack);
    }

    fn increase(&mut self, _window: &Window, ack: &Ack) -> f64 {
        let event = *self.event.get_or_insert(ack.now);
        self.alpha = self.alpha(ack.now.saturating_since(event).as_secs_f64(), self.backoff.least_rtt());
        self.alpha
    }

    fn decrease(&mut self, window: &Window, now: Time, _cause: Cause) -> f64 {
        self.event = Some(now);
        self.backoff.on_event(&self.params);
        self.backoff.beta() * window.packets()
    }

    fn on_recovered(&mut self, now: Time) {
        if self.params.from_recovery {
            self.event = Some(now);
        }
    }

    window_variables! { |self, window|
        alpha: "packets" = self.alpha, "Growth in a round trip of congestion avoidance";
        beta: "" = self.backoff.beta(), "Part of the window that the last loss left";
    }
}
