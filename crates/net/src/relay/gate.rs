//! What a relay lets pass, by the flow's transport.

use super::connection::ConnectionGate;
use crate::choice::Over;
use crate::clock::Moment;
use crate::output::NetCounters;
use crate::peer::SenderFilter;
use crate::socket::Datagram;
use crate::ssrc::{FIRST_SSRC, Ssrcs};
use paceline_transport::dccp::PacketType;
use paceline_units::{Time, TimeDelta};
use paceline_wire::{dccp, rtcp, rtp};
use std::net::SocketAddr;

/// A sender that is silent for so long gives way to another.
const SENDER_PATIENCE: TimeDelta = TimeDelta::from_secs(5);

/// What becomes of a datagram from the sender's side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Counted and dropped.
    Refused,
    /// It passes.
    Passes {
        /// Whether it is media and not about it: figures of a flow are of media.
        data: bool,
        /// The run begins anew, unless its sender has proved to be there before.
        begins: Option<Beginning>,
        /// Whether its sender has proved to be there: heard twice, or with a whole handshake.
        proves: bool,
    },
}

/// What a run begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Beginning {
    /// When the sender's first packet came.
    pub first: Moment,
    /// The sender's.
    pub ssrcs: Ssrcs,
}

/// Lets one sender's datagrams in, and the answers of one receiver.
pub(super) enum Gate {
    Rtp(SenderFilter),
    Dccp(ConnectionGate),
}

impl Gate {
    /// For a flow over its transport. `ssrc` is that of RTP's first stream.
    pub fn new(over: Over<'_>, ssrc: Option<u32>) -> Gate {
        match over {
            Over::Rtp(rtp) => Gate::Rtp(SenderFilter::new(ssrc, rtp.streams.len(), Some(SENDER_PATIENCE))),
            Over::Dccp(_) => Gate::Dccp(ConnectionGate::new(SENDER_PATIENCE)),
        }
    }

    /// Where an answer of the receiver goes, and whether it is for the sender and not for who only asks to be one.
    pub fn target(&mut self, answer: &[u8]) -> Option<(SocketAddr, bool)> {
        match self {
            Gate::Rtp(gate) => gate.address().map(|address| (address, true)),
            Gate::Dccp(gate) => gate.target(answer),
        }
    }

    /// Whether a datagram from the sender's side passes.
    pub fn admit(&mut self, now: Time, datagram: &Datagram<'_>, counters: &mut NetCounters) -> Verdict {
        match self {
            Gate::Rtp(gate) if rtp::is_rtcp(datagram.bytes) => {
                // Whoever sends nothing else is a stranger.
                if !is_sound_rtcp(datagram.bytes) {
                    counters.malformed += 1;
                } else if gate.address() != Some(datagram.from) {
                    counters.unknown_peers += 1;
                } else {
                    return Verdict::Passes { data: true, begins: None, proves: false };
                }
                Verdict::Refused
            }
            Gate::Rtp(gate) => {
                let Some(packet) = gate.admit(now, datagram, counters) else { return Verdict::Refused };
                let beginning = Beginning { first: datagram.arrived, ssrcs: packet.ssrcs };
                let begins = packet.new.then_some(beginning);
                Verdict::Passes { data: true, begins, proves: !packet.new }
            }
            Gate::Dccp(gate) => {
                let Some(passage) = gate.admit(now, datagram, counters) else { return Verdict::Refused };
                let ssrcs = Ssrcs::new(FIRST_SSRC, 1);
                let begins = passage.begins.map(|first| Beginning { first, ssrcs });
                Verdict::Passes { data: passage.data, begins, proves: passage.established }
            }
        }
    }

    /// Whether a datagram from the receiver's side is what a receiver says.
    pub fn is_answer(&self, datagram: &[u8]) -> bool {
        match self {
            Gate::Rtp(_) => is_sound_rtcp(datagram),
            Gate::Dccp(_) => dccp::glance(datagram).is_ok(),
        }
    }

    /// Whether a datagram is the last of the run: the reset that ends a connection.
    pub fn ends(&self, datagram: &[u8]) -> bool {
        let reset = || dccp::glance(datagram).is_ok_and(|glance| glance.kind == PacketType::Reset);
        matches!(self, Gate::Dccp(_)) && reset()
    }
}

/// Whether a datagram is RTCP from its first byte to its last.
fn is_sound_rtcp(datagram: &[u8]) -> bool {
    rtp::is_rtcp(datagram) && rtcp::packets(datagram).all(|packet| packet.is_ok())
}
