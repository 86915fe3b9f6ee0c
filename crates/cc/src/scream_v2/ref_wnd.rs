//! The reference window: reduction and increase (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.2.2).

use super::losses::{Losses, Queue};
use super::{Params, flight::Flight, queue_delay::QueueDelay};
use crate::silence::times;
use paceline_units::{Time, TimeDelta};

/// After so many round trips without congestion the window may be far above what is in flight.
const REST_ROUND_TRIPS: f64 = 100.0;
/// Near `ref_wnd_i` the window moves by this part of its step at least.
const LEAST_STEP: f64 = 0.25;

/// A report's news, and the state that the window's update looks at.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// When the report came.
    pub now: Time,
    /// Smoothed round trip.
    pub srtt: TimeDelta,
    /// The same, with the time for which the receiver holds reports, seconds.
    pub loop_time: f64,
    /// Bytes newly acknowledged, and those of them that were marked.
    pub acked: (f64, f64),
    /// Whether it tells of losses.
    pub loss: bool,
    /// Whether it tells of marks.
    pub marked: bool,
    /// `l4s_alpha`, where marks are answered in proportion.
    pub alpha: Option<f64>,
    /// Target of the queue delay (`qdelay_target`), in seconds.
    pub target: f64,
    /// Queue delay and its variation.
    pub delay: &'a QueueDelay,
    /// Averages of losses, and the level of them.
    pub losses: &'a Losses,
    /// The largest flights of the last two round trips.
    pub flight: &'a Flight,
    /// Size of the largest packet (MSS), in bytes.
    pub mss: f64,
    /// Bytes that the highest target fills, once the target is that.
    pub most: Option<f64>,
    /// Whether the target is well below what arrives.
    pub undershoots: bool,
}

impl Input<'_> {
    fn queue(&self) -> Queue {
        Queue { average: self.delay.qdelay_avg, target: self.target }
    }

    /// Whether marks reduce less near `ref_wnd_i` and where the delay varies.
    fn is_calm(&self, params: &Params) -> bool {
        let limit = params.calm_qdelay * self.target;
        if params.calm_by_average { self.delay.qdelay_avg <= limit } else { self.delay.qdelay < limit }
    }

    /// The round trip, at least VIRTUAL_RTT, seconds.
    fn longer_rtt(&self, params: &Params) -> f64 {
        self.srtt.max(params.virtual_rtt).as_secs_f64()
    }

    /// Reactions that there can be in a round trip, at least one.
    fn reactions(&self, params: &Params) -> f64 {
        (self.srtt.as_secs_f64() / params.reaction_interval.as_secs_f64()).max(1.0)
    }
}

/// A cause of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Packets were lost.
    Loss,
    /// Packets arrived marked.
    Ce,
    /// Queue delay, which counts as marks.
    VirtualCe,
}

/// `ref_wnd`, its inflection point and the times of congestion.
#[derive(Clone, Debug)]
pub struct RefWnd {
    /// The reference window, bytes.
    pub ref_wnd: f64,
    /// `ref_wnd_i`: the window before the last reduction that followed a growth, bytes.
    pub ref_wnd_i: f64,
    ref_wnd_i_update_allowed: bool,
    /// `last_congestion_detected_time`; none before the first.
    last_congestion: Option<Time>,
    /// `last_reaction_to_congestion_time`; none before the first.
    last_reaction: Option<Time>,
    /// Losses and marks since the last reaction.
    loss: bool,
    marked: bool,
    /// The window that a rate policer lets through (`max_policed_ref_wnd`), in bytes.
    pub max_policed: f64,
    policed_round: Time,
}

impl RefWnd {
    /// The window of a flow that starts.
    pub fn new(params: &Params, mss: f64) -> RefWnd {
        RefWnd {
            ref_wnd: smallest(params, mss),
            ref_wnd_i: 1.0,
            ref_wnd_i_update_allowed: true,
            last_congestion: None,
            last_reaction: None,
            loss: false,
            marked: false,
            max_policed: f64::INFINITY,
            policed_round: Time::ZERO,
        }
    }

