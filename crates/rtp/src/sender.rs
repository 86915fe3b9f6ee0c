//! The sender endpoint: sources, send queues, pacer, controller and the history that completes reports.

use super::breaker::CircuitBreaker;
use super::config::{SenderConfig, SenderCounters, StreamConfig};
use super::delays::SentDelays;
use super::ecn::FlowEcn;
use super::offering::Offering;
use super::packet::{RtpFeedback, RtpPacket};
use super::probing::{Probing, no_media};
use super::reported::Reported;
use super::scheduler::Scheduler;
use super::shares::Shares;
use super::sizes::PacketSizes;
use super::stale::StaleMedia;
use super::stream::Stream;
use super::streams::Streams;
use super::transport_wide::TransportHistory;
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_cc::{
    Allowance, Assigned, Controller, Limits, PacketResult, ReceiverRequest, SentPacket, SentRun, StreamId,
    TargetChange, Update, Verb,
};
use paceline_ends::{EcnCounters, EcnState, FrameCounters, Next, Pacer, Reason, Run, SendingEnd, Transmit};
use paceline_media::QueuedPacket;
use paceline_units::{Bitrate, Bytes, Ecn, RandomStream, Time, TimeDelta};

/// Sends the streams of one flow under a controller.
#[derive(Clone, Debug)]
pub struct RtpSender<C> {
    pub(super) controller: C,
    pub(super) streams: Streams,
    pub(super) offering: Offering,
    pub(super) stale: StaleMedia,
    pub(super) scheduler: Scheduler,
    pub(super) shares: Shares,
    pacer: Pacer,
    probing: Probing,
    allowance: Allowance,
    /// The controller's request to the receiver.
    receiver_request: Option<ReceiverRequest>,
    /// Whether the flow has started, and neither pauses nor has stopped.
    runs: bool,
    pub(super) sizes: PacketSizes,
    pub(super) ecn: FlowEcn,
    pub(super) reported: Reported,
    /// Which packet had which transport-wide number, where reports tell of those.
    pub(super) transport: Option<Box<TransportHistory>>,
    /// The record of its packets' delays, where its host asks for it.
    pub(super) delays: Option<Box<SentDelays>>,
    /// The breaker that ends the flow where nothing else does; absent where nobody asks for it.
    pub(super) breaker: Option<Box<CircuitBreaker>>,
}

impl<C: Controller> RtpSender<C> {
    /// A sender that has not started.
    pub fn new(mut controller: C, config: &SenderConfig, streams: Vec<StreamConfig>) -> RtpSender<C> {
        let sizes = PacketSizes::new(config.max_payload, config.header);
        let streams = (0..).map(StreamId).zip(streams).map(|(id, stream)| {
            if stream.is_limited() {
                // Nothing runs yet: the targets are asked for at the start.
                let _ = controller.on_limits(Time::ZERO, &Limits { stream: id, ..stream.limits });
            }
            Stream::new(id, stream, sizes.queue(Bytes::ZERO), 0)
        });
        let streams = Streams::new(streams.collect());
        let mut sender = RtpSender {
            controller,
            streams,
            offering: Offering::new(),
            stale: StaleMedia::new(config.discard_age),
            scheduler: Scheduler::new(),
            shares: Shares::new(),
            pacer: Pacer::new(config.forgiven_lateness),
            probing: Probing::new(config.forgiven_lateness),
            allowance: Allowance::Unlimited,
            receiver_request: None,
            runs: false,
            sizes,
            ecn: FlowEcn::new(config.ecn),
            reported: Reported::new(config.clock_step),
            transport: None,
            delays: None,
            breaker: None,
        };
        sender.find_greed();
        sender
    }

    /// Numbers the packets of each stream from `first` on, and not from 0 (RFC 3550 section 5.1: from a random number). Before
    /// anything is sent.
    pub fn number_from(&mut self, first: u16) {
        self.streams.number_from(first);
    }

    /// Draws where the numbers of each stream begin that joins from now on, those of retransmissions too: whoever knows one
    /// knows no other.
    pub fn draw_numbers(&mut self, draws: RandomStream) {
        self.streams.draw_numbers(draws);
    }

