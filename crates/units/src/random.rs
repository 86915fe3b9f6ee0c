//! Named random streams: what draws names itself, so adding a flow changes no other flow's draws.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// A stream of random numbers that depends on nothing but the run's seed and the name of what draws.
#[derive(Clone, Debug)]
pub struct RandomStream {
    generator: Pcg64Mcg,
}

impl RandomStream {
    /// The stream of `name` in the run seeded with `seed`. Every (seed, name) pair has its own.
    pub fn new(seed: u64, name: &str) -> RandomStream {
        // FNV-1a over seed and name, spread by the finaliser of SplitMix64: neighbouring seeds and names part at once.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in seed.to_le_bytes().into_iter().chain(name.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let (low, high) = (spread(hash), spread(hash ^ 0x9e37_79b9_7f4a_7c15));
        RandomStream { generator: Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)) }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`; always draws, so that a changed `p` keeps later draws in place.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Exponential with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log1p(-self.uniform())
    }

    /// Normal with mean 0 and standard deviation 1 (Box-Muller, one of the pair).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log1p(-self.uniform()));
        radius * libm::cos(core::f64::consts::TAU * self.uniform())
    }

    /// Laplace with mean 0 and the given scale.
    #[inline]
    pub fn laplace(&mut self, scale: f64) -> f64 {
        let u = self.uniform() - 0.5;
        let magnitude = -scale * libm::log1p(-2.0 * libm::fabs(u));
        if u < 0.0 { -magnitude } else { magnitude }
    }
}

fn spread(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::RandomStream;

    #[test]
    fn streams_depend_on_seed_and_name_only() {
        let draws = |seed, name| {
            let mut stream = RandomStream::new(seed, name);
            [stream.next_u64(), stream.next_u64()]
        };
        assert_eq!(draws(1, "link.loss"), draws(1, "link.loss"));
        assert_ne!(draws(1, "link.loss"), draws(2, "link.loss"));
        assert_ne!(draws(1, "link.loss"), draws(1, "link.noise"));
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut stream = RandomStream::new(7, "moments");
        let n = 200_000;
        let mut sums = [0.0; 5];
        for _ in 0..n {
            let (u, e, z, l) =
                (stream.uniform(), stream.exponential(2.0), stream.normal(), stream.laplace(0.5));
            sums = [sums[0] + u, sums[1] + e, sums[2] + z, sums[3] + z * z, sums[4] + l * l];
        }
        let mean = sums.map(|sum| sum / f64::from(n));
        let expected = [0.5, 2.0, 0.0, 1.0, 0.5];
        for (found, expected) in mean.iter().zip(expected) {
            assert!((found - expected).abs() < 0.02, "{mean:?}");
        }
    }

    #[test]
    fn chance_follows_its_probability() {
        let mut stream = RandomStream::new(3, "chance");
        let hits = (0..100_000).filter(|_| stream.chance(0.03)).count();
        assert!((2800..3200).contains(&hits), "{hits}");
        assert!(!stream.chance(0.0) && stream.chance(1.0));
    }
}
