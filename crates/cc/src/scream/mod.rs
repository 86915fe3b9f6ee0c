//! SCReAM v1: self-clocked rate adaptation for multimedia (RFC 8298).
//!
//! A window limits the bytes in flight and follows the queue delay; a rate for each stream follows what the window
//! lets through. Differences from the text are in DEVIATIONS.md beside this file.

pub(crate) mod base_delay;
mod base_reset;
pub(crate) mod competing;
mod controller;
mod delay_trend;
mod feedback;
mod flight;
mod media_rate;
mod params;
mod rate;
pub(crate) mod round_trip;
mod scheduler;
mod sharing;
pub(crate) mod silence;
mod standing;
mod streams;
mod usual_loss;
mod window;

pub use params::Params;

use crate::{DetectorConfig, FlowSetup, LossDetector, Pacing, StreamId, StreamSet, Update};
use alloc::vec::Vec;
use base_delay::BaseDelay;
use base_reset::BaseReset;
use competing::CompetingFlows;
use delay_trend::DelayTrend;
use flight::FlightHistory;
use media_rate::{Congestion, MediaRate};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use rate::Rates;
use round_trip::{RoundTrip, RoundTripShares};
use scheduler::StreamCredit;
use silence::{Kept, Silence};
use standing::Standing;
use usual_loss::UsualLoss;
use window::Window;

/// First value of the learned packet size.
const LEARNED_FROM: Bytes = Bytes::new(100);

/// The sender half. It has no receiver half: RFC 8888 reports carry all it needs.
///
/// `assign` overwrites the target bitrates (split by priority) and the window.
#[derive(Clone, Debug)]
pub struct Scream {
    params: Params,
    l4s: bool,
    streams: Vec<Stream>,
    credits: Vec<StreamCredit>,
    window: Window,
    base: BaseDelay,
    base_reset: BaseReset,
    standing: Standing,
    trend: DelayTrend,
    competing: CompetingFlows,
    flight: FlightHistory,
    round_trip: RoundTrip,
    shares: RoundTripShares,
    usual_loss: UsualLoss,
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
    silence: Silence<Kept>,
    /// When the last report came, and the averaged interval between reports in seconds.
    last_report: Option<Time>,
    report_interval: f64,
    last_event: Option<Time>,
    /// Whether loss and CE wait for their reaction.
    held_events: (bool, bool),
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
    fn new(params: &Params, now: Time, priority: f64) -> Stream {
        let detector = DetectorConfig {
            packet_threshold: None,
            reorder_window: params.reorder_window,
            reorder_window_max: params.reorder_window_max,
            unreported_is_lost: false,
        };
        Stream {
            detector: LossDetector::new(detector),
            rates: Rates::new(now),
            media: MediaRate::new(params, priority),
        }
    }
}

/// News of reports since the last update of the window.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    acked: u64,
    loss: bool,
    ce: bool,
}

