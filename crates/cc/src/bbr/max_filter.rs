//! The largest value of the last rounds.

use alloc::collections::VecDeque;

/// A sliding maximum: values that may still become the largest, each smaller and later than the one before.
#[derive(Clone, Debug)]
pub(crate) struct MaxFilter {
    /// Rounds over which a value counts.
    rounds: u64,
    /// Round and value; at most one of each round.
    candidates: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    pub fn new(rounds: u64) -> MaxFilter {
        MaxFilter { rounds, candidates: VecDeque::with_capacity(rounds as usize + 2) }
    }

    /// The largest; absent before the first.
    #[inline]
    pub fn best(&self) -> Option<f64> {
        self.candidates.front().map(|(_, value)| *value)
    }

    /// The largest is replaced, and counts for as long as the one before would have: then what was measured does. Before the first,
    /// this is it.
    pub fn assign(&mut self, round: u64, value: f64) {
        let from = self.candidates.pop_front().map_or(round, |(from, _)| from);
        while self.candidates.front().is_some_and(|(_, known)| *known >= value) {
            self.candidates.pop_front();
        }
        self.candidates.push_front((from, value));
    }

    /// From the next value on, values count for so many rounds.
    pub fn keep_for(&mut self, rounds: u64) {
        self.rounds = rounds;
    }

    /// Notes a value of the present round.
    #[inline]
    pub fn update(&mut self, round: u64, value: f64) {
        while self.candidates.back().is_some_and(|(_, last)| *last <= value) {
            self.candidates.pop_back();
        }
        if self.candidates.back().is_none_or(|(last, _)| *last != round) {
            self.candidates.push_back((round, value));
        }
        while self.candidates.front().is_some_and(|(from, _)| round.saturating_sub(*from) >= self.rounds) {
            self.candidates.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_maximum_counts_for_its_rounds_and_then_the_next_best_does() {
        let mut filter = MaxFilter::new(10);
        filter.update(0, 100.0);
        for round in 1..10 {
            filter.update(round, 60.0 - round as f64);
            assert_eq!(filter.best(), Some(100.0), "round {round}");
        }
        filter.update(10, 10.0);
        assert_eq!(filter.best(), Some(59.0));
        filter.update(11, 200.0);
        assert_eq!(filter.best(), Some(200.0));
        filter.update(40, 1.0);
        assert_eq!(filter.best(), Some(1.0));
    }

    #[test]
    fn what_is_assigned_counts_no_longer_than_what_it_replaces() {
        let mut filter = MaxFilter::new(10);
        filter.assign(0, 5.0);
        assert_eq!(filter.best(), Some(5.0));
        filter.update(0, 100.0);
        filter.update(4, 60.0);
        (1..10).for_each(|round| filter.assign(round, 200.0));
        assert_eq!(filter.best(), Some(200.0));
        filter.update(10, 1.0);
        assert_eq!(filter.best(), Some(60.0), "what was assigned in place of that of round 0 is over");
        filter.assign(10, 30.0);
        filter.update(14, 20.0);
        assert_eq!(filter.best(), Some(20.0), "and what was in place of that of round 4");
    }

    #[test]
    fn it_is_the_maximum_whatever_comes() {
        let mut filter = MaxFilter::new(7);
        let values: Vec<(u64, f64)> = (0..400u64).map(|n| (n / 3, (n * 7919 % 101) as f64)).collect();
        for (n, (round, value)) in values.iter().enumerate() {
            filter.update(*round, *value);
            let recent = values[..=n].iter().filter(|(from, _)| round - from < 7);
            let expected = recent.map(|(_, value)| *value).fold(0.0, f64::max);
            assert_eq!(filter.best(), Some(expected), "after {n}");
            assert!(filter.candidates.len() <= 8);
        }
    }
}
