//! Whose DCCP packets a relay lets pass: those of one connection, whose handshake it has seen.
//!
//! A Request proves nothing: its address may be forged, and whoever scans sends one. So Requests of newcomers pass to the
//! receiver, and its answers back to them, but only who acknowledges its Response (RFC 4340 section 8.1.5) takes the place
//! of the connection before, and only if that has been silent for long. Until then it has its place.

use crate::clock::Moment;
use crate::output::NetCounters;
use crate::socket::Datagram;
use paceline_transport::dccp::{Body, Packet, PacketType, Ports, SequenceNumber};
use paceline_units::{Time, TimeDelta};
use paceline_wire::dccp::{decode_in_udp, glance};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Newcomers at the same time; another makes the oldest forgotten.
const NEWCOMERS: usize = 256;
/// Requests of one handshake that may be under way, and Responses.
const REPEATED: usize = 8;

type Key = (SocketAddr, Ports);

/// The connection that passes, and those whose handshake has begun.
#[derive(Debug)]
pub(super) struct ConnectionGate {
    peer: Option<Peer>,
    newcomers: VecDeque<Newcomer>,
    patience: TimeDelta,
}

#[derive(Debug)]
struct Peer {
    key: Key,
    heard: Time,
}

#[derive(Debug)]
struct Newcomer {
    key: Key,
    first: Moment,
    heard: Time,
    /// Numbers of its Requests, the last ones.
    requests: VecDeque<SequenceNumber>,
    /// Numbers of the Responses that it was sent, the last ones.
    responses: VecDeque<SequenceNumber>,
    /// Whether the run began with its Request.
    began: bool,
}

/// What passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Passage {
    /// Whether it is data, which only the connection's is.
    pub data: bool,
    /// Whether the handshake was seen: what passes is the connection's.
    pub established: bool,
    /// When the first Request came of a newcomer that a run should begin with.
    pub begins: Option<Moment>,
}

impl ConnectionGate {
    /// A connection that is silent for `patience` gives way to another.
    pub fn new(patience: TimeDelta) -> ConnectionGate {
        ConnectionGate { peer: None, newcomers: VecDeque::new(), patience }
    }

    /// Whether a datagram from the senders' side passes; counts any other.
    pub fn admit(
        &mut self,
        now: Time,
        datagram: &Datagram<'_>,
        counters: &mut NetCounters,
    ) -> Option<Passage> {
        let Ok(glance) = glance(datagram.bytes) else {
            counters.malformed += 1;
            return None;
        };
        let key = (datagram.from, glance.ports);
        if let Some(peer) = self.peer.as_mut().filter(|peer| peer.key == key) {
            peer.heard = now;
            counters.unknown_peers += self.newcomers.len() as u64;
            self.newcomers.clear();
            return Some(Passage { data: is_data(glance.kind), established: true, begins: None });
        }
        let talks = |peer: &Peer| now.saturating_since(peer.heard) < self.patience;
        let passage = match self.peer.as_ref().is_some_and(talks) {
            true => None,
            false if glance.kind == PacketType::Request => self.request(now, key, datagram, counters),
            false => self.completes(now, key, datagram, counters),
        };
        counters.unknown_peers += u64::from(passage.is_none());
        passage
    }

    /// A newcomer's Request passes, and is remembered.
    fn request(
        &mut self,
        now: Time,
        key: Key,
        datagram: &Datagram<'_>,
        counters: &mut NetCounters,
    ) -> Option<Passage> {
        let number = decode_in_udp(datagram.bytes).ok()?.sequence;
        let before = self.newcomers.len();
        self.newcomers.retain(|newcomer| now.saturating_since(newcomer.heard) < self.patience);
        counters.unknown_peers += (before - self.newcomers.len()) as u64;
        let known = self.newcomers.iter_mut().find(|newcomer| newcomer.key == key);
        let mut begins = None;
        if let Some(newcomer) = known {
            newcomer.heard = now;
            remember(&mut newcomer.requests, number);
        } else {
            if self.newcomers.len() == NEWCOMERS {
                self.newcomers.pop_front();
                counters.unknown_peers += 1;
            }
            // Alone it begins a run, if none has.
            let began = self.peer.is_none() && self.newcomers.is_empty();
            begins = began.then_some(datagram.arrived);
            let (requests, responses) = (VecDeque::from([number]), VecDeque::new());
            let first = datagram.arrived;
            self.newcomers.push_back(Newcomer { key, first, heard: now, requests, responses, began });
        }
        Some(Passage { data: false, established: false, begins })
    }

