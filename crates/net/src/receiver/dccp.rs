//! The receiver's loop over DCCP in UDP: a listening host with Init Cookies, of whose connections one is the flow's.
//!
//! Who brings a cookie back first is the sender; while it is there, everybody else is told that the receiver is busy. A
//! connection that ends before it brought data, or brings none for as long as a sender may be silent, gives way to another. Nothing is kept of
//! Requests, scans and strangers' packets (RFC 4340 section 8.1.4), and answers to them are limited in rate.

use super::ReceiveOptions;
use super::connection::{Came, Numbers, PacketNumber, Session};
use crate::choice::{ChosenFlow, reachable_from_outside};
use crate::clock::{DriverClock, Moment};
use crate::dccp::{Arrival, CLOSING, DccpPort, Read, flow_of, secret, target_of};
use crate::output::NetCounters;
use crate::wait::{LONGEST_SLEEP, PreciseTimers, wait_for};
use crate::{Control, NetError, NetOutput};
use paceline_scenario::build::DccpParts;
use paceline_scenario::registry::FlowCcids;
use paceline_transport::dccp::{
    CookiePolicy, DccpConfig, DccpCounters, Event, FLOW_PORTS, FlowId, Host, HostConfig, PacketType, Payload,
    ResetCode, ResetReason,
};
use paceline_units::{Ecn, Time, TimeDelta};
use std::net::SocketAddr;

/// Datagrams read before the rest of the loop has its turn.
const AT_ONCE: usize = 256;
/// Connections before one of them is the sender's.
const AT_THE_DOOR: usize = 16;

/// The connection that is the flow's.
struct Peer {
    flow: FlowId,
    /// When its cookie came back.
    since: Time,
}

pub(super) struct Driver<'a> {
    port: DccpPort,
    local: SocketAddr,
    flow: ChosenFlow<'a>,
    parts: &'a DccpParts,
    options: ReceiveOptions,
    host: Host<FlowCcids>,
    peer: Option<Peer>,
    /// Of its packets.
    numbers: Numbers,
    session: Option<Session<'a>>,
    /// How the connection ended that brought data.
    ended: Option<(ResetReason, bool)>,
    counters: NetCounters,
    warnings: Vec<String>,
    /// Since the socket was opened.
    clock: DriverClock,
    /// The last time that the host was told.
    time: Time,
    duration: TimeDelta,
    /// Whether the run is over, and only the connection is to be closed.
    closing: bool,
}

