//! The vocabulary of Paceline: points in time, spans of time, rates, sizes, ECN marks, named random streams; quantities as
//! text; and how a parameter is declared.
//!
//! Lives in every world; knows no other crate. Time is whole nanoseconds, so that two machines agree to the bit.
#![no_std]

extern crate alloc;

mod congestion;
mod ecn;
pub mod param;
mod quantity;
#[cfg(feature = "random")]
mod random;
mod stack;
pub mod text;
mod time;

pub use congestion::{CongestionHeader, Feedback};
pub use ecn::{Ecn, EcnMode};
pub use quantity::{Bitrate, Bytes};
#[cfg(feature = "random")]
pub use random::RandomStream;
pub use stack::Stack;
pub use time::{Time, TimeDelta};
