//! SCTP's packets as structs: what the two ends exchange. Each has one chunk.

use paceline_units::{Bytes, Time};

/// IP's and SCTP's common header (RFC 9260 section 3.1), which every packet has.
const COMMON: Bytes = Bytes::new(32);
/// Size of the headers of a packet of data: IP's, the common one and a DATA chunk's.
pub const SCTP_HEADER: Bytes = Bytes::new(48);

/// A DATA chunk (RFC 9260 section 3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataChunk {
    /// When its message was captured, which the message says itself.
    pub captured: Time,
    /// Transmission sequence number.
    pub tsn: u32,
    /// Payload in bytes.
    pub payload: u32,
    /// Number of the message in its stream; of unordered messages 0.
    pub ssn: u16,
    /// Stream of the association.
    pub stream: u8,
    /// Stream of the flow whose message it is: the payload protocol identifier.
    pub source: u8,
    /// Whether it begins a message.
    pub begins: bool,
    /// Whether it ends a message.
    pub ends: bool,
    /// Whether its message waits for no other.
    pub unordered: bool,
}

/// A FORWARD-TSN chunk (RFC 3758 section 3.2).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ForwardTsn {
    /// The receiver waits for no chunk up to this number.
    pub cumulative: u32,
    /// The last message given up of each stream that has one: stream and number.
    pub skipped: Vec<(u8, u16)>,
}

/// A packet of the end that sends data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Forward {
    /// A DATA chunk: a message or a part of one.
    Data(DataChunk),
    /// A HEARTBEAT, with the time at which it left (section 3.3.5).
    Heartbeat(Time),
    /// Data that will not come.
    ForwardTsn(ForwardTsn),
}

impl Forward {
    /// Size on the link.
    pub fn size(&self) -> Bytes {
        match self {
            Forward::Data(chunk) => SCTP_HEADER + Bytes::new(u64::from(chunk.payload)),
            Forward::Heartbeat(_) => COMMON + HEARTBEAT,
            Forward::ForwardTsn(forward) => COMMON + Bytes::new(8 + 4 * forward.skipped.len() as u64),
        }
    }
}

/// A SACK chunk (RFC 9260 section 3.3.4).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sack {
    /// The last chunk before the first that is missing.
    pub cumulative: u32,
    /// Payload that the receiver has room for.
    pub a_rwnd: u32,
    /// Chunks that arrived beyond, as first and last distance from `cumulative`.
    pub gaps: Vec<(u16, u16)>,
    /// How many duplicates arrived since the last SACK.
    pub duplicates: u16,
}

/// A packet of the end that receives data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Backward {
    /// Chunks that arrived.
    Sack(Sack),
    /// A HEARTBEAT ACK, with what the HEARTBEAT said (section 3.3.6).
    HeartbeatAck(Time),
}

impl Backward {
    /// Size on the link.
    pub fn size(&self) -> Bytes {
        match self {
            Backward::Sack(sack) => {
                COMMON + Bytes::new(16 + 4 * (sack.gaps.len() as u64 + u64::from(sack.duplicates)))
            }
            Backward::HeartbeatAck(_) => COMMON + HEARTBEAT,
        }
    }
}

/// A HEARTBEAT chunk with a time of eight bytes.
const HEARTBEAT: Bytes = Bytes::new(16);
