//! RTP packets and RFC 8888 feedback as structs: what the endpoints exchange in every world. `wire` spells them.

use paceline_cc::{Annotation, StreamId};
use paceline_units::{Bytes, Ecn, Time};

/// Size of the RTP header without extensions (RFC 3550 section 5.1).
pub const RTP_HEADER: Bytes = Bytes::new(12);

/// A data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtpPacket {
    /// The stream; an SSRC on the wire.
    pub stream: StreamId,
    /// Extended sequence number: never wraps. 16 bits of it on the wire.
    pub sequence: u64,
    /// When its frame was captured; the RTP timestamp on the wire.
    pub captured: Time,
    /// Payload, header out.
    pub payload: Bytes,
    /// Whether it is the last packet of its frame.
    pub marker: bool,
    /// What the sender half of the controller put on it.
    pub annotation: Option<Annotation>,
}

impl RtpPacket {
    /// Size on the link: header and payload.
    #[inline]
    pub fn size(&self) -> Bytes {
        RTP_HEADER + self.payload
    }
}

/// What a report says of one packet (RFC 8888 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalReport {
    /// Not received yet.
    Missing,
    /// Received.
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
    /// The stream.
    pub stream: StreamId,
    /// Extended sequence number of the first packet.
    pub begin: u64,
    /// How many packets.
    pub count: u32,
}

/// A feedback report: RFC 8888's congestion control feedback packet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Feedback {
    /// When it was written, by the receiver's clock, a multiple of its step.
    pub written: Time,
    /// What each block covers.
    pub blocks: Vec<FeedbackBlock>,
    /// What happened to the packets, block after block.
    pub arrivals: Vec<ArrivalReport>,
}

impl Feedback {
    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.arrivals.clear();
    }

    /// Size on the link: RTCP header and sender SSRC, per block 8 bytes and 2 per packet padded to 4, timestamp.
    pub fn size(&self) -> Bytes {
        let blocks: u64 =
            self.blocks.iter().map(|block| 8 + u64::from(block.count.next_multiple_of(2)) * 2).sum();
        Bytes::new(8 + blocks + 4)
    }
}
