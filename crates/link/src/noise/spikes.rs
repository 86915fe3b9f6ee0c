//! Stalls: now and then a middlebox or a handover holds everything for a while; then it leaves together.

use super::stalls::{Span, Stalls};
use super::{Process, Started, Streams, noise_params};
use paceline_units::{RandomStream, TimeDelta, names};

names! {
    /// How the length of a stall is distributed.
    pub enum StallShape {
        /// Exponential, about its mean.
        Exponential = "exponential",
        /// Always the same.
        Constant = "constant",
    }
}

noise_params! {
    /// The parameters of stalls.
    pub struct SpikesNoise {
        every: TimeDelta = TimeDelta::from_millis(10_000), as Required, in 1e-3, 1e6, "", "Mean time from the end of a stall to the next one, exponential";
        length: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "How long a stall lasts, in the mean before the cut";
        shape: StallShape = StallShape::Exponential, "ours", "How lengths are distributed";
        max: TimeDelta = TimeDelta::MAX, in 0.0, f64::INFINITY, "", "The longest stall";
    }
}

/// State of one link that stalls.
#[derive(Clone, Debug)]
pub(super) struct Spikes(Stalls);

impl Started<SpikesNoise> for Spikes {
    fn start(config: &SpikesNoise, streams: &Streams<'_>) -> Spikes {
        let every = Span::Exponential { mean: config.every.as_nanos() as f64, max: f64::INFINITY };
        let (mean, max) = (config.length.as_nanos() as f64, config.max.as_nanos() as f64);
        let length = match config.shape {
            StallShape::Exponential => Span::Exponential { mean, max },
            StallShape::Constant => Span::Constant(mean.min(max)),
        };
        Spikes(Stalls::new(every, length, false, streams.named("stalls")))
    }
}

impl Process for Spikes {
    #[inline]
    fn delay(&mut self, at: u64, _random: &mut RandomStream) -> f64 {
        self.0.end_at(at).map_or(0.0, |end| (end - at) as f64)
    }
}
