//! The end that sends: messages, scoreboard, timers and the window that a controller says.

use super::outbound::{OutStream, Outbound, StreamConfig};
use super::outstanding::{Outstanding, Sent, State};
use super::packet::{Backward, Forward, ForwardTsn};
use super::path::Path;
use super::{DataChunk, SctpConfig};
use paceline_cc::{
    Allowance, Assigned, Controller, Limits, Offered, PacketResult, Recovery, SendQueueState, SentPacket,
    StreamId, TargetChange, Update, Verb,
};
use paceline_ends::{
    FrameCounters, Pacer, Reason, SendingEnd, Transfer, TransferCounters, Transmit, window_target,
};
use paceline_media::Source;
use paceline_units::{Bitrate, Bytes, Ecn, RandomStream, Time, TimeDelta};

/// The window laws know one stream of packets, whatever messages are in them.
pub(super) const STREAM: StreamId = StreamId(0);
/// More chunks are never outstanding, whatever window and receiver allow.
const MOST_OUTSTANDING: u64 = 1 << 18;
/// A FORWARD-TSN may have been lost after so long, where no round trip is known.
const FORWARD_AGAIN: TimeDelta = TimeDelta::from_millis(200);

/// Counts of a sender's packets and events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SctpCounters {
    /// Chunks sent again.
    pub retransmissions: u64,
    /// Number of fast recoveries.
    pub recoveries: u64,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// HEARTBEAT chunks sent: RFC 9260 section 8.3.
    pub heartbeats: u64,
    /// Messages given up after a chunk of them was sent.
    pub abandoned: u64,
    /// SACKs that changed nothing: old, or of what was never sent.
    pub ignored: u64,
    /// Gap blocks that no receiver could mean.
    pub impossible_blocks: u64,
}

/// Sends messages of several streams under a controller.
#[derive(Clone, Debug)]
pub struct SctpSender<C> {
    pub(super) controller: C,
    pub(super) config: SctpConfig,
    pub(super) outstanding: Outstanding,
    outbound: Outbound,
    pub(super) path: Path,
    /// Payload that the receiver has room for, beyond what is outstanding.
    pub(super) peer_window: u64,
    /// Fast recovery lasts until all below is acknowledged.
    pub(super) recovery_until: Option<u64>,
    /// Whether the next lost chunk leaves whatever the window says.
    pub(super) forced: bool,
    /// New packets since something happened.
    burst: u64,
    /// A FORWARD-TSN is to be sent.
    forward_due: bool,
    /// How far the last FORWARD-TSN went, and when it left.
    forwarded: Option<(u64, Time)>,
    heartbeat_due: bool,
    pub(super) results: Vec<PacketResult>,
    pub(super) fresh: Vec<(u64, u64)>,
    pub(super) missed: Vec<u64>,
    pub(super) counters: SctpCounters,
    begun: Option<Time>,
    stopped: bool,
    /// When the association failed.
    failed: Option<Time>,
    completed: Option<Transfer>,
    completes: bool,
    pacer: Pacer,
    allowance: Allowance,
}

impl<C: Controller> SctpSender<C> {
    /// A sender of an association that is there, and over which nothing was sent. HEARTBEATs draw from `random`.
    pub fn new(
        controller: C,
        config: &SctpConfig,
        streams: Vec<StreamConfig>,
        random: RandomStream,
    ) -> SctpSender<C> {
        let outbound = Outbound::new(streams, config.order, config.max_payload());
        let completes = outbound.file().is_some();
        SctpSender {
            controller,
            config: *config,
            outstanding: Outstanding::default(),
            outbound,
            path: Path::new(config, random),
            peer_window: config.receive_window.as_u64(),
            recovery_until: None,
            forced: false,
            burst: 0,
            forward_due: false,
            forwarded: None,
            heartbeat_due: false,
            results: Vec::new(),
            fresh: Vec::new(),
            missed: Vec::new(),
            counters: SctpCounters::default(),
            begun: None,
            stopped: false,
            failed: None,
            completed: None,
            completes,
            pacer: Pacer::new(TimeDelta::ZERO),
            allowance: Allowance::Unlimited,
        }
    }

