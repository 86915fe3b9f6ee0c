//! The sender's loop over DCCP in UDP: packets in, timeouts, packets out, sleep; and the closing of the connection.
//!
//! Times are told as by the RTP sender's loop: when a thing was due or arrived, not when the process came to it.

use super::acknowledged::AcknowledgedLog;
use super::answers::Answers;
use super::record::SenderRecord;
use super::{FORGIVEN_LATENESS, SendOptions};
use crate::choice::ChosenFlow;
use crate::clock::{DriverClock, Moment};
use crate::dccp::{is_bulk, secret};
use crate::output::NetCounters;
use crate::port::Port;
use crate::socket::{Datagram, Inbox, largest_payload};
use crate::wait::{CLOSING, LONGEST_SLEEP, PreciseTimers, wait_for};
use crate::{Control, NetError, NetOutput};
use nix::errno::Errno;
use paceline_cc::StreamId;
use paceline_metrics::Tick;
use paceline_scenario::build::DccpParts;
use paceline_scenario::registry::FlowCcids;
use paceline_transport::dccp::{Carried, DccpConfig, DccpSender, Ended};
use paceline_transport::{Planned, SendingEnd, Transmit};
use paceline_units::{Bytes, Time, TimeDelta};
use paceline_wire::dccp::{Packet, PacketType, Payload, ResetCode, SequenceNumber};
use paceline_wire::dccp::{decode_in_udp, encode_in_udp};
use std::net::SocketAddr;

/// Packets sent, and packets read, before the other side of the loop has its turn.
const AT_ONCE: usize = 32;
const NEXT: TimeDelta = TimeDelta::from_nanos(1);
/// A data packet's header with long numbers (RFC 4340 section 5.1).
const HEADER: u64 = 16;

pub(super) struct Driver<'a> {
    port: Port,
    inbox: Inbox,
    to: SocketAddr,
    clock: DriverClock,
    endpoint: Planned<DccpSender<FlowCcids>>,
    parts: &'a DccpParts,
    log: AcknowledgedLog,
    record: SenderRecord<'a>,
    counters: NetCounters,
    answers: Answers,
    /// Whether the run is over, and only the connection is to be closed.
    closing: bool,
    duration: Time,
    /// The last time that the endpoint was told.
    time: Time,
}

