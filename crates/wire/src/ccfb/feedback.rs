//! A report with numbers that do not wrap and streams in place of SSRCs, and how a raw one becomes it.

use super::{ArrivalOffset, RawEntry, RawFeedback};
use crate::WireError;
use crate::clock::{RTS_PER_TICK, rts_of, time_of_rts};
use crate::unwrap::unwrap_u32;
use alloc::vec::Vec;
use paceline_cc::StreamId;
use paceline_units::{Bytes, Ecn, Time};

/// A report's entry of one packet (RFC 8888 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalReport {
    /// The packet had not arrived when the report was written.
    Missing,
    /// The packet arrived.
    Received {
        /// When, a multiple of the receiver's clock step; absent if out of range or unknown.
        at: Option<Time>,
        /// The mark of the packet; CE if any copy had it.
        ecn: Ecn,
    },
}

/// The consecutive packets of one stream that a report covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeedbackBlock {
    /// Stream of the block's packets.
    pub stream: StreamId,
    /// Extended sequence number of the first packet.
    pub begin: u64,
    /// Number of packets that the block covers.
    pub count: u32,
}

/// A feedback report: what RFC 8888's congestion control feedback packet says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Feedback {
    /// When it was written, by the receiver's clock, a multiple of its step.
    pub written: Time,
    /// The report blocks, one for each stream.
    pub blocks: Vec<FeedbackBlock>,
    /// The arrivals of the packets, block after block.
    pub arrivals: Vec<ArrivalReport>,
}

impl Feedback {
    /// Empties the report and keeps its memory.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.arrivals.clear();
    }

    /// Becomes the report on one packet, and keeps its memory.
    pub fn set(&mut self, report: &PacketFeedback) {
        self.clear();
        self.written = report.written;
        self.blocks.push(report.block());
        self.arrivals.push(report.arrival());
    }

    /// Size on the link: RTCP header and sender SSRC, per block 8 bytes and 2 per packet padded to 4, timestamp.
    #[inline]
    pub fn size(&self) -> Bytes {
        let size = |block: &FeedbackBlock| 8 + u64::from(block.count).next_multiple_of(2) * 2;
        let blocks = match &self.blocks[..] {
            [block] => size(block),
            blocks => blocks.iter().map(size).sum(),
        };
        Bytes::new(8 + blocks + 4)
    }
}

/// A report on one packet, which arrived: what [`Feedback`] says of it, as a small copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketFeedback {
    /// When it was written, by the receiver's clock, a multiple of its step.
    pub written: Time,
    /// When the packet arrived, by the same clock.
    pub arrived: Time,
    /// Extended sequence number of the packet.
    pub sequence: u64,
    /// Stream of the packet.
    pub stream: StreamId,
    /// The mark of the packet; CE if any copy had it.
    pub ecn: Ecn,
}

impl PacketFeedback {
    /// As [`Feedback::size`].
    pub const SIZE: Bytes = Bytes::new(8 + 8 + 2 * 2 + 4);

    /// The report's only block.
    #[inline]
    pub fn block(&self) -> FeedbackBlock {
        FeedbackBlock { stream: self.stream, begin: self.sequence, count: 1 }
    }

    /// The report's entry of its only packet.
    #[inline]
    pub fn arrival(&self) -> ArrivalReport {
        ArrivalReport::Received { at: Some(self.arrived), ecn: self.ecn }
    }
}

/// Extends report timestamps, which wrap after 18.2 hours: the first is taken as it is, each other is the nearest to the
/// latest one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RtsUnwrapper {
    latest: Option<u64>,
}

impl RtsUnwrapper {
    /// An unwrapper that starts near `now` by the receiver's clock, for a sender that knows this clock and joins late.
    pub fn starting_near(now: Time) -> RtsUnwrapper {
        RtsUnwrapper { latest: Some(rts_of(now)) }
    }

    /// The extended timestamp in 1/65536 s, or `None` if it lies before zero.
    pub fn unwrap(&mut self, rts: u32) -> Option<u64> {
        let extended = match self.latest {
            None => rts.into(),
            Some(latest) => unwrap_u32(latest, rts)?,
        };
        self.latest = self.latest.max(Some(extended));
        Some(extended)
    }
}

impl RawFeedback {
    /// Turns the report into one that does not wrap, in `out`, which keeps its memory. Times are on [`crate::clock`]'s grid
    /// if the report timestamp is.
    ///
    /// A block is left out if `stream_of` does not know its SSRC, or `extend` its first sequence number; for that,
    /// [`unwrap_sequence`](crate::unwrap_sequence) from the highest number sent will do. An arrival is absent if it is
    /// out of range, unknown, or before the clock's zero.
    ///
    /// # Errors
    /// A report timestamp before the zero of `rts`. `out` is then empty.
    pub fn to_feedback(
        &self,
        rts: &mut RtsUnwrapper,
        mut stream_of: impl FnMut(u32) -> Option<StreamId>,
        mut extend: impl FnMut(StreamId, u16) -> Option<u64>,
        out: &mut Feedback,
    ) -> Result<(), WireError> {
        out.clear();
        let written = rts.unwrap(self.rts).ok_or(WireError::BeforeZero { rts: self.rts })?;
        out.written = time_of_rts(written);
        for block in &self.blocks {
            let Some(stream) = stream_of(block.ssrc) else { continue };
            let Some(begin) = extend(stream, block.begin) else { continue };
            let entries = self.entries_of(block);
            out.blocks.push(FeedbackBlock { stream, begin, count: entries.len() as u32 });
            out.arrivals.extend(entries.iter().map(|entry| arrival_of(*entry, written)));
        }
        Ok(())
    }
}

/// The arrival of an entry, given the unwrapped report timestamp (RFC 8888 section 3.1).
fn arrival_of(entry: RawEntry, written: u64) -> ArrivalReport {
    let RawEntry::Received { ato, ecn } = entry else { return ArrivalReport::Missing };
    let at = match ato {
        ArrivalOffset::Known(ticks) => written.checked_sub(u64::from(ticks) * RTS_PER_TICK).map(time_of_rts),
        ArrivalOffset::OverRange | ArrivalOffset::Unknown => None,
    };
    ArrivalReport::Received { at, ecn }
}
