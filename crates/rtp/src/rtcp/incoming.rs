//! Events of a receiver's streams, and its answers.

use paceline_units::TimeDelta;
use paceline_wire::rtp::RtpView;

/// A stream that a receiver expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IncomingStream {
    /// SSRC of the stream.
    pub ssrc: u32,
    /// Ticks of its timestamps in a second.
    pub clock_rate: u32,
    /// How its packets are sent again, if they are.
    pub repair: Option<IncomingRepair>,
}

impl IncomingStream {
    /// A stream of this SSRC, of a clock of 90 kHz, whose packets are not sent again.
    pub const fn new(ssrc: u32) -> IncomingStream {
        IncomingStream { ssrc, clock_rate: 90_000, repair: None }
    }
}

/// How packets of a stream are asked for and come again (RFC 4585, RFC 4588).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IncomingRepair {
    /// SSRC of the retransmissions.
    pub ssrc: u32,
    /// Their payload type.
    pub payload_type: u8,
    /// Payload type of what they restore.
    pub original: u8,
    /// For so long after it was missed a packet is of use: when its frame is due on the display.
    pub deadline: TimeDelta,
}

impl IncomingRepair {
    /// Retransmissions of payload type 97 that restore packets of payload type 96, of use for half a second.
    pub const fn new(ssrc: u32) -> IncomingRepair {
        IncomingRepair { ssrc, payload_type: 97, original: 96, deadline: TimeDelta::from_millis(500) }
    }
}

/// An RTP packet that came, as it was first sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Came<'a> {
    /// The packet: of a retransmission, what it restores.
    pub packet: RtpView<'a>,
    /// Its number, extended so that it does not wrap.
    pub number: u64,
    /// Whether it is here for the first time.
    pub first: bool,
    /// Whether it is a retransmission.
    pub repaired: bool,
}

/// Which picture is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Picture {
    /// A key frame that mends a loss (PLI, RFC 4585 section 6.3.1).
    Lost,
    /// A key frame that needs no other, for a receiver that joins (FIR, RFC 5104 section 4.3.1).
    Full,
}

/// Events of the session for the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverEvent {
    /// A stream ends (BYE): nothing more of it is expected.
    Ended {
        /// SSRC of the stream.
        ssrc: u32,
    },
    /// Another participant has our SSRC: we have another from now on (RFC 3550 section 8.2).
    SsrcChanged {
        /// SSRC until now.
        from: u32,
        /// SSRC from now on.
        to: u32,
    },
}

/// Counts of a receiver's RTCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverCounters {
    /// Datagrams that were written.
    pub sent: u64,
    /// RTCP packets that were read.
    pub received: u64,
    /// Sender reports on streams that are expected.
    pub reports: u64,
    /// Datagrams that are no RTCP, or not the compound packet that was agreed on, and packets that contradict themselves.
    pub malformed: u64,
    /// Packets of a type that nothing is done with.
    pub other: u64,
    /// Packets of, and about, streams that are not expected.
    pub unknown_ssrc: u64,
    /// RTP packets whose number is far from the others.
    pub out_of_sequence: u64,
    /// Packets that were asked for, each time that they were.
    pub asked: u64,
    /// Packets that retransmissions restored.
    pub restored: u64,
    /// Packets that are missing, and that nobody asks for any more: too late, or too many.
    pub gave_up: u64,
    /// Retransmissions of what was there already, and such as restore nothing.
    pub useless_repairs: u64,
    /// Requests for pictures that were written.
    pub pictures: u64,
    /// Times that another participant had our SSRC.
    pub collisions: u64,
    /// Events that the application did not take in time.
    pub events_untaken: u64,
}
