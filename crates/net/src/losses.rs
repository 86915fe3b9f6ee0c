//! Packets that are missing, until time tells that they are lost.

use paceline_cc::StreamId;
use paceline_units::{Time, TimeDelta};
use std::collections::VecDeque;

/// A packet that is missing for so long counts as lost in the figures. Reordering takes less.
pub(crate) const LOST_AFTER: TimeDelta = TimeDelta::from_secs(1);
/// Missing packets that are remembered; with more, the oldest are settled early.
const MOST: usize = 1 << 16;

/// Packets that were noted missing, in the order of that.
#[derive(Clone, Debug, Default)]
pub(crate) struct MissingPackets {
    noted: VecDeque<(Time, StreamId, u64)>,
}

impl MissingPackets {
    /// A packet was found missing at `now`.
    pub fn note(&mut self, now: Time, stream: StreamId, sequence: u64) {
        self.noted.push_back((now, stream, sequence));
    }

    /// The numbers of a stream went on elsewhere: which of them are missing, nobody can tell.
    pub fn forget(&mut self, stream: StreamId) {
        self.noted.retain(|&(_, of, _)| of != stream);
    }

    /// The next packet that was noted long enough before `now`, to be asked for until there is none: whether it has
    /// turned up since is the caller's to know.
    pub fn settle(&mut self, now: Time) -> Option<(StreamId, u64)> {
        let &(noted, stream, sequence) = self.noted.front()?;
        if noted + LOST_AFTER > now && self.noted.len() <= MOST {
            return None;
        }
        self.noted.pop_front();
        Some((stream, sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stream_misses_is_forgotten_and_not_what_others_miss() {
        let mut missing = MissingPackets::default();
        for (stream, sequence) in [(0, 7), (1, 9), (0, 9)] {
            missing.note(Time::ZERO, StreamId(stream), sequence);
        }
        missing.forget(StreamId(0));
        let settled: Vec<_> = std::iter::from_fn(|| missing.settle(Time::MAX)).collect();
        assert_eq!(settled, [(StreamId(1), 9)]);
    }

    #[test]
    fn what_is_missing_for_a_second_is_settled_and_memory_is_bounded() {
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let mut missing = MissingPackets::default();
        missing.note(at(0), StreamId(0), 7);
        missing.note(at(500), StreamId(1), 8);
        assert_eq!(missing.settle(at(999)), None);
        assert_eq!(missing.settle(at(1000)), Some((StreamId(0), 7)));
        assert_eq!(missing.settle(at(1000)), None);
        (0..100_000).for_each(|sequence| missing.note(at(600), StreamId(0), sequence));
        while missing.settle(at(600)).is_some() {}
        assert_eq!(missing.noted.len(), MOST);
    }
}
