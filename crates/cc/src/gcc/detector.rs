//! The over-use detector and its adaptive threshold (draft-ietf-rmcat-gcc-02 section 5.4).

use super::Params;

/// The detector's view of the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Usage {
    /// Its queue drains.
    Under,
    Normal,
    /// Its queue grows.
    Over,
}

/// The detector of one flow.
#[derive(Clone, Debug)]
pub(super) struct Detector {
    /// Gains of the threshold, per ms.
    k_u: f64,
    k_d: f64,
    bounds: (f64, f64),
    step_longest: f64,
    overuse_time: f64,
    overuse_count: u64,
    overuse_lasts: bool,
    /// del_var_th, ms.
    threshold: f64,
    /// The part of it that counts near the capacity, and whether the rate is near it.
    near_part: f64,
    near: bool,
    previous: f64,
    /// How long the estimate has been above the threshold, ms, and for how many groups.
    above: Option<f64>,
    count: u64,
    /// Time of the last update of the threshold, ms of the receiver's clock.
    updated: Option<i64>,
    usage: Usage,
}

/// The threshold does not follow an estimate that is above it by more, ms.
const OUTLIER: f64 = 15.0;

impl Detector {
    pub(super) fn new(params: &Params) -> Detector {
        Detector {
            k_u: params.k_u,
            k_d: params.k_d,
            bounds: (params.del_var_th_min.as_millis_f64(), params.del_var_th_max.as_millis_f64()),
            step_longest: params.del_var_th_step.as_millis_f64(),
            overuse_time: params.overuse_time_th.as_millis_f64(),
            overuse_count: params.overuse_groups,
            overuse_lasts: params.overuse_lasts,
            threshold: params.del_var_th.as_millis_f64(),
            near_part: params.near_threshold,
            near: false,
            previous: 0.0,
            above: None,
            count: 0,
            updated: None,
            usage: Usage::Normal,
        }
    }

    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// The present threshold, ms.
    pub(super) fn threshold(&self) -> f64 {
        if self.near { self.near_part * self.threshold } else { self.threshold }
    }

    /// Whether the rate is near the capacity.
    pub(super) fn set_near(&mut self, near: bool) {
        self.near = near;
    }

    /// Another estimate: `estimate` as the filter gives it, `scaled` as it is compared with the threshold; `departure` is the
    /// group's inter-departure time, `arrival` the time of arrival, in ms.
    pub(super) fn on_estimate(&mut self, estimate: f64, scaled: f64, departure: f64, arrival: i64) {
        if scaled > self.threshold() {
            let above = self.above.map_or(departure / 2.0, |above| above + departure);
            (self.above, self.count) = (Some(above), self.count + 1);
            if above > self.overuse_time && self.count >= self.overuse_count && estimate >= self.previous {
                (self.above, self.count, self.usage) = (Some(0.0), 0, Usage::Over);
            } else if !self.overuse_lasts && estimate < self.previous {
                self.usage = Usage::Normal;
            }
        } else {
            (self.above, self.count) = (None, 0);
            self.usage = if scaled < -self.threshold() { Usage::Under } else { Usage::Normal };
        }
        self.previous = estimate;
        self.adapt(scaled.abs(), arrival);
    }

    fn adapt(&mut self, size: f64, arrival: i64) {
        let updated = self.updated.replace(arrival).unwrap_or(arrival);
        if size > self.threshold + OUTLIER {
            return;
        }
        let gain = if size < self.threshold { self.k_d } else { self.k_u };
        let passed = (arrival.saturating_sub(updated) as f64).min(self.step_longest);
        let threshold = self.threshold + gain * (size - self.threshold) * passed;
        self.threshold = threshold.clamp(self.bounds.0, self.bounds.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overuse_is_told_after_its_time_while_the_estimate_does_not_fall() {
        let mut detector = Detector::new(&Params::draft());
        detector.on_estimate(13.0, 13.0, 5.0, 0);
        detector.on_estimate(14.0, 14.0, 5.0, 5);
        assert_eq!(detector.usage(), Usage::Normal, "2.5 + 5 ms");
        detector.on_estimate(13.9, 13.9, 5.0, 10);
        assert_eq!(detector.usage(), Usage::Normal, "it falls");
        detector.on_estimate(14.0, 14.0, 5.0, 15);
        assert_eq!(detector.usage(), Usage::Over);
        detector.on_estimate(1.0, 1.0, 5.0, 20);
        assert_eq!(detector.usage(), Usage::Normal);
        detector.on_estimate(-14.0, -14.0, 5.0, 25);
        assert_eq!(detector.usage(), Usage::Under);
    }

    /// At 20 kbit/s a group comes every half second: one that is late is no over-use, two in a row are.
    #[test]
    fn one_group_lasts_no_time() {
        for overuse_time_th in [10, 0].map(paceline_units::TimeDelta::from_millis) {
            let params = Params { overuse_time_th, k_u: 0.0, k_d: 0.0, ..Params::draft() };
            let mut detector = Detector::new(&params);
            detector.on_estimate(20.0, 20.0, 500.0, 0);
            assert_eq!(detector.usage(), Usage::Normal);
            detector.on_estimate(1.0, 1.0, 500.0, 500);
            detector.on_estimate(20.0, 20.0, 500.0, 1000);
            assert_eq!(detector.usage(), Usage::Normal);
            detector.on_estimate(21.0, 21.0, 500.0, 1500);
            assert_eq!(detector.usage(), Usage::Over);
        }
    }

    /// Section 5.4: del_var_th(i) = del_var_th(i-1) + (t(i) - t(i-1)) K(i) (|m(i)| - del_var_th(i-1)).
    #[test]
    fn the_threshold_follows_the_estimate_fast_up_and_slowly_down() {
        let mut detector = Detector::new(&Params::draft());
        detector.on_estimate(0.0, 0.0, 5.0, 0);
        detector.on_estimate(0.0, 20.5, 5.0, 10);
        assert!((detector.threshold() - (12.5 + 10.0 * 0.01 * 8.0)).abs() < 1e-12);
        let before = detector.threshold();
        detector.on_estimate(0.0, 3.3, 5.0, 20);
        assert!((detector.threshold() - (before + 10.0 * 0.000_18 * (3.3 - before))).abs() < 1e-12);
        let before = detector.threshold();
        detector.on_estimate(0.0, before + 15.1, 5.0, 30);
        assert_eq!(detector.threshold(), before, "an outlier");
        (0..100_000).for_each(|n| detector.on_estimate(0.0, 0.0, 5.0, 30 + n * 10));
        assert_eq!(detector.threshold(), 6.0);
    }
}
