//! Pareto jitter from 0 (Lomax): a tail that falls by a power of the delay, as that of crowded middleboxes.

use super::{Process, Started, Streams, noise_params};
use crate::normal::{Scores, normal_probability};
use paceline_units::{RandomStream, TimeDelta};

noise_params! {
    /// The parameters of Pareto noise.
    pub struct ParetoNoise {
        mean: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "Mean before the cut";
        shape: f64 = 2.5, in 1.01, 1e6, "", "Power by which the tail falls; up to 2 the variance is infinite but for the cut";
        max: TimeDelta = TimeDelta::MAX, in 0.0, f64::INFINITY, "", "The largest value";
        correlation: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "ours", "Time over which the correlation of the normal scores falls to 1/e; 0s: packets are independent";
    }
}

/// Running Pareto noise.
#[derive(Clone, Debug)]
pub(super) struct Pareto {
    scale: f64,
    power: f64,
    max: f64,
    scores: Scores,
}

impl Started<ParetoNoise> for Pareto {
    fn start(config: &ParetoNoise, _streams: &Streams<'_>) -> Pareto {
        Pareto {
            scale: config.mean.as_nanos() as f64 * (config.shape - 1.0),
            power: -1.0 / config.shape,
            max: config.max.as_nanos() as f64,
            scores: Scores::new(config.correlation),
        }
    }
}

impl Process for Pareto {
    #[inline]
    fn delay(&mut self, at: u64, random: &mut RandomStream) -> f64 {
        // The score's other side: its probability is exact in the tail, where 1 - u would be rounded.
        let above = normal_probability(-self.scores.at(at, random));
        (self.scale * (libm::pow(above, self.power) - 1.0)).min(self.max)
    }
}
