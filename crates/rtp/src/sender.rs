//! The sender endpoint: sources, send queues, pacer, controller and the history that completes reports.

use super::breaker::CircuitBreaker;
use super::clock::ReceiverClock;
use super::delays::SentDelays;
use super::ecn::EcnCheck;
use super::history::SentHistory;
use super::identity::DISCARD_AGE;
use super::packet::{Header, RTP_HEADER, RtpFeedback, RtpPacket};
use super::plausible::PlausibleTimes;
use super::probing::{Probing, no_media};
use super::shares::Claim;
use super::streams::{FirstNumber, Presence};
use super::transport_wide::TransportHistory;
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_cc::{
    Allowance, Assigned, Controller, Limits, PacketResult, ReceiverRequest, SentPacket, SentRun, StreamId,
    Verb,
};
use paceline_ends::WantedRate;
use paceline_ends::{EcnCounters, EcnState, FrameCounters, Next, Pacer, Reason, Run, SendingEnd, Transmit};
use paceline_media::{Discarded, QueuedPacket, SendQueue, Source};
use paceline_units::{Bitrate, Bytes, Ecn, RandomStream, Time, TimeDelta};

/// Configuration of a stream at the sender endpoint.
#[derive(Clone, Debug)]
pub struct StreamConfig {
    /// Where its media comes from.
    pub source: Source,
    /// Weight of the stream's share where a controller names only a total; above 0.
    pub priority: f64,
    /// The encoder's target before the controller names one.
    pub target_start: Bitrate,
    /// Lowest and highest target; [`Limits::none`] where the controller's parameters hold. The sender numbers the stream.
    pub limits: Limits,
}

impl StreamConfig {
    /// A stream of priority 1 without limits of its own.
    pub fn new(source: Source, target_start: Bitrate) -> StreamConfig {
        StreamConfig { source, priority: 1.0, target_start, limits: Limits::none(StreamId(0)) }
    }

    /// Whether it has limits of its own.
    pub(super) fn is_limited(&self) -> bool {
        self.limits.min > Bitrate::ZERO || self.limits.max < Bitrate::MAX
    }
}

/// Configuration of the flow at the sender endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderConfig {
    /// Largest payload of a packet.
    pub max_payload: Bytes,
    /// Header of each packet: [`RTP_HEADER`], or none on plain datagrams; at most 255 B.
    pub header: Bytes,
    /// The ECN codepoint that packets leave with.
    pub ecn: Ecn,
    /// The step of the receiver's clock.
    pub clock_step: TimeDelta,
    /// How late a driver may wake without the pacing rate going down.
    pub forgiven_lateness: TimeDelta,
    /// The longest that media waits in a send queue: what is older is discarded. A file, of which there is always more, has all time.
    pub discard_age: TimeDelta,
}

impl SenderConfig {
    /// A flow whose packets have the RTP header and at most so much payload, cannot be marked, are reported on by RFC 8888's
    /// clock, are paced without regard to late wakes, and wait for two seconds at most.
    pub fn new(max_payload: Bytes) -> SenderConfig {
        SenderConfig {
            max_payload,
            header: RTP_HEADER,
            ecn: Ecn::NotEct,
            clock_step: ReceiverClock::RFC8888.step(),
            forgiven_lateness: TimeDelta::ZERO,
            discard_age: DISCARD_AGE,
        }
    }
}

/// Counts of a sender's packets and frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderCounters {
    /// Reported packets that were never sent, or too long ago, messages of a receiver half about such, and summaries of
    /// delays that cannot be this flow's: they changed nothing.
    pub unknown_reports: u64,
    /// Reports whose times cannot be, put right by when they came, and single arrival times that cannot be, which then are
    /// unknown. A packet arrives after it was sent, and a report comes after it was written.
    pub impossible_times: u64,
    /// Packets discarded from the send queues.
    pub discarded: Discarded,
    /// Frames that entered the send queues.
    pub frames: u64,
}

impl SenderCounters {
    pub(super) fn count(&mut self, dropped: &Discarded) {
        self.discarded.frames += dropped.frames;
        self.discarded.packets += dropped.packets;
        self.discarded.bytes += dropped.bytes;
    }
}

