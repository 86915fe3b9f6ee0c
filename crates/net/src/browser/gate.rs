//! The relay's gate between a browser and our endpoint: media and reports pass, connectivity checks are answered at the far end
//! of the links.

use super::Role;
use super::ice::{IceLite, is_stun};
use crate::NetError;
use crate::output::NetCounters;
use crate::relay::gate::{Gate, Incoming, Side, Taken};
use crate::relay::packet::RelayedPacket;
use crate::socket::{Datagram, Inbox, UdpPort};
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::rtp;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

/// A socket towards each end.
pub(super) struct BrowserGate {
    role: Role,
    ice: IceLite,
    browser: UdpPort,
    /// Where the browser is, as its last check that chose says.
    peer: Option<SocketAddr>,
    /// Who is told that it came.
    came: SyncSender<()>,
    /// Whether our endpoint is done.
    over: Arc<AtomicBool>,
    endpoint: UdpPort,
    /// Where our endpoint is.
    at: SocketAddr,
    /// The address of the socket `endpoint`: from there come answers to checks, which this gate sends itself.
    own: SocketAddr,
    /// Whether media has been on its way, and the run has begun.
    begun: bool,
}

impl BrowserGate {
    /// Between a browser that comes to the socket `browser`, of which `came` is told, and an endpoint that talks to a socket from
    /// an address, until it is `over`.
    pub fn new(
        role: Role,
        ice: IceLite,
        browser: UdpPort,
        (endpoint, at): (UdpPort, SocketAddr),
        came: SyncSender<()>,
        over: Arc<AtomicBool>,
    ) -> Result<BrowserGate, NetError> {
        let own = endpoint.address()?;
        Ok(BrowserGate { role, ice, browser, peer: None, came, over, endpoint, at, own, begun: false })
    }

    /// The side where the browser is: media goes from left to right.
    fn browser_side(&self) -> Side {
        match self.role {
            Role::Send => Side::Right,
            Role::Receive => Side::Left,
        }
    }

    /// What a datagram of somebody who may be the browser comes to.
    fn hear_browser(&mut self, datagram: &Datagram<'_>, counters: &mut NetCounters) -> Taken {
        if is_stun(datagram.bytes) {
            return self.checked(datagram, counters);
        }
        if self.peer != Some(datagram.from) {
            counters.unknown_peers += 1;
            return Taken::Refused;
        }
        self.passing(datagram)
    }

    /// Before media is on its way a check says nothing about the path, and is answered at once.
    fn checked(&mut self, datagram: &Datagram<'_>, counters: &mut NetCounters) -> Taken {
        let Some(check) = self.ice.check(datagram.bytes) else {
            counters.unknown_peers += 1;
            return Taken::Refused;
        };
        // Before it chooses, it may send over whatever worked (RFC 8445 section 12.1).
        if check.nominates || self.peer.is_none() {
            self.peer = Some(datagram.from);
        }
        if check.nominates {
            // Whoever does not listen knows already, or need not.
            let _ = self.came.try_send(());
        }
        if self.begun {
            return packet(datagram);
        }
        if let Some(answer) = self.ice.answer(datagram.bytes, datagram.from) {
            let _ = self.browser.send(&answer, datagram.from, Ecn::NotEct);
        }
        Taken::Refused
    }

    fn hear_endpoint(&mut self, datagram: &Datagram<'_>, counters: &mut NetCounters) -> Taken {
        if datagram.from == self.own && is_stun(datagram.bytes) {
            return packet(datagram);
        }
        if datagram.from != self.at {
            counters.unknown_peers += 1;
            return Taken::Refused;
        }
        self.passing(datagram)
    }

    /// The run begins with the first packet of media; reports before it are on nothing.
    fn passing(&mut self, datagram: &Datagram<'_>) -> Taken {
        self.begun |= !rtp::is_rtcp(datagram.bytes);
        if self.begun { packet(datagram) } else { Taken::Refused }
    }

    fn to_endpoint(&self, packet: &RelayedPacket) -> bool {
        if !is_stun(&packet.bytes) {
            return self.endpoint.send(&packet.bytes, self.at, packet.ecn).is_ok();
        }
        let answer = self.peer.and_then(|peer| self.ice.answer(&packet.bytes, peer));
        answer.is_some_and(|answer| self.endpoint.send(&answer, self.own, Ecn::NotEct).is_ok())
    }

    fn to_browser(&self, packet: &RelayedPacket) -> bool {
        self.peer.is_some_and(|peer| self.browser.send(&packet.bytes, peer, packet.ecn).is_ok())
    }
}

/// All that passes is one flow.
fn packet(datagram: &Datagram<'_>) -> Taken {
    let (length, ecn, arrived) = (datagram.bytes.len(), datagram.ecn, datagram.arrived);
    Taken::Packet(Incoming { length, ecn, arrived, flow: 0 })
}

impl Gate for BrowserGate {
    fn read(
        &mut self,
        side: Side,
        _now: Time,
        inbox: &mut Inbox,
        counters: &mut NetCounters,
    ) -> Result<Taken, NetError> {
        let browser = side == self.browser_side();
        let port = if browser { &self.browser } else { &self.endpoint };
        let Some(datagram) = port.read(inbox)? else { return Ok(Taken::Nothing) };
        counters.received += 1;
        Ok(match browser {
            true => self.hear_browser(&datagram, counters),
            false => self.hear_endpoint(&datagram, counters),
        })
    }

    fn send(&mut self, side: Side, packet: &mut RelayedPacket) -> bool {
        if side == self.browser_side() { self.to_browser(packet) } else { self.to_endpoint(packet) }
    }

    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.browser.as_fd(), self.endpoint.as_fd()]
    }

    fn overhead(&self, overhead: Bytes) -> Bytes {
        overhead
    }

    fn is_done(&mut self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn nothing_came(&self, seconds: f64) -> NetError {
        NetError::NoBrowser { seconds }
    }

    fn close(self, _counters: &mut NetCounters) -> Vec<String> {
        Vec::new()
    }
}
