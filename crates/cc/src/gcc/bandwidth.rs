//! How libwebrtc joins what delay and losses allow: the start phase, the second loss-based estimator and the rules before it
//! is ready, and the back-off from long round trips.

use super::Params;
use super::history::Outcome;
use super::loss::LossCount;
use super::loss_v2::{LossState, LossV2};
use super::rates::{plus, times};
use alloc::collections::VecDeque;
use paceline_units::{Bitrate, Time, TimeDelta};

/// The sender's bandwidth estimate of one flow.
#[derive(Clone, Debug)]
pub(super) struct Bandwidth {
    params: Params,
    lowest: Bitrate,
    highest: Bitrate,
    target: Bitrate,
    /// Rate that delay allows, once it said so since the target was set from elsewhere.
    delay_based: Option<Bitrate>,
    v2: LossV2,
    state: LossState,
    rtt: TimeDelta,
    backoff: RttBackoff,
    losses: Losses,
    /// Targets of the last second: each later one is higher.
    history: VecDeque<(Time, Bitrate)>,
    decreased: Option<Time>,
}

/// The part of packets that is lost, as it is looked at once a second.
#[derive(Clone, Debug, Default)]
struct Losses {
    /// Counts of the present second, then of what awaits a verdict.
    second: (u64, u64),
    due: Option<Time>,
    count: LossCount,
    first: Option<Time>,
    /// Time of the last verdict, and the part in 1/256.
    verdict: Option<(Time, u8)>,
    /// Whether the rate was lowered for the last verdict.
    answered: bool,
}

/// How long a start is taken for one.
const START: TimeDelta = TimeDelta::from_secs(2);
const LOSS_UPDATE: TimeDelta = TimeDelta::from_secs(1);
/// A verdict on losses holds so long.
const VERDICT_HOLDS: TimeDelta = TimeDelta::from_secs(6);
/// The target may exceed the lowest of this time by a factor and a constant.
const INCREASE_INTERVAL: TimeDelta = TimeDelta::from_millis(1000);
const INCREASE: (f64, Bitrate) = (1.08, Bitrate::from_bps(1000));
const DECREASE_INTERVAL: TimeDelta = TimeDelta::from_millis(300);

impl Bandwidth {
    pub(super) fn new(params: &Params, start: Bitrate, lowest: Bitrate, highest: Bitrate) -> Bandwidth {
        Bandwidth {
            lowest,
            highest,
            target: start.min(highest).max(lowest),
            delay_based: None,
            v2: LossV2::new(params, lowest, highest),
            state: LossState::DelayBased,
            rtt: TimeDelta::ZERO,
            backoff: RttBackoff::default(),
            losses: Losses::default(),
            history: VecDeque::with_capacity(64),
            decreased: None,
            params: params.clone(),
        }
    }

    /// Rate that delay and losses allow together.
    pub(super) fn target(&self) -> Bitrate {
        self.target.max(self.lowest)
    }

    /// Rate that the second loss-based estimator allows, once it is ready.
    pub(super) fn loss_based(&self) -> Option<Bitrate> {
        self.v2.result().map(|(estimate, _)| estimate)
    }

    pub(super) fn loss_state(&self) -> LossState {
        self.state
    }

    /// The part of packets that was lost at the last verdict.
    pub(super) fn loss_part(&self) -> Option<f64> {
        self.losses.verdict.map(|(_, part)| f64::from(part) / 256.0)
    }

    /// The number that packets which are now reported missing are remembered by.
    pub(super) fn observation(&self) -> u32 {
        self.v2.observation()
    }

    pub(super) fn is_rtt_above_limit(&self) -> bool {
        self.backoff.corrected() > self.params.rtt_limit
    }

    pub(super) fn set_bounds(&mut self, lowest: Bitrate, highest: Bitrate) {
        (self.lowest, self.highest) = (lowest, highest);
        self.v2.set_bounds(lowest, highest);
        self.limit();
    }

    pub(super) fn on_sent(&mut self, now: Time) {
        self.backoff.on_sent(now);
    }

    /// A report told of a round trip, without the time that packets waited for the report.
    pub(super) fn on_round_trip(&mut self, now: Time, rtt: TimeDelta) {
        self.backoff.heard = Some((now, rtt));
        if rtt > TimeDelta::ZERO {
            self.rtt = rtt;
        }
    }

    /// A report told of packets: counts for the part of them that is lost.
    pub(super) fn on_counts(&mut self, now: Time, reported: u64, lost: u64) {
        let losses = &mut self.losses;
        losses.second = (losses.second.0 + reported, losses.second.1 + lost);
        if losses.due.is_some_and(|due| now <= due) {
            return;
        }
        losses.due = Some(now + LOSS_UPDATE);
        losses.first.get_or_insert(now);
        let (reported, lost) = core::mem::take(&mut losses.second);
        losses.count.add(reported, lost);
        if let Some(part) = losses.count.take() {
            (losses.verdict, losses.answered) = (Some((now, (part * 256.0).min(255.0) as u8)), false);
            self.update(now);
        }
    }

