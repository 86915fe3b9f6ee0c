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

mod agenda;
mod receiver;
mod sender;

pub use receiver::TransfersReceiver;
pub use sender::TransfersSender;

use paceline_units::{Bytes, RandomStream, TimeDelta};

/// What a user fetches, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransfersConfig {
    /// Fetches in a burst, from 1 to [`TransfersConfig::MOST`].
    pub parallel: u16,
    /// Payload of the smallest file.
    pub size_min: Bytes,
    /// Payload of the largest file; sizes are uniform between both, in whole bytes.
    pub size_max: Bytes,
    /// Time between the end of a burst and the beginning of the next one.
    pub idle: Idle,
    /// Whether the user begins with a burst (on), or with an idle time (off).
    pub begins_on: bool,
}

/// How long the user is idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// Always as long.
    Fixed(TimeDelta),
    /// Drawn from the exponential distribution with this mean.
    Exponential(TimeDelta),
}

impl TransfersConfig {
    /// The most fetches in a burst: numbers of several bursts fit 16 bits, so that late segments are told from new ones.
    pub const MOST: u16 = 10_000;
}

impl Default for TransfersConfig {
    /// RFC 8868 section 5.1; the user begins with a burst.
    fn default() -> TransfersConfig {
        TransfersConfig {
            parallel: 30,
            size_min: Bytes::new(30_000),
            size_max: Bytes::new(50_000),
            idle: Idle::Exponential(TimeDelta::from_secs(10)),
            begins_on: true,
        }
    }
}

/// What the user draws, in one order: sizes of a burst by connection, then the idle time behind it.
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
        match self.config.idle {
            Idle::Fixed(span) => span,
            Idle::Exponential(mean) => {
                TimeDelta::from_nanos(self.random.exponential(mean.as_nanos() as f64) as i64)
            }
        }
    }

    fn parallel(&self) -> usize {
        usize::from(self.config.parallel.clamp(1, TransfersConfig::MOST))
    }
}
