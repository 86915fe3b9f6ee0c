//! The link: loss, policer, shaper, queue, server, propagation and noise in one piece.

use crate::account::{Account, LinkCounters, Service};
use crate::config::LinkConfig;
use crate::damage::Damage;
use crate::duplicate::Duplicates;
use crate::limits::Limits;
use crate::line::Line;
use crate::loss::Loss;
use crate::mark::Marker;
use crate::noise::Noise;
use crate::policer::Policer;
use crate::queue::Queue;
use crate::queue::packet_queue::LinkContext;
use crate::route::Route;
use crate::schedule::{NEVER, span};
use crate::server::{Arrivals, Server};
use crate::shaper::Shaper;
use crate::transit::{Departure, Offered, Plan, Planned, Transit};
use alloc::boxed::Box;
use paceline_units::param::ParamError;
use paceline_units::{Bitrate, CongestionHeader, Time, TimeDelta};

/// One direction of a link. Starts empty at time 0.
#[derive(Clone, Debug)]
pub struct Link<P> {
    gate: Gate,
    /// In a box: a link without one looks at one word.
    shaper: Option<Box<Shaper<P>>>,
    queue: Queue<P>,
    limits: Option<Limits>,
    line: Line,
    /// Whether packets can be lost, dropped or held back before the queue, or are marked there, or the queue's limit changes.
    gated: bool,
    /// Whether something may ever happen though nothing waits and nothing comes.
    timed: bool,
    /// The latest time seen: a call that lies before it is taken as of then.
    now: u64,
}

impl<P: Transit> Link<P> {
    /// A link as `config` says. Its random draws depend on `seed` and `name` only.
    pub fn new(config: LinkConfig, seed: u64, name: &str) -> Result<Link<P>, ParamError> {
        config.validate()?;
        let context = LinkContext { nominal: config.rate.nominal(), seed, name };
        let marker = Marker::new(config.mark.as_ref());
        let noise = Noise::new(&config.noise, seed, name).map(Box::new);
        let damage = Damage::new(config.corrupt.course(), seed, name).map(Box::new);
        let duplicates = config.duplicate.as_ref().and_then(|config| Duplicates::new(config, seed, name));
        let delay = config.delay.course();
        let least = delay.least() as u64;
        let route = (!delay.is_constant()).then(|| Box::new(Route::new(delay, config.overtake)));
        let moves = noise.is_some() || route.is_some() || damage.is_some() || duplicates.is_some();
        let line = Line {
            server: Server::new(config.rate.schedule(&config.down)),
            account: Account::default(),
            alters: !marker.is_off() || moves || config.shaper.is_some(),
            moves,
            marker,
            damage,
            duplicates: duplicates.map(Box::new),
            noise,
            delay: least,
            route,
            overhead: config.overhead.as_u64(),
        };
        let gate = Gate {
            loss: config.loss.as_ref().map(|loss| Loss::new(loss, seed, name)),
            policer: config.policer.as_ref().map(Policer::new),
        };
        let noise_loses = line.noise.as_ref().is_some_and(|noise| noise.can_lose());
        let shaper = config.shaper.as_ref().map(Shaper::new).transpose()?.map(Box::new);
        let limits = Limits::new(&config.queue, config.rate.nominal())?;
        let gated = gate.loss.is_some()
            || gate.policer.is_some()
            || noise_loses
            || shaper.is_some()
            || limits.is_some();
        let queue = Queue::new(&config.queue, &context)?;
        let queue = match queue {
            Queue::DropTail(queue) if !line.alters && !gated && line.overhead == 0 => Queue::Plain(queue),
            queue => queue,
        };
        let timed = queue.is_timed();
        Ok(Link { gate, shaper, queue, limits, line, gated, timed, now: 0 })
    }

    /// Lends the link the congestion header of a packet that is offered next and has this key ([`Transit::lent_key`]), for its router to
    /// write into. A queue without a router keeps none.
    pub fn lend(&mut self, key: u32, header: CongestionHeader) {
        self.queue.lend(key, header);
    }

    /// The header that was lent under this key, as it is now.
    pub fn lent(&self, key: u32) -> Option<CongestionHeader> {
        self.queue.lent(key)
    }

