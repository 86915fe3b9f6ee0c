//! Lognormal jitter: what a delay looks like that is a product of many small causes.

use super::{Process, Started, Streams, noise_params};
use crate::normal::Scores;
use paceline_units::{RandomStream, TimeDelta};

noise_params! {
    /// The parameters of lognormal noise.
    pub struct LognormalNoise {
        mean: TimeDelta = TimeDelta::from_millis(1), as Required, in 1e-9, 1e6, "", "Mean before the cut";
        std: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "Standard deviation before the cut";
        max: TimeDelta = TimeDelta::MAX, in 0.0, f64::INFINITY, "", "The largest value";
        correlation: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "ours", "Time over which the correlation of the normal scores falls to 1/e; 0s: packets are independent";
    }
}

/// Running lognormal noise.
#[derive(Clone, Debug)]
pub(super) struct Lognormal {
    mu: f64,
    sigma: f64,
    max: f64,
    scores: Scores,
}

impl Started<LognormalNoise> for Lognormal {
    fn start(config: &LognormalNoise, _streams: &Streams<'_>) -> Lognormal {
        let (mean, std) = (config.mean.as_nanos() as f64, config.std.as_nanos() as f64);
        let variance = libm::log1p((std / mean) * (std / mean));
        Lognormal {
            mu: libm::log(mean) - variance / 2.0,
            sigma: libm::sqrt(variance),
            max: config.max.as_nanos() as f64,
            scores: Scores::new(config.correlation),
        }
    }
}

impl Process for Lognormal {
    #[inline]
    fn delay(&mut self, at: u64, random: &mut RandomStream) -> f64 {
        libm::exp(self.mu + self.sigma * self.scores.at(at, random)).min(self.max)
    }
}
