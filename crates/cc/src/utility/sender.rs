//! The sender around a law: what is measured, the phases of the start, pacing and timeouts.

use super::SenderParams;
use super::delivery::Delivery;
use super::law::{First, Law, Phase, Sample};
use super::start::{DRAIN, MEASURED_RATE, Start};
use super::stream::{News, Stream};
use crate::one_way_delay::{DelayMeasure, OneWayDelay};
use crate::silence::Silence;
use crate::tfrc::data_limited::DataLimited;
use crate::{
    Allowance, Assigned, CeResponse, Controller, FlowSetup, Offered, PacketResult, PacketsReport, Report,
    SendQueueState, SentPacket, Snapshot, StateVariable, Status, StreamChange, StreamId, TargetChange,
    TimeoutReason, Update,
};
use alloc::vec::Vec;
use paceline_units::{Bitrate, Time, TimeDelta};

/// A pause in feedback counts as no more than this, in seconds, in the rate's differential equation.
const LONGEST_STEP: f64 = 0.5;
/// Seconds over which what arrives is measured.
const DELIVERY_SPAN: f64 = 1.0;
/// A packet below this part of the largest tells no delay.
const SMALL: f64 = 0.75;
/// The same before a capacity is known.
const ALIKE: f64 = 0.95;
/// So long after one that is not below it, a packet of any size tells one.
const LONGEST_UNTOLD: TimeDelta = TimeDelta::from_millis(100);
/// The largest packet is looked for in the present span of this length, and in the one before.
const SIZES_SPAN: TimeDelta = TimeDelta::from_secs(1);
/// A sender that sends nothing for longer, and for a round trip, has paused.
const SHORTEST_PAUSE: TimeDelta = TimeDelta::from_millis(250);
/// A given capacity that is more than this times what arrives of a rate that is hardly less than twice that is absurd.
const ABSURD: f64 = 4.0;
const PART_OF_MOST: f64 = 0.9;
/// The same in slow start, if that is longer than a round trip.
const SLOW_START_SPAN: f64 = 0.1;
/// Packets that a measurement of what arrives needs at least in slow start.
const SLOW_START_PACKETS: f64 = 4.0;
/// The capacity is measured over this times the delay that tells a queue, at least.
const MEASURED_DELAYS: f64 = 5.0;
/// The end of a probe in which queues have drained.
const DRAINED: TimeDelta = TimeDelta::from_secs(3);
/// Slow start ends when this part of the packets is lost.
const SLOW_START_LOSS: f64 = 0.1;
/// Nanoseconds (12 days): a clock that shows the seconds since 1970 leaves too few digits for those between packets.
const ERA: u64 = 1_000_000_000 << 20;
/// Weight of a packet in the part of packets that are lost.
const LOSS_WEIGHT: f64 = 1.0 / 64.0;

/// A sender's knowledge of its flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Rate in bit/s.
    pub rate: f64,
    /// Phase of the flow.
    pub phase: Phase,
    /// One-way delay over the smallest one of the newest packet, in seconds.
    pub delta: Option<f64>,
    /// Smallest round-trip time.
    pub rtt_min: Option<TimeDelta>,
    /// Smoothed round-trip time.
    pub srtt: Option<TimeDelta>,
    /// Delays by one clock.
    pub delays: OneWayDelay,
    measure: DelayMeasure,
    /// Part of the packets that are lost.
    loss: f64,
}

/// How long packets of any size take on the bottleneck.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Bits of the flow's largest packet.
    most: f64,
    /// Bits of the largest packet of the present span and of the one before.
    largest: (f64, f64),
    since: Time,
    /// When the last packet told.
    told: Time,
    /// The first capacity that was known, and the last, in bit/s.
    capacity: Option<(f64, f64)>,
    /// Bits from which on packets take so many seconds longer than the first ones did, as far as was seen before a capacity was known.
    longer: (f64, f64),
}

impl Sizes {
    fn new(most: f64) -> Sizes {
        Sizes {
            most,
            largest: (0.0, 0.0),
            since: Time::ZERO,
            told: Time::ZERO,
            capacity: None,
            longer: (0.0, 0.0),
        }
    }

