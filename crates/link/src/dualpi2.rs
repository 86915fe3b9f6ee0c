//! Dual-queue coupled AQM (RFC 9332): a queue for L4S beside one for the rest, coupled so that both get alike.

use crate::config::{QueueLimit, ResolvedLimit};
use crate::error::{LinkError, check_limit, check_positive, check_ratio};
use crate::held::{Discipline, Place, Queued, Waiting};
use crate::schedule::NEVER;
use crate::transit::Transit;
use paceline_units::{Ecn, TimeDelta};
use std::collections::VecDeque;

/// Who goes first while both queues have something (RFC 9332 section 4.1.1).
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scheduler {
    /// Weighted round robin: this part of the bytes is the classic queue's.
    Wrr(f64),
    /// First in, first out, as if L4S packets had come so much earlier.
    TimeShifted(TimeDelta),
}

/// DualPI2's parameters; names of RFC 9332 appendix A.1.
#[derive(Clone, PartialEq, Debug)]
pub struct DualPi2Config {
    /// How much may wait at all, over both queues.
    pub limit: QueueLimit,
    /// The classic delay that is aimed for.
    pub target: TimeDelta,
    /// The largest round trip that is expected: gains follow from it.
    pub rtt_max: TimeDelta,
    /// How often the base chance is computed; absent: the smaller of `target` and a third of `rtt_max`.
    pub t_update: Option<TimeDelta>,
    /// Integral gain in 1/s; absent: 0.1 `t_update` / `rtt_max` squared.
    pub alpha: Option<f64>,
    /// Proportional gain in 1/s; absent: 0.3 / `rtt_max`.
    pub beta: Option<f64>,
    /// How much more often L4S is marked than the base chance: the coupling.
    pub k: f64,
    /// From this classic chance on everything is dropped instead of marked; absent: 1 / `k` squared, at most 1.
    pub p_c_max: Option<f64>,
    /// No L4S mark up to this wait ...
    pub min_th: TimeDelta,
    /// ... and every packet from this much more on; 0: a step.
    pub range: TimeDelta,
    /// With so many L4S packets or less waiting, none is marked for its own queue.
    pub th_len: u64,
    /// Who goes first.
    pub scheduler: Scheduler,
    /// With twice this waiting or less nothing is dropped or marked for the classic queue, in bytes.
    pub mtu: u64,
}

impl Default for DualPi2Config {
    /// RFC 9332 appendix A.1; the limit is 250 ms at the nominal rate.
    fn default() -> DualPi2Config {
        DualPi2Config {
            limit: QueueLimit::Time(TimeDelta::from_millis(250)),
            target: TimeDelta::from_millis(15),
            rtt_max: TimeDelta::from_millis(100),
            t_update: None,
            alpha: None,
            beta: None,
            k: 2.0,
            p_c_max: None,
            min_th: TimeDelta::from_micros(800),
            range: TimeDelta::from_micros(400),
            th_len: 1,
            scheduler: Scheduler::Wrr(1.0 / 16.0),
            mtu: 1500,
        }
    }
}

impl DualPi2Config {
    pub(crate) fn validate(&self) -> Result<(), LinkError> {
        check_limit(self.limit)?;
        check_positive("queue.target", self.target)?;
        check_positive("queue.rtt_max", self.rtt_max)?;
        if let Some(t_update) = self.t_update {
            check_positive("queue.t_update", t_update)?;
        }
        for (key, value) in
            [("queue.alpha", self.alpha), ("queue.beta", self.beta), ("queue.k", Some(self.k))]
        {
            if let Some(value) = value.filter(|value| !(0.0..=1e6).contains(value)) {
                return Err(LinkError::new(key, value, "a number from 0 to 1e6"));
            }
        }
        if let Some(p_c_max) = self.p_c_max {
            check_ratio("queue.p_c_max", p_c_max)?;
        }
        if self.min_th.is_negative() || self.range.is_negative() {
            return Err(LinkError::new("queue.min_th", self.min_th, "times of 0 or more"));
        }
        match self.scheduler {
            Scheduler::Wrr(part) => check_ratio("queue.wrr", part),
            Scheduler::TimeShifted(span) => crate::error::check_span("queue.t_shift", span),
        }
    }
}

