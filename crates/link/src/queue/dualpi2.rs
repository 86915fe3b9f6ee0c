//! Dual-queue coupled AQM (RFC 9332, appendix A): a queue for L4S beside one for the rest, coupled so that flows of both
//! get alike. Appendix A.2 is what runs: appendix A.1 is the same without overload and slow links.

use crate::config::{QueueLimit, ResolvedLimit};
use crate::queue::packet_queue::{Discipline, LinkContext, Queued, Waiting};
use crate::queue::queue_params;
use crate::schedule::NEVER;
use crate::transit::Transit;
use alloc::collections::VecDeque;
use paceline_units::param::ParamError;
use paceline_units::{Bytes, Ecn, TimeDelta};

paceline_units::names! {
    /// Choice of the queue to serve while both have packets (RFC 9332 appendix A.2).
    pub enum Scheduler {
        /// Weighted round robin: `c_weight` of the bytes are the Classic queue's.
        Wrr = "wrr",
        /// The head that has waited longest, as if L4S packets had come `tshift` earlier.
        TsFifo = "ts-fifo",
    }
}

queue_params! {
    /// DualPI2's parameters (RFC 9332 figure 2). The limit is over both queues, 250 ms at the nominal rate.
    pub struct DualPi2Config, limit = QueueLimit::Time(TimeDelta::from_millis(250)), room = |config| config.mtu.max(Bytes::new(1)), {
        k: f64 = 2.0, in 1e-3, 1e3,
            "RFC 9332 A.1", "Coupling factor: L4S is marked with k times the base chance";
        target: TimeDelta = TimeDelta::from_millis(15), in 1e-9, 1e3,
            "RFC 9332 A.1", "Classic delay that is aimed for";
        rtt_max: TimeDelta = TimeDelta::from_millis(100), in 1e-6, 1e3,
            "RFC 9332 A.1", "Longest round trip that is expected";
        p_cmax: Option<f64> = None, else "1 / k^2, at most 1", in 0.0, 1.0,
            "RFC 9332 A.1", "Classic chance from which ECN is of no use";
        tupdate: Option<TimeDelta> = None, else "the smaller of target and rtt_max / 3", in 1e-6, 1e3,
            "RFC 9332 A.1", "How often the base chance is computed";
        alpha: Option<f64> = None, else "0.1 tupdate / rtt_max^2", in 0.0, 1e6,
            "RFC 9332 A.1", "Integral gain per second";
        beta: Option<f64> = None, else "0.3 / rtt_max", in 0.0, 1e6,
            "RFC 9332 A.1", "Proportional gain per second";
        minth: TimeDelta = TimeDelta::from_micros(800), in 0.0, 1e3,
            "RFC 9332 A.1", "L4S wait up to which its own queue asks for no mark";
        range: TimeDelta = TimeDelta::from_micros(400), in 0.0, 1e3,
            "RFC 9332 A.1", "How much longer a wait must be for every packet to be marked; 0: a step";
        th_len: u64 = 1, in 0.0, 1e9,
            "RFC 9332 A.1, A.2", "L4S packets waiting up to which its own queue asks for no mark";
        p_lmax: f64 = 1.0, in 1e-3, 1.0,
            "RFC 9332 A.1", "Coupled chance from which L4S packets are dropped, too";
        mtu: Bytes = Bytes::new(1500), in 0.0, 1e9,
            "RFC 9332 A.1", "Room that is kept; below twice as much waiting nothing is dropped or coupled";
        ecn: bool = true,
            "RFC 9332 A.1", "ECT(0) packets are marked instead of dropped; L4S packets are in any case";
        scheduler: Scheduler = Scheduler::Wrr,
            "RFC 9332 A.2", "Choice of the queue to serve while both have packets";
        c_weight: f64 = 0.0625, in 0.0, 1.0,
            "RFC 9332 A.2", "Part of the bytes that is the Classic queue's, with wrr";
        tshift: TimeDelta = TimeDelta::from_millis(50), in 0.0, 1e3,
            "RFC 9332 A.2", "How much longer a Classic packet must have waited, with ts-fifo";
    }
}

/// A queue and its `count`s of `recur`.
#[derive(Clone, Debug)]
struct Side<P> {
    queue: VecDeque<Queued<P>>,
    bytes: u64,
    marks: Recurrence,
    drops: Recurrence,
}

/// Signals spread evenly instead of by chance (figure 4, `recur`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Recurrence(f64);

impl Recurrence {
    #[inline]
    pub(crate) fn recur(&mut self, likelihood: f64) -> bool {
        if likelihood >= 1.0 {
            // Certainty leaves no debt.
            return true;
        }
        self.0 += likelihood;
        if self.0 > 1.0 {
            self.0 -= 1.0;
            return true;
        }
        false
    }
}