    /// Seconds that a packet of so many bits takes on the bottleneck, where `capacity` is its capacity in bit/s, if that is known. It
    /// tells differences alone: a change of the capacity changes nothing for the largest packets, or their delays would seem to change.
    /// Absent for a packet that is much smaller than others of late, unless no other came: how much faster it is depends on a capacity
    /// that is a guess while the link changes, and before one is known on nothing.
    #[inline]
    fn on_packet(&mut self, now: Time, bits: f64, capacity: Option<f64>) -> Option<f64> {
        if now.saturating_since(self.since) >= SIZES_SPAN {
            (self.largest, self.since) = ((0.0, self.largest.0), now);
        }
        self.largest.0 = self.largest.0.max(bits);
        if let Some(last) = capacity {
            self.capacity = Some((self.capacity.map_or(last, |(first, _)| first), last));
        }
        let (small, untold) =
            if self.capacity.is_none() { (ALIKE, SIZES_SPAN) } else { (SMALL, LONGEST_UNTOLD) };
        let tells = bits >= small * self.largest_of_late() || now.saturating_since(self.told) >= untold;
        if tells {
            self.told = now;
        }
        let (from, longer) = self.longer;
        let serialised = match self.capacity {
            None if bits < from => 0.0,
            None => longer,
            Some((first, last)) => {
                longer + (self.most / first).min(LONGEST_STEP) - ((self.most - bits) / last).min(LONGEST_STEP)
            }
        };
        tells.then_some(serialised)
    }

    /// Bits of the largest packet of the present span and of the one before.
    #[inline]
    fn largest_of_late(&self) -> f64 {
        self.largest.0.max(self.largest.1)
    }

    /// Whether a packet of so many bits, which was not told of yet, is larger than all before, while no capacity says by how much it
    /// is slower for that.
    #[inline]
    fn are_outgrown(&self, bits: f64) -> bool {
        self.capacity.is_none() && ALIKE * bits > self.largest_of_late()
    }

    /// A packet of so many bits, the largest so far, took so many seconds longer than others.
    fn on_longer(&mut self, bits: f64, seconds: f64) {
        self.longer = (ALIKE * bits, self.longer.1 + seconds);
    }
}

/// A sender of datagrams or streams whose rate follows a law. It paces at that rate, without a window.
#[derive(Clone, Debug)]
pub struct UtilitySender<L> {
    law: L,
    params: SenderParams,
    flow: Flow,
    start: Start,
    sizes: Sizes,
    delivery: Delivery,
    streams: Vec<Stream>,
    largest_packet: f64,
    /// Of each stream, its part in the target is in proportion to it; 0 once it left.
    priorities: Vec<f64>,
    /// Packets lost that no sample has told yet.
    lost: f64,
    /// Whether the path may have become longer: the probe that is under way will tell.
    doubts_path: bool,
    /// When the newest packet of a sample was sent.
    sampled: Option<Time>,
    /// The whole [`ERA`] before the first packet that arrived, from which seconds count.
    zero: Option<Time>,
    silence: Silence,
    data_limited: DataLimited,
    /// Whether what the law was given of the path was seen not to be absurd.
    trusts_given: bool,
    /// From when on what arrives tells of the rate: coupling assigned it, or a pause of the application was over.
    tells_from: Time,
    /// The rate that was said last.
    said: Option<Bitrate>,
}

impl<L: Law> UtilitySender<L> {
    /// A sender that has sent nothing.
    pub fn new(params: &L::Params, setup: &FlowSetup) -> UtilitySender<L> {
        let (mut law, sender) = (L::new(params), L::sender(params));
        let (start, rate) = Start::new(law.first());
        let flow = Flow {
            rate: rate.min(sender.rate_max).max(sender.rate_min).as_bps_f64(),
            phase: start.phase,
            delta: None,
            rtt_min: None,
            srtt: None,
            delays: OneWayDelay::new(sender.skew_compensation),
            measure: DelayMeasure::NEW,
            loss: 0.0,
        };
        law.set_rate(flow.rate);
        UtilitySender {
            law,
            flow,
            start,
            sizes: Sizes::new(setup.largest_packet.as_bits_f64().max(1.0)),
            delivery: Delivery::new(),
            streams: Vec::new(),
            largest_packet: setup.largest_packet.as_bits_f64().max(1.0),
            priorities: setup.priorities.clone(),
            lost: 0.0,
            doubts_path: false,
            sampled: None,
            zero: None,
            silence: Silence::new(sender.feedback_patience),
            data_limited: DataLimited::new(),
            trusts_given: false,
            tells_from: Time::ZERO,
            params: sender,
            said: None,
        }
    }

