//! Sans-I/O transport endpoints: they are handed time and packets, and answer packets and timeouts.

mod ends;
mod pacer;
pub mod rtp;
pub mod tcp;
pub mod udp;

pub use ends::{Elsewhere, FrameCounters, ReceivingEnd, SendingEnd, Transfer, TransferCounters};
pub use pacer::Pacer;
