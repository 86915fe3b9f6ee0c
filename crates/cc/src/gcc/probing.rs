//! The probe controller: when to look whether the path carries more, and at which rates.

use super::Params;
use super::probe_estimate::PACKETS;
use super::rates::times;
use crate::Probe;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Limits of the estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limit {
    /// Losses, and it grows again.
    LossIncreasing,
    Loss,
    Delay,
    /// Delay, which has changed just now.
    DelayChanging,
    Rtt,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Initial,
    /// A result above the rate leads to a further probe.
    Waiting(Bitrate),
    Complete,
}

/// The controller of one flow.
#[derive(Clone, Debug)]
pub(super) struct Probing {
    params: Params,
    /// Bytes of a probe at least.
    least: Bytes,
    highest: Bitrate,
    state: State,
    limit: Limit,
    estimate: Bitrate,
    /// When a probe was begun last.
    probed: Option<Time>,
    alr_since: Option<Time>,
    alr_ended: Option<Time>,
    /// When the estimate fell much, and from where.
    dropped: Option<(Time, Bitrate)>,
    probed_after_drop: Option<Time>,
    next_id: u64,
    /// Probes that wait to be asked for.
    pending: [Option<Probe>; 2],
}

/// Bytes of a probe at most: an application may allow any rate.
const MOST_BYTES: Bytes = Bytes::new(4_000_000);
/// A probe for the sum of several streams' maxima, in estimates: as far as libwebrtc probes when more is allocated.
const OF_SEVERAL: f64 = 2.0;
/// So long after the first packet of a probe its result is waited for.
const PATIENCE: TimeDelta = TimeDelta::from_secs(1);
/// A drop is large below this part.
const LARGE_DROP: f64 = 0.66;
const DROP_COUNTS: TimeDelta = TimeDelta::from_secs(5);
/// The probe after it, as a part of the estimate before.
const PART_AFTER_DROP: f64 = 0.85;
/// How far below the probe its result may lie.
const UNCERTAINTY: f64 = 0.05;
const BETWEEN_DROPS: TimeDelta = TimeDelta::from_secs(5);
/// An application-limited region counts so long after its end.
const ALR_COUNTS: TimeDelta = TimeDelta::from_secs(3);

impl Probing {
    /// `largest` is the size of the largest packet.
    pub(super) fn new(params: &Params, start: Bitrate, highest: Bitrate, largest: Bytes) -> Probing {
        Probing {
            least: Bytes::new(largest.as_u64().saturating_mul(PACKETS)),
            highest,
            state: State::Initial,
            limit: Limit::Delay,
            estimate: start,
            probed: None,
            alr_since: None,
            alr_ended: None,
            dropped: None,
            probed_after_drop: None,
            next_id: 0,
            pending: [None; 2],
            params: params.clone(),
        }
    }

    /// The next probe to ask for.
    pub(super) fn take(&mut self) -> Option<Probe> {
        let [first, second] = self.pending;
        self.pending = [second, None];
        first
    }

    /// The flow starts.
    pub(super) fn start(&mut self, now: Time) {
        let rates =
            [self.params.probe_first, self.params.probe_second].map(|factor| times(factor, self.estimate));
        self.begin(now, &rates, true);
    }

    /// The largest rate that makes sense is another: if there is more to win now, look for it. Where it is the sum of `several` maxima, nobody
    /// says that the path carries so much, and the probe is at most [`OF_SEVERAL`] times the estimate.
    pub(super) fn set_highest(&mut self, now: Time, highest: Bitrate, several: bool) {
        let before = core::mem::replace(&mut self.highest, highest);
        if self.state == State::Complete && before < highest && self.estimate < highest {
            let most = if several { times(OF_SEVERAL, self.estimate) } else { highest };
            self.begin(now, &[highest.min(most)], false);
        }
    }

    /// An application-limited region began, or lasts.
    pub(super) fn set_alr(&mut self, since: Option<Time>) {
        self.alr_since = since;
    }

    pub(super) fn on_alr_ended(&mut self, now: Time) {
        self.alr_ended = Some(now);
    }

    /// The estimate, and what limits it.
    pub(super) fn on_estimate(&mut self, now: Time, estimate: Bitrate, limit: Limit) {
        self.limit = limit;
        if estimate < times(LARGE_DROP, self.estimate) {
            self.dropped = Some((now, self.estimate));
        }
        self.estimate = estimate;
        if matches!(self.state, State::Waiting(further) if estimate > further) {
            self.begin(now, &[times(self.params.probe_further, estimate)], true);
        }
    }

    /// Time has passed.
    pub(super) fn on_tick(&mut self, now: Time) {
        let waited = self.probed.is_none_or(|probed| now - probed > PATIENCE);
        if waited && matches!(self.state, State::Waiting(_)) {
            self.state = State::Complete;
        }
        let Some(since) = self.alr_since.filter(|_| self.state == State::Complete && self.params.alr_probing)
        else {
            return;
        };
        if now >= since.max(self.probed.unwrap_or(Time::ZERO)) + self.params.alr_probe_interval {
            self.begin(now, &[times(self.params.alr_probe_factor, self.estimate)], true);
        }
    }

    /// A queue has drained after over-use: if the estimate fell much just before, look whether that was too much.
    pub(super) fn on_recovery(&mut self, now: Time) {
        let in_alr = self.alr_since.is_some() || self.alr_ended.is_some_and(|ended| now - ended < ALR_COUNTS);
        let Some((dropped, before)) = self.dropped.filter(|_| in_alr && self.state == State::Complete) else {
            return;
        };
        let suggested = times(PART_AFTER_DROP, before);
        let rested = self.probed_after_drop.is_none_or(|probed| now - probed > BETWEEN_DROPS);
        if times(1.0 - UNCERTAINTY, suggested) > self.estimate && now - dropped < DROP_COUNTS && rested {
            self.probed_after_drop = Some(now);
            self.begin(now, &[suggested], false);
        }
    }

    /// Probes at `rates`, which the limits cut; `further`: and beyond, if the last finds enough.
    fn begin(&mut self, now: Time, rates: &[Bitrate], mut further: bool) {
        let most = match self.limit {
            Limit::Rtt | Limit::DelayChanging | Limit::Loss => return,
            Limit::LossIncreasing => self.highest.min(times(self.params.probe_loss_limit, self.estimate)),
            Limit::Delay => self.highest,
        };
        self.pending = [None; 2];
        let mut last = Bitrate::ZERO;
        for (pending, rate) in self.pending.iter_mut().zip(rates) {
            further &= *rate < most;
            last = (*rate).min(most);
            let bytes = last.bytes_in(self.params.probe_duration).min(MOST_BYTES).max(self.least);
            *pending = Some(Probe { id: self.next_id, rate: last, bytes });
            self.next_id += 1;
        }
        self.probed = Some(now);
        let enough = times(self.params.probe_enough, last);
        self.state = if further { State::Waiting(enough) } else { State::Complete };
    }
}

#[cfg(test)]
#[path = "probing_tests.rs"]
mod tests;