impl<P> Side<P> {
    fn new() -> Side<P> {
        let (marks, drops) = Default::default();
        Side { queue: VecDeque::with_capacity(64), bytes: 0, marks, drops }
    }

    #[inline]
    fn push(&mut self, packet: Queued<P>) {
        self.bytes += packet.size;
        self.queue.push_back(packet);
    }

    #[inline]
    fn pop(&mut self) -> Option<Queued<P>> {
        let head = self.queue.pop_front()?;
        self.bytes -= head.size;
        Some(head)
    }

    /// How long the head has waited; 0 if there is none.
    fn time(&self, now: u64) -> u64 {
        self.queue.front().map_or(0, |head| now.saturating_sub(head.since))
    }
}

/// The PI controller (figure 8) and what follows from it. Delays are seconds.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    target: f64,
    alpha: f64,
    beta: f64,
    k: f64,
    /// The base chance p'.
    pub(crate) p: f64,
    pub(crate) p_cl: f64,
    pub(crate) p_c: f64,
    prevq: f64,
}

impl Base {
    pub(crate) fn new(config: &DualPi2Config) -> Base {
        let (rtt_max, tupdate) = (config.rtt_max.as_secs_f64(), tupdate(config).as_secs_f64());
        Base {
            target: config.target.as_secs_f64(),
            alpha: config.alpha.unwrap_or(0.1 * tupdate / (rtt_max * rtt_max)),
            beta: config.beta.unwrap_or(0.3 / rtt_max),
            k: config.k,
            p: 0.0,
            p_cl: 0.0,
            p_c: 0.0,
            prevq: 0.0,
        }
    }

    pub(crate) fn update(&mut self, curq: f64) {
        let p = self.p + self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.p = p.clamp(0.0, 1.0);
        self.p_cl = self.p * self.k;
        self.p_c = self.p * self.p;
        self.prevq = curq;
    }

    fn is_at_rest(&self) -> bool {
        self.p == 0.0 && self.prevq == 0.0
    }
}

fn tupdate(config: &DualPi2Config) -> TimeDelta {
    let third = TimeDelta::from_nanos(config.rtt_max.as_nanos() / 3);
    config.tupdate.unwrap_or(config.target.min(third)).max(TimeDelta::from_nanos(1))
}

/// The native L4S AQM (figure 5) for a wait in nanoseconds.
pub(crate) fn laqm(config: &DualPi2Config, qdelay: u64) -> f64 {
    let (minth, range) = (config.minth.as_nanos() as u64, config.range.as_nanos() as u64);
    if qdelay >= minth + range {
        1.0
    } else if qdelay > minth {
        (qdelay - minth) as f64 / range as f64
    } else {
        0.0
    }
}

/// The two queues, their scheduler and their coupling.
#[derive(Clone, Debug)]
pub(crate) struct DualPi2<P> {
    config: DualPi2Config,
    limit: ResolvedLimit,
    base: Base,
    p_cmax: f64,
    l: Side<P>,
    c: Side<P>,
    /// Bytes that weighted round robin owes the Classic queue.
    credit: f64,
    tupdate: u64,
    next_update: u64,
}

/// Figure 3: the L4S identifier is the last bit of the ECN field.
fn is_l4s(ecn: Ecn) -> bool {
    ecn.bits() % 2 == 1
}

impl<P: Transit> DualPi2<P> {
    /// Whether updates change nothing: none is needed until a packet comes.
    fn is_at_rest(&self) -> bool {
        self.l.queue.is_empty() && self.c.queue.is_empty() && self.base.is_at_rest()
    }

    #[inline]
    fn on_arrival(&mut self, now: u64) {
        if self.is_at_rest() {
            // Updates are at multiples of their period, whenever the link was at rest.
            self.next_update = (now / self.tupdate + 1).saturating_mul(self.tupdate);
        }
    }

    /// Whether the L4S queue goes first, both being backlogged.
    #[inline]
    fn l4s_first(&self, now: u64) -> bool {
        match self.config.scheduler {
            Scheduler::Wrr => self.credit <= 0.0,
            Scheduler::TsFifo => {
                self.l.time(now).saturating_add(self.config.tshift.as_nanos() as u64) >= self.c.time(now)
            }
        }
    }

    /// The credit moves only while both queues want to send (appendix A.1).
    #[inline]
    fn charge(&mut self, l4s: bool, size: u64) {
        let part = self.config.c_weight;
        self.credit += if l4s { part * size as f64 } else { (part - 1.0) * size as f64 };
    }

