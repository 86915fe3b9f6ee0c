//! Delay noise behind the server: what a radio's retransmissions or a busy host add. Never negative. To add a distribution: a
//! file with its parameters, and a line in `noises!`.

mod exponential;
mod rfc8868;
mod uniform;

pub use exponential::ExponentialNoise;
pub use rfc8868::Rfc8868Noise;
pub use uniform::UniformNoise;

use alloc::format;
use paceline_units::{RandomStream, Time, TimeDelta};

/// Declares the parameters of a distribution; all have `reorder` beside their own.
macro_rules! noise_params {
    ($(#[$meta:meta])* pub struct $config:ident { $($own:tt)* }) => {
        paceline_units::params! {
            $(#[$meta])*
            pub struct $config {
                $($own)*
                reorder: bool = false, "RFC 8868 4.3 demands that cross traffic keeps its order", "Whether packets may overtake each other; else none arrives before the one that departed before it";
            }
        }
    };
}

use noise_params;

/// A line is: documentation, which is its help, and `Distribution("name in scenarios", parameters)`. The parameters draw the noise
/// of a packet in nanoseconds.
macro_rules! noises {
    ($( $(#[doc = $help:literal])+ $noise:ident($kind:literal, $config:ident), )*) => {
        paceline_units::kinds! {
            /// Delay noise of a link.
            pub enum NoiseConfig { $( $(#[doc = $help])+ $noise($kind, $config), )* }
        }

        impl NoiseConfig {
            fn reorder(&self) -> bool {
                match self { $( NoiseConfig::$noise(config) => config.reorder, )* }
            }

            #[inline]
            fn draw(&self, random: &mut RandomStream) -> f64 {
                match self { $( NoiseConfig::$noise(config) => config.draw(random), )* }
            }
        }
    };
}

noises! {
    /// The absolute value of a Gaussian, clamped (RFC 8868 section 4.3); its mean is not 0
    Rfc8868("rfc8868", Rfc8868Noise),
    /// Uniform from 0 to a largest value
    Uniform("uniform", UniformNoise),
    /// Exponential, cut at a largest value
    Exponential("exponential", ExponentialNoise),
}

/// The delay noise of a running link: its model and its random stream.
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
        !self.config.reorder()
    }

    /// When a packet arrives that would arrive at `plain` without noise. Apart from the packet path of links without.
    #[inline(never)]
    pub(crate) fn arrival(&mut self, plain: Time) -> Time {
        let arrival = plain + TimeDelta::from_nanos(self.config.draw(&mut self.random) as i64);
        if self.config.reorder() {
            return arrival;
        }
        self.last = self.last.max(arrival);
        self.last
    }
}
