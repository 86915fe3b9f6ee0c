//! A transport's part in the receiving driver: datagrams become packets of a session, and answers become datagrams.

use crate::output::NetCounters;
use crate::socket::{Datagram, HeldDatagram};
use paceline_cc::StreamId;
use paceline_rtp::RtpFeedback;
use paceline_units::Time;
use paceline_wire::SequenceUnwrapper;
use paceline_wire::rtp::RtpHeaderFields;
use paceline_wire::tfrc::Stamp;
use std::net::SocketAddr;

/// Connections begin at any number; what is added leaves numbers for packets from before the first.
pub(crate) const NUMBERS_BEFORE: u64 = 1 << 16;
/// Turns of 2^16 that are added to the first number of an RTP stream.
const TURNS_BEFORE: u32 = 1 << 16;

/// A packet that the one sender sent, as the codec admitted it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionPacket<'p> {
    /// Whether the sender is heard for the first time: a session begins, and what was before is forgotten.
    pub begins: bool,
    /// Whether the numbers of the stream begin anew with this packet; the one before it was there and was refused.
    pub resynchronised: bool,
    pub stream: StreamId,
    /// Counts the packets of the stream; never wraps. None of a packet that is refused because its number is too far from the
    /// others: it arrived all the same.
    pub number: Option<u64>,
    pub data: Option<Data<'p>>,
    pub kind: PacketKind,
}

impl SessionPacket<'_> {
    /// Whether it is of one of the session's streams.
    pub fn is_of_session(&self) -> bool {
        !matches!(self.kind, PacketKind::Unannounced { .. })
    }
}

/// A packet's kind for its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PacketKind {
    /// A packet that comes for the first time.
    Original,
    /// A retransmission: reports tell of it, and no media is in it.
    Repairs,
    /// Media that was restored of a retransmission, of which no report tells.
    Restored,
    /// A packet that is none of the session's streams. Reports on the transport tell of it.
    Unannounced {
        /// SSRC of its stream.
        ssrc: u32,
        /// Whether it is the last of its frame.
        marker: bool,
    },
}

/// The content of a data packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'p> {
    /// Bytes for the application, headers out; empty if it was not given any.
    pub payload: &'p [u8],
    /// Bytes of RTP padding behind the payload.
    pub padding: u8,
    /// The extended sequence number and the header of media in RTP; none if the number is refused.
    pub rtp: Option<(Extended, RtpHeaderFields)>,
    /// The stamp of the sender half of TFRC.
    pub stamp: Option<Stamp>,
    /// The number that all packets of the flow share; 0 where they have none.
    pub transport: u16,
}

impl Data<'_> {
    /// Whether it is the padding of a probe alone, and no media.
    pub fn is_padding(&self) -> bool {
        self.padding > 0 && self.payload.is_empty()
    }
}

/// Speaks one transport with senders: admits or refuses them, and answers.
pub(crate) trait ReceivingCodec {
    /// Takes a datagram that arrived at `now`: what is admitted goes to `take`, what is refused is counted.
    fn receive(
        &mut self,
        now: Time,
        datagram: &Datagram<'_>,
        counters: &mut NetCounters,
        take: impl FnMut(SessionPacket<'_>),
    );

    /// The next datagram that was held and is to be received now.
    fn poll_held(&mut self) -> Option<HeldDatagram> {
        None
    }

    /// A report of the session is to go to its sender.
    fn report(&mut self, report: &RtpFeedback);

    /// Writes the next datagram that is to go back into `bytes`, and answers where to. Called until there is none.
    fn poll_transmit(&mut self, now: Time, bytes: &mut Vec<u8>) -> Option<SocketAddr>;

    /// When [`ReceivingCodec::handle_timeout`] is to be called.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// A timeout may be due.
    fn handle_timeout(&mut self, _now: Time) {}

    /// Whether the session is over because its sender ended it.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether there is a connection that is still to be closed.
    fn is_open(&self) -> bool {
        false
    }

    /// Begins to close the connection.
    fn close(&mut self, _now: Time) {}

    /// Ends whatever is left of connections, at once.
    fn abort(&mut self, _now: Time) {}

    /// Messages on how the session ended, `ran` after its zero; counts what only the end knows.
    fn finish(&mut self, _ran: Time, _counters: &mut NetCounters) -> Option<String> {
        None
    }
}

/// A sequence number that does not wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extended {
    pub number: u64,
    /// Whether two packets in a row said that the numbers go on here, far from the others.
    pub jumped: bool,
}

/// Extends the sequence numbers of an RTP stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtpNumbers(SequenceUnwrapper);

impl Default for RtpNumbers {
    fn default() -> RtpNumbers {
        RtpNumbers(SequenceUnwrapper::after_turns(TURNS_BEFORE))
    }
}

impl RtpNumbers {
    /// The extended number; none if it is too far from the others.
    pub fn extend(&mut self, sequence: u16) -> Option<Extended> {
        let jumps = self.0.jumps();
        let number = self.0.unwrap(sequence)?;
        Some(Extended { number, jumped: self.0.jumps() > jumps })
    }
}