impl<'a> Driver<'a> {
    pub fn new(
        port: DccpPort,
        flow: ChosenFlow<'a>,
        parts: &'a DccpParts,
        options: ReceiveOptions,
    ) -> Result<Driver<'a>, NetError> {
        let local = port.socket().address()?;
        let longest = flow.scenario.duration;
        Ok(Driver {
            port,
            local,
            host: listening(parts, secret()?)?,
            peer: None,
            numbers: Numbers::default(),
            session: None,
            ended: None,
            counters: NetCounters::default(),
            warnings: reachable_from_outside(local).into_iter().collect(),
            clock: DriverClock::from_zero(Moment::now()),
            time: Time::ZERO,
            duration: options.duration.map_or(longest, |duration| duration.min(longest)),
            closing: false,
            parts,
            flow,
            options,
        })
    }

    pub fn run(mut self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let _timers = PreciseTimers::new();
        self.clock = DriverClock::from_zero(Moment::now());
        loop {
            let before = Moment::now();
            let all = self.read()?;
            self.run_host();
            if self.advance(before, control)? || control.stopped() {
                break;
            }
            if all {
                self.wait(Time::MAX)?;
            }
        }
        let ran = self.session.as_ref().map_or(Time::ZERO, |session| session.clock.now());
        self.close(control.stopped())?;
        Ok(self.output(ran))
    }

    fn output(mut self, ran: Time) -> NetOutput {
        self.counters.unanswered = self.host.limited();
        self.warnings.extend(self.ended.and_then(|ended| unexpected_end(ran, ended)));
        self.warnings.extend(self.port.finish());
        let output = match self.session {
            Some(session) => session.finish(ran, self.counters),
            None => super::record::ReceiverRecord::new(self.flow, false).nothing(self.counters),
        };
        NetOutput { warnings: self.warnings, ..output }
    }

    /// Sleeps until something arrives or is due, but not longer than until `until`.
    fn wait(&self, until: Time) -> Result<(), NetError> {
        let host = self.host.next_timeout().unwrap_or(Time::MAX).min(until);
        let session = self.session.as_ref().filter(|_| !self.closing).map(Session::next);
        let due = [Some(self.clock.moment_of(host)), session].into_iter().flatten().min();
        let longest = Moment::now().plus(LONGEST_SLEEP);
        wait_for(&[self.port.socket()], due.map_or(longest, |due| due.min(longest)))
    }

    /// Takes what has arrived; true if nothing is left.
    fn read(&mut self) -> Result<bool, NetError> {
        for _ in 0..AT_ONCE {
            match self.port.read(None, &mut self.counters)? {
                Read::Nothing => return Ok(true),
                Read::Refused => {}
                Read::Packet(arrival) => self.take(arrival),
            }
        }
        Ok(false)
    }

    /// Hands a packet to the host, and what it answers back.
    fn take(&mut self, arrival: Arrival) {
        let now = self.reach(arrival.arrived);
        let flow = flow_of(arrival.from, &arrival.packet);
        let (came, number, kind) =
            (Came::of(&arrival), PacketNumber::of(&arrival.packet), arrival.packet.packet_type());
        let known = self.peer.as_ref().map(|peer| peer.flow);
        let before = self.counted(&flow);
        self.host.on_packet(now, flow.address, flow.udp_port, arrival.packet, came.ecn);
        let payload = self.take_events(now);
        if known.is_some_and(|known| known != flow) {
            self.counters.strangers += 1;
        }
        let is_peer = self.peer.as_ref().is_some_and(|peer| peer.flow == flow);
        if let Some(after) = self.counted(&flow).filter(|_| is_peer) {
            let before = before.unwrap_or_default();
            self.counters.duplicates += after.duplicates - before.duplicates;
            self.counters.out_of_sequence += after.ignored - before.ignored;
            if after.received > before.received {
                self.note(came, number, kind, payload);
            }
        }
        self.transmit(now);
    }

    fn counted(&self, flow: &FlowId) -> Option<DccpCounters> {
        self.host.connection(flow).map(|connection| *connection.counters())
    }

    /// The peer's connection accepted a packet, of which the application got `payload`.
    fn note(&mut self, came: Came, number: PacketNumber, kind: PacketType, payload: Option<Payload>) {
        let missing = self.numbers.note(&number);
        if self.closing {
            return;
        }
        let data = matches!(kind, PacketType::Data | PacketType::DataAck);
        let bytes = match &payload {
            Some(Payload::Bytes(bytes)) => Some(bytes.as_slice()),
            _ => None,
        };
        if data && self.session.is_none() {
            self.session = Some(Session::open(self.flow, self.parts, came, bytes.unwrap_or_default()));
        }
        if let Some(session) = &mut self.session {
            session.heard(came.arrived, missing);
            if data {
                session.take(came, bytes);
            }
        }
    }

    /// What happened to connections; answers the datagram that the peer's delivered.
    fn take_events(&mut self, now: Time) -> Option<Payload> {
        let mut delivered = None;
        while let Some((flow, event)) = self.host.poll_event() {
            let is_peer = self.peer.as_ref().is_some_and(|peer| peer.flow == flow);
            match event {
                Event::Connected if self.peer.is_none() && self.session.is_none() => {
                    (self.peer, self.numbers) = (Some(Peer { flow, since: now }), Numbers::default());
                    self.host.set_max_connections(0);
                }
                // Two were at the door at the same time.
                Event::Connected => self.abort(now, &flow),
                Event::Received { payload, .. } if is_peer => delivered = Some(payload),
                Event::Closed { reason, by_peer } if is_peer => {
                    self.peer = None;
                    if self.session.is_some() {
                        self.ended = Some((reason, by_peer));
                    } else {
                        self.host.set_max_connections(AT_THE_DOOR);
                    }
                }
                _ => {}
            }
        }
        delivered
    }

    fn abort(&mut self, now: Time, flow: &FlowId) {
        if let Some(connection) = self.host.connection_mut(flow) {
            connection.abort(now);
        }
    }

    fn transmit(&mut self, now: Time) {
        while let Some((flow, transmit)) = self.host.poll_transmit(now) {
            let to = target_of(&flow, self.local);
            // As in the simulator, what goes back is not ECN-capable.
            let ecn = Ecn::NotEct;
            let clock = self.clock;
            // What cannot be sent is lost like any other packet; it was counted.
            let _ = self.port.send(&transmit.packet, ecn, to, |at| clock.moment_of(at), &mut self.counters);
        }
    }

    /// Lets the host do what is due.
    fn run_host(&mut self) {
        let now = self.reach(Moment::now());
        if self.host.next_timeout().is_some_and(|due| due <= now) {
            self.host.handle_timeout(now);
        }
        self.take_events(now);
        self.transmit(now);
        // A connection is forgotten when all that it had to send is sent.
        self.take_events(now);
    }

    /// The host's time of something at `moment`: never before what it was told last.
    fn reach(&mut self, moment: Moment) -> Time {
        self.time = self.time.max(self.clock.time_of(moment));
        self.time
    }

    /// Does what is due in the record; true at the end of the run. What arrived up to `before` has been taken.
    fn advance(&mut self, before: Moment, control: &Control<'_>) -> Result<bool, NetError> {
        let Some(session) = &mut self.session else {
            self.check_peer();
            let waited = self.clock.now() - Time::ZERO;
            let Some(patience) = self.options.patience.filter(|patience| waited >= *patience) else {
                return Ok(false);
            };
            return Err(NetError::NothingArrived { address: self.local, seconds: patience.as_secs_f64() });
        };
        let now = session.clock.time_of(before);
        session.advance(now, &self.numbers, control.progress);
        let silent = now.saturating_since(session.heard);
        Ok(now >= Time::ZERO + self.duration
            || self.ended.is_some()
            || self.options.silence.is_some_and(|most| silent >= most))
    }

    /// Who connects and brings no data keeps nobody out for ever, whatever else it says.
    fn check_peer(&mut self) {
        let now = self.time;
        let idle = self.peer.as_ref().filter(|peer| {
            let waited = now.saturating_since(peer.since);
            self.options.silence.is_some_and(|most| waited >= most)
        });
        if let Some(flow) = idle.map(|peer| peer.flow) {
            self.abort(now, &flow);
        }
    }

    /// Closes the connection, after a moment for the sender to do so unless `at_once`.
    fn close(&mut self, at_once: bool) -> Result<(), NetError> {
        self.closing = true;
        if !at_once {
            self.linger()?;
        }
        if let Some(flow) = self.peer.as_ref().map(|peer| peer.flow) {
            let now = self.reach(Moment::now());
            if let Some(connection) = self.host.connection_mut(&flow) {
                connection.discard_queue(now);
                connection.close(now);
            }
            self.transmit(now);
            self.linger()?;
        }
        let now = self.reach(Moment::now());
        let left: Vec<FlowId> = self.host.flows().copied().collect();
        left.iter().for_each(|flow| self.abort(now, flow));
        self.transmit(now);
        Ok(())
    }

    /// Waits a moment for the connection to be over.
    fn linger(&mut self) -> Result<(), NetError> {
        let until = self.clock.now() + CLOSING;
        while self.peer.is_some() && self.clock.now() < until {
            if self.read()? {
                self.wait(until)?;
            }
            self.run_host();
        }
        Ok(())
    }
}

/// A host that takes the flow's connections.
fn listening(parts: &DccpParts, secret: [u64; 2]) -> Result<Host<FlowCcids>, NetError> {
    let config = HostConfig {
        connection: DccpConfig { ect: Ecn::NotEct, ..parts.config.clone() },
        max_connections: AT_THE_DOOR,
        cookies: CookiePolicy::Always,
        ..HostConfig::new(secret)
    };
    let mut host = Host::new(&config, parts.ccids.clone());
    let wrong = |error| NetError::Unsupported { what: format!("dccp.service: {error}") };
    host.listen(FLOW_PORTS.destination, parts.service).map_err(wrong)?;
    Ok(host)
}

/// What is to be said of a connection that did not end as it should.
fn unexpected_end(ran: Time, (reason, by_peer): (ResetReason, bool)) -> Option<String> {
    let after = ran.as_secs_f64();
    match (by_peer, reason.code == ResetCode::CLOSED) {
        (_, true) => None,
        (true, false) => Some(format!("the sender reset the connection after {after:.1} s: {reason}")),
        (false, false) => Some(format!("the connection failed after {after:.1} s: {reason}")),
    }
}
