//! RTP packets as structs: what the endpoints exchange in every world. `wire` spells them, and has their feedback.

use super::delays::DelayReport;
use paceline_cc::{Annotation, ReceiverReport, StreamId};
use paceline_units::{Bytes, Time};
use paceline_wire::ccfb::{Feedback, PacketFeedback};
use paceline_wire::{FeedbackFormat, delays};

/// Size of the RTP header without extensions (RFC 3550 section 5.1).
pub const RTP_HEADER: Bytes = Bytes::new(12);

/// The header of a data packet, by its size: RTP's on RTP, none on plain datagrams. A byte, since packets are copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header(u8);

impl Header {
    /// The header of RTP without extensions, 12 B.
    pub const RTP: Header = Header(RTP_HEADER.as_u64() as u8);

    /// A header of `size`, 255 B at most.
    pub fn of_size(size: Bytes) -> Header {
        Header(size.as_u64().min(u64::from(u8::MAX)) as u8)
    }

    /// A header of so many bytes.
    pub const fn of_bytes(bytes: u8) -> Header {
        Header(bytes)
    }

    /// Size of the header in bytes.
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
    /// Payload, header and padding out.
    pub payload: Bytes,
    /// Bytes of padding behind the payload (RFC 3550 section 5.1), the byte that counts them in.
    pub padding: u8,
    /// Size and form of the packet's header.
    pub header: Header,
    /// The number that all packets of the flow share, where its reports tell of those; 0 where they do not.
    pub transport: u16,
    /// Whether it is the first packet of its frame, where that is known: RTP does not say it on the wire.
    pub first: Option<bool>,
    /// Whether it is the last packet of its frame.
    pub marker: bool,
    /// Whether its frame is a key frame, where that is known: RTP does not say it on the wire.
    pub key: Option<bool>,
    /// Annotation by the sender half of the controller.
    pub annotation: Option<Annotation>,
}

impl RtpPacket {
    /// Size on the link: header, payload and padding.
    #[inline]
    pub fn size(&self) -> Bytes {
        self.header.size() + Bytes::new(u64::from(self.padding)) + self.payload
    }

    /// Whether the packet carries no media, but the padding of a probe alone.
    #[inline]
    pub fn is_padding(&self) -> bool {
        self.payload == Bytes::ZERO && self.padding > 0
    }
}

/// Feedback of an RTP receiver, as a pointer where it is large: it is handed from end to end and back.
#[derive(Clone, PartialEq, Debug)]
pub enum RtpFeedback {
    /// RFC 8888's report on one packet, which arrived.
    Packet(PacketFeedback),
    /// RFC 8888's report.
    Packets(Box<Feedback>),
    /// The message of a controller's receiver half, in place of RFC 8888's reports.
    Half(Box<ReceiverReport>),
    /// The summary of the flow's delays, beside the others: for a flow whose host looks for shared bottlenecks.
    Delays(Box<DelayReport>),
}

impl RtpFeedback {
    /// The report on packets, if it is one: on one packet it is written out in `single`, which keeps its memory.
    pub fn on_packets<'a>(&'a self, single: &'a mut Feedback) -> Option<&'a Feedback> {
        match self {
            RtpFeedback::Packet(report) => {
                single.set(report);
                Some(single)
            }
            RtpFeedback::Packets(feedback) => Some(feedback),
            RtpFeedback::Half(_) | RtpFeedback::Delays(_) => None,
        }
    }

    /// Size on the link, reports on packets written in `format`. A receiver half's message has RTCP header and two SSRCs
    /// (RFC 4585 section 6.1), then 4 bytes for each field of RFC 5348 section 3.2.2, or REMB's name, rate and one SSRC.
    #[inline]
    pub fn size(&self, format: FeedbackFormat) -> Bytes {
        match self {
            RtpFeedback::Packet(_) => PacketFeedback::SIZE,
            RtpFeedback::Packets(feedback) => format.size(feedback),
            RtpFeedback::Half(report) => match **report {
                ReceiverReport::Tfrc { .. } => Bytes::new(12 + 4 * 4),
                ReceiverReport::Remb { .. } => Bytes::new(12 + 3 * 4),
            },
            RtpFeedback::Delays(_) => Bytes::new(delays::SIZE as u64),
        }
    }
}
