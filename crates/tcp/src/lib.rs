//! TCP, sans I/O: a sender with a scoreboard and a controller, a receiver with delayed and selective acknowledgements.
//!
//! Data flows one way, and windows are the controller's: retransmission, duplicate and selective acknowledgements,
//! limited transmit and timers are here, so that Tahoe, Reno, NewReno, SACK and RACK-TLP are ways of recovery over one
//! window law. `DEVIATIONS.md` says what differs from the RFCs.

mod accurate_ecn;
mod acks;
mod blocks;
mod buffer;
mod by_time;
mod config;
mod connections;
pub mod conversations;
mod ecn;
mod progress;
mod prr;
mod rack;
mod receiver;
mod scoreboard;
mod segment;
mod sender;
mod timer;
mod timer_tree;
mod timestamp;
mod tlp;
pub mod transfers;
mod transmit;

pub use buffer::WrittenFrame;
pub use config::{EcnSupport, TcpConfig};
pub use paceline_cc::{EcnEcho, RecoveryKind};
pub use receiver::TcpReceiver;
pub use segment::{Congestion, Flags, SackBlocks, Segment, TCP_HEADER};
pub use sender::{TcpCounters, TcpSender};
pub use timestamp::stamp;
