//! The link capacity estimate: average and deviation of the incoming rate at the times of over-use. Near it the rate grows
//! additively (draft-ietf-rmcat-gcc-02 section 5.5).

use super::Params;
use paceline_units::Bitrate;

/// The estimate of one flow.
#[derive(Clone, Debug)]
pub(super) struct Capacity {
    weight: f64,
    bounds: (f64, f64),
    /// Average, kbit/s.
    mean: Option<f64>,
    /// Variance over average, kbit/s.
    deviation: f64,
}

/// How many standard deviations are near.
const NEAR: f64 = 3.0;

impl Capacity {
    pub(super) fn new(params: &Params) -> Capacity {
        let bounds = (params.capacity_deviation_min, params.capacity_deviation_max);
        Capacity { weight: params.capacity_weight, bounds, mean: None, deviation: bounds.0 }
    }

    /// The average, if there was an over-use at this level of congestion.
    pub(super) fn mean(&self) -> Option<Bitrate> {
        self.mean.map(rate)
    }

    /// The level of congestion has changed.
    pub(super) fn forget(&mut self) {
        self.mean = None;
    }

    /// Whether `incoming` is so far above the average that the level of congestion must have changed.
    pub(super) fn is_below(&self, incoming: Bitrate) -> bool {
        self.is_exceeded(incoming, NEAR)
    }

    /// Whether `incoming` is more than so many standard deviations above the average.
    pub(super) fn is_exceeded(&self, incoming: Bitrate, deviations: f64) -> bool {
        self.mean.is_some_and(|mean| incoming > rate(mean + deviations * self.standard_deviation(mean)))
    }

    /// The average is known from elsewhere.
    pub(super) fn set_mean(&mut self, mean: Bitrate) {
        self.mean = Some(mean.as_bps_f64() / 1e3);
    }

    /// The same below the average.
    pub(super) fn is_above(&self, incoming: Bitrate) -> bool {
        self.mean.is_some_and(|mean| incoming < rate((mean - NEAR * self.standard_deviation(mean)).max(0.0)))
    }

    /// Over-use at an incoming rate.
    pub(super) fn on_overuse(&mut self, incoming: Bitrate) {
        let sample = incoming.as_bps_f64() / 1e3;
        let mean = self.mean.map_or(sample, |mean| (1.0 - self.weight) * mean + self.weight * sample);
        let error = mean - sample;
        let deviation = (1.0 - self.weight) * self.deviation + self.weight * error * error / mean.max(1.0);
        self.deviation = deviation.clamp(self.bounds.0, self.bounds.1);
        self.mean = Some(mean);
    }

    fn standard_deviation(&self, mean: f64) -> f64 {
        libm::sqrt(self.deviation * mean)
    }
}

fn rate(kbps: f64) -> Bitrate {
    Bitrate::from_bps_f64(kbps * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_is_three_standard_deviations() {
        let mut capacity = Capacity::new(&Params::default());
        assert!(!capacity.is_below(Bitrate::MAX), "nothing is known");
        capacity.on_overuse(Bitrate::from_kbps(1000));
        // One sample: the least deviation, sqrt(0.4 x 1000) = 20 kbit/s.
        assert!(capacity.is_below(Bitrate::from_kbps(1061)) && !capacity.is_below(Bitrate::from_kbps(1059)));
        assert!(capacity.is_above(Bitrate::from_kbps(939)) && !capacity.is_above(Bitrate::from_kbps(941)));
        capacity.on_overuse(Bitrate::from_kbps(2000));
        assert_eq!(capacity.mean(), Some(Bitrate::from_kbps(1050)));
        // 0.05 x 950 squared over 1050 is beyond the largest: sqrt(2.5 x 1050) = 51 kbit/s.
        assert!(capacity.is_below(Bitrate::from_kbps(1205)) && !capacity.is_below(Bitrate::from_kbps(1203)));
    }
}
