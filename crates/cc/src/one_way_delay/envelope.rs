//! The lower envelope of delays over time: what is left of them where nothing waited.

use alloc::collections::VecDeque;

/// Seconds of which the smallest delay is kept.
const BUCKET: f64 = 2.0;
/// Buckets that are remembered: 128 s.
const BUCKETS: usize = 64;
/// After so many the envelope is what a step can be told from: 4 s.
const SETTLED: usize = 2;
/// No slope is told of fewer buckets: 10 s.
const FEWEST: usize = 5;

/// A delay in seconds at a time in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) at: f64,
    pub(super) delay: f64,
}

impl Point {
    /// The delay without what a line of `slope` has gained since the beginning.
    #[inline]
    pub(super) fn without(self, slope: f64) -> f64 {
        self.delay - slope * self.at
    }
}

/// The smallest delay of each bucket of time.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    closed: VecDeque<Point>,
    open: Option<Point>,
    bucket: f64,
    /// The smallest of the closed buckets, without the slope.
    closed_least: f64,
    /// The smallest of all times, also of buckets that are forgotten.
    least: Option<Point>,
}

impl Envelope {
    pub(super) fn new() -> Envelope {
        Envelope {
            closed: VecDeque::with_capacity(BUCKETS + 1),
            open: None,
            bucket: 0.0,
            closed_least: f64::INFINITY,
            least: None,
        }
    }

    /// Takes a delay in; true if a bucket was closed.
    #[inline]
    pub(super) fn add(&mut self, point: Point, slope: f64) -> bool {
        let value = point.without(slope);
        if self.least.is_none_or(|least| value < least.without(slope)) {
            self.least = Some(point);
        }
        let Some(open) = &mut self.open else {
            (self.open, self.bucket) = (Some(point), point.at);
            return false;
        };
        if point.at >= self.bucket + BUCKET {
            let closed = *open;
            self.open = Some(point);
            self.bucket = point.at;
            self.close(closed, slope);
            return true;
        }
        if value < open.without(slope) {
            *open = point;
        }
        false
    }

    #[cold]
    fn close(&mut self, point: Point, slope: f64) {
        if self.closed.back().is_none_or(|last| last.at < point.at) {
            self.closed.push_back(point);
        }
        if self.closed.len() > BUCKETS {
            self.closed.pop_front();
        }
        self.tilt(slope);
    }

    /// The slope that is taken off is another from now on.
    pub(super) fn tilt(&mut self, slope: f64) {
        let values = self.closed.iter().map(|point| point.without(slope));
        self.closed_least = values.fold(f64::INFINITY, f64::min);
    }

    /// The smallest of the remembered delays without the slope; absent while they are few.
    #[inline]
    pub(super) fn settled(&self, slope: f64) -> Option<f64> {
        let open = self.open.filter(|_| self.closed.len() >= SETTLED)?;
        Some(open.without(slope).min(self.closed_least))
    }

    /// The smallest of all times without the slope.
    #[inline]
    pub(super) fn least(&self, slope: f64) -> Option<f64> {
        self.least.map(|least| least.without(slope))
    }

    /// The smallest of the buckets that ended `from` or later, without the slope.
    pub(super) fn least_since(&self, from: f64, slope: f64) -> Option<f64> {
        let late = self.closed.iter().rev().take_while(|point| point.at >= from);
        late.chain(self.open.as_ref()).map(|point| point.without(slope)).reduce(f64::min)
    }

    /// Only what comes from now on counts towards the smallest of all times.
    pub(super) fn forget_before(&mut self, from: f64, slope: f64) {
        let late = self.closed.iter().rev().take_while(|point| point.at >= from);
        let least = |a: Point, b: Point| if b.without(slope) < a.without(slope) { b } else { a };
        self.least = late.chain(self.open.as_ref()).copied().reduce(least);
    }

    /// The slope of the line below all delays that is nearest to them: the edge of the lower convex hull under the mean
    /// time (Moon, Skelly and Towsley 1999).
    pub(super) fn slope(&self) -> Option<f64> {
        if self.closed.len() < FEWEST {
            return None;
        }
        let mut hull = [Point { at: 0.0, delay: 0.0 }; BUCKETS + 1];
        let mut corners = 0;
        for point in &self.closed {
            while corners >= 2 && !turns_left(hull[corners - 2], hull[corners - 1], *point) {
                corners -= 1;
            }
            hull[corners] = *point;
            corners += 1;
        }
        let mean = self.closed.iter().map(|point| point.at).sum::<f64>() / self.closed.len() as f64;
        let edge = hull[..corners].windows(2).find(|edge| mean <= edge[1].at)?;
        Some((edge[1].delay - edge[0].delay) / (edge[1].at - edge[0].at))
    }
}

fn turns_left(a: Point, b: Point, c: Point) -> bool {
    (b.at - a.at) * (c.delay - a.delay) > (c.at - a.at) * (b.delay - a.delay)
}
