//! The relay queue: what is to leave, in order of time; at equal times in the order it came.

use paceline_units::{Time, TimeDelta};
use std::collections::BTreeMap;

/// A queue of things that each leave at a time of their own.
#[derive(Debug)]
pub(super) struct TimedQueue<T> {
    waiting: BTreeMap<(Time, u64), T>,
    /// Things that have entered so far: breaks ties.
    entered: u64,
}

impl<T> Default for TimedQueue<T> {
    fn default() -> TimedQueue<T> {
        TimedQueue { waiting: BTreeMap::new(), entered: 0 }
    }
}

impl<T> TimedQueue<T> {
    /// Adds what is to leave at `at`.
    pub fn push(&mut self, at: Time, what: T) {
        self.entered += 1;
        self.waiting.insert((at, self.entered), what);
    }

    /// When the next thing leaves.
    pub fn next(&self) -> Option<Time> {
        self.waiting.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next thing that leaves strictly before `until`, and when.
    pub fn pop_before(&mut self, until: Time) -> Option<(Time, T)> {
        self.next().filter(|at| *at < until)?;
        self.waiting.pop_first().map(|((at, _), what)| (at, what))
    }

    /// The next thing that leaves at `now` or before, and when.
    pub fn pop_due(&mut self, now: Time) -> Option<(Time, T)> {
        self.pop_before(now + TimeDelta::from_nanos(1))
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_then_by_order() {
        let mut queue = TimedQueue::default();
        let at = Time::from_nanos;
        for (time, name) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            queue.push(at(time), name);
        }
        assert_eq!(queue.next(), Some(at(3)));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_before(at(6)).map(|(_, name)| name)).collect();
        assert_eq!(order, ['a', 'b', 'c', 'd']);
        queue.push(at(6), 'e');
        assert!(queue.pop_before(at(6)).is_none() && queue.pop_due(at(5)).is_none() && !queue.is_empty());
        assert_eq!(queue.pop_due(at(6)), Some((at(6), 'e')));
    }
}
