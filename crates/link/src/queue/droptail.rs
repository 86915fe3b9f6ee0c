//! Drop-tail, predicted: a packet's departure is known when it is offered, so no packet is held and nothing is an
//! event. What is kept is (departure, size) of those under way, for limits and counters: the last apart, so that a link
//! which is mostly idle touches no ring.

use super::queue_params;
use crate::config::{MAX_PACKET, QueueLimit, ResolvedLimit};
use crate::line::Line;
use crate::schedule::NEVER;
use crate::transit::{Departure, Offered, Planned, Transit};
use alloc::collections::VecDeque;
use core::marker::PhantomData;
use paceline_units::{Bytes, Ecn};

queue_params! {
    /// What drop-tail has: its limit.
    pub struct DropTailConfig, limit = QueueLimit::Unlimited, room = |_| Bytes::ZERO, {}
}

/// A packet that was announced and has not departed yet.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    departs: u64,
    /// At most `MAX_PACKET`.
    size: u32,
    marked: bool,
}

/// A first-in first-out queue that drops what does not fit.
#[derive(Clone, Debug)]
pub(crate) struct DropTail<P> {
    limit: ResolvedLimit,
    /// Those before the last, in order of departure. The first is in service, the others wait: a packet's service starts
    /// when the one before departs.
    ahead: VecDeque<UnderWay>,
    /// The last accepted packet, if it has not departed.
    last: Option<UnderWay>,
    packet: PhantomData<fn(P)>,
}

impl<P: Transit> DropTail<P> {
    pub(crate) fn new(limit: ResolvedLimit) -> DropTail<P> {
        DropTail { limit, ahead: VecDeque::with_capacity(64), last: None, packet: PhantomData }
    }

    #[inline]
    pub(crate) fn offer(
        &mut self,
        line: &mut Line,
        now: u64,
        packet: P,
        sink: &mut impl FnMut(Departure<P>),
    ) -> Offered {
        match self.plan(line, now, line.size_of(&packet), packet.ecn()) {
            Planned::Departs(plan) => sink(plan.of(packet)),
            Planned::Stays => {}
            Planned::Dropped | Planned::Lost => return Offered::Dropped,
        }
        Offered::Accepted
    }

    /// What becomes of a packet of `size` bytes, the link's overhead in.
    #[inline(always)]
    pub(crate) fn plan(&mut self, line: &mut Line, now: u64, size: u64, ecn: Ecn) -> Planned {
        self.settle(line, now);
        line.account.offered += 1;
        if size > MAX_PACKET {
            line.account.dropped += 1;
            return Planned::Dropped;
        }
        let (start, departs) = match self.last {
            None => (now, line.server.serve_at(now, size)),
            Some(_) if !self.limit.admits(line.account.packets(), line.account.bytes(), size) => {
                line.account.dropped += 1;
                return Planned::Dropped;
            }
            Some(last) => {
                self.ahead.push_back(last);
                line.account.enter(now, size);
                (last.departs, line.server.serve(size))
            }
        };
        if departs == NEVER {
            self.last = Some(UnderWay { departs, size: size as u32, marked: false });
            return Planned::Stays;
        }
        let plan = line.plan(ecn, start - now, departs);
        self.last = Some(UnderWay { departs, size: size as u32, marked: plan.marked });
        Planned::Departs(plan)
    }

    /// Counts everything up to and including `now`, which is before `NEVER`.
    #[inline(always)]
    pub(crate) fn settle(&mut self, line: &mut Line, now: u64) {
        if !self.ahead.is_empty() && !self.settle_ahead(line, now) {
            return;
        }
        if let Some(last) = self.last
            && last.departs <= now
        {
            self.last = None;
            line.account.depart(u64::from(last.size), last.marked);
        }
    }

    /// The same for those before the last. True if all of them have departed.
    #[inline(never)]
    fn settle_ahead(&mut self, line: &mut Line, now: u64) -> bool {
        let Some(&(mut first)) = self.ahead.front() else { return true };
        while first.departs <= now {
            self.ahead.pop_front();
            line.account.depart(u64::from(first.size), first.marked);
            let Some(&next) = self.ahead.front() else {
                if let Some(last) = self.last {
                    line.account.leave(first.departs, u64::from(last.size));
                }
                return true;
            };
            line.account.leave(first.departs, u64::from(next.size));
            first = next;
        }
        false
    }

    /// Bytes that are in service or wait, without those that never leave.
    pub(crate) fn handed(&self) -> u64 {
        let leaving = self.ahead.iter().chain(&self.last).filter(|packet| packet.departs != NEVER);
        leaving.map(|packet| u64::from(packet.size)).sum()
    }

    pub(crate) fn in_service(&self) -> bool {
        self.last.is_some()
    }
}
