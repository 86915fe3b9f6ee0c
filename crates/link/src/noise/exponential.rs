//! Exponential jitter.

use super::{Process, noise_params};
use paceline_units::{RandomStream, TimeDelta};

noise_params! {
    /// The parameters of exponential noise.
    pub struct ExponentialNoise {
        mean: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "Mean before the cut";
        max: TimeDelta = TimeDelta::MAX, in 0.0, f64::INFINITY, "", "The largest value";
    }
}

impl Process for ExponentialNoise {
    #[inline]
    fn delay(&mut self, _at: u64, random: &mut RandomStream) -> f64 {
        random.exponential(self.mean.as_nanos() as f64).min(self.max.as_nanos() as f64)
    }
}