impl<'a> Driver<'a> {
    pub fn new(
        port: Port,
        flow: ChosenFlow<'a>,
        parts: &'a DccpParts,
        options: &SendOptions,
    ) -> Result<Driver<'a>, NetError> {
        let mut answers = Answers::new(options.patience);
        if !parts.handshake {
            let said =
                "dccp.handshake = false: over sockets a connection begins with a handshake all the same";
            answers.warnings.push(said.into());
        }
        let (config, carried) = fitting(flow, parts, options.to, &mut answers.warnings)?;
        let (ccids, idle) = (parts.ccids.clone(), flow.parts.controller.clone());
        let mut endpoint = DccpSender::new(config, ccids, parts.service, idle, carried);
        endpoint.set_initial_number(SequenceNumber::new(secret()?[0]));
        Ok(Driver {
            port,
            inbox: Inbox::new(),
            to: options.to,
            clock: DriverClock::from_zero(Moment::now()),
            endpoint: Planned::new(endpoint, flow.parts.plan()),
            parts,
            log: AcknowledgedLog::default(),
            record: SenderRecord::new(flow),
            counters: NetCounters::default(),
            answers,
            closing: false,
            duration: Time::ZERO + flow.scenario.duration,
            time: Time::ZERO,
        })
    }

    pub fn run(mut self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let _timers = PreciseTimers::new();
        self.clock = DriverClock::from_zero(Moment::now());
        loop {
            let now = self.clock.now();
            let more = self.take_packets()? | self.advance(now, control.progress);
            if now >= self.duration || control.stopped() || self.is_cut_off() {
                break;
            }
            self.answers.check(now, self.to)?;
            if !more {
                wait_for(&[&self.port.socket], self.next())?;
            }
        }
        let now = self.clock.now();
        if !control.stopped() {
            self.check_handshake(now)?;
        }
        self.answers.end(now);
        self.close(now)?;
        Ok(self.output(now))
    }

    fn output(mut self, ran: Time) -> NetOutput {
        let mut warnings = std::mem::take(&mut self.answers.warnings);
        warnings.extend(self.endpoint.end().ended().and_then(|ended| self.unexpected_end(ran, ended)));
        if !self.parts.has_ack_vectors() {
            let said = "the sender knows no throughput and no losses: ccid3's acknowledgements tell of single packets \
                        only with dccp.ack_vector = true";
            warnings.push(said.into());
        }
        warnings.extend(self.port.finish());
        self.record.finish(ran, self.endpoint.end(), self.counters, warnings)
    }

    /// Whether the connection is over though nobody here ended it.
    fn is_cut_off(&self) -> bool {
        self.endpoint.end().ended().is_some() && !self.endpoint.is_stopped()
    }

    /// What is to be said of a connection that did not end as it should.
    fn unexpected_end(&self, ran: Time, ended: Ended) -> Option<String> {
        let Ended { reason, by_peer } = ended;
        let after = ran.as_secs_f64();
        match (by_peer, reason.code == ResetCode::CLOSED) {
            (true, true) if self.endpoint.is_stopped() => None,
            (_, true) => Some(format!("the receiver closed the connection after {after:.1} s")),
            (true, false) => Some(format!("the receiver reset the connection after {after:.1} s: {reason}")),
            (false, false) if self.closing => {
                Some(format!("nothing answered the closing of the connection: {reason}"))
            }
            (false, false) => Some(format!("the connection failed after {after:.1} s: {reason}")),
        }
    }

    /// An error if nobody answered, or the connection was over before the receiver took it. A receiver that has no room
    /// says so to the Ack that brings its cookie back (RFC 4340 section 8.1.4).
    fn check_handshake(&mut self, now: Time) -> Result<(), NetError> {
        const LATE: [ResetCode; 2] = [ResetCode::TOO_BUSY, ResetCode::BAD_INIT_COOKIE];
        let (address, service) = (self.to, self.parts.service);
        match self.endpoint.end().ended() {
            Some(ended) if ended.by_peer && LATE.contains(&ended.reason.code) => {
                Err(NetError::NoConnection { address, ended, service })
            }
            Some(ended) if !self.answers.is_answered() && (ended.by_peer || !self.endpoint.is_stopped()) => {
                Err(NetError::NoConnection { address, ended, service })
            }
            _ => self.answers.any(now, address),
        }
    }

    /// Ends the connection, and waits a moment for the other end's part in that.
    fn close(&mut self, now: Time) -> Result<(), NetError> {
        self.closing = true;
        if self.endpoint.end().ended().is_none() {
            self.endpoint.stop(now);
        }
        self.transmit(now);
        let until = self.clock.now() + CLOSING;
        while self.endpoint.end().ended().is_none() && self.clock.now() < until {
            self.take_packets()?;
            self.run_endpoint(self.clock.now() + NEXT);
            let due = self.clock.moment_of(self.endpoint_due().min(until));
            wait_for(&[&self.port.socket], due)?;
        }
        let now = self.reach(self.clock.now());
        self.endpoint.end_mut().abort(now);
        self.transmit(now);
        Ok(())
    }

    /// When the endpoint wants to be called.
    fn endpoint_due(&self) -> Time {
        self.endpoint.next_timeout().map_or(Time::MAX, |(due, _)| due)
    }

    fn next(&self) -> Moment {
        let tick = self.record.pending().map_or(Time::MAX, Tick::at);
        let next = self.endpoint_due().min(tick).min(self.duration);
        self.clock.moment_of(next).min(Moment::now().plus(LONGEST_SLEEP))
    }

    /// Takes the packets that have arrived, each at its own time; true if there may be more.
    fn take_packets(&mut self) -> Result<bool, NetError> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let mut more = true;
        for _ in 0..AT_ONCE {
            let Some(datagram) = self.port.read(&mut inbox, &mut self.counters)? else {
                more = false;
                break;
            };
            if datagram.from == self.to {
                self.port.capture(&datagram);
                self.take_packet(&datagram);
            } else {
                self.counters.unknown_peers += 1;
            }
        }
        self.inbox = inbox;
        Ok(more)
    }

    fn take_packet(&mut self, datagram: &Datagram<'_>) {
        let Ok(packet) = decode_in_udp(datagram.bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let arrived = self.clock.time_of(datagram.arrived);
        self.run_endpoint(arrived + NEXT);
        let now = self.reach(arrived);
        let kind = packet.packet_type();
        let accepted = |endpoint: &DccpSender<FlowCcids>| {
            endpoint.connection().map_or(0, |connection| connection.counters().received)
        };
        let before = accepted(self.endpoint.end());
        let _ = self.endpoint.end_mut().receive(now, packet, datagram.ecn);
        if accepted(self.endpoint.end()) == before {
            self.counters.out_of_sequence += 1;
        } else {
            self.learn(now, kind);
        }
        self.transmit(now);
    }

    /// The receiver said something, in a packet that the connection believes.
    fn learn(&mut self, now: Time, kind: PacketType) {
        if kind != PacketType::Reset {
            self.answers.heard(now);
        }
        let tells = matches!(kind, PacketType::Ack | PacketType::DataAck) && !self.closing;
        let Driver { endpoint, log, record, .. } = self;
        if let Some(connection) = endpoint.end().connection().filter(|_| tells) {
            log.told(now, connection.told(), |packet| record.delivered(now, &packet));
        }
    }

    /// Lets everything happen that is due at `now`, looking at the endpoint in between where the record asks for it;
    /// true if it stopped before that was all.
    fn advance(&mut self, now: Time, progress: &dyn Fn(Time)) -> bool {
        while let Some(tick) = self.record.pending().filter(|tick| tick.at() <= now) {
            if self.run_endpoint(tick.covers()) {
                return true;
            }
            self.log.settle(tick.at(), |stream, sent| self.record.lost(tick.at(), stream, sent));
            self.record.tick(now, self.endpoint.end(), progress);
        }
        self.run_endpoint(now + NEXT)
    }

    /// Lets the endpoint do everything that is due before `before`, each thing at its own time; true if it stopped
    /// before that was all.
    fn run_endpoint(&mut self, before: Time) -> bool {
        for _ in 0..AT_ONCE {
            let due = self.endpoint_due();
            if due >= before {
                return false;
            }
            let now = self.reach(due);
            self.endpoint.handle_timeout(now);
            self.transmit(now);
        }
        true
    }

    /// The time of an event of `time`, as the endpoint is told: not before the one before, and not longer ago than what
    /// is forgiven.
    fn reach(&mut self, time: Time) -> Time {
        let oldest = self.clock.now() - FORGIVEN_LATENESS;
        self.time = self.time.max(time).max(oldest);
        self.time
    }

    /// Sends what may leave at `now`, and notes what the controller thinks then.
    fn transmit(&mut self, now: Time) {
        for _ in 0..AT_ONCE {
            let Some(outgoing) = self.endpoint.end_mut().poll_transmit(now) else { break };
            self.send(now, &outgoing);
        }
        if !self.closing {
            self.record.observe(now, self.endpoint.end());
        }
    }

    fn send(&mut self, now: Time, outgoing: &Transmit<Packet>) {
        let Transmit { packet, ecn, size, queued, .. } = outgoing;
        self.port.bytes.clear();
        let encoded = encode_in_udp(packet, &mut self.port.bytes);
        debug_assert!(encoded.is_ok(), "{packet:?}: {encoded:?}");
        let media = match &packet.payload {
            Payload::Dummy { size, captured } => Some((*size, *captured)),
            Payload::Rtp(rtp) => Some((rtp.media, rtp.captured)),
            Payload::Bytes(_) => None,
        };
        let media = media.map(|(size, captured)| {
            (self.port.bytes.len().saturating_sub(size as usize), self.clock.moment_of(captured))
        });
        if let (_, Err(error)) = self.port.send(self.to, *ecn, media, &mut self.counters) {
            // Lost on its way, like any other: acknowledgements will say so.
            if error.raw_os_error() == Some(Errno::EMSGSIZE as i32) {
                self.endpoint.end_mut().on_too_big(now, packet.sequence, Bytes::ZERO);
            }
            self.answers.refused = Some(error.to_string());
        }
        self.answers.first_sent.get_or_insert(now);
        if self.closing {
            return;
        }
        if self.parts.has_ack_vectors() {
            self.log.sent(now, packet, *size);
        }
        if matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck) {
            self.record.sent(now, StreamId(0), *size, now - *queued);
        }
    }
}

/// The connection's settings and what it carries, cut down to what this machine sends to `to` in one packet.
fn fitting(
    flow: ChosenFlow<'_>,
    parts: &DccpParts,
    to: SocketAddr,
    warnings: &mut Vec<String>,
) -> Result<(DccpConfig, Carried), NetError> {
    let (mut config, mut carried) = (parts.config.clone(), parts.carried.clone());
    // Who has no route learns that when the first packet is refused.
    let Ok(room) = largest_payload(to) else { return Ok((config, carried)) };
    let rtp = if is_bulk(parts) { 0 } else { carried.rtp_header.as_u64() };
    let (headers, name) = (HEADER + rtp, &flow.spec.name);
    let wanted = carried.max_payload.as_u64() + headers;
    if room <= headers {
        let what = format!("flow {name}: the route to {to} takes {room} bytes of DCCP packet, expected more");
        return Err(NetError::Unsupported { what });
    }
    if wanted > room {
        warnings.push(format!(
            "flow {name}: packet_size of {wanted} B does not fit into one UDP datagram to {to}; packets are of {room} B"
        ));
        carried.max_payload = Bytes::new(room - headers);
    }
    config.mtu = config.mtu.min(Bytes::new(room));
    Ok((config, carried))
}