    /// Counts of packets and events so far.
    pub fn counters(&self) -> SctpCounters {
        self.counters
    }

    /// Bytes in flight, sizes on the link.
    pub fn in_flight(&self) -> Bytes {
        self.outstanding.in_flight
    }

    /// Whether the association failed: the other end answered nothing for too long (RFC 9260 section 8.1).
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Whether window and receiver let new data go. A window that is not full lets a whole packet go (section 6.1, rule B); a
    /// receiver without room gets one chunk at a time (rule A).
    fn admits_new(&self, payload: u64) -> bool {
        let room = payload <= self.peer_window || self.outstanding.is_empty();
        let paced = self.pacer.rate().is_some();
        let bursts = !paced && self.burst >= self.config.max_burst;
        let outstanding = self.outstanding.next() - self.outstanding.first();
        room && !bursts && outstanding < MOST_OUTSTANDING && self.has_window()
    }

    fn has_window(&self) -> bool {
        match self.allowance {
            Allowance::Bytes(bytes) => bytes > Bytes::ZERO,
            other => other.admits(self.config.packet_size),
        }
    }

    fn wants_to_send(&self) -> bool {
        if self.begun.is_none() || self.has_failed() {
            return false;
        }
        let lost = self.outstanding.lost() > 0;
        self.heartbeat_due
            || self.forward_due
            || lost && (self.forced || self.has_window())
            || !lost && self.outbound.next_payload().is_some_and(|payload| self.admits_new(payload))
    }

    /// The next chunk: one that is lost first.
    fn next_chunk(&mut self, now: Time) -> Option<Forward> {
        if let Some(lifetime) = self.config.lifetime {
            self.give_up(now, lifetime);
            if self.forward_due {
                return None;
            }
        }
        let (number, sent) = match self.outstanding.next_lost() {
            Some(number) => (number, self.resend(now, number)?),
            None => self.send_new(now)?,
        };
        self.path.put_off_beat(now);
        self.pacer.on_sent(now, sent.size());
        let app_limited = self.outbound.next_payload().is_none();
        let packet =
            SentPacket { stream: STREAM, sequence: number, size: sent.size(), probe: None, app_limited };
        let update = self.controller.on_sent(now, &packet);
        self.apply(now, update);
        Some(Forward::Data(sent.chunk))
    }

    fn send_new(&mut self, now: Time) -> Option<(u64, Sent)> {
        let payload = self.outbound.next_payload()?;
        if !self.admits_new(payload) {
            return None;
        }
        let mut chunk = self.outbound.take()?;
        let number = self.outstanding.next();
        chunk.tsn = self.config.initial_tsn.wrapping_add(number as u32);
        self.burst += 1;
        self.peer_window = self.peer_window.saturating_sub(payload);
        let sent = self.outstanding.push(now, chunk);
        self.path.on_sent(now, number);
        self.refill(now);
        Some((number, sent))
    }

    fn resend(&mut self, now: Time, number: u64) -> Option<Sent> {
        if !self.forced && !self.has_window() {
            return None;
        }
        self.forced = false;
        let sent = self.outstanding.push_again(now, number)?;
        self.counters.retransmissions += 1;
        self.path.on_again(number);
        // Section 7.2.4, step 4: the timer watches over the first chunk as it left last.
        if number == self.outstanding.first() || self.path.timer.is_none() {
            self.path.restart(now);
        }
        Some(sent)
    }

