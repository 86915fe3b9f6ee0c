//! Delay noise behind the server: what a radio's retransmissions, a schedule or a busy host add, whatever the load. Never
//! negative. To add a distribution or a process: a file with its parameters, and a line in `noises!`.
//!
//! A link may have several noises; a packet passes them one after the other, in the order of the scenario.

mod contention;
mod empirical;
mod exponential;
mod gamma;
mod grant;
mod lognormal;
mod pareto;
mod retransmission;
mod rfc8868;
mod spikes;
mod stalls;
mod tries;
mod uniform;

pub use contention::ContentionNoise;
pub use empirical::EmpiricalNoise;
pub use exponential::ExponentialNoise;
pub use gamma::GammaNoise;
pub use grant::GrantNoise;
pub use lognormal::LognormalNoise;
pub use pareto::ParetoNoise;
pub use retransmission::RetransmissionNoise;
pub use rfc8868::Rfc8868Noise;
pub use spikes::{SpikesNoise, StallShape};
pub use uniform::UniformNoise;

use crate::over_time::{Course, FactorOverTime};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use contention::Contention;
use empirical::Empirical;
use grant::Grant;
use lognormal::Lognormal;
use paceline_units::{RandomStream, Time, TimeDelta};
use pareto::Pareto;
use retransmission::Retransmission;
use spikes::Spikes;

