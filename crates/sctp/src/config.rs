//! Configuration of an SCTP association.

use super::SCTP_HEADER;
use paceline_cc::FlowSetup;
use paceline_ends::Conceals;
use paceline_units::{Bytes, Stack, TimeDelta, names, params};

names! {
    /// Which messages a message waits for before it is delivered.
    pub enum Order {
        /// Earlier messages of every stream: all share one stream of the association, as over TCP.
        Association = "association",
        /// Earlier messages of its own stream.
        Streams = "streams",
        /// No other message: messages are unordered.
        None = "none",
    }
}

params! {
    /// Configuration of an SCTP association. Its defaults are RFC 9260's, from memory: no text at hand.
    #[derive(Copy)]
    pub struct SctpConfig {
        {
            /// Size on the link of a full packet, headers in.
            packet_size: Bytes = Bytes::new(1500),
            /// The first TSN.
            initial_tsn: u32 = 0,
        }
        order: Order = Order::Streams, "RFC 9260 6.5 and 6.6, no text at hand", "Messages that a message waits for: of the whole association, of its stream, or none";
        lifetime: Option<TimeDelta> = None, else "no limit", "RFC 3758 4.1, no text at hand", "Age at which a message is given up, sent or not: partial reliability";
        receive_window: Bytes = Bytes::new(1 << 30), in 1500.0, 4294967295.0, "RFC 9260 3.3.3 (a_rwnd), no text at hand", "Payload that the receiver holds at most";
        sack_every: u32 = 2, in 1.0, 1000.0, "RFC 9260 6.2, no text at hand", "Packets for a SACK while all is in order";
        sack_delay: TimeDelta = TimeDelta::from_millis(200), in 1e-9, 1e6, "RFC 9260 6.2, no text at hand: 200 ms, at most 500 ms", "How long a SACK waits at most";
        missing_reports: u32 = 3, in 1.0, 1000.0, "RFC 9260 7.2.4, no text at hand", "SACKs that miss a chunk before it is sent again";
        initial_rto: TimeDelta = TimeDelta::from_secs(1), in 1e-9, 1e6, "RFC 9260 16 (RTO.Initial), no text at hand", "Retransmission timeout before there is a sample";
        min_rto: TimeDelta = TimeDelta::from_secs(1), in 1e-9, 1e6, "RFC 9260 16 (RTO.Min), no text at hand", "Smallest retransmission timeout";
        max_rto: TimeDelta = TimeDelta::from_secs(60), in 1e-9, 1e6, "RFC 9260 16 (RTO.Max), no text at hand", "Largest retransmission timeout";
        max_burst: u64 = 4, in 1.0, 1e9, "RFC 9260 6.1 D and 16 (Max.Burst), no text at hand", "Most new packets that one SACK, timer or message lets go";
        hb_interval: TimeDelta = TimeDelta::from_secs(30), in 1e-3, 1e6, "RFC 9260 16 (HB.interval), no text at hand", "Time between HEARTBEATs on an idle path, beside a retransmission timeout";
        hb_jitter: f64 = 0.5, in 0.0, 1.0, "RFC 9260 8.3, no text at hand", "Part of a retransmission timeout by which HEARTBEATs are early or late, drawn evenly";
        association_max_retrans: u32 = 10, in 0.0, 1e6, "RFC 9260 16 (Association.Max.Retrans), no text at hand", "Timeouts and unanswered HEARTBEATs in a row that the association survives";
        conceals: Conceals = Conceals::Nothing, "RFC 9743 7.6", "A receiver that does not comply conceals `losses` or `all`: it acknowledges missing chunks with the ones behind them, and messages wait for no other. `marks` changes nothing, for no packet is ECN-capable";
    }
    ordered min_rto <= max_rto;
}

impl SctpConfig {
    /// The choices of a stack.
    pub fn of(stack: Stack) -> SctpConfig {
        match stack {
            // ns-2.35's missing reports are RFC 2960's: four.
            Stack::Ns2 => SctpConfig {
                missing_reports: 4,
                initial_rto: TimeDelta::from_secs(3),
                ..SctpConfig::default()
            },
            Stack::Standard | Stack::Rfc6675 | Stack::Linux | Stack::Quic => SctpConfig::default(),
        }
    }

    /// Payload of a full chunk; at least 1.
    pub fn max_payload(&self) -> u64 {
        self.packet_size.as_u64().saturating_sub(SCTP_HEADER.as_u64()).max(1)
    }

    /// The first window of laws that have none of their own, in packets (RFC 9260 section 7.2.1): as many as leave before 4404 B did.
    pub fn initial_window(&self) -> u64 {
        4404u64
            .div_ceil(self.packet_size.as_u64().max(1))
            .clamp(2, 4)
            .min(FlowSetup::LARGEST_INITIAL_WINDOW as u64)
    }
}
