//! DCCP packets as structs: the ten types of RFC 4340 section 5 with their fields, options as values.

use super::crc32c::{crc32c, crc32c_zeros};
use super::{DccpOption, Options, ResetReason, SequenceNumber, ServiceCode};
use alloc::vec::Vec;
use paceline_units::{Bytes, Time};

/// Bytes of the longest header, options in: the data offset counts 255 words (RFC 4340 section 5).
pub const LONGEST_HEADER: usize = 1020;

/// The ports of a packet (RFC 4340 section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ports {
    /// Of the endpoint that sent it.
    pub source: u16,
    /// Of the endpoint that it is for.
    pub destination: u16,
}

impl Ports {
    /// The ports of the opposite direction.
    pub fn reversed(self) -> Ports {
        Ports { source: self.destination, destination: self.source }
    }
}

/// A packet's type (RFC 4340 section 5.1, table 1). The numbers are those on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum PacketType {
    /// Opens a connection.
    Request = 0,
    /// Answers a request.
    Response = 1,
    /// Carries application data without an acknowledgement.
    Data = 2,
    /// Carries an acknowledgement without application data.
    Ack = 3,
    /// Carries application data and an acknowledgement.
    DataAck = 4,
    /// The server asks the client to close.
    CloseReq = 5,
    /// Ends the connection; asks for a reset.
    Close = 6,
    /// Ends the connection at once.
    Reset = 7,
    /// Asks for a SyncAck: the numbers disagree.
    Sync = 8,
    /// Answers a Sync.
    SyncAck = 9,
}

impl PacketType {
    /// The packet types, in the order of their numbers on the wire.
    pub const ALL: [PacketType; 10] = [
        PacketType::Request,
        PacketType::Response,
        PacketType::Data,
        PacketType::Ack,
        PacketType::DataAck,
        PacketType::CloseReq,
        PacketType::Close,
        PacketType::Reset,
        PacketType::Sync,
        PacketType::SyncAck,
    ];

    /// The type of a number on the wire; none for 10 to 15, which are reserved.
    pub fn from_number(number: u8) -> Option<PacketType> {
        PacketType::ALL.get(usize::from(number)).copied()
    }

    /// Whether it may have short sequence numbers, X = 0 (RFC 4340 section 5.1).
    pub fn may_be_short(self) -> bool {
        matches!(self, PacketType::Data | PacketType::Ack | PacketType::DataAck)
    }

    /// Whether it counts as a data packet (RFC 4340 section 7.7).
    pub fn is_data(self) -> bool {
        matches!(self, PacketType::Request | PacketType::Response | PacketType::Data | PacketType::DataAck)
    }

    /// Whether routers may fragment it, and it is never ECN-capable: packets of the handshake and resets (RFC 4340
    /// section 14.2).
    pub fn may_be_fragmented(self) -> bool {
        matches!(self, PacketType::Request | PacketType::Response | PacketType::Reset)
    }

    /// Whether it carries an acknowledgement number.
    pub fn has_acknowledgment(self) -> bool {
        !matches!(self, PacketType::Request | PacketType::Data)
    }

    /// Bytes of the header with these options and their padding.
    #[inline(always)]
    pub fn header_with(self, short: bool, options: &[DccpOption]) -> usize {
        let options: usize = options.iter().map(DccpOption::encoded_len).sum();
        self.fixed_header(short) + options.next_multiple_of(4)
    }

    /// Bytes of the header without options (RFC 4340 sections 5.1 to 5.7).
    #[inline]
    pub fn fixed_header(self, short: bool) -> usize {
        let generic = if short { 12 } else { 16 };
        let acknowledgment = match (self.has_acknowledgment(), short) {
            (false, _) => 0,
            (true, true) => 4,
            (true, false) => 8,
        };
        let extra = match self {
            PacketType::Request | PacketType::Response | PacketType::Reset => 4,
            _ => 0,
        };
        generic + acknowledgment + extra
    }
}

