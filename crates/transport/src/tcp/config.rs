//! What a TCP connection is told.

use paceline_units::{Bytes, Ecn, TimeDelta};

/// How a sender recovers from loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryKind {
    /// As after a timeout: back to the first hole, one segment at first.
    Tahoe,
    /// Fast recovery that ends with the first new acknowledgement (RFC 2581; no text at hand).
    Reno,
    /// Fast recovery that lasts until everything sent before it is acknowledged (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 6675).
    Sack,
}

/// What a receiver says of marks, and a sender of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnEcho {
    /// ECE from a mark on until CWR (RFC 3168 section 6.1.3).
    Rfc3168,
    /// ECE says of every segment whether it was marked (RFC 8257 section 3.2).
    Exact,
}

/// A connection's parameters; names are those of the scenario's `tcp = { ... }`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpConfig {
    /// Size on the link of a full segment, header in.
    pub packet_size: Bytes,
    /// Segments per acknowledgement while all is in order (RFC 5681 section 4.2).
    pub ack_every: u32,
    /// How long an acknowledgement is delayed at most (RFC 5681 section 4.2: less than 500 ms).
    pub ack_delay: TimeDelta,
    /// How losses are recovered from.
    pub recovery: RecoveryKind,
    /// The first window in segments (RFC 6928; the controller's, kept here as a connection's property).
    pub initial_window: u64,
    /// Retransmission timeout before there is a sample (RFC 6298 section 2.1).
    pub initial_rto: TimeDelta,
    /// Never below (RFC 6298 section 2.4).
    pub min_rto: TimeDelta,
    /// Never above (RFC 6298 section 2.5).
    pub max_rto: TimeDelta,
    /// Granularity of the sender's clock: round trips are measured in whole multiples, at least one; 0: exact.
    pub clock: TimeDelta,
    /// Whether only one segment per round trip is timed.
    pub one_sample: bool,
    /// Whether there is a handshake; without one both ends are connected from the beginning.
    pub handshake: bool,
    /// What the receiver lets be under way, header in like every size here; none: 1 GiB.
    pub max_window: Option<Bytes>,
    /// Duplicate acknowledgements that tell a loss (RFC 5681 section 3.2, RFC 6675 DupThresh).
    pub duplicate_acks: u32,
    /// Whether the first duplicate acknowledgements let new segments go (RFC 3042).
    pub limited_transmit: bool,
    /// Whether recovery with selective acknowledgements sends in proportion to what arrives (RFC 6937).
    pub prr: bool,
    /// Whether only the first partial acknowledgement restarts the timer (RFC 6582 section 4).
    pub impatient: bool,
    /// The mark of data segments; not ECN-capable: none of the following happens.
    pub ect: Ecn,
    /// How the receiver echoes marks.
    pub ecn_echo: EcnEcho,
    /// Initial sequence number.
    pub initial_sequence: u32,
}

impl Default for TcpConfig {
    /// What the RFCs say, with the delay of acknowledgements that is usual (200 ms).
    fn default() -> TcpConfig {
        TcpConfig {
            packet_size: Bytes::new(1500),
            ack_every: 2,
            ack_delay: TimeDelta::from_millis(200),
            recovery: RecoveryKind::Sack,
            initial_window: 10,
            initial_rto: TimeDelta::from_secs(1),
            min_rto: TimeDelta::from_secs(1),
            max_rto: TimeDelta::from_secs(60),
            clock: TimeDelta::ZERO,
            one_sample: false,
            handshake: true,
            max_window: None,
            duplicate_acks: 3,
            limited_transmit: true,
            prr: true,
            impatient: true,
            ect: Ecn::NotEct,
            ecn_echo: EcnEcho::Rfc3168,
            initial_sequence: 0,
        }
    }
}

impl TcpConfig {
    /// ns-2's choices: no handshake, an acknowledgement per packet, windows from 2, a clock of 10 ms that times one
    /// segment per round trip, timeouts from 3 s and not below 0.2 s.
    pub fn ns2() -> TcpConfig {
        TcpConfig {
            ack_every: 1,
            recovery: RecoveryKind::NewReno,
            initial_window: 2,
            initial_rto: TimeDelta::from_secs(3),
            min_rto: TimeDelta::from_millis(200),
            clock: TimeDelta::from_millis(10),
            one_sample: true,
            handshake: false,
            ..TcpConfig::default()
        }
    }

    /// Payload of a full segment; at least 1.
    pub fn mss(&self) -> u64 {
        self.packet_size.as_u64().saturating_sub(super::TCP_HEADER.as_u64()).max(1)
    }

    /// The receive window in bytes of payload: as many segments as `max_window` holds, at least one.
    pub fn receive_window(&self) -> u64 {
        const LARGEST: u64 = 1 << 30;
        self.max_window.map_or(LARGEST, |window| {
            let segments = window.as_u64() / self.packet_size.as_u64().max(1);
            segments.max(1).saturating_mul(self.mss()).min(LARGEST)
        })
    }
}