    /// Numbers the packets of one stream from `first` on.
    pub fn number_stream_from(&mut self, stream: StreamId, first: u16) {
        if let Some(stream) = self.streams.by_id_mut(stream) {
            stream.number_from(first);
        }
    }

    /// Counts of packets and frames so far.
    #[inline]
    pub fn counters(&self) -> SenderCounters {
        SenderCounters {
            unknown_reports: self.reported.unknown(),
            impossible_times: self.reported.impossible_times(),
            discarded: self.offering.discarded(),
            frames: self.offering.frames(),
        }
    }

    /// The controller's request to the receiver, where it has made one. Nothing carries it while packets flow: who sets a
    /// session up agrees on it (as SDP would), as scenarios do by their `feedback`.
    pub fn receiver_request(&self) -> Option<ReceiverRequest> {
        self.receiver_request
    }

    /// Results of packets that the last report told the controller; empty if it was not believed, or of no packet that was sent.
    pub fn reported(&self) -> &[PacketResult] {
        self.reported.results()
    }

    /// The receiver's clock at `now`, as far as its reports have told: for reading report timestamps, which wrap.
    pub fn receiver_time(&self, now: Time) -> Option<Time> {
        self.reported.receiver_time(now)
    }

    /// The stream whose packet goes next, if the controller allows its size, and when it may leave. Inlined: it is asked twice a packet,
    /// and what it looks up is what the packet is made from.
    #[inline(always)]
    fn next_to_send(&self) -> Option<(usize, Time)> {
        let [stream] = &self.streams[..] else { return self.next_of_several() };
        let size = stream.queue().next_size()?;
        self.allowance.admits(size).then_some((0, self.pacer.next()))
    }

    /// The same of several streams, each of which has its share. Not inlined: most flows have one, and are slower for it.
    #[inline(never)]
    fn next_of_several(&self) -> Option<(usize, Time)> {
        let id = self.scheduler.next(self.pacer.next(), &self.streams)?;
        let size = self.streams[id].queue().next_size()?;
        let from = self.streams[id].free_from()?.max(self.pacer.next());
        self.allowance.admits(size).then_some((id, from))
    }

    /// When a packet leaves by its pace, if that is before `until`.
    #[inline(always)]
    fn paced_before(&self, until: Time) -> Option<Time> {
        if self.probing.is_active() {
            return Some(self.probing.next()).filter(|probe| *probe < until);
        }
        if self.pacer.next() >= until {
            return None;
        }
        self.next_to_send().map(|(_, from)| from).filter(|from| *from < until)
    }

    /// The next timeout, packets that leave by their pace apart; `Time::MAX` if nothing is.
    #[inline(always)]
    fn next_unpaced(&self) -> (Time, Reason) {
        let mut next = match self.controller.next_timeout() {
            Some((due, why)) => (due, Reason::Controller(why)),
            None => (Time::MAX, Reason::Capture),
        };
        if self.offering.next_capture() < next.0 {
            next = (self.offering.next_capture(), Reason::Capture);
        }
        if let Some(breaker) = &self.breaker
            && breaker.due() < next.0
        {
            next = (breaker.due(), Reason::Idle);
        }
        if self.stale.due() < next.0 {
            next = (self.stale.due(), Reason::Expiry);
        }
        next
    }

    /// Whether packets may leave in runs: there is one stream, and nothing wants to hear of each of them.
    #[inline]
    fn sends_runs(&self) -> bool {
        let is_watched = self.breaker.is_some() || self.ecn.is_checked() || self.transport.is_some();
        matches!(&self.streams[..], [stream] if !stream.is_bulk())
            && !is_watched
            && !self.probing.is_active()
            && self.pacer.burst().is_none()
    }

