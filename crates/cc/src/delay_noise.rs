//! Noise of a queue delay, by its falls: our own queue, while its rate grows or as slowly as a queue drains, makes none.

/// Seconds over which the noise is averaged.
const SECONDS: f64 = 3.0;
/// No look at the delay has more weight in it.
const MOST_WEIGHT: f64 = 0.2;

/// The noise after a look, in seconds, where the delay fell by `fall` in `elapsed` seconds: it rises as much as it falls.
pub(crate) fn noise_after(noise: f64, elapsed: f64, fall: f64) -> f64 {
    noise + (elapsed / SECONDS).min(MOST_WEIGHT) * (2.0 * fall - noise)
}