impl Scream {
    /// A sender that has sent nothing. A flow without streams gets one.
    pub fn new(params: &Params, setup: &FlowSetup) -> Scream {
        let FlowSetup { l4s, largest_packet, ref priorities, .. } = *setup;
        let params = params.clone();
        let priorities = if priorities.is_empty() { alloc::vec![1.0] } else { priorities.clone() };
        let stream = |&priority: &f64| Stream::new(&params, Time::ZERO, priority);
        let learned = params.mss_learning > TimeDelta::ZERO;
        Scream {
            l4s,
            streams: priorities.iter().map(stream).collect(),
            credits: priorities
                .iter()
                .map(|&priority| StreamCredit { priority, waiting: 0, credit: 0.0 })
                .collect(),
            window: Window::new(&params, Time::ZERO),
            base: BaseDelay::new(
                params.skew_compensation,
                params.base_delay_bucket,
                params.base_delay_buckets,
            ),
            base_reset: BaseReset::default(),
            standing: Standing::new(params.delay_span),
            trend: DelayTrend::default(),
            competing: CompetingFlows::new(),
            flight: FlightHistory::new(Time::ZERO),
            round_trip: RoundTrip::default(),
            shares: RoundTripShares::new(&params),
            usual_loss: UsualLoss::default(),
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
            silence: Silence::new(params.patience()),
            last_report: None,
            report_interval: 0.0,
            last_event: None,
            held_events: (false, false),
            window_due: Time::ZERO,
            sample_due: Time::ZERO,
            rates_due: Time::ZERO,
            flight_allowed: Bytes::ZERO,
            params,
        }
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

    /// Sets the value that `send_wnd` is counted from: the window, and a packet more while the delay is at most its target.
    #[inline]
    fn allow_flight(&mut self) {
        let slack = if self.delay() <= self.delay_target { self.mss } else { Bytes::ZERO };
        self.flight_allowed = self.window.bytes() + slack;
    }

    #[inline]
    fn delay(&self) -> f64 {
        self.base.queue_delay.as_secs_f64()
    }

    /// Flight over window, before the last report.
    fn window_use(&self) -> f64 {
        let (in_flight, cwnd) = self.before_report;
        in_flight.as_f64() / cwnd
    }

    fn alpha(&self) -> Option<f64> {
        self.l4s.then_some(self.shares.alpha)
    }

    /// The smoothed round trip; zero before the first.
    #[inline]
    fn srtt(&self) -> TimeDelta {
        self.round_trip.smoothed().unwrap_or(TimeDelta::ZERO)
    }

    /// Whether a report should have come by now.
    #[inline]
    fn is_overdue(&self, now: Time) -> bool {
        self.silence.is_overdue(now, self.srtt())
    }

    fn congestion(&self, now: Time) -> Congestion {
        Congestion {
            trend: self.trend.trend,
            trend_memory: self.trend.memory,
            in_fast_increase: self.window.in_fast_increase,
            post: self.window.post,
            alpha: self.alpha(),
            window_use: self.window_use(),
            response: self.response(),
            mss: self.mss.as_bits_f64(),
            overdue: self.in_flight > Bytes::ZERO && self.is_overdue(now) || self.usual_loss.waits(),
            share: None,
        }
    }

    /// Seconds until a change of the rate shows: a round trip and, where that counts, the interval between reports and the span of the delay.
    fn response(&self) -> f64 {
        let round_trip = self.round_trip.seconds();
        if !self.params.ramp_up_reports {
            return round_trip;
        }
        round_trip + self.report_interval + self.params.delay_span.as_secs_f64()
    }

    /// The congestion, and the other streams, as the media rate of the stream `id` hears of them.
    fn congestion_for(&self, now: Time, id: usize) -> Congestion {
        let shares = self.params.priority_pull > 0.0 && self.streams.len() > 1;
        let share = if shares { sharing::share(&self.streams, id) } else { None };
        Congestion { share, ..self.congestion(now) }
    }

    fn current_rate(&self) -> f64 {
        self.streams.iter().map(|stream| stream.rates.current()).sum()
    }

    fn media_rate(&self) -> f64 {
        self.streams.iter().map(|stream| stream.rates.media()).sum()
    }

    /// The window that goes with an assigned rate in bit/s: changed as much as the target, since it is larger than that
    /// for a round trip by the room that frames need; but never smaller than the rate fills.
    fn window_for(&self, rate: f64, srtt: f64) -> f64 {
        let target = self.target_rate();
        // A share beyond a stream's limit does not become its target: it would raise the window with each assignment anew.
        let total: f64 = self.streams.iter().map(|stream| stream.media.priority).sum();
        let beyond = |stream: &Stream| stream.media.beyond_limit(rate * stream.media.priority / total);
        let present = self.streams.iter().filter(|stream| stream.media.priority > 0.0);
        let becomes = rate - present.map(beyond).sum::<f64>();
        let scaled = if target > 0.0 { self.window.cwnd * (becomes / target) } else { 0.0 };
        scaled.max(rate * srtt / 8.0)
    }

    /// The targets of all streams together, bit/s.
    #[inline]
    fn target_rate(&self) -> f64 {
        match &self.streams[..] {
            [stream] => stream.media.target,
            streams => streams.iter().map(|stream| stream.media.target).sum(),
        }
    }

    /// The same, truncated to a whole number.
    #[inline]
    fn target_bitrates(&self) -> Bitrate {
        match &self.streams[..] {
            [stream] => stream.media.target_bitrate(),
            _ => Bitrate::from_bps_f64(self.target_rate()),
        }
    }

    fn all_streams(&self) -> StreamSet {
        (0..self.streams.len()).fold(StreamSet::default(), |set, stream| set.with(StreamId(stream as u8)))
    }

    #[inline]
    fn next_stream(&self) -> Option<StreamId> {
        if self.credits.len() > 1 { scheduler::next(&self.credits) } else { None }
    }

    #[inline]
    fn answer(&self) -> Update {
        let next_stream = self.next_stream();
        Update { pacing: Some(self.pacing), next_stream, ..Update::allow(self.send_window()) }
    }

    /// Section 4.1.2.6, or the reference's fixed gap from the media rate. Half of it for each report interval of silence.
    fn set_pacing(&mut self) {
        let params = &self.params;
        let slowest = params.rate_pace_min.as_bps_f64();
        let fastest = params.rate_pace_max.as_bps_f64();
        let rate = if params.pace_from_target {
            let most = params.pacing_delay_fraction;
            let idle = !self.l4s && most > 0.0 && self.trend.average <= most;
            let start = if self.window.had_congestion { 0.0 } else { params.pacing_head_room_start };
            let media = if self.l4s && params.follows_marks() { 0.0 } else { self.media_rate() };
            let rate = params.pacing_head_room.max(start) * self.target_rate().max(media);
            if idle { fastest } else { rate.max(slowest).min(fastest) }
        } else {
            // Before the first round trip is known cwnd * 8 / s_rtt has no limit: the window alone holds.
            (self.window.cwnd * 8.0 / self.round_trip.seconds()).max(slowest).min(fastest)
        };
        let rate = if self.silence.halvings == 0 {
            rate
        } else {
            (rate.min(self.target_rate()) * libm::exp2(-f64::from(self.silence.halvings))).max(slowest)
        };
        self.pacing = if rate >= Bitrate::MAX.as_bps_f64() {
            Pacing::Off
        } else if params.pace_whole_packets {
            Pacing::Gap(TimeDelta::from_secs_f64(self.mss.as_bits_f64() / rate))
        } else {
            Pacing::Rate(Bitrate::from_bps_f64(rate))
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
}