    /// Figure 7, lines 4b to 8j: false if the packet, with `behind` others behind it, is dropped. `calm`: too little
    /// waits for what the base chance asks.
    #[inline]
    fn pass_l4s<T: Transit>(&mut self, head: &mut Queued<T>, qdelay: u64, behind: usize, calm: bool) -> bool {
        let (p_c, p_cl) = if calm { (0.0, 0.0) } else { (self.base.p_c, self.base.p_cl) };
        if p_cl < self.config.p_lmax {
            // Th_len counts the packet itself: a queue of one packet is not marked.
            let is_long = behind as u64 + 1 > self.config.th_len;
            let native = if is_long { laqm(&self.config, qdelay) } else { 0.0 };
            if self.l.marks.recur(native.max(p_cl)) {
                head.mark();
            }
            return true;
        }
        if self.l.drops.recur(p_c) {
            return false;
        }
        if self.l.marks.recur(p_cl) {
            head.mark();
        }
        true
    }

    /// Figure 7, lines 11 to 17: false if the packet is dropped.
    #[inline]
    fn pass_classic<T: Transit>(&mut self, head: &mut Queued<T>, calm: bool) -> bool {
        if calm || !self.c.drops.recur(self.base.p_c) {
            return true;
        }
        self.config.ecn && self.base.p_c < self.p_cmax && head.mark()
    }

    #[inline]
    fn is_calm(&self, bytes: u64) -> bool {
        bytes < 2 * self.config.mtu.as_u64()
    }
}

impl<P: Transit> Discipline<P> for DualPi2<P> {
    type Config = DualPi2Config;

    const TIMED: bool = true;

    fn new(config: &DualPi2Config, context: &LinkContext<'_>) -> Result<DualPi2<P>, ParamError> {
        let tupdate = tupdate(config).as_nanos() as u64;
        Ok(DualPi2 {
            limit: config.limit.resolve(context.nominal)?,
            base: Base::new(config),
            p_cmax: config.p_cmax.unwrap_or((1.0 / (config.k * config.k)).min(1.0)),
            l: Side::new(),
            c: Side::new(),
            credit: 0.0,
            tupdate,
            next_update: tupdate,
            config: config.clone(),
        })
    }

    fn set_limit(&mut self, limit: ResolvedLimit) {
        self.limit = limit;
    }

    /// As if it were enqueued and dequeued at once.
    #[inline]
    fn admit_to_idle<T: Transit>(&mut self, packet: &mut Queued<T>) -> bool {
        self.on_arrival(packet.since);
        let calm = self.is_calm(packet.size);
        match is_l4s(packet.packet.ecn()) {
            true => self.pass_l4s(packet, 0, 0, calm),
            false => self.pass_classic(packet, calm),
        }
    }

    /// Figure 3: so that large packets fare no worse, room for an MTU is asked of all.
    #[inline]
    fn enqueue(&mut self, packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Result<(), Queued<P>> {
        let room = self.config.mtu.as_u64();
        if !self.limit.admits(waiting.packets(), waiting.bytes(), room) {
            return Err(packet);
        }
        self.on_arrival(packet.since);
        let side = if is_l4s(packet.packet.ecn()) { &mut self.l } else { &mut self.c };
        side.push(packet);
        Ok(())
    }

    /// Figure 7.
    #[inline]
    fn dequeue(&mut self, now: u64, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        loop {
            let calm = self.is_calm(self.l.bytes + self.c.bytes);
            let contended = !self.l.queue.is_empty() && !self.c.queue.is_empty();
            let l4s = if contended { self.l4s_first(now) } else { self.c.queue.is_empty() };
            let side = if l4s { &mut self.l } else { &mut self.c };
            let Some(mut head) = side.pop() else {
                // The link is idle: the next turn is L4S's.
                self.credit = 0.0;
                return None;
            };
            let (qdelay, behind) = (now - head.since, self.l.queue.len());
            let passes = match l4s {
                true => self.pass_l4s(&mut head, qdelay, behind, calm),
                false => self.pass_classic(&mut head, calm),
            };
            if !passes {
                waiting.discard(now, head);
                continue;
            }
            if contended {
                self.charge(l4s, head.size);
            }
            return Some(head);
        }
    }

    #[inline]
    fn next_timer(&self) -> u64 {
        if self.is_at_rest() { NEVER } else { self.next_update }
    }

    /// Figure 8: whichever queue's delay is greater drives the base chance.
    fn on_timer(&mut self, now: u64, _waiting: &mut Waiting<'_, P>) {
        let curq = self.c.time(now).max(self.l.time(now));
        self.base.update(curq as f64 / 1e9);
        self.next_update = now.saturating_add(self.tupdate);
    }
}
