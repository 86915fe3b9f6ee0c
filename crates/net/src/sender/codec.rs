//! A transport's part in the sending driver: packets become datagrams, and datagrams become what its end is told.

use super::sent::Reported;
use crate::NetError;
use crate::output::NetCounters;
use crate::socket::Datagram;
use paceline_ends::SendingEnd;
use paceline_units::{Bytes, Time};
use std::net::SocketAddr;

/// The facts of a packet that the driver needs beyond what its end says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Encoded {
    /// The number under which feedback tells of the packet; none if no feedback does.
    pub number: Option<u64>,
    /// Payload of a data packet, headers out; none of packets that are about data.
    pub payload: Option<Bytes>,
    /// Where dummy media begins, and when it was captured.
    pub media: Option<(usize, Time)>,
}

/// Speaks one transport with a receiver.
pub(crate) trait SendingCodec {
    type End: SendingEnd;

    /// Writes a packet that leaves at `now` into `bytes`.
    fn encode(&mut self, now: Time, packet: &<Self::End as SendingEnd>::Data, bytes: &mut Vec<u8>)
    -> Encoded;

    /// Hands what a datagram of the receiver says to `end`, and what it tells of packets to `told`. True if the receiver
    /// was heard: it answers packets that `end` sent. A datagram that is refused is counted.
    fn receive(
        &mut self,
        now: Time,
        datagram: &Datagram<'_>,
        end: &mut Self::End,
        counters: &mut NetCounters,
        told: impl FnMut(Reported),
    ) -> bool;

    /// Appends the next datagram that goes beside the end's packets to `bytes`; false if there is none now. Nobody reports on
    /// it.
    fn poll_beside(&mut self, _now: Time, _bytes: &mut Vec<u8>) -> bool {
        false
    }

    /// When [`SendingCodec::poll_beside`] is to be called.
    fn next_beside(&self) -> Option<Time> {
        None
    }

    /// The flow is over: what is still to be said goes beside.
    fn say_goodbye(&mut self, _now: Time) {}

    /// Whether a datagram that is not the receiver's says that it is of this sender.
    fn collides(&self, _datagram: &[u8]) -> bool {
        false
    }

    /// The system says that `packet` is larger than a link takes.
    fn too_large(&self, _now: Time, _end: &mut Self::End, _packet: &<Self::End as SendingEnd>::Data) {}

    /// Whether there is a connection that is not over.
    fn is_open(&self, _end: &Self::End) -> bool {
        false
    }

    /// Whether a connection, or a flow that a circuit breaker guards, is over.
    fn is_over(&self, _end: &Self::End) -> bool {
        false
    }

    /// Ends a connection that is not over, at once.
    fn abort(&self, _now: Time, _end: &mut Self::End) {}

    /// An error if the receiver at `to` refused the connection. `answered`: whether anything came back; `stopped`: whether
    /// the flow had stopped by plan.
    fn check_handshake(
        &self,
        _end: &Self::End,
        _to: SocketAddr,
        _answered: bool,
        _stopped: bool,
    ) -> Result<(), NetError> {
        Ok(())
    }

    /// Messages on the run, `ran` after its zero; `cut_off`: whether the connection was over before it was
    /// closed here. Counts what only the end knows.
    fn finish(&self, end: &Self::End, ran: Time, cut_off: bool, counters: &mut NetCounters) -> Vec<String>;
}
