//! Normal scores that are correlated in time, and their probabilities: how a process keeps a distribution exactly and has a
//! memory all the same (a Gaussian copula).

use paceline_units::{RandomStream, TimeDelta};

/// The probability that a standard normal value is at most `x`.
pub(crate) fn normal_probability(x: f64) -> f64 {
    0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
}

/// Standard normal values of which those a time t apart have the correlation exp(-t / `correlation`); without a
/// correlation each is independent.
#[derive(Clone, Debug)]
pub(crate) struct Scores {
    correlation_ns: f64,
    /// When the last value was asked for, in nanoseconds, and the value.
    last: Option<(u64, f64)>,
}

impl Scores {
    pub(crate) fn new(correlation: TimeDelta) -> Scores {
        Scores { correlation_ns: correlation.as_nanos() as f64, last: None }
    }

    /// The value at `at`; a time before the last one is taken as of then.
    #[inline]
    pub(crate) fn at(&mut self, at: u64, random: &mut RandomStream) -> f64 {
        let fresh = random.normal();
        if self.correlation_ns <= 0.0 {
            return fresh;
        }
        let score = match self.last {
            None => fresh,
            Some((before, score)) => {
                let kept = libm::exp(-(at.saturating_sub(before) as f64) / self.correlation_ns);
                kept * score + libm::sqrt(1.0 - kept * kept) * fresh
            }
        };
        self.last = Some((self.last.map_or(at, |(before, _)| before.max(at)), score));
        score
    }
}