/// Sends the streams of one flow under a controller.
#[derive(Clone, Debug)]
pub struct RtpSender<C> {
    pub(super) controller: C,
    pub(super) streams: Vec<Stream>,
    pub(super) pacer: Pacer,
    pub(super) probing: Probing,
    pub(super) allowance: Allowance,
    pub(super) chosen: Option<StreamId>,
    /// The total that the controller named last, if it is for its streams to share.
    pub(super) total: Option<Bitrate>,
    /// Room for what each stream wants of it.
    pub(super) claims: Vec<Claim>,
    /// The service by weight of the stream that was served last.
    pub(super) served: f64,
    pub(super) results: Vec<PacketResult>,
    pub(super) plausible: PlausibleTimes,
    pub(super) clock_step: TimeDelta,
    pub(super) max_payload: Bytes,
    pub(super) header: Header,
    pub(super) ecn: Ecn,
    /// When the first and the last packet left; before any did, the end of time and its beginning.
    pub(super) sent_between: (Time, Time),
    /// The controller's request to the receiver.
    pub(super) receiver_request: Option<ReceiverRequest>,
    pub(super) counters: SenderCounters,
    pub(super) discard_age: TimeDelta,
    /// When something may have waited too long; `Time::MAX` if nothing waits.
    pub(super) stale_at: Time,
    /// When a key frame was asked for in place of what had.
    pub(super) key_frame_asked: Option<Time>,
    /// When the next frame of any stream is captured; `Time::MAX` if none is.
    pub(super) next_capture: Time,
    /// The number of a new stream's first packet.
    pub(super) first_number: FirstNumber,
    /// Whether the flow has started, and neither pauses nor has stopped.
    pub(super) runs: bool,
    /// Streams that join later.
    pub(super) expected: Vec<(StreamId, StreamConfig)>,
    /// When a stream that left is gone, the first of them; absent if none leaves.
    pub(super) leaving: Option<Time>,
    /// Whether a stream repairs another: its packets leave first.
    pub(super) repairing: bool,
    /// Which packet had which transport-wide number, where reports tell of those.
    pub(super) transport: Option<Box<TransportHistory>>,
    /// The record of its packets' delays, where its host asks for it.
    pub(super) delays: Option<Box<SentDelays>>,
    /// The breaker that ends the flow where nothing else does; absent where nobody asks for it.
    pub(super) breaker: Option<Box<CircuitBreaker>>,
    /// The check of ECN on the path, where that is checked.
    pub(super) ecn_check: Option<Box<EcnCheck>>,
}

#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) source: Source,
    pub(super) queue: SendQueue,
    pub(super) history: SentHistory,
    pub(super) presence: Presence,
    pub(super) priority: f64,
    pub(super) target: Bitrate,
    pub(super) limits: Limits,
    pub(super) wanted: WantedRate,
    /// Bytes that left over its priority, as far as it had some waiting (start-time fair queueing).
    pub(super) served: f64,
    pub(super) newest_frame: Bytes,
    pub(super) key_frame_wanted: bool,
    /// Whether it carries what another stream sends again.
    pub(super) repairs: bool,
}

