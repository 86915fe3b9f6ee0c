//! Numbers that are there, beyond the first that is missing.

/// Ranges [begin, end), in order and apart from each other.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// The range that a number is in.
    pub fn of(&self, number: u64) -> Option<(u64, u64)> {
        let place = self.ranges.partition_point(|(_, end)| *end <= number);
        self.ranges.get(place).copied().filter(|(begin, _)| *begin <= number)
    }

    /// The places of the ranges that [begin, end) overlaps or touches.
    fn near(&self, begin: u64, end: u64) -> std::ops::Range<usize> {
        let from = self.ranges.partition_point(|(_, known)| *known < begin);
        from..self.ranges.partition_point(|(known, _)| *known <= end)
    }

    /// How many numbers of [begin, end) are there.
    pub fn count_in(&self, begin: u64, end: u64) -> u64 {
        if begin >= end {
            return 0;
        }
        let near = &self.ranges[self.near(begin, end)];
        near.iter().map(|(from, to)| end.min(*to) - begin.max(*from)).sum()
    }

    /// Whether adding [begin, end) makes one range more.
    pub fn is_apart(&self, begin: u64, end: u64) -> bool {
        self.near(begin, end).is_empty()
    }

    /// Adds [begin, end), and tells of each part that was not there; answers the range that it is in now.
    pub fn add(&mut self, begin: u64, end: u64, mut new: impl FnMut(u64, u64)) -> (u64, u64) {
        let std::ops::Range { start: from, end: to } = self.near(begin, end);
        let mut next = begin;
        for (known, until) in &self.ranges[from..to] {
            if next < *known {
                new(next, *known);
            }
            next = next.max(*until);
        }
        if next < end {
            new(next, end);
        }
        if let [(first, _), ..] = self.ranges[from..to]
            && let [.., (_, last)] = self.ranges[from..to]
        {
            let joined = (first.min(begin), last.max(end));
            // The usual case moves nothing: one range grows.
            self.ranges[from] = joined;
            self.ranges.drain(from + 1..to);
            joined
        } else {
            self.ranges.insert(from, (begin, end));
            (begin, end)
        }
    }

    /// Takes out what follows `next` without a hole, and all before it. Answers the first that is missing.
    pub fn advance(&mut self, next: u64) -> u64 {
        let (mut next, mut gone) = (next, 0);
        while let Some((_, end)) = self.ranges.get(gone).filter(|(begin, _)| *begin <= next) {
            next = next.max(*end);
            gone += 1;
        }
        self.ranges.drain(..gone);
        next
    }

    /// Takes out all numbers.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// The ranges, the lowest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_are_a_set_of_numbers(steps in prop::collection::vec((0u64..60, 1u64..9, any::<bool>()), 0..60)) {
            let (mut ranges, mut set, mut next) = (Ranges::default(), BTreeSet::new(), 0);
            for (begin, length, advances) in steps {
                let begin = begin.max(next + 1);
                let mut new = BTreeSet::new();
                for from in [begin, begin + length] {
                    let known = (from..begin + length).filter(|number| set.contains(number)).count();
                    prop_assert_eq!(ranges.count_in(from, begin + length), known as u64);
                }
                ranges.add(begin, begin + length, |from, to| new.extend(from..to));
                let expected: BTreeSet<u64> = (begin..begin + length).filter(|number| set.insert(*number)).collect();
                prop_assert_eq!(new, expected);
                if advances {
                    set.insert(next);
                    next = ranges.advance(next + 1);
                    while set.remove(&next) || set.first().is_some_and(|first| *first < next) {
                        set.pop_first();
                    }
                    set.retain(|number| *number >= next);
                }
                let all: BTreeSet<u64> = ranges.iter().flat_map(|(begin, end)| begin..end).collect();
                prop_assert_eq!(&all, &set);
                prop_assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(one, other)| one.1 < other.0));
                prop_assert!(set.iter().all(|number| ranges.of(*number).is_some()) && ranges.of(next).is_none());
            }
        }
    }
}
