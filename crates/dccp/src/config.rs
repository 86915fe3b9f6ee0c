//! Configuration of an endpoint when a connection begins.

use super::ccids::{CCID_2, Ccid};
use paceline_units::{Bytes, Ecn, TimeDelta};

/// An endpoint's settings. `Default` is the RFC's choice where it has one.
#[derive(Clone, PartialEq, Debug)]
pub struct DccpConfig {
    /// CCIDs for what we send, the best first (RFC 4340 section 10).
    pub send_ccids: Vec<Ccid>,
    /// CCIDs for what we receive, the best first.
    pub receive_ccids: Vec<Ccid>,
    /// Our Sequence Window at first: about five times the packets of a round trip, and it grows with these (RFC 4340
    /// section 7.5.2).
    pub sequence_window: u64,
    /// Ask to send short sequence numbers (RFC 4340 section 7.6.1).
    pub short_numbers: bool,
    /// Let the other end send short sequence numbers.
    pub accept_short_numbers: bool,
    /// Whether ECN marks cannot be read here (RFC 4340 section 12.1).
    pub ecn_incapable: bool,
    /// The mark of packets to an endpoint that can read marks.
    pub ect: Ecn,
    /// Ask the other end for NDP counts (RFC 4340 section 7.7.2).
    pub ndp_count: bool,
    /// Ask the other end for Ack Vectors whatever the CCID (RFC 4340 section 11.5).
    pub ack_vector: bool,
    /// Checksum coverage of what is sent, 0 to 15; used if the other end accepts it (RFC 4340 section 9.2).
    pub coverage: u8,
    /// The least coverage that is accepted; 0: only full (RFC 4340 section 9.2.1).
    pub minimum_coverage: u8,
    /// Send Data Checksums and require that they be checked (RFC 4340 section 9.3).
    pub data_checksum: bool,
    /// Deliver data whose checksum is wrong, with a note (RFC 4340 section 9.3).
    pub deliver_corrupt: bool,
    /// Put a Timestamp on a data packet once per round trip (RFC 4340 section 13.1).
    pub timestamps: bool,
    /// Largest DCCP packet that the outgoing interface takes, IP header out (RFC 4340 section 14).
    pub mtu: Bytes,
    /// Probe upwards with padded Syncs as far as this (RFC 4340 section 14.1), again ten minutes after each search and after
    /// a router lowered the size; none: not at all.
    pub probe_mtu: Option<Bytes>,
    /// Largest payload that congestion control allows (CCMPS, RFC 4340 section 14).
    pub ccmps: Option<Bytes>,
    /// A packet with data counts as its payload and so many bytes, options in; one without as so much longer than it is
    /// as this is than Data's header. None: each as long as it is. For comparisons with simulators that count so.
    pub counted_header: Option<Bytes>,
    /// Datagrams that wait to be sent at most.
    pub send_queue: usize,
    /// Datagrams that wait to be fetched at most; more are Data Dropped.
    pub receive_queue: usize,
    /// Let a server hold TIMEWAIT itself when it closes, instead of its client (RFC 4340 section 8.3).
    pub hold_timewait: bool,
    /// How long an acknowledgement is delayed at most (RFC 4340 section 11.3).
    pub ack_delay: TimeDelta,
    /// Acknowledge at once what is out of order or marked (RFC 4340 section 11.3), and data of a client that may be in
    /// PARTOPEN (section 8.1); else only the Ack Ratio and `ack_delay` say when, as in ns-2.35.
    pub ack_at_once: bool,
    /// First interval of Requests (RFC 4340 section 8.1.1).
    pub request_interval: TimeDelta,
    /// When the client gives up its Requests (RFC 4340 section 8.1.1).
    pub request_patience: TimeDelta,
    /// First interval of acknowledgements in PARTOPEN (RFC 4340 section 8.1.5).
    pub partopen_interval: TimeDelta,
    /// MSL: twice is TIMEWAIT, four times the patience of PARTOPEN and RESPOND (RFC 4340 sections 3.4 and 8.3).
    pub maximum_segment_lifetime: TimeDelta,
    /// After this long without any packet a Sync asks, after twice as long the connection is aborted; none: never.
    pub idle_timeout: Option<TimeDelta>,
    /// Syncs per second in answer to invalid packets (RFC 4340 section 7.5.4).
    pub syncs_per_second: u32,
    /// Resets per second (RFC 4340 section 8.1.3).
    pub resets_per_second: u32,
    /// How late a driver may wake without the pace going down.
    pub late: TimeDelta,
}

impl Default for DccpConfig {
    fn default() -> DccpConfig {
        DccpConfig {
            send_ccids: vec![CCID_2],
            receive_ccids: vec![CCID_2],
            sequence_window: 100,
            short_numbers: false,
            accept_short_numbers: true,
            ecn_incapable: false,
            ect: Ecn::NotEct,
            ndp_count: false,
            ack_vector: false,
            coverage: 0,
            minimum_coverage: 0,
            data_checksum: false,
            deliver_corrupt: false,
            timestamps: false,
            mtu: Bytes::new(1480),
            probe_mtu: None,
            ccmps: None,
            counted_header: None,
            send_queue: 1000,
            receive_queue: 1000,
            hold_timewait: false,
            ack_delay: TimeDelta::from_millis(200),
            ack_at_once: true,
            request_interval: TimeDelta::from_secs(1),
            request_patience: TimeDelta::from_secs(180),
            partopen_interval: TimeDelta::from_millis(200),
            maximum_segment_lifetime: TimeDelta::from_secs(120),
            idle_timeout: None,
            syncs_per_second: 8,
            resets_per_second: 1024,
            late: TimeDelta::ZERO,
        }
    }
}
