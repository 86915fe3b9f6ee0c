//! The visible side of a connection: its state, events and counts.

use crate::negotiation::FeatureChange;
use paceline_units::Bytes;
use paceline_wire::dccp::{Payload, ResetReason, SequenceNumber};

/// Where a connection stands (RFC 4340 section 4.3). LISTEN is the [`crate::Host`]'s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// There is no connection.
    Closed,
    /// The client sends Requests.
    Request,
    /// The server answered a Request.
    Respond,
    /// The client has the Response, the server perhaps not the client's answer.
    PartOpen,
    /// Both send data.
    Open,
    /// The server asked the client to close.
    CloseReq,
    /// A Close was sent.
    Closing,
    /// A Reset arrived: quiet until old packets are gone.
    TimeWait,
}

/// A packet's numbers, counted from the first of each side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) sequence: i64,
    pub(super) acknowledgment: Option<i64>,
}

/// Events for the application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The handshake is over as far as this end can see.
    Connected,
    /// A datagram arrived.
    Received {
        /// The number of its packet.
        sequence: SequenceNumber,
        /// Application data of the packet.
        payload: Payload,
        /// Whether its Data Checksum is wrong (only with `deliver_corrupt`).
        corrupt: bool,
    },
    /// A feature has another value.
    Feature(FeatureChange),
    /// The other end's application listens no more: nothing that is sent would be used (section 11.7.2).
    NotListening,
    /// The largest datagram is another now.
    MaxDatagram(Bytes),
    /// The connection is over.
    Closed(Ended),
}

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The reset that ended it.
    pub reason: ResetReason,
    /// Whether the other end sent it.
    pub by_peer: bool,
}

/// Counts of a connection's packets and events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DccpCounters {
    /// Packets sent, of all types.
    pub sent: u64,
    /// Of these with application data.
    pub data_sent: u64,
    /// Packets that were accepted.
    pub received: u64,
    /// Datagrams given to the application.
    pub delivered: u64,
    /// Packets ignored: malformed, invalid in sequence, for other ports.
    pub ignored: u64,
    /// Data packets that came twice.
    pub duplicates: u64,
    /// Datagrams whose arrival was reported with a drop code.
    pub data_dropped: u64,
    /// Number of Syncs that were sent.
    pub syncs: u64,
    /// Syncs and resets that a limit in rate kept back.
    pub limited: u64,
    /// Gaps in which, by NDP counts, application data was lost.
    pub data_gaps: u64,
    /// Datagrams discarded before they were sent.
    pub discarded: u64,
    /// RTP frames whose first packet was among them.
    pub discarded_frames: u64,
}
