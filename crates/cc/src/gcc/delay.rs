//! Delay-based control: from the arrivals of packets to A_hat.

use super::detector::{Detector, Usage};
use super::groups::Groups;
use super::history::Outcome;
use super::kalman::Kalman;
use super::kalman_size::KalmanSize;
use super::rate_control::RateControl;
use super::rates::times;
use super::trendline::Trendline;
use super::{ArrivalFilter, Params};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// The changes by a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Changed {
    /// Whether A_hat was updated.
    pub(super) updated: bool,
    /// Whether a probe set it.
    pub(super) probe: bool,
    /// Whether a queue that drained has drained.
    pub(super) recovered: bool,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved")]
enum Filter {
    Kalman(Kalman),
    KalmanSize(KalmanSize),
    Trendline(Trendline),
}

impl Filter {
    fn new(params: &Params) -> Filter {
        match params.arrival_filter {
            ArrivalFilter::Kalman => Filter::Kalman(Kalman::new(params)),
            ArrivalFilter::KalmanSize => Filter::KalmanSize(KalmanSize::new(params)),
            ArrivalFilter::Trendline => Filter::Trendline(Trendline::new(params)),
        }
    }

    fn forget(&mut self) {
        match self {
            Filter::Kalman(filter) => filter.forget(),
            Filter::KalmanSize(filter) => filter.forget(),
            Filter::Trendline(filter) => filter.forget(),
        }
    }
}

/// Arrival filter, detector and rate controller of one flow.
#[derive(Clone, Debug)]
pub(super) struct DelayBased {
    params: Params,
    groups: Groups,
    filter: Filter,
    detector: Detector,
    deltas: u64,
    /// The filter's estimate as it is compared with the threshold, ms.
    scaled: f64,
    heard: Option<Time>,
    pub(super) rate: RateControl,
    /// A_hat when it was last updated.
    last: Bitrate,
}

/// After so long without feedback the filter begins anew.
const FORGET_AFTER: TimeDelta = TimeDelta::from_secs(2);

impl DelayBased {
    pub(super) fn new(params: &Params, start: Bitrate, lowest: Bitrate) -> DelayBased {
        DelayBased {
            groups: Groups::new(params),
            filter: Filter::new(params),
            detector: Detector::new(params),
            deltas: 0,
            scaled: 0.0,
            heard: None,
            rate: RateControl::new(params, start, lowest),
            last: Bitrate::ZERO,
            params: params.clone(),
        }
    }

    pub(super) fn usage(&self) -> Usage {
        self.detector.usage()
    }

    pub(super) fn threshold(&self) -> f64 {
        self.detector.threshold()
    }

    /// The filter's estimate as it is compared with the threshold, ms.
    pub(super) fn scaled(&self) -> f64 {
        self.scaled
    }

    /// A_hat when it was last updated; zero before.
    pub(super) fn last(&self) -> Bitrate {
        self.last
    }

    /// Packets arrived, in this order. `incoming` is R_hat with them, `probe` what a probe among them found.
    pub(super) fn on_arrivals(
        &mut self,
        now: Time,
        outcomes: &[Outcome],
        incoming: Option<Bitrate>,
        probe: Option<Bitrate>,
    ) -> Changed {
        let (mut before, mut recovered) = (self.usage(), false);
        let arrivals =
            outcomes.iter().filter_map(|outcome| Some((outcome.sent, outcome.arrived?, outcome.size)));
        for (sent, arrived, size) in arrivals {
            self.on_arrival(now, sent, arrived, size);
            recovered |= before == Usage::Under && self.usage() == Usage::Normal;
            before = self.usage();
        }
        let mut changed = Changed::default();
        if self.usage() == Usage::Over {
            changed.updated = self.on_overuse(now, incoming);
        } else if let Some(probe) = probe {
            self.rate.set_estimate(now, probe);
            (changed.updated, changed.probe) = (true, true);
        } else {
            self.rate.on_usage(now, self.usage(), incoming);
            (changed.updated, changed.recovered) = (true, recovered);
        }
        if changed.updated {
            self.last = self.rate.estimate();
        }
        changed
    }

    fn on_overuse(&mut self, now: Time, incoming: Option<Bitrate>) -> bool {
        if !self.rate.may_reduce(now, incoming) {
            return false;
        }
        match incoming {
            Some(incoming) => self.rate.on_usage(now, Usage::Over, Some(incoming)),
            None => self.rate.set_estimate(now, times(self.params.decrease_unknown, self.rate.estimate())),
        }
        true
    }

    /// Arrivals are looked at anew: those to come tell nothing beside those before.
    pub(super) fn forget(&mut self) {
        self.groups = Groups::new(&self.params);
        self.filter.forget();
        self.detector = Detector::new(&self.params);
        self.deltas = 0;
    }

    fn on_arrival(&mut self, now: Time, sent: Time, arrived: Time, size: Bytes) {
        if self.heard.is_none_or(|heard| now - heard > FORGET_AFTER) {
            self.forget();
        }
        self.heard = Some(now);
        let Some(group) = self.groups.on_packet(sent, arrived, now, size) else { return };
        self.deltas += 1;
        let arrival = ((arrived.as_nanos() / 1000 + 500) / 1000) as i64;
        let (estimate, gain) = match &mut self.filter {
            Filter::Kalman(filter) => (filter.on_group(&group), 1.0),
            Filter::KalmanSize(filter) => {
                let stable = self.scaled.abs() < self.detector.threshold();
                let estimate = filter.on_group(&group, self.detector.usage(), stable);
                self.rate.set_noise(filter.noise());
                (estimate, 1.0)
            }
            Filter::Trendline(filter) => (filter.on_group(&group, arrival), self.params.trendline_gain),
        };
        if self.deltas < 2 {
            return;
        }
        self.scaled = self.deltas.min(self.params.deltas) as f64 * estimate * gain;
        self.detector.set_near(self.rate.is_near());
        self.detector.on_estimate(estimate, self.scaled, group.departure.as_millis_f64(), arrival);
    }
}
