//! Flow queueing with CoDel (RFC 8290): a queue for each flow, served in turn, new and sparse flows first.

mod pool;

use crate::config::{QueueLimit, ResolvedLimit};
use crate::queue::codel::{Control, check_target};
use crate::queue::packet_queue::{Discipline, LinkContext, Queued, Waiting};
use crate::queue::queue_params;
use crate::transit::Transit;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use paceline_units::param::ParamError;
use paceline_units::{Bytes, RandomStream, TimeDelta};
use pool::{Chain, Pool};

queue_params! {
    /// FQ-CoDel's parameters (RFC 8290 section 5.2). The limit is over all queues.
    pub struct FqCoDelConfig, limit = QueueLimit::Packets(10_240), room = |_| Bytes::new(1), {
        target: TimeDelta = TimeDelta::from_millis(5), in 0.0, 1e3,
            "RFC 8290 5.2.2", "Wait that is acceptable in a queue; at least a full packet's time";
        interval: TimeDelta = TimeDelta::from_millis(100), in 1e-9, 1e3,
            "RFC 8290 5.2.1", "How long it may be exceeded: the longest usual round trip";
        maxpacket: Bytes = Bytes::new(1500), in 0.0, 1e9,
            "RFC 8289 4.4, 5.6", "With no more than this left in all queues nothing is dropped";
        quantum: Bytes = Bytes::new(1514), in 64.0, 1e9,
            "RFC 8290 5.2.4", "Bytes that a queue may send in its turn";
        flows: u64 = 1024, in 1.0, 65536.0,
            "RFC 8290 5.2.5", "Queues that flows are hashed to";
        drop_batch: u64 = 64, in 1.0, 1e9,
            "RFC 8290 4.1", "Most packets that are dropped at once from the fattest queue when the limit is exceeded";
        ecn: bool = true,
            "RFC 8290 5.2.6", "Packets that can be marked are marked instead of dropped";
        ce_threshold: Option<TimeDelta> = None, else "off", in 0.0, 1e3,
            "RFC 8290 5.2.7", "A packet that waited longer and can be marked is marked";
    }
    check fits;
}

fn fits(config: &FqCoDelConfig) -> Result<(), ParamError> {
    check_target(config.target, config.interval)?;
    match config.ce_threshold {
        Some(at) if !config.ecn => {
            let expected = "nothing: with ecn = false no packet is marked";
            Err(ParamError::new("ce_threshold", paceline_units::text::format_time(at), expected))
        }
        _ => Ok(()),
    }
}

/// Where a queue is (RFC 8290 figure 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    Empty,
    New,
    Old,
}

#[derive(Clone, Debug)]
struct FlowQueue {
    packets: Chain,
    /// Bytes that the queue may still send in its turn (RFC 8290 section 4.2).
    credits: i64,
    control: Control,
    list: List,
}

/// The queues, their packets and the two lists of queues that are active.
#[derive(Clone, Debug)]
pub(crate) struct FqCoDel<P> {
    limit: ResolvedLimit,
    pool: Pool<P>,
    queues: Vec<FlowQueue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    drop_batch: u64,
    ce_threshold: u64,
    /// Salts the hash, so that which flows share a queue is nobody's choice.
    perturbation: u64,
}

impl<P: Transit> FqCoDel<P> {
    /// Section 4.1. The hash is ours: a flow is a number here, not a 5-tuple.
    #[inline]
    fn queue_of(&self, packet: &impl Transit) -> usize {
        let mut hash = packet.flow().wrapping_add(self.perturbation);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        (hash % self.queues.len() as u64) as usize
    }

    /// A packet comes to queue `place`: if that is not active it becomes new, with a quantum of credits.
    #[inline]
    fn activate(&mut self, place: usize) -> &mut FlowQueue {
        let queue = &mut self.queues[place];
        if queue.list == List::Empty {
            queue.list = List::New;
            queue.credits = self.quantum;
            self.new.push_back(place as u32);
        }
        queue
    }