/// Declares the parameters of a noise; all have `scale` and `reorder` beside their own.
macro_rules! noise_params {
    ($(#[$meta:meta])* pub struct $config:ident { $($own:tt)* } $($rest:tt)*) => {
        paceline_units::params! {
            $(#[$meta])*
            pub struct $config {
                $($own)*
                scale: crate::FactorOverTime = crate::FactorOverTime::Constant(1.0), in 0.0, 1000.0, "", "Each delay is multiplied by this; may change, as a delay does";
                reorder: bool = false, "RFC 8868 4.5 demands that cross traffic keeps its order", "Whether packets may overtake each other; else none arrives before the one that departed before it";
            }
            $($rest)*
        }
    };
}

use noise_params;

/// Noise that runs.
trait Process {
    /// Noise of the packet that would arrive at `at` without it, both in nanoseconds. Times do not run backwards, unless a
    /// noise before lets packets overtake each other.
    fn delay(&mut self, at: u64, random: &mut RandomStream) -> f64;

    /// Whether it can lose packets.
    fn can_lose(&self) -> bool {
        false
    }

    /// Whether it loses the packet that would arrive at `at` if it did not wait, in nanoseconds. Times do not run backwards.
    fn loses(&mut self, _at: u64, _random: &mut RandomStream) -> bool {
        false
    }
}

/// A process that is started from parameters of its own type; a distribution without a memory is its parameters.
trait Started<Config> {
    fn start(config: &Config, streams: &Streams<'_>) -> Self;
}

impl<Config: Process + Clone> Started<Config> for Config {
    fn start(config: &Config, _streams: &Streams<'_>) -> Config {
        config.clone()
    }
}

/// Where a noise gets its random streams from.
struct Streams<'a> {
    seed: u64,
    /// Name of the noise.
    name: &'a str,
}

impl Streams<'_> {
    /// The stream of a part of the noise.
    fn named(&self, part: &str) -> RandomStream {
        RandomStream::new(self.seed, &format!("{}.{part}", self.name))
    }
}

/// A line is: documentation, which is its help, and `Noise("name in scenarios", parameters, what runs)`.
macro_rules! noises {
    ($( $(#[doc = $help:literal])+ $noise:ident($kind:literal, $config:ident, $running:ident), )*) => {
        paceline_units::kinds! {
            /// Delay noise of a link.
            pub enum NoiseConfig { $( $(#[doc = $help])+ $noise($kind, $config), )* }
        }

        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one or a few of each link, never moved")]
        enum Model { $( $noise($running), )* }

        impl NoiseConfig {
            fn reorder(&self) -> bool {
                match self { $( NoiseConfig::$noise(config) => config.reorder, )* }
            }

            /// The factor of all delays.
            pub fn scale(&mut self) -> &mut FactorOverTime {
                match self { $( NoiseConfig::$noise(config) => &mut config.scale, )* }
            }
        }

        impl Model {
            fn start(config: &NoiseConfig, streams: &Streams<'_>) -> Model {
                match config { $( NoiseConfig::$noise(config) => Model::$noise(Started::start(config, streams)), )* }
            }
        }

        impl Process for Model {
            #[inline]
            fn delay(&mut self, at: u64, random: &mut RandomStream) -> f64 {
                match self { $( Model::$noise(process) => process.delay(at, random), )* }
            }

            fn can_lose(&self) -> bool {
                match self { $( Model::$noise(process) => process.can_lose(), )* }
            }

            fn loses(&mut self, at: u64, random: &mut RandomStream) -> bool {
                match self { $( Model::$noise(process) => process.loses(at, random), )* }
            }
        }
    };
}

noises! {
    /// The absolute value of a Gaussian, clamped (RFC 8868 section 4.5); its mean is not 0
    Rfc8868("rfc8868", Rfc8868Noise, Rfc8868Noise),
    /// Uniform from 0 to a largest value
    Uniform("uniform", UniformNoise, UniformNoise),
    /// Exponential, cut at a largest value
    Exponential("exponential", ExponentialNoise, ExponentialNoise),
    /// Gamma: from exponential (shape 1) to a narrow bell
    Gamma("gamma", GammaNoise, GammaNoise),
    /// Lognormal, cut at a largest value; may be correlated in time
    Lognormal("lognormal", LognormalNoise, Lognormal),
    /// Pareto from 0 (Lomax): a heavy tail, cut at a largest value; may be correlated in time
    Pareto("pareto", ParetoNoise, Pareto),
    /// As measured: quantiles at even steps; may be correlated in time
    Empirical("empirical", EmpiricalNoise, Empirical),
    /// Link-layer retransmission (HARQ, ARQ): each failed try costs a round; fails more often in fades
    Retransmission("retransmission", RetransmissionNoise, Retransmission),
    /// Scheduling: packets wait for the next frame with a grant (WiMAX, HSPA, DOCSIS) and leave together
    Grant("grant", GrantNoise, Grant),
    /// Contention (Wi-Fi): other stations hold the medium for a while, then a backoff that doubles with collisions
    Contention("contention", ContentionNoise, Contention),
    /// Stalls: now and then everything is held for a while, then leaves together (middleboxes, handovers)
    Spikes("spikes", SpikesNoise, Spikes),
}

/// One noise of a running link: its model and its random stream.
#[derive(Clone, Debug)]
struct Stage {
    model: Model,
    random: RandomStream,
    /// Draws of losses for packets that are offered.
    losses: RandomStream,
    scale: Course,
    reorder: bool,
    /// Arrival of the packet before.
    last: Time,
}

impl Stage {
    fn new(config: &NoiseConfig, seed: u64, name: &str) -> Stage {
        let streams = Streams { seed, name };
        Stage {
            model: Model::start(config, &streams),
            random: RandomStream::new(seed, name),
            losses: streams.named("loss"),
            scale: config.clone().scale().course(),
            reorder: config.reorder(),
            last: Time::ZERO,
        }
    }

    #[inline]
    fn arrival(&mut self, plain: Time) -> Time {
        let noise = self.model.delay(plain.as_nanos(), &mut self.random);
        let noise = noise * self.scale.at(plain.as_nanos());
        let arrival = plain + TimeDelta::from_nanos(noise as i64);
        if self.reorder {
            return arrival;
        }
        self.last = self.last.max(arrival);
        self.last
    }
}

/// The delay noise of a running link: one or more, which a packet passes in turn.
#[derive(Clone, Debug)]
pub(crate) struct Noise {
    stages: Vec<Stage>,
}

impl Noise {
    /// The noise of the link called `name`; none without a noise.
    pub(crate) fn new(configs: &[NoiseConfig], seed: u64, name: &str) -> Option<Noise> {
        let name = |place: usize| -> String {
            if place == 0 { format!("link.{name}.noise") } else { format!("link.{name}.noise.{place}") }
        };
        let stages = configs.iter().enumerate();
        let stages: Vec<_> = stages.map(|(place, config)| Stage::new(config, seed, &name(place))).collect();
        (!stages.is_empty()).then_some(Noise { stages })
    }

    /// Whether no packet arrives before the one that departed before it.
    pub(crate) fn keeps_order(&self) -> bool {
        self.stages.iter().all(|stage| !stage.reorder)
    }

    /// When a packet arrives that would arrive at `plain` without noise. Apart from the packet path of links without.
    #[inline(never)]
    pub(crate) fn arrival(&mut self, plain: Time) -> Time {
        self.stages.iter_mut().fold(plain, |arrival, stage| stage.arrival(arrival))
    }

    /// Whether a noise can lose packets.
    pub(crate) fn can_lose(&self) -> bool {
        self.stages.iter().any(|stage| stage.model.can_lose())
    }

    /// Whether a noise loses the packet that would arrive at `at` if it did not wait, in nanoseconds. Every noise draws,
    /// whatever the others say.
    pub(crate) fn loses(&mut self, at: u64) -> bool {
        let losses = self.stages.iter_mut().map(|stage| stage.model.loses(at, &mut stage.losses));
        losses.fold(false, |lost, loses| lost | loses)
    }
}
