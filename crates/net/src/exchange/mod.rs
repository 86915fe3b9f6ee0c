//! A flow state exchange for the processes of one machine (RFC 8699 section 4: "a separate process that different
//! applications communicate with").
//!
//! An [`ExchangeServer`] keeps the groups: it listens on a local socket and runs the same couplings that flows of one
//! process share by. A [`crate::Sender`] takes part in it with [`crate::SendOptions::exchange`]. Its state is soft: who closes
//! the connection, or is silent for [`ExchangeLimits::expiry`], has left, and an exchange that starts anew learns everything
//! from those who join it again. Without it a flow goes by its own controller.
//!
//! The socket is `SOCK_SEQPACKET`. It keeps the borders of messages, so that nonsense spoils one message and not what
//! follows, and it has connections, so that the end of a process is known at once and its user is known at all; a datagram
//! socket has no second, and a stream no first. Only processes of the same user are served. Whatever they send, others are
//! unaffected: see [`ExchangeCounters`].

mod client;
mod member;
mod pace;
mod pool;
mod report;
mod server;
mod service;
mod socket;
mod terms;
#[cfg(test)]
mod tests;

pub use client::ExchangeClient;
pub use report::ExchangeCounters;
pub use server::ExchangeServer;

use paceline_units::TimeDelta;
use paceline_units::names;
use std::path::PathBuf;

/// Bounds and times of an exchange.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExchangeLimits {
    /// A process that is silent for so long has left.
    pub expiry: TimeDelta,
    /// Processes that are connected.
    pub processes: usize,
    /// Groups that there are.
    pub groups: usize,
    /// Flows that share in a group.
    pub flows_per_group: usize,
    /// Flows of a process.
    pub flows_per_process: usize,
    /// Messages that are read of a process in a second, for each of its flows.
    pub messages_per_second: u32,
    /// Messages that are read of it at once, after a pause.
    pub burst: u32,
    /// Messages that cannot be read, after which the connection is closed.
    pub malformed: u32,
}

impl Default for ExchangeLimits {
    fn default() -> ExchangeLimits {
        ExchangeLimits {
            expiry: TimeDelta::from_secs(2),
            processes: 64,
            groups: 64,
            flows_per_group: 256,
            flows_per_process: 64,
            messages_per_second: 1000,
            burst: 200,
            malformed: 10,
        }
    }
}

impl ExchangeLimits {
    /// Time from one message to the next of a process with `flows` flows, and how many that is in a second.
    fn interval(&self, flows: usize) -> (TimeDelta, i64) {
        let most = (i64::from(self.messages_per_second) * flows.max(1) as i64).max(1);
        (TimeDelta::from_nanos(TimeDelta::from_secs(1).as_nanos() / most), most)
    }
}

names! {
    /// The rule by which flows of several processes find each other.
    pub enum GroupBy {
        /// The name of their `[coupling.NAME]`.
        Name = "name",
        /// The address that their packets go to.
        Destination = "destination",
        /// The 5-tuple of their packets, with DSCP and ECN field (RFC 8699 section 5.1).
        FiveTuple = "5-tuple",
    }
}

/// Where an exchange listens, and how the flows of a sender find their group there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExchangeOptions {
    /// The socket file.
    pub path: PathBuf,
    /// The common property of a group's flows.
    pub by: GroupBy,
    /// The name of the group, with [`GroupBy::Name`]; none: that of the coupling that the flow is in.
    pub group: Option<String>,
    /// The kind of coupling of a flow that is in none; none: `active`.
    pub kind: Option<String>,
}
