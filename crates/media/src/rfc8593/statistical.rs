//! The statistical model: bursts (RFC 8593, section 5.2) and deviations (section 5.3).

use paceline_units::{Bytes, RandomStream};

/// The smaller frames of a burst have at least this part of the mean frame B0 (not in the RFC).
const SMALLER_FRAME: f64 = 0.1;

/// The frames of a transient: a large one, then smaller ones that pay it back.
#[derive(Clone, Debug, Default)]
pub(super) struct Burst {
    first: Option<f64>,
    frames_left: u32,
    bytes_left: f64,
}

impl Burst {
    /// `k_d` frames that have `b0` bytes on average, the first of them `k_b` bytes.
    ///
    /// K_B is what the RFC fixes, and the average is what it demands. Where both cannot be, at low rates, the burst is as
    /// large as the average allows; where K_B is no burst, at high rates, all frames are the average. The debt of a burst that is not over
    /// is left to the new one, whose `b0` is the same; the first frame has `b0` even then.
    pub(super) fn start(&mut self, k_d: u32, k_b: Bytes, b0: f64) {
        let unpaid = (f64::from(self.frames_left) * b0 - self.bytes_left).max(0.0);
        let total = f64::from(k_d) * b0 - unpaid;
        let largest = total - f64::from(k_d - 1) * SMALLER_FRAME * b0;
        *self = Burst {
            first: Some(k_b.as_f64().clamp(b0, largest.max(b0))),
            frames_left: k_d,
            bytes_left: total,
        };
    }

    pub(super) fn is_over(&self) -> bool {
        self.frames_left == 0
    }

    /// The next frame in bytes, none once the burst is over. The remainder of rounding goes into the frames after it.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        if self.is_over() {
            return None;
        }
        let share = self.bytes_left / f64::from(self.frames_left);
        let bytes = frame(self.first.take().unwrap_or(share));
        self.frames_left -= 1;
        self.bytes_left = (self.bytes_left - bytes.as_f64()).max(0.0);
        Some(bytes)
    }
}

/// A frame of the statistical model: at least one byte.
pub(super) fn frame(bytes: f64) -> Bytes {
    Bytes::new((bytes + 0.5).clamp(1.0, f64::from(u32::MAX)) as u64)
}

