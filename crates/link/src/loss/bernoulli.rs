//! Losses that are independent of each other.

use paceline_units::{RandomStream, params};

params! {
    /// The parameters of independent losses.
    pub struct BernoulliConfig {
        ratio: f64 = 0.0, as Required, in 0.0, 1.0, "", "Probability of a loss";
    }
}

/// Running independent losses.
#[derive(Clone, Debug)]
pub(super) struct Bernoulli {
    ratio: f64,
}

impl Bernoulli {
    pub(super) fn new(config: &BernoulliConfig) -> Bernoulli {
        Bernoulli { ratio: config.ratio }
    }

    #[inline]
    pub(super) fn takes(&mut self, random: &mut RandomStream) -> bool {
        random.chance(self.ratio)
    }
}
