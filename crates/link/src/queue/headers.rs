//! First-in-first-out queues whose routers write into the congestion headers of packets.

use crate::config::ResolvedLimit;
use crate::queue::Limited;
use crate::queue::packet_queue::{Discipline, LinkContext, Queued, Waiting};
use crate::transit::Transit;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use paceline_units::param::ParamError;
use paceline_units::{CongestionHeader, Feedback};

/// Shortest and longest round trip in seconds that a router believes: a header may say anything.
const RTTS: (f64, f64) = (1e-6, 100.0);

/// Round trip in seconds of a header that asks for this kind of feedback, as far as it says what can be.
pub(crate) fn believed_rtt(header: &CongestionHeader, kind: Feedback) -> Option<f64> {
    let rtt = f64::from(header.rtt);
    (rtt > 0.0 && header.kind == kind).then(|| rtt.clamp(RTTS.0, RTTS.1))
}

/// When an interval of so many seconds ends that begins at `from`, a nanosecond later at least.
pub(crate) fn after(from: u64, interval: f64) -> u64 {
    from.saturating_add(((interval * 1e9) as u64).max(1))
}

/// The control of a link by headers: it measures arrivals in intervals, and writes into packets that leave. Times are nanoseconds.
pub(crate) trait Router {
    /// Its parameters, the queue's limit among them.
    type Config: Limited + Clone;

    /// The router of a link that has carried nothing.
    fn new(config: &Self::Config, context: &LinkContext<'_>) -> Self;

    /// Ends the intervals that are over at `now`, up to which `waiting` bytes were in the queue.
    fn reach(&mut self, now: u64, waiting: u64);

    /// A packet of `size` bytes comes.
    fn on_arrival(&mut self, now: u64, size: u64, header: Option<&mut CongestionHeader>);

    /// A packet leaves, when `waiting` bytes are in the queue, its own in.
    fn on_departure(&mut self, size: u64, waiting: u64, header: Option<&mut CongestionHeader>);
}

/// A router over one queue.
#[derive(Clone, Debug)]
pub(crate) struct Routed<P, R> {
    limit: ResolvedLimit,
    router: R,
    queue: VecDeque<Queued<P>>,
    /// Headers of packets that do not carry theirs, by key.
    lent: Vec<CongestionHeader>,
}

/// The congestion header of a packet, in it or lent.
fn header<'a, T: Transit>(
    packet: &'a mut T,
    lent: &'a mut [CongestionHeader],
) -> Option<&'a mut CongestionHeader> {
    match packet.lent_key() {
        Some(key) => lent.get_mut(key as usize),
        None => packet.congestion(),
    }
}

impl<P: Transit, R: Router> Discipline<P> for Routed<P, R> {
    type Config = R::Config;

    fn new(config: &R::Config, context: &LinkContext<'_>) -> Result<Routed<P, R>, ParamError> {
        let limit = config.limit().resolve(context.nominal)?;
        Ok(Routed {
            limit,
            router: R::new(config, context),
            queue: VecDeque::with_capacity(64),
            lent: Vec::new(),
        })
    }

    fn set_limit(&mut self, limit: ResolvedLimit) {
        self.limit = limit;
    }

    fn admit_to_idle<T: Transit>(&mut self, packet: &mut Queued<T>) -> bool {
        self.router.reach(packet.since, 0);
        self.router.on_arrival(packet.since, packet.size, header(&mut packet.packet, &mut self.lent));
        self.router.on_departure(packet.size, packet.size, header(&mut packet.packet, &mut self.lent));
        true
    }

    fn enqueue(&mut self, mut packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Result<(), Queued<P>> {
        self.router.reach(packet.since, waiting.bytes());
        self.router.on_arrival(packet.since, packet.size, header(&mut packet.packet, &mut self.lent));
        if !self.limit.admits(waiting.packets(), waiting.bytes(), packet.size) {
            return Err(packet);
        }
        self.queue.push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, now: u64, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        self.router.reach(now, waiting.bytes());
        let mut next = self.queue.pop_front()?;
        self.router.on_departure(next.size, waiting.bytes(), header(&mut next.packet, &mut self.lent));
        Some(next)
    }

    fn lend(&mut self, key: u32, header: CongestionHeader) {
        let key = key as usize;
        if key >= self.lent.len() {
            self.lent.resize(key + 1, header);
        }
        self.lent[key] = header;
    }

    fn lent(&self, key: u32) -> Option<CongestionHeader> {
        self.lent.get(key as usize).copied()
    }
}
