//! Google congestion control (GCC): a rate that follows the trend of the one-way delay, bounded by what losses allow.
//!
//! One design with three sources. The parts of the draft (draft-ietf-rmcat-gcc-02), of libwebrtc as it is, and of libwebrtc as it
//! was in 2012 are chosen by parameters. Names are of files in this folder:
//!
//! | part | draft | libwebrtc | libwebrtc-2012 |
//! |---|---|---|---|
//! | groups of packets | `groups` | the same | the same |
//! | arrival filter | `kalman` | `trendline` | `kalman_size` |
//! | over-use detector, adaptive threshold | `detector` | the same, other gains | the same, a fixed threshold |
//! | rate controller | `rate_control`, `capacity` | the same, other constants | the same with the increase of `response` |
//! | incoming rate | a window of `incoming` | the robust estimator there | a window |
//! | losses | `loss` | `loss_v2`, joined in `bandwidth` | `loss`, not below TFRC |
//! | probes | none | `probing`, `probe_estimate`, `alr` | none |
//!
//! Both run at the sender, on reports of single packets. DEVIATIONS.md beside this file says what is left out, and where the
//! sources are silent.

mod alr;
mod bandwidth;
mod capacity;
mod controller;
mod delay;
mod detector;
mod draining;
mod groups;
mod history;
mod incoming;
mod kalman;
mod kalman_size;
mod loss;
mod loss_v2;
mod params;
mod probe_estimate;
mod probing;
mod rate_control;
mod rates;
mod response;
mod trendline;

pub use params::{ArrivalFilter, IncomingRate, Increase, LossControl, Params};

