//! DCCP at a relay: the packets of one connection pass, whose handshake it has seen.
//!
//! A Request proves nothing: its address may be forged, and whoever scans sends one. So Requests of unknown peers pass to
//! the receiver, and its answers back to them: their connections are half open. Only who acknowledges a Response (RFC 4340
//! section 8.1.5) takes the place of the connection before, and only if that has been silent for long.

use crate::clock::Moment;
use crate::output::NetCounters;
use crate::socket::Datagram;
use paceline_cc::StreamId;
use paceline_units::{Time, TimeDelta};
use paceline_wire::dccp::{Body, Packet, PacketType, Ports, SequenceNumber};
use paceline_wire::dccp::{decode_in_udp, glance};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Half-open connections at the same time; another makes the oldest forgotten.
const MOST_HALF_OPEN: usize = 256;
/// Requests of one handshake that may be under way, and Responses.
const REPEATED: usize = 8;

type Key = (SocketAddr, Ports);

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

/// The connection that passes, and those whose handshake has begun.
#[derive(Debug)]
pub(crate) struct ConnectionFilter {
    peer: Option<Established>,
    half_open: VecDeque<HalfOpen>,
    patience: TimeDelta,
}

#[derive(Debug)]
struct Established {
    key: Key,
    heard: Time,
}

#[derive(Debug)]
struct HalfOpen {
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

impl ConnectionFilter {
    /// A connection that is silent for `patience` gives way to another.
    pub fn new(patience: TimeDelta) -> ConnectionFilter {
        ConnectionFilter { peer: None, half_open: VecDeque::new(), patience }
    }

    /// Lets a datagram from the senders' side pass, or counts why it does not.
    pub fn admit(
        &mut self,
        now: Time,
        datagram: &Datagram<'_>,
        counters: &mut NetCounters,
    ) -> Option<Admitted> {
        let Ok(glance) = glance(datagram.bytes) else {
            counters.malformed += 1;
            return None;
        };
        let key = (datagram.from, glance.ports);
        if let Some(peer) = self.peer.as_mut().filter(|peer| peer.key == key) {
            peer.heard = now;
            counters.unknown_peers += self.half_open.len() as u64;
            self.half_open.clear();
            return Some(Admitted { data: data_stream(glance.kind), established: true, begins: None });
        }
        let talks = |peer: &Established| now.saturating_since(peer.heard) < self.patience;
        let admitted = match self.peer.as_ref().is_some_and(talks) {
            true => None,
            false if glance.kind == PacketType::Request => self.request(now, key, datagram, counters),
            false => self.completes(now, key, datagram, counters),
        };
        counters.unknown_peers += u64::from(admitted.is_none());
        admitted
    }

    /// A Request of an unknown peer passes, and is remembered.
    fn request(
        &mut self,
        now: Time,
        key: Key,
        datagram: &Datagram<'_>,
        counters: &mut NetCounters,
    ) -> Option<Admitted> {
        let number = decode_in_udp(datagram.bytes).ok()?.sequence;
        let before = self.half_open.len();
        self.half_open.retain(|candidate| now.saturating_since(candidate.heard) < self.patience);
        counters.unknown_peers += (before - self.half_open.len()) as u64;
        let known = self.half_open.iter_mut().find(|candidate| candidate.key == key);
        let mut begins = None;
        if let Some(candidate) = known {
            candidate.heard = now;
            remember(&mut candidate.requests, number);
        } else {
            if self.half_open.len() == MOST_HALF_OPEN {
                self.half_open.pop_front();
                counters.unknown_peers += 1;
            }
            // Alone it begins a run, if none has.
            let began = self.peer.is_none() && self.half_open.is_empty();
            begins = began.then_some(datagram.arrived);
            let (requests, responses) = (VecDeque::from([number]), VecDeque::new());
            let first = datagram.arrived;
            self.half_open.push_back(HalfOpen { key, first, heard: now, requests, responses, began });
        }
        Some(Admitted { data: None, established: false, begins })
    }

