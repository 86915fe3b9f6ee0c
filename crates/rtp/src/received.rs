//! Which packets arrived, and when, as far as reports may still cover them.

use paceline_cc::StreamId;
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};

/// RFC 8888 section 3.1: no block reports on more packets.
pub(super) const LONGEST_BLOCK: u64 = 16_384;
/// The least that is remembered of packets.
const SHORTEST_RING: u32 = 256;

/// The packets of one sequence of numbers.
#[derive(Clone, Debug)]
pub(super) struct ReceivedPackets {
    /// The fate of the packets below `end`, by sequence number modulo its length.
    ring: Vec<ArrivalReport>,
    /// Lowest sequence number received: nothing is said of what was before.
    first: u64,
    /// One above the highest sequence number received.
    end: u64,
    /// Lowest sequence number received since the last report; `end` of the last report if none.
    report_from: u64,
    any_new: bool,
    started: bool,
    /// How long a late packet is still reported.
    reorder_time: TimeDelta,
    /// When the first packet of the present half of the ring arrived, and the first sequence number of the next half.
    half_since: Option<Time>,
    half_end: u64,
    /// Sequence numbers below it fit if they come in order: [`Self::plain_end`] as it was when it was last asked. A report only moves
    /// that on.
    plain_end: u64,
}

/// An arrival's kind by the notes of its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Noted {
    /// It arrives for the first time.
    New,
    /// It arrived before.
    Duplicate,
    /// Too far behind to be reported on.
    TooOld,
}

impl ReceivedPackets {
    /// Packets of which reports tell `overlap` again, and a late one after `reorder_time`.
    pub(super) fn new(overlap: u32, reorder_time: TimeDelta) -> ReceivedPackets {
        // Repeated packets take one half at most, new ones the other.
        let ring = (overlap.min(LONGEST_BLOCK as u32) * 2).max(SHORTEST_RING).next_power_of_two();
        ReceivedPackets {
            ring: vec![ArrivalReport::Missing; ring as usize],
            first: 0,
            end: 0,
            report_from: 0,
            started: false,
            any_new: false,
            reorder_time,
            half_since: None,
            half_end: 0,
            plain_end: 0,
        }
    }

    /// Whether a packet came since the last report.
    #[inline]
    pub(super) fn any_new(&self) -> bool {
        self.any_new
    }

    /// Takes arrivals as reported on elsewhere.
    pub(super) fn take_as_reported(&mut self) {
        (self.report_from, self.any_new) = (self.end, false);
    }

    /// Notes an arrival; of duplicates the first time counts, and CE if any copy has it (RFC 8888 section 3.1).
    #[inline(always)]
    pub(super) fn note(&mut self, sequence: u64, at: Time, ecn: Ecn) -> Noted {
        if sequence == self.end && sequence < self.plain_end {
            // The common case: the next in order.
            let mask = self.ring.len() - 1;
            self.ring[sequence as usize & mask] = ArrivalReport::Received { at: Some(at), ecn };
            self.end += 1;
            self.any_new = true;
            return Noted::New;
        }
        self.note_another(sequence, at, ecn)
    }

    #[cold]
    #[inline(never)]
    fn note_another(&mut self, sequence: u64, at: Time, ecn: Ecn) -> Noted {
        if sequence == u64::MAX {
            return Noted::TooOld;
        }
        if sequence >= self.half_end {
            self.keep_for_reordering(sequence, at);
        }
        if sequence >= self.end {
            self.extend_to(sequence);
        } else if self.end - sequence > self.ring.len() as u64 {
            return Noted::TooOld;
        }
        self.first = self.first.min(sequence);
        let mask = self.ring.len() - 1;
        let entry = &mut self.ring[sequence as usize & mask];
        let noted = if *entry == ArrivalReport::Missing { Noted::New } else { Noted::Duplicate };
        match entry {
            ArrivalReport::Missing => *entry = ArrivalReport::Received { at: Some(at), ecn },
            ArrivalReport::Received { ecn: known, .. } if ecn.is_ce() => *known = ecn,
            ArrivalReport::Received { .. } => {}
        }
        if !self.any_new || sequence < self.report_from {
            self.report_from = self.report_from.min(sequence);
        }
        self.any_new = true;
        self.plain_end = self.plain_end();
        noted
    }