impl<C: Controller> RtpSender<C> {
    /// A sender that has not started.
    pub fn new(mut controller: C, config: &SenderConfig, streams: Vec<StreamConfig>) -> RtpSender<C> {
        let header = Header::of_size(config.header);
        let queue = || SendQueue::new(config.max_payload, header.size());
        let streams = (0..).map(StreamId).zip(streams).map(|(id, stream)| {
            if stream.is_limited() {
                // Nothing runs yet: the targets are asked for at the start.
                let _ = controller.on_limits(Time::ZERO, &Limits { stream: id, ..stream.limits });
            }
            Stream::new(id, stream, queue(), SentHistory::starting_at(0))
        });
        let streams: Vec<Stream> = streams.collect();
        let mut pacer = Pacer::new(config.forgiven_lateness);
        pacer.set_greedy(streams.iter().any(|stream| matches!(stream.source, Source::Bulk(_))));
        RtpSender {
            controller,
            streams,
            pacer,
            probing: Probing::new(config.forgiven_lateness),
            allowance: Allowance::Unlimited,
            chosen: None,
            total: None,
            claims: Vec::new(),
            served: 0.0,
            results: Vec::new(),
            plausible: PlausibleTimes::new(config.clock_step),
            clock_step: config.clock_step,
            header,
            ecn: config.ecn,
            sent_between: (Time::MAX, Time::ZERO),
            receiver_request: None,
            counters: SenderCounters::default(),
            discard_age: config.discard_age.max(TimeDelta::from_nanos(1)),
            stale_at: Time::MAX,
            key_frame_asked: None,
            next_capture: Time::MAX,
            first_number: FirstNumber::Same(0),
            runs: false,
            expected: Vec::new(),
            leaving: None,
            repairing: false,
            max_payload: config.max_payload,
            transport: None,
            delays: None,
            breaker: None,
            ecn_check: None,
        }
    }

    /// Numbers the packets of each stream from `first` on, and not from 0 (RFC 3550 section 5.1: from a random number). Before
    /// anything is sent.
    pub fn number_from(&mut self, first: u16) {
        self.first_number = FirstNumber::Same(first);
        (0..self.streams.len()).for_each(|id| self.number_stream_from(StreamId(id as u8), first));
    }

    /// Draws where the numbers of each stream begin that joins from now on, those of retransmissions too: whoever knows one
    /// knows no other.
    pub fn draw_numbers(&mut self, draws: RandomStream) {
        self.first_number = FirstNumber::Drawn(draws);
    }

    /// Numbers the packets of one stream from `first` on.
    pub fn number_stream_from(&mut self, stream: StreamId, first: u16) {
        if let Some(stream) = self.streams.get_mut(usize::from(stream.0)) {
            stream.history = SentHistory::starting_at(first.into());
        }
    }

    /// Counts of packets and frames so far.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// The controller's request to the receiver, where it has made one. Nothing carries it while packets flow: who sets a
    /// session up agrees on it (as SDP would), as scenarios do by their `feedback`.
    pub fn receiver_request(&self) -> Option<ReceiverRequest> {
        self.receiver_request
    }

    /// Results of packets that the last report told the controller; empty if it was not believed, or of no packet that was sent.
    pub fn reported(&self) -> &[PacketResult] {
        &self.results
    }

    /// The receiver's clock at `now`, as far as its reports have told: for reading report timestamps, which wrap.
    pub fn receiver_time(&self, now: Time) -> Option<Time> {
        self.plausible.receiver_time(now)
    }

    /// The stream whose packet goes next, if the controller allows its size. Inlined: it is asked twice a packet, and what
    /// it looks up is what the packet is made from.
    #[inline(always)]
    fn next_to_send(&self) -> Option<usize> {
        let id = match self.streams.len() {
            1 => 0,
            _ => self.choose()?,
        };
        let size = self.streams[id].queue.next_size()?;
        self.allowance.admits(size).then_some(id)
    }

    /// When a packet leaves by its pace, if that is before `until`.
    #[inline(always)]
    fn paced_before(&self, until: Time) -> Option<Time> {
        if self.probing.is_active() {
            return Some(self.probing.next()).filter(|probe| *probe < until);
        }
        (self.pacer.next() < until && self.next_to_send().is_some()).then_some(self.pacer.next())
    }

    /// The next timeout, packets that leave by their pace apart; `Time::MAX` if nothing is.
    #[inline(always)]
    fn next_unpaced(&self) -> (Time, Reason) {
        let mut next = match self.controller.next_timeout() {
            Some((due, why)) => (due, Reason::Controller(why)),
            None => (Time::MAX, Reason::Capture),
        };
        if self.next_capture < next.0 {
            next = (self.next_capture, Reason::Capture);
        }
        if let Some(breaker) = &self.breaker
            && breaker.due() < next.0
        {
            next = (breaker.due(), Reason::Idle);
        }
        if self.stale_at < next.0 {
            next = (self.stale_at, Reason::Expiry);
        }
        next
    }