    /// Whether a packet acknowledges the Response of a half-open connection: then that is the connection.
    fn completes(
        &mut self,
        now: Time,
        key: Key,
        datagram: &Datagram<'_>,
        counters: &mut NetCounters,
    ) -> Option<Admitted> {
        let candidate = self.half_open.iter().find(|candidate| candidate.key == key)?;
        let packet = decode_in_udp(datagram.bytes).ok()?;
        let acknowledged = packet.body.acknowledgment()?;
        if packet.short || !candidate.responses.contains(&acknowledged) {
            return None;
        }
        let begins = (self.peer.is_none() && !candidate.began).then_some(candidate.first);
        counters.unknown_peers += self.half_open.len() as u64 - 1;
        self.half_open.clear();
        self.peer = Some(Established { key, heard: now });
        Some(Admitted { data: data_stream(packet.packet_type()), established: true, begins })
    }

    /// Where an answer of the receiver goes, and whether that is the connection: to whose Request it answers,
    /// otherwise to the connection, if it is of its ports.
    pub fn target(&mut self, answer: &[u8]) -> Option<(SocketAddr, bool)> {
        if !self.half_open.is_empty()
            && let Ok(packet) = decode_in_udp(answer)
            && let Some(candidate) = self.half_open.iter_mut().find(|candidate| candidate.asked_for(&packet))
        {
            if packet.packet_type() == PacketType::Response {
                remember(&mut candidate.responses, packet.sequence);
            }
            return Some((candidate.key.0, false));
        }
        let ports = glance(answer).ok()?.ports.reversed();
        self.peer.as_ref().filter(|peer| peer.key.1 == ports).map(|peer| (peer.key.0, true))
    }
}

impl HalfOpen {
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

fn data_stream(kind: PacketType) -> Option<StreamId> {
    matches!(kind, PacketType::Data | PacketType::DataAck).then_some(StreamId(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::tests::datagram;
    use paceline_wire::dccp::encode_in_udp;
    use paceline_wire::dccp::{ResetCode, ResetReason, ServiceCode};

    const PORTS: Ports = Ports { source: 5001, destination: 5004 };

    struct Relay {
        filter: ConnectionFilter,
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

    impl Relay {
        fn new() -> Relay {
            Relay { filter: ConnectionFilter::new(TimeDelta::from_secs(5)), counters: NetCounters::default() }
        }

        fn say(&mut self, millis: u64, from: SocketAddr, number: u64, body: Body) -> Option<Admitted> {
            let (now, bytes) = (Time::from_nanos(millis * 1_000_000), bytes(PORTS, number, body));
            let arrived = Moment::from_nanos(now.as_nanos());
            let datagram = Datagram { from, arrived, ..datagram(&bytes) };
            self.filter.admit(now, &datagram, &mut self.counters)
        }

        fn request(&mut self, millis: u64, from: SocketAddr, number: u64) -> Option<Admitted> {
            self.say(millis, from, number, Body::Request { service: ServiceCode(7) })
        }

        fn respond(&mut self, request: u64, number: u64) -> Option<(SocketAddr, bool)> {
            let acknowledgment = SequenceNumber::new(request);
            let body = Body::Response { acknowledgment, service: ServiceCode(7) };
            self.filter.target(&bytes(PORTS.reversed(), number, body))
        }

        fn ack(&mut self, millis: u64, from: SocketAddr, number: u64) -> Option<Admitted> {
            self.say(millis, from, 9, Body::Ack { acknowledgment: SequenceNumber::new(number) })
        }

        /// A sender's handshake.
        fn establish(&mut self, millis: u64, from: SocketAddr, number: u64) -> Option<Admitted> {
            self.request(millis, from, number);
            assert_eq!(self.respond(number, number + 500), Some((from, false)));
            self.ack(millis + 40, from, number + 500)
        }
    }

    fn admitted(established: bool, begins: Option<u64>) -> Option<Admitted> {
        let begins = begins.map(|millis| Moment::from_nanos(millis * 1_000_000));
        Some(Admitted { data: None, established, begins })
    }

    #[test]
    fn the_first_request_begins_the_run_and_its_handshake_is_the_connections() {
        let (mut relay, sender) = (Relay::new(), host(1, 700));
        assert_eq!(relay.ack(0, sender, 5), None, "who begins does so with a Request");
        assert_eq!(relay.request(10, sender, 100), admitted(false, Some(10)));
        assert_eq!(relay.request(1010, sender, 101), admitted(false, None), "the same again");
        assert_eq!(relay.respond(100, 600), Some((sender, false)));
        assert_eq!(relay.ack(1050, sender, 601), None, "not its Response");
        assert_eq!(relay.ack(1050, sender, 600), admitted(true, None));
        let data = relay.say(1060, sender, 103, Body::Data);
        assert_eq!(data, Some(Admitted { data: Some(StreamId(0)), established: true, begins: None }));
        assert_eq!(relay.counters.unknown_peers, 2);
        assert_eq!(relay.filter.target(&bytes(PORTS.reversed(), 602, Body::Data)), Some((sender, true)));
    }

    #[test]
    fn requests_before_the_sender_do_not_take_its_place() {
        let (mut relay, stray, sender) = (Relay::new(), host(2, 700), host(1, 700));
        assert_eq!(relay.request(0, stray, 7), admitted(false, Some(0)));
        assert_eq!(relay.request(100, stray, 8), admitted(false, None), "though heard twice");
        assert_eq!(relay.request(200, sender, 100), admitted(false, None));
        assert_eq!(relay.respond(8, 60), Some((stray, false)));
        assert_eq!(relay.respond(100, 600), Some((sender, false)), "of the same ports, by its numbers");
        assert_eq!(relay.ack(240, stray, 600), None, "another's Response");
        assert_eq!(relay.ack(240, sender, 600), admitted(true, Some(200)), "the run begins with its Request");
        assert_eq!(relay.request(300, stray, 9), None);
        // A stray alone, long before: whoever comes then begins at once.
        let mut relay = Relay::new();
        relay.request(0, stray, 7);
        assert_eq!(relay.request(5000, sender, 100), admitted(false, Some(5000)));
        assert_eq!((relay.counters.unknown_peers, relay.filter.half_open.len()), (1, 1));
    }

    #[test]
    fn a_connection_that_pauses_keeps_its_place_and_one_that_is_gone_does_not() {
        let (mut relay, stray, sender) = (Relay::new(), host(2, 700), host(1, 700));
        assert_eq!(relay.establish(0, sender, 100), admitted(true, None));
        assert_eq!(relay.request(5000, stray, 7), None, "not silent for long enough");
        assert_eq!(relay.request(6000, stray, 7), admitted(false, None));
        assert_eq!(relay.request(6100, stray, 8), admitted(false, None));
        // The receiver has a sender.
        let reason = ResetReason::new(ResetCode::TOO_BUSY);
        let busy = Body::Reset { acknowledgment: SequenceNumber::new(8), reason };
        assert_eq!(relay.filter.target(&bytes(PORTS.reversed(), 0, busy)), Some((stray, false)));
        let sync = Body::Sync { acknowledgment: SequenceNumber::new(7) };
        assert_eq!(relay.filter.target(&bytes(PORTS.reversed(), 0, sync)), Some((sender, true)));
        let scanned = Ports { destination: 6000, ..PORTS.reversed() };
        assert_eq!(relay.filter.target(&bytes(scanned, 7, sync)), None, "who asked is forgotten");
        assert_eq!(relay.ack(6200, stray, 0), None);
        assert_eq!(relay.ack(6300, sender, 0), admitted(true, None), "it goes on");
        assert_eq!(relay.request(6400, stray, 9), None);
        // Another sender follows, when the receiver takes it: its handshake says so, though nothing begins anew.
        assert_eq!(relay.establish(12_000, stray, 20), admitted(true, None));
        assert_eq!(relay.ack(12_100, sender, 0), None);
    }

    #[test]
    fn a_flood_in_a_pause_takes_no_place_and_bounded_memory() {
        let (mut relay, sender) = (Relay::new(), host(1, 700));
        relay.establish(0, sender, 100);
        for n in 0..20_000u64 {
            let from = host(2 + (n % 200) as u8, (n / 200) as u16 + 1);
            assert_eq!(relay.request(6000 + n / 100, from, n), admitted(false, None));
            assert!(relay.filter.half_open.len() <= MOST_HALF_OPEN);
        }
        for again in 0..100 {
            assert_eq!(relay.request(6200, host(201, 100), again), admitted(false, None));
        }
        let kept = &relay.filter.half_open;
        assert!(kept.iter().all(|candidate| candidate.requests.len() <= REPEATED));
        assert_eq!(relay.ack(6300, sender, 0), admitted(true, None));
        assert_eq!((relay.filter.half_open.len(), relay.counters.unknown_peers), (0, 20_000));
    }
}
