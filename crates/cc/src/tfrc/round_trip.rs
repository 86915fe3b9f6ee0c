//! The round-trip time R (RFC 5348 section 4.3) and its long-term mean square root (section 4.5). In seconds.

use super::Params;
use libm::sqrt;

/// Shorter samples, and those of clocks that went back, count as this.
const SHORTEST: f64 = 1e-6;

/// R and `R_sqmean`; absent before the first feedback.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct RoundTrip {
    estimates: Option<Estimates>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Estimates {
    r: f64,
    r_sqmean: f64,
    /// Square root of the newest sample.
    sqrt_sample: f64,
}

impl RoundTrip {
    /// Takes a sample, in seconds.
    pub(super) fn on_sample(&mut self, params: &Params, sample: f64) {
        let sample = sample.max(SHORTEST);
        let sqrt_sample = sqrt(sample);
        self.estimates = Some(match self.estimates {
            None => Estimates { r: sample, r_sqmean: sqrt_sample, sqrt_sample },
            Some(Estimates { r, r_sqmean, .. }) => Estimates {
                r: params.q * r + (1.0 - params.q) * sample,
                r_sqmean: params.q2 * r_sqmean + (1.0 - params.q2) * sqrt_sample,
                sqrt_sample,
            },
        });
    }

    /// R: the smoothed round-trip time in seconds; absent before the first sample.
    #[inline]
    pub(super) fn r(&self) -> Option<f64> {
        self.estimates.map(|estimates| estimates.r)
    }

    /// `X_inst` over X (section 4.5).
    pub(super) fn damping(&self) -> f64 {
        self.estimates.map_or(1.0, |estimates| estimates.r_sqmean / estimates.sqrt_sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_counts_whole_and_the_others_a_tenth() {
        let (params, mut round_trip) = (Params::default(), RoundTrip::default());
        assert_eq!((round_trip.r(), round_trip.damping()), (None, 1.0));
        round_trip.on_sample(&params, 0.1);
        assert_eq!(round_trip.r(), Some(0.1));
        round_trip.on_sample(&params, 0.2);
        assert!((round_trip.r().expect("two samples") - 0.11).abs() < 1e-12);
        // Section 4.5: a sample of twice the mean lowers the rate to about 0.7.
        let expected = (0.9 * sqrt(0.1) + 0.1 * sqrt(0.2)) / sqrt(0.2);
        assert!((round_trip.damping() - expected).abs() < 1e-12);
        round_trip.on_sample(&params, -5.0);
        assert!(round_trip.r().is_some_and(|r| r > 0.0));
    }
}