    /// Retransmissions, then the controller's choice if it has something to send, else of the streams that have the one that was
    /// served least by its priority.
    pub(super) fn choose(&self) -> Option<usize> {
        let waits = |id: &usize| self.streams.get(*id).is_some_and(|stream| !stream.queue.is_empty());
        if self.repairing {
            let repair = |id: &usize| self.streams[*id].repairs && waits(id);
            if let Some(id) = (0..self.streams.len()).find(repair) {
                return Some(id);
            }
        }
        let chosen = self.chosen.map(|stream| usize::from(stream.0)).filter(waits);
        chosen.or_else(|| {
            (0..self.streams.len()).filter(waits).reduce(|best, id| {
                let [one, other] = [best, id].map(|id| (self.streams[id].served, self.streams[id].priority));
                if other.0 < one.0 || other.0 == one.0 && other.1 > one.1 { id } else { best }
            })
        })
    }

    /// Whether packets may leave in runs: there is one stream, and nothing wants to hear of each of them.
    #[inline]
    fn sends_runs(&self) -> bool {
        let is_watched = self.breaker.is_some() || self.ecn_check.is_some() || self.transport.is_some();
        matches!(&self.streams[..], [stream] if !matches!(stream.source, Source::Bulk(_)))
            && !is_watched
            && !self.probing.is_active()
            && self.pacer.burst().is_none()
    }

    /// The packets that leave by their pace before `until`, of a sender that [`RtpSender::sends_runs`].
    fn run(&mut self, until: Time) -> Option<Run<RtpPacket>> {
        let first = self.pacer.next();
        let (queue, id) = (&self.streams[0].queue, StreamId(0));
        let (inner, size) = (queue.inner(), queue.next_size()?);
        let gap = self.pacer.gap(size);
        if inner == 0 || gap <= TimeDelta::ZERO {
            return None;
        }
        let due = self.controller.next_timeout().map_or(Time::MAX, |(due, _)| due);
        let end = until.min(self.next_capture).min(due).min(self.stale_at);
        let in_time = end.saturating_since(first).as_nanos() as u64;
        let count = inner.min(self.allowance.packets(size)).min(in_time.div_ceil(gap.as_nanos() as u64));
        if count == 0 {
            return None;
        }
        let sequence = self.streams[0].history.next_sequence();
        let packet = SentPacket { stream: id, sequence, size, probe: None, app_limited: false };
        let run = SentRun { packet, first, gap, count };
        let update = self.controller.on_run(&run)?;
        let queued = self.note_run(&run)?;
        self.apply(run.last(), update);
        let packet = RtpPacket {
            stream: id,
            sequence,
            captured: queued.captured,
            payload: queued.payload,
            padding: 0,
            header: self.header,
            transport: 0,
            first: Some(false),
            marker: false,
            key: Some(queued.key),
            annotation: None,
        };
        let packet = Transmit { packet, size, ecn: self.ecn, stream: id, queued: queued.queued };
        Some(Run { packet, first, gap, queued_gap: TimeDelta::ZERO, count })
    }

    /// Takes the packets of a run, of which the controller was told, out of the queue: answers the first.
    #[inline]
    fn note_run(&mut self, run: &SentRun) -> Option<QueuedPacket> {
        let stream = &mut self.streams[0];
        let mut now = run.first;
        for _ in 0..run.count {
            stream.history.push(now, run.packet.size);
            now += run.gap;
        }
        self.pacer.on_run(run.last(), run.packet.size);
        self.sent_between.1 = run.last();
        stream.queue.pop_inner(run.first, run.count)
    }

    /// Whether a discard asked for a key frame since the last call: for programs that have their own encoder.
    pub fn take_key_frame_request(&mut self, stream: StreamId) -> bool {
        self.streams
            .get_mut(usize::from(stream.0))
            .is_some_and(|stream| std::mem::take(&mut stream.key_frame_wanted))
    }

    /// How many streams the flow has.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }
}

