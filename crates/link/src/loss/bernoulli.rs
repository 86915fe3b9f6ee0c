//! Losses that are independent of each other.

use crate::over_time::{Course, RatioOverTime};
use paceline_units::{RandomStream, params};

params! {
    /// The parameters of independent losses.
    pub struct BernoulliConfig {
        ratio: RatioOverTime = RatioOverTime::Constant(0.0), as Required, in 0.0, 1.0, "", "Probability of a loss; may change, as a delay does";
    }
}

/// Running independent losses.
#[derive(Clone, Debug)]
pub(super) struct Bernoulli {
    ratio: Course,
}

impl Bernoulli {
    pub(super) fn new(config: &BernoulliConfig) -> Bernoulli {
        Bernoulli { ratio: config.ratio.course() }
    }

    #[inline]
    pub(super) fn takes(&mut self, now: u64, random: &mut RandomStream) -> bool {
        random.chance(self.ratio.at(now))
    }
}
