//! A client and a server over a pipe in virtual time that does to each packet what a test says.

use super::standin::StandIns;
use paceline_dccp::{Ccids, Connection, DccpConfig, Event, State};
use paceline_ends::Transmit;
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::dccp::{
    Body, Packet, PacketType, Payload, Ports, ResetCode, ResetReason, SequenceNumber, ServiceCode,
};
use std::collections::BTreeMap;

/// One way.
pub const DELAY: TimeDelta = TimeDelta::from_millis(50);
pub const PORTS: Ports = Ports { source: 5000, destination: 80 };
pub const SERVICE: ServiceCode = ServiceCode(42);
/// Far more packets than are sent at one time: a sender that sends as many never stops.
const ENDLESS: usize = 10_000;

pub fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// The network's treatment of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Deliver,
    Lose,
    Twice,
    Late(TimeDelta),
    Mark,
}

/// Receiver of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum To {
    Server,
    Client,
}

type Rule = Box<dyn FnMut(usize, To, &Packet) -> Action>;

pub struct Pair<F: Ccids = StandIns> {
    pub now: Time,
    pub client: Connection<F>,
    pub server: Option<Connection<F>>,
    ccids: F,
    config: DccpConfig,
    wire: BTreeMap<(Time, u64), (To, Packet, Ecn)>,
    rule: Rule,
    count: u64,
    /// Everything that was sent.
    pub log: Vec<(Time, To, Packet)>,
    pub marks: Vec<Ecn>,
    pub client_events: Vec<Event>,
    pub server_events: Vec<Event>,
}

impl Pair {
    pub fn new(client: &DccpConfig, server: &DccpConfig) -> Pair {
        Pair::with_rule(client, server, |_, _, _| Action::Deliver)
    }

    /// The rule is asked for each packet in the order of sending, counted from 0.
    pub fn with_rule(
        client: &DccpConfig,
        server: &DccpConfig,
        rule: impl FnMut(usize, To, &Packet) -> Action + 'static,
    ) -> Pair {
        Pair::with_early(client, server, Payload::EMPTY, rule)
    }

    pub fn with_early(
        client: &DccpConfig,
        server: &DccpConfig,
        early: Payload,
        rule: impl FnMut(usize, To, &Packet) -> Action + 'static,
    ) -> Pair {
        Pair::with_ccids(StandIns, client, server, early, rule)
    }

    /// Both ends in OPEN, and everything that negotiation wants is done.
    pub fn open(client: &DccpConfig, server: &DccpConfig) -> Pair {
        let mut pair = Pair::new(client, server);
        pair.run(TimeDelta::from_secs(1));
        assert_eq!((pair.client.state(), pair.server().state()), (State::Open, State::Open));
        pair
    }
}

impl<F: Ccids + Clone> Pair<F> {
    pub fn with_ccids(
        ccids: F,
        client: &DccpConfig,
        server: &DccpConfig,
        early: Payload,
        rule: impl FnMut(usize, To, &Packet) -> Action + 'static,
    ) -> Pair<F> {
        let iss = SequenceNumber::new(SequenceNumber::MODULUS - 3);
        let connection = Connection::connect(Time::ZERO, client, ccids.clone(), PORTS, SERVICE, iss, early);
        Pair {
            now: Time::ZERO,
            client: connection,
            server: None,
            ccids,
            config: server.clone(),
            wire: BTreeMap::new(),
            rule: Box::new(rule),
            count: 0,
            log: Vec::new(),
            marks: Vec::new(),
            client_events: Vec::new(),
            server_events: Vec::new(),
        }
    }

    pub fn server(&mut self) -> &mut Connection<F> {
        self.server.as_mut().expect("a server")
    }

    pub fn set_rule(&mut self, rule: impl FnMut(usize, To, &Packet) -> Action + 'static) {
        self.rule = Box::new(rule);
    }

    fn flush(&mut self) {
        for to in [To::Server, To::Client] {
            for count in 0.. {
                assert!(count < ENDLESS, "it never stops sending to the {to:?}");
                let transmit = match to {
                    To::Server => self.client.poll_transmit(self.now),
                    To::Client => self.server.as_mut().and_then(|server| server.poll_transmit(self.now)),
                };
                let Some(transmit) = transmit else { break };
                self.put(to, transmit);
            }
        }
        self.client_events.extend(std::iter::from_fn(|| self.client.poll_event()));
        if let Some(server) = &mut self.server {
            self.server_events.extend(std::iter::from_fn(|| server.poll_event()));
        }
    }

    fn put(&mut self, to: To, Transmit { packet, ecn, .. }: Transmit<Packet>) {
        let action = (self.rule)(self.log.len(), to, &packet);
        self.log.push((self.now, to, packet.clone()));
        self.marks.push(ecn);
        let mark = if action == Action::Mark { Ecn::Ce } else { ecn };
        let extra = if let Action::Late(extra) = action { extra } else { TimeDelta::ZERO };
        let copies = match action {
            Action::Lose => 0,
            Action::Twice => 2,
            _ => 1,
        };
        for _ in 0..copies {
            self.count += 1;
            self.wire.insert((self.now + DELAY + extra, self.count), (to, packet.clone(), mark));
        }
    }

