//! Random early detection (Floyd and Jacobson 1993): drops or marks arrivals by chance, the more the longer the average
//! queue. The paper was not at hand: what is here is its well-known pseudocode and ns-2's refinements of it, `gentle` and
//! `wait`; `adaptive` is left out (see DEVIATIONS.md).

use crate::config::{QueueLimit, ResolvedLimit};
use crate::queue::packet_queue::{Discipline, LinkContext, Queued, Waiting};
use crate::queue::queue_params;
use crate::transit::Transit;
use alloc::collections::VecDeque;
use alloc::format;
use paceline_units::param::ParamError;
use paceline_units::{Bytes, RandomStream};

const PAPER: &str = "Floyd and Jacobson 1993, from the literature, no text at hand";
const NS2: &str = "ns-2's default from the literature, no text at hand";

queue_params! {
    /// RED's parameters. The limit is ns-2's 50 packets.
    pub struct RedConfig, limit = QueueLimit::Packets(50), room = |_| Bytes::new(1), {
        min_th: f64 = 5.0, in 0.0, 1e9,
            NS2, "Average length, in packets, up to which nothing is dropped";
        max_th: f64 = 15.0, in 0.0, 1e9,
            NS2, "Average length, in packets, at which the chance is max_p";
        max_p: f64 = 0.1, in 0.0, 1.0,
            NS2, "Chance of a drop at max_th";
        q_w: f64 = 0.002, in 0.0, 1.0,
            PAPER, "Weight of the newest length in the average";
        gentle: bool = true,
            NS2, "Beyond max_th the chance rises to 1 at twice that, instead of at once";
        wait: bool = true,
            NS2, "After a drop none comes for 1 / chance packets; then one does within as many more";
        in_bytes: bool = false,
            PAPER, "Lengths count bytes / mean_pktsize, and a packet's chance is in proportion to its size";
        mean_pktsize: Bytes = Bytes::new(500), in 1.0, 1e9,
            NS2, "Usual packet: the average ages by its time while the link is idle";
        ecn: bool = true,
            "RFC 3168 19.1", "Packets that can be marked are marked instead of dropped while the average is below max_th";
    }
    check above;
}

fn above(config: &RedConfig) -> Result<(), ParamError> {
    if config.max_th <= config.min_th {
        return Err(ParamError::new("max_th", config.max_th, "a number above min_th"));
    }
    Ok(())
}

/// The decision on an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// The average and the chance that follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Detector {
    config: RedConfig,
    random: RandomStream,
    /// Average length in packets.
    avg: f64,
    /// Packets, or with `in_bytes` usual packets' bytes, since the last drop; none while the average is below `min_th`.
    count: Option<f64>,
    /// Since when the link is idle.
    idle_since: Option<u64>,
    /// Nanoseconds that the usual packet takes.
    packet_time: f64,
}

impl Detector {
    pub(crate) fn new(config: &RedConfig, context: &LinkContext<'_>) -> Detector {
        Detector {
            random: RandomStream::new(context.seed, &format!("link.{}.queue", context.name)),
            avg: 0.0,
            count: None,
            idle_since: Some(0),
            packet_time: config.mean_pktsize.as_bits_f64() * 1e9 / context.nominal.as_bps_f64().max(1.0),
            config: config.clone(),
        }
    }

    /// The average takes note of an arrival at `now` that finds `packets` and `bytes` waiting.
    #[inline]
    fn measure(&mut self, now: u64, packets: u64, bytes: u64) {
        let q_w = self.config.q_w;
        if let Some(since) = self.idle_since.take() {
            // As if so many usual packets had found the queue empty.
            let m = now.saturating_sub(since) as f64 / self.packet_time;
            self.avg *= libm::pow(1.0 - q_w, m);
            return;
        }
        let length = match self.config.in_bytes {
            true => bytes as f64 / self.config.mean_pktsize.as_f64(),
            false => packets as f64,
        };
        self.avg += q_w * (length - self.avg);
    }

