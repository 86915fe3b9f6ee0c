//! A controller's needs of its transport, whatever its profile.

use paceline_units::{EcnMode, names};

names! {
    /// How a sender of a byte stream recovers from loss.
    pub enum RecoveryKind {
        /// As after a timeout: back to the first hole, one segment at first.
        Tahoe = "tahoe",
        /// Fast recovery that ends with the first new acknowledgement (RFC 2581; no text at hand).
        Reno = "reno",
        /// Fast recovery that lasts until everything sent before it is acknowledged (RFC 6582).
        NewReno = "newreno",
        /// Selective acknowledgements (RFC 6675).
        Sack = "sack",
        /// Selective acknowledgements, losses by time, probes of the tail (RFC 8985).
        RackTlp = "rack-tlp",
    }
}

impl RecoveryKind {
    /// Whether selective acknowledgements are understood.
    #[inline]
    pub const fn is_selective(self) -> bool {
        self as u8 >= RecoveryKind::Sack as u8
    }
}

names! {
    /// A receiver's feedback of marks, and the sender's answer to it.
    pub enum EcnEcho {
        /// ECE from a mark on until CWR (RFC 3168 section 6.1.3).
        Rfc3168 = "rfc3168",
        /// ECE says of every segment whether it was marked (RFC 8257 section 3.2).
        Exact = "exact",
        /// Three flags are a counter of marked packets (RFC 9768 section 3.2), if the receiver agrees.
        Accurate = "accurate",
    }
}

/// The settings of a transport without which a controller is another one. A scenario may say otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransportNeeds {
    /// Recovery from losses; absent: the stack's.
    pub recovery: Option<RecoveryKind>,
    /// Feedback of marks; absent: the stack's.
    pub ecn_echo: Option<EcnEcho>,
    /// ECN field of packets.
    pub ecn: EcnMode,
}

impl TransportNeeds {
    /// Any settings of any transport will do.
    pub const NONE: TransportNeeds = TransportNeeds { recovery: None, ecn_echo: None, ecn: EcnMode::Off };
    /// Each mark is told (RFC 8257 section 3.2).
    pub const EXACT_MARKS: TransportNeeds =
        TransportNeeds { ecn_echo: Some(EcnEcho::Exact), ..TransportNeeds::NONE };
    /// Packets are ECT(1), and each mark is told (RFC 9331 sections 4.1 and 4.2).
    pub const L4S: TransportNeeds =
        TransportNeeds { ecn_echo: Some(EcnEcho::Accurate), ecn: EcnMode::L4s, ..TransportNeeds::NONE };

    /// Recovery of this kind.
    pub const fn recovery(kind: RecoveryKind) -> TransportNeeds {
        TransportNeeds { recovery: Some(kind), ..TransportNeeds::NONE }
    }
}
