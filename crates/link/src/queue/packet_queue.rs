//! Queues that hold their packets and decide when service begins: real departures.
//!
//! From then on nothing can happen to a packet, so its departure is announced when its service begins.
//!
//! A discipline implements [`Discipline`]; [`PacketQueue`] runs it against the server and makes the events.

use crate::account::Account;
use crate::config::{MAX_PACKET, ResolvedLimit};
use crate::line::Line;
use crate::schedule::NEVER;
use crate::transit::{Departure, Plan, Planned, Transit};
use alloc::collections::VecDeque;
use paceline_units::param::ParamError;
use paceline_units::{Bitrate, CongestionHeader};

/// The facts of a link that a discipline may know when it is built.
pub(crate) struct LinkContext<'a> {
    /// Rate at which limits in time become bytes.
    pub(crate) nominal: Bitrate,
    /// Seed of the run; draw from `RandomStream::new(seed, "link.<name>.queue")`.
    pub(crate) seed: u64,
    /// Name of the link.
    pub(crate) name: &'a str,
}

/// A packet that waits.
#[derive(Clone, Debug)]
pub(crate) struct Queued<P> {
    pub(crate) packet: P,
    /// When it was offered, in nanoseconds.
    pub(crate) since: u64,
    /// On this link, in bytes.
    pub(crate) size: u64,
    /// Whether the discipline marked it (it has called `mark_ce` then).
    pub(crate) marked: bool,
    /// How long a shaper had held it back before it was offered, in nanoseconds.
    pub(crate) held: u64,
}

/// A queue discipline with real departures: one file each.
pub(crate) trait Discipline<P: Transit>: Sized {
    /// Parameters of the discipline, as [`QueueConfig`](crate::QueueConfig) carries them.
    type Config;

    /// Builds it, or says which parameter is wrong.
    fn new(config: &Self::Config, context: &LinkContext<'_>) -> Result<Self, ParamError>;

    /// Another limit holds for the packets that come from now on.
    fn set_limit(&mut self, limit: ResolvedLimit);

    /// A packet that finds the server idle: goes straight into service, or is dropped (`false`).
    fn admit_to_idle<T: Transit>(&mut self, _packet: &mut Queued<T>) -> bool {
        true
    }

    /// A packet that must wait: takes it, or hands it back to be dropped. `waiting` says what waits already; others dropped in its
    /// favour go through [`Waiting::discard`].
    fn enqueue(&mut self, packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Result<(), Queued<P>>;

    /// The next packet to serve at `now`; those dropped on the way go through [`Waiting::discard`].
    fn dequeue(&mut self, now: u64, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>>;

    /// As [`Discipline::dequeue`] when nothing waits, which mostly is so where a link is no bottleneck.
    #[inline]
    fn dequeue_nothing(&mut self, now: u64, waiting: &mut Waiting<'_, P>) {
        let nothing = self.dequeue(now, waiting);
        debug_assert!(nothing.is_none());
    }

    /// Keeps the congestion header of a packet under its key ([`Transit::lent_key`]), if it writes into headers.
    fn lend(&mut self, key: u32, header: CongestionHeader) {
        let _ = (key, header);
    }

    /// The header under this key, as it is now.
    fn lent(&self, key: u32) -> Option<CongestionHeader> {
        let _ = key;
        None
    }

    /// Whether it ever wants to be called without a packet.
    const TIMED: bool = false;

    /// When it wants to be called without a packet, in nanoseconds. Only where it is `TIMED`.
    fn next_timer(&self) -> u64 {
        NEVER
    }

    /// The timer of [`Discipline::next_timer`].
    fn on_timer(&mut self, _now: u64, _waiting: &mut Waiting<'_, P>) {}
}

/// The waiting packets, as a discipline sees them, and the ones that it drops.
pub(crate) struct Waiting<'a, P> {
    account: &'a mut Account,
    dropped: &'a mut VecDeque<(u64, P)>,
}

impl<P> Waiting<'_, P> {
    /// How many packets.
    #[inline]
    pub(crate) fn packets(&self) -> u64 {
        self.account.packets()
    }

    /// How many bytes; while a packet is being taken out, that one still counts.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.account.bytes()
    }

    /// A packet that waited is dropped at `now`.
    #[inline]
    pub(crate) fn discard(&mut self, now: u64, queued: Queued<P>) {
        self.account.leave(now, queued.size);
        self.account.dropped += 1;
        self.dropped.push_back((now, queued.packet));
    }
}

impl<P: Transit> Queued<P> {
    /// A packet of `size` bytes on this link, offered at `since` after a shaper had held it back.
    #[inline]
    pub(crate) fn new(packet: P, since: u64, size: u64, held: u64) -> Queued<P> {
        Queued { packet, since, size, marked: false, held }
    }

