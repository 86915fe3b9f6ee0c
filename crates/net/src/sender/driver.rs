//! The sender's loop, whatever the transport: feedback in, timeouts, packets out, sleep; and the closing of a connection.

use super::FORGIVEN_LATENESS;
use super::answers::Answers;
use super::codec::{Encoded, SendingCodec};
use super::evidence::Evidence;
use super::sent::{Delivered, SentLog};
use crate::choice::ChosenFlow;
use crate::clock::{DriverClock, Moment};
use crate::control::{Progress, Told};
use crate::lateness::Lateness;
use crate::output::NetCounters;
use crate::port::Port;
use crate::record::{Ended, FlowRecord};
use crate::silence::PlannedSilence;
use crate::socket::{Datagram, Inbox, UdpPort};
use crate::wait::{Farewell, LONGEST_SLEEP, PreciseTimers, Urgency, wait_for};
use crate::{Control, NetError};
use nix::errno::Errno;
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_cc::{Assigned, Controller};
use paceline_ends::{Coupled, Hearing, Planned, SendingEnd, Transmit};
use paceline_media::PlayoutCounters;
use paceline_metrics::{Facts, ReceivedPacket, Tick};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::net::SocketAddr;

/// Packets sent before datagrams are read.
pub(super) const AT_ONCE: usize = 32;
pub(super) const NEXT: TimeDelta = TimeDelta::from_nanos(1);

/// A packet that is written but has not left.
struct Leaving<D> {
    transmit: Transmit<D>,
    /// When the end sent it, as the end was told.
    now: Time,
    /// When it was due.
    due: Time,
    encoded: Encoded,
}

pub(crate) struct SendingDriver<'a, C: SendingCodec> {
    port: Port,
    inbox: Inbox,
    to: SocketAddr,
    clock: DriverClock,
    planned: Planned<C::End>,
    codec: C,
    /// Packets that are written and leave at the end of the loop's turn, those that are alike in one system call.
    leaving: Vec<Leaving<<C::End as SendingEnd>::Data>>,
    log: SentLog,
    record: FlowRecord<'a>,
    /// Added to each packet's size, as on a link.
    overhead: Bytes,
    /// The last known wait in queues, for packets whose arrival time is unknown.
    queued: TimeDelta,
    counters: NetCounters,
    answers: Answers,
    /// Answers to its packets, as the group of a coupled flow knows.
    hearing: Hearing,
    evidence: Evidence,
    /// Whether the run is over, and only the connection is to be closed.
    closing: bool,
    duration: Time,
    /// The last time that the end was told.
    time: Time,
    /// When the last thing that the end was told was due, or arrived, however long ago that was.
    due: Time,
    lateness: Lateness,
}

