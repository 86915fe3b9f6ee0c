//! Sans-I/O transport endpoints: they are handed time and packets, and answer packets and timeouts.

mod pacer;
pub mod rtp;

pub use pacer::Pacer;
