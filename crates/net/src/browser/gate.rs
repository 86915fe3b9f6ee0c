//! The relay's gate between a browser and our endpoint: media and reports pass, connectivity checks are answered at the far end
//! of the links.

use super::Role;
use super::ice::{IceLite, is_stun};
use crate::NetError;
use crate::batch::Outlet;
use crate::output::NetCounters;
use crate::relay::gate::{Gate, Incoming, Side};
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
    browser: Outlet,
    /// Where the browser is, as its last check that chose says.
    peer: Option<SocketAddr>,
    /// The thread that is told that it came.
    came: SyncSender<()>,
    /// Whether our endpoint is done.
    over: Arc<AtomicBool>,
    endpoint: Outlet,
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
        let (browser, endpoint) = (Outlet::new(browser), Outlet::new(endpoint));
        Ok(BrowserGate { role, ice, browser, peer: None, came, over, endpoint, at, own, begun: false })
    }

    /// The side where the browser is: media goes from left to right.
    fn browser_side(&self) -> Side {
        match self.role {
            Role::Send => Side::Right,
            Role::Receive => Side::Left,
        }
    }

    /// Whether a datagram of somebody who may be the browser goes on.
    fn hear_browser(&mut self, datagram: &Datagram<'_>, counters: &mut NetCounters) -> bool {
        if is_stun(datagram.bytes) {
            return self.checked(datagram, counters);
        }
        if self.peer != Some(datagram.from) {
            counters.unknown_peers += 1;
            return false;
        }
        self.passing(datagram)
    }

    /// Before media is on its way a check says nothing about the path, and is answered at once.
    fn checked(&mut self, datagram: &Datagram<'_>, counters: &mut NetCounters) -> bool {
        let Some(check) = self.ice.check(datagram.bytes) else {
            counters.unknown_peers += 1;
            return false;
        };
        // Before it chooses, it may send over whatever worked (RFC 8445 section 12.1).
        if check.nominates || self.peer.is_none() {
            self.peer = Some(datagram.from);
        }
        if check.nominates {
            // A thread that does not listen knows already, or need not.
            let _ = self.came.try_send(());
        }
        if self.begun {
            return true;
        }
        if let Some(answer) = self.ice.answer(datagram.bytes, datagram.from) {
            let _ = self.browser.port.send(&answer, datagram.from, Ecn::NotEct);
        }
        false
    }

    fn hear_endpoint(&mut self, datagram: &Datagram<'_>, counters: &mut NetCounters) -> bool {
        if datagram.from == self.own && is_stun(datagram.bytes) {
            return true;
        }
        if datagram.from != self.at {
            counters.unknown_peers += 1;
            return false;
        }
        self.passing(datagram)
    }

    /// The run begins with the first packet of media; reports before it are on nothing.
    fn passing(&mut self, datagram: &Datagram<'_>) -> bool {
        self.begun |= !rtp::is_rtcp(datagram.bytes);
        self.begun
    }

    /// A check that came this far is answered here, from where our endpoint is.
    fn send_to_endpoint(&mut self, packet: &RelayedPacket, counters: &mut NetCounters) {
        if !is_stun(&packet.bytes) {
            return self.endpoint.send(&packet.bytes, self.at, packet.ecn, counters);
        }
        match self.peer.and_then(|peer| self.ice.answer(&packet.bytes, peer)) {
            Some(answer) => self.endpoint.send(&answer, self.own, Ecn::NotEct, counters),
            None => counters.unsendable += 1,
        }
    }

    fn send_to_browser(&mut self, packet: &RelayedPacket, counters: &mut NetCounters) {
        match self.peer {
            Some(peer) => self.browser.send(&packet.bytes, peer, packet.ecn, counters),
            None => counters.unsendable += 1,
        }
    }
}

impl Gate for BrowserGate {
    fn read(
        &mut self,
        side: Side,
        _now: Time,
        inbox: &mut Inbox,
        incoming: &mut Vec<Incoming>,
        counters: &mut NetCounters,
    ) -> Result<bool, NetError> {
        let browser = side == self.browser_side();
        let outlet = if browser { &self.browser } else { &self.endpoint };
        let more = outlet.port.read(inbox)?;
        for (place, datagram) in inbox.datagrams().enumerate() {
            counters.received += 1;
            let goes_on = match browser {
                true => self.hear_browser(&datagram, counters),
                false => self.hear_endpoint(&datagram, counters),
            };
            // All that passes is one flow.
            incoming.extend(goes_on.then(|| Incoming::new(place, &datagram, 0)));
        }
        Ok(more)
    }

    fn send(&mut self, side: Side, packet: &mut RelayedPacket, counters: &mut NetCounters) {
        match side == self.browser_side() {
            true => self.send_to_browser(packet, counters),
            false => self.send_to_endpoint(packet, counters),
        }
    }

    fn flush(&mut self, counters: &mut NetCounters) {
        self.browser.flush(counters);
        self.endpoint.flush(counters);
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