    /// The packets that leave by their pace before `until`, of a sender that [`RtpSender::sends_runs`].
    fn run(&mut self, until: Time) -> Option<Run<RtpPacket>> {
        let first = self.pacer.next();
        let (stream, id) = (&self.streams[0], StreamId(0));
        let (inner, size) = (stream.queue().inner(), stream.queue().next_size()?);
        let gap = self.pacer.gap(size);
        if inner == 0 || gap <= TimeDelta::ZERO {
            return None;
        }
        let due = self.controller.next_timeout().map_or(Time::MAX, |(due, _)| due);
        let end = until.min(self.offering.next_capture()).min(due).min(self.stale.due());
        let in_time = end.saturating_since(first).as_nanos() as u64;
        let count = inner.min(self.allowance.packets(size)).min(in_time.div_ceil(gap.as_nanos() as u64));
        if count == 0 {
            return None;
        }
        let sequence = stream.next_sequence();
        let packet = SentPacket { stream: id, sequence, size, probe: None, app_limited: false };
        let run = SentRun { packet, first, gap, count };
        let update = self.controller.on_run(&run)?;
        let queued = self.note_run(&run)?;
        let ecn = self.ecn.codepoint(first, queued.queued, (id, sequence));
        self.apply(run.last(), update);
        let packet = RtpPacket {
            stream: id,
            sequence,
            captured: queued.captured,
            payload: queued.payload,
            padding: 0,
            header: self.sizes.header(),
            transport: 0,
            first: Some(false),
            marker: false,
            key: Some(queued.key),
            annotation: None,
        };
        let packet = Transmit { packet, size, ecn, stream: id, queued: queued.queued };
        Some(Run { packet, first, gap, queued_gap: TimeDelta::ZERO, count })
    }

    /// Takes the packets of a run, of which the controller was told, out of the queue: answers the first.
    #[inline]
    fn note_run(&mut self, run: &SentRun) -> Option<QueuedPacket> {
        self.pacer.on_run(run.last(), run.packet.size);
        self.reported.on_sent(run.last());
        self.streams[0].pop_run(run)
    }

    /// Whether a discard asked for a key frame since the last call: for programs that have their own encoder.
    pub fn take_key_frame_request(&mut self, stream: StreamId) -> bool {
        self.streams.by_id_mut(stream).is_some_and(Stream::take_key_frame_request)
    }

    /// How many streams the flow has.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Executes an answer of the controller. Inlined where it is called per packet: most of an answer is known to be empty there.
    #[inline(always)]
    pub(super) fn apply(&mut self, now: Time, update: Update) {
        let Update { allowance, pacing, target, next_stream, discard, probe, receiver } = update;
        if let Some(allowance) = allowance {
            self.allowance = allowance;
        }
        if let Some(pacing) = pacing {
            self.pacer.set(pacing);
        }
        if let Some(stream) = next_stream {
            self.scheduler.choose(stream);
        }
        match target {
            TargetChange::None => {}
            TargetChange::Total(rate) => {
                self.shares.set_total(Some(rate));
                self.share_total(now);
            }
            TargetChange::Streams(set) => self.set_targets(now, set),
        }
        if let Some(discard) = discard {
            self.discard(now, &discard);
        }
        if let Some(probe) = probe {
            self.probing.ask(now, probe);
        }
        if receiver.is_some() {
            self.receiver_request = receiver;
        }
    }

    /// A stream that joined captures at once, if the flow runs.
    pub(super) fn start_stream(&mut self, now: Time, id: usize) {
        if self.runs {
            self.streams[id].start(now);
            self.refill(now, id);
            self.offering.find_next_capture(&self.streams);
        }
    }

