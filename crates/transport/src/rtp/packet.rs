//! RTP packets and RFC 8888 feedback as structs: what the endpoints exchange in every world. `wire` spells them.

use paceline_cc::{Annotation, ReceiverReport, StreamId};
use paceline_units::{Bytes, Ecn, Time};

/// Size of the RTP header without extensions (RFC 3550 section 5.1).
pub const RTP_HEADER: Bytes = Bytes::new(12);

/// The header of a data packet, by its size: RTP's on RTP, none on plain datagrams. A byte, since packets are copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header(u8);

impl Header {
    /// RTP's.
    pub const RTP: Header = Header(RTP_HEADER.as_u64() as u8);

    /// One of `size`; 255 B at most.
    pub fn of_size(size: Bytes) -> Header {
        Header(size.as_u64().min(u64::from(u8::MAX)) as u8)
    }

    /// Its size.
    #[inline]
    pub const fn size(self) -> Bytes {
        Bytes::new(self.0 as u64)
    }
}

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
    /// Its header.
    pub header: Header,
    /// Whether it is the last packet of its frame.
    pub marker: bool,
    /// What the sender half of the controller put on it.
    pub annotation: Option<Annotation>,
}

impl RtpPacket {
    /// Size on the link: header and payload.
    #[inline]
    pub fn size(&self) -> Bytes {
        self.header.size() + self.payload
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

/// A feedback report: RFC 8888's congestion control feedback packet, or the message of a receiver half.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Feedback {
    /// When it was written, by the receiver's clock, a multiple of its step.
    pub written: Time,
    /// What each block covers.
    pub blocks: Vec<FeedbackBlock>,
    /// What happened to the packets, block after block.
    pub arrivals: Vec<ArrivalReport>,
    /// What the receiver half says, where there is one; then there are no blocks.
    pub receiver: Option<ReceiverReport>,
}

impl Feedback {
    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.arrivals.clear();
        self.receiver = None;
    }

    /// Size on the link. RFC 8888: RTCP header and sender SSRC, per block 8 bytes and 2 per packet padded to 4,
    /// timestamp. A receiver half's message: RTCP header and two SSRCs (RFC 4585 section 6.1), then 4 bytes for each
    /// field of RFC 5348 section 3.2.2, or REMB's name, rate and one SSRC.
    pub fn size(&self) -> Bytes {
        match self.receiver {
            Some(ReceiverReport::Tfrc { .. }) => return Bytes::new(12 + 4 * 4),
            Some(ReceiverReport::Remb { .. }) => return Bytes::new(12 + 3 * 4),
            None => {}
        }
        let blocks: u64 =
            self.blocks.iter().map(|block| 8 + u64::from(block.count.next_multiple_of(2)) * 2).sum();
        Bytes::new(8 + blocks + 4)
    }
}