    /// RFC 3758 section 3.5: what is too old is given up, and the receiver told not to wait for it.
    fn give_up(&mut self, now: Time, lifetime: TimeDelta) {
        let before = self.counters.abandoned;
        let is_old = |sent: &Sent| now.saturating_since(sent.chunk.captured) > lifetime;
        while let Some(number) = self.outstanding.next_lost()
            && let Some(sent) = self.outstanding.get(number)
            && is_old(sent)
        {
            self.abandon(now, number);
        }
        if self.outbound.expire(now, lifetime) {
            self.abandon(now, self.outstanding.next().saturating_sub(1));
        }
        if self.counters.abandoned > before {
            self.move_peer_on(now);
        }
    }

    /// Gives up the message of which this is a chunk. A message that was not sent whole gets an end, which the receiver never sees: it has to be told
    /// even if all that was sent arrives (RFC 3758 section 3.5).
    fn abandon(&mut self, now: Time, number: u64) {
        let message = self.outstanding.message(number);
        if message.end == self.outstanding.next()
            && let Some(chunk) = self.outbound.abandon_begun()
        {
            let tsn = self.config.initial_tsn.wrapping_add(message.end as u32);
            self.outstanding.push_abandoned(now, DataChunk { tsn, ..chunk });
        }
        self.counters.abandoned += 1;
        self.outbound.discarded += 1;
        for number in message {
            let Some(sent) = self.outstanding.get(number).copied() else { continue };
            if matches!(sent.state, State::InFlight | State::Lost) {
                self.outstanding.set(number, State::Abandoned);
                if sent.state == State::InFlight {
                    self.tell(now, Recovery::Lost { lost: sent.size() });
                }
            }
        }
    }

    /// RFC 3758 section 3.5, rules C1 to C5: a FORWARD-TSN is due while the receiver waits for what was given up. It goes as far as the last
    /// one only if that may have been lost: a round trip later. SACKs that were on their way know nothing of it yet.
    pub(super) fn move_peer_on(&mut self, now: Time) {
        let first = self.outstanding.first();
        let waits = self.outstanding.get(first).is_some_and(|sent| sent.state == State::Abandoned);
        let patience = self.controller.srtt_and_target().0.unwrap_or(FORWARD_AGAIN);
        let told = |(until, at): (u64, Time)| {
            now.saturating_since(at) < patience && self.outstanding.settled() <= until
        };
        self.forward_due = waits && !self.forwarded.is_some_and(told);
        if waits && self.path.timer.is_none() {
            self.path.restart(now);
        }
    }

    fn forward_tsn(&mut self, now: Time) -> ForwardTsn {
        let (first, until) = (self.outstanding.first(), self.outstanding.settled());
        let mut skipped: Vec<(u8, u16)> = Vec::new();
        for chunk in (first..until).filter_map(|number| self.outstanding.get(number)).map(|sent| sent.chunk) {
            if chunk.unordered {
                continue;
            }
            match skipped.iter_mut().find(|(stream, _)| *stream == chunk.stream) {
                Some(known) => known.1 = chunk.ssn,
                None => skipped.push((chunk.stream, chunk.ssn)),
            }
        }
        self.path.restart(now);
        self.forwarded = Some((until, now));
        let last = (until as u32).wrapping_sub(1);
        ForwardTsn { cumulative: self.config.initial_tsn.wrapping_add(last), skipped }
    }

    /// T3-rtx: section 6.3.3.
    fn expire(&mut self, now: Time) {
        self.path.on_expired();
        self.counters.timeouts += 1;
        if self.path.errors > self.config.association_max_retrans {
            return self.fail(now);
        }
        self.outstanding.lose_all();
        self.recovery_until = None;
        self.forced = false;
        self.tell(now, Recovery::TimedOut);
        self.move_peer_on(now);
        self.path.restart(now);
    }

    fn fail(&mut self, now: Time) {
        self.failed = Some(now);
        self.path.end();
        self.end_sources();
    }

    fn end_sources(&mut self) {
        for stream in 0..self.outbound.streams.len() {
            self.outbound.streams[stream].source.stop();
            self.outbound.clear(stream);
        }
    }

