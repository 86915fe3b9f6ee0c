//! Uniform jitter.

use super::{Process, noise_params};
use paceline_units::{RandomStream, TimeDelta};

noise_params! {
    /// The parameters of uniform noise.
    pub struct UniformNoise {
        max: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "Noise that no packet reaches";
    }
}

impl Process for UniformNoise {
    #[inline]
    fn delay(&mut self, _at: u64, random: &mut RandomStream) -> f64 {
        random.uniform() * self.max.as_nanos() as f64
    }
}
