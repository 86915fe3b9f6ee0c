//! What is to leave the relay, in order of time; at equal times in the order it came.

use paceline_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A queue by time.
#[derive(Debug)]
pub(super) struct Releases<T> {
    heap: BinaryHeap<Reverse<Release<T>>>,
    count: u64,
}

#[derive(Debug)]
struct Release<T> {
    at: Time,
    order: u64,
    what: T,
}

impl<T> Releases<T> {
    pub fn new() -> Releases<T> {
        Releases { heap: BinaryHeap::new(), count: 0 }
    }

    /// `what` is to leave at `at`.
    pub fn push(&mut self, at: Time, what: T) {
        self.count += 1;
        self.heap.push(Reverse(Release { at, order: self.count, what }));
    }

    /// When the next leaves.
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(release)| release.at)
    }

    /// The next that leaves strictly before `until`.
    pub fn pop_before(&mut self, until: Time) -> Option<(Time, T)> {
        self.next().filter(|at| *at < until)?;
        self.heap.pop().map(|Reverse(release)| (release.at, release.what))
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl<T> Release<T> {
    fn key(&self) -> (Time, u64) {
        (self.at, self.order)
    }
}

impl<T> PartialEq for Release<T> {
    fn eq(&self, other: &Release<T>) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Release<T> {}

impl<T> PartialOrd for Release<T> {
    fn partial_cmp(&self, other: &Release<T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Release<T> {
    fn cmp(&self, other: &Release<T>) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_then_by_order() {
        let mut releases = Releases::new();
        let at = Time::from_nanos;
        for (time, name) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            releases.push(at(time), name);
        }
        assert_eq!(releases.next(), Some(at(3)));
        let order: Vec<_> = std::iter::from_fn(|| releases.pop_before(at(6)).map(|(_, name)| name)).collect();
        assert_eq!(order, ['a', 'b', 'c', 'd']);
        releases.push(at(6), 'e');
        assert!(releases.pop_before(at(6)).is_none() && !releases.is_empty());
    }
}
