//! The access network of the connections of one end: packets leave it in the order of the times at which they have crossed.

use crate::Segment;
use paceline_ends::Transmit;
use paceline_units::{Time, TimeDelta};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Segments that have been sent, and enter the flow's path later.
#[derive(Clone, Debug, Default)]
pub(super) struct DelayLine {
    /// When a segment has crossed, its number in the order of entering, and its slot.
    order: BinaryHeap<Reverse<(Time, u64, u32)>>,
    slots: Vec<Option<Transmit<Segment>>>,
    free: Vec<u32>,
    entered: u64,
}

impl DelayLine {
    /// A segment enters at `now` and needs `delay`. The segments in it do not wait for being sent meanwhile.
    #[inline]
    pub(super) fn push(&mut self, now: Time, delay: TimeDelta, out: Transmit<Segment>) {
        let out = Transmit { queued: out.queued + delay, ..out };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(out);
                slot
            }
            None => {
                self.slots.push(Some(out));
                self.slots.len() as u32 - 1
            }
        };
        self.order.push(Reverse((now + delay, self.entered, slot)));
        self.entered += 1;
    }

    /// When the next segment has crossed; `Time::MAX` if none is under way.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.order.peek().map_or(Time::MAX, |Reverse((at, ..))| *at)
    }

    /// The next segment that has crossed at `now`.
    #[inline]
    pub(super) fn pop(&mut self, now: Time) -> Option<Transmit<Segment>> {
        if self.next() > now {
            return None;
        }
        let Reverse((_, _, slot)) = self.order.pop()?;
        self.free.push(slot);
        self.slots[slot as usize].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::StreamId;
    use paceline_units::{Bytes, Ecn};

    #[test]
    fn segments_leave_when_they_have_crossed_and_equals_in_their_order() {
        let at = Time::from_nanos;
        let segment = |connection| Transmit {
            packet: Segment { connection, ..Segment::default() },
            size: Bytes::new(40),
            ecn: Ecn::NotEct,
            stream: StreamId(0),
            queued: at(0),
        };
        let mut line = DelayLine::default();
        for round in 0..2 {
            let begin = 100 * round;
            assert_eq!((line.next(), line.pop(at(begin))), (Time::MAX, None));
            line.push(at(begin), TimeDelta::from_nanos(50), segment(1));
            line.push(at(begin + 5), TimeDelta::from_nanos(5), segment(2));
            line.push(at(begin + 10), TimeDelta::ZERO, segment(3));
            assert_eq!((line.next(), line.pop(at(begin + 9))), (at(begin + 10), None));
            let order: Vec<_> = std::iter::from_fn(|| line.pop(at(begin + 60))).collect();
            assert_eq!(order.iter().map(|out| out.packet.connection).collect::<Vec<_>>(), [2, 3, 1]);
            assert_eq!(order.iter().map(|out| out.queued).collect::<Vec<_>>(), [at(5), at(0), at(50)]);
            assert_eq!(line.slots.len(), 3, "slots are used again");
        }
    }
}
