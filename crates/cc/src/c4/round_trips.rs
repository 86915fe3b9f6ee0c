//! The nominal maximum of the round trip: how long it gets without a queue (draft-huitema-ccwg-c4-spec-04, Nominal max RTT).

use super::Params;

/// Round trips in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrips {
    /// `nominal_max_rtt`; 0 before the first.
    pub nominal_max: f64,
    /// `running_min_rtt`; infinite before the first.
    pub running_min: f64,
    era_min: f64,
    era_max: f64,
    /// By how much the last one exceeded maximum and threshold.
    pub excess: f64,
}

impl RoundTrips {
    pub const NEW: RoundTrips = RoundTrips {
        nominal_max: 0.0,
        running_min: f64::INFINITY,
        era_min: f64::INFINITY,
        era_max: 0.0,
        excess: 0.0,
    };

    /// Takes a round trip, with the delay threshold as part of the nominal maximum and at most.
    pub fn sample(&mut self, params: &Params, rtt: f64, threshold: (f64, f64)) {
        self.era_max = self.era_max.max(rtt);
        self.era_min = self.era_min.min(rtt);
        self.running_min = self.running_min.min(rtt);
        if self.nominal_max == 0.0 {
            self.set_nominal_max(params, rtt);
        }
        let (part, most) = threshold;
        let threshold = (part * self.nominal_max).min(most);
        self.excess = (rtt - self.nominal_max - threshold).max(0.0);
    }

    pub fn set_nominal_max(&mut self, params: &Params, rtt: f64) {
        self.nominal_max = rtt.max(params.max_rtt_min.as_secs_f64());
    }

    /// An era ended whose packets left no faster than the nominal rate.
    pub fn end_calm_era(&mut self, params: &Params) {
        if self.era_max == 0.0 {
            return;
        }
        let follow = |known: f64, new: f64| (7.0 * known + new) / 8.0;
        let is_less = self.era_min < self.running_min;
        self.running_min = if is_less { self.era_min } else { follow(self.running_min, self.era_min) };
        let most = self.running_min + params.max_jitter.as_secs_f64();
        let longest = self.era_max.min(most);
        let grows = longest > self.nominal_max;
        self.set_nominal_max(params, if grows { longest } else { follow(self.nominal_max, longest) });
    }

    pub fn begin_era(&mut self) {
        (self.era_min, self.era_max) = (f64::INFINITY, 0.0);
    }
}
