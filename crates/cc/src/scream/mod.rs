//! SCReAM v1: self-clocked rate adaptation for multimedia (RFC 8298).
//!
//! A window limits the bytes in flight and follows the queue delay; a rate for each stream follows what the window
//! lets through. What differs from the text is in DEVIATIONS.md beside this file.

mod base_delay;
mod competing;
mod delay_trend;
mod flight;
mod media_rate;
mod params;
mod rate;
mod round_trip;
mod scheduler;
mod window;

pub use params::{PROFILES, Params};

use crate::{
    Acked, Assigned, Controller, DetectorConfig, Limits, LossDetector, Offered, Pacing, PacketResult,
    PacketsReport, Report, SendQueueState, SentPacket, Snapshot, StateVariable, StreamId, StreamSet,
    TargetChange, TimeoutReason, Update,
};
use alloc::vec::Vec;
use base_delay::BaseDelay;
use competing::CompetingFlows;
use delay_trend::{DelayTrend, SAMPLE_INTERVAL};
use flight::FlightHistory;
use media_rate::{Congestion, Event, MediaRate};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use rate::Rates;
use round_trip::{RoundTrip, RoundTripShares};
use scheduler::Turn;
use window::{Window, WindowInput};

/// What a learned packet size starts from.
const LEARNED_FROM: Bytes = Bytes::new(100);

/// What SCReAM must know of the flow it serves.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Its constants.
    pub params: Params,
    /// Whether packets are sent as ECT(1) and marks are answered in proportion.
    pub l4s: bool,
    /// Largest packet on the link, header in.
    pub largest_packet: Bytes,
    /// The priority of each stream, above 0; one for each stream of the flow.
    pub priorities: Vec<f64>,
}

impl Config {
    /// One stream with priority 1.
    pub fn one_stream(params: Params, l4s: bool, largest_packet: Bytes) -> Config {
        Config { params, l4s, largest_packet, priorities: alloc::vec![1.0] }
    }
}

/// The sender half. It has no receiver half: RFC 8888 reports carry all it needs.
///
/// `assign` overwrites the target bitrates (split by priority) and the window.
#[derive(Clone, Debug)]
pub struct Scream {
    params: Params,
    l4s: bool,
    streams: Vec<Stream>,
    turns: Vec<Turn>,
    window: Window,
    base: BaseDelay,
    trend: DelayTrend,
    competing: CompetingFlows,
    flight: FlightHistory,
    round_trip: RoundTrip,
    shares: RoundTripShares,
    /// `qdelay_target`, seconds.
    delay_target: f64,
    mss: Bytes,
    mss_seen: Bytes,
    mss_due: Time,
    flight_limit: f64,
    in_flight: Bytes,
    /// Bytes in flight and window before the last report.
    before_report: (Bytes, f64),
    pending: Pending,
    pacing: Pacing,
    started: Option<Time>,
    last_sent: Option<Time>,
    last_event: Option<Time>,
    window_due: Time,
    sample_due: Time,
    rates_due: Time,
    /// Bytes that may be in flight: the window, and a packet more while the delay is below its target.
    flight_allowed: Bytes,
}

#[derive(Clone, Debug)]
struct Stream {
    detector: LossDetector,
    rates: Rates,
    media: MediaRate,
}

impl Stream {
    #[inline]
    fn on_report<'a>(&mut self, now: Time, packets: impl Iterator<Item = &'a PacketResult>) -> Acked {
        let acked = self.detector.on_report(now, packets);
        self.rates.on_delivered(acked.delivered);
        acked
    }
}

/// What reports brought since the last update of the window.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    acked: u64,
    loss: bool,
    ce: bool,
}

const STATE: &[StateVariable] = &[
    StateVariable { name: "qdelay_trend", unit: "", help: "Trend of the queue delay, 0 to 1" },
    StateVariable { name: "qdelay_fraction_avg", unit: "", help: "Averaged queue delay over its target" },
    StateVariable { name: "qdelay_target", unit: "ms", help: "Target of the queue delay" },
    StateVariable { name: "in_fast_increase", unit: "", help: "1 in fast increase" },
    StateVariable { name: "post_congestion", unit: "", help: "How far growth is back after congestion" },
    StateVariable { name: "l4s_alpha", unit: "", help: "Averaged part of marked bytes" },
    StateVariable { name: "loss_event_rate", unit: "", help: "Averaged part of round trips with losses" },
    StateVariable { name: "window_use", unit: "", help: "Flight over window before the last report" },
    StateVariable { name: "rate_current", unit: "Mbps", help: "Larger of transmitted and acknowledged rate" },
    StateVariable { name: "rate_media", unit: "Mbps", help: "Measured rate of the encoder" },
    StateVariable {
        name: "target_last_max",
        unit: "Mbps",
        help: "Last known highest target of the first stream",
    },
    StateVariable { name: "target_scale", unit: "", help: "Factor between target and encoder, first stream" },
    StateVariable { name: "pacing_rate", unit: "Mbps", help: "Pacing rate; absent without pacing" },
    StateVariable {
        name: "reorder_window",
        unit: "ms",
        help: "Reordering window of the loss detector, first stream",
    },
];

