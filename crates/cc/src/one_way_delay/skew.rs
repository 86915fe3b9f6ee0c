//! The skew of two clocks, told from queues and other routes by the smallest delays of each 2 s.
//!
//! A clock that runs faster makes delays forward longer and delays back shorter; a queue lengthens one direction, and another
//! route both or one. Of each direction there is the line below all delays that is nearest to them: the edge of the lower
//! convex hull under the mean time (Moon, Skelly and Towsley 1999). Where a route changed, the delays after it are first moved
//! to those before it. A direction is *clean* if a quarter of its delays lie within a millisecond of its line.
//!
//! - If both are clean, they must show opposite slopes, and the smaller is the skew: the rest is a queue that grows or drains.
//! - If one is clean, its slope is the skew, unless the other denies it.
//! - If none is, both slopes must say the same.

use super::envelope::{BUCKETS, Point};

/// Nanoseconds by which delays must have moved before there is a skew: more than the step of RFC 8888's clock (1/1024 s), which
/// is all that clocks without a skew can show.
const SIGNIFICANT: i64 = 1_200_000;
/// The same where one direction says it alone, and the nanoseconds in which it must have done so.
const SIGNIFICANT_ALONE: i64 = 1_500_000;
const SHORTEST_ALONE: i64 = 30_000_000_000;
/// A direction is clean if a quarter of its delays lie within so many nanoseconds of its line, and nearly so within three times
/// as many.
const CLEAN: f64 = 1e6;
/// Directions of which none is clean say the same if they differ by less than this, or by less than this part.
const SAME: f64 = 10e-6;
const SAME_PART: f64 = 0.15;
/// No slope is told of fewer buckets: 10 s.
const FEWEST: usize = 5;
/// Neighbouring buckets of one route differ by less, in nanoseconds; but for so many in between, in which something waited.
const ALIKE: i64 = 3_000_000;
const MOST_BETWEEN: usize = 3;
/// A route has so many buckets at least, and there are so many routes at most.
const FEWEST_OF_A_ROUTE: usize = 4;
const MOST_ROUTES: usize = 5;

/// The smallest delays of a direction, in order of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points {
    points: [Point; BUCKETS],
    count: usize,
}

/// The line that a direction follows.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Line {
    slope: f64,
    /// How far above it a quarter of the delays lie at most, in nanoseconds.
    height: f64,
}

/// By how much the receiver's clock runs faster, as a part, if that is `known` by now and the smallest delays are these; absent if
/// they say nothing.
pub(super) fn skew(known: f64, forward: Points, backward: Points) -> Option<f64> {
    let (ahead, back) = (forward.joined().unwrap_or(forward), backward.joined().unwrap_or(backward));
    let (forward, backward) = (ahead.line()?, back.line()?);
    let (by_forward, by_backward) = (known + forward.slope, known - backward.slope);
    let is_significant = moved_apart(&ahead, &back);
    let is_clean = (forward.height < CLEAN, backward.height < CLEAN);
    if is_clean == (false, false) {
        let (apart, larger) = (by_forward - by_backward, f64::max(by_forward.abs(), by_backward.abs()));
        let same = apart.abs() <= f64::max(SAME, SAME_PART * larger);
        let nearly_clean = forward.height.min(backward.height) < 3.0 * CLEAN;
        return (is_significant && same && nearly_clean).then_some((by_forward + by_backward) / 2.0);
    }
    let alone = |points: &Points, line: &Line, other: &Line| points.tell_alone(line, other);
    let tells = known != 0.0
        || is_significant
        || alone(&ahead, &forward, &backward)
        || alone(&back, &backward, &forward);
    if is_clean == (true, true) {
        let smaller = if forward.slope.abs() < backward.slope.abs() { by_forward } else { by_backward };
        return (tells && forward.slope * backward.slope < 0.0).then_some(smaller);
    }
    tells.then_some(if is_clean.0 { by_forward } else { by_backward })
}

/// Whether both directions moved, one up and one down, by more than a clock without a skew shows.
fn moved_apart(forward: &Points, backward: &Points) -> bool {
    let (Some(forward), Some(backward)) = (forward.rise(), backward.rise()) else { return false };
    forward.min(backward.saturating_neg()) > SIGNIFICANT
        || backward.min(forward.saturating_neg()) > SIGNIFICANT
}

impl Points {
    const NONE: Points = Points { points: [Point { at: 0, delay: 0 }; BUCKETS], count: 0 };