    /// All that was sent is acknowledged.
    pub(super) fn complete(&mut self, now: Time) {
        if self.outbound.queued() > 0 || !self.outstanding.is_empty() {
            return;
        }
        if self.stopped {
            self.path.end();
        }
        if let (true, false, Some((size, true)), Some(begun)) =
            (self.completes, self.stopped, self.outbound.file(), self.begun)
        {
            self.completes = false;
            self.completed = Some(Transfer { begun, completed: now, size });
        }
    }

    /// Frames that are due enter the queues, and files are kept at hand.
    fn capture(&mut self, now: Time) {
        self.aim_by_window(now);
        for stream in 0..self.outbound.streams.len() {
            while self.source_due(stream).is_some_and(|due| due <= now) {
                let frame = self.outbound.streams[stream].source.capture(now);
                self.offer(now, stream, &frame);
            }
        }
    }

    fn source_due(&self, stream: usize) -> Option<Time> {
        self.outbound.streams[stream].source.next_capture()
    }

    fn refill(&mut self, now: Time) {
        for stream in 0..self.outbound.streams.len() {
            loop {
                let out = &mut self.outbound.streams[stream];
                if !matches!(out.source, Source::Bulk(_)) {
                    break;
                }
                let Some(frame) = out.source.refill(now, Bytes::new(out.queued)) else { break };
                self.offer(now, stream, &frame);
            }
        }
    }

    fn offer(&mut self, now: Time, stream: usize, frame: &paceline_media::Frame) {
        let waiting = self.send_queue_bytes(StreamId(stream as u8));
        let bytes = self.outbound.push(stream, frame);
        let queued = self.outbound.queued();
        let out = &mut self.outbound.streams[stream];
        let _ = out.offered.on_offered(now, bytes, waiting);
        let queue = SendQueueState {
            stream: STREAM,
            bytes: self.outbound.on_link(queued),
            packets: queued.div_ceil(self.config.max_payload()),
            oldest: self.outbound.oldest(stream).map(|since| now.saturating_since(since)),
            newest_frame: bytes,
            greedy: self.outbound.streams.iter().any(|stream| matches!(stream.source, Source::Bulk(_))),
        };
        let offered = Offered { stream: STREAM, bytes, frame_end: true };
        let update = self.controller.on_offered(now, &offered, &queue);
        self.apply(now, update);
    }

    /// Encoders are told what the association carries where the controller names no target, each its part by priority.
    fn aim_by_window(&mut self, now: Time) {
        let follows = |out: &OutStream| out.there && out.source.follows_target();
        if self.controller.target_bitrate(STREAM).is_some() || !self.outbound.streams.iter().any(follows) {
            return;
        }
        let share = self.config.max_payload() as f64 / self.config.packet_size.as_f64().max(1.0);
        let backlog = Bytes::new(self.outbound.queued());
        if let Some(total) = window_target(&self.controller.snapshot(), self.pacer.rate(), share, backlog) {
            self.aim(now, total);
        }
    }

    fn aim(&mut self, now: Time, total: Bitrate) {
        let there = self.outbound.streams.iter().filter(|out| out.there && out.source.follows_target());
        let sum: f64 = there.map(|out| out.priority).sum();
        for out in self.outbound.streams.iter_mut().filter(|out| out.there && out.source.follows_target()) {
            let target = out.limits.clamp(Bitrate::from_bps_f64(total.as_bps_f64() * out.priority / sum));
            out.target = Some(target);
            out.source.set_target(now, target);
        }
    }

    pub(super) fn tell(&mut self, now: Time, recovery: Recovery) {
        let update = self.controller.on_recovery(now, recovery);
        self.apply(now, update);
    }