impl<'a, C: SendingCodec> SendingDriver<'a, C> {
    pub fn new(
        port: Port,
        flow: ChosenFlow<'a>,
        facts: Facts,
        end: C::End,
        codec: C,
        to: SocketAddr,
        patience: TimeDelta,
    ) -> SendingDriver<'a, C> {
        SendingDriver {
            port,
            inbox: Inbox::new(),
            to,
            clock: DriverClock::from_zero(Moment::now()),
            planned: Planned::new(end, flow.parts.plan()),
            codec,
            leaving: Vec::new(),
            log: SentLog::new(flow.spec.streams.len()),
            record: FlowRecord::new(flow.flow, facts),
            overhead: flow.parts.overhead,
            queued: TimeDelta::ZERO,
            counters: NetCounters::default(),
            answers: Answers::new(patience, PlannedSilence::of(&flow)),
            hearing: Hearing::default(),
            evidence: Evidence::default(),
            closing: false,
            duration: Time::ZERO + flow.scenario.duration,
            time: Time::ZERO,
            due: Time::ZERO,
            lateness: Lateness::new(),
        }
    }

    pub fn run(mut self, control: &Control<'_>) -> Result<Ended<'a>, NetError> {
        let mut timers = PreciseTimers::urgent(Urgency::End);
        self.set_clock(DriverClock::from_zero(Moment::now()));
        let mut unanswered = loop {
            timers.turn();
            let now = self.clock.now();
            let more = self.read()? | self.advance(now, control.progress);
            if now >= self.duration || control.stopped() || self.is_cut_off() {
                break None;
            }
            if let Err(error) = self.answers.check(now, self.to) {
                break Some(error);
            }
            if !more {
                wait_for(&[&self.port.socket], self.next())?;
            }
        };
        let now = self.clock.now();
        if !control.stopped() && unanswered.is_none() {
            unanswered = self.check_answered(now).err();
        }
        let ended = self.end(now, unanswered.is_none())?;
        Ok(Ended { unanswered, ..ended })
    }

    /// An error if the receiver refused, or never answered.
    pub fn check_answered(&mut self, now: Time) -> Result<(), NetError> {
        let (answered, stopped) = (self.answers.is_answered(), self.planned.is_stopped());
        self.codec.check_handshake(self.planned.end(), self.to, answered, stopped)?;
        self.answers.any(now, self.to)
    }

    /// Ends the statistics and the connection.
    pub fn finish(self, now: Time) -> Result<Ended<'a>, NetError> {
        self.end(now, true)
    }

    /// The same; to whoever never answered no goodbye is said.
    fn end(mut self, now: Time, goodbye: bool) -> Result<Ended<'a>, NetError> {
        let cut_off = self.is_cut_off();
        let mut warnings = self.answers.finish(now);
        // The loop may have ended with more to do than fits into one of its turns.
        while let Some(tick) = self.record.pending().filter(|tick| tick.at() <= now) {
            self.look(tick, &|_| ());
        }
        if let Some(tick) = self.record.stop(now, PlayoutCounters::default()) {
            self.record.recorder.tick_sender(tick, self.planned.end());
        }
        if goodbye {
            self.close(now)?;
        }
        let SendingDriver { port, planned, codec, record, mut counters, lateness, .. } = self;
        // Without links there is no delay to judge lateness by.
        let _ = lateness.finish(&mut counters, false);
        warnings.extend(codec.finish(planned.end(), now, cut_off, &mut counters));
        warnings.extend(port.finish(&mut counters));
        Ok(Ended { record, ran: now, counters, warnings, unanswered: None })
    }

    /// Whether the connection is over though nobody here ended it.
    pub fn is_cut_off(&self) -> bool {
        self.codec.is_over(self.planned.end()) && !self.planned.is_stopped()
    }

    /// Ends the connection, if there is one, and waits a moment for the other end's part in that.
    fn close(&mut self, now: Time) -> Result<(), NetError> {
        self.closing = true;
        self.codec.say_goodbye(now);
        self.send_beside(now);
        if !self.codec.is_open(self.planned.end()) {
            return Ok(());
        }
        self.planned.stop(now);
        self.transmit(now);
        self.flush();
        let mut farewell = Farewell::new(self.clock.now(), self.counters.received);
        while self.codec.is_open(self.planned.end())
            && let Some(until) = farewell.until(self.clock.now(), self.counters.received)
        {
            self.read()?;
            self.run_end(self.clock.now() + NEXT);
            self.flush();
            let due = self.clock.moment_of(self.due().min(until));
            wait_for(&[&self.port.socket], due)?;
        }
        let now = self.reach(self.clock.now());
        self.codec.abort(now, self.planned.end_mut());
        self.transmit(now);
        self.flush();
        Ok(())
    }

    /// When the end wants to be called.
    pub fn due(&self) -> Time {
        let end = self.planned.next_timeout().map_or(Time::MAX, |(due, _)| due);
        self.codec.next_beside().map_or(end, |beside| beside.min(end))
    }

    fn next(&self) -> Moment {
        let tick = self.record.pending().map_or(Time::MAX, Tick::at);
        let next = self.due().min(tick).min(self.duration);
        self.clock.moment_of(next).min(Moment::now().plus(LONGEST_SLEEP))
    }

    /// Takes the feedback that has arrived, each at its own time; true if there may be more.
    fn read(&mut self) -> Result<bool, NetError> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let more = self.port.read(&mut inbox, &mut self.counters)?;
        for datagram in inbox.datagrams() {
            if self.admits(&datagram) {
                self.run_end(self.clock.time_of(datagram.arrived) + NEXT);
                let now = self.hear(&datagram);
                self.transmit(now);
            }
        }
        self.inbox = inbox;
        self.flush();
        Ok(more)
    }

    /// Whether a datagram comes from the receiver; it is counted, and captured, as what it is.
    pub fn admits(&mut self, datagram: &Datagram<'_>) -> bool {
        let known = datagram.from == self.to;
        if known {
            self.port.capture(datagram);
        } else {
            self.counters.unknown_peers += 1;
            self.counters.ssrc_collisions += u64::from(self.codec.collides(datagram.bytes));
        }
        known
    }

    /// Hands a datagram of the receiver to the end, at the time that is answered.
    pub fn hear(&mut self, datagram: &Datagram<'_>) -> Time {
        let now = self.reach(self.clock.time_of(datagram.arrived));
        let SendingDriver {
            planned, codec, log, evidence, record, counters, closing, overhead, queued, ..
        } = self;
        let heard = codec.receive(now, datagram, planned.end_mut(), counters, |told| {
            if let Some(packet) = log.reported(now, &told).filter(|_| !*closing) {
                *queued = packet.queued.unwrap_or(*queued);
                evidence.arrived(packet.sent, packet.size);
                record.received(&received(now, &packet, *overhead, *queued));
            }
        });
        if heard {
            self.answers.heard(now);
            self.hearing.heard(now);
        }
        now
    }

    /// Lets everything happen that is due at `now`, looking at the end in between where the record asks for it; true if it
    /// stopped before that was all.
    fn advance(&mut self, now: Time, progress: &Told<'_>) -> bool {
        while let Some(tick) = self.record.pending().filter(|tick| tick.at() <= now) {
            if self.run_end(tick.covers()) {
                self.flush();
                return true;
            }
            self.look(tick, progress);
        }
        let more = self.run_end(now + NEXT);
        self.flush();
        more
    }

    /// Writes down what the record asks for at `tick`: everything that it covers has happened.
    pub fn look(&mut self, tick: Tick, progress: &Told<'_>) {
        self.answers.take_said().iter().for_each(|said| progress(Progress::Warned(said)));
        self.log.settle(tick.at(), |stream, sent| self.record.recorder.lost(tick.at(), stream, sent));
        if let Some(tick) = self.record.tick(tick.at(), PlayoutCounters::default(), progress) {
            self.record.recorder.tick_sender(tick, self.planned.end());
        }
    }

    /// Lets the end do everything that is due before `before`, each thing at its own time; true if it stopped before that
    /// was all.
    fn run_end(&mut self, before: Time) -> bool {
        for _ in 0..AT_ONCE {
            if self.due() >= before {
                return false;
            }
            let now = self.handle_timeout();
            self.transmit(now);
        }
        true
    }

    /// Lets the end do the next thing that is due, at the time that is answered.
    pub fn handle_timeout(&mut self) -> Time {
        let now = self.reach(self.due());
        if let Some((_, reason)) = self.planned.next_timeout().filter(|(due, _)| *due <= now) {
            self.hearing.woken(now, reason, || self.planned.end().controller().snapshot().srtt);
        }
        self.planned.handle_timeout(now);
        now
    }

    /// The time of an event of `time`, as the end is told: not before the one before, and not longer ago than what is
    /// forgiven.
    fn reach(&mut self, time: Time) -> Time {
        self.due = time;
        let oldest = self.clock.now() - FORGIVEN_LATENESS;
        self.time = self.time.max(time).max(oldest);
        self.time
    }

    /// Writes what may leave at `now`, for the next [`SendingDriver::flush`], and notes what the controller thinks then.
    pub fn transmit(&mut self, now: Time) {
        for _ in 0..AT_ONCE {
            let Some(transmit) = self.planned.end_mut().poll_transmit(now) else { break };
            self.push(now, transmit);
        }
        self.send_beside(now);
        if !self.closing {
            self.record.recorder.reported(now, self.planned.end());
        }
    }

    /// Sends what goes beside the end's packets.
    fn send_beside(&mut self, now: Time) {
        if self.codec.next_beside().is_none_or(|due| due > now) {
            return;
        }
        // Nothing overtakes anything.
        self.flush();
        for _ in 0..AT_ONCE {
            self.port.bytes.clear();
            if !self.codec.poll_beside(now, &mut self.port.bytes) {
                break;
            }
            self.port.send(self.to, Ecn::NotEct, &mut self.counters);
        }
    }

    /// Writes a packet, which then waits for [`SendingDriver::flush`] with others that are like it.
    fn push(&mut self, now: Time, transmit: Transmit<<C::End as SendingEnd>::Data>) {
        self.port.bytes.clear();
        let encoded = self.codec.encode(now, &transmit.packet, &mut self.port.bytes);
        if !self.port.takes(self.to, transmit.ecn) {
            self.flush();
        }
        let media = encoded.media.map(|(begin, captured)| (begin, self.clock.moment_of(captured)));
        self.port.push(self.to, transmit.ecn, media);
        self.answers.first_sent.get_or_insert(now);
        self.hearing.sent(now);
        if !self.closing && encoded.payload.is_some() {
            let Transmit { size, stream, queued, .. } = transmit;
            self.record.recorder.sent(now, stream, size + self.overhead, now - queued);
        }
        self.leaving.push(Leaving { transmit, now, due: self.due, encoded });
    }

    /// Lets the packets that wait leave.
    pub fn flush(&mut self) {
        if self.leaving.is_empty() {
            return;
        }
        let SendingDriver { port, counters, planned, codec, answers, leaving, .. } = self;
        let left = port.flush(counters, |place, error| {
            // Lost on its way, like any other: feedback will say so.
            if error.raw_os_error() == Some(Errno::EMSGSIZE as i32) {
                let Leaving { transmit, now, .. } = &leaving[place];
                codec.too_large(*now, planned.end_mut(), &transmit.packet);
            }
            answers.refused = Some(error.to_string());
        });
        let left = self.clock.time_of(left);
        for Leaving { transmit, encoded, due, .. } in self.leaving.drain(..) {
            self.lateness.note(left - due);
            if let Some(number) = encoded.number.filter(|_| !self.closing) {
                self.evidence.sent(left, transmit.size);
                self.log.sent(left, transmit.stream, number, transmit.size, encoded.payload);
            }
        }
    }
}

