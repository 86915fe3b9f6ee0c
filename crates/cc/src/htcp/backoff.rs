//! The part of the window that a congestion event leaves: adaptive backoff.

use super::Params;
use crate::window::{Ack, Rounds, Window};
use paceline_units::Time;

/// Round trips and rates between congestion events.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    rounds: Rounds,
    /// Largest smoothed round trip, in seconds; 0 before the first.
    most_rtt: f64,
    round_began: Time,
    delivered: u64,
    /// Rate of delivery, smoothed over rounds, and its largest since the last event and in the interval before: bytes a second.
    rate: f64,
    largest: f64,
    last_largest: f64,
    /// Whether the rate was steady over the last interval.
    steady: bool,
    beta: f64,
}

impl Backoff {
    pub fn new(params: &Params) -> Backoff {
        Backoff {
            rounds: Rounds::NEW,
            most_rtt: 0.0,
            round_began: Time::ZERO,
            delivered: 0,
            rate: 0.0,
            largest: 0.0,
            last_largest: 0.0,
            steady: false,
            beta: params.beta_min,
        }
    }

    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// Smallest round trip in seconds; infinite before the first.
    pub fn least_rtt(&self) -> f64 {
        self.rounds.least
    }

    #[inline]
    pub fn on_ack(&mut self, window: &Window, ack: &Ack) {
        self.delivered = self.delivered.saturating_add(ack.delivered);
        if !window.recovering {
            self.most_rtt = self.most_rtt.max(window.round_trip.seconds());
        }
        if self.rounds.on_ack(window, ack).is_some() {
            self.end_round(ack.now);
        }
    }

    fn end_round(&mut self, now: Time) {
        let elapsed = now.saturating_since(self.round_began).as_secs_f64();
        if elapsed > 0.0 {
            let rate = self.delivered as f64 / elapsed;
            self.rate = if self.rate > 0.0 { 0.75 * self.rate + 0.25 * rate } else { rate };
            self.largest = self.largest.max(self.rate);
        }
        (self.round_began, self.delivered) = (now, 0);
    }

    /// A congestion event: where the rate has changed little, the queue's part of the window is what has to go.
    pub fn on_event(&mut self, params: &Params) {
        let change = (self.largest - self.last_largest) / self.last_largest.max(1e-9);
        (self.last_largest, self.largest) = (self.largest, 0.0);
        let steady = change.abs() <= params.delta_b;
        let known = self.rounds.least > params.least_rtt.as_secs_f64() && self.rounds.least.is_finite();
        self.beta = if steady && self.steady && known {
            (self.rounds.least / self.most_rtt.max(self.rounds.least)).clamp(params.beta_min, params.beta_max)
        } else {
            params.beta_min
        };
        self.steady = steady;
        let least = self.rounds.least;
        if self.most_rtt > least {
            self.most_rtt = least + params.fade * (self.most_rtt - least);
        }
    }
}
