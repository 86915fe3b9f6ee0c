//! The full-pipe estimator: three round trips in which the delivery rate did not grow by a quarter (section "Exiting
//! Acceleration Based on Bandwidth Plateau").

use super::{Params, Sample};

/// The sign of a full pipe that Startup and `ProbeBW_UP` wait for.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct FullPipe {
    /// `BBR.full_bw_reached`: it was full once.
    pub reached: bool,
    /// `BBR.full_bw_now`: it is full since the search began.
    pub now: bool,
    /// `BBR.full_bw`, bytes per second.
    full_bw: f64,
    /// `BBR.full_bw_count`.
    count: u64,
}

impl FullPipe {
    /// `ResetFullBW`, from a baseline.
    pub fn reset(&mut self, baseline: f64) {
        *self = FullPipe { reached: self.reached, now: false, full_bw: baseline, count: 0 };
    }

    /// `CheckFullBWReached`.
    #[inline]
    pub fn check(&mut self, params: &Params, round_start: bool, sample: &Sample) {
        if self.now || !round_start || sample.app_limited {
            return;
        }
        if sample.delivery_rate >= self.full_bw * params.full_bw_growth {
            return self.reset(sample.delivery_rate);
        }
        self.count += 1;
        self.now = self.count >= params.full_bw_rounds;
        self.reached |= self.now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn three_rounds_below_a_quarter_more_are_a_full_pipe() {
        let (params, mut pipe) = (Params::default(), FullPipe::default());
        let rounds = [(100.0, 0), (125.0, 0), (156.0, 1), (156.25, 0), (180.0, 1), (190.0, 2)];
        for (delivery_rate, count) in rounds {
            pipe.check(&params, true, &Sample { delivery_rate, ..sample() });
            assert_eq!((pipe.count, pipe.now, pipe.reached), (count, false, false), "{delivery_rate}");
        }
        let flat = Sample { delivery_rate: 195.0, ..sample() };
        pipe.check(&params, false, &flat);
        pipe.check(&params, true, &Sample { app_limited: true, ..flat });
        assert!(!pipe.now, "within a round, or limited by the application: no evidence");
        pipe.check(&params, true, &flat);
        assert!(pipe.now && pipe.reached);
        pipe.reset(0.0);
        assert!(!pipe.now && pipe.reached, "what was full once was");
    }
}
