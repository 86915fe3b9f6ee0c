//! Drop-tail, predicted: a packet's departure is known when it is offered, so no packet is held and nothing is an
//! event. The times at which the service of waiting packets begins are kept for limits and counters, and only looked at when
//! somebody asks or a limit may be reached: a link that is mostly idle touches no ring.

use super::queue_params;
use crate::config::{MAX_PACKET, QueueLimit, ResolvedLimit};
use crate::line::Line;
use crate::schedule::NEVER;
use crate::server::Arrivals;
use crate::transit::{Departure, Plan, Planned, Transit};
use alloc::collections::VecDeque;
use core::marker::PhantomData;
use paceline_units::Bytes;

queue_params! {
    /// The parameter of drop-tail: its limit.
    pub struct DropTailConfig, limit = QueueLimit::Unlimited, room = |_| Bytes::ZERO, {}
}

/// A packet that was announced and whose service has not begun.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When its service begins: the packet before departs then.
    until: u64,
    size: u64,
}

/// A first-in first-out queue that drops what does not fit.
#[derive(Clone, Debug)]
pub(crate) struct DropTail<P> {
    limit: ResolvedLimit,
    /// Bytes with which one more packet surely may wait, if as many packets as ever may: none once another limit in packets came.
    sure: u64,
    /// Packets that waited at the last look or came later, in order. At a look as of now they are those that wait.
    waiting: VecDeque<Waiting>,
    /// Bytes of `waiting`.
    bytes: u64,
    /// Size of the packet that was in service at the last look or found the server idle later.
    serving: u64,
    /// Bytes of all packets so far, and of those that will never leave.
    accepted: u64,
    stuck: u64,
    /// When marked packets depart that had not departed at the last look.
    marked: VecDeque<u64>,
    /// Whether a packet was in service at the last look.
    in_service: bool,
    packet: PhantomData<fn(P)>,
}

impl<P: Transit> DropTail<P> {
    pub(crate) fn new(limit: ResolvedLimit) -> DropTail<P> {
        DropTail {
            limit,
            sure: limit.bytes(),
            waiting: VecDeque::with_capacity(64),
            bytes: 0,
            serving: 0,
            accepted: 0,
            stuck: 0,
            marked: VecDeque::new(),
            in_service: false,
            packet: PhantomData,
        }
    }

    /// Another limit holds for the packets that come from now on.
    pub(crate) fn set_limit(&mut self, limit: ResolvedLimit) {
        self.sure = if limit.counts_packets() { 0 } else { limit.bytes() };
        self.limit = limit;
    }