    /// Whether a packet is a newcomer's that acknowledges the Response it got: then it is the connection.
    fn completes(
        &mut self,
        now: Time,
        key: Key,
        datagram: &Datagram<'_>,
        counters: &mut NetCounters,
    ) -> Option<Passage> {
        let newcomer = self.newcomers.iter().find(|newcomer| newcomer.key == key)?;
        let packet = decode_in_udp(datagram.bytes).ok()?;
        let acknowledged = packet.body.acknowledgment()?;
        if packet.short || !newcomer.responses.contains(&acknowledged) {
            return None;
        }
        let begins = (self.peer.is_none() && !newcomer.began).then_some(newcomer.first);
        counters.unknown_peers += self.newcomers.len() as u64 - 1;
        self.newcomers.clear();
        self.peer = Some(Peer { key, heard: now });
        Some(Passage { data: is_data(packet.packet_type()), established: true, begins })
    }

    /// Where an answer of the receiver goes, and whether that is the connection: to the newcomer whose Request it answers,
    /// otherwise to the connection, if it is of its ports.
    pub fn target(&mut self, answer: &[u8]) -> Option<(SocketAddr, bool)> {
        if !self.newcomers.is_empty()
            && let Ok(packet) = decode_in_udp(answer)
            && let Some(newcomer) = self.newcomers.iter_mut().find(|newcomer| newcomer.asked_for(&packet))
        {
            if packet.packet_type() == PacketType::Response {
                remember(&mut newcomer.responses, packet.sequence);
            }
            return Some((newcomer.key.0, false));
        }
        let ports = glance(answer).ok()?.ports.reversed();
        self.peer.as_ref().filter(|peer| peer.key.1 == ports).map(|peer| (peer.key.0, true))
    }
}

impl Newcomer {
    /// Whether a packet answers one of its Requests.
    fn asked_for(&self, packet: &Packet) -> bool {
        let (Body::Response { acknowledgment, .. } | Body::Reset { acknowledgment, .. }) = packet.body else {
            return false;
        };
        packet.ports.reversed() == self.key.1 && self.requests.contains(&acknowledgment)
    }
}

fn remember(numbers: &mut VecDeque<SequenceNumber>, number: SequenceNumber) {
    if numbers.len() == REPEATED {
        numbers.pop_front();
    }
    numbers.push_back(number);
}