/// A queue, and the share of a signal that it is owed (`recur`).
#[derive(Clone, Debug)]
struct Side<P> {
    waiting: VecDeque<Queued<P>>,
    bytes: u64,
    owed: f64,
}

impl<P> Side<P> {
    fn new() -> Side<P> {
        Side { waiting: VecDeque::with_capacity(64), bytes: 0, owed: 0.0 }
    }

    fn push(&mut self, packet: Queued<P>) {
        self.bytes += packet.size;
        self.waiting.push_back(packet);
    }

    fn pop(&mut self) -> Option<Queued<P>> {
        let head = self.waiting.pop_front()?;
        self.bytes -= head.size;
        Some(head)
    }

    /// How long the head has waited.
    fn age(&self, now: u64) -> u64 {
        self.waiting.front().map_or(0, |head| now.saturating_sub(head.since))
    }

    /// Appendix A.1: signals spread evenly instead of by chance.
    #[inline]
    fn recur(&mut self, likelihood: f64) -> bool {
        self.owed += likelihood;
        if self.owed > 1.0 {
            self.owed -= 1.0;
            return true;
        }
        false
    }
}

/// The two queues, their scheduler and the base chance.
#[derive(Clone, Debug)]
pub(crate) struct DualPi2<P> {
    limit: ResolvedLimit,
    l4s: Side<P>,
    classic: Side<P>,
    scheduler: Scheduler,
    /// What the classic queue is owed by weighted round robin, in bytes.
    credit: f64,
    target: f64,
    alpha: f64,
    beta: f64,
    t_update: u64,
    next_update: u64,
    k: f64,
    p_c_max: f64,
    min_th: u64,
    range: u64,
    th_len: usize,
    mtu: u64,
    /// The base chance, and the classic delay of the last update in seconds.
    base: f64,
    previous: f64,
}

impl<P: Transit> DualPi2<P> {
    /// Whether an update would change nothing: none is needed until something waits.
    fn is_quiet(&self) -> bool {
        let empty = self.l4s.waiting.is_empty() && self.classic.waiting.is_empty();
        empty && self.base == 0.0 && self.previous == 0.0
    }

    /// Chance of a classic drop or mark.
    fn p_c(&self) -> f64 {
        self.base * self.base
    }

    /// Chance of a mark that the classic queue asks of L4S.
    fn p_cl(&self) -> f64 {
        self.k * self.base
    }

    /// Chance of a mark for the wait in the L4S queue itself.
    fn ramp(&self, wait: u64) -> f64 {
        if wait >= self.min_th + self.range {
            1.0
        } else if wait > self.min_th {
            (wait - self.min_th) as f64 / self.range as f64
        } else {
            0.0
        }
    }

    /// Whether L4S goes next. Only while both have something does a turn cost.
    fn l4s_first(&mut self, now: u64) -> bool {
        let (Some(l4s), Some(classic)) = (self.l4s.waiting.front(), self.classic.waiting.front()) else {
            return !self.l4s.waiting.is_empty();
        };
        match self.scheduler {
            Scheduler::Wrr(part) => {
                let first = self.credit <= 0.0;
                self.credit += match first {
                    true => part * l4s.size as f64,
                    false => -(1.0 - part) * classic.size as f64,
                };
                first
            }
            Scheduler::TimeShifted(shift) => {
                let age = |since: u64| now.saturating_sub(since);
                age(l4s.since) + shift.as_nanos().max(0) as u64 >= age(classic.since)
            }
        }
    }