    pub(super) fn apply(&mut self, now: Time, update: Update) {
        // The others are refused before: `EXECUTES` leaves them out.
        let Update { allowance, pacing, target, next_stream: _, discard: _, probe: _, receiver: _ } = update;
        if let Some(allowance) = allowance {
            self.allowance = allowance;
        }
        if let Some(pacing) = pacing {
            self.pacer.set(pacing);
        }
        let rate = match target {
            TargetChange::None => None,
            TargetChange::Total(rate) => Some(rate),
            TargetChange::Streams(_) => self.controller.target_bitrate(STREAM),
        };
        if let Some(rate) = rate {
            self.aim(now, rate);
        }
    }

    fn out(&self, stream: StreamId) -> Option<&OutStream> {
        self.outbound.streams.get(usize::from(stream.0))
    }
}

impl<C: Controller> SendingEnd for SctpSender<C> {
    type Controller = C;
    type Data = Forward;
    type Returning = Backward;
    /// Messages are given up by age alone, and SACKs are set by [`SctpConfig`].
    const EXECUTES: &'static [Verb] = &[];

    fn start(&mut self, now: Time) {
        if self.begun.is_some() {
            return;
        }
        self.begun = Some(now);
        self.path.put_off_beat(now);
        if let Some(target) = self.controller.target_bitrate(STREAM) {
            self.aim(now, target);
        }
        for out in self.outbound.streams.iter_mut().filter(|out| out.there) {
            out.source.start(now);
        }
        self.refill(now);
    }

    /// Packets in flight are repaired to the end.
    fn stop(&mut self, now: Time) {
        self.stopped = true;
        self.end_sources();
        self.complete(now);
    }

    fn pause(&mut self, _now: Time) {
        self.outbound.streams.iter_mut().for_each(|stream| stream.source.pause());
    }

    fn resume(&mut self, now: Time) {
        self.burst = 0;
        for out in self.outbound.streams.iter_mut().filter(|out| out.there) {
            out.source.resume(now);
        }
        self.refill(now);
    }

    /// A stream that leaves is captured no more, and what waits of it is dropped.
    fn set_presence(&mut self, now: Time, stream: StreamId, there: bool) {
        let Some(out) = self.outbound.streams.get_mut(usize::from(stream.0)) else { return };
        out.there = there;
        match there {
            false => {
                out.source.stop();
                self.outbound.clear(usize::from(stream.0));
            }
            true if self.begun.is_some() && !self.stopped => {
                out.source.start(now);
                self.refill(now);
            }
            true => {}
        }
    }

    fn set_limits(&mut self, now: Time, limits: &Limits) {
        if let Some(out) = self.outbound.streams.get_mut(usize::from(limits.stream.0)) {
            out.limits = *limits;
        }
        let update = self.controller.on_limits(now, limits);
        self.apply(now, update);
        self.aim_by_window(now);
    }

    fn exchange_rates(&mut self) {
        self.controller.on_rates_exchanged();
    }

    fn assign(&mut self, now: Time, assigned: Assigned) {
        self.burst = 0;
        let update = self.controller.assign(now, assigned);
        self.apply(now, update);
    }

    fn failure(&self) -> Option<(Time, &'static str)> {
        Some((self.failed?, "the other end has answered nothing for too long (RFC 9260 section 8.1)"))
    }

    fn desired(&self) -> Option<Bitrate> {
        let wanted = |out: &OutStream| out.offered.desired(&out.source, out.target.is_some(), &out.limits);
        let sum = self
            .outbound
            .streams
            .iter()
            .map(|out| wanted(out).map(Bitrate::as_bps_f64))
            .sum::<Option<f64>>()?;
        Some(Bitrate::from_bps_f64(sum))
    }