    /// Hands a packet over as if it came from the network.
    pub fn inject(&mut self, to: To, packet: Packet, ecn: Ecn) {
        match to {
            To::Client => self.client.on_packet(self.now, packet, ecn),
            To::Server => match &mut self.server {
                Some(server) => server.on_packet(self.now, packet, ecn),
                None => {
                    let iss = SequenceNumber::new(1 << 24);
                    let config = &self.config;
                    self.server = Connection::accept(self.now, config, self.ccids.clone(), packet, ecn, iss);
                }
            },
        }
    }

    /// Hands a packet over and answers what `to` sends at once.
    pub fn answers(&mut self, to: To, packet: Packet) -> Vec<Packet> {
        self.flush();
        self.inject(to, packet, Ecn::NotEct);
        let before = self.log.len();
        self.flush();
        let back = if to == To::Server { To::Client } else { To::Server };
        self.log[before..]
            .iter()
            .filter(|(_, to, _)| *to == back)
            .map(|(_, _, packet)| packet.clone())
            .collect()
    }

    fn next(&self) -> Option<Time> {
        let timer = |connection: &Connection<F>| connection.next_timeout().map(|(due, _)| due);
        let timers = [timer(&self.client), self.server.as_ref().and_then(timer)];
        let first = self.wire.keys().next().map(|(due, _)| *due);
        timers.into_iter().chain([first]).flatten().min()
    }

    /// Runs for so long.
    pub fn run(&mut self, span: TimeDelta) {
        let until = self.now + span;
        let mut same = 0;
        self.flush();
        while let Some(next) = self.next().filter(|next| *next <= until) {
            same = if next > self.now { 0 } else { same + 1 };
            assert!(same < ENDLESS, "time stands still: {:?}", self.client.next_timeout());
            self.now = self.now.max(next);
            while self.wire.keys().next().is_some_and(|(due, _)| *due <= self.now) {
                let (_, (to, packet, ecn)) = self.wire.pop_first().expect("there is one");
                self.inject(to, packet, ecn);
                self.flush();
            }
            self.client.handle_timeout(self.now);
            if let Some(server) = &mut self.server {
                server.handle_timeout(self.now);
            }
            self.flush();
        }
        self.now = until;
    }

    /// Types of the packets to one end, from the `from`th packet of all on.
    pub fn types(&self, to: To, from: usize) -> Vec<PacketType> {
        self.log[from..]
            .iter()
            .filter(|(_, whom, _)| *whom == to)
            .map(|(_, _, packet)| packet.packet_type())
            .collect()
    }

    /// The newest number sent to one end.
    pub fn newest(&self, to: To) -> SequenceNumber {
        self.log.iter().rev().find(|(_, whom, _)| *whom == to).expect("something was sent").2.sequence
    }

    /// A packet to `to` that is the next of its sender and acknowledges the newest of `to`; `steps` further on.
    pub fn forged(&self, to: To, steps: i64, kind: PacketType) -> Packet {
        let back = if to == To::Server { To::Client } else { To::Server };
        let mut packet = self.with_acknowledgment(kind, self.newest(back));
        packet.ports = if to == To::Server { PORTS } else { PORTS.reversed() };
        packet.sequence = self.newest(to).plus(steps);
        packet
    }

    fn with_acknowledgment(&self, kind: PacketType, acknowledgment: SequenceNumber) -> Packet {
        let body = Body::new(kind, acknowledgment, SERVICE, ResetReason::new(ResetCode::CLOSED));
        Packet::new(PORTS, SequenceNumber::ZERO, body)
    }

    /// A packet to a client that has heard nothing yet.
    pub fn forged_to_client(&self, kind: PacketType, acknowledgment: SequenceNumber) -> Packet {
        let mut packet = self.with_acknowledgment(kind, acknowledgment);
        (packet.ports, packet.sequence) = (PORTS.reversed(), SequenceNumber::new(9));
        packet
    }

    /// Datagrams that the events of one end show, by size.
    pub fn delivered(&self, to: To) -> Vec<usize> {
        let events = if to == To::Server { &self.server_events } else { &self.client_events };
        let sizes = events.iter().filter_map(|event| match event {
            Event::Received { payload, .. } => Some(payload.len()),
            _ => None,
        });
        sizes.collect()
    }

    /// How the connection ended for one end.
    pub fn closed(&self, whom: To) -> Option<(ResetCode, bool)> {
        let events = if whom == To::Server { &self.server_events } else { &self.client_events };
        events.iter().find_map(|event| match event {
            Event::Closed(ended) => Some((ended.reason.code, ended.by_peer)),
            _ => None,
        })
    }

    pub fn send(&mut self, from: To, size: u32) {
        let now = self.now;
        let end = match from {
            To::Server => self.server(),
            To::Client => &mut self.client,
        };
        end.send(now, Payload::dummy(size, now)).expect("there is room");
    }
}

/// The one packet that answered.
pub fn only(answers: Vec<Packet>) -> Packet {
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers.into_iter().next().expect("one")
}

/// The reset that answered.
pub fn reset(answers: Vec<Packet>) -> ResetReason {
    match only(answers).body {
        Body::Reset { reason, .. } => reason,
        body => panic!("{body:?} is no reset"),
    }
}
