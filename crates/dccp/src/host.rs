//! Many connections on one address: steps 2 and 3 of RFC 4340 section 8.5, LISTEN, cookies, and what belongs to nobody.
//!
//! Memory is bounded by [`HostConfig::max_connections`], whatever unknown peers send: with cookies a flood of Requests makes
//! no connection at all.

use super::DccpConfig;
use super::ccids::Ccids;
use super::connection::{Connection, Event, State};
use super::cookie;
use super::limit::RateLimit;
use super::siphash::siphash;
use core::fmt;
use paceline_cc::StreamId;
use paceline_cc::ccid::DropCode;
use paceline_ends::Transmit;
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::dccp::{
    Body, DccpOption, Packet, PacketType, Payload, Ports, ResetCode, ResetReason, SequenceNumber, ServiceCode,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Answers without a connection that wait at most; a driver that fetches them after each packet never sees two.
const MOST_ANSWERS: usize = 64;

/// Which connection a packet is of: the other end's address, its UDP port where DCCP is in UDP (RFC 6773 section 3.8),
/// and the ports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId {
    /// IPv6 address, or an IPv4 address mapped into it.
    pub address: u128,
    /// The other end's UDP port; 0 without UDP.
    pub udp_port: u16,
    /// As on the packets that are sent.
    pub ports: Ports,
}

impl FlowId {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let ports = [self.udp_port, self.ports.source, self.ports.destination].map(u16::to_be_bytes);
        [&self.address.to_be_bytes(), ports.as_flattened()].concat()
    }
}

/// A host's settings.
#[derive(Clone, PartialEq, Debug)]
pub struct HostConfig {
    /// Settings of every connection.
    pub connection: DccpConfig,
    /// Random and known to nobody else: initial sequence numbers and cookies rest on it (RFC 4340 section 7.2).
    pub secret: [u64; 2],
    /// Most connections, those in TIMEWAIT included; further Requests are answered Too Busy.
    pub max_connections: usize,
    /// Connections from which on Requests are answered with cookies, and no state is kept for them (RFC 4340 section
    /// 8.1.4); 0: always, `usize::MAX`: never.
    pub cookies_from: usize,
    /// How long a cookie is valid.
    pub cookie_lifetime: TimeDelta,
    /// Most Responses with cookies per second: a Request's address may be forged, and the Response is twice as long. A
    /// client that gets no answer asks again (RFC 4340 section 8.1.1).
    pub cookies_per_second: u32,
}

impl HostConfig {
    /// The usual settings under a secret.
    pub fn new(secret: [u64; 2]) -> HostConfig {
        HostConfig {
            connection: DccpConfig::default(),
            secret,
            max_connections: 1024,
            cookies_from: 512,
            cookie_lifetime: TimeDelta::from_secs(60),
            cookies_per_second: 4096,
        }
    }
}

/// Why a host cannot listen or connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListenError {
    /// A service code that is never valid.
    InvalidService,
    /// The ports and address have a connection.
    InUse,
    /// The port takes connections for that service already (RFC 5595 section 3.3).
    ServiceInUse {
        /// Port on which connections are accepted.
        port: u16,
        /// Service code that is in use.
        service: ServiceCode,
    },
    /// There are so many connections already.
    TooMany {
        /// Most connections that are taken.
        max: usize,
    },
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenError::InvalidService => {
                write!(f, "service code: found {}, expected any other", ServiceCode::INVALID.0)
            }
            ListenError::InUse => f.write_str("flow: found a connection with these ports, expected none"),
            ListenError::ServiceInUse { port, service } => {
                write!(f, "port {port}: found somebody listening for {service}, expected nobody")
            }
            ListenError::TooMany { max } => write!(f, "connections: found {max}, expected fewer"),
        }
    }
}

impl core::error::Error for ListenError {}

/// The connections and listeners on one address.
pub struct Host<F: Ccids + Clone> {
    config: HostConfig,
    ccids: F,
    listening: BTreeMap<u16, Vec<ServiceCode>>,
    connections: BTreeMap<FlowId, Connection<F>>,
    /// Connections that may have something to send.
    ready: BTreeSet<FlowId>,
    /// Connections that may have something to tell.
    eventful: BTreeSet<FlowId>,
    timers: BTreeSet<(Time, FlowId)>,
    timer_of: BTreeMap<FlowId, Time>,
    answers: VecDeque<(FlowId, Transmit<Packet>)>,
    resets: RateLimit,
    responses: RateLimit,
    limited: u64,
}