    /// The incoming rate is known anew.
    pub(super) fn set_incoming(&mut self, incoming: Option<Bitrate>) {
        if let Some(incoming) = incoming {
            self.v2.set_incoming(incoming);
        }
    }

    /// The target is set from elsewhere: by a probe.
    pub(super) fn set_target(&mut self, target: Bitrate) {
        self.delay_based = None;
        self.update_target(target);
        self.history.clear();
    }

    /// Coupling replaces all that the target rests on. The targets of the last second are scaled: by how much it may grow in a
    /// second is counted from when it did, whoever else is assigned something meanwhile.
    pub(super) fn assign(&mut self, target: Bitrate) {
        let factor = target.as_bps_f64() / self.target.as_bps_f64().max(1.0);
        self.v2.assign(target);
        self.delay_based = None;
        self.update_target(target);
        self.history.iter_mut().for_each(|(_, known)| *known = times(factor, *known));
    }

    pub(super) fn set_delay_based(&mut self, delay_based: Bitrate) {
        self.delay_based = Some(delay_based);
        self.limit();
    }

    /// A report: what is new of packets, and whether the application limits the sender.
    pub(super) fn on_report(&mut self, now: Time, outcomes: &[Outcome], in_alr: bool) {
        self.v2.on_report(outcomes, self.delay_based, in_alr);
        self.update(now);
    }

    /// The rules, in their order: the first that has something to say sets the target.
    pub(super) fn update(&mut self, now: Time) {
        if self.is_rtt_above_limit() {
            return self.back_off(now);
        }
        let lossless = self.losses.verdict.is_none_or(|(_, part)| part == 0);
        let starting = self.losses.first.is_none_or(|first| now - first < START);
        if let Some(delay_based) = self.delay_based.filter(|_| lossless && starting)
            && delay_based > self.target
        {
            self.history.clear();
            self.history.push_back((now, self.target));
            return self.update_target(delay_based);
        }
        self.remember(now);
        let Some((since, part)) = self.losses.verdict else { return self.limit() };
        if let Some((estimate, state)) = self.v2.result() {
            self.state = state;
            return self.update_target(estimate);
        }
        if now - since < VERDICT_HOLDS {
            return self.follow_losses(now, part);
        }
        self.limit();
    }

    /// The rule of losses from before the second estimator, which holds until that is ready.
    fn follow_losses(&mut self, now: Time, part: u8) {
        let loss = f64::from(part) / 256.0;
        if loss <= self.params.loss_low {
            let lowest = self.history.front().map_or(self.target, |(_, target)| *target);
            return self.update_target(plus(times(INCREASE.0, lowest), INCREASE.1));
        }
        let wait = DECREASE_INTERVAL + self.rtt;
        let is_due = self.decreased.is_none_or(|decreased| now - decreased >= wait);
        if loss > self.params.loss_high && !self.losses.answered && is_due {
            (self.decreased, self.losses.answered) = (Some(now), true);
            return self.update_target(times(1.0 - self.params.loss_decrease * loss, self.target));
        }
        self.limit();
    }

    /// Round trips beyond any reason: less, once an interval.
    fn back_off(&mut self, now: Time) {
        let is_due = self.decreased.is_none_or(|decreased| now - decreased >= self.params.rtt_drop_interval);
        if is_due && self.target > self.params.rtt_floor {
            self.decreased = Some(now);
            let less = times(self.params.rtt_drop_factor, self.target).max(self.params.rtt_floor);
            return self.update_target(less);
        }
        self.limit();
    }

    fn remember(&mut self, now: Time) {
        let is_old =
            |(time, _): &(Time, Bitrate)| now - *time + TimeDelta::from_millis(1) > INCREASE_INTERVAL;
        while self.history.front().is_some_and(is_old) {
            self.history.pop_front();
        }
        while self.history.back().is_some_and(|(_, target)| self.target <= *target) {
            self.history.pop_back();
        }
        self.history.push_back((now, self.target));
    }

    fn update_target(&mut self, target: Bitrate) {
        let most = self.delay_based.map_or(self.highest, |delay_based| delay_based.min(self.highest));
        self.target = target.min(most).max(self.lowest);
    }

    fn limit(&mut self) {
        self.update_target(self.target);
    }
}

/// The round-trip time, which grows while packets are sent and nothing is heard.
#[derive(Clone, Copy, Debug, Default)]
struct RttBackoff {
    sent: Option<Time>,
    /// When the last report came, or the first packet was sent, and the round trip that it told of.
    heard: Option<(Time, TimeDelta)>,
}

impl RttBackoff {
    fn on_sent(&mut self, now: Time) {
        self.heard.get_or_insert((now, TimeDelta::ZERO));
        self.sent = Some(now);
    }

    fn corrected(&self) -> TimeDelta {
        let (Some(sent), Some((heard, rtt))) = (self.sent, self.heard) else { return TimeDelta::ZERO };
        rtt + sent.saturating_since(heard)
    }
}

#[cfg(test)]
#[path = "bandwidth_tests.rs"]
mod tests;
