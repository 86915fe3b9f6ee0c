//! Things that each leave at a time of their own, in order of time; at equal times in the order they came.

use std::collections::BTreeMap;

/// A queue in order of time, of packets in a relay or in a capture file.
#[derive(Debug)]
pub(crate) struct TimedQueue<K, T> {
    waiting: BTreeMap<(K, u64), T>,
    /// Things that have entered so far: breaks ties.
    entered: u64,
}

impl<K: Copy + Ord, T> TimedQueue<K, T> {
    pub fn new() -> TimedQueue<K, T> {
        TimedQueue { waiting: BTreeMap::new(), entered: 0 }
    }

    /// Adds what is to leave at `at`.
    pub fn push(&mut self, at: K, what: T) {
        self.entered += 1;
        self.waiting.insert((at, self.entered), what);
    }

    /// When the next thing leaves.
    pub fn next(&self) -> Option<K> {
        self.waiting.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next thing and when it leaves, if that is `due`.
    pub fn pop_if(&mut self, due: impl FnOnce(K) -> bool) -> Option<(K, T)> {
        self.next().filter(|at| due(*at))?;
        self.waiting.pop_first().map(|((at, _), what)| (at, what))
    }

    /// Whether the queue holds nothing.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::TimedQueue;

    #[test]
    fn by_time_then_by_order() {
        let mut queue = TimedQueue::new();
        for (time, name) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            queue.push(time, name);
        }
        assert_eq!(queue.next(), Some(3));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_if(|at| at < 6).map(|(_, name)| name)).collect();
        assert_eq!(order, ['a', 'b', 'c', 'd']);
        queue.push(6, 'e');
        assert!(queue.pop_if(|at| at < 6).is_none() && !queue.is_empty());
        assert_eq!(queue.pop_if(|at| at <= 6), Some((6, 'e')));
    }
}
