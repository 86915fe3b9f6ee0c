//! Link models: what happens to a packet between one end of a link and the other.
//!
//! A [`Link`] is a loss model, a queue, a server whose rate may change, a propagation delay and delay noise, in this
//! order. It knows no flows and no controllers: packets are offered, and leave, or are dropped, or are marked. It lives
//! in the simulator and, through `net`, in the user-space link; it reads no clock, file or environment, and the same
//! (configuration, seed, name, offers) gives the same bits everywhere.
//!
//! To add a queue discipline: one file that declares its parameters and implements `held::Discipline`, one line in
//! `queue`. Scenarios, lists and checks follow from these two.
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
//! let queue = QueueConfig::DropTail { limit: QueueLimit::Time(TimeDelta::from_millis(300)) };
//! let mut link = Link::new(LinkConfig::new(rate, TimeDelta::from_millis(10), queue), 1, "bottleneck")?;
//! let mut arrivals = Vec::new();
//! for _ in 0..2 {
//!     link.offer(Time::ZERO, Packet(Ecn::NotEct), &mut |departure| arrivals.push(departure.arrives));
//! }
//! assert_eq!(arrivals, [Time::from_nanos(11_000_000), Time::from_nanos(12_000_000)]);
//! # Ok::<(), paceline_link::LinkError>(())
//! ```
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod account;
mod codel;
mod config;
mod droptail;
mod dualpi2;
mod error;
mod fq_codel;
pub mod generate;
mod held;
mod line;
mod link;
mod loss;
mod mark;
mod noise;
mod parameters;
mod pie;
mod queue;
mod rate;
mod red;
mod schedule;
mod server;
pub mod trace;
mod transit;

#[cfg(test)]
mod tests;

pub use account::{LinkCounters, Service};
pub use codel::CoDelConfig;
pub use config::{LinkConfig, QueueLimit};
pub use dualpi2::{DualPi2Config, Scheduler};
pub use error::LinkError;
pub use fq_codel::FqCoDelConfig;
pub use link::Link;
pub use loss::LossConfig;
pub use mark::MarkConfig;
pub use noise::{NoiseConfig, NoiseKind};
pub use parameters::{QueueKey, QueueValue, QueueValueKind};
pub use pie::{DelayEstimate, PieConfig};
pub use queue::QueueConfig;
pub use rate::RateProcess;
pub use red::RedConfig;
pub use trace::Trace;
pub use transit::{Departure, Offered, Plan, Planned, Transit};