impl Scream {
    /// A sender that has sent nothing. A flow without streams gets one.
    pub fn new(config: Config) -> Scream {
        let Config { params, l4s, largest_packet, priorities } = config;
        let priorities = if priorities.is_empty() { alloc::vec![1.0] } else { priorities };
        let detector = DetectorConfig {
            packet_threshold: None,
            reorder_window: params.reorder_window,
            reorder_window_max: params.reorder_window_max,
        };
        let stream = |&priority: &f64| Stream {
            detector: LossDetector::new(detector),
            rates: Rates::new(Time::ZERO),
            media: MediaRate::new(&params, priority),
        };
        let learned = params.mss_learning > TimeDelta::ZERO;
        Scream {
            l4s,
            streams: priorities.iter().map(stream).collect(),
            turns: priorities.iter().map(|&priority| Turn { priority, waiting: 0, credit: 0.0 }).collect(),
            window: Window::new(&params, Time::ZERO),
            base: BaseDelay::new(),
            trend: DelayTrend::default(),
            competing: CompetingFlows::new(),
            flight: FlightHistory::new(Time::ZERO),
            round_trip: RoundTrip::default(),
            shares: RoundTripShares::new(&params),
            delay_target: params.qdelay_target_lo.as_secs_f64(),
            mss: if learned { LEARNED_FROM } else { largest_packet },
            mss_seen: LEARNED_FROM,
            mss_due: Time::ZERO,
            flight_limit: f64::INFINITY,
            in_flight: Bytes::ZERO,
            before_report: (Bytes::ZERO, 1.0),
            pending: Pending::default(),
            pacing: Pacing::Off,
            started: None,
            last_sent: None,
            last_event: None,
            window_due: Time::ZERO,
            sample_due: Time::ZERO,
            rates_due: Time::ZERO,
            flight_allowed: Bytes::ZERO,
            params,
        }
    }

    /// The parameters in force.
    pub fn params(&self) -> &Params {
        &self.params
    }

    #[cold]
    fn start(&mut self, now: Time) {
        self.started = Some(now);
        self.window = Window::new(&self.params, now);
        self.flight = FlightHistory::new(now);
        self.streams.iter_mut().for_each(|stream| stream.rates = Rates::new(now));
        self.set_pacing();
        self.allow_flight();
    }

    #[inline]
    fn ensure_started(&mut self, now: Time) {
        if self.started.is_none() {
            self.start(now);
        }
    }

    /// `send_wnd` (section 4.1.2.5).
    #[inline]
    fn send_window(&self) -> Bytes {
        self.flight_allowed - self.in_flight
    }

    /// What `send_wnd` is counted from: the window, and a packet more while the delay is at most its target.
    #[inline]
    fn allow_flight(&mut self) {
        let slack = if self.delay() <= self.delay_target { self.mss } else { Bytes::ZERO };
        self.flight_allowed = Bytes::new(self.window.cwnd() as u64) + slack;
    }

    #[inline]
    fn delay(&self) -> f64 {
        self.base.queue_delay().as_secs_f64()
    }

    /// Flight over window, before the last report.
    fn window_use(&self) -> f64 {
        let (in_flight, cwnd) = self.before_report;
        in_flight.as_f64() / cwnd
    }

    fn alpha(&self) -> Option<f64> {
        self.l4s.then(|| self.shares.alpha())
    }

    fn congestion(&self) -> Congestion {
        Congestion {
            trend: self.trend.trend(),
            trend_memory: self.trend.memory(),
            in_fast_increase: self.window.in_fast_increase(),
            post: self.window.post(),
            alpha: self.alpha(),
            window_use: self.window_use(),
        }
    }

    fn current_rate(&self) -> f64 {
        self.streams.iter().map(|stream| stream.rates.current()).sum()
    }

    fn media_rate(&self) -> f64 {
        self.streams.iter().map(|stream| stream.rates.media()).sum()
    }

    fn target_rate(&self) -> f64 {
        self.streams.iter().map(|stream| stream.media.target()).sum()
    }

