//! Random early detection (Floyd and Jacobson 1993; no text at hand, FACTS.md and ns-2's well-known defaults alone):
//! drops or marks by chance, the more the longer the average queue.

use crate::config::{QueueLimit, ResolvedLimit};
use crate::error::{LinkError, check_limit, check_ratio};
use crate::held::{Discipline, Place, Queued, Waiting};
use crate::transit::Transit;
use paceline_units::{Bytes, RandomStream};
use std::collections::VecDeque;

/// RED's parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct RedConfig {
    /// How much may wait at all.
    pub limit: QueueLimit,
    /// No drop while the average is below, in packets of `mean_packet`.
    pub min_th: f64,
    /// Above this average every packet is dropped, or with `gentle` more and more of them.
    pub max_th: f64,
    /// The chance at `max_th`.
    pub max_p: f64,
    /// Weight of the newest length in the average.
    pub q_w: f64,
    /// Whether the chance rises from `max_p` at `max_th` to 1 at twice that, instead of at once.
    pub gentle: bool,
    /// Whether drops are spread out: none sooner than 1 / chance after the one before.
    pub wait: bool,
    /// Whether the queue is measured in bytes, and larger packets are dropped sooner.
    pub in_bytes: bool,
    /// The usual packet: what the average ages by while the link is idle, and thresholds are multiples of.
    pub mean_packet: Bytes,
    /// Whether packets that can be marked are marked while the average is below `max_th`.
    pub ecn: bool,
}

impl Default for RedConfig {
    /// 5 and 15 packets, 0.1, 0.002, gentle.
    fn default() -> RedConfig {
        RedConfig {
            limit: QueueLimit::Packets(100),
            min_th: 5.0,
            max_th: 15.0,
            max_p: 0.1,
            q_w: 0.002,
            gentle: true,
            wait: true,
            in_bytes: false,
            mean_packet: Bytes::new(1000),
            ecn: true,
        }
    }
}

impl RedConfig {
    pub(crate) fn validate(&self) -> Result<(), LinkError> {
        check_limit(self.limit)?;
        let finite = |value: f64| value.is_finite() && value >= 0.0;
        if !finite(self.min_th) {
            return Err(LinkError::new("queue.min_th", self.min_th, "a number of packets, 0 or more"));
        }
        if !finite(self.max_th) || self.max_th <= self.min_th {
            return Err(LinkError::new("queue.max_th", self.max_th, "a number of packets above min_th"));
        }
        check_ratio("queue.max_p", self.max_p)?;
        check_ratio("queue.q_w", self.q_w)?;
        if self.mean_packet == Bytes::ZERO {
            return Err(LinkError::new("queue.mean_packet", self.mean_packet, "above 0"));
        }
        Ok(())
    }
}

/// What is to be done with an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// RED over one queue.
#[derive(Clone, Debug)]
pub(crate) struct Red<P> {
    config: RedConfig,
    limit: ResolvedLimit,
    random: RandomStream,
    waiting: VecDeque<Queued<P>>,
    average: f64,
    /// Packets since the last drop while the average was above `min_th`; -1 below.
    count: i64,
    /// Since when nothing waits.
    empty_since: Option<u64>,
    /// How long the usual packet takes, in nanoseconds.
    packet_time: f64,
}

impl<P: Transit> Red<P> {
    /// The average takes note of an arrival at `now` that finds `packets` and `bytes` waiting.
    fn measure(&mut self, now: u64, packets: u64, bytes: u64) {
        let length = match self.config.in_bytes {
            true => bytes as f64 / self.config.mean_packet.as_f64(),
            false => packets as f64,
        };
        if let Some(since) = self.empty_since.take() {
            // As if so many usual packets had found it empty.
            let missed = now.saturating_sub(since) as f64 / self.packet_time;
            self.average *= libm::pow(1.0 - self.config.q_w, missed);
        }
        self.average += self.config.q_w * (length - self.average);
    }

    /// The chance of a drop by the average alone (`p_b`).
    fn chance(&self) -> f64 {
        let RedConfig { min_th, max_th, max_p, gentle, .. } = self.config;
        if self.average < min_th {
            0.0
        } else if self.average < max_th {
            max_p * (self.average - min_th) / (max_th - min_th)
        } else if gentle {
            (max_p + (1.0 - max_p) * (self.average - max_th) / max_th).min(1.0)
        } else {
            1.0
        }
    }

    fn judge(&mut self, size: u64) -> Verdict {
        let mut chance = self.chance();
        if chance <= 0.0 {
            self.count = -1;
            return Verdict::Pass;
        }
        if chance >= 1.0 {
            self.count = 0;
            return Verdict::Drop;
        }
        self.count += 1;
        if self.config.in_bytes {
            chance *= size as f64 / self.config.mean_packet.as_f64();
        }
        // Spread evenly: uniform between drops instead of geometric.
        let counted = self.count.max(0) as f64 * chance;
        let spread = match self.config.wait {
            true if counted < 1.0 => 0.0,
            true if counted < 2.0 => chance / (2.0 - counted),
            false if counted < 1.0 => chance / (1.0 - counted),
            _ => 1.0,
        };
        if !self.random.chance(spread) {
            return Verdict::Pass;
        }
        self.count = 0;
        if self.config.ecn && self.average < self.config.max_th { Verdict::Mark } else { Verdict::Drop }
    }

    /// False if the packet is dropped.
    fn pass(&mut self, packet: &mut Queued<P>) -> bool {
        match self.judge(packet.size) {
            Verdict::Pass => true,
            Verdict::Mark => packet.mark(),
            Verdict::Drop => false,
        }
    }
}

impl<P: Transit> Discipline<P> for Red<P> {
    type Config = RedConfig;

    fn new(config: &RedConfig, place: &Place<'_>) -> Result<Red<P>, LinkError> {
        config.validate()?;
        let rate = place.nominal.as_bps_f64().max(1.0);
        Ok(Red {
            limit: config.limit.resolve(place.nominal)?,
            random: RandomStream::new(place.seed, &format!("link.{}.queue", place.name)),
            waiting: VecDeque::with_capacity(64),
            average: 0.0,
            count: -1,
            empty_since: Some(0),
            packet_time: config.mean_packet.as_bits_f64() * 1e9 / rate,
            config: config.clone(),
        })
    }

    fn admit_to_idle(&mut self, packet: &mut Queued<P>) -> bool {
        self.measure(packet.since, 0, 0);
        let passes = self.pass(packet);
        if !passes {
            self.empty_since = Some(packet.since);
        }
        passes
    }

    fn enqueue(&mut self, mut packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Option<()> {
        self.measure(packet.since, waiting.packets(), waiting.bytes());
        let fits = self.limit.admits(waiting.packets(), waiting.bytes(), packet.size);
        if !self.pass(&mut packet) || !fits {
            return None;
        }
        self.waiting.push_back(packet);
        Some(())
    }

    fn dequeue(&mut self, now: u64, _waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.empty_since = Some(now);
        }
        next
    }
}