    /// Offers a packet at `now`; calls come in order of time. Drop-tail without a shaper calls `sink` at once with a departure in the
    /// future, other disciplines when service begins, for all whose service has begun up to and including `now`. A
    /// departure that never comes is not announced.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, mut packet: P, sink: &mut impl FnMut(Departure<P>)) -> Offered {
        let now = self.reach(now);
        if self.gated {
            packet = match self.pass_gate(now, packet, sink) {
                Ok(packet) => packet,
                Err(ended) => return ended,
            };
        }
        match self.queue.offer(&mut self.line, now, packet, 0, sink) {
            Ok(()) => Offered::Accepted,
            Err(_) => Offered::Dropped,
        }
    }

    /// A packet comes to what is before the queue. It comes back if it goes on at once.
    #[inline(never)]
    fn pass_gate(
        &mut self,
        now: u64,
        mut packet: P,
        sink: &mut impl FnMut(Departure<P>),
    ) -> Result<P, Offered> {
        let Link { gate, shaper, queue, limits, line, .. } = self;
        if let Some(shaper) = shaper {
            shaper.release(queue, limits, line, now, sink);
        }
        limits.iter_mut().for_each(|limits| limits.apply(queue, now));
        if let Some(ended) = gate.pass(line, now, &mut packet) {
            return Err(ended);
        }
        match shaper {
            Some(shaper) => shaper.take(queue, line, now, packet),
            None => Ok(packet),
        }
    }

    /// Whether packets arrive in the order in which they depart: only noise, a route that becomes shorter, and copies that come later
    /// let one overtake another.
    pub fn keeps_order(&self) -> bool {
        self.line.noise.as_ref().is_none_or(|noise| noise.keeps_order())
            && self.line.route.as_ref().is_none_or(|route| route.keeps_order())
            && self.copy_delay() == TimeDelta::ZERO
    }

    /// Whether it has drop-tail, no marks, no losses, no noise and no overhead: then [`Link::plan_plain`] decides on every packet.
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self.queue, Queue::Plain(_))
    }

    /// Offers a packet at `now`, while the driver keeps it, if its departure is known at once: with drop-tail it always is,
    /// with other disciplines where nothing is ahead, and behind a shaper where that holds nothing back.
    #[inline(always)]
    pub fn plan(&mut self, now: Time, packet: &mut impl Transit) -> Planned {
        let now = self.reach(now);
        // A word from the gate, and no plan: that stays in registers.
        if self.gated
            && let Some(ended) = self.plan_gate(now, packet)
        {
            return match ended {
                Offered::Accepted => Planned::Undecided,
                Offered::Dropped => Planned::Dropped,
                Offered::Lost => Planned::Lost,
            };
        }
        self.queue.plan(&mut self.line, now, packet)
    }

    /// The fate of a packet that does not pass at once what is before the queue: accepted where the link is to hold it, and then
    /// nothing happened yet.
    #[inline(never)]
    fn plan_gate(&mut self, now: u64, packet: &mut impl Transit) -> Option<Offered> {
        let Link { gate, shaper, queue, limits, line, .. } = self;
        let size = line.size_of(packet);
        if shaper.as_mut().is_some_and(|shaper| !shaper.is_open(now, size)) {
            return Some(Offered::Accepted);
        }
        limits.iter_mut().for_each(|limits| limits.apply(queue, now));
        if !queue.decides_at_once(line, now) {
            return Some(Offered::Accepted);
        }
        let ended = gate.pass(line, now, packet);
        if let (None, Some(shaper)) = (ended, shaper) {
            shaper.pass(now, size);
        }
        ended
    }

    /// As [`Link::plan`], faster, for a plain link, which is never undecided. Any other is, always.
    #[inline(always)]
    pub fn plan_plain(&mut self, now: Time, packet: &mut impl Transit) -> Planned {
        let now = self.reach(now);
        match &mut self.queue {
            Queue::Plain(queue) => queue.plan::<true>(&mut self.line, now, packet, 0),
            _ => Planned::Undecided,
        }
    }

    /// As [`Link::plan_plain`] for `count` packets that come one after the other, the first at `first` and the next each `gap`
    /// later: what becomes of the first, where all find an idle server and become as much later the same. Absent where that is
    /// not known, and then nothing has happened.
    #[inline]
    pub fn plan_run(
        &mut self,
        first: Time,
        gap: TimeDelta,
        count: u64,
        packet: &impl Transit,
    ) -> Option<Plan> {
        let Queue::Plain(queue) = &mut self.queue else { return None };
        let (first, gap) = (first.as_nanos(), u64::try_from(gap.as_nanos()).ok()?);
        let last = first.checked_add(gap.checked_mul(count.checked_sub(1)?)?)?;
        if first < self.now {
            return None;
        }
        let plan = queue.plan_run(&mut self.line, Arrivals { first, last, gap, count }, packet)?;
        self.now = last;
        Some(plan)
    }

    /// The earliest time at which something happens without an offer; `None` for drop-tail, which decides at offer, unless a shaper
    /// holds packets back before it.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        let mut next = self.queue.next_event(&self.line);
        if let Some(shaper) = &self.shaper {
            next = next.min(shaper.next_event());
        }
        (next != NEVER).then_some(Time::from_nanos(next))
    }

    /// Whether something may happen at the link though nothing waits and nothing comes.
    #[inline]
    pub fn has_timer(&self) -> bool {
        self.timed && self.queue.has_timer()
    }

    /// Lets everything happen that lies strictly before `until`; nothing for drop-tail without a shaper.
    #[inline]
    pub fn advance(&mut self, until: Time, sink: &mut impl FnMut(Departure<P>)) {
        if self.shaper.is_some() {
            self.release(until, sink);
        }
        self.queue.advance(&mut self.line, until.as_nanos(), sink);
    }

    /// Lets the shaper release what it may before `until`.
    #[inline(never)]
    fn release(&mut self, until: Time, sink: &mut impl FnMut(Departure<P>)) {
        if let (Some(shaper), Some(last)) = (&mut self.shaper, until.as_nanos().checked_sub(1)) {
            let released = shaper.release(&mut self.queue, &mut self.limits, &mut self.line, last, sink);
            // The counters know of what came to the queue.
            self.now = self.now.max(released);
        }
    }

    /// The next packet that the queue had accepted and dropped after all, and when. To be asked for after `offer`,
    /// `advance` and `settle` until there is none.
    #[inline]
    pub fn take_dropped(&mut self) -> Option<(Time, P)> {
        let refused = self.shaper.as_mut().and_then(|shaper| shaper.take_refused());
        refused.or_else(|| self.queue.take_dropped()).map(|(at, packet)| (Time::from_nanos(at), packet))
    }

    /// Brings the counters up to date: everything up to and including `now`. A discipline with real departures announces
    /// what this call began to serve to the next `offer` or `advance`, and says so by `next_event`.
    pub fn settle(&mut self, now: Time) {
        let now = self.reach(now);
        if let Some(shaper) = &mut self.shaper {
            shaper.settle(&mut self.queue, &mut self.limits, &mut self.line, now);
        }
        self.queue.settle(&mut self.line, now);
    }

    /// The counters as of the last `offer` or `settle`.
    pub fn counters(&mut self) -> LinkCounters {
        self.queue.look(&mut self.line, self.now);
        let mut counters = self.line.account.counters(self.now, self.queue.in_service());
        if let Some(route) = &mut self.line.route {
            counters.overtaking = route.overtaking(self.now);
        }
        if let Some(shaper) = &self.shaper {
            shaper.count(self.now, &mut counters);
        }
        if let Some(damage) = &mut self.line.damage {
            counters.corrupted = damage.damaged(self.now);
        }
        if let Some(duplicates) = &mut self.line.duplicates {
            counters.duplicated = duplicates.duplicated(self.now);
        }
        counters
    }

    /// How many packets came to the link so far, before its loss model.
    pub fn offered(&self) -> u64 {
        let held = self.shaper.as_ref().map_or(0, |shaper| shaper.packets());
        self.line.account.offered + self.line.account.lost + held
    }

    /// The server's work until `at`, when everything strictly before `at` is settled.
    pub fn service(&self, at: Time) -> Service {
        let (line, finished) = (&self.line, self.line.account.departed_bytes);
        let (accepted, follow) = self.queue.handed(line);
        line.server.service(at.as_nanos(), finished, accepted, follow)
    }

    /// Starts a new maximum of the waiting packets.
    pub fn reset_max(&mut self) {
        self.queue.look(&mut self.line, self.now);
        self.line.account.reset_max();
        if let Some(shaper) = &mut self.shaper {
            shaper.reset_max(self.line.account.packets());
        }
    }

    /// Work that the server could do in [from, to), in bits: the integral of the rate, failures included.
    pub fn capacity_bits(&self, from: Time, to: Time) -> f64 {
        self.line.server.schedule().capacity_bits(from, to)
    }

    /// The rate at `time`; zero while the link is down.
    pub fn rate_at(&self, time: Time) -> Bitrate {
        self.line.server.schedule().rate_at(time)
    }

    /// The least propagation, without noise: no departure arrives sooner, so it is the engine's look-ahead.
    pub fn delay(&self) -> TimeDelta {
        span(self.line.delay)
    }

    /// By how much a copy arrives behind its packet.
    pub fn copy_delay(&self) -> TimeDelta {
        span(self.line.duplicates.as_ref().map_or(0, |duplicates| duplicates.delay()))
    }

    #[inline]
    fn reach(&mut self, now: Time) -> u64 {
        self.now = self.now.max(now.as_nanos().min(NEVER - 1));
        self.now
    }
}

/// Stages before the queue.
#[derive(Clone, Debug)]
struct Gate {
    loss: Option<Loss>,
    policer: Option<Policer>,
}

impl Gate {
    /// Fate of the packet offered at `now` if it does not reach the queue: the loss model or a noise takes it, or the policer
    /// drops it. Apart from the packet path, as all that most links do not have.
    #[inline(never)]
    fn pass(&mut self, line: &mut Line, now: u64, packet: &mut impl Transit) -> Option<Offered> {
        let takes = self.loss.as_mut().is_some_and(|loss| loss.takes(now));
        // Seen at the far end as the delays are, so that both meet the same fade where nothing waits.
        let seen = now.saturating_add(line.delay);
        let takes = line.noise.as_mut().is_some_and(|noise| noise.loses(seen)) | takes;
        if takes {
            line.account.lost += 1;
            return Some(Offered::Lost);
        }
        let size = line.size_of(packet);
        let passes =
            self.policer.as_mut().is_none_or(|policer| policer.passes(now, size, packet, &mut line.account));
        if passes {
            return None;
        }
        line.account.offered += 1;
        line.account.dropped += 1;
        Some(Offered::Dropped)
    }
}
