//! Packets that were sent and are neither acknowledged nor lost: RAP's transmission history, of one stream.

use alloc::collections::VecDeque;
use paceline_units::Time;

/// More packets than this are never waited for: the oldest are given up.
const MOST: usize = 1 << 16;
const FIRST_CAPACITY: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    sent: Time,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Losing the packet is a loss event.
    Active,
    /// Sent before the last loss event: its loss belongs to that.
    Inactive,
    /// Acknowledged, or never sent.
    Done,
}

/// The news in the acknowledgement of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum News {
    /// Nothing that was not known.
    None,
    /// The packet arrived.
    Acknowledged,
    /// It arrived, after all that was outstanding then was given up: it was late and not lost.
    Late,
}

/// The packets of one stream, from the oldest undecided on.
#[derive(Clone, Debug)]
pub(super) struct Outstanding {
    first: u64,
    entries: VecDeque<Entry>,
    /// `lastRecv`, the highest that was acknowledged.
    last_received: Option<u64>,
}

impl Outstanding {
    pub(super) fn new() -> Outstanding {
        Outstanding { first: 0, entries: VecDeque::with_capacity(FIRST_CAPACITY), last_received: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A packet was sent. Old numbers are ignored, skipped ones were never sent.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, sequence: u64) {
        if sequence == u64::MAX {
            // No sequence number follows the last one.
            return;
        }
        if self.entries.is_empty() && sequence >= self.first {
            self.first = sequence;
        }
        let Some(at) = sequence.checked_sub(self.first) else { return };
        if at >= MOST as u64 * 2 {
            self.entries.clear();
            self.first = sequence;
        }
        let at = (sequence - self.first) as usize;
        if at < self.entries.len() {
            return;
        }
        while self.entries.len() < at {
            self.entries.push_back(Entry { sent: now, state: State::Done });
        }
        self.entries.push_back(Entry { sent: now, state: State::Active });
        while self.entries.len() > MOST {
            self.entries.pop_front();
            self.first += 1;
        }
        self.pop_done();
    }

    /// A packet was acknowledged.
    #[inline]
    pub(super) fn on_received(&mut self, sequence: u64) -> News {
        let highest = self.last_received.is_none_or(|last| sequence > last);
        let Some(at) = sequence.checked_sub(self.first) else {
            return if highest { self.on_late(sequence) } else { News::None };
        };
        let Some(entry) = usize::try_from(at).ok().and_then(|at| self.entries.get_mut(at)) else {
            return News::None;
        };
        let known = core::mem::replace(&mut entry.state, State::Done) == State::Done;
        self.last_received = self.last_received.max(Some(sequence));
        self.pop_done();
        if known { News::None } else { News::Acknowledged }
    }

    fn on_late(&mut self, sequence: u64) -> News {
        self.last_received = Some(sequence);
        News::Late
    }

    fn pop_done(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.state == State::Done) {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// Gives up what is `reorder` or more below the last received, or was sent `at` or before. True if an active
    /// packet is among them: a loss event.
    pub(super) fn give_up(&mut self, reorder: u64, at: Option<Time>) -> bool {
        let mut event = false;
        while let Some(entry) = self.entries.front() {
            let passed = self.last_received.is_some_and(|last| last >= self.first.saturating_add(reorder));
            let old = at.is_some_and(|at| entry.sent <= at);
            match entry.state {
                State::Done => {}
                _ if !passed && !old => break,
                state => event |= state == State::Active,
            }
            self.entries.pop_front();
            self.first += 1;
        }
        event
    }

    /// All that is outstanding belongs to the loss event that just was.
    pub(super) fn deactivate(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.state == State::Active) {
            entry.state = State::Inactive;
        }
    }

    #[cfg(test)]
    fn oldest(&self) -> Option<Time> {
        self.entries.front().map(|entry| entry.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> Time {
        Time::from_nanos(n)
    }

    fn sent(count: u64) -> Outstanding {
        let mut outstanding = Outstanding::new();
        (0..count).for_each(|n| outstanding.on_sent(at(n), n));
        outstanding
    }

    #[test]
    fn a_hole_three_below_the_last_received_is_a_loss() {
        let mut outstanding = sent(10);
        [0, 2, 3].into_iter().for_each(|n| assert_eq!(outstanding.on_received(n), News::Acknowledged));
        assert!(!outstanding.give_up(3, None), "1 is two below 3");
        outstanding.on_received(4);
        assert!(outstanding.give_up(3, None));
        assert!(!outstanding.give_up(3, None), "once");
        assert_eq!(outstanding.on_received(1), News::None, "too late");
    }

    #[test]
    fn losses_of_what_was_outstanding_at_the_last_event_are_no_events() {
        let mut outstanding = sent(10);
        outstanding.on_received(3);
        assert!(outstanding.give_up(3, None));
        outstanding.deactivate();
        outstanding.on_sent(at(10), 10);
        (4..8).filter(|n| *n != 5).for_each(|n| assert_eq!(outstanding.on_received(n), News::Acknowledged));
        outstanding.on_received(9);
        assert!(!outstanding.give_up(3, None), "5 was outstanding");
        (11..15).for_each(|n| outstanding.on_sent(at(n), n));
        outstanding.on_received(8);
        outstanding.on_received(13);
        assert!(outstanding.give_up(3, None), "10 was sent after the event");
    }

    #[test]
    fn what_is_too_old_is_a_loss() {
        let mut outstanding = sent(5);
        assert!(outstanding.give_up(3, Some(at(1))));
        assert_eq!(outstanding.oldest(), Some(at(2)));
        outstanding.deactivate();
        assert!(!outstanding.give_up(3, Some(at(9))));
        assert!(outstanding.is_empty());
    }

    #[test]
    fn numbers_may_jump_and_memory_ends() {
        let mut outstanding = sent(3);
        outstanding.on_sent(at(9), 1 << 40);
        assert_eq!(outstanding.entries.len(), 1);
        outstanding.on_sent(at(9), u64::MAX);
        outstanding.on_sent(at(9), 7);
        assert_eq!(outstanding.on_received(7), News::Late);
        let mut many = sent(MOST as u64 + 100);
        assert_eq!((many.entries.len(), many.oldest()), (MOST, Some(at(100))));
        assert_eq!(many.on_received(50), News::Late);
    }
}
