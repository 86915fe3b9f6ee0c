//! Which packets of a stream are missing, and which of these are lost (RFC 5348 sections 5.1 and 5.2).
//!
//! Time is a *stamp*: nanoseconds for TFRC. CCID 3 counts its window counter instead (RFC 4342 section 10.2).

use alloc::collections::VecDeque;

/// Consecutive packets that were lost, or one that was marked. Numbers are the stream's sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LostRun {
    /// Stream whose packets are lost.
    pub(crate) stream: u8,
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// `S_before` and `T_before`: the last arrival before any above.
    pub(crate) before: (u64, u64),
    /// `S_after` and `T_after`: the first arrival above.
    pub(crate) after: (u64, u64),
    /// Added to a sequence number gives its place among the packets of all streams.
    pub(crate) offset: u64,
}

impl LostRun {
    /// A marked packet: it was received, so that its time is known.
    pub(crate) fn marked(stream: u8, sequence: u64, stamp: u64, offset: u64) -> LostRun {
        let (before, after) = ((sequence, stamp), (sequence, stamp));
        LostRun { stream, first: sequence, last: sequence, before, after, offset }
    }

    /// Where `sequence` lies among the packets of all streams.
    pub(crate) fn place(&self, sequence: u64) -> u64 {
        sequence.wrapping_add(self.offset)
    }

    /// How many sequence numbers and how much time lie between the two neighbours.
    fn span(&self) -> (u128, u128) {
        let numbers = self.after.0.saturating_sub(self.before.0);
        let stamps = self.after.1.saturating_sub(self.before.1);
        (u128::from(numbers), u128::from(stamps))
    }

    /// `T_loss`: the nominal arrival, interpolated.
    pub(crate) fn stamp(&self, sequence: u64) -> u64 {
        let (numbers, stamps) = self.span();
        if numbers == 0 {
            return self.before.1;
        }
        let distance = u128::from(sequence.saturating_sub(self.before.0));
        self.before.1.saturating_add((stamps * distance / numbers) as u64)
    }

    /// The first packet of the run from `from` on that nominally arrived after `limit`.
    pub(crate) fn first_after(&self, from: u64, limit: u64) -> Option<u64> {
        if self.stamp(from) > limit {
            return Some(from);
        }
        let (numbers, stamps) = self.span();
        if stamps == 0 || limit >= self.after.1 {
            return None;
        }
        let later = u128::from(limit.saturating_sub(self.before.1)) + 1;
        let sequence = self.before.0.saturating_add((later * numbers).div_ceil(stamps) as u64);
        (sequence > from && sequence <= self.last).then_some(sequence)
    }

    /// How many packets lie between two that are just more than `span` apart; at least 1.
    pub(crate) fn stride(&self, span: u64) -> u64 {
        let (numbers, stamps) = self.span();
        if stamps == 0 {
            return u64::MAX;
        }
        let packets = u128::from(span) * numbers / stamps + 1;
        u64::try_from(packets).unwrap_or(u64::MAX)
    }
}

/// Kinds of arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrived {
    /// The packet had not arrived before.
    New,
    /// Either a lost packet that turns up, or a duplicate: the loss history knows.
    Known,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hole {
    run: LostRun,
    /// How many packets with a higher number arrived.
    later: u64,
}

/// Holes that are neither filled nor lost: at most about `ndupack` exist; beyond, the oldest counts as lost.
const MOST_HOLES: usize = 128;

/// The packets of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Reception {
    ndupack: u64,
    stream: u8,
    /// The first that arrived: senders begin anywhere.
    first: u64,
    /// One above the highest number that arrived.
    next: u64,
    /// The last arrival and its stamp.
    last: (u64, u64),
    holes: VecDeque<Hole>,
}

impl Reception {
    /// The packets of a stream whose first arrival this is.
    pub(crate) fn new(ndupack: u64, stream: u8, sequence: u64, stamp: u64) -> Reception {
        let holes = VecDeque::with_capacity(MOST_HOLES);
        let next = sequence.saturating_add(1);
        Reception { ndupack, stream, first: sequence, next, last: (sequence, stamp), holes }
    }

    /// How many packets were sent from the first to the highest that arrived.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.next - self.first
    }

    /// One above the highest number that arrived.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// How many of the highest numbers lie behind a hole that may still be filled, itself in.
    pub(crate) fn undecided(&self) -> u64 {
        self.holes.front().map_or(0, |hole| self.next - hole.run.first)
    }

    /// The first number that arrived.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The number to add to a sequence number for its place, when `others` packets of other streams were sent.
    #[inline]
    pub(crate) fn offset(&self, others: u64) -> u64 {
        others.wrapping_sub(self.first)
    }

    /// A packet arrived. Holes that a later packet makes [`Reception::lost`] wait there.
    #[inline]
    pub(crate) fn on_arrival(&mut self, sequence: u64, stamp: u64, others: u64) -> Arrived {
        if sequence == self.next && self.holes.is_empty() {
            // The common case: the next in order, and nothing is missing.
            self.next = sequence.saturating_add(1);
            self.last = (sequence, stamp);
            return Arrived::New;
        }
        self.on_disorder(sequence, stamp, others)
    }

    #[cold]
    fn on_disorder(&mut self, sequence: u64, stamp: u64, others: u64) -> Arrived {
        if sequence < self.next {
            if !self.fill(sequence) {
                return Arrived::Known;
            }
        } else {
            if sequence > self.next {
                let run = LostRun {
                    stream: self.stream,
                    first: self.next,
                    last: sequence - 1,
                    before: self.last,
                    after: (sequence, stamp),
                    offset: self.offset(others),
                };
                self.holes.push_back(Hole { run, later: 0 });
            }
            self.next = sequence.saturating_add(1);
        }
        self.last = (sequence, stamp);
        for hole in self.holes.iter_mut().take_while(|hole| hole.run.last < sequence) {
            hole.later += 1;
        }
        Arrived::New
    }

    /// Takes a packet out of its hole. False if there is none.
    fn fill(&mut self, sequence: u64) -> bool {
        let holds = |hole: &Hole| hole.run.first <= sequence && sequence <= hole.run.last;
        let Some(place) = self.holes.iter().position(holds) else { return false };
        let Hole { run, later } = self.holes[place];
        let (below, above) = without(&run, sequence);
        self.holes.remove(place);
        let parts = [above, below].into_iter().flatten();
        parts.for_each(|run| self.holes.insert(place, Hole { run, later }));
        true
    }

    /// The next run that is lost: NDUPACK packets with higher numbers arrived, or it lies below `marked`, a packet
    /// that arrived with a mark (section 5.1).
    #[inline]
    pub(crate) fn lost(&mut self, marked: Option<u64>) -> Option<LostRun> {
        let hole = self.holes.front()?;
        let passed = marked.is_some_and(|marked| hole.run.last < marked);
        if hole.later >= self.ndupack || passed || self.holes.len() >= MOST_HOLES - 1 {
            return self.holes.pop_front().map(|hole| hole.run);
        }
        None
    }
}

