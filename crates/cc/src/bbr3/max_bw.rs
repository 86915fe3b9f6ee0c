//! `BBR.max_bw`: the largest delivery rate of this cycle of ProbeBW and the one before.

use super::{Params, Sample};
use crate::bbr::max_filter::MaxFilter;

/// The filter and its virtual time.
#[derive(Clone, Debug)]
pub(super) struct MaxBw {
    filter: MaxFilter,
    cycle_count: u64,
}

impl MaxBw {
    pub fn new(params: &Params) -> MaxBw {
        MaxBw { filter: MaxFilter::new(params.max_bw_filter_len), cycle_count: 0 }
    }

    /// Bytes per second; 0 before the first sample.
    #[inline]
    pub fn get(&self) -> f64 {
        self.filter.best().unwrap_or(0.0)
    }

    /// Section "Updating the BBR.max_bw Max Filter": what the application limited counts only if it is more.
    #[inline]
    pub fn update(&mut self, sample: &Sample) {
        let rate = sample.delivery_rate;
        if rate > 0.0 && (rate >= self.get() || !sample.app_limited) {
            self.filter.update(self.cycle_count, rate);
        }
    }

    /// `AdvanceMaxBwFilter`.
    pub fn advance(&mut self) {
        self.cycle_count += 1;
    }

    /// Coupling says what the bandwidth is.
    pub fn assign(&mut self, bw: f64) {
        self.filter.assign(self.cycle_count, bw);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn a_rate_counts_in_its_cycle_and_the_next() {
        let mut max_bw = MaxBw::new(&Params::default());
        let measure = |max_bw: &mut MaxBw, delivery_rate| {
            max_bw.update(&Sample { delivery_rate, ..sample() });
            max_bw.get()
        };
        assert_eq!(measure(&mut max_bw, 100.0), 100.0);
        max_bw.advance();
        assert_eq!(measure(&mut max_bw, 60.0), 100.0);
        max_bw.advance();
        assert_eq!(measure(&mut max_bw, 50.0), 60.0);
    }

    #[test]
    fn what_the_application_limits_counts_only_upward() {
        let mut max_bw = MaxBw::new(&Params::default());
        for (delivery_rate, app_limited, expected) in
            [(100.0, false, 100.0), (40.0, true, 100.0), (120.0, true, 120.0), (0.0, false, 120.0)]
        {
            max_bw.advance();
            max_bw.advance();
            max_bw.update(&Sample { delivery_rate, app_limited, ..sample() });
            assert_eq!(max_bw.get(), expected);
        }
    }
}
