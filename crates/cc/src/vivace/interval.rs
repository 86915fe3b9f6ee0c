//! A monitor interval: packets that were sent at one rate, and what became of them.

use super::Params;
use paceline_units::{Time, TimeDelta};

/// Packets sent at one rate, the first to the last, and their round trips over the times at which they were sent.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Interval {
    /// The rate that it tries, Mbit/s.
    pub rate: f64,
    /// Packets that it is made of.
    length: u64,
    begun: Option<Time>,
    /// Sending time of the first packet after it.
    ended: Option<Time>,
    pub sent: u64,
    bytes: u64,
    delivered: u64,
    lost: u64,
    /// Whether the application had not enough for it.
    limited: bool,
    /// Count and sums of the regression: time since the first packet, round trip, square, product; seconds.
    sums: [f64; 5],
}

impl Interval {
    pub fn new(rate: f64) -> Interval {
        Interval { rate, ..Interval::default() }
    }

    /// Whether the next packet is one of a later interval: this one has its packets, and ends now.
    pub fn is_full(&mut self, now: Time) -> bool {
        let full = self.begun.is_some() && self.sent >= self.length;
        if full {
            self.ended = Some(now);
        }
        full
    }

    /// A packet of it leaves; the first says how many it has.
    pub fn on_sent(&mut self, now: Time, bytes: u64, limited: bool, length: impl FnOnce() -> u64) {
        if self.begun.is_none() {
            (self.begun, self.length) = (Some(now), length());
        }
        self.sent += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.limited |= limited;
    }

    pub fn on_delivered(&mut self) {
        self.delivered += 1;
    }

    /// The round trip of a packet that left at a time.
    pub fn on_round_trip(&mut self, at: Time, rtt: TimeDelta) {
        let Some(begun) = self.begun else { return };
        let (x, y) = (at.saturating_since(begun).as_secs_f64(), rtt.as_secs_f64());
        for (sum, add) in self.sums.iter_mut().zip([1.0, x, y, x * x, x * y]) {
            *sum += add;
        }
    }

    pub fn on_lost(&mut self) {
        self.lost += 1;
    }

    /// Whether all of its packets are accounted for, or one is that left a round trip after them.
    pub fn is_known(&self, newest: Time, round_trip: TimeDelta) -> bool {
        let known = self.delivered + self.lost >= self.sent;
        self.ended.is_some_and(|ended| known || newest >= ended + round_trip)
    }

    /// Packets that were not delivered.
    pub fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.delivered)
    }

    pub fn loss(&self) -> f64 {
        self.missing() as f64 / self.sent.max(1) as f64
    }

    /// Time from its first packet to the first after it, in seconds.
    fn span(&self) -> f64 {
        let span = self.ended.zip(self.begun).map(|(ended, begun)| ended.saturating_since(begun));
        span.map_or(0.0, TimeDelta::as_secs_f64)
    }

    /// Whether it is no trial of its rate.
    pub fn says_nothing(&self) -> bool {
        self.limited || self.span() <= 0.0
    }

    /// Growth of the round trip over time by linear regression.
    pub fn slope(&self) -> f64 {
        let [n, x, y, xx, xy] = self.sums;
        let spread = n * xx - x * x;
        if spread > 0.0 { (n * xy - x * y) / spread } else { 0.0 }
    }

    /// The rate at which its packets left, Mbit/s.
    pub fn left_at(&self) -> f64 {
        self.bytes as f64 * 8e-6 / self.span().max(1e-9)
    }

    /// Equation 1 of the rate at which its packets left, with a loss ratio and a slope of the round trip.
    pub fn utility(&self, params: &Params, loss: f64, slope: f64) -> f64 {
        let x = self.left_at();
        let c = if loss <= params.low_loss { params.low_loss_c } else { params.c };
        let slope = libm::trunc(slope / params.rtt_step) * params.rtt_step;
        libm::pow(x, params.t) - params.b * x * slope - c * x * loss
    }
}
