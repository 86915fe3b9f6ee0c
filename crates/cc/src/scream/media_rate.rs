//! The media rate control of one stream (RFC 8298 section 4.1.3).

use super::Params;
use super::rate::Rates;
use crate::{Discard, SendQueueState};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Limits of the factor between target and encoder.
const SCALE_RANGE: (f64, f64) = (0.8, 1.1);
/// The factor moves from this interval of measured rates on.
const SCALE_FROM: u64 = 9;
/// Extra growth applies in full up to this rate, bit/s.
const LOW_RATE: f64 = 50_000.0;

/// What the window side knows of congestion.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// `qdelay_trend`.
    pub trend: f64,
    /// `qdelay_trend_mem`.
    pub trend_memory: f64,
    /// Whether fast increase is on.
    pub in_fast_increase: bool,
    /// How far growth is back after congestion.
    pub post: f64,
    /// The part of marked bytes under L4S; absent without.
    pub alpha: Option<f64>,
    /// Flight over window, before the last report.
    pub window_use: f64,
}

/// What made the rate go down at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A loss event.
    Loss,
    /// An ECN event.
    Ce,
}

/// `target_bitrate` of one stream and what belongs to it.
#[derive(Clone, Debug)]
pub struct MediaRate {
    /// `target_bitrate`, bit/s.
    pub target: f64,
    /// `target_bitrate_last_max`, bit/s; none before the first reduction.
    pub last_max: Option<f64>,
    /// The stream's priority.
    pub priority: f64,
    limits: (f64, f64),
    queue: SendQueueState,
    queue_since: Time,
    queue_average: f64,
    /// The adaptive factor between target and encoder.
    pub scale: f64,
    was_growing: bool,
    last_update: Option<Time>,
    pending: Option<Event>,
    last_inflection: Option<Time>,
    last_window_cut: Option<Time>,
    last_discard: Option<Time>,
}

impl MediaRate {
    /// The rate of a stream that starts.
    pub fn new(params: &Params, priority: f64) -> MediaRate {
        MediaRate {
            target: params.target_bitrate_start.as_bps_f64(),
            last_max: None,
            priority,
            limits: (params.target_bitrate_min.as_bps_f64(), params.target_bitrate_max.as_bps_f64()),
            queue: SendQueueState::default(),
            queue_since: Time::ZERO,
            queue_average: 0.0,
            scale: 1.0,
            was_growing: false,
            last_update: None,
            pending: None,
            last_inflection: None,
            last_window_cut: None,
            last_discard: None,
        }
    }