/// The rest of a run without one of its packets: below and above it. The neighbours stay who they were.
pub(crate) fn without(run: &LostRun, sequence: u64) -> (Option<LostRun>, Option<LostRun>) {
    let below = (sequence > run.first).then(|| LostRun { last: sequence - 1, ..*run });
    let above = (sequence < run.last).then(|| LostRun { first: sequence + 1, ..*run });
    (below, above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Packet `n` arrives at stamp 10 n unless the list says otherwise; what is lost after the last.
    fn hear(sequences: &[u64]) -> (Reception, Vec<(u64, u64)>) {
        let mut reception = Reception::new(3, 0, 0, 0);
        let mut lost = Vec::new();
        for &sequence in sequences {
            reception.on_arrival(sequence, sequence * 10, 0);
            while let Some(run) = reception.lost(None) {
                lost.push((run.first, run.last));
            }
        }
        (reception, lost)
    }

    #[test]
    fn three_later_packets_make_a_loss() {
        assert_eq!(hear(&[1, 2, 4, 5]).1, []);
        assert_eq!(hear(&[1, 2, 4, 5, 6]).1, [(3, 3)]);
        assert_eq!(hear(&[1, 5, 9, 10, 11]).1, [(2, 4), (6, 8)]);
        assert_eq!(hear(&[1, 5, 9, 10]).1, [(2, 4)], "the second hole has two later packets only");
    }

    #[test]
    fn a_packet_that_comes_before_that_fills_its_hole() {
        assert_eq!(hear(&[1, 3, 4, 2, 5, 6]).1, []);
        // 3 fills the middle of 2 to 4: for 2 it is a later packet, for 4 it is not.
        assert_eq!(hear(&[1, 5, 3, 6]).1, [(2, 2)]);
        assert_eq!(hear(&[1, 5, 3, 6, 7]).1, [(2, 2), (4, 4)]);
    }

    #[test]
    fn duplicates_are_known() {
        let (mut reception, _) = hear(&[1, 2, 4]);
        assert_eq!(reception.on_arrival(2, 50, 0), Arrived::Known);
        assert_eq!(reception.on_arrival(4, 50, 0), Arrived::Known);
        assert_eq!(reception.on_arrival(3, 50, 0), Arrived::New);
        assert_eq!(reception.on_arrival(3, 50, 0), Arrived::Known);
        assert_eq!(reception.lost(None), None);
    }

    #[test]
    fn a_mark_makes_what_is_missing_below_it_lost() {
        let (mut reception, _) = hear(&[1, 3]);
        assert_eq!(reception.lost(Some(2)), None);
        assert_eq!(reception.lost(Some(3)).map(|run| (run.first, run.last)), Some((2, 2)));
    }

    #[test]
    fn times_are_interpolated_between_the_neighbours() {
        let run = LostRun { stream: 0, first: 11, last: 19, before: (10, 100), after: (20, 200), offset: 0 };
        assert_eq!((run.stamp(11), run.stamp(15), run.stamp(19)), (110, 150, 190));
        assert_eq!(run.first_after(11, 50), Some(11));
        assert_eq!(run.first_after(11, 149), Some(15));
        assert_eq!(run.first_after(11, 150), Some(16), "just as late is not after");
        assert_eq!(run.first_after(11, 190), None);
        assert_eq!(run.stride(30), 4);
        let uneven = LostRun { before: (10, 7), after: (20, 46), ..run };
        for limit in 0..60 {
            let expected = (11..=19).find(|sequence| uneven.stamp(*sequence) > limit);
            assert_eq!(uneven.first_after(11, limit), expected, "limit {limit}");
        }
    }

    #[test]
    fn hostile_numbers_change_nothing_but_the_count() {
        let mut reception = Reception::new(3, 0, 5, 100);
        for (sequence, stamp) in [(u64::MAX, 0), (0, u64::MAX), (u64::MAX, 7), (u64::MAX - 1, 3), (7, 0)] {
            reception.on_arrival(sequence, stamp, u64::MAX);
            while let Some(run) = reception.lost(Some(u64::MAX)) {
                assert!(run.first <= run.last);
                let _ = (run.stamp(run.last), run.first_after(run.first, u64::MAX / 2), run.stride(u64::MAX));
            }
        }
    }
}