    /// Replaces the window.
    pub fn set(&mut self, params: &Params, ref_wnd: f64, mss: f64) {
        self.ref_wnd = ref_wnd.max(smallest(params, mss));
    }

    /// The part of the reference window that a packet fills (`ref_wnd_ratio`).
    pub fn ratio(&self, mss: f64) -> f64 {
        (mss / self.ref_wnd).min(1.0)
    }

    /// Whether it was not reduced for so long.
    pub fn is_rested(&self, now: Time, span: TimeDelta) -> bool {
        self.last_reaction.is_none_or(|last| now.saturating_since(last) > span)
    }

    /// Takes a report: reduction first, then increase. Answers the cause of a reduction, and whether it was the first for long.
    pub fn update(&mut self, params: &Params, input: &Input<'_>) -> (Option<Event>, bool) {
        let scl = self.scale_near_inflection(params);
        self.loss |= input.loss && !self.ignores_losses(params, input);
        self.marked |= input.marked;
        if (input.loss || input.marked) && !params.post_congestion_from_reduction {
            self.last_congestion = Some(input.now);
        }
        let event = self.due_event(params, input);
        let rested = event.is_some_and(|event| self.reduce(params, input, event, scl));
        if params.growth_beside_marks || event.is_some() || !RefWnd::is_congested(input) {
            self.increase(params, input, scl);
        }
        self.limit_policed(params, input);
        if let Some(most) = input.most {
            self.ref_wnd = self.ref_wnd.min(most.max(input.flight.largest()));
        }
        self.ref_wnd = self.ref_wnd.max(smallest(params, input.mss));
        (event, rested)
    }

    /// The growth that is left near the inflection point (`scl_t`), 0 to 1.
    fn scale_near_inflection(&self, params: &Params) -> f64 {
        let distance = params.inflection_gain * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        (distance * distance).clamp(params.inflection_min, 1.0)
    }

    /// Whether losses are those of the window before the last reduction.
    fn ignores_losses(&self, params: &Params, input: &Input<'_>) -> bool {
        let span = times(input.srtt, params.loss_ignored_rtts);
        span > TimeDelta::ZERO && !self.is_rested(input.now, span)
    }

    /// Whether a report tells of congestion.
    fn is_congested(input: &Input<'_>) -> bool {
        input.marked || input.losses.hold_growth() || is_queue(input)
    }

    /// The cause of a reduction, at most once each `reaction_interval` or round trip. Losses that do not count are forgotten.
    fn due_event(&mut self, params: &Params, input: &Input<'_>) -> Option<Event> {
        let interval = params.reaction_interval.min(input.srtt);
        if self.last_reaction.is_some_and(|last| input.now.saturating_since(last) < interval) {
            return None;
        }
        self.loss &= input.losses.count(params, input.queue());
        if self.loss {
            Some(Event::Loss)
        } else if self.marked {
            Some(Event::Ce)
        } else {
            is_queue(input).then_some(Event::VirtualCe)
        }
    }

    /// Section 4.2.2.1. Answers whether it was the first reaction for long.
    fn reduce(&mut self, params: &Params, input: &Input<'_>, event: Event, scl: f64) -> bool {
        if core::mem::take(&mut self.ref_wnd_i_update_allowed) {
            self.ref_wnd_i = self.ref_wnd;
        }
        let rest = times(input.srtt.max(params.virtual_rtt), REST_ROUND_TRIPS);
        let rested = self.is_rested(input.now, rest);
        match (event, input.alpha) {
            (Event::Loss, _) => self.reduce_for_loss(params, input),
            (Event::Ce, None) => self.ref_wnd *= params.beta_ecn,
            (Event::Ce, Some(alpha)) => {
                let backoff = self.backoff(params, input, alpha, scl);
                if rested && input.flight.before() > 0.0 {
                    self.ref_wnd = self.ref_wnd.min(input.flight.before());
                }
                self.ref_wnd *= 1.0 - backoff;
            }
            (Event::VirtualCe, _) => {
                let alpha = ((input.delay.qdelay_avg / input.target - 0.5) / 0.5).clamp(0.0, 1.0);
                let fewer = libm::pow(input.reactions(params), params.virtual_ce_rtt_power);
                self.ref_wnd *= 1.0 - alpha / 2.0 / fewer * undershoot(params, input);
            }
        }
        self.ref_wnd = self.ref_wnd.max(smallest(params, input.mss));
        self.last_reaction = Some(input.now);
        (self.loss, self.marked) = (false, false);
        if params.post_congestion_from_reduction {
            self.last_congestion = Some(input.now);
        }
        rested && event == Event::Ce
    }