    /// What becomes of the head of the L4S queue; none if it is dropped.
    fn take_l4s(&mut self, now: u64, calm: bool, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        let mut head = self.l4s.pop()?;
        // Without its own length and without the classic queue's signals there is nothing to say.
        let coupled = if calm { 0.0 } else { self.p_cl() };
        let own = if self.l4s.waiting.len() + 1 > self.th_len { self.ramp(now - head.since) } else { 0.0 };
        if coupled < 1.0 {
            if self.l4s.recur(own.max(coupled)) {
                head.mark();
            }
            return Some(head);
        }
        // Appendix A.2: overload. Saturated marks are no signal, so L4S is dropped like the rest.
        if self.l4s.recur(self.p_c()) {
            waiting.discard(now, head);
            return None;
        }
        head.mark();
        Some(head)
    }

    /// What becomes of the head of the classic queue; none if it is dropped.
    fn take_classic(&mut self, now: u64, calm: bool, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        let mut head = self.classic.pop()?;
        let chance = if calm { 0.0 } else { self.p_c() };
        if self.classic.recur(chance) && (chance >= self.p_c_max || !head.mark()) {
            waiting.discard(now, head);
            return None;
        }
        Some(head)
    }
}

impl<P: Transit> Discipline<P> for DualPi2<P> {
    type Config = DualPi2Config;

    fn new(config: &DualPi2Config, place: &Place<'_>) -> Result<DualPi2<P>, LinkError> {
        config.validate()?;
        let rtt_max = config.rtt_max.as_secs_f64();
        let third = TimeDelta::from_nanos(config.rtt_max.as_nanos() / 3);
        let t_update = config.t_update.unwrap_or(config.target.min(third));
        let nanos = |span: TimeDelta| span.as_nanos().max(0) as u64;
        Ok(DualPi2 {
            limit: config.limit.resolve(place.nominal)?,
            l4s: Side::new(),
            classic: Side::new(),
            scheduler: config.scheduler,
            credit: 0.0,
            target: config.target.as_secs_f64(),
            alpha: config.alpha.unwrap_or(0.1 * t_update.as_secs_f64() / (rtt_max * rtt_max)),
            beta: config.beta.unwrap_or(0.3 / rtt_max),
            t_update: nanos(t_update).max(1),
            next_update: nanos(t_update).max(1),
            k: config.k,
            p_c_max: config.p_c_max.unwrap_or((1.0 / (config.k * config.k)).min(1.0)),
            min_th: nanos(config.min_th),
            range: nanos(config.range),
            th_len: usize::try_from(config.th_len).unwrap_or(usize::MAX),
            mtu: config.mtu,
            base: 0.0,
            previous: 0.0,
        })
    }

    #[inline]
    fn enqueue(&mut self, packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Option<()> {
        if !self.limit.admits(waiting.packets(), waiting.bytes() + self.mtu, packet.size) {
            return None;
        }
        if self.is_quiet() {
            self.next_update = (packet.since / self.t_update + 1) * self.t_update;
        }
        // Section 2.2: the identifier of L4S is the last bit of the ECN field.
        match packet.packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => self.l4s.push(packet),
            Ecn::NotEct | Ecn::Ect0 => self.classic.push(packet),
        }
        Some(())
    }

    #[inline]
    fn dequeue(&mut self, now: u64, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        while !(self.l4s.waiting.is_empty() && self.classic.waiting.is_empty()) {
            let calm = self.l4s.bytes + self.classic.bytes <= 2 * self.mtu;
            let next = match self.l4s_first(now) {
                true => self.take_l4s(now, calm, waiting),
                false => self.take_classic(now, calm, waiting),
            };
            if next.is_some() {
                return next;
            }
        }
        None
    }

    fn next_timer(&self) -> u64 {
        if self.is_quiet() { NEVER } else { self.next_update }
    }

    /// Appendix A.1, `dualpi2_update`.
    fn on_timer(&mut self, now: u64, _waiting: &mut Waiting<'_, P>) {
        let delay = self.classic.age(now).max(self.l4s.age(now)) as f64 / 1e9;
        let step = self.alpha * (delay - self.target) + self.beta * (delay - self.previous);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.previous = delay;
        self.next_update = now + self.t_update;
    }
}
