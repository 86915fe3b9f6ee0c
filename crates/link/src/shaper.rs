//! A shaper: a bucket of tokens with a queue. Packets that come faster than its rate, beyond a burst, wait before they reach the link's own
//! queue; what does not fit is dropped.
//!
//! The time at which a packet leaves is known when it comes, since those before it leave first. So the shaper is a first-in
//! first-out queue of packets with their times, each of which is offered to the link's queue then.

use crate::account::LinkCounters;
use crate::bucket::Bucket;
use crate::config::{QueueLimit, ResolvedLimit};
use crate::limits::Limits;
use crate::line::Line;
use crate::queue::Queue;
use crate::schedule::NEVER;
use crate::transit::{Departure, Offered, Transit};
use alloc::collections::VecDeque;
use paceline_units::param::ParamError;
use paceline_units::{Bitrate, Bytes, TimeDelta, params};

params! {
    /// The parameters of a shaper: its bucket, and exactly one limit of what waits for it.
    pub struct ShaperConfig {
        rate: Bitrate = Bitrate::ZERO, as Required, in 1.0, 1e15, "tc-tbf(8)", "Rate at which the bucket fills";
        burst: Bytes = Bytes::ZERO, as Required, in 1.0, 1e9, "tc-tbf(8)", "Size of the bucket, which is full at the beginning: a larger packet is dropped";
        limit: Option<TimeDelta> = None, as OneOf, where no ["packets", "bytes"], in 1e-9, 1e6, "tc-tbf(8)", "How much may wait for tokens, turned into bytes at `rate`";
        packets: Option<u64> = None, as OneOf, where no ["limit", "bytes"], in 1.0, f64::INFINITY, "ours", "Packets that may wait for tokens";
        bytes: Option<Bytes> = None, as OneOf, where no ["limit", "packets"], in 1.0, 1e18, "tc-tbf(8)", "Bytes that may wait for tokens, headers in";
    }
    check one_limit;
}

fn one_limit(config: &ShaperConfig) -> Result<(), ParamError> {
    match config.queue_limit() {
        Some(_) => Ok(()),
        None => Err(ParamError::new(
            "",
            "none or several of them",
            "exactly one of limit (a time), packets or bytes",
        )),
    }
}

impl ShaperConfig {
    /// How much may wait, if that is said once.
    fn queue_limit(&self) -> Option<QueueLimit> {
        match (self.limit, self.packets, self.bytes) {
            (Some(span), None, None) => Some(QueueLimit::Time(span)),
            (None, Some(packets), None) => Some(QueueLimit::Packets(packets)),
            (None, None, Some(bytes)) => Some(QueueLimit::Bytes(bytes)),
            _ => None,
        }
    }
}

/// A packet that waits for tokens. Times are nanoseconds.
#[derive(Clone, Debug)]
struct Held<P> {
    packet: P,
    since: u64,
    leaves: u64,
    size: u64,
}

/// A bucket before the queue, and the packets that wait for it.
#[derive(Clone, Debug)]
pub(crate) struct Shaper<P> {
    bucket: Bucket,
    limit: ResolvedLimit,
    held: VecDeque<Held<P>>,
    /// Bytes of `held`.
    bytes: u64,
    /// Departures from the link that `settle` planned and no sink has seen yet.
    unseen: VecDeque<Departure<P>>,
    /// Packets that the link's queue refused after they had waited here, and when, until somebody asks.
    refused: VecDeque<(u64, P)>,
    /// Packets that had to wait so far.
    shaped: u64,
    /// The most packets that waited at once, here and in the link's queue.
    most: u64,
    // The integral over time of what waits, as in the account.
    entered_ns: u128,
    left_ns: u128,
}

impl<P: Transit> Shaper<P> {
    pub(crate) fn new(config: &ShaperConfig) -> Result<Shaper<P>, ParamError> {
        let limit = config.queue_limit().unwrap_or(QueueLimit::Unlimited);
        Ok(Shaper {
            bucket: Bucket::new(config.rate, config.burst),
            limit: limit.resolve(config.rate)?,
            held: VecDeque::new(),
            bytes: 0,
            unseen: VecDeque::new(),
            refused: VecDeque::new(),
            shaped: 0,
            most: 0,
            entered_ns: 0,
            left_ns: 0,
        })
    }

