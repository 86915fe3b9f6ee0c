//! Uniform jitter.

use super::noise_params;
use paceline_units::{RandomStream, TimeDelta};

noise_params! {
    /// The parameters of uniform noise.
    pub struct UniformNoise {
        max: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "Noise that no packet reaches";
    }
}

impl UniformNoise {
    #[inline]
    pub(super) fn draw(&self, random: &mut RandomStream) -> f64 {
        random.uniform() * self.max.as_nanos() as f64
    }
}