/// The seam of coupled flows: what their exchange sees and does.
impl<C: SendingCodec> SendingDriver<'_, C> {
    /// The value that the controller steers by; absent while the flow does not send by plan, or nothing comes back.
    pub fn share(&self) -> Option<Assigned> {
        let shares = self.planned.is_active() && !self.hearing.is_silent() && !self.is_cut_off();
        if shares { self.planned.end().controller().share() } else { None }
    }

    /// Rate that the application could use; absent if it can use any.
    pub fn desired(&self) -> Option<Bitrate> {
        self.planned.end().desired()
    }

    /// The round trip that coupling is told; absent before the first sample.
    pub fn round_trip(&self) -> Option<TimeDelta> {
        self.hearing.round_trip(self.planned.end().controller().snapshot().srtt)
    }

    /// The newest summary of the delays of its packets, by which shared bottlenecks are detected.
    pub fn delay_summary(&self) -> Option<&DelaySummary> {
        self.planned.end().delay_summary()
    }

    /// The part of what is assigned elsewhere that the flow takes.
    pub fn bound(&mut self, now: Time, assigned: Assigned) -> Assigned {
        let (own, srtt) = (self.share(), self.round_trip());
        own.map_or(assigned, |own| self.evidence.bound(now, own, assigned, srtt))
    }

    /// Assignments come from an exchange of rates.
    pub fn exchange_rates(&mut self) {
        self.planned.end_mut().exchange_rates();
    }

    /// Replaces what the controller steers by; what may leave now leaves.
    pub fn assign(&mut self, now: Time, assigned: Assigned) {
        let now = self.reach(now);
        self.planned.end_mut().assign(now, assigned);
        self.transmit(now);
    }

    /// Takes the flow's share in its group, for the record.
    pub fn coupled(&mut self, coupled: Coupled) {
        self.record.recorder.coupled(coupled);
    }

    /// When the flow stops sharing unless something comes back before.
    pub fn silent_at(&self) -> Option<Time> {
        self.hearing.silent_at()
    }

    /// Nothing has come back until [`SendingDriver::silent_at`].
    pub fn fall_silent(&mut self) {
        self.hearing.fall_silent(self.planned.end().controller().snapshot().srtt);
    }

    /// Counts from the zero of `clock`, like the others of its process.
    pub fn set_clock(&mut self, clock: DriverClock) {
        self.clock = clock;
        self.port.begin(clock.zero());
    }

    /// Reads what has arrived into `inbox`; true if there may be more.
    pub fn read_into(&mut self, inbox: &mut Inbox) -> Result<bool, NetError> {
        self.port.read(inbox, &mut self.counters)
    }

    /// An error if nothing has come back within the patience.
    pub fn check(&mut self, now: Time) -> Result<(), NetError> {
        self.answers.check(now, self.to)
    }

    /// The next time at which the record asks to be looked at.
    pub fn pending(&self) -> Option<Tick> {
        self.record.pending()
    }

    /// Name of the flow.
    pub fn name(&self) -> &str {
        self.record.name()
    }

    /// The socket, to wait for.
    pub fn socket(&self) -> &UdpPort {
        &self.port.socket
    }
}

/// A packet that feedback which arrived at `now` tells of, for the record.
fn received(now: Time, packet: &Delivered, overhead: Bytes, queued: TimeDelta) -> ReceivedPacket {
    ReceivedPacket {
        now,
        stream: packet.stream,
        size: packet.size + overhead,
        payload: packet.payload,
        sent: packet.sent,
        queue_delay: queued,
        delay_noise: TimeDelta::ZERO,
        ecn: packet.ecn,
        duplicate: false,
    }
}
