//! Configuration of a TCP connection.

use paceline_cc::{EcnEcho, FlowSetup, RecoveryKind};
use paceline_ends::Conceals;
use paceline_units::{Bytes, Ecn, Stack, TimeDelta, names, params};

names! {
    /// A receiver's support of ECN.
    pub enum EcnSupport {
        /// Accurate feedback (RFC 9768), and all before it.
        Accurate = "accurate",
        /// ECE until CWR (RFC 3168).
        Classic = "rfc3168",
        /// Nothing.
        None = "off",
    }
}

params! {
    /// Configuration of a TCP connection. Its defaults are what the RFCs say, with the delay of acknowledgements that is usual (200 ms).
    #[derive(Copy)]
    pub struct TcpConfig {
        {
            /// Size on the link of a full segment, header in.
            packet_size: Bytes = Bytes::new(1500),
            /// The receiver's window: bytes that may be under way, header in like every size here; `None`: 1 GiB.
            max_window: Option<Bytes> = None,
            /// The mark of data segments; where it is not ECN-capable, marks are neither told nor answered.
            ect: Ecn = Ecn::NotEct,
            /// Where sequence numbers begin.
            initial_sequence: u32 = 0,
        }
        recovery: RecoveryKind = RecoveryKind::RackTlp, else "rack-tlp; tahoe, reno, newreno and sack as they are called, and sack of cubic's profile rfc8312", "", "How losses are recovered from";
        ack_every: u32 = 2, in 1.0, 1000.0, "RFC 5681 4.2", "Packets for an acknowledgement while all is in order";
        ack_delay: TimeDelta = TimeDelta::from_millis(200), in 1e-9, 1e6, "RFC 5681 4.2: less than 500 ms", "How long an acknowledgement waits at most";
        quick_acks: u32 = 0, in 0.0, 1e6, "RFC 5681 4.2", "Packets at the beginning that are each acknowledged at once, whatever ack_every says";
        initial_window: u64 = 10, in 1.0, FlowSetup::LARGEST_INITIAL_WINDOW, "RFC 6928", "First window in packets; after a lost SYN it is one";
        initial_rto: TimeDelta = TimeDelta::from_secs(1), in 1e-9, 1e6, "RFC 6298 2.1", "Retransmission timeout before there is a sample";
        min_rto: TimeDelta = TimeDelta::from_secs(1), in 1e-9, 1e6, "RFC 6298 2.4", "Smallest retransmission timeout";
        max_rto: TimeDelta = TimeDelta::from_secs(60), in 1e-9, 1e6, "RFC 6298 2.5", "Largest retransmission timeout";
        clock: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "RFC 6298 2 (G)", "Granularity of round trips and timeouts; 0: exact";
        one_sample: bool = false, "RFC 6298 3", "Only one packet per round trip is timed";
        sample_behind_holes: bool = false, "ns-2", "With one_sample: the timed packet counts though it waited behind a hole";
        handshake: bool = true, "RFC 9293 3.5", "A handshake opens the connection; else both ends are connected from the beginning";
        duplicate_acks: u32 = 3, in 1.0, 3.0, "RFC 5681 3.2, RFC 6675 (DupThresh)", "Duplicate acknowledgements that tell a loss";
        limited_transmit: bool = true, "RFC 3042", "The first duplicates let new packets go";
        prr: bool = true, "RFC 6937", "With sack and rack-tlp: recovery sends in proportion to what arrives";
        max_ack_delay: TimeDelta = TimeDelta::from_millis(200), in 0.0, 1e6, "RFC 8985 7.2 (TLP.max_ack_delay)", "With rack-tlp: how much longer a probe waits behind a single packet, whose acknowledgement may be delayed";
        timestamps: bool = true, else "on where losses are found by time", "RFC 7323", "Segments say when they left: answers to retransmissions are told apart, and a retransmission for nothing is taken back (RFC 3522)";
        impatient: bool = true, "RFC 6582 3.2 step 3", "With newreno: only the first partial acknowledgement restarts the timer";
        ecn_echo: EcnEcho = EcnEcho::Rfc3168, else "rfc3168; of dctcp exact, of prague accurate", "RFC 3168 6.1.3, RFC 8257 3.2, RFC 9768 3.2", "How marks are told; accurate is asked for in the handshake";
        receiver_ecn: EcnSupport = EcnSupport::Accurate, "RFC 9768 3.1.2", "With ecn_echo accurate: what the receiver knows of ECN. Where it is less, packets are ECT(0) or not ECN-capable, and marks are answered as losses are";
        conceals: Conceals = Conceals::Nothing, "RFC 9743 7.6", "A receiver that does not comply conceals `losses`, `marks` or `all`: it acknowledges missing bytes with the ones behind them, and answers no mark";
    }
    ordered min_rto <= max_rto;
}