    /// The first so many of these.
    pub(super) fn new<'a>(points: impl Iterator<Item = &'a Point>) -> Points {
        let mut all = Points::NONE;
        points.take(BUCKETS).for_each(|point| all.push(*point));
        all
    }

    fn push(&mut self, point: Point) {
        if self.count < BUCKETS {
            self.points[self.count] = point;
            self.count += 1;
        }
    }

    fn all(&self) -> &[Point] {
        &self.points[..self.count]
    }

    /// The smallest of the last three.
    fn level(&self) -> Option<i64> {
        self.all().iter().rev().take(3).map(|point| point.delay).min()
    }

    /// The points of each route, moved to where those of the route before end. Absent if there is one route alone, or if more
    /// than a quarter of the points belong to none.
    fn joined(&self) -> Option<Points> {
        let (mut joined, mut from, mut routes) = (Points::NONE, 0, 0);
        while from < self.count {
            let (route, end) = self.route(from);
            if route.count < FEWEST_OF_A_ROUTE {
                from += 1;
                continue;
            }
            let first = route.all().iter().take(3).map(|point| point.delay).min().unwrap_or(0);
            let by = joined.level().map_or(0, |level| first.saturating_sub(level));
            for point in route.all() {
                joined.push(Point { delay: point.delay.saturating_sub(by), ..*point });
            }
            (from, routes) = (end, routes + 1);
        }
        (joined.count * 4 >= self.count * 3 && (2..=MOST_ROUTES).contains(&routes)).then_some(joined)
    }

    /// The points from the `from`th on that have a route in common, and one after the last of them.
    fn route(&self, from: usize) -> (Points, usize) {
        let (mut route, mut end) = (Points::NONE, from);
        for (n, point) in self.all().iter().enumerate().skip(from) {
            if route.level().is_none_or(|level| point.delay.saturating_sub(level).saturating_abs() <= ALIKE) {
                route.push(*point);
                end = n + 1;
            } else if n >= end + MOST_BETWEEN {
                break;
            }
        }
        (route, end)
    }

    /// By how much the smallest of the last third exceeds that of the first; absent while they are few.
    fn rise(&self) -> Option<i64> {
        let third = self.count / 3;
        let least = |points: &[Point]| points.iter().map(|point| point.delay).min();
        let (early, late) = (least(&self.all()[..third])?, least(&self.all()[self.count - third..])?);
        Some(late.saturating_sub(early))
    }

    /// Whether this direction shows a skew that the other cannot deny.
    fn tell_alone(&self, line: &Line, other: &Line) -> bool {
        let ends = self.all().first().zip(self.all().last());
        let lasts = ends.map_or(0, |(first, last)| last.at.saturating_sub(first.at));
        let is_hidden = other.height > (line.slope * lasts as f64).abs();
        line.height < CLEAN
            && lasts >= SHORTEST_ALONE
            && self.rise().is_some_and(|rise| rise.saturating_abs() > SIGNIFICANT_ALONE)
            && (is_hidden || other.height > CLEAN && other.slope * line.slope < 0.0)
    }

    /// The line below all delays that is nearest to them.
    fn line(&self) -> Option<Line> {
        if self.count < FEWEST {
            return None;
        }
        let mut hull = [Point { at: 0, delay: 0 }; BUCKETS];
        let mut corners = 0;
        for point in self.all() {
            while corners >= 2 && !turns_left(hull[corners - 2], hull[corners - 1], *point) {
                corners -= 1;
            }
            hull[corners] = *point;
            corners += 1;
        }
        let mean = self.all().iter().map(|point| point.at as f64).sum::<f64>() / self.count as f64;
        let edge = hull[..corners].windows(2).find(|edge| mean <= edge[1].at as f64)?;
        let slope = difference(edge[0].delay, edge[1].delay) / difference(edge[0].at, edge[1].at);
        let mut heights = [0.0; BUCKETS];
        for (height, point) in heights.iter_mut().zip(self.all()) {
            *height = difference(edge[0].delay, point.delay) - slope * difference(edge[0].at, point.at);
        }
        let heights = &mut heights[..self.count];
        heights.sort_unstable_by(f64::total_cmp);
        // Two lie on the line whatever it is.
        Some(Line { slope, height: heights[(self.count / 4 + 2).min(self.count - 1)] })
    }
}

fn turns_left(a: Point, b: Point, c: Point) -> bool {
    difference(a.at, b.at) * difference(a.delay, c.delay)
        > difference(a.at, c.at) * difference(a.delay, b.delay)
}

fn difference(from: i64, to: i64) -> f64 {
    to as f64 - from as f64
}
