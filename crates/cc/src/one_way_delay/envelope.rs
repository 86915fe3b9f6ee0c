//! The lower envelope of delays over time: what is left of them where nothing waited.

use super::Tilt;
use alloc::collections::VecDeque;

/// Nanoseconds of which the smallest delay is kept: 2 s.
const BUCKET: i64 = 2_000_000_000;
/// Buckets that are remembered: 128 s.
pub(super) const BUCKETS: usize = 64;
/// After so many the envelope is what a step can be told from: 6 s.
const SETTLED: usize = 3;

/// A delay at a time, both in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) at: i64,
    pub(super) delay: i64,
}

/// The smallest delay of each bucket of time.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    closed: VecDeque<Point>,
    /// The smallest of the present bucket; absent before the first delay.
    open: Option<Point>,
    /// When the present bucket began.
    bucket: i64,
    /// The smallest of the closed buckets.
    closed_least: i64,
    /// The smallest of all times, also of buckets that are forgotten.
    least: Option<Point>,
}

impl Envelope {
    pub(super) fn new() -> Envelope {
        Envelope {
            closed: VecDeque::with_capacity(BUCKETS + 1),
            open: None,
            bucket: 0,
            closed_least: i64::MAX,
            least: None,
        }
    }

    /// Below this a delay changes the present bucket.
    pub(super) fn open_least(&self) -> i64 {
        self.open.map_or(i64::MAX, |open| open.delay)
    }

    /// When the present bucket ends.
    pub(super) fn bucket_end(&self) -> i64 {
        if self.open.is_none() { i64::MIN } else { self.bucket.saturating_add(BUCKET) }
    }

    /// Takes a delay in; true if a bucket was closed.
    pub(super) fn add(&mut self, point: Point) -> bool {
        if self.least.is_none_or(|least| point.delay < least.delay) {
            self.least = Some(point);
        }
        let Some(open) = &mut self.open else {
            (self.open, self.bucket) = (Some(point), point.at);
            return false;
        };
        if point.at >= self.bucket.saturating_add(BUCKET) {
            let closed = core::mem::replace(open, point);
            self.bucket = point.at;
            self.close(closed);
            return true;
        }
        if point.delay < open.delay {
            *open = point;
        }
        false
    }

    fn close(&mut self, point: Point) {
        if self.closed.back().is_none_or(|last| last.at < point.at) {
            self.closed.push_back(point);
        }
        if self.closed.len() > BUCKETS {
            self.closed.pop_front();
        }
        self.count_closed();
    }

    fn count_closed(&mut self) {
        self.closed_least = self.closed.iter().map(|point| point.delay).min().unwrap_or(i64::MAX);
    }

    /// When the oldest delay was seen that is remembered, once older ones are forgotten.
    pub(super) fn forgotten_before(&self) -> Option<i64> {
        self.closed.front().filter(|_| self.closed.len() == BUCKETS).map(|point| point.at)
    }

    /// Remembered delays are corrected like the coming ones.
    pub(super) fn tilt(&mut self, tilt: &Tilt) {
        let points = self.closed.iter_mut().chain(&mut self.open).chain(&mut self.least);
        points.for_each(|point| point.delay = tilt.corrected(point.at, point.delay));
        self.count_closed();
    }

    /// Delays of what was sent at `from` or later are smaller by so much, as is known now.
    pub(super) fn shift(&mut self, from: i64, by: i64) {
        let points = self.closed.iter_mut().chain(&mut self.open);
        points
            .filter(|point| point.at >= from)
            .for_each(|point| point.delay = point.delay.saturating_sub(by));
        self.count_closed();
        if self.least.is_some_and(|least| least.at >= from) {
            self.least = self.since(i64::MIN).min_by_key(|point| point.delay);
        }
    }

    /// The smallest of the remembered delays; absent while they are few.
    pub(super) fn settled(&self) -> Option<i64> {
        let open = self.open.filter(|_| self.closed.len() >= SETTLED)?;
        Some(open.delay.min(self.closed_least))
    }

    /// The smallest of all times.
    pub(super) fn least(&self) -> Option<i64> {
        self.least.map(|least| least.delay)
    }

    /// The smallest of the buckets whose smallest delay was seen `from` or later.
    pub(super) fn least_since(&self, from: i64) -> Option<i64> {
        self.since(from).map(|point| point.delay).min()
    }

    fn since(&self, from: i64) -> impl Iterator<Item = Point> {
        let late = self.closed.iter().rev().take_while(move |point| point.at >= from);
        late.chain(&self.open).copied()
    }

    /// Only coming delays count towards the smallest of all times.
    pub(super) fn forget_before(&mut self, from: i64) {
        self.least = self.since(from).min_by_key(|point| point.delay);
    }

    /// The smallest delays of the closed buckets, oldest first.
    pub(super) fn points(&self) -> impl DoubleEndedIterator<Item = &Point> {
        self.closed.iter()
    }
}