    /// What the encoder is told: the target times the adaptive factor.
    pub fn told(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.target * self.scale)
    }

    /// Takes over the limits that the application set.
    pub fn set_limits(&mut self, min: Bitrate, max: Bitrate) {
        self.limits = (min.as_bps_f64(), max.max(min).as_bps_f64());
        self.clamp();
    }

    /// Replaces the target, as coupling asks.
    pub fn assign(&mut self, target: f64) {
        self.target = target;
        self.clamp();
    }

    /// Takes over the state of the send queue.
    pub fn set_queue(&mut self, now: Time, queue: &SendQueueState) {
        self.queue = *queue;
        self.queue_since = now;
    }

    fn queue_age(&self, now: Time) -> TimeDelta {
        self.queue.oldest.map_or(TimeDelta::ZERO, |age| age + now.saturating_since(self.queue_since))
    }

    /// Loss and ECN act at once, or as soon as the next frame is queued, and stand for the regular update then due.
    /// True if the target changed.
    pub fn on_event(
        &mut self,
        params: &Params,
        now: Time,
        event: Event,
        congestion: &Congestion,
        rates: &Rates,
    ) -> bool {
        if params.rate_events_at_frames {
            self.pending = if self.pending == Some(Event::Loss) { self.pending } else { Some(event) };
            return false;
        }
        self.reduce(params, now, event, congestion, rates);
        true
    }

    fn reduce(&mut self, params: &Params, now: Time, event: Event, congestion: &Congestion, rates: &Rates) {
        self.last_update = Some(now);
        self.keep_inflection(params, self.target, rates);
        self.target *= match (event, congestion.alpha) {
            (Event::Loss, _) => params.beta_r,
            (Event::Ce, None) => params.beta_ecn_rate,
            (Event::Ce, Some(alpha)) => {
                1.0 - congestion.window_use * alpha / (2.0 * params.l4s_rate_head_room)
            }
        };
        self.was_growing = false;
        self.clamp();
    }

    /// Fast increase ended by delay: the rate is the last known highest.
    pub fn on_fast_increase_left(&mut self, params: &Params, rates: &Rates) {
        self.keep_inflection(params, self.target, rates);
    }

    /// `target` is the last known highest rate.
    fn keep_inflection(&mut self, params: &Params, target: f64, rates: &Rates) {
        let highest = if params.inflection_measured { rates.current().min(target) } else { target };
        self.last_max = Some(highest.max(1.0));
    }

    /// Whether the send queue is too old: then everything goes and a key frame is asked for.
    pub fn check_discard(&mut self, params: &Params, now: Time) -> Option<Discard> {
        let due = self.last_discard.is_none_or(|last| now.saturating_since(last) >= params.discard_interval);
        if !due || self.queue_age(now) <= params.discard_age {
            return None;
        }
        self.last_discard = Some(now);
        self.scale = 1.0;
        self.queue = SendQueueState { stream: self.queue.stream, ..SendQueueState::default() };
        Some(Discard { stream: self.queue.stream, older_than: None, key_frame: true })
    }

    /// The factor between target and encoder follows what the encoder makes of its target.
    pub fn adapt_scale(&mut self, params: &Params, rates: &Rates) {
        let weight = params.target_rate_scale_weight;
        if weight > 0.0 && rates.updates >= SCALE_FROM && rates.media() > 0.0 {
            let wanted = self.scale * self.target / rates.media();
            self.scale = ((1.0 - weight) * self.scale + weight * wanted).clamp(SCALE_RANGE.0, SCALE_RANGE.1);
        }
    }

    /// The regular update, after a frame was queued, at most every `rate_adjust_interval`. True if it was due.
    pub fn update(&mut self, params: &Params, now: Time, congestion: &Congestion, rates: &Rates) -> bool {
        if let Some(event) = self.pending.take() {
            self.reduce(params, now, event, congestion, rates);
            return true;
        }
        if !self.is_due(params, now) {
            return false;
        }
        self.last_update = Some(now);
        self.cut_for_window_use(params, now, congestion);
        let queued = self.queued_bits(params);
        self.queue_average += params.tx_queue_weight * (queued - self.queue_average);
        let ramp = params.ramp_up_speed.0.as_bps_f64().min(self.target * params.ramp_up_scale)
            * params.rate_adjust_interval.as_secs_f64();
        let fast = congestion.in_fast_increase && self.queue_age(now) < params.fast_increase_queue_age;
        let marked = congestion.alpha.is_some_and(|alpha| alpha > params.l4s_growth_alpha);
        let before = self.target;
        if fast || marked {
            let idle = self.idle(params, rates);
            self.target += ramp
                * self.inflection(params, congestion)
                * libm::sqrt(self.priority)
                * idle
                * congestion.post;
        } else {
            self.follow_rate(params, congestion, rates, queued, ramp);
        }
        self.note_growth(params, now, before, rates);
        let measured = rates.current().max(rates.media()).max(rates.media_median());
        let limit = measured * (params.media_limit - congestion.trend_memory);
        if limit > 0.0 {
            self.target = self.target.min(limit);
        }
        self.clamp();
        true
    }

    fn is_due(&self, params: &Params, now: Time) -> bool {
        self.last_update.is_none_or(|last| {
            let elapsed = now.saturating_since(last);
            elapsed > params.rate_adjust_interval
                || (elapsed == params.rate_adjust_interval && !params.rate_adjust_exceeds)
        })
    }

    /// The rate follows the measured throughput (the branch outside fast increase).
    fn follow_rate(
        &mut self,
        params: &Params,
        congestion: &Congestion,
        rates: &Rates,
        queued: f64,
        ramp: f64,
    ) {
        let current = rates.current();
        let mut delta = current * (1.0 - params.pre_congestion_guard * congestion.trend)
            - params.tx_queue_size_factor * self.queue_average
            - params.rate_from_target * self.target;
        let idle = self.idle(params, rates);
        if delta > 0.0 {
            if queued > params.tx_queue_hold.as_bits_f64() {
                delta = 0.0;
            }
            let low_rate = 1.0 + params.low_rate_gain * (LOW_RATE / self.target).min(1.0);
            delta =
                (delta * congestion.post * low_rate * self.inflection(params, congestion)).min(ramp) * idle;
        } else {
            delta *= idle;
            if rates.media() > params.media_excess * self.target {
                delta = 0.0;
            }
        }
        self.target += delta;
        let queue_delay = TimeDelta::from_secs_f64(self.queue.bytes.as_bits_f64() / current.max(1.0));
        if queue_delay > params.rtp_qdelay_th {
            self.target *= params.target_rate_scale_rtp_qdelay;
        }
    }

    /// A window that is nearly full cannot carry more.
    fn cut_for_window_use(&mut self, params: &Params, now: Time, congestion: &Congestion) {
        let due =
            self.last_window_cut.is_none_or(|last| now.saturating_since(last) >= params.window_use_interval);
        if due && congestion.window_use > params.window_use_th {
            self.last_window_cut = Some(now);
            self.target *= params.target_rate_scale_rtp_qdelay;
        }
    }

    fn queued_bits(&self, params: &Params) -> f64 {
        let newest = if params.tx_queue_newest_frame { Bytes::ZERO } else { self.queue.newest_frame };
        let bits = (self.queue.bytes - newest).as_bits_f64();
        bits.min(params.tx_queue_target_part * self.target)
    }

    /// `scale_t`: growth is slow near the last known highest rate.
    fn inflection(&self, params: &Params, congestion: &Congestion) -> f64 {
        let gain =
            if congestion.alpha.is_some() { params.inflection_gain_l4s } else { params.inflection_gain };
        self.last_max.map_or(1.0, |last_max| {
            let distance = gain * (self.target - last_max) / last_max;
            (distance * distance).clamp(params.inflection_min, 1.0)
        })
    }

    /// A source that stays below its target says little of what the path carries.
    fn idle(&self, params: &Params, rates: &Rates) -> f64 {
        let used = rates.media().max(rates.current()) / self.target;
        if used < 1.0 { 1.0 + (params.idle_gain * (used - 1.0)).max(-1.0) } else { 1.0 }
    }

    /// When growth ends, the rate reached is remembered.
    fn note_growth(&mut self, params: &Params, now: Time, before: f64, rates: &Rates) {
        let due =
            self.last_inflection.is_none_or(|last| now.saturating_since(last) >= params.inflection_interval);
        if self.was_growing && self.target < before && due && params.inflection_interval < TimeDelta::MAX {
            self.last_inflection = Some(now);
            self.keep_inflection(params, before, rates);
        }
        if self.target != before {
            self.was_growing = self.target > before;
        }
    }

    fn clamp(&mut self) {
        self.target = self.target.min(self.limits.1).max(self.limits.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::param::Profiles;

    const CALM: Congestion = Congestion {
        trend: 0.0,
        trend_memory: 0.0,
        in_fast_increase: false,
        post: 1.0,
        alpha: None,
        window_use: 0.5,
    };

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Rates that all measure `mbps`.
    fn measured(params: &Params, mbps: f64) -> Rates {
        let mut rates = Rates::new(Time::ZERO);
        let bytes = Bytes::new((mbps * 1e6 / 8.0 * params.rate_interval.as_secs_f64()) as u64);
        for interval in 1..=16 {
            rates.on_sent(bytes);
            rates.on_delivered(bytes);
            rates.on_offered(bytes);
            rates.update(params, Time::ZERO + params.rate_interval * interval);
        }
        rates
    }

    fn rate(params: &Params, mbps: f64) -> MediaRate {
        let mut rate = MediaRate::new(params, 1.0);
        rate.assign(mbps * 1e6);
        rate
    }

    #[test]
    fn fast_increase_ramps_at_its_speed() {
        let (rfc, reference) = (Params::default(), Params::profile("reference-2022").unwrap());
        for (params, mbps, expected) in
            [(rfc.clone(), 10.0, 40_000.0), (rfc, 0.32, 32_000.0), (reference, 20.0, 200_000.0)]
        {
            let mut rate = rate(&params, mbps);
            let rates = measured(&params, mbps);
            assert!(rate.update(&params, at(1000), &Congestion { in_fast_increase: true, ..CALM }, &rates));
            assert!((rate.target - mbps * 1e6 - expected).abs() < 1.0, "{} after {mbps} Mbit/s", rate.target);
            assert!(!rate.update(&params, at(1010), &CALM, &rates), "not yet due");
        }
    }

    #[test]
    fn as_printed_the_rate_grows_until_the_send_queue_fills() {
        let params = Params::default();
        let (mut rate, rates) = (rate(&params, 10.0), measured(&params, 10.0));
        rate.update(&params, at(1000), &CALM, &rates);
        assert!((rate.target - 10.04e6).abs() < 1.0);
        let queue = SendQueueState {
            bytes: Bytes::new(37_500),
            packets: 30,
            oldest: Some(TimeDelta::from_millis(30)),
            ..Default::default()
        };
        rate.set_queue(at(1200), &queue);
        rate.update(&params, at(1200), &CALM, &rates);
        assert!((rate.target - (10.04e6 + 40_000.0) * 0.95).abs() < 1.0, "30 ms of queue: {}", rate.target);
    }

    #[test]
    fn in_the_reference_the_rate_follows_the_throughput() {
        let params = Params::profile("reference-2022").unwrap();
        let (mut rate, rates) = (rate(&params, 12.0), measured(&params, 10.0));
        rate.update(&params, at(1000), &CALM, &rates);
        // d = 10 - 12 Mbit/s, slowed by the idle factor 1 + 2 (10/12 - 1).
        assert!((rate.target - (12e6 - 2e6 * (1.0 - 2.0 / 6.0))).abs() < 1.0, "{}", rate.target);
    }

    #[test]
    fn events_act_at_once_and_keep_the_last_highest_rate() {
        let (rfc, reference) = (Params::default(), Params::profile("reference-2022").unwrap());
        let marked = Congestion { alpha: Some(0.5), window_use: 0.8, ..CALM };
        for (params, event, congestion, factor) in [
            (&rfc, Event::Loss, CALM, 0.9),
            (&rfc, Event::Ce, CALM, 0.9),
            (&reference, Event::Ce, CALM, 0.95),
            (&reference, Event::Ce, marked, 1.0 - 0.8 * 0.5 / 3.125),
        ] {
            let mut rate = rate(params, 10.0);
            let (now, rates) = (at(1000), measured(params, 9.0));
            let at_once = rate.on_event(params, now, event, &congestion, &rates);
            assert!(at_once || (rate.target == 10e6 && rate.update(params, now, &congestion, &rates)));
            assert!((rate.target - factor * 10e6).abs() < 1.0, "{event:?} {}", rate.target);
            let kept = if params.inflection_measured { 9e6 } else { 10e6 };
            assert!(rate.last_max.is_some_and(|last_max| (last_max - kept).abs() < 10.0));
        }
    }

    #[test]
    fn growth_is_slow_near_the_last_highest_rate() {
        let params = Params::profile("reference-2022").unwrap();
        let (mut rate, rates) = (rate(&params, 10.0), measured(&params, 30.0));
        rate.last_max = Some(10e6);
        rate.update(&params, at(1000), &Congestion { in_fast_increase: true, ..CALM }, &rates);
        assert!((rate.target - 10e6 - 0.2 * 200_000.0).abs() < 1.0, "{}", rate.target);
    }

    #[test]
    fn an_old_send_queue_is_discarded_whole_but_not_twice_in_a_row() {
        let params = Params::profile("reference-2022").unwrap();
        let mut rate = rate(&params, 10.0);
        let queue = SendQueueState {
            bytes: Bytes::new(100_000),
            packets: 80,
            oldest: Some(TimeDelta::from_millis(90)),
            ..Default::default()
        };
        rate.set_queue(at(1000), &queue);
        assert_eq!(rate.check_discard(&params, at(1010)), None, "100 ms is not older than 100 ms");
        let discard = rate.check_discard(&params, at(1011)).expect("101 ms");
        assert!(discard.key_frame && discard.older_than.is_none());
        assert_eq!(rate.check_discard(&params, at(1200)), None, "nothing waits any more");
        rate.set_queue(at(1150), &queue);
        assert_eq!(rate.check_discard(&params, at(1260)), None);
        assert!(rate.check_discard(&params, at(1261)).is_some());
    }

    #[test]
    fn the_target_stays_within_its_limits_and_the_measured_rate() {
        let params = Params::default();
        let mut rate = rate(&params, 50.0);
        rate.update(&params, at(1000), &CALM, &measured(&params, 10.0));
        assert!((rate.target - 20e6).abs() < 1.0, "twice the measured rate: {}", rate.target);
        rate.set_limits(Bitrate::from_mbps(1), Bitrate::from_mbps(5));
        assert_eq!(rate.target, 5e6);
    }
}
