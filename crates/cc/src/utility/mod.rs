//! Rate control by utility maximisation: what its controllers (`urcp`, `um`) share around the law of their rate.
//!
//! A sender measures delays, losses, marks and rates, goes through the phases of a start, and paces at the rate of its
//! [`Law`]. Open points of the papers are in DEVIATIONS.md beside this file.

pub(crate) mod delivery;
mod law;
mod params;
mod sender;
mod start;
mod stream;
pub(crate) mod window;

pub use law::{First, Law, Phase, Sample};
pub use params::SenderParams;
pub use sender::{Flow, UtilitySender};