use crate::silence::Silence;
use crate::{FlowSetup, Limits, StreamId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use alr::AppLimited;
use bandwidth::Bandwidth;
use delay::DelayBased;
use detector::Usage;
use draining::Draining;
use history::{History, Outcome};
use incoming::Incoming;
use loss::LossBased;
use loss_v2::LossState;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use probe_estimate::ProbeEstimate;
use probing::{Limit, Probing};
use rates::{plus, times};

/// The sender of one flow.
///
/// `assign` overwrites the delay-based and the loss-based estimate, and with them the target; the averages of incoming rate
/// and losses stay, and so does the time since each estimate was increased or decreased.
#[derive(Clone, Debug)]
pub struct Gcc {
    params: Params,
    largest_packet: Bytes,
    limits: Vec<Limits>,
    history: History,
    /// The news of the present report.
    outcomes: Vec<Outcome>,
    incoming: Incoming,
    delay: DelayBased,
    losses: Losses,
    alr: AppLimited,
    was_limited: bool,
    probing: Option<Probing>,
    probe_estimate: ProbeEstimate,
    /// The longest round trips of the last reports, ms.
    round_trips: VecDeque<i64>,
    rtt: Option<TimeDelta>,
    silence: Silence,
    /// Rate that delay and losses allow.
    allowed: Bitrate,
    /// The target: what is allowed, or less of it while no reports come.
    target: Bitrate,
    draining: Draining,
    /// Whether anything was offered, sent or reported.
    begun: bool,
    said: bool,
    tick: Option<Time>,
}

/// Estimators of losses, and how they join the one of delay.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved")]
enum Losses {
    Draft(LossBased),
    Libwebrtc(Bandwidth),
}

/// No target is lower: it would hardly leave room for a packet a second.
const LOWEST: Bitrate = Bitrate::from_kbps(5);
/// Round trips of so many reports are averaged.
const ROUND_TRIPS: usize = 32;
/// No round trip counts as longer.
const LONGEST_ROUND_TRIP: TimeDelta = TimeDelta::from_secs(3600);
/// A probe that finds less than this part of the incoming rate found nothing.
const PROBE_FLOOR: f64 = 0.85;

impl Gcc {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, setup: &FlowSetup) -> Gcc {
        let streams = setup.priorities.len().clamp(1, 64) as u8;
        let (min, max) = (params.target_bitrate_min, params.target_bitrate_max);
        let limits = (0..streams).map(|id| Limits { stream: StreamId(id), min, max }).collect();
        Gcc::limited(params, setup.largest_packet, limits)
    }

    /// A sender that has sent nothing of streams with these limits.
    fn limited(params: &Params, largest_packet: Bytes, limits: Vec<Limits>) -> Gcc {
        let (lowest, highest) = bounds(params, &limits);
        let start = params.target_bitrate_start.min(highest).max(lowest);
        let losses = match params.loss_control {
            LossControl::Draft => Losses::Draft(LossBased::new(params, start)),
            LossControl::Libwebrtc => Losses::Libwebrtc(Bandwidth::new(params, start, lowest, highest)),
        };
        Gcc {
            largest_packet,
            limits,
            history: History::new(params.step_compensation),
            outcomes: Vec::with_capacity(256),
            incoming: Incoming::new(params),
            delay: DelayBased::new(params, start, lowest),
            losses,
            alr: AppLimited::new(params),
            was_limited: false,
            probing: params.probing.then(|| Probing::new(params, start, highest, largest_packet)),
            probe_estimate: ProbeEstimate::new(),
            round_trips: VecDeque::with_capacity(ROUND_TRIPS),
            rtt: None,
            silence: Silence::new(params.feedback_patience),
            allowed: start,
            target: start,
            draining: Draining::new(params),
            begun: false,
            said: false,
            tick: None,
            params: params.clone(),
        }
    }

    /// The first of what is offered, sent or reported: what is known before anything was sent.
    fn begin(&mut self, now: Time) {
        if self.begun {
            return;
        }
        self.begun = true;
        if let Some(probing) = &mut self.probing {
            probing.start(now);
        }
        self.look(now);
    }

    fn bounds(&self) -> (Bitrate, Bitrate) {
        bounds(&self.params, &self.limits)
    }

    /// Applies the changes that need no report.
    fn look(&mut self, now: Time) {
        if let Losses::Libwebrtc(bandwidth) = &mut self.losses {
            bandwidth.update(now);
            self.tick = Some(now + self.params.process_interval);
        }
        let heard = self.silence.factor() == 1.0;
        if let Some(probing) = self.probing.as_mut().filter(|_| heard) {
            probing.set_alr(self.alr.since());
            probing.on_tick(now);
        }
        self.follow(now);
    }

    /// Takes over what delay and losses allow now, and tells those who live by it.
    fn follow(&mut self, now: Time) {
        let (lowest, highest) = self.bounds();
        self.allowed = match &self.losses {
            Losses::Draft(losses) => {
                losses.estimate().min(self.delay.rate.estimate()).min(highest).max(lowest)
            }
            Losses::Libwebrtc(bandwidth) => bandwidth.target(),
        };
        self.target = times(self.silence.factor(), self.allowed).max(lowest);
        self.alr.set_target(self.target);
        let limit = self.limit();
        if let Some(probing) = &mut self.probing {
            probing.on_estimate(now, self.allowed, limit);
        }
    }

    /// The present limit of the target.
    fn limit(&self) -> Limit {
        match (&self.losses, self.delay.usage()) {
            (_, Usage::Over | Usage::Under) => Limit::DelayChanging,
            (Losses::Libwebrtc(bandwidth), _) if bandwidth.is_rtt_above_limit() => Limit::Rtt,
            (Losses::Libwebrtc(bandwidth), _) => match bandwidth.loss_state() {
                LossState::Decreasing => Limit::Loss,
                LossState::Increasing => Limit::LossIncreasing,
                LossState::DelayBased => Limit::Delay,
            },
            (Losses::Draft(_), Usage::Normal) => Limit::Delay,
        }
    }

    /// A report came. The estimates stand where an outage is over, and what they are made from is measured anew.
    fn end_silence(&mut self, now: Time) {
        let rtt = self.rtt.unwrap_or(TimeDelta::ZERO);
        let was_outage = self.silence.is_outage();
        let changed = self.silence.on_report(now, rtt, self.history.is_in_flight(), true);
        if was_outage && !self.silence.is_outage() {
            self.incoming = Incoming::new(&self.params);
            self.delay.forget();
        }
        if changed {
            self.follow(now);
        }
    }

    /// A report told something new, which stands in `outcomes`.
    fn on_outcomes(&mut self, now: Time) {
        let silence = &self.silence;
        self.outcomes.retain(|outcome| silence.tells_path(now, outcome.sent));
        if self.outcomes.is_empty() {
            return;
        }
        self.measure_round_trip(now);
        let reported = self.outcomes.len() as u64;
        let lost = self.outcomes.iter().filter(|outcome| !outcome.received).count() as u64;
        if let Losses::Libwebrtc(bandwidth) = &mut self.losses {
            bandwidth.on_counts(now, reported, lost);
        }
        self.watch_application(now);
        self.incoming.on_arrivals(&self.outcomes);
        let incoming = self.incoming.rate();
        let probe = self.probe_estimate.on_arrivals(&self.outcomes).map(|probe| {
            // The rate that arrives anyway is no news.
            let floor = incoming
                .map_or(Bitrate::ZERO, |incoming| times(PROBE_FLOOR, incoming).min(self.delay.last()));
            probe.max(floor)
        });
        let arrived = self.outcomes.iter().any(|outcome| outcome.arrived.is_some());
        let changed = match arrived {
            true => self.delay.on_arrivals(now, &self.outcomes, incoming, probe),
            false => delay::Changed::default(),
        };
        let estimate = self.delay.rate.estimate();
        match &mut self.losses {
            Losses::Draft(losses) => losses.on_report(now, reported, lost, estimate, self.rtt),
            Losses::Libwebrtc(bandwidth) => {
                bandwidth.set_incoming(incoming);
                if changed.probe {
                    bandwidth.set_target(estimate);
                }
                if changed.updated {
                    bandwidth.set_delay_based(estimate);
                }
                bandwidth.on_report(now, &self.outcomes, self.was_limited);
            }
        }
        if changed.updated || matches!(self.losses, Losses::Draft(_)) {
            self.follow(now);
        }
        if let Some(probing) = self.probing.as_mut().filter(|_| changed.recovered) {
            probing.set_alr(self.alr.since());
            probing.on_recovery(now);
        }
    }

    fn watch_application(&mut self, now: Time) {
        let limited = self.alr.since().is_some();
        if let Some(probing) = self.probing.as_mut().filter(|_| self.was_limited && !limited) {
            probing.on_alr_ended(now);
        }
        self.was_limited = limited;
    }

    /// The longest round trip of the report goes into an average; the shortest, without the wait for the report, is the path's.
    fn measure_round_trip(&mut self, now: Time) {
        let arrivals = || self.outcomes.iter().filter_map(|outcome| Some((outcome.sent, outcome.arrived?)));
        let (Some(newest), Some(oldest_sent)) =
            (arrivals().map(|(_, arrived)| arrived).max(), arrivals().map(|(sent, _)| sent).min())
        else {
            return;
        };
        let now = history::whole_micros(now);
        let shortest = arrivals().map(|(sent, arrived)| now - sent - (newest - arrived)).min();
        let longest = (now - oldest_sent).max(TimeDelta::ZERO).min(LONGEST_ROUND_TRIP);
        if self.round_trips.len() == ROUND_TRIPS {
            self.round_trips.pop_front();
        }
        self.round_trips.push_back((longest.as_nanos() + 500_000) / 1_000_000);
        let mean = self.round_trips.iter().sum::<i64>() / self.round_trips.len() as i64;
        self.delay.rate.set_rtt(TimeDelta::from_millis(mean));
        self.rtt = shortest.map(|shortest| shortest.max(TimeDelta::ZERO)).or(self.rtt);
        if let (Losses::Libwebrtc(bandwidth), Some(shortest)) = (&mut self.losses, shortest) {
            bandwidth.on_round_trip(now, shortest);
        }
    }

    /// The number that packets which are now reported missing are remembered by.
    fn observation(&self) -> u32 {
        match &self.losses {
            Losses::Draft(_) => 0,
            Losses::Libwebrtc(bandwidth) => bandwidth.observation(),
        }
    }
}

/// Lowest and highest target of all streams together; those of a single one while there is none, so that the next one goes on
/// with what is known of the path.
fn bounds(params: &Params, limits: &[Limits]) -> (Bitrate, Bitrate) {
    let sum = |rate: fn(&Limits) -> Bitrate| limits.iter().map(rate).fold(Bitrate::ZERO, plus);
    let (lowest, highest) = match (sum(|limits| limits.min), sum(|limits| limits.max)) {
        (_, Bitrate::ZERO) => (params.target_bitrate_min, params.target_bitrate_max),
        sums => sums,
    };
    let lowest = lowest.max(LOWEST);
    (lowest, highest.max(lowest))
}
