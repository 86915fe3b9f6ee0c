//! RFC 8888 congestion control feedback: RTCP packet type 205, FMT 11.
//!
//! `num_reports` is written as the count of packets (erratum 8166). Peers that still write the count less one are read
//! too, where the packet itself proves it, and written to in their form where they are known: see [`CountForm`].

mod decode;
mod encode;
mod feedback;

pub use decode::{decode, decode_packet};
pub use encode::{encode, encode_raw, encode_split};
pub use feedback::{ArrivalReport, Feedback, FeedbackBlock, PacketFeedback, RtsUnwrapper};

use crate::rtcp::RtcpPacket;
use crate::{ReportFormat, Reporter, WireError};
use alloc::vec::Vec;
use core::ops::Range;
use paceline_cc::StreamId;
use paceline_units::{Bytes, Ecn, Time};

/// RTCP packet type: transport-layer feedback (RFC 4585 section 6.1).
pub const PACKET_TYPE: u8 = 205;
/// Feedback message type: congestion control feedback (RFC 8888 section 3.1).
pub const FMT: u8 = 11;
/// The most packets that a block may report on (RFC 8888 section 3.1).
pub const MAX_REPORTS: u32 = 16_384;
/// The largest exact offset, in 1/1024 s (RFC 8888 section 3.1).
pub const MAX_OFFSET: u16 = 0x1ffd;

/// The offset that says: longer ago than [`MAX_OFFSET`].
const OVER_RANGE: u16 = 0x1ffe;
/// The offset that says: unknown, or after the report timestamp.
const UNKNOWN: u16 = 0x1fff;
/// The bit of an entry that says: received.
const RECEIVED: u16 = 0x8000;
/// SSRC, begin_seq and num_reports of a block.
const BLOCK_HEADER: usize = 8;
/// SSRC of the RTCP packet's sender, which follows the RTCP header.
const SENDER: usize = 4;
/// Bytes of the report timestamp.
const TIMESTAMP: usize = 4;

/// Whether an RTCP packet is congestion control feedback (RFC 8888 section 3.1).
pub fn is_ccfb(packet: &RtcpPacket<'_>) -> bool {
    packet.packet_type == PACKET_TYPE && packet.count == FMT
}

/// The format of RFC 8888.
pub struct Rfc8888;

impl ReportFormat for Rfc8888 {
    type Raw = RawFeedback;

    const TRANSPORT_WIDE: bool = false;
    const ECN: bool = true;
    const TICKS_PER_SECOND: u32 = 1024;

    fn recognises(packet: &RtcpPacket<'_>) -> bool {
        is_ccfb(packet)
    }

    fn size(feedback: &Feedback) -> Bytes {
        feedback.size()
    }

    fn encode(
        feedback: &Feedback,
        reporter: &mut Reporter,
        ssrc_of: impl Fn(StreamId) -> u32,
        limit: Bytes,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        encode::split(feedback, (reporter.ssrc, reporter.form), ssrc_of, limit, out)
    }

    fn decode(packet: &RtcpPacket<'_>, raw: &mut RawFeedback) -> Result<(), WireError> {
        decode_packet(packet, raw)
    }

    fn complete(
        raw: &RawFeedback,
        expected: Time,
        mut stream_of: impl FnMut(u32) -> Option<StreamId>,
        extend: impl FnMut(StreamId, u16) -> Option<u64>,
        out: &mut Feedback,
    ) -> Result<u64, WireError> {
        let foreign = raw.blocks.iter().filter(|block| stream_of(block.ssrc).is_none()).count();
        raw.to_feedback(&mut RtsUnwrapper::starting_near(expected), stream_of, extend, out)?;
        Ok(foreign as u64)
    }
}

/// A report as its bytes say, numbers still wrapped (RFC 8888 section 3.1).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RawFeedback {
    /// SSRC of the RTCP packet's sender.
    pub sender_ssrc: u32,
    /// The report blocks, one for each stream.
    pub blocks: Vec<RawBlock>,
    /// The arrivals of the packets, block after block.
    pub entries: Vec<RawEntry>,
    /// The report timestamp: seconds mod 2^16 and 1/65536 s, the middle of an NTP timestamp.
    pub rts: u32,
    /// How num_reports was read.
    pub form: CountForm,
}

impl RawFeedback {
    /// The entries of one of its blocks.
    pub fn entries_of(&self, block: &RawBlock) -> &[RawEntry] {
        self.entries.get(block.entries.clone()).unwrap_or_default()
    }

    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.entries.clear();
    }
}

/// A report block's header (RFC 8888 section 3.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawBlock {
    /// SSRC of the stream that it reports on.
    pub ssrc: u32,
    /// Sequence number of the first packet.
    pub begin: u16,
    /// Which of [`RawFeedback::entries`] are its own.
    pub entries: Range<usize>,
}

/// A packet metric block (RFC 8888 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RawEntry {
    /// The packet had not arrived when the report was written.
    Missing,
    /// The packet arrived.
    Received {
        /// Time of arrival, counted back from the report timestamp.
        ato: ArrivalOffset,
        /// ECN field of the packet as it arrived.
        ecn: Ecn,
    },
}

impl RawEntry {
    /// Reads the 16 bits; those of a packet not received are ignored (RFC 8888 section 3.1).
    fn from_bits(bytes: [u8; 2]) -> RawEntry {
        let bits = u16::from_be_bytes(bytes);
        if bits & RECEIVED == 0 {
            return RawEntry::Missing;
        }
        let ato = match bits & 0x1fff {
            OVER_RANGE => ArrivalOffset::OverRange,
            UNKNOWN => ArrivalOffset::Unknown,
            ticks => ArrivalOffset::Known(ticks),
        };
        RawEntry::Received { ato, ecn: Ecn::from_bits((bits >> 13) as u8) }
    }

    /// The 16 bits that say it; those of a packet not received are zero. A known offset is no more than [`MAX_OFFSET`].
    fn to_bits(self) -> u16 {
        let RawEntry::Received { ato, ecn } = self else { return 0 };
        let offset = match ato {
            ArrivalOffset::Known(ticks) => ticks.min(MAX_OFFSET),
            ArrivalOffset::OverRange => OVER_RANGE,
            ArrivalOffset::Unknown => UNKNOWN,
        };
        RECEIVED | u16::from(ecn.bits()) << 13 | offset
    }
}

/// The arrival time offset (ATO) of a packet (RFC 8888 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalOffset {
    /// This many 1/1024 s before the report timestamp; at most [`MAX_OFFSET`].
    Known(u16),
    /// The packet arrived more than [`MAX_OFFSET`] before the report timestamp.
    OverRange,
    /// The arrival time is not known, or lies after the report timestamp.
    Unknown,
}

/// The count of num_reports (RFC 8888 section 3.1, erratum 8166).
///
/// A packet is read as [`CountForm::Count`] if its blocks then fill it exactly, and only otherwise as
/// [`CountForm::LessOne`], if they then do. An odd count is followed by 16 bits of padding that must be zero; padding
/// whose first bit says "received" is no padding but an entry, so such a packet does not fit as a count either.
/// Without this rule, a peer that writes 63 for 64 entries would always lose the newest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CountForm {
    /// num_reports is the number of packets in the block.
    #[default]
    Count,
    /// num_reports is one less, as the RFC's wording was read before the erratum.
    LessOne,
}

/// Bytes that `count` entries take, padding in.
fn entries_size(count: usize) -> usize {
    count.next_multiple_of(2) * 2
}
