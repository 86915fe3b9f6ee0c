//! Flow queueing with CoDel (RFC 8290): a queue for each flow, served in turn, new and sparse flows first.

use crate::codel::{CoDelConfig, Control};
use crate::config::{QueueLimit, ResolvedLimit};
use crate::error::LinkError;
use crate::held::{Discipline, Place, Queued, Waiting};
use crate::transit::Transit;
use paceline_units::{RandomStream, TimeDelta};
use std::collections::VecDeque;

/// FQ-CoDel's parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct FqCoDelConfig {
    /// CoDel's, for each queue; `limit` is over all of them.
    pub codel: CoDelConfig,
    /// How many queues flows are hashed to (RFC 8290 section 5.2.3).
    pub flows: u64,
    /// Bytes that a queue may send in its turn (section 5.2.4).
    pub quantum: u64,
    /// Packets dropped at once from the longest queue when the limit is reached (section 4.1).
    pub drop_batch: u64,
    /// Every packet that waited longer and can be marked is; absent: off (section 5.2.7).
    pub ce_threshold: Option<TimeDelta>,
}

impl Default for FqCoDelConfig {
    /// RFC 8290 section 5.2.
    fn default() -> FqCoDelConfig {
        FqCoDelConfig {
            codel: CoDelConfig { limit: QueueLimit::Packets(10_240), ..CoDelConfig::default() },
            flows: 1024,
            quantum: 1514,
            drop_batch: 64,
            ce_threshold: None,
        }
    }
}

impl FqCoDelConfig {
    pub(crate) fn validate(&self) -> Result<(), LinkError> {
        self.codel.validate()?;
        if !(1..=65_536).contains(&self.flows) {
            return Err(LinkError::new("queue.flows", self.flows, "from 1 to 65536 queues"));
        }
        if self.quantum == 0 {
            return Err(LinkError::new("queue.quantum", self.quantum, "at least 1 B"));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    None,
    New,
    Old,
}

#[derive(Clone, Debug)]
struct FlowQueue<P> {
    waiting: VecDeque<Queued<P>>,
    bytes: u64,
    deficit: i64,
    control: Control,
    list: List,
}

/// The queues and the two lists of those that have something.
#[derive(Clone, Debug)]
pub(crate) struct FqCoDel<P> {
    limit: ResolvedLimit,
    queues: Vec<FlowQueue<P>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    drop_batch: u64,
    ce_threshold: u64,
    /// Stirs the hash, so that which flows share a queue is nobody's choice.
    perturbation: u64,
}

impl<P: Transit> FqCoDel<P> {
    fn queue_of(&self, packet: &P) -> usize {
        let mut hash = packet.flow() ^ self.perturbation;
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        (hash % self.queues.len() as u64) as usize
    }

    /// Makes room: up to a batch, and half of it at most, from the head of the queue with most bytes.
    #[cold]
    fn drop_from_longest(&mut self, now: u64, waiting: &mut Waiting<'_, P>) {
        let Some(longest) = self.queues.iter_mut().max_by_key(|queue| queue.bytes) else { return };
        let half = longest.bytes / 2;
        let mut dropped = 0;
        for _ in 0..self.drop_batch.max(1) {
            let Some(head) = longest.waiting.pop_front() else { break };
            longest.bytes -= head.size;
            dropped += head.size;
            waiting.discard(now, head);
            if dropped >= half {
                break;
            }
        }
    }
}

impl<P: Transit> Discipline<P> for FqCoDel<P> {
    type Config = FqCoDelConfig;

    fn new(config: &FqCoDelConfig, place: &Place<'_>) -> Result<FqCoDel<P>, LinkError> {
        config.validate()?;
        let queue = || FlowQueue {
            waiting: VecDeque::new(),
            bytes: 0,
            deficit: 0,
            control: Control::new(&config.codel),
            list: List::None,
        };
        Ok(FqCoDel {
            limit: config.codel.limit.resolve(place.nominal)?,
            queues: std::iter::repeat_with(queue).take(config.flows as usize).collect(),
            new: VecDeque::with_capacity(64),
            old: VecDeque::with_capacity(64),
            quantum: config.quantum.min(1 << 40) as i64,
            drop_batch: config.drop_batch,
            ce_threshold: config.ce_threshold.map_or(u64::MAX, |span| span.as_nanos().max(0) as u64),
            perturbation: RandomStream::new(place.seed, &format!("link.{}.queue", place.name)).next_u64(),
        })
    }

    fn enqueue(&mut self, packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Option<()> {
        while !self.limit.admits(waiting.packets(), waiting.bytes(), packet.size) {
            if waiting.packets() == 0 {
                return None;
            }
            self.drop_from_longest(packet.since, waiting);
        }
        let place = self.queue_of(&packet.packet);
        let queue = &mut self.queues[place];
        queue.bytes += packet.size;
        queue.waiting.push_back(packet);
        if queue.list == List::None {
            queue.list = List::New;
            queue.deficit = self.quantum;
            self.new.push_back(place as u32);
        }
        Some(())
    }

    fn dequeue(&mut self, now: u64, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        loop {
            // Section 4.2: new queues first.
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let queue = &mut self.queues[place as usize];
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                queue.list = List::Old;
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let FlowQueue { waiting: packets, bytes, control, .. } = queue;
            let head = control.dequeue(now, packets, bytes, &mut |queued| waiting.discard(now, queued));
            let Some(mut head) = head else {
                list.pop_front();
                // A new queue that is empty is old for a round, so that nobody gains by sending one packet at a time.
                if from_new && !self.old.is_empty() {
                    queue.list = List::Old;
                    self.old.push_back(place);
                } else {
                    queue.list = List::None;
                }
                continue;
            };
            queue.deficit -= head.size as i64;
            if now - head.since > self.ce_threshold {
                head.mark();
            }
            return Some(head);
        }
    }
}
