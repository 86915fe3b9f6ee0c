//! Drop-tail, predicted: a packet's departure is known when it is offered, so no packet is held and nothing is an
//! event. What is kept is a ring of (departure, size) of those under way, for limits and counters.

use crate::config::{MAX_PACKET, ResolvedLimit};
use crate::line::Line;
use crate::schedule::NEVER;
use crate::transit::{Departure, Offered, Planned, Transit};
use paceline_units::Ecn;
use std::collections::VecDeque;
use std::marker::PhantomData;

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
    /// In order of departure. The first is in service, the others wait: a packet's service starts when the one before
    /// departs.
    under_way: VecDeque<UnderWay>,
    /// Departure of the last accepted packet.
    last_departs: u64,
    packet: PhantomData<fn(P)>,
}

impl<P: Transit> DropTail<P> {
    pub(crate) fn new(limit: ResolvedLimit) -> DropTail<P> {
        DropTail { limit, under_way: VecDeque::with_capacity(64), last_departs: 0, packet: PhantomData }
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
        let idle = self.under_way.is_empty();
        let admitted = idle || self.limit.admits(line.account.packets(), line.account.bytes(), size);
        if !admitted || size > MAX_PACKET {
            line.account.dropped += 1;
            return Planned::Dropped;
        }
        let (start, departs) = if idle {
            (now, line.server.serve_at(now, size))
        } else {
            line.account.enter(now, size);
            (self.last_departs, line.server.serve(size))
        };
        self.last_departs = departs;
        if departs == NEVER {
            self.under_way.push_back(UnderWay { departs, size: size as u32, marked: false });
            return Planned::Stays;
        }
        let plan = line.plan(ecn, start - now, departs);
        self.under_way.push_back(UnderWay { departs, size: size as u32, marked: plan.marked });
        Planned::Departs(plan)
    }

    /// Counts everything up to and including `now`, which is before `NEVER`.
    #[inline]
    pub(crate) fn settle(&mut self, line: &mut Line, now: u64) {
        while let Some(&first) = self.under_way.front() {
            if first.departs > now {
                break;
            }
            self.under_way.pop_front();
            line.account.depart(u64::from(first.size), first.marked);
            if let Some(next) = self.under_way.front() {
                line.account.leave(first.departs, u64::from(next.size));
            }
        }
    }

    pub(crate) fn in_service(&self) -> bool {
        !self.under_way.is_empty()
    }
}