/// Draws from the Laplace distribution with mean 0 and this scale (0 to 1), cut off at -1 and at 1 alike: nothing is
/// below zero, and the mean stays. Always one draw.
pub(super) fn deviation(random: &mut RandomStream, scale: f64) -> f64 {
    let u = 2.0 * random.uniform() - 1.0;
    if scale <= 0.0 {
        return 0.0;
    }
    let within = -libm::expm1(-1.0 / scale);
    let magnitude = (-scale * libm::log1p(-libm::fabs(u) * within)).min(1.0);
    if u < 0.0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(k_d: u32, k_b: u64, b0: f64) -> Vec<u64> {
        let mut burst = Burst::default();
        assert_eq!(burst.next(), None);
        burst.start(k_d, Bytes::new(k_b), b0);
        std::iter::from_fn(|| burst.next()).map(Bytes::as_u64).collect()
    }

    /// Figure 2 at 1 Mbit/s and 30 fps: B0 = 4166.67 B, (8 B0 - K_B) / 7 = 2833 B.
    #[test]
    fn the_burst_of_figure_2() {
        assert_eq!(sizes(8, 13_500, 1e6 / 240.0), [13_500, 2_833, 2_833, 2_833, 2_834, 2_833, 2_834, 2_833]);
    }

    /// 8 B0 < K_B below 405 kbit/s; with smaller frames of at least 0.1 B0, K_B holds down to 444 kbit/s.
    #[test]
    fn the_first_frame_shrinks_where_the_average_would_break() {
        assert_eq!(sizes(8, 13_500, 450e3 / 240.0), [13_500, 214, 214, 214, 215, 214, 215, 214]);
        assert_eq!(sizes(8, 13_500, 240e3 / 240.0), [7_300, 100, 100, 100, 100, 100, 100, 100]);
    }

    #[test]
    fn a_burst_below_the_average_or_of_one_frame_is_none() {
        assert_eq!(sizes(3, 13_500, 20_000.0), [20_000; 3]);
        assert_eq!(sizes(1, 13_500, 500.0), [500]);
    }

    /// Density, mean and scale against the formula, at the RFC's scale and at one where the cut is plain.
    #[test]
    fn deviations_follow_laplace() {
        for scale in [0.15, 0.6] {
            let mut random = RandomStream::new(5, "deviations");
            let draws: Vec<f64> = (0..400_000).map(|_| deviation(&mut random, scale)).collect();
            let count = draws.len() as f64;
            let mean = draws.iter().sum::<f64>() / count;
            assert!(mean.abs() < 0.002, "{scale}: {mean}");
            let beyond = |x: f64| draws.iter().filter(|draw| draw.abs() > x).count() as f64 / count;
            let cut = libm::exp(-1.0 / scale);
            for x in [0.05, 0.1, 0.2, 0.5, 0.9] {
                let expected = (libm::exp(-x / scale) - cut) / (1.0 - cut);
                assert!(
                    (beyond(x) - expected).abs() < 0.003,
                    "{scale}: {} beyond {x}, not {expected}",
                    beyond(x)
                );
            }
            let positive = draws.iter().filter(|draw| **draw > 0.0).count() as f64 / count;
            assert!((positive - 0.5).abs() < 0.003, "{positive}");
        }
    }

    /// An encoder that is asked for a key frame again and again makes smaller ones. K_B twice leaves 18,667 B unpaid; of the
    /// 8 B0 of the third burst that leaves 11,750 B for its first frame, since 7 smaller ones need 2,917 B. Then B0.
    #[test]
    fn bursts_in_succession_keep_the_average() {
        let b0 = 1e6 / 240.0;
        let mut burst = Burst::default();
        let sizes: Vec<_> = (0..20)
            .map(|_| {
                burst.start(8, Bytes::new(13_500), b0);
                burst.next().expect("running").as_u64()
            })
            .collect();
        assert_eq!(sizes[..3], [13_500, 13_500, 11_750]);
        assert!(sizes[3..].iter().all(|size| (4_166..=4_168).contains(size)), "{sizes:?}");
        // Once nobody asks, all is paid back.
        let rest: u64 = std::iter::from_fn(|| burst.next()).map(Bytes::as_u64).sum();
        let total = sizes.iter().sum::<u64>() + rest;
        assert!((total as f64 - 27.0 * b0).abs() < 2.0, "{total}");
    }

    proptest! {
        #[test]
        fn a_burst_always_has_the_average(k_d in 1u32..200, k_b in 1u64..1_000_000, b0 in 20.0f64..1e6) {
            let sizes = sizes(k_d, k_b, b0);
            let total: u64 = sizes.iter().sum();
            prop_assert_eq!(sizes.len(), k_d as usize);
            prop_assert!((total as f64 - f64::from(k_d) * b0).abs() <= 1.0, "{} of {}", total, f64::from(k_d) * b0);
            prop_assert!(sizes.iter().all(|&size| size as f64 >= SMALLER_FRAME * b0 - 1.0 && size <= sizes[0] + 1));
        }

        #[test]
        fn deviations_stay_within_one(seed: u64, scale in prop_oneof![0.0f64..=1.0, Just(0.0), Just(1e-320), Just(1e-9), Just(1.0)]) {
            let mut random = RandomStream::new(seed, "x");
            for _ in 0..100 {
                let x = deviation(&mut random, scale);
                prop_assert!((-1.0..=1.0).contains(&x) && (scale > 0.0 || x == 0.0), "{}", x);
            }
        }
    }
}