    fn next_timeout(&self) -> Option<(Time, Reason)> {
        if self.has_failed() {
            return None;
        }
        let controller = self.controller.next_timeout().map(|(due, why)| (due, Reason::Controller(why)));
        let captures = self.outbound.streams.iter().filter_map(|out| out.source.next_capture());
        let capture = captures.min().map(|due| (due, Reason::Capture));
        let timer = self.path.timer.map(|due| (due, Reason::Retransmission));
        let beat = self.path.next_beat().map(|due| (due, Reason::Idle));
        let pacing = self.wants_to_send().then(|| (self.pacer.next(), Reason::Pacing));
        [controller, timer, capture, beat, pacing].into_iter().flatten().min_by_key(|(due, _)| *due)
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.has_failed() {
            return;
        }
        self.burst = 0;
        self.capture(now);
        if self.controller.next_timeout().is_some_and(|(due, _)| due <= now) {
            let update = self.controller.on_timeout(now);
            self.apply(now, update);
        }
        if self.path.timer.is_some_and(|due| due <= now) {
            self.expire(now);
        }
        if self.path.next_beat().is_some_and(|due| due <= now) {
            self.heartbeat_due |= self.path.beats(now);
            if self.path.errors > self.config.association_max_retrans {
                self.fail(now);
            }
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Forward>> {
        if self.begun.is_none() || self.has_failed() || now < self.pacer.next() {
            return None;
        }
        let packet = if std::mem::take(&mut self.heartbeat_due) {
            self.counters.heartbeats += 1;
            Forward::Heartbeat(now)
        } else if std::mem::take(&mut self.forward_due) {
            Forward::ForwardTsn(self.forward_tsn(now))
        } else {
            match self.next_chunk(now) {
                Some(packet) => packet,
                None if std::mem::take(&mut self.forward_due) => Forward::ForwardTsn(self.forward_tsn(now)),
                None => return None,
            }
        };
        let (stream, queued) = match &packet {
            Forward::Data(chunk) => (StreamId(chunk.source), chunk.captured),
            Forward::Heartbeat(_) | Forward::ForwardTsn(_) => (STREAM, now),
        };
        let size = packet.size();
        Some(Transmit { packet, size, ecn: Ecn::NotEct, stream, queued })
    }

    fn receive(&mut self, now: Time, packet: Backward, _ecn: Ecn) -> Option<Backward> {
        if self.has_failed() || self.begun.is_none() {
            return Some(packet);
        }
        self.burst = 0;
        match &packet {
            Backward::Sack(sack) => self.take_sack(now, sack),
            Backward::HeartbeatAck(sent) => self.path.on_beat_answered(now, *sent),
        }
        Some(packet)
    }

    fn poll_completed(&mut self) -> Option<Transfer> {
        self.completed.take()
    }

    fn controller(&self) -> &C {
        &self.controller
    }

    fn srtt_and_target(&self) -> (Option<TimeDelta>, Option<Bitrate>) {
        let (srtt, target) = self.controller.srtt_and_target();
        let mut told = self.outbound.streams.iter().filter_map(|out| out.target).peekable();
        let follows = told.peek().is_some();
        let told = follows.then(|| Bitrate::from_bps_f64(told.map(Bitrate::as_bps_f64).sum()));
        (srtt, target.or(told))
    }

    fn frames(&self) -> FrameCounters {
        FrameCounters { captured: self.outbound.captured, discarded: self.outbound.discarded }
    }

    fn target(&self, stream: StreamId) -> Option<Bitrate> {
        self.out(stream)?.target
    }

    fn send_queue_bytes(&self, stream: StreamId) -> Bytes {
        self.outbound.on_link(self.out(stream).map_or(0, |out| out.queued))
    }

    fn send_queue_age(&self, now: Time, stream: StreamId) -> TimeDelta {
        let oldest = self.outbound.oldest(usize::from(stream.0));
        oldest.map_or(TimeDelta::ZERO, |since| now.saturating_since(since))
    }

    fn newest_frame(&self, stream: StreamId) -> Option<Bytes> {
        self.out(stream).map(|out| self.outbound.on_link(out.newest))
    }

    fn transfers(&self) -> Option<TransferCounters> {
        self.outbound.file().map(|_| TransferCounters { begun: u64::from(self.begun.is_some()) })
    }
}
