//! The packets that a relay lets pass, by the flow's transport.

use super::connection::{Admitted, ConnectionFilter};
use crate::choice::Over;
use crate::output::NetCounters;
use crate::peer::SenderFilter;
use crate::socket::{Datagram, HeldDatagram};
use paceline_units::{Time, TimeDelta};
use paceline_wire::dccp::PacketType;
use paceline_wire::{dccp, rtcp, rtp};
use std::net::SocketAddr;

/// A connection that is silent for so long gives way to another.
const SENDER_PATIENCE: TimeDelta = TimeDelta::from_secs(5);

/// Lets the datagrams of one sender pass, and the answers of one receiver.
#[allow(clippy::large_enum_variant, reason = "one per relay, never moved")]
pub(crate) enum Filter {
    Rtp(SenderFilter),
    Dccp(ConnectionFilter),
}

impl Filter {
    /// For a flow over its transport. `ssrc` is that of RTP's first stream.
    pub fn new(over: Over<'_>, ssrc: Option<u32>) -> Filter {
        match over {
            Over::Rtp(rtp) => Filter::Rtp(SenderFilter::new(ssrc.or(rtp.identity.ssrc), rtp.streams.len())),
            Over::Dccp(_) => Filter::Dccp(ConnectionFilter::new(SENDER_PATIENCE)),
        }
    }

    /// Where an answer of the receiver goes, and whether it is for the sender and not for who only asks to be one.
    pub fn target(&mut self, answer: &[u8]) -> Option<(SocketAddr, bool)> {
        match self {
            Filter::Rtp(filter) => filter.address().map(|address| (address, true)),
            Filter::Dccp(filter) => filter.target(answer),
        }
    }

    /// Lets a datagram from the sender's side pass, or counts why it does not.
    pub fn admit(
        &mut self,
        now: Time,
        datagram: &Datagram<'_>,
        counters: &mut NetCounters,
    ) -> Option<Admitted> {
        match self {
            Filter::Rtp(filter) if rtp::is_rtcp(datagram.bytes) => {
                // A peer that sends nothing else is unknown.
                if !is_sound_rtcp(datagram.bytes) {
                    counters.malformed += 1;
                } else if filter.address() != Some(datagram.from) {
                    counters.unknown_peers += 1;
                } else {
                    return Some(Admitted { data: None, established: false, begins: None });
                }
                None
            }
            Filter::Rtp(filter) => {
                let packet = filter.admit(now, datagram, counters)?;
                // The padding of a probe is no data: it passes, and is counted nowhere.
                let is_padding = packet.view.padding > 0 && packet.view.payload.is_empty();
                let data = packet.ssrcs.stream(packet.view.header.ssrc).filter(|_| !is_padding);
                let begins = packet.new.then_some(datagram.arrived);
                Some(Admitted { data, established: !packet.new, begins })
            }
            Filter::Dccp(filter) => filter.admit(now, datagram, counters),
        }
    }

    /// The next datagram that was held and is to be admitted now.
    pub fn poll_held(&mut self) -> Option<HeldDatagram> {
        match self {
            Filter::Rtp(filter) => filter.poll_held(),
            Filter::Dccp(_) => None,
        }
    }

    /// Messages on senders beside the one that was listened to.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Filter::Rtp(filter) => filter.warnings().collect(),
            Filter::Dccp(_) => Vec::new(),
        }
    }

    /// Whether a datagram from the receiver's side is what a receiver says.
    pub fn is_answer(&self, datagram: &[u8]) -> bool {
        match self {
            Filter::Rtp(_) => is_sound_rtcp(datagram),
            Filter::Dccp(_) => dccp::glance(datagram).is_ok(),
        }
    }

    /// Whether a datagram is the last of the run: the reset that ends a connection.
    pub fn ends(&self, datagram: &[u8]) -> bool {
        let reset = || dccp::glance(datagram).is_ok_and(|glance| glance.kind == PacketType::Reset);
        matches!(self, Filter::Dccp(_)) && reset()
    }
}

/// Whether a datagram is RTCP from its first byte to its last.
fn is_sound_rtcp(datagram: &[u8]) -> bool {
    rtp::is_rtcp(datagram) && rtcp::packets(datagram).all(|packet| packet.is_ok())
}
