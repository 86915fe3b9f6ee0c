//! The sender's loop: reports in, timeouts, packets out, sleep.

use super::answers::Answers;
use super::record::SenderRecord;
use super::reports::ReportReader;
use super::sent::SentLog;
use super::{FORGIVEN_LATENESS, SendOptions};
use crate::choice::ChosenFlow;
use crate::clock::{DriverClock, Moment};
use crate::output::NetCounters;
use crate::socket::{Datagram, Inbox, UdpPort};
use crate::ssrc::{PAYLOAD_TYPE, Ssrcs};
use crate::wait::{LONGEST_SLEEP, PreciseTimers, wait_for};
use crate::{Control, NetError, NetOutput};
use paceline_metrics::Tick;
use paceline_scenario::build::RtpParts;
use paceline_scenario::registry::AnyController;
use paceline_transport::rtp::{RtpPacket, RtpSender};
use paceline_transport::{Planned, SendingEnd, Transmit};
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::rtp::{HEADER, RtpHeaderFields};
use paceline_wire::timing::Timing;
use paceline_wire::{clock::media_ticks_of, rtp, timing};
use std::net::SocketAddr;

/// Packets sent, and reports read, before the other side of the loop has its turn.
const AT_ONCE: usize = 32;
const NEXT: TimeDelta = TimeDelta::from_nanos(1);

pub(super) struct Driver<'a> {
    port: UdpPort,
    inbox: Inbox,
    to: SocketAddr,
    clock: DriverClock,
    endpoint: Planned<RtpSender<AnyController>>,
    ssrcs: Ssrcs,
    log: SentLog,
    reports: ReportReader,
    record: SenderRecord<'a>,
    counters: NetCounters,
    bytes: Vec<u8>,
    answers: Answers,
    duration: Time,
    /// The last time that the endpoint was told.
    time: Time,
}

impl<'a> Driver<'a> {
    pub fn new(port: UdpPort, flow: ChosenFlow<'a>, rtp: &RtpParts, options: &SendOptions) -> Driver<'a> {
        let parts = flow.parts;
        let endpoint = RtpSender::new(parts.controller.clone(), &rtp.sender, rtp.streams.clone());
        Driver {
            port,
            inbox: Inbox::new(),
            to: options.to,
            clock: DriverClock::from_zero(Moment::now()),
            endpoint: Planned::new(endpoint, parts.plan()),
            ssrcs: Ssrcs::new(options.ssrc, rtp.streams.len()),
            log: SentLog::new(rtp.streams.len()),
            reports: ReportReader::default(),
            record: SenderRecord::new(flow),
            counters: NetCounters::default(),
            bytes: Vec::with_capacity(2048),
            answers: Answers::new(options.patience),
            duration: Time::ZERO + flow.scenario.duration,
            time: Time::ZERO,
        }
    }

    pub fn run(mut self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let _timers = PreciseTimers::new();
        self.clock = DriverClock::from_zero(Moment::now());
        loop {
            let now = self.clock.now();
            let more = self.take_reports()? | self.advance(now, control.progress);
            if now >= self.duration || control.stopped() {
                break;
            }
            self.answers.check(now, self.to)?;
            if !more {
                wait_for(&[&self.port], self.next())?;
            }
        }
        let now = self.clock.now();
        if !control.stopped() {
            self.answers.any(now, self.to)?;
        }
        self.answers.end(now);
        self.counters.unknown_reports = self.endpoint.end().counters().unknown_reports;
        Ok(self.record.finish(now, self.endpoint.end(), self.counters, self.answers.warnings))
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

    /// Takes the reports that have arrived, each at its own time; true if there may be more.
    fn take_reports(&mut self) -> Result<bool, NetError> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let mut more = true;
        for _ in 0..AT_ONCE {
            let Some(datagram) = self.port.read(&mut inbox)? else {
                more = false;
                break;
            };
            self.counters.received += 1;
            if datagram.from == self.to {
                self.take_report(&datagram);
            } else {
                self.counters.unknown_peers += 1;
            }
        }
        self.inbox = inbox;
        Ok(more)
    }

    fn take_report(&mut self, datagram: &Datagram<'_>) {
        let arrived = self.clock.time_of(datagram.arrived);
        self.run_endpoint(arrived + NEXT);
        let now = self.reach(arrived);
        let Driver { endpoint, ssrcs, log, reports, record, counters, answers, .. } = self;
        reports.read(datagram.bytes, *ssrcs, log, counters, |feedback, log| {
            let concerns = log.concerns(feedback);
            let _ = endpoint.end_mut().receive(now, Box::new(feedback.clone()), Ecn::NotEct);
            if concerns {
                answers.heard(now);
                log.reported(now, feedback, |packet| record.delivered(now, &packet));
            }
        });
        self.transmit(now);
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
        self.record.observe(now, self.endpoint.end());
    }

    fn send(&mut self, now: Time, outgoing: &Transmit<RtpPacket>) {
        let packet = &outgoing.packet;
        let header = RtpHeaderFields {
            payload_type: PAYLOAD_TYPE,
            ssrc: self.ssrcs.of(packet.stream),
            sequence: packet.sequence as u16,
            timestamp: media_ticks_of(packet.captured) as u32,
            marker: packet.marker,
        };
        self.bytes.clear();
        let encoded = rtp::encode(&header, packet.payload.as_u64() as usize, 0, &mut self.bytes);
        debug_assert!(encoded.is_ok(), "the payload type is a constant");
        // Moments mean the same to every process of this machine.
        let on_wire = |moment: Moment| Time::from_nanos(moment.as_nanos());
        let left = Moment::now();
        let captured = self.clock.moment_of(packet.captured).min(left);
        let times = Timing { captured: on_wire(captured), sent: on_wire(left) };
        timing::write(&mut self.bytes[HEADER..], times);
        match self.port.send(&self.bytes, self.to, outgoing.ecn) {
            Ok(()) => self.counters.sent += 1,
            Err(error) => {
                // Lost on its way, like any other: the reports will say so.
                self.counters.unsendable += 1;
                self.answers.refused = Some(error.to_string());
            }
        }
        self.answers.first_sent.get_or_insert(now);
        self.log.sent(self.clock.time_of(left), packet);
        self.record.sent(now, packet.stream, outgoing.size, now - outgoing.queued);
    }
}