    /// The part of the window that goes for marks under L4S.
    fn backoff(&self, params: &Params, input: &Input<'_>, alpha: f64, scl: f64) -> f64 {
        let backoff = alpha / 2.0 / input.reactions(params) * undershoot(params, input);
        if input.is_calm(params) {
            backoff * scl.max(LEAST_STEP) * input.delay.backoff_scale(params)
        } else {
            backoff
        }
    }

    fn reduce_for_loss(&mut self, params: &Params, input: &Input<'_>) {
        self.ref_wnd *= if input.losses.show_policer(params, input.queue()) {
            self.max_policed = self.ref_wnd * params.beta_loss_policer;
            params.beta_loss_policed
        } else {
            params.beta_loss
        };
    }

    /// Section 4.2.2.2.
    fn increase(&mut self, params: &Params, input: &Input<'_>, scl: f64) {
        let (acked, marked) = input.acked;
        let short = (input.loop_time / params.virtual_rtt.as_secs_f64()).min(1.0);
        let since = self.last_congestion.map(|last| input.now.saturating_since(last).as_secs_f64());
        let span = params.post_congestion_delay_rtt * input.longer_rtt(params);
        let post = since.map_or(1.0, |since| if since >= span { 1.0 } else { since / span });
        let multiplicative = 1.0 + params.mul_increase_factor * self.ref_wnd / input.mss * post * scl;
        let increment = (acked - marked).max(0.0)
            * self.ratio(input.mss)
            * libm::pow(short, params.virtual_rtt_power)
            * scl.max(LEAST_STEP)
            * input.delay.growth_scale(params)
            * multiplicative;
        let grown = self.ref_wnd + increment;
        if grown <= max_allowed(params, input.flight, input.mss) && input.most.is_none() {
            self.ref_wnd_i_update_allowed |= grown > self.ref_wnd;
            self.ref_wnd = grown;
        }
    }

    /// Section 4.5.2: the limit of a policer, which rises slowly.
    fn limit_policed(&mut self, params: &Params, input: &Input<'_>) {
        if self.max_policed.is_finite() && input.now >= self.policed_round {
            self.policed_round = input.now + input.srtt;
            self.max_policed *= 1.0 + params.policer_recovery;
        }
        self.ref_wnd = self.ref_wnd.min(self.max_policed);
    }
}

/// The largest window that flights allow, bytes.
pub fn max_allowed(params: &Params, flight: &Flight, mss: f64) -> f64 {
    mss + flight.largest() * params.bytes_in_flight_head_room
}

/// The smallest window, bytes.
fn smallest(params: &Params, mss: f64) -> f64 {
    params.min_ref_wnd.as_f64().max(params.min_ref_wnd_packets * mss)
}

/// Whether the averaged queue delay counts as marks.
fn is_queue(input: &Input<'_>) -> bool {
    input.delay.qdelay_avg > input.target / 2.0
}

/// Section 4.5.3: the target has fallen already, with the round trip.
fn undershoot(params: &Params, input: &Input<'_>) -> f64 {
    if params.limit_undershoot && input.undershoots { params.backoff_scale_low_target_rate } else { 1.0 }
}

#[cfg(test)]
#[path = "ref_wnd_tests.rs"]
mod tests;