    fn stream(&mut self, stream: StreamId) -> &mut Stream {
        let id = usize::from(stream.0);
        if self.streams.len() <= id {
            self.streams.resize_with(id + 1, Stream::new);
        }
        &mut self.streams[id]
    }

    /// Rate that may be sent, in bit/s: the law's rate, or less of it while no reports come.
    fn usable(&self) -> f64 {
        (self.flow.rate * self.silence.factor()).max(self.params.rate_min.as_bps_f64())
    }

    fn rate(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.usable())
    }

    fn target(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.usable() * self.params.media_part)
    }

    fn set_rate(&mut self, rate: f64) {
        let (least, most) = (self.params.rate_min.as_bps_f64(), self.params.rate_max.as_bps_f64());
        self.flow.rate = if rate.is_finite() { rate.min(most).max(least) } else { least };
    }

    /// The changes of the rate.
    fn answer(&mut self) -> Update {
        let rate = self.rate();
        if self.said == Some(rate) {
            return Update::none();
        }
        let first = self.said.is_none().then_some(Allowance::Unlimited);
        self.said = Some(rate);
        Update { allowance: first, ..Update::none() }.with_target(self.target()).with_pacing_rate(rate)
    }

    fn round_trip(&self) -> TimeDelta {
        self.flow.srtt.unwrap_or(TimeDelta::ZERO)
    }

    fn on_round_trip(&mut self, sample: TimeDelta) {
        if sample.is_negative() {
            return;
        }
        let flow = &mut self.flow;
        flow.rtt_min = Some(flow.rtt_min.map_or(sample, |least| least.min(sample)));
        let smoothed = flow.srtt.map_or(sample, |srtt| {
            TimeDelta::from_secs_f64(srtt.as_secs_f64() + (sample.as_secs_f64() - srtt.as_secs_f64()) / 8.0)
        });
        flow.srtt = Some(smoothed);
    }

    /// One-way delay by one clock; the round trip where reports tell no arrivals, and as before where one is unknown. A large packet is
    /// longer on the bottleneck than a small one, and that is no noise.
    #[inline]
    fn delay(&mut self, now: Time, sent: Time, arrived: Option<Time>, bits: f64) -> TimeDelta {
        let are_outgrown = self.sizes.are_outgrown(bits);
        let serialised = self.sizes.on_packet(now, bits, self.law.capacity());
        let flow = &mut self.flow;
        let Some((serialised, (end, is_new))) = serialised.zip(flow.measure.end(now, arrived)) else {
            let least = flow.delays.minimum().unwrap_or(TimeDelta::ZERO);
            return least + TimeDelta::from_secs_f64(flow.delta.unwrap_or(0.0));
        };
        if is_new {
            flow.delays = OneWayDelay::new(self.params.skew_compensation);
        }
        let delay = flow.delays.on_arrival(now, sent + TimeDelta::from_secs_f64(serialised), end);
        let (Some(before), Some(least), true) = (flow.delta, flow.delays.minimum(), are_outgrown) else {
            return delay;
        };
        let longer = ((delay - least).as_secs_f64() - before).max(0.0);
        self.sizes.on_longer(bits, longer);
        delay - TimeDelta::from_secs_f64(longer)
    }

    fn on_packets(&mut self, now: Time, report: &PacketsReport<'_>) {
        let clock_step = report.clock_step.as_secs_f64().clamp(0.0, 1.0);
        let mut newest = None;
        for packet in report.packets {
            let Some(stream) = self.streams.get_mut(usize::from(packet.stream.0)) else { continue };
            // It waited for the end of an outage, or left at less than the law's rate.
            let tells = self.silence.tells_path(now, packet.sent);
            match (stream.on_result(packet.sequence, packet.status != Status::Missing), packet.status) {
                (News::Arrived(_), Status::Received { arrived, .. }) if !tells => {
                    let delay = self.delay(now, packet.sent, arrived, packet.size.as_bits_f64());
                    let least = self.flow.delays.minimum().unwrap_or(delay);
                    self.flow.delta = Some((delay - least).as_secs_f64().max(0.0));
                }
                _ if !tells => {}
                (News::Arrived(unreported), Status::Received { arrived, ecn }) => {
                    // Their report was lost, and they were not.
                    self.delivery.on_late(packet.size.as_bits_f64() * unreported as f64);
                    newest = newest.max(Some(packet.sent));
                    self.flow.loss -= LOSS_WEIGHT * self.flow.loss;
                    self.on_arrived(now, packet, arrived, ecn.is_ce(), clock_step);
                }
                (News::Missing, _) => {
                    self.flow.loss += LOSS_WEIGHT * (1.0 - self.flow.loss);
                    self.lost += 1.0;
                }
                (News::Late, _) => {
                    self.delivery.on_late(packet.size.as_bits_f64());
                    self.flow.loss = (self.flow.loss - LOSS_WEIGHT).max(0.0);
                    self.lost -= 1.0;
                }
                _ => {}
            }
        }
        if let Some(sent) = newest {
            self.on_round_trip(now - sent);
            self.advance(now);
            self.limit(sent);
        }
    }

    /// Twice what arrives in a second is the most, unless the application sent less than the rate (RFC 5348 section 4.3). Links with
    /// noise keep packets for a quarter of one.
    fn limit(&mut self, newest: Time) {
        let Some(arrives) = self.delivery.rate(DELIVERY_SPAN, 0.0) else { return };
        let span = TimeDelta::from_secs_f64(DELIVERY_SPAN);
        if matches!(self.start.phase, Phase::SlowStart | Phase::Drain) {
            // A second in which the rate doubled many times tells nothing of the last of them.
            self.tells_from = newest;
        }
        if newest < self.tells_from + span || self.data_limited.covers(newest, span) {
            return;
        }
        self.trusts_given |= self.law.capacity().is_none_or(|capacity| arrives * ABSURD >= capacity);
        let most = arrives * self.params.recv_limit_factor;
        if self.flow.rate > most {
            self.set_rate(most);
            self.law.set_rate(self.flow.rate);
        }
        if !self.trusts_given
            && self.flow.rate >= PART_OF_MOST * most
            && let Some(first) = self.law.forget_given()
        {
            self.go_on(first);
        }
    }

    /// A packet is reported for the first time, behind none that was sent later.
    fn on_arrived(
        &mut self,
        now: Time,
        packet: &PacketResult,
        arrived: Option<Time>,
        marked: bool,
        clock_step: f64,
    ) {
        // By the times of sending: gaps between arrivals would count the late packets for more.
        let elapsed = self.sampled.map_or(0.0, |last| packet.sent.saturating_since(last).as_secs_f64());
        let elapsed = elapsed.min(LONGEST_STEP);
        self.sampled = self.sampled.max(Some(packet.sent));
        let bits = packet.size.as_bits_f64();
        let (before, stepped) = (self.flow.delays.minimum(), self.flow.delays.stepped());
        let delay = self.delay(now, packet.sent, arrived, bits);
        let least = self.flow.delays.minimum().unwrap_or(delay);
        let fell = before.map_or(0.0, |before| (before - least).as_secs_f64());
        // It rises where it fell by a step of the clock that is known now.
        let fell = if self.flow.delays.stepped() == stepped { fell.max(0.0) } else { fell };
        let delta = (delay - least).as_secs_f64().max(0.0);
        self.flow.delta = Some(delta);
        let sent = packet.sent;
        let since = sent - *self.zero.get_or_insert_with(|| Time::from_nanos(sent.as_nanos() / ERA * ERA));
        self.delivery.on_arrival(since.as_secs_f64() + delay.as_secs_f64(), bits);
        self.start.note(delta);
        match self.start.phase {
            Phase::Probe => {
                if let Some((mean, packets, end)) = self.start.probed(now, delay.as_secs_f64()) {
                    self.compare_path(now);
                    let least = self.flow.delays.minimum().unwrap_or(delay).as_secs_f64();
                    // The smallest of few delays is too large: of n even ones by a part of 2/(n + 1) of their mean.
                    let noise = (mean - least).max(0.0) * (packets + 1.0) / (packets - 1.0);
                    let next = self.law.on_noise(noise, (end - least).max(0.0));
                    self.go_on(next);
                }
            }
            Phase::SlowStart | Phase::Drain => {}
            Phase::Steady => {
                let arrives = self.delivery.rate(DELIVERY_SPAN, 0.0).unwrap_or(0.0);
                let rtt_min = self.flow.rtt_min.unwrap_or(TimeDelta::ZERO).max(self.params.rtt_floor);
                let rate = self.law.on_sample(&Sample {
                    now,
                    elapsed,
                    rate: self.flow.rate,
                    delta,
                    fell,
                    bits,
                    marked,
                    lost: self.lost,
                    rtt_min: rtt_min.as_secs_f64(),
                    ceiling: arrives * self.params.head_room,
                    clock_step,
                });
                self.lost = 0.0;
                // Less than the rate is sent: that nothing waits says nothing for more.
                self.set_rate(if self.silence.is_answered() { rate.min(self.flow.rate) } else { rate });
            }
        }
    }

    /// After a probe of a path that is in doubt: if even the fastest packets, with the queue drained, are slower than any
    /// queue that slow start would see, the path has become longer.
    fn compare_path(&mut self, now: Time) {
        let since = now - DRAINED;
        let delays = &mut self.flow.delays;
        let (Some(ever), Some(recent)) = (delays.minimum(), delays.minimum_since(since)) else { return };
        let longer = (recent - ever).as_secs_f64() > self.law.queue_seen(self.flow.rate);
        if core::mem::take(&mut self.doubts_path) && longer {
            delays.forget_before(since);
        }
    }

    fn go_on(&mut self, next: First) {
        let rate = self.start.go_on(next);
        self.set_rate(rate.as_bps_f64());
        self.law.set_rate(self.flow.rate);
    }

    /// After a report: slow start grows or ends, and what it left drains.
    fn advance(&mut self, now: Time) {
        let queue = self.law.queue_seen(self.flow.rate);
        match self.start.phase {
            Phase::Probe => {}
            Phase::Steady if self.silence.is_answered() => {}
            Phase::Steady => {
                if let Some((first, path_changed)) = self.law.doubts(now) {
                    self.doubts_path = path_changed;
                    self.go_on(first);
                }
            }
            Phase::SlowStart => self.slow_start(now, queue),
            Phase::Drain => {
                if self.start.is_drained(now, queue, self.round_trip()) {
                    self.go_on(self.start.next);
                    self.lost = 0.0;
                }
            }
        }
        self.flow.phase = self.start.phase;
    }

    /// The rate grows with what arrives until a queue is seen; then that queue is kept for long enough to measure the
    /// capacity.
    fn slow_start(&mut self, now: Time, queue: f64) {
        let span = self.round_trip().as_secs_f64().max(SLOW_START_SPAN);
        let Some(arrives) = self.delivery.rate(span, SLOW_START_PACKETS * self.largest_packet) else {
            return;
        };
        let sees_queue = self.start.sees_queue(queue) || self.flow.loss > SLOW_START_LOSS;
        let measure = span.max(MEASURED_DELAYS * queue);
        if core::mem::take(&mut self.start.looks) {
            self.start.measure(now + self.round_trip() + TimeDelta::from_secs_f64(measure));
        }
        match self.start.measured {
            None if sees_queue => {
                self.set_rate(arrives * MEASURED_RATE);
                self.start.measure(now + self.round_trip() + TimeDelta::from_secs_f64(measure));
            }
            None => {
                let least = self.flow.delays.minimum().unwrap_or(TimeDelta::ZERO).as_secs_f64();
                let delay = least + self.flow.delta.unwrap_or(0.0);
                self.start.on_no_queue(now, self.delivery.rate(DELIVERY_SPAN, 0.0), delay);
                self.set_rate(self.flow.rate.max(arrives * self.params.slow_start_gain));
            }
            Some(until) if now < until => {}
            // The queue was noise, or that of a link that has become faster.
            Some(_) if !sees_queue => self.start.enter(Phase::SlowStart),
            Some(_) => {
                let measured = self.delivery.fitted_rate(measure).unwrap_or(arrives);
                let (capacity, delay) = self.start.found(measured);
                let least = self.flow.delays.minimum().unwrap_or(TimeDelta::ZERO).as_secs_f64();
                let noise = delay.map(|delay| (delay - least).max(0.0));
                self.start.next = self.law.on_capacity(capacity, noise);
                self.start.enter(Phase::Drain);
                self.set_rate(measured * DRAIN);
            }
        }
    }
}

