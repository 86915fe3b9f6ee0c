//! A closed loop: encoder-like sources, send queue, pacer, one bottleneck, reports. Steps of 100 us of virtual time; steps at which
//! nothing is due are left out.

use crate::faults::{self, Fault};
use crate::finding::{self, Violation};
use crate::hostile::{AckVector, Flight, Half};
pub use crate::link::LinkConfig;
use crate::link::{Link, Packet};
use crate::{LARGEST, Subject, retransmitting};
use paceline_cc::{
    Allowance, Annotation, Arrival, Controller, Discard, Offered, Pacing, PacketResult, PacketsReport,
    ReceiverReport, ReceiverRequest, Report, SendQueueState, SentPacket, Snapshot, Status, StreamId,
    TargetChange, TimeoutReason, Update,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

pub(crate) const STEP: TimeDelta = TimeDelta::from_micros(100);
const FRAME: TimeDelta = TimeDelta::from_millis(20);
const STREAM: StreamId = StreamId(0);
/// Frame sizes around the target, as an encoder's vary.
const VARIATION: [f64; 5] = [1.5, 0.9, 0.8, 0.9, 0.9];
/// No encoder makes more, whatever a controller that hears of no loss tells it.
const LARGEST_TARGET: Bitrate = Bitrate::from_mbps(200);
/// Nanoseconds of a tenth of a second.
const TENTH: u64 = 100_000_000;
/// Rates that a link may have.
const POSSIBLE: RangeInclusive<Bitrate> = Bitrate::from_bps(1)..=Bitrate::from_bps(1_000_000_000_000);
/// Discards in a row that empty any queue.
const MOST_DISCARDS: u32 = 16;
const REPORT_EVERY: usize = 8;
const REPORT_INTERVAL: TimeDelta = TimeDelta::from_millis(20);

/// Nanoseconds between two samples of window and state.
pub(crate) const SAMPLE: u64 = 10_000_000;

/// The time at these seconds after the world's zero.
pub fn at(seconds: f64) -> Time {
    Time::from_secs_f64(seconds)
}

/// The events of a flow.
#[derive(Default)]
pub struct Record {
    /// Arrivals: when, bytes, wait in the queue.
    pub arrivals: Vec<(Time, Bytes, TimeDelta)>,
    /// Bytes that were sent in each tenth of a second.
    sent: Vec<Bytes>,
    /// The first packet that was sent beyond the window.
    pub beyond: Option<Violation>,
    /// The first time when controller and transport counted differently.
    pub miscounted: Option<Violation>,
    /// The first answer that no transport can carry out, or state that is no number.
    pub absurd: Option<Violation>,
    /// A hash over the bits of all state after every report.
    pub hash: u64,
    /// The window after each change, of a sender that retransmits.
    pub windows: Vec<Bytes>,
    /// Number of times that such a sender entered recovery.
    pub recoveries: u64,
    /// Number of times that its retransmission timer expired.
    pub timeouts: u64,
    /// Every 10 ms: when, window in bytes, and inner state.
    pub samples: Vec<(Time, f64, Vec<Option<f64>>)>,
}

impl Record {
    /// Mbit/s that arrived between two times in seconds.
    pub fn rate(&self, from: f64, to: f64) -> f64 {
        let bytes: Bytes = self.within(from, to).map(|(_, bytes, _)| *bytes).sum();
        bytes.as_bits_f64() / (to - from) / 1e6
    }

    /// Mbit/s that was sent between two times in seconds, to a tenth.
    pub fn rate_sent(&self, from: f64, to: f64) -> f64 {
        let tenths = self.sent.iter().take((to * 10.0) as usize).skip((from * 10.0) as usize);
        tenths.copied().sum::<Bytes>().as_bits_f64() / (to - from) / 1e6
    }

    /// Notes a packet that leaves.
    pub(crate) fn leaves(&mut self, now: Time, size: Bytes) {
        let tenth = (now.as_nanos() / TENTH) as usize;
        if self.sent.len() <= tenth {
            self.sent.resize(tenth + 1, Bytes::ZERO);
        }
        self.sent[tenth] += size;
    }

    /// Mean wait in the queue in ms of what arrived between two times.
    pub fn wait(&self, from: f64, to: f64) -> f64 {
        let (sum, count) = self
            .within(from, to)
            .fold((0.0, 0.0), |(sum, count), (_, _, wait)| (sum + wait.as_millis_f64(), count + 1.0));
        sum / f64::max(count, 1.0)
    }

    /// Mean window in largest packets between two times in seconds.
    pub fn window(&self, from: f64, to: f64) -> f64 {
        self.mean(from, to, |(_, window, _)| Some(window / LARGEST.as_f64()))
    }

    /// Mean of the inner state at a place in its list between two times in seconds.
    pub fn state(&self, place: usize, from: f64, to: f64) -> f64 {
        self.mean(from, to, |(_, _, state)| state[place])
    }

    fn mean(&self, from: f64, to: f64, value: impl Fn(&(Time, f64, Vec<Option<f64>>)) -> Option<f64>) -> f64 {
        let within = self.samples.iter().filter(|(when, ..)| (at(from)..at(to)).contains(when));
        let (sum, count) =
            within.filter_map(value).fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
        sum / f64::max(count, 1.0)
    }

    /// Notes window and state, every 10 ms.
    pub(crate) fn observe(&mut self, now: Time, snapshot: &Snapshot, state: &[Option<f64>]) {
        if now.as_nanos().is_multiple_of(SAMPLE) {
            let window = snapshot.window.map_or(0.0, |window| window.as_f64());
            self.samples.push((now, window, state.to_vec()));
        }
    }

    /// Adds the bits of what can be seen of a controller.
    pub(crate) fn add_to_hash(&mut self, snapshot: &Snapshot, state: &[Option<f64>]) {
        let shown = [
            snapshot.window.map(|window| window.as_u64()),
            snapshot.in_flight.map(|bytes| bytes.as_u64()),
            snapshot.srtt.map(|srtt| srtt.as_nanos() as u64),
            snapshot.target.map(|target| target.as_bps()),
        ];
        let state = state.iter().map(|value| value.map(f64::to_bits));
        for bits in shown.into_iter().chain(state) {
            let bits = bits.unwrap_or(0x5555);
            self.hash = (self.hash.rotate_left(5) ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    /// Notes rates that are none, and state that is no number.
    pub(crate) fn judge_answer(&mut self, now: Time, update: &Update) {
        let target = match update.target {
            TargetChange::Total(rate) => Some(rate),
            TargetChange::None | TargetChange::Streams(_) => None,
        };
        let pace = match update.pacing {
            Some(Pacing::Rate(rate)) => [Some(rate), None],
            Some(Pacing::Burst { rate, mean, .. }) => [Some(rate), Some(mean)],
            Some(Pacing::Gap(_) | Pacing::Off) | None => [None; 2],
        };
        let mut rates = [("a pace", pace[0]), ("a mean pace", pace[1]), ("a target", target)].into_iter();
        let wrong = rates.find(|(_, rate)| rate.is_some_and(|rate| !POSSIBLE.contains(&rate)));
        if let (Some((name, Some(rate))), None) = (wrong, &self.absurd) {
            let found = format!("{name} of {} bit/s", rate.as_bps());
            self.absurd = Some(Violation::new(now, "rates from 1 bit/s to 1 Tbit/s", found));
        }
    }

    /// Adds all that can be seen of a controller after a report.
    pub(crate) fn see(&mut self, now: Time, controller: &dyn Controller, state: &mut [Option<f64>]) {
        controller.state(state);
        self.add_to_hash(&controller.snapshot(), state);
        if self.absurd.is_none() {
            self.absurd =
                not_finite(controller, state).map(|found| Violation::new(now, "finite numbers", found));
        }
    }

    fn within(&self, from: f64, to: f64) -> impl Iterator<Item = &(Time, Bytes, TimeDelta)> {
        let (from, to) = (at(from), at(to));
        self.arrivals.iter().filter(move |(when, ..)| (from..to).contains(when))
    }
}

/// The first state variable that is no number.
pub(crate) fn not_finite(controller: &dyn Controller, state: &[Option<f64>]) -> Option<String> {
    let place = state.iter().position(|value| value.is_some_and(|value| !value.is_finite()))?;
    let name = controller.state_variables()[place].name;
    state[place].map(|value| format!("{value} as {name}"))
}

/// Bytes in flight counted from what was sent and acknowledged, without asking the controller.
struct FlightModel {
    flight: Flight,
    outstanding: BTreeMap<u64, u64>,
    bytes: u64,
    ack_vector: AckVector,
}

impl FlightModel {
    fn sent(&mut self, sequence: u64, size: Bytes) {
        if self.flight == Flight::AckVector {
            self.ack_vector.sent(sequence, size.as_u64());
            self.bytes = self.ack_vector.bytes();
            return;
        }
        self.outstanding.insert(sequence, size.as_u64());
        self.bytes += size.as_u64();
    }

    fn reported(&mut self, packets: &[PacketResult]) {
        if self.flight == Flight::AckVector {
            self.ack_vector.reported(packets);
            self.bytes = self.ack_vector.bytes();
        }
        let highest = packets.iter().rev().find(|packet| packet.status != Status::Missing);
        highest.into_iter().for_each(|packet| self.acknowledged(packet.sequence));
    }

    /// Outstanding packets are forgotten by definition.
    fn stalled(&mut self) {
        self.outstanding.clear();
        self.ack_vector.timed_out();
        self.bytes = 0;
    }

    fn acknowledged(&mut self, sequence: u64) {
        match self.flight {
            Flight::ToHighestAcknowledged => {
                while let Some(entry) =
                    self.outstanding.first_entry().filter(|entry| *entry.key() <= sequence)
                {
                    self.bytes -= entry.remove();
                }
            }
            // Its scoreboard is the model; what an Ack Vector tells is counted in `reported`.
            Flight::Pipe | Flight::AckVector => {}
        }
    }
}

/// Feedback that comes back.
enum Feedback {
    Packets(Vec<PacketResult>),
    Half(ReceiverReport),
}

/// A sender and its receiver.
struct Flow {
    controller: Box<dyn Controller>,
    half: Option<Box<dyn Half>>,
    fault: Option<Fault>,
    report_every: usize,
    ecn: Ecn,
    slack: Bytes,
    start: Time,
    next_frame: Time,
    frames: usize,
    queue: VecDeque<(Time, Bytes)>,
    /// Bytes in the queue.
    queued: Bytes,
    allowance: Allowance,
    pacing: Pacing,
    next_send: Time,
    target: Bitrate,
    model: FlightModel,
    sent: Vec<(Time, Bytes, Option<Annotation>)>,
    arrived: Vec<(u64, Time, Ecn)>,
    reported: u64,
    last_report: Time,
    back: VecDeque<(Time, Feedback)>,
    state: Vec<Option<f64>>,
    discards: u32,
    record: Record,
}

impl Flow {
    fn new(subject: &Subject, start: Time) -> Flow {
        let controller = subject.controller();
        Flow {
            state: vec![None; controller.state_variables().len()],
            target: controller.target_bitrate(STREAM).unwrap_or(Bitrate::from_mbps(1)),
            controller,
            half: subject.half(),
            fault: subject.fault,
            report_every: REPORT_EVERY,
            ecn: subject.ecn(),
            slack: subject.slack,
            start,
            next_frame: start,
            frames: 0,
            queue: VecDeque::new(),
            queued: Bytes::ZERO,
            allowance: Allowance::Unlimited,
            pacing: Pacing::Off,
            next_send: Time::ZERO,
            model: FlightModel {
                flight: subject.flight,
                outstanding: BTreeMap::new(),
                bytes: 0,
                ack_vector: AckVector::default(),
            },
            sent: Vec::new(),
            arrived: Vec::new(),
            reported: 0,
            last_report: start,
            back: VecDeque::new(),
            discards: 0,
            record: Record::default(),
        }
    }

    fn queue_state(&self, now: Time) -> SendQueueState {
        let newest = self.queue.back().map_or(Time::ZERO, |(queued, _)| *queued);
        let newest_frame = self.queue.iter().rev().take_while(|(queued, _)| *queued == newest);
        let newest_frame = newest_frame.map(|(_, size)| *size).sum();
        let oldest = self.queue.front().map(|(queued, _)| now.saturating_since(*queued));
        SendQueueState {
            stream: STREAM,
            bytes: self.queued,
            packets: self.queue.len() as u64,
            oldest,
            newest_frame,
            greedy: false,
        }
    }

    fn frame(&mut self, now: Time) {
        let bytes = self.target.min(LARGEST_TARGET).bytes_in(FRAME).as_f64()
            * VARIATION[self.frames % VARIATION.len()];
        (self.frames, self.next_frame) = (self.frames + 1, self.next_frame + FRAME);
        let mut left = (bytes as u64).max(100);
        let offered = Offered { stream: STREAM, bytes: Bytes::new(left), frame_end: true };
        while left > 0 {
            let size = left.min(LARGEST.as_u64());
            self.queue.push_back((now, Bytes::new(size)));
            self.queued += Bytes::new(size);
            left -= size;
        }
        let update = self.controller.on_offered(now, &offered, &self.queue_state(now));
        self.apply(now, update);
    }

    fn apply(&mut self, now: Time, update: Update) {
        self.record.judge_answer(now, &update);
        self.allowance = update.allowance.unwrap_or(self.allowance);
        self.pacing = update.pacing.unwrap_or(self.pacing);
        if let Some(ReceiverRequest::PacketsPerReport(packets)) = update.receiver {
            self.report_every = usize::from(packets.max(1));
        }
        if update.target != TargetChange::None {
            self.target = match update.target {
                TargetChange::Total(rate) => rate,
                _ => self.controller.target_bitrate(STREAM).unwrap_or(self.target),
            };
        }
        if let Some(Discard { older_than, .. }) = update.discard {
            if self.discards == MOST_DISCARDS {
                let found = format!("another discard after each of {MOST_DISCARDS}");
                let endless = Violation::new(now, "discards that end", found);
                self.record.absurd.get_or_insert(endless);
                return;
            }
            let limit = older_than.unwrap_or(TimeDelta::from_nanos(-1));
            self.queue.retain(|(queued, _)| now.saturating_since(*queued) <= limit);
            self.queued = self.queue.iter().map(|(_, size)| *size).sum();
            let update = self.controller.on_send_queue(now, &self.queue_state(now));
            self.discards += 1;
            self.apply(now, update);
            self.discards -= 1;
        }
    }

    fn may_send(&self, now: Time) -> Option<Bytes> {
        let (_, size) = *self.queue.front()?;
        let allowed = match self.allowance {
            Allowance::Unlimited => true,
            Allowance::Bytes(bytes) => size <= bytes,
            Allowance::Packets(packets) => packets > 0,
        };
        (allowed && now >= self.next_send).then_some(size)
    }

    fn send(&mut self, now: Time, id: usize, link: &mut Link) {
        while let Some(size) = self.may_send(now) {
            self.queue.pop_front();
            self.queued -= size;
            let sequence = self.sent.len() as u64;
            self.sent.push((now, size, self.controller.annotation(now, STREAM)));
            self.model.sent(sequence, size);
            self.check_window(now);
            let gap = match self.pacing {
                Pacing::Off => TimeDelta::ZERO,
                Pacing::Rate(rate) | Pacing::Burst { rate, .. } => rate.time_for(size),
                Pacing::Gap(gap) => gap,
            };
            self.next_send = self.next_send.max(now - STEP) + gap;
            self.record.leaves(now, size);
            link.offer(now, id, sequence, size);
            let app_limited = self.queue.is_empty();
            let packet = SentPacket { stream: STREAM, sequence, size, probe: None, app_limited };
            let update = self.controller.on_sent(now, &packet);
            self.apply(now, update);
        }
    }

    fn check_window(&mut self, now: Time) {
        let Some(window) = self.controller.snapshot().window else { return };
        if self.model.bytes > (window + self.slack).as_u64() && self.record.beyond.is_none() {
            let flight = self.model.bytes;
            let most = (window + self.slack).as_u64();
            let expected = format!("at most {most} B in flight: the window, and the slack");
            self.record.beyond = Some(Violation::new(now, expected, format!("{flight} B")));
        }
    }

    fn tell_half(&mut self, now: Time, packet: &Packet, ecn: Ecn, config: &LinkConfig) {
        let Some(half) = &mut self.half else { return };
        let (sent, size, annotation) = self.sent[packet.sequence as usize];
        let arrival =
            Arrival { stream: STREAM, sequence: packet.sequence, size, sent: Some(sent), ecn, annotation };
        if half.on_arrival(now, &faults::arrival(self.fault, arrival)) {
            let report = half.report(now);
            report.into_iter().for_each(|report| self.answer(now, Feedback::Half(report), config));
        }
    }

    fn answer(&mut self, now: Time, feedback: Feedback, config: &LinkConfig) {
        if !config.is_out(now) {
            self.back.push_back((now + config.delay, feedback));
        }
    }

    /// Packets that arrived since the last report, and the missing ones between.
    fn report(&mut self, now: Time, config: &LinkConfig) {
        if let Some(half) =
            self.half.as_mut().filter(|half| half.next_timeout().is_some_and(|due| due <= now))
        {
            let report = half.report(now);
            report.into_iter().for_each(|report| self.answer(now, Feedback::Half(report), config));
        }
        let due = now.saturating_since(self.last_report) >= REPORT_INTERVAL;
        if self.arrived.is_empty() || (self.arrived.len() < self.report_every && !due) {
            return;
        }
        self.last_report = now;
        let newest = self.arrived.last().map_or(0, |(sequence, ..)| *sequence);
        let mut arrived = self.arrived.drain(..).peekable();
        let result = |sequence: u64| {
            let (sent, size, _) = self.sent[sequence as usize];
            let heard = arrived.next_if(|(heard, ..)| *heard == sequence);
            let status =
                heard.map_or(Status::Missing, |(_, at, ecn)| Status::Received { arrived: Some(at), ecn });
            PacketResult { stream: STREAM, sequence, size, sent, status }
        };
        let packets: Vec<PacketResult> = (self.reported..=newest).map(result).collect();
        self.reported = newest + 1;
        drop(arrived);
        self.answer(now, Feedback::Packets(packets), config);
    }

    fn feedback(&mut self, now: Time) {
        while self.back.front().is_some_and(|(due, _)| *due <= now) {
            let packets = match self.back.pop_front() {
                Some((_, Feedback::Packets(packets))) => packets,
                Some((_, Feedback::Half(report))) => {
                    let update = self.controller.on_report(now, &Report::Receiver(report));
                    self.apply(now, update);
                    self.record.see(now, &*self.controller, &mut self.state);
                    continue;
                }
                None => return,
            };
            self.model.reported(&packets);
            let update = self.controller.on_send_queue(now, &self.queue_state(now));
            self.apply(now, update);
            let report =
                PacketsReport { packets: &packets, clock_step: TimeDelta::from_nanos(1), ambiguous: false };
            let update = self.controller.on_report(now, &Report::Packets(report));
            self.apply(now, update);
            self.record.see(now, &*self.controller, &mut self.state);
        }
    }

    fn timeout(&mut self, now: Time) {
        let Some((_, reason)) = self.controller.next_timeout().filter(|(due, _)| *due <= now) else { return };
        if reason == TimeoutReason::Stalled {
            self.model.stalled();
        }
        let update = self.controller.on_timeout(now);
        self.apply(now, update);
    }
}

/// A sender with its receiver, whatever transport is between.
pub(crate) trait End {
    /// A packet arrived at the receiver.
    fn receive(&mut self, now: Time, packet: &Packet, config: &LinkConfig);
    /// Everything that is due now.
    fn step(&mut self, now: Time, id: usize, link: &mut Link, config: &LinkConfig);
    /// When a step does something, if no packet arrives before.
    fn next_step(&self) -> Time;
    /// The record of the whole run.
    fn finish(self: Box<Self>) -> Record;
}

impl End for Flow {
    fn receive(&mut self, now: Time, packet: &Packet, config: &LinkConfig) {
        let ecn = if packet.marked { Ecn::Ce } else { self.ecn };
        self.record.arrivals.push((now, packet.size, packet.wait));
        if self.half.is_some() {
            return self.tell_half(now, packet, ecn, config);
        }
        self.arrived.push((packet.sequence, packet.arrives, ecn));
    }

    fn step(&mut self, now: Time, id: usize, link: &mut Link, config: &LinkConfig) {
        if now < self.start {
            return;
        }
        self.report(now, config);
        self.feedback(now);
        self.timeout(now);
        if self.next_frame <= now {
            self.frame(now);
        }
        self.send(now, id, link);
    }

    fn next_step(&self) -> Time {
        let half = self.half.as_ref().and_then(|half| half.next_timeout());
        let full = self.arrived.len() >= self.report_every;
        let report_at = if full { Time::ZERO } else { self.last_report + REPORT_INTERVAL };
        let report = (!self.arrived.is_empty()).then_some(report_at);
        let feedback = self.back.front().map(|(due, _)| *due);
        let timeout = self.controller.next_timeout().map(|(due, _)| due);
        let send = self.may_send(Time::MAX).map(|_| self.next_send);
        let due = [half, report, feedback, timeout, send].into_iter().flatten();
        due.fold(self.next_frame, Time::min).max(self.start)
    }

    fn finish(self: Box<Self>) -> Record {
        self.record
    }
}

fn end(subject: &Subject, start: Time) -> Box<dyn End> {
    match subject.flight {
        Flight::ToHighestAcknowledged | Flight::AckVector => Box::new(Flow::new(subject, start)),
        Flight::Pipe => Box::new(retransmitting::Flow::new(subject, start)),
    }
}

/// Runs flows that start at the given seconds over one link; answers what happened to each.
pub fn run(config: LinkConfig, flows: &[(&Subject, f64)], seconds: f64) -> Vec<Record> {
    run_in(config, flows, seconds, |now, due| {
        let steps = (due.as_nanos().div_ceil(STEP.as_nanos() as u64))
            .max(now.as_nanos() / STEP.as_nanos() as u64 + 1);
        Time::from_nanos(steps * STEP.as_nanos() as u64)
    })
}

/// The same step by step, those at which nothing is due in: what the other must not differ from.
#[doc(hidden)]
pub fn run_every_step(config: LinkConfig, flows: &[(&Subject, f64)], seconds: f64) -> Vec<Record> {
    run_in(config, flows, seconds, |now, _| now + STEP)
}

/// The same, where the next step after one is chosen from when something is due.
fn run_in(
    config: LinkConfig,
    flows: &[(&Subject, f64)],
    seconds: f64,
    next: fn(Time, Time) -> Time,
) -> Vec<Record> {
    let mut flows: Vec<_> = flows.iter().map(|(subject, start)| end(subject, at(*start))).collect();
    let (mut link, mut now) = (Link::new(config), Time::ZERO);
    while now < at(seconds) {
        finding::pass(now);
        while let Some(packet) = link.arrived(now) {
            flows[packet.flow].receive(now, &packet, &config);
        }
        for (id, flow) in flows.iter_mut().enumerate() {
            flow.step(now, id, &mut link, &config);
        }
        let due =
            flows.iter().map(|flow| flow.next_step()).chain(link.next_arrival()).min().unwrap_or(Time::MAX);
        now = next(now, due);
    }
    flows.into_iter().map(|flow| flow.finish()).collect()
}
