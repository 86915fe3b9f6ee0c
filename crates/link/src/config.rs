//! What a link is made of.

use crate::error::{LinkError, check_span};
use crate::{LossConfig, MarkConfig, NoiseConfig, QueueConfig, RateProcess};
use alloc::vec::Vec;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// A link, as a scenario says it.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkConfig {
    /// How fast the server serves.
    pub rate: RateProcess,
    /// Propagation, one way; 0 or more.
    pub delay: TimeDelta,
    /// The queue before the server.
    pub queue: QueueConfig,
    /// ECN marks by queue delay, with any queue.
    pub mark: Option<MarkConfig>,
    /// Loss before the queue.
    pub loss: Option<LossConfig>,
    /// Delay noise after the server.
    pub noise: Option<NoiseConfig>,
    /// Intervals [from, to) in which nothing is served; the queue holds. May overlap, in any order.
    pub down: Vec<(Time, Time)>,
    /// Added to each packet's size on this link (UDP/IP headers), in every count.
    pub overhead: Bytes,
}

impl LinkConfig {
    /// A link without marks, loss, noise, failures or overhead.
    pub fn new(rate: RateProcess, delay: TimeDelta, queue: QueueConfig) -> LinkConfig {
        LinkConfig {
            rate,
            delay,
            queue,
            mark: None,
            loss: None,
            noise: None,
            down: Vec::new(),
            overhead: Bytes::ZERO,
        }
    }

    /// Checks everything that [`Link::new`](crate::Link::new) would refuse, without building the link.
    pub fn validate(&self) -> Result<(), LinkError> {
        self.rate.validate()?;
        check_span("delay", self.delay)?;
        if self.overhead.as_u64() > MAX_PACKET {
            return Err(LinkError::new("overhead", self.overhead, "at most 1 GiB"));
        }
        for &(from, to) in &self.down {
            if from >= to {
                return Err(LinkError::new("down", (from, to), "intervals [from, to] with from before to"));
            }
        }
        self.queue.validate_at(self.rate.nominal())?;
        self.mark.as_ref().map_or(Ok(()), MarkConfig::validate)?;
        self.loss.as_ref().map_or(Ok(()), LossConfig::validate)?;
        self.noise.as_ref().map_or(Ok(()), NoiseConfig::validate)
    }
}

/// The largest packet a link serves, overhead in: 1 GiB. Its work still fits 63 bits; a larger one is dropped.
pub(crate) const MAX_PACKET: u64 = 1 << 30;

/// How much may wait. The packet in service does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QueueLimit {
    /// What the nominal rate serves in this time, turned into bytes once.
    Time(TimeDelta),
    /// Number of packets that may wait.
    Packets(u64),
    /// Number of bytes that may wait, overhead included.
    Bytes(Bytes),
    /// Any number of packets may wait.
    #[default]
    Unlimited,
}

impl QueueLimit {
    /// The limit as bytes and packets, with `nominal` to turn a time into bytes; `u64::MAX` stands for no limit.
    pub(crate) fn resolve(self, nominal: Bitrate) -> Result<ResolvedLimit, LinkError> {
        let (bytes, packets) = match self {
            QueueLimit::Time(span) => {
                check_span("queue.limit", span)?;
                (nominal.bytes_in(span).as_u64(), u64::MAX)
            }
            QueueLimit::Packets(packets) => (u64::MAX, packets),
            QueueLimit::Bytes(bytes) => (bytes.as_u64(), u64::MAX),
            QueueLimit::Unlimited => (u64::MAX, u64::MAX),
        };
        Ok(ResolvedLimit { bytes, packets })
    }
}

/// A limit in the two units that a queue compares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResolvedLimit {
    bytes: u64,
    packets: u64,
}

impl ResolvedLimit {
    /// Whether one more packet of `size` bytes may wait behind `packets` packets of `bytes` bytes.
    #[inline]
    pub(crate) fn admits(self, packets: u64, bytes: u64, size: u64) -> bool {
        packets < self.packets && bytes.saturating_add(size) <= self.bytes
    }

    /// Whether `packets` packets of `bytes` bytes are at least this part of the limit.
    pub(crate) fn is_filled(self, part: f64, packets: u64, bytes: u64) -> bool {
        packets as f64 >= part * self.packets as f64 || bytes as f64 >= part * self.bytes as f64
    }
}