    /// Section 4.1: makes room for a packet of `size` bytes of queue `place` by dropping half the packets of the fattest
    /// queue, up to a batch, from its head. The newcomer counts as enqueued; false if it is itself what is dropped.
    fn drop_from_fattest(&mut self, now: u64, place: usize, size: u64, waiting: &mut Waiting<'_, P>) -> bool {
        let arriving = |at: usize| if at == place { (1, size) } else { (0, 0) };
        let fattest = (0..self.queues.len()).max_by_key(|&at| {
            let bytes = self.queues[at].packets.bytes() + arriving(at).1;
            (bytes, core::cmp::Reverse(at))
        });
        let Some(fattest) = fattest else { return false };
        let packets = &mut self.queues[fattest].packets;
        let half = (packets.len() + arriving(fattest).0) / 2;
        let before = waiting.packets();
        for _ in 0..half.clamp(1, self.drop_batch) {
            let Some(head) = self.pool.pop(packets) else { break };
            waiting.discard(now, head);
        }
        waiting.packets() < before
    }
}

impl<P: Transit> Discipline<P> for FqCoDel<P> {
    type Config = FqCoDelConfig;

    fn new(config: &FqCoDelConfig, context: &LinkContext<'_>) -> Result<FqCoDel<P>, ParamError> {
        let queue = FlowQueue {
            packets: Chain::new(),
            credits: 0,
            control: Control::new(config.target, config.interval, config.maxpacket, config.ecn),
            list: List::Empty,
        };
        let flows = config.flows as usize;
        Ok(FqCoDel {
            limit: config.limit.resolve(context.nominal)?,
            pool: Pool::new(),
            queues: vec![queue; flows],
            new: VecDeque::with_capacity(flows),
            old: VecDeque::with_capacity(flows),
            quantum: config.quantum.as_u64() as i64,
            drop_batch: config.drop_batch,
            ce_threshold: config.ce_threshold.map_or(u64::MAX, |span| span.as_nanos() as u64),
            perturbation: RandomStream::new(context.seed, &format!("link.{}.queue", context.name)).next_u64(),
        })
    }

    fn set_limit(&mut self, limit: ResolvedLimit) {
        self.limit = limit;
    }

    /// As if it were enqueued and dequeued at once: no queue is active then.
    #[inline]
    fn admit_to_idle<T: Transit>(&mut self, packet: &mut Queued<T>) -> bool {
        let place = self.queue_of(&packet.packet);
        let queue = self.activate(place);
        queue.control.on_no_wait();
        queue.credits -= packet.size as i64;
        true
    }

    #[inline]
    fn enqueue(&mut self, packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Result<(), Queued<P>> {
        let place = self.queue_of(&packet.packet);
        while !self.limit.admits(waiting.packets(), waiting.bytes(), packet.size) {
            let can_fit = self.limit.admits(0, 0, packet.size);
            if !can_fit || !self.drop_from_fattest(packet.since, place, packet.size, waiting) {
                return Err(packet);
            }
        }
        self.activate(place);
        self.pool.push(&mut self.queues[place].packets, packet);
        Ok(())
    }

    /// Section 4.2.
    #[inline]
    fn dequeue(&mut self, now: u64, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let queue = &mut self.queues[place as usize];
            // Section 3: a turn ends when the credits are zero or less.
            if queue.credits <= 0 {
                queue.credits += self.quantum;
                queue.list = List::Old;
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let (pool, packets) = (&mut self.pool, &mut queue.packets);
            let Some(mut head) = queue.control.dequeue(now, waiting, &mut || pool.pop(packets)) else {
                list.pop_front();
                // A new queue that is empty is old for a round, so that none comes back as new before all old ones had
                // their turn.
                if from_new {
                    queue.list = List::Old;
                    self.old.push_back(place);
                } else {
                    queue.list = List::Empty;
                }
                continue;
            };
            queue.credits -= head.size as i64;
            if now - head.since > self.ce_threshold {
                head.mark();
            }
            return Some(head);
        }
    }
}