    /// The chance by the average alone, `p_b`.
    pub(crate) fn p_b(&self, avg: f64) -> f64 {
        let RedConfig { min_th, max_th, max_p, gentle, .. } = self.config;
        if avg < min_th {
            0.0
        } else if avg < max_th {
            max_p * (avg - min_th) / (max_th - min_th)
        } else if gentle && avg < 2.0 * max_th {
            max_p + (1.0 - max_p) * (avg - max_th) / max_th
        } else {
            1.0
        }
    }

    /// The chance after `count` packets that passed, `p_a`: drops are spread evenly, in [1, 1 / p_b] packets after the
    /// one before, with `wait` in [1 / p_b, 2 / p_b].
    pub(crate) fn p_a(&self, p_b: f64, count: f64, size: u64) -> f64 {
        let counted = count * p_b;
        let p_a = match self.config.wait {
            true if counted < 1.0 => 0.0,
            true if counted < 2.0 => p_b / (2.0 - counted),
            false if counted < 1.0 => p_b / (1.0 - counted),
            _ => 1.0,
        };
        let share = if self.config.in_bytes { size as f64 / self.config.mean_pktsize.as_f64() } else { 1.0 };
        (p_a * share).min(1.0)
    }

    fn judge(&mut self, size: u64) -> Verdict {
        if self.avg < self.config.min_th {
            self.count = None;
            return Verdict::Pass;
        }
        let step = if self.config.in_bytes { size as f64 / self.config.mean_pktsize.as_f64() } else { 1.0 };
        let count = self.count.map_or(0.0, |count| count + step);
        self.count = Some(count);
        let p_b = self.p_b(self.avg);
        if p_b < 1.0 {
            let p_a = self.p_a(p_b, count, size);
            if !self.random.chance(p_a) {
                return Verdict::Pass;
            }
        }
        self.count = Some(0.0);
        if self.config.ecn && self.avg < self.config.max_th { Verdict::Mark } else { Verdict::Drop }
    }

    /// Whether an arrival passes, marked if need be.
    #[inline]
    pub(crate) fn passes<P: Transit>(&mut self, packet: &mut Queued<P>, packets: u64, bytes: u64) -> bool {
        self.measure(packet.since, packets, bytes);
        match self.judge(packet.size) {
            Verdict::Pass => true,
            Verdict::Mark => packet.mark(),
            Verdict::Drop => false,
        }
    }
}

/// RED over one queue.
#[derive(Clone, Debug)]
pub(crate) struct Red<P> {
    limit: ResolvedLimit,
    detector: Detector,
    queue: VecDeque<Queued<P>>,
}

impl<P: Transit> Discipline<P> for Red<P> {
    type Config = RedConfig;

    fn new(config: &RedConfig, context: &LinkContext<'_>) -> Result<Red<P>, ParamError> {
        Ok(Red {
            limit: config.limit.resolve(context.nominal)?,
            detector: Detector::new(config, context),
            queue: VecDeque::with_capacity(64),
        })
    }

    fn set_limit(&mut self, limit: ResolvedLimit) {
        self.limit = limit;
    }

    fn admit_to_idle<T: Transit>(&mut self, packet: &mut Queued<T>) -> bool {
        let passes = self.detector.passes(packet, 0, 0);
        if !passes {
            self.detector.idle_since = Some(packet.since);
        }
        passes
    }

    #[inline]
    fn enqueue(&mut self, mut packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Result<(), Queued<P>> {
        let passes = self.detector.passes(&mut packet, waiting.packets(), waiting.bytes());
        if !passes || !self.limit.admits(waiting.packets(), waiting.bytes(), packet.size) {
            return Err(packet);
        }
        self.queue.push_back(packet);
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, now: u64, _waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        let next = self.queue.pop_front();
        if next.is_none() {
            self.detector.idle_since = Some(now);
        }
        next
    }
}