    /// Whether a packet of `size` bytes that comes at `now` passes at once, and nothing that came before is to be told of.
    pub(crate) fn is_open(&mut self, now: u64, size: u64) -> bool {
        self.held.is_empty() && self.unseen.is_empty() && self.bucket.has(now, size)
    }

    /// A packet passes that found the shaper open.
    pub(crate) fn pass(&mut self, now: u64, size: u64) {
        self.bucket.take(now, size);
    }

    /// A packet comes at `now`, up to which everything has happened here. It comes back if it goes on at once; else it waits, or is
    /// dropped.
    pub(crate) fn take(
        &mut self,
        queue: &mut Queue<P>,
        line: &mut Line,
        now: u64,
        packet: P,
    ) -> Result<P, Offered> {
        let size = line.size_of(&packet);
        if self.held.is_empty() && self.bucket.spend(now, size) {
            return Ok(packet);
        }
        let packets = self.packets();
        if !self.bucket.holds(size) || !self.limit.admits(packets, self.bytes, size) {
            line.account.offered += 1;
            line.account.dropped += 1;
            return Err(Offered::Dropped);
        }
        let leaves = self.bucket.take(now, size);
        self.held.push_back(Held { packet, since: now, leaves, size });
        self.bytes += size;
        self.shaped += 1;
        self.entered_ns += u128::from(now);
        self.most = self.most.max(packets + 1 + queue.waiting(line, now));
        Err(Offered::Accepted)
    }

    /// Announces the departures that no sink has seen yet, then lets the packets go on to the link's queue that leave up to and
    /// including `last`. Answers when the last of them did; 0 if none did.
    pub(crate) fn release(
        &mut self,
        queue: &mut Queue<P>,
        limits: &mut Option<Limits>,
        line: &mut Line,
        last: u64,
        sink: &mut impl FnMut(Departure<P>),
    ) -> u64 {
        self.unseen.drain(..).for_each(&mut *sink);
        let mut released = 0;
        while let Some(Held { packet, since, leaves, size }) =
            self.held.pop_front_if(|held| held.leaves <= last.min(NEVER - 1))
        {
            released = leaves;
            self.bytes -= size;
            self.left_ns += u128::from(leaves);
            limits.iter_mut().for_each(|limits| limits.apply(queue, leaves));
            // A sink of its own, so that the path of other links keeps its code to itself.
            let mut sink = |departure| sink(departure);
            if let Err(packet) = queue.offer(line, leaves, packet, leaves - since, &mut sink) {
                self.refused.push_back((leaves, packet));
            }
        }
        released
    }

    /// The same without a sink: departures wait for the next one.
    pub(crate) fn settle(
        &mut self,
        queue: &mut Queue<P>,
        limits: &mut Option<Limits>,
        line: &mut Line,
        now: u64,
    ) {
        let mut unseen = core::mem::take(&mut self.unseen);
        self.release(queue, limits, line, now, &mut |departure| unseen.push_back(departure));
        self.unseen = unseen;
    }

    /// When a packet goes on to the link's queue, or a departure is to be announced; `NEVER` if none will.
    pub(crate) fn next_event(&self) -> u64 {
        let unseen = self.unseen.front().map_or(NEVER, |departure| departure.departed.as_nanos());
        unseen.min(self.held.front().map_or(NEVER, |held| held.leaves))
    }

    /// The next packet that the link's queue refused after it had waited here, and when.
    pub(crate) fn take_refused(&mut self) -> Option<(u64, P)> {
        self.refused.pop_front()
    }

    /// How many packets wait for tokens.
    pub(crate) fn packets(&self) -> u64 {
        self.held.len() as u64
    }

    /// Adds to the counters of the link at `now`.
    pub(crate) fn count(&self, now: u64, counters: &mut LinkCounters) {
        let packets = self.packets();
        counters.offered += packets;
        counters.queue_packets += packets;
        counters.queue_bytes += Bytes::new(self.bytes);
        counters.queue_packet_ns += self.left_ns + u128::from(packets) * u128::from(now) - self.entered_ns;
        counters.queue_packets_max = counters.queue_packets_max.max(self.most);
        counters.shaped = self.shaped;
    }

    /// Starts a new maximum of the waiting packets, of which `ahead` are in the link's queue.
    pub(crate) fn reset_max(&mut self, ahead: u64) {
        self.most = self.packets() + ahead;
    }
}
