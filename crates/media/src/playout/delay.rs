//! The playout delay that follows the delay of frames.
//!
//! Mean delay plus a multiple of its mean deviation, both smoothed exponentially: the first algorithm of Ramjee, Kurose,
//! Towsley and Schulzrinne, "Adaptive playout mechanisms for packetized audio applications in wide-area networks"
//! (INFOCOM 1994, cited from memory, no text at hand), with a faster filter since video has 50 frames per second and not
//! a packet per sample. A constant error between the clocks of sender and receiver cancels.

use paceline_units::{TimeDelta, params};

params! {
    /// The parameters of adaptive playout.
    #[derive(Copy, Eq)]
    pub struct AdaptiveParams {
        smoothing: u32 = 16, in 1.0, 1e6, "Ramjee et al. 1994, no text at hand; a faster filter", "Frames over which mean and deviation are smoothed";
        deviations: u32 = 4, in 0.0, 1e6, "Ramjee et al. 1994, no text at hand", "Mean deviations added to the mean delay";
        min: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "ours", "Least time added";
        max: TimeDelta = TimeDelta::from_millis(500), in 0.0, 1e6, "ours", "Most time added";
    }
    ordered min <= max;
}

/// Smoothed delay of frames, from capture until complete.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DelayEstimate {
    /// Mean and mean deviation.
    smoothed: Option<(TimeDelta, TimeDelta)>,
}

impl DelayEstimate {
    /// A frame took `delay`; answers the playout delay after capture.
    pub(super) fn update(&mut self, delay: TimeDelta, params: &AdaptiveParams) -> TimeDelta {
        let smoothing = i64::from(params.smoothing.max(1));
        let (mut mean, mut deviation) = self.smoothed.unwrap_or((delay, TimeDelta::ZERO));
        let error = delay - mean;
        mean += error / smoothing;
        deviation += (error.max(-error) - deviation) / smoothing;
        self.smoothed = Some((mean, deviation));
        mean + (deviation * i64::from(params.deviations)).max(params.min).min(params.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_delay_adds_nothing_and_jitter_adds_its_multiple() {
        let params = AdaptiveParams::default();
        let mut estimate = DelayEstimate::default();
        let steady = TimeDelta::from_millis(40);
        for _ in 0..100 {
            assert_eq!(estimate.update(steady, &params), steady);
        }
        let mut playout = steady;
        for n in 0..1000 {
            playout = estimate.update(TimeDelta::from_millis(if n % 2 == 0 { 30 } else { 50 }), &params);
        }
        // A delay of 40 +- 10 ms: mean 40 ms, mean deviation 10 ms.
        assert!((78.0..82.0).contains(&playout.as_millis_f64()), "{playout:?}");
    }

    #[test]
    fn what_is_added_stays_within_its_bounds() {
        let params = AdaptiveParams {
            min: TimeDelta::from_millis(5),
            max: TimeDelta::from_millis(20),
            ..AdaptiveParams::default()
        };
        let mut estimate = DelayEstimate::default();
        assert_eq!(estimate.update(TimeDelta::ZERO, &params), TimeDelta::from_millis(5));
        let jump = TimeDelta::from_secs(16);
        assert_eq!(estimate.update(jump, &params), TimeDelta::from_millis(1020));
    }

    #[test]
    fn no_delay_panics() {
        let params = AdaptiveParams { smoothing: 0, ..AdaptiveParams::default() };
        let mut estimate = DelayEstimate::default();
        for delay in [i64::MIN, i64::MAX, i64::MIN, 0, i64::MAX, i64::MAX] {
            estimate.update(TimeDelta::from_nanos(delay), &params);
        }
    }
}