impl<C: Controller> SendingEnd for RtpSender<C> {
    type Controller = C;
    type Data = RtpPacket;
    type Returning = RtpFeedback;
    /// The request to the receiver is agreed on when a session is set up ([`RtpSender::receiver_request`]).
    const EXECUTES: &'static [Verb] = &[
        Verb::Discard,
        Verb::Probe,
        Verb::PacketsPerReport,
        Verb::ReportInterval,
        Verb::RttAnnotation,
        Verb::CounterAnnotation,
    ];

    fn start(&mut self, now: Time) {
        self.runs = true;
        for id in 0..self.streams.len() {
            self.aim(now, id);
            self.streams[id].wanted.begin(now);
            self.streams[id].source.start(now);
            self.refill(now, id);
        }
        self.find_next_capture();
    }

    fn stop(&mut self, now: Time) {
        self.runs = false;
        self.probing.stop();
        for id in 0..self.streams.len() {
            self.streams[id].source.stop();
            let dropped = self.streams[id].queue.discard_all();
            self.counters.count(&dropped);
            self.tell_queue(now, id);
        }
        self.find_next_capture();
    }

    fn pause(&mut self, _now: Time) {
        self.runs = false;
        self.streams.iter_mut().for_each(|stream| stream.source.pause());
        self.find_next_capture();
    }

    fn resume(&mut self, now: Time) {
        if self.broken().is_some() {
            return;
        }
        self.runs = true;
        for id in 0..self.streams.len() {
            self.streams[id].wanted.begin(now);
            self.streams[id].source.resume(now);
            self.refill(now, id);
        }
        self.find_next_capture();
    }

    fn set_presence(&mut self, now: Time, stream: StreamId, there: bool) {
        if there {
            self.join_expected(now, stream);
        } else {
            let _ = self.remove_stream(now, stream);
        }
    }

    fn set_limits(&mut self, now: Time, limits: &Limits) {
        let Some(stream) = self.streams.get_mut(usize::from(limits.stream.0)) else { return };
        stream.limits = *limits;
        let update = self.controller.on_limits(now, limits);
        self.apply(now, update);
        self.aim(now, usize::from(limits.stream.0));
        self.share_total(now);
    }

    fn assign(&mut self, now: Time, assigned: Assigned) {
        let update = self.controller.assign(now, assigned);
        self.apply(now, update);
    }

    fn desired(&self) -> Option<Bitrate> {
        let desired = |stream: &Stream| stream.wanted.desired(&stream.source, &stream.limits);
        let sum = self
            .streams
            .iter()
            .filter(|stream| stream.presence == Presence::Present)
            .map(|stream| desired(stream).map(Bitrate::as_bps_f64))
            .sum::<Option<f64>>()?;
        Some(Bitrate::from_bps_f64(sum))
    }

    #[inline(always)]
    fn next_timeout(&self) -> Option<(Time, Reason)> {
        let mut next = self.next_unpaced();
        if let Some(paced) = self.paced_before(next.0) {
            next = (paced, Reason::Pacing);
        }
        (next.0 != Time::MAX).then_some(next)
    }

    #[inline(always)]
    fn next(&self, until: Time) -> Next {
        let (due, _) = self.next_unpaced();
        self.paced_before(until.min(due)).map_or(Next::Due(due), Next::Paced)
    }

    /// Captures the frames and runs the controller's timeouts that are due.
    #[inline]
    fn handle_timeout(&mut self, now: Time) {
        if self.stale_at <= now {
            self.discard_stale(now);
        }
        if self.next_capture <= now {
            self.capture(now);
        }
        if self.breaker.as_ref().is_some_and(|breaker| breaker.due() <= now) {
            self.time_breaker_out(now);
        }
        if self.controller.next_timeout().is_some_and(|(due, _)| due <= now) {
            (0..self.streams.len()).for_each(|id| self.tell_queue(now, id));
            let update = self.controller.on_timeout(now);
            self.apply(now, update);
        }
    }

    #[inline(always)]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<RtpPacket>> {
        if !self.probing.is_active() && now < self.pacer.next() {
            return None;
        }
        // One place alone hands packets over, so that the controller is compiled into it.
        let (id, padding, probe) =
            if self.probing.is_active() { self.next_of_probe(now)? } else { (self.next_to_send()?, 0, None) };
        let (stream_id, several) = (StreamId(id as u8), self.streams.len() > 1);
        let stream = &mut self.streams[id];
        let queued = if padding == 0 { stream.queue.pop(now)? } else { no_media(now) };
        let packet = RtpPacket {
            stream: stream_id,
            sequence: stream.history.next_sequence(),
            captured: queued.captured,
            payload: queued.payload,
            padding,
            header: self.header,
            transport: match &mut self.transport {
                Some(history) => history.push(stream_id, stream.history.next_sequence()),
                None => 0,
            },
            first: Some(queued.first),
            marker: queued.marker,
            key: Some(queued.key),
            annotation: self.controller.annotation(now, stream_id),
        };
        let size = packet.size();
        if several {
            self.served = stream.served;
            stream.served += size.as_u64() as f64 / stream.priority;
        }
        stream.history.push(now, size);
        if probe.is_none() {
            // Before the controller answers: a new pace counts from this packet.
            self.pacer.on_sent(now, size);
        }
        self.sent_between = (self.sent_between.0.min(now), now);
        if let Some(breaker) = &mut self.breaker {
            breaker.on_sent(now, size, queued.queued);
        }
        let ecn = match &mut self.ecn_check {
            Some(check) => check.codepoint(now, queued.queued, (stream_id, packet.sequence)),
            None => self.ecn,
        };
        self.refill(now, id);
        let app_limited = match &self.streams[..] {
            [stream] => stream.queue.is_empty(),
            streams => streams.iter().all(|stream| stream.queue.is_empty()),
        };
        let sent = SentPacket { stream: stream_id, sequence: packet.sequence, size, probe, app_limited };
        let update = self.controller.on_sent(now, &sent);
        self.apply(now, update);
        Some(Transmit { packet, size, ecn, stream: stream_id, queued: queued.queued })
    }

    #[inline(always)]
    fn poll_run(&mut self, until: Time) -> Option<Run<RtpPacket>> {
        // Of one packet a run is no gain.
        let second = self.pacer.next() + self.pacer.last_gap();
        if second < until && self.sends_runs() { self.run(until) } else { None }
    }

    /// The results of packets never sent change nothing.
    #[inline]
    fn receive(&mut self, now: Time, feedback: RtpFeedback, _ecn: Ecn) -> Option<RtpFeedback> {
        match &feedback {
            RtpFeedback::Packet(report) => {
                self.handle_packet_report(now, report);
                return None;
            }
            RtpFeedback::Packets(report) => self.handle_report(now, report),
            RtpFeedback::Half(report) => self.handle_receiver_report(now, **report),
            RtpFeedback::Delays(report) => self.handle_delays(now, report),
        }
        Some(feedback)
    }

    fn controller(&self) -> &C {
        &self.controller
    }

    fn delay_summary(&self) -> Option<&DelaySummary> {
        self.delays.as_ref()?.newest()
    }

    fn ecn(&self) -> Option<(EcnState, EcnCounters)> {
        self.ecn_state().map(|state| (state, self.ecn_counters()))
    }

    fn frames(&self) -> FrameCounters {
        FrameCounters { captured: self.counters.frames, discarded: self.counters.discarded.frames }
    }

    fn target(&self, stream: StreamId) -> Option<Bitrate> {
        self.has_stream(stream).then(|| self.streams[usize::from(stream.0)].target)
    }

    fn send_queue_bytes(&self, stream: StreamId) -> Bytes {
        self.streams.get(usize::from(stream.0)).map_or(Bytes::ZERO, |stream| stream.queue.bytes())
    }

    fn send_queue_age(&self, now: Time, stream: StreamId) -> TimeDelta {
        self.streams.get(usize::from(stream.0)).map_or(TimeDelta::ZERO, |stream| stream.queue.age(now))
    }

    fn newest_frame(&self, stream: StreamId) -> Option<Bytes> {
        self.streams.get(usize::from(stream.0)).map(|stream| stream.newest_frame)
    }
}
