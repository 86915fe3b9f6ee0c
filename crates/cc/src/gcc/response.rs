//! The increase of 2012: multiplicative everywhere, by a factor that falls with the response time and the delay noise
//! (draft-alvestrand-rtcweb-congestion-02 section 3.4; constants and regions: libwebrtc 2012-10, remote_rate_control).

use paceline_units::TimeDelta;

/// Where the rate is, beside the average of the incoming rate at over-use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Region {
    /// No average is known that holds.
    Unknown,
    Near,
    Above,
}

/// From this many standard deviations above the average on the rate is above it; from three on the average holds no more.
pub(super) const ABOVE: f64 = 2.5;
/// The detector's part of the response time: ten frames.
const DETECTION: TimeDelta = TimeDelta::from_millis(300);
/// Least and largest factor in a second.
const FACTOR: (f64, f64) = (1.005, 1.3);
/// The curve between them: B, b (per ms), c1 (ms per ms squared), c2 (ms) and d.
const SPAN: f64 = 0.0407;
const STEEPNESS: f64 = 0.0025;
const NOISE_WEIGHT: f64 = -6700.0 / (33.0 * 33.0);
const MIDDLE: f64 = 800.0;
const RESPONSE_WEIGHT: f64 = 0.85;

/// The factor of the rate after `passed`, with updates every `interval`, the round-trip time and the variance of the delay
/// noise in ms squared.
pub(super) fn factor(
    passed: TimeDelta,
    interval: TimeDelta,
    rtt: TimeDelta,
    noise: f64,
    region: Region,
) -> f64 {
    let response = (interval + rtt + DETECTION).as_millis_f64();
    let exponent = STEEPNESS * (RESPONSE_WEIGHT * response - (NOISE_WEIGHT * noise + MIDDLE));
    let second = (FACTOR.0 + SPAN / (1.0 + libm::exp(exponent))).clamp(FACTOR.0, FACTOR.1);
    let growth = libm::pow(second, passed.as_secs_f64()) - 1.0;
    1.0 + match region {
        Region::Unknown => 3.0 * growth,
        Region::Near => 0.5 * growth,
        Region::Above => growth,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// exp(0.0025 (0.85 x 1400 - 800)) = 2.651 without noise: 1.005 + 0.0407 / 3.651.
    #[test]
    fn it_falls_with_response_time_and_noise() {
        let (second, rtt) = (TimeDelta::from_secs(1), TimeDelta::from_millis(100));
        let of = |rtt, noise, region| factor(second, second, rtt, noise, region) - 1.0;
        assert!((of(rtt, 0.0, Region::Above) - 0.016_148).abs() < 1e-5, "{}", of(rtt, 0.0, Region::Above));
        assert!((of(rtt, 0.0, Region::Unknown) / of(rtt, 0.0, Region::Near) - 6.0).abs() < 1e-9);
        assert!(of(rtt, 100.0, Region::Above) < 0.5 * of(rtt, 0.0, Region::Above));
        assert!(of(TimeDelta::from_secs(5), 1e9, Region::Above) >= 0.005 - 1e-12);
    }
}