    fn all_streams(&self) -> StreamSet {
        (0..self.streams.len()).fold(StreamSet::default(), |set, stream| set.with(StreamId(stream as u8)))
    }

    #[inline]
    fn next_stream(&self) -> Option<StreamId> {
        if self.turns.len() > 1 { scheduler::next(&self.turns) } else { None }
    }

    fn answer(&self) -> Update {
        let next_stream = self.next_stream();
        Update { pacing: Some(self.pacing), next_stream, ..Update::allow(self.send_window()) }
    }

    /// Section 4.1.2.6, or the reference's fixed gap from the media rate.
    fn set_pacing(&mut self) {
        let params = &self.params;
        let slowest = params.rate_pace_min.as_bps_f64();
        let fastest = params.rate_pace_max.as_bps_f64();
        self.pacing = if params.pace_from_target {
            let idle = !self.l4s && self.trend.average() <= params.pacing_delay_fraction;
            let start = if self.window.had_congestion() { 0.0 } else { params.pacing_head_room_start };
            let rate = params.pacing_head_room.max(start) * self.target_rate().max(self.media_rate());
            let rate = if idle { fastest } else { rate.max(slowest).min(fastest) };
            if rate >= Bitrate::MAX.as_bps_f64() {
                Pacing::Off
            } else {
                Pacing::Gap(TimeDelta::from_secs_f64(self.mss.as_bits_f64() / rate))
            }
        } else {
            // Before the first round trip is known cwnd * 8 / s_rtt has no limit: the window alone holds.
            let rate = self.window.cwnd() * 8.0 / self.round_trip.seconds();
            let rate = rate.max(slowest).min(fastest);
            if rate >= Bitrate::MAX.as_bps_f64() {
                Pacing::Off
            } else {
                Pacing::Rate(Bitrate::from_bps_f64(rate))
            }
        };
    }

    #[inline]
    fn count_in_flight(&mut self) {
        self.in_flight = match &self.streams[..] {
            [stream] => stream.detector.in_flight(),
            streams => streams.iter().map(|stream| stream.detector.in_flight()).sum(),
        };
    }

    /// Notes the largest packet, where it is learned.
    #[inline]
    fn learn_mss(&mut self, now: Time, size: Bytes) {
        if self.params.mss_learning == TimeDelta::ZERO {
            return;
        }
        self.mss_seen = self.mss_seen.max(size);
        if size > self.mss || now >= self.mss_due {
            self.change_mss(now, size);
        }
    }

    #[cold]
    fn change_mss(&mut self, now: Time, size: Bytes) {
        self.mss = self.mss.max(size);
        if now >= self.mss_due {
            self.mss_due = now + self.params.mss_learning;
            self.mss = self.mss_seen;
            self.mss_seen = LEARNED_FROM;
        }
        self.allow_flight();
    }

    #[inline]
    fn on_packets(&mut self, now: Time, report: &PacketsReport<'_>) -> Update {
        self.before_report = (self.in_flight, self.window.cwnd());
        self.flight.sample(now, self.in_flight.as_u64());
        let (loss, ce) = self.take_acknowledgements(now, report);
        let target =
            if (loss || ce) && self.event_due(now) { self.react(now, loss) } else { TargetChange::None };
        self.measure_rates(now);
        if now >= self.window_due {
            self.window_due = now + self.params.cwnd_update_interval;
            self.update_window(now);
        }
        self.allow_flight();
        Update { target, ..self.answer() }
    }

    /// Acknowledgements, delay, round trip and marks of a report. Answers whether there were losses, and CE.
    #[inline]
    fn take_acknowledgements(&mut self, now: Time, report: &PacketsReport<'_>) -> (bool, bool) {
        let acked = match &mut self.streams[..] {
            [stream] => {
                stream.on_report(now, report.packets.iter().filter(|packet| packet.stream == StreamId(0)))
            }
            streams => {
                let mine = |id: usize| {
                    report.packets.iter().filter(move |packet| usize::from(packet.stream.0) == id)
                };
                let acked =
                    streams.iter_mut().enumerate().map(|(id, stream)| stream.on_report(now, mine(id)));
                acked.reduce(Acked::and).unwrap_or_default()
            }
        };
        self.count_in_flight();
        self.pending.acked += acked.newly_acked.as_u64();
        if let Some((sent, arrived)) = acked.newest {
            self.round_trip.sample(&self.params, now, now.saturating_since(sent));
            if let Some(arrived) = arrived {
                self.base.sample(&self.params, now, sent, arrived);
            }
        }
        let (lost, marked) = (acked.lost > 0, acked.delivered_ce.as_u64());
        self.shares.on_report(
            &self.params,
            now,
            self.round_trip.seconds(),
            acked.delivered.as_u64(),
            marked,
            lost,
        );
        (lost, marked > 0)
    }