impl TcpConfig {
    /// The choices of a stack.
    pub fn of(stack: Stack) -> TcpConfig {
        match stack {
            Stack::Standard => TcpConfig::default(),
            Stack::Rfc6675 => {
                TcpConfig { recovery: RecoveryKind::Sack, timestamps: false, ..TcpConfig::default() }
            }
            Stack::Linux => TcpConfig::linux(),
            Stack::Quic => TcpConfig::quic(),
            Stack::Ns2 => TcpConfig::ns2(),
        }
    }

    /// ns-2's choices: no handshake, an acknowledgement per packet, windows from 2, a clock of 10 ms that times one
    /// segment per round trip, behind a hole too, timeouts from 3 s and not below 0.2 s.
    pub fn ns2() -> TcpConfig {
        TcpConfig {
            ack_every: 1,
            recovery: RecoveryKind::NewReno,
            initial_window: 2,
            initial_rto: TimeDelta::from_secs(3),
            min_rto: TimeDelta::from_millis(200),
            clock: TimeDelta::from_millis(10),
            one_sample: true,
            sample_behind_holes: true,
            handshake: false,
            timestamps: false,
            ..TcpConfig::default()
        }
    }

    /// Configuration of both ends once each knows of the other that it has `support` for ECN (RFC 9768 table 2): less than accurate
    /// feedback is no feedback for L4S, so that packets do not ask for it either (RFC 9331 section 4.2).
    pub(super) fn agreed(&self, support: EcnSupport) -> TcpConfig {
        let (ecn_echo, ect) = match (self.ecn_echo, support) {
            (EcnEcho::Accurate, EcnSupport::Accurate) if self.ect != Ecn::NotEct => return *self,
            (EcnEcho::Accurate, EcnSupport::Classic) if self.ect == Ecn::Ect1 => {
                (EcnEcho::Rfc3168, Ecn::Ect0)
            }
            (EcnEcho::Accurate, EcnSupport::None) => (EcnEcho::Rfc3168, Ecn::NotEct),
            (EcnEcho::Accurate, _) => (EcnEcho::Rfc3168, self.ect),
            (EcnEcho::Rfc3168 | EcnEcho::Exact, _) => return *self,
        };
        TcpConfig { ecn_echo, ect, ..*self }
    }

    /// Linux's choices: the first 16 packets are acknowledged at once, later ones wait for 40 ms at most, and timeouts are not below
    /// 200 ms. From memory of `tcp.h`: `TCP_MAX_QUICKACKS`, `TCP_DELACK_MIN`, `TCP_RTO_MIN`.
    pub fn linux() -> TcpConfig {
        TcpConfig {
            quick_acks: 16,
            ack_delay: TimeDelta::from_millis(40),
            min_rto: TimeDelta::from_millis(200),
            ..TcpConfig::default()
        }
    }

    /// Configuration like a usual QUIC connection's, as far as TCP can: acknowledgements wait for 25 ms at most (RFC 9000
    /// section 18.2, no text at hand), and no timeout has a floor of a second (RFC 9002 section 6.2).
    pub fn quic() -> TcpConfig {
        TcpConfig {
            ack_delay: TimeDelta::from_millis(25),
            max_ack_delay: TimeDelta::from_millis(25),
            min_rto: TimeDelta::from_millis(200),
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
