//! The phases before the law sets the rate: a probe for the delay noise, slow start for the capacity.

use super::law::{First, Phase};
use paceline_units::{Bitrate, Time, TimeDelta};

/// Packets whose smallest delay tells a queue from noise.
const QUEUE_PACKETS: usize = 8;
/// Rate while the capacity is measured, over what arrives.
pub(super) const MEASURED_RATE: f64 = 1.4;
/// Part of the capacity at which the queue drains.
pub(super) const DRAIN: f64 = 0.5;
/// The end of a probe, in which the queue before it has drained.
const PROBE_END: TimeDelta = TimeDelta::from_secs(1);
/// Slow start is over sooner where anything but the application, or the highest rate, limits it.
const LONG: TimeDelta = TimeDelta::from_secs(5);
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
    /// Whether slow start is to look for a queue before it grows.
    pub(super) looks: bool,
    /// When slow start, which has seen a queue, has measured the capacity.
    pub(super) measured: Option<Time>,
    /// Sum of the delays in seconds of a probe, or of a long slow start, and their number.
    sum: f64,
    count: u64,
    /// The same of the end of a probe.
    end: (f64, f64),
    /// The highest rate in bit/s at which packets arrived in slow start, where no queue was seen for [`LONG`].
    seen: f64,
    /// The phase after the queue has drained.
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
            looks: false,
            measured: None,
            sum: 0.0,
            count: 0,
            end: (0.0, 0.0),
            seen: 0.0,
            next: first,
        };
        let rate = start.go_on(first);
        (start, rate)
    }

    /// Enters what is to be next.
    pub(super) fn go_on(&mut self, next: First) -> Bitrate {
        (self.seen, self.sum, self.count, self.end) = (0.0, 0.0, 0, (0.0, 0.0));
        let (phase, rate) = match next {
            First::Probe(rate, length, fewest) => {
                (self.length, self.fewest) = (length, fewest);
                (Phase::Probe, rate)
            }
            First::SlowStart(rate) => (Phase::SlowStart, rate),
            First::Look(rate) => (Phase::SlowStart, Bitrate::from_bps_f64(rate.as_bps_f64() * MEASURED_RATE)),
            First::Steady(rate) => (Phase::Steady, rate),
        };
        self.enter(phase);
        self.looks = matches!(next, First::Look(_));
        rate
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        (self.phase, self.began, self.newest.count, self.measured) = (phase, None, 0, None);
    }

    /// A packet's delay over any zero that stays, in seconds. Answers the mean delay, the number of packets, and the mean delay of the
    /// last second when the probe is over.
    pub(super) fn probed(&mut self, now: Time, delay: f64) -> Option<(f64, f64, f64)> {
        let began = *self.began.get_or_insert(now);
        let lasted = now.saturating_since(began);
        self.sum += delay;
        self.count += 1;
        if lasted + PROBE_END >= self.length {
            self.end = (self.end.0 + delay, self.end.1 + 1.0);
        }
        let is_over = lasted >= self.length && self.count >= self.fewest;
        is_over.then(|| (self.sum / self.count as f64, self.count as f64, self.end.0 / self.end.1))
    }

    /// Takes the delay of a packet in.
    #[inline]
    pub(super) fn note(&mut self, delta: f64) {
        self.newest.deltas[self.newest.count % QUEUE_PACKETS] = delta;
        self.newest.count += 1;
    }

    /// Slow start goes on, and packets arrive at this rate in bit/s, the newest after `delay` seconds over any zero that stays. An
    /// application that sends less than the link carries, or the highest rate, makes no queue: slow start then goes on until the link
    /// falls below that.
    pub(super) fn on_no_queue(&mut self, now: Time, rate: Option<f64>, delay: f64) {
        let began = *self.began.get_or_insert(now);
        if now.saturating_since(began) >= LONG {
            self.seen = self.seen.max(rate.unwrap_or(0.0));
            (self.sum, self.count) = (self.sum + delay, self.count + 1);
        }
    }

    /// The capacity that slow start has found where it measured one: R_MAX is the most that ever arrived (equation 14), not what a link carries
    /// that has just become slower; and the mean delay before, if slow start was long.
    pub(super) fn found(&self, measured: f64) -> (f64, Option<f64>) {
        let is_slower = self.count > 0 && self.seen > measured;
        (measured.max(self.seen), is_slower.then(|| self.sum / self.count as f64))
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
