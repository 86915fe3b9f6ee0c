//! Delay noise behind the server: what a radio's retransmissions or a busy host add. Never negative.

use crate::error::{LinkError, check_span};
use alloc::format;
use paceline_units::{RandomStream, Time, TimeDelta};

/// Delay noise of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct NoiseConfig {
    /// Distribution of the delay that is added.
    pub kind: NoiseKind,
    /// Whether packets may overtake each other. False (the form RFC 8868 demands of cross traffic): no packet arrives
    /// before the one that departed before it.
    pub reorder: bool,
}

/// The distribution of the delay noise of one packet.
#[derive(Clone, PartialEq, Debug)]
pub enum NoiseKind {
    /// |N(0, std) clamped to ± n_std · std| (RFC 8868 section 4.3; its mean is not 0).
    Rfc8868 {
        /// Standard deviation before the absolute value; 5 ms in the RFC.
        std: TimeDelta,
        /// Where it is clamped, in standard deviations; 3 in the RFC.
        n_std: f64,
    },
    /// Uniform in [0, max).
    Uniform {
        /// The upper end.
        max: TimeDelta,
    },
    /// Exponential, cut to `max`.
    Exponential {
        /// Mean before the cut.
        mean: TimeDelta,
        /// The largest value; `TimeDelta::MAX` for none.
        max: TimeDelta,
    },
}

impl NoiseKind {
    /// RFC 8868's own numbers: 5 ms, 3.
    pub fn rfc8868() -> NoiseKind {
        NoiseKind::Rfc8868 { std: TimeDelta::from_millis(5), n_std: 3.0 }
    }
}

impl NoiseConfig {
    /// Noise that keeps the order.
    pub fn new(kind: NoiseKind) -> NoiseConfig {
        NoiseConfig { kind, reorder: false }
    }

    /// Checks what a [`Link`](crate::Link) would refuse.
    pub fn validate(&self) -> Result<(), LinkError> {
        match self.kind {
            NoiseKind::Rfc8868 { std, n_std } => {
                check_span("noise.std", std)?;
                if !(n_std >= 0.0 && n_std.is_finite()) {
                    return Err(LinkError::new("noise.n_std", n_std, "a number of 0 or more"));
                }
                Ok(())
            }
            NoiseKind::Uniform { max } => check_span("noise.max", max),
            NoiseKind::Exponential { mean, max } => {
                check_span("noise.mean", mean)?;
                check_span("noise.max", max)
            }
        }
    }
}

/// Running noise.
#[derive(Clone, Debug)]
pub(crate) struct Noise {
    config: NoiseConfig,
    random: RandomStream,
    /// Arrival of the packet before.
    last: Time,
}

impl Noise {
    pub(crate) fn new(config: &NoiseConfig, seed: u64, name: &str) -> Noise {
        let random = RandomStream::new(seed, &format!("link.{name}.noise"));
        Noise { config: config.clone(), random, last: Time::ZERO }
    }

    /// Whether no packet arrives before the one that departed before it.
    pub(crate) fn keeps_order(&self) -> bool {
        !self.config.reorder
    }

    /// When a packet arrives that would arrive at `plain` without noise. Apart from the packet path of links without.
    #[inline(never)]
    pub(crate) fn arrival(&mut self, plain: Time) -> Time {
        let arrival = plain + self.draw();
        if self.config.reorder {
            return arrival;
        }
        self.last = self.last.max(arrival);
        self.last
    }

    #[inline]
    fn draw(&mut self) -> TimeDelta {
        let nanos = |span: TimeDelta| span.as_nanos() as f64;
        let drawn = match self.config.kind {
            NoiseKind::Rfc8868 { std, n_std } => libm::fabs(self.random.normal()).min(n_std) * nanos(std),
            NoiseKind::Uniform { max } => self.random.uniform() * nanos(max),
            NoiseKind::Exponential { mean, max } => self.random.exponential(nanos(mean)).min(nanos(max)),
        };
        TimeDelta::from_nanos(drawn as i64)
    }
}
