//! Jitter as it was measured: a distribution given by its quantiles.

use super::{Process, Started, Streams, noise_params};
use crate::normal::{Scores, normal_probability};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use paceline_units::param::ParamError;
use paceline_units::text::format_time;
use paceline_units::{RandomStream, TimeDelta};

/// The most quantiles: a guard against a table that no memory holds.
const MAX_QUANTILES: usize = 100_000;

noise_params! {
    /// The parameters of measured noise.
    pub struct EmpiricalNoise {
        quantiles: Vec<TimeDelta> = vec![TimeDelta::ZERO], as Required, in 0.0, 1e6, "paceline probe", "Quantiles at even steps of probability, from the smallest value to the largest, linear in between: at least one, none below the one before";
        correlation: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "paceline probe", "Time over which the correlation of the normal scores falls to 1/e; 0s: packets are independent";
    }
    check rising;
}

fn rising(config: &EmpiricalNoise) -> Result<(), ParamError> {
    let quantiles = &config.quantiles;
    if quantiles.is_empty() || quantiles.len() > MAX_QUANTILES {
        let expected = format!("1 to {MAX_QUANTILES} quantiles");
        return Err(ParamError::new("quantiles", format!("{} of them", quantiles.len()), expected));
    }
    match quantiles.windows(2).position(|pair| pair[1] < pair[0]) {
        None => Ok(()),
        Some(place) => {
            let (before, found) = (format_time(quantiles[place]), format_time(quantiles[place + 1]));
            let name = format!("quantiles[{}]", place + 1);
            Err(ParamError::new(&name, found, format!("a time of {before} or more, as the one before it")))
        }
    }
}

/// Running measured noise.
#[derive(Clone, Debug)]
pub(super) struct Empirical {
    quantiles: Vec<f64>,
    scores: Scores,
}

impl Started<EmpiricalNoise> for Empirical {
    fn start(config: &EmpiricalNoise, _streams: &Streams<'_>) -> Empirical {
        let quantiles = config.quantiles.iter().map(|quantile| quantile.as_nanos() as f64).collect();
        Empirical { quantiles, scores: Scores::new(config.correlation) }
    }
}

impl Process for Empirical {
    #[inline]
    fn delay(&mut self, at: u64, random: &mut RandomStream) -> f64 {
        let probability = normal_probability(self.scores.at(at, random));
        let place = probability * self.quantiles.len().saturating_sub(1) as f64;
        let (index, part) = (place as usize, place - libm::floor(place));
        let value =
            |index: usize| self.quantiles.get(index).or(self.quantiles.last()).copied().unwrap_or(0.0);
        value(index) + part * (value(index + 1) - value(index))
    }
}