impl<L: Law> Controller for UtilitySender<L> {
    fn on_offered(&mut self, _now: Time, _offered: &Offered, _queue: &SendQueueState) -> Update {
        self.answer()
    }

    #[inline]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.stream(packet.stream).on_sent(packet.sequence);
        if now.saturating_since(self.silence.sent()) > self.round_trip().max(SHORTEST_PAUSE) {
            // Arrivals before the pause, and their absence in it, tell nothing of the path.
            self.tells_from = now;
            self.delivery.forget();
        }
        self.silence.on_sent(now, self.round_trip());
        if !packet.app_limited {
            self.data_limited.on_not_limited(now, self.round_trip());
        }
        self.answer()
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        if report.packets.is_empty() {
            return Update::none();
        }
        self.on_packets(now, report);
        let in_flight = self.streams.iter().any(Stream::is_under_way);
        let was_outage = self.silence.is_outage();
        let queue = self.law.queue_seen(self.flow.rate);
        let drained = self.flow.delta.is_none_or(|delta| delta <= queue);
        self.silence.on_report(now, self.round_trip(), in_flight, drained);
        if was_outage && !self.silence.is_outage() {
            self.delivery.forget();
        }
        self.answer()
    }

    fn on_stream(&mut self, _now: Time, stream: StreamId, change: StreamChange) -> Update {
        let id = usize::from(stream.0);
        let priority = match change {
            StreamChange::Joined(priority) | StreamChange::Priority(priority) => priority,
            StreamChange::Left | StreamChange::Gone => 0.0,
        };
        if self.priorities.len() <= id {
            self.priorities.resize(id + 1, 0.0);
        }
        self.priorities[id] = priority;
        if change == StreamChange::Gone {
            *self.stream(stream) = Stream::new();
        }
        Update { target: TargetChange::Total(self.target()), ..self.answer() }
    }

    fn ce_response(&self) -> CeResponse {
        L::CE_RESPONSE
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        let srtt = Some(self.round_trip()).filter(|srtt| *srtt > TimeDelta::ZERO);
        let Some(rate) = assigned.rate_over(srtt) else { return Update::none() };
        if rate > self.flow.rate * self.params.recv_limit_factor {
            // Arrivals so far tell nothing of a jump. Of smaller steps they do, however often these come.
            self.tells_from = now;
        }
        self.set_rate(rate);
        self.law.set_rate(self.flow.rate);
        self.answer()
    }

    /// While reports stay away, and until the whole rate is used again, it shares nothing.
    fn share(&self) -> Option<Assigned> {
        (!self.silence.is_answered()).then(|| Assigned::Rate(self.rate()))
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.silence.due().map(|due| (due, TimeoutReason::NoFeedback))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        let lowest = self.rate() <= self.params.rate_min;
        self.silence.on_timeout(now, lowest);
        self.answer()
    }

    fn target_bitrate(&self, stream: StreamId) -> Option<Bitrate> {
        let priority = self.priorities.get(usize::from(stream.0)).filter(|priority| **priority > 0.0)?;
        let share = priority / self.priorities.iter().sum::<f64>();
        Some(Bitrate::from_bps_f64(self.target().as_bps_f64() * share))
    }

    fn snapshot(&self) -> Snapshot {
        let queue_delay = self.flow.delta.map(TimeDelta::from_secs_f64);
        Snapshot { srtt: self.flow.srtt, queue_delay, target: Some(self.target()), ..Snapshot::default() }
    }

    fn state_variables(&self) -> &'static [StateVariable] {
        self.law.state_variables()
    }

    fn state(&self, values: &mut [Option<f64>]) {
        self.law.state(&self.flow, values);
    }
}