    /// Up to where packets that come in order fit beside those that a report may still cover, and the present half of the ring
    /// takes them.
    #[inline]
    fn plain_end(&self) -> u64 {
        self.half_end.min(self.report_from.saturating_add(self.ring.len() as u64 / 2))
    }

    /// With `sequence` a half of the ring is full at `at`: if it took less than the reordering time, the ring is too short for
    /// what may be late.
    #[cold]
    fn keep_for_reordering(&mut self, sequence: u64, at: Time) {
        let too_short = self.half_since.is_some_and(|since| at.saturating_since(since) < self.reorder_time);
        self.half_since = Some(at);
        if too_short && self.ring.len() < LONGEST_BLOCK as usize * 2 {
            self.grow();
        }
        self.half_end = sequence.saturating_add(self.ring.len() as u64 / 2);
    }

    /// Makes `sequence` the newest: what lies between is missing.
    #[inline]
    fn extend_to(&mut self, sequence: u64) {
        if !self.started {
            // Senders begin anywhere (RFC 3550 section 5.1): what lies before the first packet was never sent to us.
            (self.started, self.end, self.report_from) = (true, sequence, sequence);
            self.first = sequence;
        }
        let gap = sequence - self.end;
        if gap >= LONGEST_BLOCK {
            // Too far to report on what lies between: begin anew from here.
            self.ring.fill(ArrivalReport::Missing);
            self.report_from = sequence;
            self.end = sequence + 1;
            return;
        }
        while sequence + 1 - self.report_from > self.ring.len() as u64 / 2
            && self.ring.len() < LONGEST_BLOCK as usize * 2
        {
            self.grow();
        }
        let mask = self.ring.len() - 1;
        for missing in self.end..=sequence {
            self.ring[missing as usize & mask] = ArrivalReport::Missing;
        }
        self.end = sequence + 1;
    }

    /// Forgets the arrival of a packet that was noted wrongly.
    #[cold]
    pub(super) fn forget(&mut self, sequence: u64) {
        if sequence < self.end && self.end - sequence <= self.ring.len() as u64 {
            let mask = self.ring.len() - 1;
            self.ring[sequence as usize & mask] = ArrivalReport::Missing;
        }
    }

    /// Knows nothing but that `sequence` comes next.
    pub(super) fn resynchronise(&mut self, sequence: u64) {
        self.ring.fill(ArrivalReport::Missing);
        (self.started, self.any_new, self.half_since) = (true, false, None);
        (self.first, self.end, self.report_from, self.half_end) = (sequence, sequence, sequence, sequence);
        self.plain_end = self.plain_end();
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.ring.len();
        let mut larger = vec![ArrivalReport::Missing; old * 2];
        for sequence in self.end.saturating_sub(old as u64)..self.end {
            larger[sequence as usize & (old * 2 - 1)] = self.ring[sequence as usize & (old - 1)];
        }
        self.ring = larger;
    }

    /// The packet that a report tells of, where it tells of one alone, and when it arrived: it counts as reported then. Of reports that
    /// overlap nothing is known here.
    #[inline(always)]
    pub(super) fn take_only_arrival(&mut self, overlap: u32) -> Option<(u64, Time, Ecn)> {
        if overlap > 0 || self.end - self.report_from != 1 {
            return None;
        }
        let sequence = self.report_from;
        match *self.ring.get(sequence as usize & (self.ring.len() - 1))? {
            ArrivalReport::Received { at: Some(at), ecn } => {
                self.take_as_reported();
                Some((sequence, at, ecn))
            }
            _ => None,
        }
    }

    /// Appends what is to be reported.
    #[inline]
    pub(super) fn report(&mut self, stream: StreamId, overlap: u32, feedback: &mut Feedback) {
        let oldest = self.end.saturating_sub(LONGEST_BLOCK.min(self.ring.len() as u64));
        let begin = self.report_from.saturating_sub(u64::from(overlap)).max(oldest).max(self.first);
        let mask = self.ring.len() - 1;
        feedback.blocks.push(FeedbackBlock { stream, begin, count: (self.end - begin) as u32 });
        let (from, to) = (begin as usize & mask, self.end as usize & mask);
        if from < to {
            feedback.arrivals.extend_from_slice(&self.ring[from..to]);
        } else if begin < self.end {
            feedback.arrivals.extend_from_slice(&self.ring[from..]);
            feedback.arrivals.extend_from_slice(&self.ring[..to]);
        }
        self.take_as_reported();
    }
}