    /// Marks the packet if it can be marked; false if it cannot.
    #[inline]
    pub(crate) fn mark(&mut self) -> bool {
        let ecn = self.packet.ecn();
        if ecn == paceline_units::Ecn::NotEct {
            return false;
        }
        if !ecn.is_ce() {
            self.packet.mark_ce();
            self.marked = true;
        }
        true
    }
}

/// The packet in service, which was announced.
#[derive(Clone, Copy, Debug)]
struct InService {
    departs: u64,
    size: u64,
    marked: bool,
}

/// A discipline and its server.
#[derive(Clone, Debug)]
pub(crate) struct PacketQueue<P, D> {
    discipline: D,
    serving: Option<InService>,
    /// Departures that `settle` planned and no sink has seen yet.
    unseen: VecDeque<Departure<P>>,
    /// Packets dropped after they had waited, and when, until somebody asks.
    dropped: VecDeque<(u64, P)>,
}

impl<P: Transit, D: Discipline<P>> PacketQueue<P, D> {
    pub(crate) fn new(
        config: &D::Config,
        context: &LinkContext<'_>,
    ) -> Result<PacketQueue<P, D>, ParamError> {
        Ok(PacketQueue {
            discipline: D::new(config, context)?,
            serving: None,
            unseen: VecDeque::new(),
            dropped: VecDeque::new(),
        })
    }

    /// Another limit holds for the packets that come from now on.
    pub(crate) fn set_limit(&mut self, limit: ResolvedLimit) {
        self.discipline.set_limit(limit);
    }

    pub(crate) fn lend(&mut self, key: u32, header: CongestionHeader) {
        self.discipline.lend(key, header);
    }

    pub(crate) fn lent(&self, key: u32) -> Option<CongestionHeader> {
        self.discipline.lent(key)
    }

    /// A packet comes at `now`, which a shaper had held back. It comes back if it is dropped.
    pub(crate) fn offer(
        &mut self,
        line: &mut Line,
        now: u64,
        mut packet: P,
        held: u64,
        sink: &mut impl FnMut(Departure<P>),
    ) -> Result<(), P> {
        self.flush(sink);
        self.run(line, now, sink);
        if self.serving.is_none() {
            return match self.plan(line, now, &mut packet, held) {
                Planned::Departs(plan) => {
                    sink(plan.of(packet));
                    Ok(())
                }
                Planned::Stays => Ok(()),
                Planned::Dropped | Planned::Lost | Planned::Undecided => Err(packet),
            };
        }
        line.account.offered += 1;
        let size = line.size_of(&packet);
        let queued = Queued::new(packet, now, size, held);
        let mut waiting = Waiting { account: &mut line.account, dropped: &mut self.dropped };
        let taken =
            if size > MAX_PACKET { Err(queued) } else { self.discipline.enqueue(queued, &mut waiting) };
        match taken {
            Ok(()) => line.account.enter(now, size),
            Err(_) => line.account.dropped += 1,
        }
        taken.map_err(|queued| queued.packet)
    }

    /// Whether a packet that comes at `now` finds an idle server.
    #[inline]
    pub(crate) fn is_idle(&self, line: &Line, now: u64) -> bool {
        let free = self.serving.as_ref().is_none_or(|serving| serving.departs <= now);
        free && line.account.packets() == 0 && self.unseen.is_empty()
    }

    /// The fate of a packet that comes at `now`, if it finds an idle server.
    #[inline(always)]
    pub(crate) fn plan_if_idle(&mut self, line: &mut Line, now: u64, packet: &mut impl Transit) -> Planned {
        if !self.is_idle(line, now) {
            return Planned::Undecided;
        }
        // Nothing waits whose service could begin.
        if D::TIMED {
            self.run(line, now, &mut |_| {});
        } else if let Some(served) = self.serving.take() {
            line.account.depart(served.size, served.marked);
            self.serve_next(line, served.departs, &mut |_| {});
        }
        self.plan(line, now, packet, 0)
    }