/// Fields that a packet's type adds to the generic header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// DCCP-Request (section 5.2).
    Request {
        /// The service that is asked for.
        service: ServiceCode,
    },
    /// DCCP-Response (section 5.3).
    Response {
        /// Number of the Request that is answered.
        acknowledgment: SequenceNumber,
        /// Service code of the Request.
        service: ServiceCode,
    },
    /// DCCP-Data (section 5.4).
    Data,
    /// DCCP-Ack (section 5.4).
    Ack {
        /// Greatest sequence number received.
        acknowledgment: SequenceNumber,
    },
    /// DCCP-DataAck (section 5.4).
    DataAck {
        /// Greatest sequence number received.
        acknowledgment: SequenceNumber,
    },
    /// DCCP-CloseReq (section 5.5).
    CloseReq {
        /// Greatest sequence number received.
        acknowledgment: SequenceNumber,
    },
    /// DCCP-Close (section 5.5).
    Close {
        /// Greatest sequence number received.
        acknowledgment: SequenceNumber,
    },
    /// DCCP-Reset (section 5.6).
    Reset {
        /// The greatest number received, or that of the packet it answers.
        acknowledgment: SequenceNumber,
        /// Why the connection ends.
        reason: ResetReason,
    },
    /// DCCP-Sync (section 5.7).
    Sync {
        /// A number received, not always of a packet that was accepted.
        acknowledgment: SequenceNumber,
    },
    /// DCCP-SyncAck (section 5.7).
    SyncAck {
        /// The number of the Sync.
        acknowledgment: SequenceNumber,
    },
}

impl Body {
    /// The body of a packet of type `kind`, with those of the other values that this type has.
    pub fn new(
        kind: PacketType,
        acknowledgment: SequenceNumber,
        service: ServiceCode,
        reason: ResetReason,
    ) -> Body {
        match kind {
            PacketType::Request => Body::Request { service },
            PacketType::Response => Body::Response { acknowledgment, service },
            PacketType::Data => Body::Data,
            PacketType::Ack => Body::Ack { acknowledgment },
            PacketType::DataAck => Body::DataAck { acknowledgment },
            PacketType::CloseReq => Body::CloseReq { acknowledgment },
            PacketType::Close => Body::Close { acknowledgment },
            PacketType::Reset => Body::Reset { acknowledgment, reason },
            PacketType::Sync => Body::Sync { acknowledgment },
            PacketType::SyncAck => Body::SyncAck { acknowledgment },
        }
    }

    /// The type it belongs to.
    #[inline]
    pub fn packet_type(&self) -> PacketType {
        match self {
            Body::Request { .. } => PacketType::Request,
            Body::Response { .. } => PacketType::Response,
            Body::Data => PacketType::Data,
            Body::Ack { .. } => PacketType::Ack,
            Body::DataAck { .. } => PacketType::DataAck,
            Body::CloseReq { .. } => PacketType::CloseReq,
            Body::Close { .. } => PacketType::Close,
            Body::Reset { .. } => PacketType::Reset,
            Body::Sync { .. } => PacketType::Sync,
            Body::SyncAck { .. } => PacketType::SyncAck,
        }
    }

    /// The acknowledgement number, if the type has one.
    #[inline]
    pub fn acknowledgment(&self) -> Option<SequenceNumber> {
        match *self {
            Body::Request { .. } | Body::Data => None,
            Body::Response { acknowledgment, .. }
            | Body::Ack { acknowledgment }
            | Body::DataAck { acknowledgment }
            | Body::CloseReq { acknowledgment }
            | Body::Close { acknowledgment }
            | Body::Reset { acknowledgment, .. }
            | Body::Sync { acknowledgment }
            | Body::SyncAck { acknowledgment } => Some(acknowledgment),
        }
    }
}

/// The content of the application data area.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Payload {
    /// Bytes of the application.
    Bytes(Vec<u8>),
    /// Zero bytes that are not stored: media and bulk data of the simulator, and padding.
    Dummy {
        /// Number of zero bytes.
        size: u32,
        /// When their frame was captured; known in the simulator only.
        captured: Time,
    },
    /// An RTP packet (RFC 5762 section 4.1), its media not stored.
    Rtp(RtpDatagram),
}

/// An RTP packet in a datagram: of its header what tells frames apart, and how long it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtpDatagram {
    /// Extended sequence number of RTP, which has nothing to do with DCCP's: consecutive over what is sent.
    pub sequence: u64,
    /// When its frame was captured; the RTP timestamp on the wire.
    pub captured: Time,
    /// Bytes of media, header out.
    pub media: u32,
    /// Bytes of the RTP header; 0 where the simulator counts none.
    pub header: u8,
    /// Whether it is the first packet of its frame; none where the wire does not say.
    pub first: Option<bool>,
    /// Whether it is the last packet of its frame.
    pub marker: bool,
    /// Whether its frame is a key frame; none where the wire does not say.
    pub key: Option<bool>,
}

