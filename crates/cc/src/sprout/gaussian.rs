//! The normal distribution.

/// The probability of a standard normal value between two.
pub(super) fn between(low: f64, high: f64) -> f64 {
    let tail = |value: f64| 0.5 * libm::erfc(value * core::f64::consts::FRAC_1_SQRT_2);
    tail(low) - tail(high)
}
