//! The media rate control of one stream (RFC 8298 section 4.1.3).

use super::Params;
use super::rate::Rates;
use super::sharing::Share;
use crate::marks::bounded_growth;
use crate::{Discard, SendQueueState};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// An encoder, and the measured rate of what it made, follow a target within this time.
const LATELY: TimeDelta = TimeDelta::from_secs(1);
/// Limits of the factor between target and encoder.
const SCALE_RANGE: (f64, f64) = (0.8, 1.1);
/// The factor moves from this interval of measured rates on.
const SCALE_FROM: u64 = 9;
/// Extra growth applies in full up to this rate, bit/s.
const LOW_RATE: f64 = 50_000.0;

/// Growth by packets is as said up to this part in a round trip.
const MOST_GROWTH: f64 = 0.2;

/// Congestion, as the window side knows it.
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
    /// Seconds until a change of the rate shows; the smoothed round trip, where no more counts.
    pub response: f64,
    /// The largest packet, in bits.
    pub mss: f64,
    /// Whether a report should have come by now, or a lower rate is tried: nothing grows.
    pub overdue: bool,
    /// The stream's part if targets were shared by priority; absent where they are not.
    pub share: Option<Share>,
}

impl Congestion {
    /// Whether the target follows marks as Prague's window does.
    fn follows_marks(&self, params: &Params) -> bool {
        self.alpha.is_some() && params.follows_marks()
    }
}

/// A cause for the rate to go down at once.
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
    /// The same, since it is asked for more often than it moves.
    bitrate: Bitrate,
    /// The target of late, bit/s: follows one that falls over [`LATELY`].
    pub lately: f64,
    /// `target_bitrate_last_max`, bit/s; none before the first reduction.
    pub last_max: Option<f64>,
    /// The stream's priority.
    pub priority: f64,
    limits: (f64, f64),
    queue: SendQueueState,
    queue_since: Time,
    /// The largest frame since the send queue was empty.
    largest_frame: Bytes,
    queue_average: f64,
    /// The adaptive factor between target and encoder.
    pub scale: f64,
    was_growing: bool,
    last_update: Option<Time>,
    pending: Option<Event>,
    last_inflection: Option<Time>,
    last_window_cut: Option<Time>,
    last_discard: Option<Time>,
    /// The target, and the last known highest one, before reports stayed away.
    before_silence: (f64, Option<f64>),
}

impl MediaRate {
    /// The rate of a stream that starts.
    pub fn new(params: &Params, priority: f64) -> MediaRate {
        MediaRate {
            target: params.target_bitrate_start.as_bps_f64(),
            bitrate: Bitrate::from_bps_f64(params.target_bitrate_start.as_bps_f64()),
            lately: 0.0,
            last_max: None,
            priority,
            limits: (params.target_bitrate_min.as_bps_f64(), params.target_bitrate_max.as_bps_f64()),
            queue: SendQueueState::default(),
            queue_since: Time::ZERO,
            largest_frame: Bytes::ZERO,
            queue_average: 0.0,
            scale: 1.0,
            was_growing: false,
            last_update: None,
            pending: None,
            last_inflection: None,
            last_window_cut: None,
            last_discard: None,
            before_silence: (0.0, None),
        }
    }

    /// The target, truncated to a whole number.
    #[inline]
    pub fn target_bitrate(&self) -> Bitrate {
        self.bitrate
    }