    /// A packet comes at `now`, which a shaper had held back. It comes back if it is dropped.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        line: &mut Line,
        now: u64,
        mut packet: P,
        held: u64,
        sink: &mut impl FnMut(Departure<P>),
    ) -> Result<(), P> {
        match self.plan::<false>(line, now, &mut packet, held) {
            Planned::Departs(plan) => sink(plan.of(packet)),
            Planned::Stays => {}
            Planned::Dropped | Planned::Lost | Planned::Undecided => return Err(packet),
        }
        Ok(())
    }

    /// The fate of a packet that comes at `now`, which a shaper had held back. `PLAIN` where the line has no marks, noise or overhead.
    #[inline(always)]
    pub(crate) fn plan<const PLAIN: bool>(
        &mut self,
        line: &mut Line,
        now: u64,
        packet: &mut impl Transit,
        held: u64,
    ) -> Planned {
        let size = if PLAIN { packet.size().as_u64() } else { line.size_of(packet) };
        line.account.offered += 1;
        if size > MAX_PACKET {
            line.account.dropped += 1;
            return Planned::Dropped;
        }
        let free = line.server.free();
        let (wait, departs) = if free <= now {
            self.find_idle(size);
            (0, line.server.serve_at(now, size))
        } else {
            // Where packets come as fast as they leave, to look at the first is enough.
            let fits = self.surely_fits(line, size)
                || self.begin_service_of_first(now) && self.surely_fits(line, size);
            if !fits && !self.admits(line, now, size) {
                line.account.dropped += 1;
                return Planned::Dropped;
            }
            self.waiting.push_back(Waiting { until: free, size });
            self.bytes += size;
            line.account.plan_wait(free - now);
            (free - now, line.server.serve(size))
        };
        self.accepted += size;
        if departs == NEVER {
            self.stuck += size;
            return Planned::Stays;
        }
        let plan = line.plan::<PLAIN>(packet, wait, held, departs);
        if plan.marked {
            self.note_mark(line, now, departs);
        }
        Planned::Departs(plan)
    }

    /// The fate of the first of several packets, where all find an idle server: the others depart as much later as they come.
    #[inline]
    pub(crate) fn plan_run(
        &mut self,
        line: &mut Line,
        arrivals: Arrivals,
        packet: &impl Transit,
    ) -> Option<Plan> {
        let size = packet.size().as_u64();
        if size > MAX_PACKET {
            return None;
        }
        let departs = line.server.serve_run(&arrivals, size)?;
        line.account.offered += arrivals.count;
        self.accepted += arrivals.count * size;
        self.find_idle(size);
        Some(line.plain(0, departs))
    }

    /// A packet finds the server idle: all that waited has left.
    #[inline(always)]
    fn find_idle(&mut self, size: u64) {
        if !self.waiting.is_empty() {
            self.waiting.clear();
            self.bytes = 0;
        }
        self.serving = size;
    }

    /// Whether one more packet may wait and there were as many before, if all that were seen to wait still do.
    #[inline(always)]
    fn surely_fits(&self, line: &Line, size: u64) -> bool {
        self.bytes.saturating_add(size) <= self.sure
            && (self.waiting.len() as u64) < line.account.packets_max()
    }

    /// Whether one more packet may wait, which as far as was seen may be too many, or more than ever.
    #[inline(never)]
    fn admits(&mut self, line: &mut Line, now: u64, size: u64) -> bool {
        self.begin_service(now);
        let packets = self.waiting.len() as u64;
        let admits = self.limit.admits(packets, self.bytes, size);
        if admits {
            line.account.note_max(packets + 1);
        }
        admits
    }

    #[inline(never)]
    fn note_mark(&mut self, line: &mut Line, now: u64, departs: u64) {
        self.settle_marks(line, now);
        self.marked.push_back(departs);
    }

    fn settle_marks(&mut self, line: &mut Line, now: u64) {
        while self.marked.pop_front_if(|departs| *departs <= now).is_some() {
            line.account.marked += 1;
        }
    }

    /// Packets whose service has begun at `now`, which is before `NEVER`, wait no more.
    fn begin_service(&mut self, now: u64) {
        while self.begin_service_of_first(now) {}
    }

    /// The same of the first that waits: whether its service has begun.
    #[inline(always)]
    fn begin_service_of_first(&mut self, now: u64) -> bool {
        let Some(Waiting { size, .. }) = self.waiting.pop_front_if(|packet| packet.until <= now) else {
            return false;
        };
        self.bytes -= size;
        self.serving = size;
        true
    }

    /// Looks: counts everything up to and including `now`, which is before `NEVER`.
    pub(crate) fn settle(&mut self, line: &mut Line, now: u64) {
        self.begin_service(now);
        self.settle_marks(line, now);
        self.in_service = line.server.free() > now;
        let serving = if self.in_service { self.serving } else { 0 };
        let there = (self.waiting.len() as u64, self.bytes);
        let ahead = self.waiting.iter().map(|packet| u128::from(packet.until)).sum();
        line.account.set_waiting(there, ahead);
        let accepted = line.account.offered - line.account.dropped;
        line.account.departed = accepted - there.0 - u64::from(self.in_service);
        line.account.departed_bytes = self.accepted - there.1 - serving;
    }

    /// How many packets wait at `now`, which is before `NEVER`.
    pub(crate) fn waiting(&mut self, now: u64) -> u64 {
        self.begin_service(now);
        self.waiting.len() as u64
    }

    /// Bytes that are in service or wait, without those that never leave.
    pub(crate) fn handed(&self, line: &Line) -> u64 {
        self.accepted - self.stuck - line.account.departed_bytes
    }

    pub(crate) fn in_service(&self) -> bool {
        self.in_service
    }
}
