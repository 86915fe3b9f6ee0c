//! RTP at a relay: the packets of one sender pass, and the RTCP of both ends.

use crate::output::NetCounters;
use crate::peer::SenderFilter;
use crate::relay::{Admitted, RelayFilter};
use crate::socket::{Datagram, HeldDatagram};
use paceline_units::Time;
use paceline_wire::{rtcp, rtp};
use std::net::SocketAddr;

/// The sender whose packets pass.
pub(crate) struct RtpRelayFilter(pub SenderFilter);

impl RelayFilter for RtpRelayFilter {
    fn target(&mut self, _answer: &[u8]) -> Option<(SocketAddr, bool)> {
        self.0.address().map(|address| (address, true))
    }

    fn admit(&mut self, now: Time, datagram: &Datagram<'_>, counters: &mut NetCounters) -> Option<Admitted> {
        if rtp::is_rtcp(datagram.bytes) {
            // A peer that sends nothing else is unknown.
            if !is_sound_rtcp(datagram.bytes) {
                counters.malformed += 1;
            } else if self.0.address() != Some(datagram.from) {
                counters.unknown_peers += 1;
            } else {
                return Some(Admitted { data: None, established: false, begins: None });
            }
            return None;
        }
        let packet = self.0.admit(now, datagram, counters)?;
        // The padding of a probe is no data: it passes, and is counted nowhere.
        let is_padding = packet.view.padding > 0 && packet.view.payload.is_empty();
        let data = packet.ssrcs.stream(packet.view.header.ssrc).filter(|_| !is_padding);
        let begins = packet.new.then_some(datagram.arrived);
        Some(Admitted { data, established: !packet.new, begins })
    }

    fn poll_held(&mut self) -> Option<HeldDatagram> {
        self.0.poll_held()
    }

    fn warnings(&self) -> Vec<String> {
        self.0.warnings().collect()
    }

    fn is_answer(&self, datagram: &[u8]) -> bool {
        is_sound_rtcp(datagram)
    }
}

/// Whether a datagram is RTCP from its first byte to its last.
fn is_sound_rtcp(datagram: &[u8]) -> bool {
    rtp::is_rtcp(datagram) && rtcp::packets(datagram).all(|packet| packet.is_ok())
}