    /// The fate of a packet that finds an idle server.
    #[inline(always)]
    pub(crate) fn plan(
        &mut self,
        line: &mut Line,
        now: u64,
        packet: &mut impl Transit,
        held: u64,
    ) -> Planned {
        line.account.offered += 1;
        let size = line.size_of(packet);
        let mut queued = Queued::new(packet, now, size, held);
        if size > MAX_PACKET || !self.discipline.admit_to_idle(&mut queued) {
            line.account.dropped += 1;
            return Planned::Dropped;
        }
        let departs = line.server.serve_at(now, size);
        match self.begin(line, &mut queued, 0, departs) {
            Some(plan) => Planned::Departs(plan),
            None => Planned::Stays,
        }
    }

    /// The next departure that lets another packet into service, or timer; `NEVER` if none will come.
    pub(crate) fn next_event(&self, line: &Line) -> u64 {
        let departure = if line.account.packets() > 0 { self.next_departure() } else { NEVER };
        let unseen = self.unseen.front().map_or(NEVER, |departure| departure.departed.as_nanos());
        unseen.min(departure).min(self.discipline.next_timer())
    }

    /// Everything strictly before `until`.
    pub(crate) fn advance(&mut self, line: &mut Line, until: u64, sink: &mut impl FnMut(Departure<P>)) {
        self.flush(sink);
        if let Some(last) = until.checked_sub(1) {
            self.run(line, last, sink);
        }
    }

    /// Everything up to and including `now`; departures wait for the next sink.
    pub(crate) fn settle(&mut self, line: &mut Line, now: u64) {
        let mut unseen = core::mem::take(&mut self.unseen);
        self.run(line, now, &mut |departure| unseen.push_back(departure));
        self.unseen = unseen;
    }

    /// Whether the discipline wants to be called without a packet.
    #[inline]
    pub(crate) fn has_timer(&self) -> bool {
        D::TIMED && self.discipline.next_timer() != NEVER
    }

    /// The next packet that was dropped after it had waited, and when.
    #[inline]
    pub(crate) fn take_dropped(&mut self) -> Option<(u64, P)> {
        self.dropped.pop_front()
    }

    /// Bytes in service, unless they never leave.
    pub(crate) fn handed(&self) -> u64 {
        self.serving.filter(|serving| serving.departs != NEVER).map_or(0, |serving| serving.size)
    }

    pub(crate) fn in_service(&self) -> bool {
        self.serving.is_some()
    }

    fn next_departure(&self) -> u64 {
        self.serving.as_ref().map_or(NEVER, |serving| serving.departs)
    }

    fn flush(&mut self, sink: &mut impl FnMut(Departure<P>)) {
        if !self.unseen.is_empty() {
            self.unseen.drain(..).for_each(sink);
        }
    }

    /// Events up to and including `last`, which is before `NEVER`. At equal times a departure comes before a timer.
    fn run(&mut self, line: &mut Line, last: u64, sink: &mut impl FnMut(Departure<P>)) {
        loop {
            let (departure, timer) = (self.next_departure(), self.discipline.next_timer());
            if departure.min(timer) > last {
                return;
            }
            if timer < departure {
                let mut waiting = Waiting { account: &mut line.account, dropped: &mut self.dropped };
                self.discipline.on_timer(timer, &mut waiting);
            } else if let Some(served) = self.serving.take() {
                line.account.depart(served.size, served.marked);
                self.serve_next(line, departure, sink);
            }
        }
    }

    /// The server is free at `now`.
    fn serve_next(&mut self, line: &mut Line, now: u64, sink: &mut impl FnMut(Departure<P>)) {
        let mut waiting = Waiting { account: &mut line.account, dropped: &mut self.dropped };
        if waiting.packets() == 0 {
            self.discipline.dequeue_nothing(now, &mut waiting);
        } else if let Some(mut next) = self.discipline.dequeue(now, &mut waiting) {
            line.account.leave(now, next.size);
            let wait = now - next.since;
            let departs = line.server.serve(next.size);
            if let Some(plan) = self.begin(line, &mut next, wait, departs) {
                sink(plan.of(next.packet));
            }
        }
    }

    /// Service begins, after `wait`. A departure that never comes is not announced.
    #[inline(always)]
    fn begin<T: Transit>(
        &mut self,
        line: &mut Line,
        queued: &mut Queued<T>,
        wait: u64,
        departs: u64,
    ) -> Option<Plan> {
        let (size, marked) = (queued.size, queued.marked);
        if departs == NEVER {
            self.serving = Some(InService { departs, size, marked });
            return None;
        }
        let plan = line.plan::<false>(&mut queued.packet, wait, queued.held, departs);
        self.serving = Some(InService { departs, size, marked: marked || plan.marked });
        Some(plan)
    }
}
