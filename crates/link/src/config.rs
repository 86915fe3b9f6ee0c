//! Configuration of a link.

use crate::{
    DelayOverTime, DuplicateConfig, LossConfig, MarkConfig, NoiseConfig, OverTime, PolicerConfig,
    QueueConfig, RateProcess, RatioOverTime, ShaperConfig,
};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use paceline_units::param::{ParamError, ParamSet};
use paceline_units::text::{format_size, format_time};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// A link, as a scenario says it.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkConfig {
    /// How fast the server serves.
    pub rate: RateProcess,
    /// Propagation, one way; 0 or more.
    pub delay: DelayOverTime,
    /// Whether a packet may overtake those that left before it over a longer route; else it arrives behind them.
    pub overtake: bool,
    /// The queue before the server.
    pub queue: QueueConfig,
    /// ECN marks by queue delay, with any queue.
    pub mark: Option<MarkConfig>,
    /// Loss before the queue.
    pub loss: Option<LossConfig>,
    /// Drops or marks what comes faster than a rate, behind the loss model and before the queue.
    pub policer: Option<PolicerConfig>,
    /// Holds back what comes faster than a rate, behind the policer and before the queue.
    pub shaper: Option<ShaperConfig>,
    /// Part of the packets that are damaged behind the server, so that nobody gets them.
    pub corrupt: RatioOverTime,
    /// Copies of a part of the packets, behind the server.
    pub duplicate: Option<DuplicateConfig>,
    /// Delay noises after the server, which a packet passes in turn.
    pub noise: Vec<NoiseConfig>,
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
            delay: DelayOverTime::Constant(delay),
            overtake: false,
            queue,
            mark: None,
            loss: None,
            policer: None,
            shaper: None,
            corrupt: RatioOverTime::Constant(0.0),
            duplicate: None,
            noise: Vec::new(),
            down: Vec::new(),
            overhead: Bytes::ZERO,
        }
    }

    /// The quantities that may change, by their keys.
    pub fn over_time(&mut self) -> Vec<(String, &mut dyn OverTime)> {
        let LinkConfig { delay, corrupt, duplicate, queue, loss, noise, .. } = self;
        over_time((delay, corrupt, duplicate), queue, loss, noise)
    }

    /// Work that it can do from one time to another, in bits. It must have been validated.
    pub fn capacity_bits(&self, from: Time, to: Time) -> f64 {
        self.rate.schedule(&self.down).capacity_bits(from, to)
    }

    /// Checks everything that [`Link::new`](crate::Link::new) would refuse, without building the link.
    pub fn validate(&self) -> Result<(), ParamError> {
        self.rate.validate()?;
        if let DelayOverTime::Constant(delay) = self.delay
            && delay.is_negative()
        {
            return Err(ParamError::new("delay", format_time(delay), "a time of 0 or more"));
        }
        for (key, quantity) in self.clone().over_time() {
            quantity.playable().map_err(|error| error.within(&key))?;
        }
        if self.overhead.as_u64() > MAX_PACKET {
            return Err(ParamError::new("overhead", format_size(self.overhead), "at most 1 GiB"));
        }
        for &(from, to) in &self.down {
            if from >= to {
                let found = format!("[{from:?}, {to:?}]");
                return Err(ParamError::new("down", found, "intervals [from, to] with from before to"));
            }
        }
        self.queue.check_at(self.rate.nominal()).map_err(|error| error.within("queue"))?;
        self.mark.as_ref().map_or(Ok(()), ParamSet::check).map_err(|error| error.within("mark"))?;
        self.loss.as_ref().map_or(Ok(()), ParamSet::check).map_err(|error| error.within("loss"))?;
        self.policer.as_ref().map_or(Ok(()), ParamSet::check).map_err(|error| error.within("policer"))?;
        self.shaper.as_ref().map_or(Ok(()), ParamSet::check).map_err(|error| error.within("shaper"))?;
        self.duplicate.as_ref().map_or(Ok(()), ParamSet::check).map_err(|error| error.within("duplicate"))?;
        let mut noises = self.noise.iter().enumerate();
        noises.try_for_each(|(place, noise)| {
            noise.check().map_err(|error| error.within(&noise_key(place, self.noise.len())))
        })
    }
}

/// The key of a link's noise, of so many.
fn noise_key(place: usize, of: usize) -> String {
    if of == 1 { "noise".into() } else { format!("noise[{place}]") }
}

/// The quantities of a link that may change, by their keys: of a running link's configuration, or of a scenario's.
pub fn over_time<'a>(
    (delay, corrupt, duplicate): (
        &'a mut DelayOverTime,
        &'a mut RatioOverTime,
        &'a mut Option<DuplicateConfig>,
    ),
    queue: &'a mut QueueConfig,
    loss: &'a mut Option<LossConfig>,
    noise: &'a mut [NoiseConfig],
) -> Vec<(String, &'a mut dyn OverTime)> {
    let mut all: Vec<(String, &mut dyn OverTime)> =
        vec![("delay".into(), delay), ("corrupt".into(), corrupt)];
    all.extend(
        duplicate.iter_mut().map(|config| ("duplicate.ratio".into(), &mut config.ratio as &mut dyn OverTime)),
    );
    all.extend(queue.scale_mut().map(|scale| ("queue.scale".into(), scale as &mut dyn OverTime)));
    let of_loss = loss.iter_mut().flat_map(LossConfig::over_time);
    all.extend(of_loss.map(|(key, quantity)| (format!("loss.{key}"), quantity)));
    let noises = noise.len();
    all.extend(noise.iter_mut().enumerate().map(|(place, noise)| {
        (format!("{}.scale", noise_key(place, noises)), noise.scale() as &mut dyn OverTime)
    }));
    all
}

/// The largest packet a link serves, overhead in: 1 GiB. Its work still fits 63 bits; a larger one is dropped.
pub(crate) const MAX_PACKET: u64 = 1 << 30;

/// How much may wait. The packet in service does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QueueLimit {
    /// Bytes that the nominal rate serves in this time, turned into bytes once.
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
    pub(crate) fn resolve(self, nominal: Bitrate) -> Result<ResolvedLimit, ParamError> {
        let (bytes, packets) = match self {
            QueueLimit::Time(span) => {
                if span.is_negative() {
                    return Err(ParamError::new("limit", format_time(span), "a time of 0 or more"));
                }
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
    /// The limit times a factor.
    pub(crate) fn scaled(self, factor: f64) -> ResolvedLimit {
        // No limit stays none.
        let scaled = |limit: u64| if limit == u64::MAX { limit } else { (limit as f64 * factor) as u64 };
        ResolvedLimit { bytes: scaled(self.bytes), packets: scaled(self.packets) }
    }

    /// Whether it is a number of packets.
    pub(crate) fn counts_packets(self) -> bool {
        self.packets != u64::MAX
    }

    /// How many bytes may wait.
    #[inline]
    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

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