impl Payload {
    /// No application data.
    pub const EMPTY: Payload = Payload::Bytes(Vec::new());

    /// `size` bytes captured at `captured`.
    pub fn dummy(size: u32, captured: Time) -> Payload {
        Payload::Dummy { size, captured }
    }

    /// Length of the application data in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Dummy { size, .. } => *size as usize,
            Payload::Rtp(rtp) => rtp.media as usize + usize::from(rtp.header),
        }
    }

    /// Whether there is no application data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// CRC-32c of the application data (RFC 4340 section 9.3); 0 without data. An RTP packet that is not yet written as
    /// bytes counts as zeros: a sender with Data Checksums must write it first.
    pub fn crc32c(&self) -> u32 {
        match self {
            Payload::Bytes(bytes) => crc32c(bytes),
            Payload::Dummy { size, .. } => crc32c_zeros(*size as usize),
            Payload::Rtp(_) => crc32c_zeros(self.len()),
        }
    }
}

impl Default for Payload {
    fn default() -> Payload {
        Payload::EMPTY
    }
}

/// A packet of either direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Where from and where to.
    pub ports: Ports,
    /// 4 bits for the sender's congestion control (CCVal; CCID 3's window counter).
    pub ccval: u8,
    /// Coverage of the checksum (CsCov): 0 everything, else the header and (n - 1) * 4 bytes of payload.
    pub coverage: u8,
    /// Whether only the low 24 bits of the numbers are sent (X = 0).
    pub short: bool,
    /// Sequence number of the packet; only its low 24 bits if a short one was received.
    pub sequence: SequenceNumber,
    /// Type and the type's fields.
    pub body: Body,
    /// Options in order; padding is not among them.
    pub options: Options,
    /// The application data area. Ack, Close and Sync packets have it ignored, a Reset's is text.
    pub payload: Payload,
}

impl Packet {
    /// A packet with long numbers, without options and payload.
    pub fn new(ports: Ports, sequence: SequenceNumber, body: Body) -> Packet {
        Packet {
            ports,
            ccval: 0,
            coverage: 0,
            short: false,
            sequence,
            body,
            options: Options::new(),
            payload: Payload::EMPTY,
        }
    }

    /// The packet's type on the wire.
    #[inline]
    pub fn packet_type(&self) -> PacketType {
        self.body.packet_type()
    }

    /// The service that a Request asks for.
    pub fn service(&self) -> Option<ServiceCode> {
        match self.body {
            Body::Request { service } => Some(service),
            _ => None,
        }
    }

    /// The sequence number with all 48 bits: a short one is the nearest to `reference` (RFC 4340 section 7.6).
    #[inline]
    pub fn full_sequence(&self, reference: SequenceNumber) -> SequenceNumber {
        if self.short { SequenceNumber::extend(self.sequence.low(), reference) } else { self.sequence }
    }

    /// Bytes of the header, options and their padding in.
    #[inline(always)]
    pub fn header_len(&self) -> usize {
        self.packet_type().header_with(self.short, &self.options)
    }

    /// Size on the link: header, options, payload.
    #[inline]
    pub fn size(&self) -> Bytes {
        Bytes::new((self.header_len() + self.payload.len()) as u64)
    }

    /// The reset that answers a packet where there is no connection: its numbers are taken from `self` (RFC 4340
    /// section 8.3.1). None answers a reset.
    pub fn reset_without_connection(&self, reason: ResetReason) -> Option<Packet> {
        if self.packet_type() == PacketType::Reset {
            return None;
        }
        // Of short numbers the upper 24 bits are 0.
        let visible = |number: SequenceNumber| {
            if self.short { SequenceNumber::new(number.low().into()) } else { number }
        };
        let sequence = match self.body.acknowledgment() {
            Some(acknowledgment) if self.short => {
                SequenceNumber::new(visible(acknowledgment).plus(1).low().into())
            }
            Some(acknowledgment) => acknowledgment.plus(1),
            None => SequenceNumber::ZERO,
        };
        let body = Body::Reset { acknowledgment: visible(self.sequence), reason };
        Some(Packet::new(self.ports.reversed(), sequence, body))
    }
}
