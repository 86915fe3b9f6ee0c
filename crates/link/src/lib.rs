//! Link models: what happens to a packet between one end of a link and the other.
//!
//! A [`Link`] is a loss model, a policer, a shaper, a queue, a server whose rate may change, a propagation delay and delay noise, in this
//! order. It knows no flows and no controllers: packets are offered, and leave, or are dropped, or are marked. It lives
//! in the simulator and, through `net`, in the user-space link; it reads no clock, file or environment, and the same
//! (configuration, seed, name, offers) gives the same bits everywhere.
//!
//! To add a queue discipline, a loss model, a mark or a delay noise: one file that declares its parameters and does what its
//! family asks, one line in the family's `mod.rs`. Scenarios, lists and checks follow from these two.
//!
//! ```
//! use paceline_link::{Link, LinkConfig, QueueConfig, QueueLimit, RateProcess, Transit};
//! use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
//!
//! struct Packet(Ecn);
//!
//! impl Transit for Packet {
//!     fn size(&self) -> Bytes {
//!         Bytes::new(1250)
//!     }
//!     fn ecn(&self) -> Ecn {
//!         self.0
//!     }
//!     fn mark_ce(&mut self) {
//!         self.0 = Ecn::Ce;
//!     }
//!     fn flow(&self) -> u64 {
//!         0
//!     }
//! }
//!
//! let rate = RateProcess::Constant(Bitrate::from_mbps(10));
//! let queue = QueueConfig::droptail(QueueLimit::Time(TimeDelta::from_millis(300)));
//! let mut link = Link::new(LinkConfig::new(rate, TimeDelta::from_millis(10), queue), 1, "bottleneck")?;
//! let mut arrivals = Vec::new();
//! for _ in 0..2 {
//!     link.offer(Time::ZERO, Packet(Ecn::NotEct), &mut |departure| arrivals.push(departure.arrives));
//! }
//! assert_eq!(arrivals, [Time::from_nanos(11_000_000), Time::from_nanos(12_000_000)]);
//! # Ok::<(), paceline_units::param::ParamError>(())
//! ```
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod account;
mod bucket;
mod config;
mod damage;
mod duplicate;
pub mod generate;
mod limits;
mod line;
mod link;
mod loss;
mod mark;
mod noise;
mod normal;
mod over_time;
mod policer;
mod queue;
mod rate;
mod route;
mod schedule;
mod server;
mod shaper;
mod tally;
pub mod trace;
mod transit;

#[cfg(test)]
mod tests;

pub use account::{LinkCounters, Service};
pub use config::{LinkConfig, QueueLimit, over_time};
pub use duplicate::DuplicateConfig;
pub use link::Link;
pub use loss::{BernoulliConfig, GilbertElliottConfig, LossConfig};
pub use mark::{ClassicConfig, MarkConfig, RampConfig, StepConfig};
pub use noise::{
    ContentionNoise, EmpiricalNoise, ExponentialNoise, GammaNoise, GrantNoise, LognormalNoise, NoiseConfig,
    ParetoNoise, RetransmissionNoise, Rfc8868Noise, SpikesNoise, StallShape, UniformNoise,
};
pub use over_time::{
    DelayChanges, DelayOverTime, FactorChanges, FactorOverTime, OverTime, RatioChanges, RatioOverTime,
    Recording,
};
pub use policer::{PolicerAction, PolicerConfig};
pub use queue::{
    CoDelConfig, DelayEstimate, DropTailConfig, DualPi2Config, FqCoDelConfig, PieConfig, QueueConfig,
    RcpConfig, RedConfig, Scheduler, XcpConfig,
};
pub use rate::RateProcess;
pub use shaper::ShaperConfig;
pub use trace::Trace;
pub use transit::{Arrival, Departure, Offered, Plan, Planned, Transit};
