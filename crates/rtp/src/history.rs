//! Packets that were sent, so that reports can be completed: RFC 8888 says arrivals, not sizes and send times.

use paceline_cc::{PacketResult, Status, StreamId};
use paceline_units::{Bytes, Time};
use paceline_wire::ccfb::ArrivalReport;
use std::ops::Range;

const FIRST_CAPACITY: usize = 256;
/// More than RFC 8888 can report on at once (16,384 packets).
const LARGEST_CAPACITY: usize = 1 << 16;

/// Size and send time of the packets of one stream, as far back as reports may reach.
#[derive(Clone, Debug)]
pub struct SentHistory {
    ring: Vec<(Time, u32)>,
    first: u64,
    next: u64,
    /// One above the highest sequence number that was reported on.
    reported_end: u64,
    /// The number at which the ring may have to grow: half of it is kept behind what was reported, for reports that overlap or come
    /// late. A packet reported since it was found is not counted.
    room_end: u64,
}

impl SentHistory {
    /// A history of no packets, of which the first will be numbered `first`.
    pub fn starting_at(first: u64) -> SentHistory {
        let ring = vec![(Time::ZERO, 0); FIRST_CAPACITY];
        let room_end = first + FIRST_CAPACITY as u64 / 2;
        SentHistory { ring, first, next: first, reported_end: first, room_end }
    }

    fn find_room(&mut self) {
        let is_largest = self.ring.len() >= LARGEST_CAPACITY;
        self.room_end = if is_largest { u64::MAX } else { self.reported_end + self.ring.len() as u64 / 2 };
    }

    /// The sequence number that the next packet takes.
    #[inline]
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// A packet was sent with [`SentHistory::next_sequence`].
    #[inline]
    pub fn push(&mut self, now: Time, size: Bytes) {
        if self.next >= self.room_end {
            self.make_room();
        }
        let mask = self.ring.len() - 1;
        self.ring[self.next as usize & mask] = (now, size.as_u64() as u32);
        self.next += 1;
    }

    /// The oldest packet that is known, if one is.
    #[inline]
    fn oldest(&self) -> u64 {
        self.next.saturating_sub(self.ring.len() as u64).max(self.first)
    }

    /// A report covers `count` packets from `begin` on: which of these offsets are known. The others were never sent,
    /// or too long ago.
    #[inline]
    pub fn reported(&mut self, begin: u64, count: usize) -> Range<usize> {
        let end = begin.saturating_add(count as u64).min(self.next);
        let start = begin.max(self.oldest());
        if start >= end {
            return 0..0;
        }
        self.reported_end = self.reported_end.max(end);
        (start - begin) as usize..(end - begin) as usize
    }

    /// Send time and size of a packet that [`SentHistory::reported`] knows.
    #[inline]
    pub fn packet(&self, sequence: u64) -> (Time, Bytes) {
        packet(&self.ring, sequence)
    }

    /// A report's result of one packet, completed; absent if the packet was never sent, or too long ago.
    #[inline]
    pub fn complete(&mut self, packet: (StreamId, u64), arrival: ArrivalReport) -> Option<PacketResult> {
        let (_, sequence) = packet;
        if !(self.oldest()..self.next).contains(&sequence) {
            return None;
        }
        self.reported_end = self.reported_end.max(sequence + 1);
        Some(result(&self.ring, packet, arrival))
    }

    /// A report's results of packets from `first` on that [`SentHistory::reported`] knows, completed.
    #[inline]
    pub fn results(
        &self,
        (stream, first): (StreamId, u64),
        arrivals: &[ArrivalReport],
    ) -> impl Iterator<Item = PacketResult> {
        let ring = &self.ring[..];
        (first..).zip(arrivals).map(move |(sequence, arrival)| result(ring, (stream, sequence), *arrival))
    }

    #[cold]
    fn make_room(&mut self) {
        self.find_room();
        if self.next >= self.room_end {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let old = self.ring.len();
        let mut larger = vec![(Time::ZERO, 0); old * 2];
        for sequence in self.next.saturating_sub(old as u64)..self.next {
            larger[sequence as usize & (old * 2 - 1)] = self.ring[sequence as usize & (old - 1)];
        }
        self.ring = larger;
        self.find_room();
    }
}

#[inline]
fn packet(ring: &[(Time, u32)], sequence: u64) -> (Time, Bytes) {
    let (sent, size) = ring[sequence as usize & (ring.len() - 1)];
    (sent, Bytes::new(u64::from(size)))
}

#[inline]
fn result(ring: &[(Time, u32)], (stream, sequence): (StreamId, u64), arrival: ArrivalReport) -> PacketResult {
    let (sent, size) = packet(ring, sequence);
    let status = match arrival {
        ArrivalReport::Missing => Status::Missing,
        ArrivalReport::Received { at, ecn } => Status::Received { arrived: at, ecn },
    };
    PacketResult { stream, sequence, size, sent, status }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_found_and_nothing_else() {
        let mut history = SentHistory::starting_at(0);
        for n in 0..1000 {
            assert_eq!(history.next_sequence(), n);
            history.push(Time::from_nanos(n), Bytes::new(100 + n));
        }
        assert_eq!(history.reported(0, 1000), 0..1000, "nothing was reported: all is kept");
        assert_eq!(history.packet(0), (Time::ZERO, Bytes::new(100)));
        assert_eq!(history.packet(999), (Time::from_nanos(999), Bytes::new(1099)));
        assert_eq!(history.reported(998, 4), 0..2, "two of these were never sent");
        assert_eq!(history.reported(1000, 1), 0..0);
        assert_eq!(history.reported(u64::MAX, 2), 0..0);
        (1000..200_000).for_each(|n| history.push(Time::from_nanos(n), Bytes::new(1)));
        let oldest = 200_000 - LARGEST_CAPACITY as u64;
        assert_eq!(history.reported(oldest - 3, 5), 3..5, "three are too old");
    }

    #[test]
    fn what_is_before_the_first_number_was_never_sent() {
        let mut history = SentHistory::starting_at(65_530);
        (0..10).for_each(|n| history.push(Time::from_nanos(n), Bytes::new(1)));
        assert_eq!((history.next_sequence(), history.reported(65_527, 20)), (65_540, 3..13));
        assert_eq!(history.packet(65_536).0, Time::from_nanos(6));
    }

    #[test]
    fn a_report_on_one_packet_is_a_report_on_so_many() {
        let (mut one, arrival) = (SentHistory::starting_at(1000), ArrivalReport::Missing);
        for n in 0..2000 {
            one.push(Time::from_nanos(n), Bytes::new(n));
            let mut many = one.clone();
            for sequence in [0, 999, 1000, 1000 + n / 2, 999 + n, 1000 + n, 1001 + n, u64::MAX] {
                let completed = one.complete((StreamId(1), sequence), arrival);
                let known = !many.reported(sequence, 1).is_empty();
                assert_eq!(
                    completed,
                    known.then(|| many.results((StreamId(1), sequence), &[arrival]).next()).flatten()
                );
                assert_eq!(one.reported_end, many.reported_end);
            }
        }
    }

    #[test]
    fn memory_follows_the_flight_and_ends_somewhere() {
        let mut history = SentHistory::starting_at(0);
        for n in 0..100_000 {
            history.push(Time::from_nanos(n), Bytes::new(1));
            history.reported(n.saturating_sub(50), 1);
        }
        assert_eq!(history.ring.len(), FIRST_CAPACITY);
        (0..200_000).for_each(|n| history.push(Time::from_nanos(n), Bytes::new(1)));
        assert_eq!(history.ring.len(), LARGEST_CAPACITY);
    }
}