    /// Bitrate that the encoder is told: the target times the adaptive factor.
    pub fn told(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.target * self.scale)
    }

    /// The highest target that the application allows, bit/s.
    pub fn highest(&self) -> f64 {
        self.limits.1
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

    /// Reports stay away: the target is kept to return to.
    pub fn on_silence(&mut self) {
        self.before_silence = (self.target, self.last_max);
    }

    /// Contact with the receiver was lost: half the target.
    pub fn on_contact_lost(&mut self) {
        self.target /= 2.0;
        self.clamp();
    }

    /// Reports come again: this part of the target of before holds, if the present one is not larger. Where they were late alone, so does
    /// its last known highest one.
    pub fn on_reports_again(&mut self, part: f64, late: bool) {
        let (target, last_max) = self.before_silence;
        self.last_max = if late { last_max } else { Some(target) };
        self.target = self.target.max(part * target);
        self.clamp();
    }

    /// Takes over the state of the send queue.
    pub fn set_queue(&mut self, now: Time, queue: &SendQueueState) {
        self.queue = *queue;
        self.queue_since = now;
    }

    /// Media was offered, after which the send queue is this.
    pub fn on_offered(&mut self, now: Time, queue: &SendQueueState) {
        let others = if queue.bytes == queue.newest_frame { Bytes::ZERO } else { self.largest_frame };
        self.largest_frame = others.max(queue.newest_frame);
        self.set_queue(now, queue);
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
        let before = self.target;
        let follows_marks = event == Event::Ce && congestion.follows_marks(params);
        if !follows_marks {
            self.last_update = Some(now);
        }
        self.keep_inflection(params, self.target, rates);
        self.target *= match (event, congestion.alpha) {
            (Event::Loss, _) => params.beta_r,
            (Event::Ce, None) => params.beta_ecn_rate,
            (Event::Ce, Some(alpha)) if follows_marks => 1.0 - alpha / 2.0,
            (Event::Ce, Some(alpha)) => {
                1.0 - congestion.window_use * alpha / (2.0 * params.l4s_rate_head_room)
            }
        };
        self.was_growing = false;
        self.spare(before, congestion);
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
        if !due || self.queue_age(now) <= self.oldest_kept(params) {
            return None;
        }
        self.last_discard = Some(now);
        self.scale = 1.0;
        self.queue = SendQueueState { stream: self.queue.stream, ..SendQueueState::default() };
        Some(Discard { stream: self.queue.stream, older_than: None, key_frame: true })
    }

    /// The age at which the send queue is discarded: a large frame takes its time, and the key frame in its place would, too.
    fn oldest_kept(&self, params: &Params) -> TimeDelta {
        if params.discard_frames == 0.0 {
            return params.discard_age;
        }
        let frame = self.largest_frame.as_bits_f64() / self.target.max(1.0);
        params.discard_age + TimeDelta::from_secs_f64(params.discard_frames * frame)
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
            if event == Event::Loss || !congestion.follows_marks(params) {
                return true;
            }
        }
        if !self.is_due(params, now) {
            return false;
        }
        let since = self.last_update.replace(now).map_or(TimeDelta::ZERO, |last| now.saturating_since(last));
        let part = (since.as_secs_f64() / LATELY.as_secs_f64()).min(1.0);
        self.lately = self.target.max(self.lately + part * (self.target - self.lately));
        let kept = self.pulled(params, since, congestion);
        self.cut_for_window_use(params, now, congestion);
        self.target = self.pulled(params, since, congestion);
        let queued = self.queued_bits(params);
        self.queue_average += params.tx_queue_weight * (queued - self.queue_average);
        let ramp = self.ramp(params, since, congestion);
        let fast = congestion.in_fast_increase && self.queue_age(now) < params.fast_increase_queue_age;
        let marked = congestion.alpha.is_some_and(|alpha| alpha > params.l4s_growth_alpha);
        let before = self.target;
        if marked && congestion.follows_marks(params) {
            self.target += self.growth_by_packets(params, since, congestion) * self.idle(params, rates);
        } else if fast || marked {
            let idle = self.idle(params, rates);
            self.target += ramp
                * self.inflection(params, congestion)
                * libm::sqrt(self.priority)
                * idle
                * congestion.post;
        } else {
            self.follow_rate(params, congestion, rates, queued, ramp);
        }
        if congestion.overdue {
            self.target = self.target.min(before);
        }
        self.note_growth(params, now, before, rates);
        let measured = rates.current().max(rates.media()).max(rates.media_median());
        let limit = measured * (params.media_limit - congestion.trend_memory);
        if limit > 0.0 {
            self.target = self.target.min(limit);
        }
        self.spare(kept, congestion);
        self.clamp();
        true
    }

    /// The growth by a packet more per interval in each round trip, as Prague's, in bit/s: flows that have equal marks become equal.
    fn growth_by_packets(&self, params: &Params, since: TimeDelta, congestion: &Congestion) -> f64 {
        let interval = params.l4s_growth_interval.as_secs_f64();
        let response = congestion.response.max(interval);
        let per_second = congestion.mss / (interval * response * self.target);
        self.target
            * bounded_growth(per_second, MOST_GROWTH, response)
            * since.min(params.ramp_up_span).as_secs_f64()
    }

    /// The largest increase of the target in an update, in bit/s.
    fn ramp(&self, params: &Params, since: TimeDelta, congestion: &Congestion) -> f64 {
        let round_trips = (params.ramp_up_round_trip.as_secs_f64() / congestion.response).min(1.0);
        let fastest = params.ramp_up_speed.0.as_bps_f64().max(self.target * params.ramp_up_part);
        let per_second = fastest.min(self.target * params.ramp_up_scale);
        let span = if params.ramp_up_span > TimeDelta::ZERO {
            since.min(params.ramp_up_span)
        } else {
            params.rate_adjust_interval
        };
        per_second * span.as_secs_f64() * round_trips
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
        let queue_delay = TimeDelta::from_secs_f64(self.rtp_queue(params).as_bits_f64() / current.max(1.0));
        if queue_delay > params.rtp_qdelay_th {
            self.target *= params.target_rate_scale_rtp_qdelay;
        }
    }

    /// The target after it came closer to its share. A stream's loss is the others' gain, so that their sum stays.
    fn pulled(&self, params: &Params, since: TimeDelta, congestion: &Congestion) -> f64 {
        let Some(share) = congestion.share else { return self.target };
        let part = (params.priority_pull * since.as_secs_f64()).min(1.0);
        self.target + part * (share.rate - self.target)
    }

    /// A stream that had `before`, up to its share, keeps that where the congestion is others'.
    fn spare(&mut self, before: f64, congestion: &Congestion) {
        if let Some(share) = congestion.share.filter(|share| share.others_exceed) {
            self.target = self.target.max(share.rate.min(before));
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

    /// `rtp_queue_size`.
    fn rtp_queue(&self, params: &Params) -> Bytes {
        let newest = if params.tx_queue_newest_frame { Bytes::ZERO } else { self.queue.newest_frame };
        self.queue.bytes - newest
    }

    fn queued_bits(&self, params: &Params) -> f64 {
        self.rtp_queue(params).as_bits_f64().min(params.tx_queue_target_part * self.target)
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

    /// By how much a target would be above its upper limit.
    pub fn beyond_limit(&self, target: f64) -> f64 {
        (target - self.limits.1).max(0.0)
    }

    /// Ends each change of the target: keeps it within its limits.
    fn clamp(&mut self) {
        self.target = self.target.min(self.limits.1).max(self.limits.0);
        self.bitrate = Bitrate::from_bps_f64(self.target);
    }
}

#[cfg(test)]
#[path = "media_rate_tests.rs"]
mod tests;
