//! The packets that a relay lets pass, by the flow's transport.

use crate::clock::Moment;
use crate::output::NetCounters;
use crate::socket::{Datagram, HeldDatagram};
use paceline_cc::StreamId;
use paceline_units::Time;
use std::net::SocketAddr;

/// A datagram from the sender's side that passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Admitted {
    /// The stream of a data packet: figures of a flow are of these.
    pub data: Option<StreamId>,
    /// Whether its sender has proved to be there: heard twice, or with a whole handshake.
    pub established: bool,
    /// When the first packet came of a sender that a run should begin with, unless another has proved to be there.
    pub begins: Option<Moment>,
}

/// Lets the datagrams of one sender pass, and the answers of one receiver.
pub(crate) trait RelayFilter {
    /// Where an answer of the receiver goes, and whether it is for the sender and not for who only asks to be one.
    fn target(&mut self, answer: &[u8]) -> Option<(SocketAddr, bool)>;

    /// Lets a datagram from the sender's side pass, or counts why it does not.
    fn admit(&mut self, now: Time, datagram: &Datagram<'_>, counters: &mut NetCounters) -> Option<Admitted>;

    /// The next datagram that was held and is to be admitted now.
    fn poll_held(&mut self) -> Option<HeldDatagram> {
        None
    }

    /// Messages on senders beside the one that was listened to.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether a datagram from the receiver's side is what a receiver says.
    fn is_answer(&self, datagram: &[u8]) -> bool;

    /// Whether a datagram is the last of the run.
    fn ends(&self, _datagram: &[u8]) -> bool {
        false
    }
}