    /// At most one reaction per smoothed round trip, loss and ECN together.
    fn event_due(&self, now: Time) -> bool {
        let srtt = self.round_trip.smoothed().unwrap_or(TimeDelta::ZERO);
        self.last_event.is_none_or(|last| now.saturating_since(last) > srtt)
    }

    /// Loss and ECN lower the media rate; the window follows at its next update.
    #[cold]
    fn react(&mut self, now: Time, loss: bool) -> TargetChange {
        self.last_event = Some(now);
        self.pending.loss |= loss;
        self.pending.ce |= !loss;
        let event = if loss { Event::Loss } else { Event::Ce };
        let congestion = self.congestion();
        let mut changed = StreamSet::default();
        for (id, stream) in self.streams.iter_mut().enumerate() {
            if stream.media.on_event(&self.params, now, event, &congestion, &stream.rates) {
                changed = changed.with(StreamId(id as u8));
            }
        }
        TargetChange::Streams(changed)
    }

    #[inline]
    fn measure_rates(&mut self, now: Time) {
        if now >= self.rates_due {
            self.close_rate_intervals(now);
        }
    }

    #[cold]
    fn close_rate_intervals(&mut self, now: Time) {
        self.rates_due = Time::MAX;
        for stream in &mut self.streams {
            if stream.rates.update(&self.params, now) {
                stream.media.adapt_scale(&self.params, &stream.rates);
            }
            self.rates_due = self.rates_due.min(stream.rates.due(&self.params));
        }
    }

    /// The window's update, its inputs first: base delay, averages, and every 50 ms the trend and what hangs on it.
    fn update_window(&mut self, now: Time) {
        self.base.check_reset(&self.params, now, self.delay_target);
        let fraction = self.delay() / self.delay_target;
        self.trend.average_in(&self.params, now, fraction);
        let sample = now >= self.sample_due;
        if sample {
            self.sample_due = now + SAMPLE_INTERVAL;
            let since_start = self.started.map_or(TimeDelta::ZERO, |start| now.saturating_since(start));
            self.trend.sample(&self.params, since_start, fraction);
            self.flight_limit = self.flight.limit(&self.params, self.trend.trend());
            self.adjust_delay_target();
        }
        let pending = core::mem::take(&mut self.pending);
        let input = WindowInput {
            acked: pending.acked as f64,
            in_flight: self.in_flight.as_f64(),
            loss: pending.loss,
            ce: pending.ce,
            alpha: self.alpha(),
            delay_fraction: fraction,
            trend: self.trend.trend(),
            mss: self.mss.as_f64(),
            rate: self.current_rate(),
            flight_limit: self.flight_limit,
        };
        let was_fast = self.window.in_fast_increase();
        self.window.update(&self.params, now, &input);
        if was_fast && !self.window.in_fast_increase() && !(input.loss || input.ce) {
            self.keep_inflections();
        }
        if sample || !self.params.pace_from_target {
            self.set_pacing();
        }
    }

    /// In RFC 8298 the end of fast increase is congestion detected; the reference keeps its own rule.
    fn keep_inflections(&mut self) {
        if self.params.inflection_interval == TimeDelta::MAX {
            for stream in &mut self.streams {
                stream.media.on_fast_increase_left(&self.params, &stream.rates);
            }
        }
    }

    fn adjust_delay_target(&mut self) {
        if self.params.competing_flow_compensation {
            let (delay, losses) = (self.delay(), self.shares.loss_event_rate());
            self.delay_target = self.competing.adjust(&self.params, self.delay_target, delay, losses);
        }
    }
}

impl Controller for Scream {
    fn on_offered(&mut self, now: Time, offered: &Offered, queue: &SendQueueState) -> Update {
        self.ensure_started(now);
        self.measure_rates(now);
        let congestion = self.congestion();
        let id = usize::from(offered.stream.0);
        let Some(stream) = self.streams.get_mut(id) else { return Update::none() };
        stream.rates.on_offered(offered.bytes);
        stream.media.set_queue(now, queue);
        self.turns[id].waiting = queue.bytes.as_u64();
        let mut update = Update::none();
        if offered.frame_end {
            update.discard = stream.media.check_discard(&self.params, now);
            if stream.media.update(&self.params, now, &congestion, &stream.rates) {
                update.target = TargetChange::Streams(StreamSet::default().with(offered.stream));
            }
        }
        update.then(self.answer())
    }