impl<F: Ccids + Clone> Host<F> {
    /// A host that listens to nobody.
    pub fn new(config: &HostConfig, ccids: F) -> Host<F> {
        Host {
            resets: RateLimit::new(config.connection.resets_per_second),
            responses: RateLimit::new(config.cookies_per_second),
            config: config.clone(),
            ccids,
            listening: BTreeMap::new(),
            connections: BTreeMap::new(),
            ready: BTreeSet::new(),
            eventful: BTreeSet::new(),
            timers: BTreeSet::new(),
            timer_of: BTreeMap::new(),
            answers: VecDeque::new(),
            limited: 0,
        }
    }

    /// Takes connections on `port` for `service`, besides the services that it takes already (RFC 5595 section 3.3).
    ///
    /// # Errors
    /// The service code is the one that is never valid, or the port has that service.
    pub fn listen(&mut self, port: u16, service: ServiceCode) -> Result<(), ListenError> {
        if !service.is_valid() {
            return Err(ListenError::InvalidService);
        }
        let services = self.listening.entry(port).or_default();
        if services.contains(&service) {
            return Err(ListenError::ServiceInUse { port, service });
        }
        services.push(service);
        Ok(())
    }

    /// Takes no more connections on `port`; those there are stay.
    pub fn stop_listening(&mut self, port: u16) {
        self.listening.remove(&port);
    }

