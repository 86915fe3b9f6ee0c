//! UDP of whatever programs: each address that sends has a socket of its own behind the relay, so that answers find back.

use super::gate::{Gate, Incoming, Side};
use super::packet::RelayedPacket;
use crate::NetError;
use crate::address::local_for;
use crate::batch::Outlet;
use crate::choice::reachable_from_outside;
use crate::output::NetCounters;
use crate::socket::{Inbox, UdpPort};
use paceline_units::{Bytes, Time, TimeDelta};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// Addresses that may send at the same time: each takes a socket.
const MOST_CLIENTS: usize = 64;
/// An address that is silent for so long may give way to another.
const CLIENT_PATIENCE: TimeDelta = TimeDelta::from_secs(10);

/// An address in front of the relay, and its socket behind it.
struct Client {
    number: usize,
    address: SocketAddr,
    out: Outlet,
    heard: Time,
}

/// One socket in front of the relay, and one for each client behind it.
pub(super) struct OpaqueGate {
    listen: Outlet,
    to: SocketAddr,
    clients: Vec<Client>,
    /// Place of the client whose socket is read next.
    turn: usize,
    /// Number of the next client.
    next: usize,
    /// Packets of addresses for which there was no room.
    crowded_out: u64,
}

impl OpaqueGate {
    /// Listens, and forwards to an address.
    pub fn bind(listen: SocketAddr, to: SocketAddr) -> Result<OpaqueGate, NetError> {
        let listen = Outlet::new(UdpPort::bind(listen)?);
        Ok(OpaqueGate { listen, to, clients: Vec::new(), turn: 0, next: 0, crowded_out: 0 })
    }

    /// The address that programs send to.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.listen.port.address()
    }

    /// The client with this address, which may be new; none if there is no room for it.
    fn client(&mut self, now: Time, address: SocketAddr) -> Result<Option<&mut Client>, NetError> {
        if let Some(known) = self.clients.iter().position(|client| client.address == address) {
            return Ok(self.clients.get_mut(known));
        }
        if self.clients.len() >= MOST_CLIENTS && !self.let_one_go(now) {
            self.crowded_out += 1;
            return Ok(None);
        }
        let out = Outlet::new(UdpPort::bind(local_for(self.to))?);
        self.clients.push(Client { number: self.next, address, out, heard: now });
        self.next += 1;
        Ok(self.clients.last_mut())
    }

    /// Forgets the client that has been silent for longest, if that is long. Whether there is one.
    fn let_one_go(&mut self, now: Time) -> bool {
        let silent = |client: &Client| now.saturating_since(client.heard) >= CLIENT_PATIENCE;
        let oldest = (0..self.clients.len()).min_by_key(|place| self.clients[*place].heard);
        let gone = oldest.filter(|place| silent(&self.clients[*place]));
        gone.map(|place| self.clients.remove(place)).is_some()
    }

    fn read_left(
        &mut self,
        now: Time,
        inbox: &mut Inbox,
        incoming: &mut Vec<Incoming>,
        counters: &mut NetCounters,
    ) -> Result<bool, NetError> {
        let more = self.listen.port.read(inbox)?;
        for (place, datagram) in inbox.datagrams().enumerate() {
            counters.received += 1;
            let Some(client) = self.client(now, datagram.from)? else {
                counters.unknown_peers += 1;
                continue;
            };
            client.heard = now;
            incoming.push(Incoming::new(place, &datagram, client.number));
        }
        Ok(more)
    }

    /// From the sockets in turn, so that no client waits for another.
    fn read_right(
        &mut self,
        now: Time,
        inbox: &mut Inbox,
        incoming: &mut Vec<Incoming>,
        counters: &mut NetCounters,
    ) -> Result<bool, NetError> {
        for _ in 0..self.clients.len() {
            self.turn = (self.turn + 1) % self.clients.len();
            let client = &mut self.clients[self.turn];
            client.out.port.read(inbox)?;
            for (place, datagram) in inbox.datagrams().enumerate() {
                counters.received += 1;
                if datagram.from != self.to {
                    counters.unknown_peers += 1;
                    continue;
                }
                client.heard = now;
                incoming.push(Incoming::new(place, &datagram, client.number));
            }
            if inbox.len() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Gate for OpaqueGate {
    fn read(
        &mut self,
        side: Side,
        now: Time,
        inbox: &mut Inbox,
        incoming: &mut Vec<Incoming>,
        counters: &mut NetCounters,
    ) -> Result<bool, NetError> {
        match side {
            Side::Left => self.read_left(now, inbox, incoming, counters),
            Side::Right => self.read_right(now, inbox, incoming, counters),
        }
    }

    /// A packet of a client that was forgotten goes nowhere.
    fn send(&mut self, side: Side, packet: &mut RelayedPacket, counters: &mut NetCounters) {
        let client = self.clients.iter_mut().find(|client| client.number == packet.flow);
        let Some(client) = client else {
            counters.unsendable += 1;
            return;
        };
        let (outlet, to) = match side {
            Side::Left => (&mut self.listen, client.address),
            Side::Right => (&mut client.out, self.to),
        };
        outlet.send(&packet.bytes, to, packet.ecn, counters);
    }

    fn flush(&mut self, counters: &mut NetCounters) {
        self.listen.flush(counters);
        self.clients.iter_mut().for_each(|client| client.out.flush(counters));
    }

    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        let behind = self.clients.iter().map(|client| client.out.as_fd());
        std::iter::once(self.listen.as_fd()).chain(behind).collect()
    }

    fn overhead(&self, overhead: Bytes) -> Bytes {
        overhead
    }

    fn nothing_came(&self, seconds: f64) -> NetError {
        match self.address() {
            Ok(address) => NetError::NothingArrived { address, seconds },
            Err(error) => error,
        }
    }

    fn close(self, _counters: &mut NetCounters) -> Vec<String> {
        let outside = self.address().ok().and_then(reachable_from_outside);
        let crowded_out = (self.crowded_out > 0).then(|| {
            format!(
                "{} datagrams came from more than {MOST_CLIENTS} addresses at a time and went nowhere",
                self.crowded_out
            )
        });
        outside.into_iter().chain(crowded_out).collect()
    }
}
