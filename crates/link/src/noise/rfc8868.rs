//! The jitter of RFC 8868 section 4.5.

use super::{Process, noise_params};
use paceline_units::{RandomStream, TimeDelta};

noise_params! {
    /// The parameters of the clamped Gaussian.
    pub struct Rfc8868Noise {
        std: TimeDelta = TimeDelta::from_millis(5), in 0.0, 1e6, "RFC 8868 4.5.3", "Standard deviation before the absolute value";
        n_std: f64 = 3.0, in 0.0, 1e6, "RFC 8868 4.5.3", "Where it is clamped, in standard deviations";
    }
}

impl Process for Rfc8868Noise {
    #[inline]
    fn delay(&mut self, _at: u64, random: &mut RandomStream) -> f64 {
        libm::fabs(random.normal()).min(self.n_std) * self.std.as_nanos() as f64
    }
}
