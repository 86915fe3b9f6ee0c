//! Short transfers over TCP: bursts of files fetched in parallel, each over a connection of its own, and idle times between
//! them (RFC 8868 section 5.1, RFC 8867 section 5.7).
//!
//! One sender and one receiver stand for one user who is on and off. A burst's fetches begin at once; when the last of
//! them is complete the user is idle, and then the next burst begins. Every fetch has its own handshake, window,
//! controller and timers, which are forgotten when it is complete.
//!
//! Connections are numbered in turn, modulo 2^16, `parallel` to a burst. A burst begins when the one before is complete,
//! so the first number of a newer burst tells the receiver that the older ones are over. A segment that comes from an older
//! burst changes nothing.

mod receiver;
mod sender;

pub use receiver::TransfersReceiver;
pub use sender::TransfersSender;

use paceline_units::{Bytes, RandomStream, TimeDelta, names, params};

names! {
    /// How idle times are drawn.
    pub enum IdleKind {
        /// From the exponential distribution.
        Exponential = "exponential",
        /// Always as long.
        Fixed = "fixed",
    }
}

names! {
    /// A user's first act.
    pub enum Begin {
        /// A burst.
        On = "on",
        /// An idle time.
        Off = "off",
    }
}

params! {
    /// The transfers of a user, and their times.
    #[derive(Copy)]
    pub struct TransfersConfig {
        parallel: u16 = 30, in 1.0, 10_000.0, "RFC 8868 5.1", "Fetches that begin at once; over all flows at most 100,000";
        size_min: Bytes = Bytes::new(30_000), in 1.0, 1e18, "RFC 8868 5.1", "Payload of the smallest file; sizes are uniform between both, in whole bytes";
        size_max: Bytes = Bytes::new(50_000), in 1.0, 1e18, "RFC 8868 5.1", "Payload of the largest file";
        idle: TimeDelta = TimeDelta::from_secs(10), in 0.0, 1e6, "RFC 8868 5.1", "Mean time from a burst's end to the next one";
        idle_kind: IdleKind = IdleKind::Exponential, "RFC 8868 5.1", "How idle times are drawn";
        begin: Begin = Begin::On, "RFC 8867 5.7 has two users on and eight off", "Whether the flow begins with a burst, or with an idle time";
    }
    ordered size_min <= size_max;
}

impl TransfersConfig {
    /// The most fetches in a burst: numbers of several bursts fit 16 bits, so that late segments are told from new ones.
    pub const MOST: u16 = 10_000;
}

/// The user's draws, in one order: sizes of a burst by connection, then the idle time behind it.
#[derive(Clone, Debug)]
struct User {
    config: TransfersConfig,
    random: RandomStream,
}

impl User {
    fn size(&mut self) -> Bytes {
        let (low, high) = (self.config.size_min.as_u64().max(1), self.config.size_max.as_u64());
        let sizes = high.saturating_sub(low).saturating_add(1);
        Bytes::new(low + ((self.random.uniform() * sizes as f64) as u64).min(sizes - 1))
    }

    fn idle(&mut self) -> TimeDelta {
        let mean = self.config.idle;
        match self.config.idle_kind {
            IdleKind::Fixed => mean,
            IdleKind::Exponential => {
                TimeDelta::from_nanos(self.random.exponential(mean.as_nanos() as f64) as i64)
            }
        }
    }

    fn parallel(&self) -> usize {
        usize::from(self.config.parallel.clamp(1, TransfersConfig::MOST))
    }
}