    /// Whether there is always something to send may have changed.
    pub(super) fn find_greed(&mut self) {
        self.pacer.set_greedy(self.streams.is_greedy());
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
            self.streams[id].start(now);
            self.refill(now, id);
        }
        self.offering.find_next_capture(&self.streams);
    }

    fn stop(&mut self, now: Time) {
        self.runs = false;
        self.probing.stop();
        for id in 0..self.streams.len() {
            self.offering.count_discarded(&self.streams[id].stop());
            self.tell_queue(now, id);
        }
        self.offering.find_next_capture(&self.streams);
    }

    fn pause(&mut self, _now: Time) {
        self.runs = false;
        self.streams.iter_mut().for_each(Stream::pause);
        self.offering.find_next_capture(&self.streams);
    }

    fn resume(&mut self, now: Time) {
        if self.broken().is_some() {
            return;
        }
        self.runs = true;
        for id in 0..self.streams.len() {
            self.streams[id].resume(now);
            self.refill(now, id);
        }
        self.offering.find_next_capture(&self.streams);
    }

    fn set_presence(&mut self, now: Time, stream: StreamId, there: bool) {
        if there {
            self.join_expected(now, stream);
        } else {
            let _ = self.remove_stream(now, stream);
        }
    }

    fn set_limits(&mut self, now: Time, limits: &Limits) {
        let Some(stream) = self.streams.by_id_mut(limits.stream) else { return };
        stream.set_limits(limits);
        let update = self.controller.on_limits(now, limits);
        self.apply(now, update);
        self.aim(now, usize::from(limits.stream.0));
        self.share_total(now);
    }

    fn assign(&mut self, now: Time, assigned: Assigned) {
        let update = self.controller.assign(now, assigned);
        self.apply(now, update);
    }

    fn failure(&self) -> Option<(Time, &'static str)> {
        self.broken().map(|(at, why)| (at, why.what()))
    }

    fn desired(&self) -> Option<Bitrate> {
        let present = self.streams.iter().filter(|stream| stream.is_present());
        let sum = present.map(|stream| stream.desired().map(Bitrate::as_bps_f64)).sum::<Option<f64>>()?;
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
        if self.stale.due() <= now {
            self.discard_stale(now);
        }
        if self.offering.next_capture() <= now {
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
        let (id, padding, probe) = if self.probing.is_active() {
            self.probing.next_packet(now, self.sizes.header().size(), (&self.streams, &self.scheduler))?
        } else {
            let (id, from) = self.next_to_send()?;
            if now < from {
                return None;
            }
            (id, 0, None)
        };
        let (stream_id, several) = (StreamId(id as u8), self.streams.len() > 1);
        let stream = &mut self.streams[id];
        let queued = if padding == 0 { stream.pop(now)? } else { no_media(now) };
        let packet = RtpPacket {
            stream: stream_id,
            sequence: stream.next_sequence(),
            captured: queued.captured,
            payload: queued.payload,
            padding,
            header: self.sizes.header(),
            transport: match &mut self.transport {
                Some(history) => history.push(stream_id, stream.next_sequence()),
                None => 0,
            },
            first: Some(queued.first),
            marker: queued.marker,
            key: Some(queued.key),
            annotation: self.controller.annotation(now, stream_id),
        };
        let size = packet.size();
        if several {
            self.scheduler.on_sent(now, stream, (packet.payload, size));
        }
        stream.on_sent(now, size);
        if probe.is_none() {
            // Before the controller answers: a new pace counts from this packet.
            self.pacer.on_sent(now, size);
        }
        self.reported.on_sent(now);
        if let Some(breaker) = &mut self.breaker {
            breaker.on_sent(now, size, queued.queued);
        }
        let ecn = self.ecn.codepoint(now, queued.queued, (stream_id, packet.sequence));
        self.refill(now, id);
        let app_limited = match &self.streams[..] {
            [stream] => !stream.waits(),
            streams => !streams.iter().any(|stream| stream.is_free(now)),
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
        FrameCounters { captured: self.offering.frames(), discarded: self.offering.discarded().frames }
    }

    fn target(&self, stream: StreamId) -> Option<Bitrate> {
        self.streams.by_id(stream).filter(|stream| stream.is_present()).map(Stream::target)
    }

    fn send_queue_bytes(&self, stream: StreamId) -> Bytes {
        self.streams.by_id(stream).map_or(Bytes::ZERO, |stream| stream.queue().bytes())
    }

    fn send_queue_age(&self, now: Time, stream: StreamId) -> TimeDelta {
        self.streams.by_id(stream).map_or(TimeDelta::ZERO, |stream| stream.queue().age(now))
    }

    fn newest_frame(&self, stream: StreamId) -> Option<Bytes> {
        self.streams.by_id(stream).map(Stream::newest_frame)
    }
}
