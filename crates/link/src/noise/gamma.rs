//! Gamma jitter: from exponential (shape 1) to a narrow bell around its mean.

use super::{Process, noise_params};
use paceline_units::{RandomStream, TimeDelta};

noise_params! {
    /// The parameters of gamma noise.
    pub struct GammaNoise {
        mean: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "Mean before the cut";
        shape: f64 = 2.0, in 1.0, 1e6, "", "Shape: the standard deviation is the mean divided by its root";
        max: TimeDelta = TimeDelta::MAX, in 0.0, f64::INFINITY, "", "The largest value";
    }
}

impl Process for GammaNoise {
    /// Marsaglia and Tsang 2000, which needs a shape of 1 or more.
    #[inline]
    fn delay(&mut self, _at: u64, random: &mut RandomStream) -> f64 {
        let d = self.shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        let scale = self.mean.as_nanos() as f64 / self.shape;
        loop {
            let x = random.normal();
            let v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
            // At least 95 % of the draws are taken.
            let u = 1.0 - random.uniform();
            if v > 0.0 && libm::log(u) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                return (scale * d * v).min(self.max.as_nanos() as f64);
            }
        }
    }
}