    /// Takes so many connections from now on; those there are stay.
    pub fn set_max_connections(&mut self, most: usize) {
        self.config.max_connections = most;
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// There is one on these ports, there are too many, or the service code is never valid.
    pub fn connect(
        &mut self,
        now: Time,
        flow: FlowId,
        service: ServiceCode,
        early: Payload,
    ) -> Result<(), ListenError> {
        if !service.is_valid() {
            return Err(ListenError::InvalidService);
        }
        if self.connections.contains_key(&flow) {
            return Err(ListenError::InUse);
        }
        if self.connections.len() >= self.config.max_connections {
            return Err(ListenError::TooMany { max: self.config.max_connections });
        }
        let iss = self.initial_number(now, &flow);
        let ccids = self.ccids.clone();
        let connection =
            Connection::connect(now, &self.config.connection, ccids, flow.ports, service, iss, early);
        self.connections.insert(flow, connection);
        self.touch(flow);
        Ok(())
    }

    /// Two clocks and a keyed hash of the flow (RFC 4340 section 7.2, RFC 1948: no text at hand). The lower 24 bits move
    /// every 16 us and come again after more than two segment lifetimes; the upper move every second.
    fn initial_number(&self, now: Time, flow: &FlowId) -> SequenceNumber {
        let hash = siphash(self.config.secret, &flow.to_bytes());
        let (upper, lower) = (now.as_nanos() / 1_000_000_000, now.as_nanos() / 16_000 % (1 << 24));
        SequenceNumber::new(hash.wrapping_add((upper << 24) + lower))
    }

    /// The number of a Response that nobody remembers. A later Request must get the next number, though it may come to the
    /// same client: a Response far ahead would make that acknowledge what the connection never sent. So the Request's
    /// number is in it, and the clock moves the upper 24 bits once in a cookie's lifetime.
    fn stateless_number(&self, now: Time, flow: &FlowId, request: &Packet) -> SequenceNumber {
        let lifetime = u64::try_from(self.config.cookie_lifetime.as_nanos()).unwrap_or(0).max(1);
        let hash = siphash(self.config.secret, &flow.to_bytes());
        let clock = (now.as_nanos() / lifetime) << 24;
        SequenceNumber::new(hash.wrapping_add(clock).wrapping_add(request.sequence.as_u64()))
    }

    /// The connection of a flow, if there is one.
    pub fn connection(&self, flow: &FlowId) -> Option<&Connection<F>> {
        self.connections.get(flow)
    }

    /// A connection, to send on it or to close it. Its packets are asked for afterwards.
    pub fn connection_mut(&mut self, flow: &FlowId) -> Option<&mut Connection<F>> {
        if self.connections.contains_key(flow) {
            self.touch(*flow);
        }
        self.connections.get_mut(flow)
    }

    /// Flows of all connections.
    pub fn flows(&self) -> impl Iterator<Item = &FlowId> {
        self.connections.keys()
    }

    /// Answers to nobody's packets, Resets and Responses with cookies, that a limit in rate kept back.
    pub fn limited(&self) -> u64 {
        self.limited
    }

    fn touch(&mut self, flow: FlowId) {
        self.ready.insert(flow);
        self.eventful.insert(flow);
    }

    /// A packet arrived from `address` and, if DCCP is in UDP, from `udp_port`.
    pub fn on_packet(&mut self, now: Time, address: u128, udp_port: u16, packet: Packet, ecn: Ecn) {
        let flow = FlowId { address, udp_port, ports: packet.ports.reversed() };
        if let Some(connection) = self.connections.get_mut(&flow) {
            connection.on_packet(now, packet, ecn);
            self.touch(flow);
            return;
        }
        let cookie = packet.options.iter().any(|option| matches!(option, DccpOption::InitCookie(_)));
        let listens = self.listening.contains_key(&flow.ports.source);
        match packet.packet_type() {
            PacketType::Request => self.on_request(now, flow, packet, ecn),
            // Cookies on Data packets are ignored (section 8.1.4).
            PacketType::Data | PacketType::Reset => self.refuse(now, flow, &packet, ResetCode::NO_CONNECTION),
            _ if cookie && listens => self.on_cookie(now, flow, packet, ecn),
            _ => self.refuse(now, flow, &packet, ResetCode::NO_CONNECTION),
        }
    }

    fn refuse(&mut self, now: Time, flow: FlowId, packet: &Packet, code: ResetCode) {
        let Some(packet) = packet.reset_without_connection(ResetReason::new(code)) else { return };
        if !self.resets.allows(now, &mut self.limited) {
            return;
        }
        let size = packet.size();
        let stream = StreamId(0);
        self.answer(flow, Transmit { packet, size, ecn: Ecn::NotEct, stream, queued: now });
    }

    fn answer(&mut self, flow: FlowId, transmit: Transmit<Packet>) {
        if self.answers.len() == MOST_ANSWERS {
            self.answers.pop_front();
            self.limited += 1;
        }
        self.answers.push_back((flow, transmit));
    }

    /// Step 3, and section 8.1.3's reasons to refuse.
    fn on_request(&mut self, now: Time, flow: FlowId, request: Packet, ecn: Ecn) {
        let Body::Request { service } = request.body else { return };
        let Some(services) = self.listening.get(&flow.ports.source) else {
            self.refuse(now, flow, &request, ResetCode::CONNECTION_REFUSED);
            return;
        };
        if !service.is_valid() || !services.contains(&service) {
            self.refuse(now, flow, &request, ResetCode::BAD_SERVICE_CODE);
            return;
        }
        let count = self.connections.len();
        if count >= self.config.max_connections {
            // With cookies too: what could not be made of one need not be promised.
            self.refuse(now, flow, &request, ResetCode::TOO_BUSY);
        } else if count >= self.config.cookies_from {
            self.respond_with_cookie(now, flow, request, ecn);
        } else {
            let iss = self.initial_number(now, &flow);
            if let Some(connection) = self.accept(now, request, ecn, iss) {
                self.adopt(now, flow, connection);
            }
        }
    }

    fn accept(&self, now: Time, request: Packet, ecn: Ecn, iss: SequenceNumber) -> Option<Connection<F>> {
        Connection::accept(now, &self.config.connection, self.ccids.clone(), request, ecn, iss)
    }

    /// A new server's connection is kept, unless the Request was its end.
    fn adopt(&mut self, now: Time, flow: FlowId, mut connection: Connection<F>) {
        if connection.state() == State::Closed {
            while let Some(transmit) = connection.poll_transmit(now) {
                self.answer(flow, transmit);
            }
            return;
        }
        self.connections.insert(flow, connection);
        self.touch(flow);
    }

    /// The Response of a connection that is forgotten at once (step 11).
    fn respond_with_cookie(&mut self, now: Time, flow: FlowId, mut request: Packet, ecn: Ecn) {
        if !self.responses.allows(now, &mut self.limited) {
            return;
        }
        let iss = self.stateless_number(now, &flow, &request);
        let Some(cookies) = cookie::make(self.config.secret, now, &flow, &request, iss) else {
            self.refuse(now, flow, &request, ResetCode::TOO_BUSY);
            return;
        };
        // Nobody keeps its data.
        let early = !core::mem::take(&mut request.payload).is_empty();
        let sequence = request.sequence;
        let Some(mut connection) = self.accept(now, request, ecn, iss) else { return };
        if early {
            connection.report_dropped(sequence, DropCode::ProtocolConstraints);
        }
        while let Some(mut transmit) = connection.poll_transmit(now) {
            if transmit.packet.packet_type() == PacketType::Response {
                transmit.packet.options.extend(cookies.iter().cloned());
            }
            self.answer(flow, transmit);
        }
    }

    /// Step 3: a cookie comes back, and the connection is made of it.
    fn on_cookie(&mut self, now: Time, flow: FlowId, packet: Packet, ecn: Ecn) {
        let lifetime = self.config.cookie_lifetime;
        let cookie = cookie::read(self.config.secret, now, lifetime, &flow, &packet)
            .filter(|(_, iss)| packet.body.acknowledgment() == Some(*iss));
        let Some((request, iss)) = cookie else {
            self.refuse(now, flow, &packet, ResetCode::BAD_INIT_COOKIE);
            return;
        };
        if self.connections.len() >= self.config.max_connections {
            self.refuse(now, flow, &packet, ResetCode::TOO_BUSY);
            return;
        }
        let Some(mut connection) = self.accept(now, request, Ecn::NotEct, iss) else { return };
        // The Response was sent when the cookie was made.
        let _ = connection.poll_transmit(now);
        connection.on_packet(now, packet, ecn);
        self.adopt(now, flow, connection);
    }

    /// The next packet to send now, and where to. Call until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(FlowId, Transmit<Packet>)> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        while let Some(flow) = self.ready.first().copied() {
            let connection = self.connections.get_mut(&flow)?;
            if let Some(transmit) = connection.poll_transmit(now) {
                return Some((flow, transmit));
            }
            let timeout = connection.next_timeout().map(|(due, _)| due);
            self.ready.remove(&flow);
            self.set_timer(flow, timeout);
            self.forget_if_over(&flow);
        }
        None
    }

    /// A connection that is over, has nothing more to send and nothing more to tell is no longer there, in whichever order
    /// the driver asks for both: nothing would wake it again.
    fn forget_if_over(&mut self, flow: &FlowId) {
        let over = self.connections.get(flow).is_some_and(|connection| connection.state() == State::Closed);
        if over && !self.ready.contains(flow) && !self.eventful.contains(flow) {
            self.connections.remove(flow);
            self.set_timer(*flow, None);
        }
    }

    fn set_timer(&mut self, flow: FlowId, timeout: Option<Time>) {
        let old = match timeout {
            Some(due) => self.timer_of.insert(flow, due),
            None => self.timer_of.remove(&flow),
        };
        if old == timeout {
            return;
        }
        // In this order the set of a host with one connection is never empty and keeps its memory.
        self.timers.extend(timeout.map(|due| (due, flow)));
        if let Some(old) = old {
            self.timers.remove(&(old, flow));
        }
    }

    /// The next event, and its flow. A connection that is over is forgotten once its end was told and its last packet sent.
    pub fn poll_event(&mut self) -> Option<(FlowId, Event)> {
        while let Some(flow) = self.eventful.first().copied() {
            let connection = self.connections.get_mut(&flow)?;
            if let Some(event) = connection.poll_event() {
                return Some((flow, event));
            }
            self.eventful.remove(&flow);
            self.forget_if_over(&flow);
        }
        None
    }

    /// When to call [`Host::handle_timeout`]; everything that is to be sent was asked for before.
    pub fn next_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Timeouts are due; ask [`Host::poll_transmit`] and [`Host::poll_event`] afterwards.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((due, flow)) = self.timers.first().copied() {
            if due > now {
                return;
            }
            self.set_timer(flow, None);
            if let Some(connection) = self.connections.get_mut(&flow) {
                connection.handle_timeout(now);
                self.touch(flow);
            }
        }
    }
}