fn is_data(kind: PacketType) -> bool {
    matches!(kind, PacketType::Data | PacketType::DataAck)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_transport::dccp::{ResetCode, ResetReason, ServiceCode};
    use paceline_units::Ecn;
    use paceline_wire::dccp::encode_in_udp;

    const PORTS: Ports = Ports { source: 5001, destination: 5004 };

    struct World {
        gate: ConnectionGate,
        counters: NetCounters,
    }

    fn bytes(ports: Ports, number: u64, body: Body) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_in_udp(&Packet::new(ports, SequenceNumber::new(number), body), &mut bytes).expect("bytes");
        bytes
    }

    fn host(last: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], port))
    }

    impl World {
        fn new() -> World {
            World { gate: ConnectionGate::new(TimeDelta::from_secs(5)), counters: NetCounters::default() }
        }

        fn say(&mut self, millis: u64, from: SocketAddr, number: u64, body: Body) -> Option<Passage> {
            let (now, bytes) = (Time::from_nanos(millis * 1_000_000), bytes(PORTS, number, body));
            let arrived = Moment::from_nanos(now.as_nanos());
            let datagram = Datagram { bytes: &bytes, from, ecn: Ecn::NotEct, arrived, read: arrived };
            self.gate.admit(now, &datagram, &mut self.counters)
        }

        fn request(&mut self, millis: u64, from: SocketAddr, number: u64) -> Option<Passage> {
            self.say(millis, from, number, Body::Request { service: ServiceCode(7) })
        }

        fn respond(&mut self, request: u64, number: u64) -> Option<(SocketAddr, bool)> {
            let acknowledgment = SequenceNumber::new(request);
            let body = Body::Response { acknowledgment, service: ServiceCode(7) };
            self.gate.target(&bytes(PORTS.reversed(), number, body))
        }

        fn ack(&mut self, millis: u64, from: SocketAddr, number: u64) -> Option<Passage> {
            self.say(millis, from, 9, Body::Ack { acknowledgment: SequenceNumber::new(number) })
        }

        /// A sender's handshake.
        fn establish(&mut self, millis: u64, from: SocketAddr, number: u64) -> Option<Passage> {
            self.request(millis, from, number);
            assert_eq!(self.respond(number, number + 500), Some((from, false)));
            self.ack(millis + 40, from, number + 500)
        }
    }

    fn passage(established: bool, begins: Option<u64>) -> Option<Passage> {
        let begins = begins.map(|millis| Moment::from_nanos(millis * 1_000_000));
        Some(Passage { data: false, established, begins })
    }

    #[test]
    fn the_first_request_begins_the_run_and_its_handshake_is_the_connections() {
        let (mut world, sender) = (World::new(), host(1, 700));
        assert_eq!(world.ack(0, sender, 5), None, "who begins does so with a Request");
        assert_eq!(world.request(10, sender, 100), passage(false, Some(10)));
        assert_eq!(world.request(1010, sender, 101), passage(false, None), "the same again");
        assert_eq!(world.respond(100, 600), Some((sender, false)));
        assert_eq!(world.ack(1050, sender, 601), None, "not its Response");
        assert_eq!(world.ack(1050, sender, 600), passage(true, None));
        let data = world.say(1060, sender, 103, Body::Data);
        assert_eq!(data, Some(Passage { data: true, established: true, begins: None }));
        assert_eq!(world.counters.unknown_peers, 2);
        assert_eq!(world.gate.target(&bytes(PORTS.reversed(), 602, Body::Data)), Some((sender, true)));
    }

    #[test]
    fn requests_before_the_sender_do_not_take_its_place() {
        let (mut world, stray, sender) = (World::new(), host(2, 700), host(1, 700));
        assert_eq!(world.request(0, stray, 7), passage(false, Some(0)));
        assert_eq!(world.request(100, stray, 8), passage(false, None), "though heard twice");
        assert_eq!(world.request(200, sender, 100), passage(false, None));
        assert_eq!(world.respond(8, 60), Some((stray, false)));
        assert_eq!(world.respond(100, 600), Some((sender, false)), "of the same ports, by its numbers");
        assert_eq!(world.ack(240, stray, 600), None, "another's Response");
        assert_eq!(world.ack(240, sender, 600), passage(true, Some(200)), "the run begins with its Request");
        assert_eq!(world.request(300, stray, 9), None);
        // A stray alone, long before: whoever comes then begins at once.
        let mut world = World::new();
        world.request(0, stray, 7);
        assert_eq!(world.request(5000, sender, 100), passage(false, Some(5000)));
        assert_eq!((world.counters.unknown_peers, world.gate.newcomers.len()), (1, 1));
    }

    #[test]
    fn a_connection_that_pauses_keeps_its_place_and_one_that_is_gone_does_not() {
        let (mut world, stray, sender) = (World::new(), host(2, 700), host(1, 700));
        assert_eq!(world.establish(0, sender, 100), passage(true, None));
        assert_eq!(world.request(5000, stray, 7), None, "not silent for long enough");
        assert_eq!(world.request(6000, stray, 7), passage(false, None));
        assert_eq!(world.request(6100, stray, 8), passage(false, None));
        // The receiver has a sender.
        let reason = ResetReason::new(ResetCode::TOO_BUSY);
        let busy = Body::Reset { acknowledgment: SequenceNumber::new(8), reason };
        assert_eq!(world.gate.target(&bytes(PORTS.reversed(), 0, busy)), Some((stray, false)));
        let sync = Body::Sync { acknowledgment: SequenceNumber::new(7) };
        assert_eq!(world.gate.target(&bytes(PORTS.reversed(), 0, sync)), Some((sender, true)));
        let scanned = Ports { destination: 6000, ..PORTS.reversed() };
        assert_eq!(world.gate.target(&bytes(scanned, 7, sync)), None, "who asked is forgotten");
        assert_eq!(world.ack(6200, stray, 0), None);
        assert_eq!(world.ack(6300, sender, 0), passage(true, None), "it goes on");
        assert_eq!(world.request(6400, stray, 9), None);
        // Another sender follows, when the receiver takes it: its handshake says so, though nothing begins anew.
        assert_eq!(world.establish(12_000, stray, 20), passage(true, None));
        assert_eq!(world.ack(12_100, sender, 0), None);
    }

    #[test]
    fn a_flood_in_a_pause_takes_no_place_and_bounded_memory() {
        let (mut world, sender) = (World::new(), host(1, 700));
        world.establish(0, sender, 100);
        for n in 0..20_000u64 {
            let from = host(2 + (n % 200) as u8, (n / 200) as u16 + 1);
            assert_eq!(world.request(6000 + n / 100, from, n), passage(false, None));
            assert!(world.gate.newcomers.len() <= NEWCOMERS);
        }
        for again in 0..100 {
            assert_eq!(world.request(6200, host(201, 100), again), passage(false, None));
        }
        let kept = &world.gate.newcomers;
        assert!(kept.iter().all(|newcomer| newcomer.requests.len() <= REPEATED));
        assert_eq!(world.ack(6300, sender, 0), passage(true, None));
        assert_eq!((world.gate.newcomers.len(), world.counters.unknown_peers), (0, 20_000));
    }
}
