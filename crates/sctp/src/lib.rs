//! SCTP, sans I/O: a sender with a scoreboard and a controller, a receiver with delayed and selective acknowledgements, streams that do not
//! wait for each other, and messages that may be given up.
//!
//! The association is there from the beginning, and data flows one way. The window is the controller's, as TCP's is; `DEVIATIONS.md` says
//! what differs from the RFCs.

mod config;
mod outbound;
mod outstanding;
mod packet;
mod path;
mod reassembly;
mod receiver;
mod sacks;
mod sender;

pub use config::{Order, SctpConfig};
pub use outbound::StreamConfig;
pub use packet::{Backward, DataChunk, Forward, ForwardTsn, SCTP_HEADER, Sack};
pub use receiver::SctpReceiver;
pub use sender::{SctpCounters, SctpSender};
