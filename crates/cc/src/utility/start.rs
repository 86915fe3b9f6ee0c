//! The phases before the law sets the rate: a probe for the delay noise, slow start for the capacity.

use super::law::{First, Phase};
use paceline_units::{Bitrate, Time, TimeDelta};

/// Packets whose smallest delay tells a queue from noise.
const QUEUE_PACKETS: usize = 8;
/// Part of the capacity at which the queue drains.
pub(super) const DRAIN: f64 = 0.5;
/// The queue of other flows never drains: no longer than this, and two round trips.
const LONGEST_DRAIN: TimeDelta = TimeDelta::from_secs(2);

/// Delays of the newest packets.
#[derive(Clone, Copy, Debug)]
struct Newest {
    deltas: [f64; QUEUE_PACKETS],
    count: usize,
}

/// Where a flow stands in its start.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) phase: Phase,
    /// When the phase began; absent before the first packet of it.
    began: Option<Time>,
    length: TimeDelta,
    fewest: u64,
    newest: Newest,
    /// When slow start, which has seen a queue, has measured the capacity.
    pub(super) measured: Option<Time>,
    /// Sum of the probe's delays in seconds, and their number.
    sum: f64,
    count: u64,
    /// What comes after the queue has drained.
    pub(super) next: First,
}

impl Start {
    /// A flow that begins so, and its first rate.
    pub(super) fn new(first: First) -> (Start, Bitrate) {
        let mut start = Start {
            phase: Phase::Steady,
            began: None,
            length: TimeDelta::ZERO,
            fewest: 0,
            newest: Newest { deltas: [0.0; QUEUE_PACKETS], count: 0 },
            measured: None,
            sum: 0.0,
            count: 0,
            next: first,
        };
        let rate = start.go_on(first);
        (start, rate)
    }

    /// Enters what is to be next.
    pub(super) fn go_on(&mut self, next: First) -> Bitrate {
        let (phase, rate) = match next {
            First::Probe(rate, length, fewest) => {
                (self.length, self.fewest) = (length, fewest);
                (Phase::Probe, rate)
            }
            First::SlowStart(rate) => (Phase::SlowStart, rate),
            First::Steady(rate) => (Phase::Steady, rate),
        };
        self.enter(phase);
        rate
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        (self.phase, self.began, self.newest.count, self.measured) = (phase, None, 0, None);
        (self.sum, self.count) = (0.0, 0);
    }

    /// A packet's delay over any zero that stays, in seconds. Answers the mean delay and the number of packets when the
    /// probe is over.
    pub(super) fn probed(&mut self, now: Time, delay: f64) -> Option<(f64, f64)> {
        let began = *self.began.get_or_insert(now);
        self.sum += delay;
        self.count += 1;
        let is_over = now.saturating_since(began) >= self.length && self.count >= self.fewest;
        is_over.then(|| (self.sum / self.count as f64, self.count as f64))
    }

    /// Takes the delay of a packet in.
    #[inline]
    pub(super) fn note(&mut self, delta: f64) {
        self.newest.deltas[self.newest.count % QUEUE_PACKETS] = delta;
        self.newest.count += 1;
    }

    /// A queue was seen: the rate that makes it stays until `until`, while the capacity is measured.
    pub(super) fn measure(&mut self, until: Time) {
        self.measured = Some(until);
    }

    /// The smallest delay of the newest packets; absent while they are few.
    fn smallest(&self) -> Option<f64> {
        let deltas = self.newest.deltas.iter().copied();
        (self.newest.count >= QUEUE_PACKETS).then(|| deltas.fold(f64::INFINITY, f64::min))
    }

    /// Whether even the fastest of the newest packets waited longer than `delay` seconds.
    pub(super) fn sees_queue(&self, delay: f64) -> bool {
        self.smallest().is_some_and(|smallest| smallest > delay)
    }

    /// Whether the queue that slow start left is gone, down to `delay` seconds, or will not go.
    pub(super) fn is_drained(&mut self, now: Time, delay: f64, rtt: TimeDelta) -> bool {
        let began = *self.began.get_or_insert(now);
        let lasted = now.saturating_since(began);
        lasted >= LONGEST_DRAIN + rtt + rtt
            || (lasted >= rtt && self.smallest().is_some_and(|least| least <= delay))
    }
}
