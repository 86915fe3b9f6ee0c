//! How many tries a packet needs where each may fail.

use paceline_units::RandomStream;

/// Tries of which each fails with the same probability, up to a number of repeats.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tries {
    failure: f64,
    repeats: u32,
    /// Probability that one of the tries succeeds.
    success: f64,
    log_failure: f64,
}

impl Tries {
    pub(super) fn new(failure: f64, repeats: u32) -> Tries {
        let residual = libm::pow(failure, f64::from(repeats) + 1.0);
        Tries { failure, repeats, success: 1.0 - residual, log_failure: libm::log(failure) }
    }

    /// Probability that all of them fail.
    pub(super) fn residual(&self) -> f64 {
        1.0 - self.success
    }

    /// How many fail before the one that succeeds, given that one does: geometric, cut at the repeats. Draws once.
    #[inline]
    pub(super) fn failures(&self, random: &mut RandomStream) -> u32 {
        let place = random.uniform() * self.success;
        if place < 1.0 - self.failure {
            return 0;
        }
        // P(at most k failures) = 1 - failure^(k + 1); with a failure of 1 there is no such k.
        let count = libm::log1p(-place) / self.log_failure;
        if count >= 0.0 && count < f64::from(self.repeats) { count as u32 } else { self.repeats }
    }
}