    #[inline]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.ensure_started(now);
        let id = usize::from(packet.stream.0);
        let Some(stream) = self.streams.get_mut(id) else { return Update::none() };
        stream.detector.on_sent(now, packet.sequence, packet.size);
        stream.rates.on_sent(packet.size);
        self.count_in_flight();
        self.last_sent = Some(now);
        self.learn_mss(now, packet.size);
        if self.turns.len() > 1 {
            scheduler::on_sent(&mut self.turns, packet.stream, packet.size.as_u64());
        }
        Update { next_stream: self.next_stream(), ..Update::allow(self.send_window()) }
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        match report {
            Report::Packets(packets) => {
                self.ensure_started(now);
                self.on_packets(now, packets)
            }
            Report::Receiver(_) => Update::none(),
        }
    }

    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        let id = usize::from(queue.stream.0);
        if let Some(stream) = self.streams.get_mut(id) {
            stream.media.set_queue(now, queue);
            self.turns[id].waiting = queue.bytes.as_u64();
        }
        Update { next_stream: self.next_stream(), ..Update::none() }
    }

    fn on_limits(&mut self, _now: Time, limits: &Limits) -> Update {
        let Some(stream) = self.streams.get_mut(usize::from(limits.stream.0)) else { return Update::none() };
        stream.media.set_limits(limits.min, limits.max);
        Update { target: TargetChange::Streams(StreamSet::default().with(limits.stream)), ..Update::none() }
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        self.ensure_started(now);
        let srtt = self.round_trip.seconds();
        let (rate, window) = match assigned {
            Assigned::Rate(rate) => {
                (Some(rate.as_bps_f64()), (srtt > 0.0).then(|| rate.as_bps_f64() * srtt / 8.0))
            }
            Assigned::Window(bytes) => {
                ((srtt > 0.0).then(|| bytes.as_bits_f64() / srtt), Some(bytes.as_f64()))
            }
        };
        if let Some(window) = window {
            self.window.assign(&self.params, window, self.mss.as_f64());
        }
        let mut update = Update::none();
        if let Some(rate) = rate {
            let total: f64 = self.streams.iter().map(|stream| stream.media.priority()).sum();
            for stream in &mut self.streams {
                stream.media.assign(rate * stream.media.priority() / total);
            }
            update.target = TargetChange::Streams(self.all_streams());
        }
        self.set_pacing();
        self.allow_flight();
        update.then(self.answer())
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        let last_sent = self.last_sent?;
        (self.in_flight > Bytes::ZERO).then(|| (last_sent + self.params.stall_time, TimeoutReason::Stalled))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        if self.next_timeout().is_none_or(|(due, _)| now < due) {
            return Update::none();
        }
        self.streams.iter_mut().for_each(|stream| stream.detector.forget());
        self.in_flight = Bytes::ZERO;
        self.answer()
    }

    fn target_bitrate(&self, stream: StreamId) -> Option<Bitrate> {
        self.streams.get(usize::from(stream.0)).map(|stream| stream.media.told())
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            window: Some(Bytes::new(self.window.cwnd() as u64)),
            in_flight: Some(self.in_flight),
            srtt: self.round_trip.smoothed(),
            queue_delay: Some(self.base.queue_delay()),
            target: Some(Bitrate::from_bps_f64(self.target_rate())),
        }
    }

    fn state_variables(&self) -> &'static [StateVariable] {
        STATE
    }

    fn state(&self, values: &mut [Option<f64>]) {
        let first = &self.streams[0];
        let pacing = match self.pacing {
            Pacing::Off => None,
            Pacing::Rate(rate) => Some(rate.as_mbps_f64()),
            Pacing::Gap(TimeDelta::ZERO) => None,
            Pacing::Gap(gap) => Some(self.mss.as_bits_f64() / gap.as_secs_f64() / 1e6),
        };
        let state = [
            Some(self.trend.trend()),
            Some(self.trend.average()),
            Some(self.delay_target * 1e3),
            Some(f64::from(u8::from(self.window.in_fast_increase()))),
            Some(self.window.post()),
            self.alpha(),
            Some(self.shares.loss_event_rate()),
            Some(self.window_use()),
            Some(self.current_rate() / 1e6),
            Some(self.media_rate() / 1e6),
            Some(first.media.last_max() / 1e6),
            Some(first.media.scale()),
            pacing,
            Some(first.detector.reorder_window().as_millis_f64()),
        ];
        for (value, state) in values.iter_mut().zip(state) {
            *value = state;
        }
    }
}
