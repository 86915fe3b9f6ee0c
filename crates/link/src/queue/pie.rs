//! Proportional integral controller enhanced (RFC 8033): drops or marks arrivals by a chance that follows the delay.

mod departures;

use crate::config::{QueueLimit, ResolvedLimit};
use crate::queue::packet_queue::{Discipline, LinkContext, Queued, Waiting};
use crate::queue::queue_params;
use crate::schedule::NEVER;
use crate::transit::Transit;
use alloc::collections::VecDeque;
use alloc::format;
use departures::Departures;
use paceline_units::param::ParamError;
use paceline_units::{Bytes, RandomStream, TimeDelta};

paceline_units::names! {
    /// How PIE learns the delay of its queue (RFC 8033 section 4.3).
    pub enum DelayEstimate {
        /// The wait of the packet that left the queue last.
        Timestamp = "timestamp",
        /// The bytes that wait, over the rate at which they leave (section 5.2).
        DequeueRate = "dequeue-rate",
    }
}

queue_params! {
    /// PIE's parameters (RFC 8033 appendix A, B). The RFC has no TAIL_DROP: the default limit is ours.
    pub struct PieConfig, limit = QueueLimit::Packets(1000), room = |_| Bytes::new(1), {
        qdelay_ref: TimeDelta = TimeDelta::from_millis(15), in 1e-9, 1e3,
            "RFC 8033 4.2", "Delay that is aimed for";
        t_update: TimeDelta = TimeDelta::from_millis(15), in 1e-6, 1e3,
            "RFC 8033 4.2", "How often the chance is computed";
        max_burst: TimeDelta = TimeDelta::from_millis(150), in 0.0, 1e3,
            "RFC 8033 4.4", "How long nothing is dropped after a quiet time";
        alpha: f64 = 0.125, in 0.0, 1e6,
            "RFC 8033 A", "Weight of the distance to qdelay_ref, per second";
        beta: f64 = 1.25, in 0.0, 1e6,
            "RFC 8033 A", "Weight of the change of the delay, per second";
        estimate: DelayEstimate = DelayEstimate::Timestamp,
            "RFC 8033 4.3", "How the delay is learnt";
        dq_threshold: Bytes = Bytes::new(16_384), in 1.0, 1e9,
            "RFC 8033 5.2", "With this waiting the dequeue rate is measured, over as much";
        mean_pktsize: Bytes = Bytes::new(1500), in 0.0, 1e9,
            "RFC 8033 4.1 (without a value; ours)", "With two of these waiting or less nothing is dropped";
        ecn: bool = true,
            "RFC 8033 5.1", "Packets that can be marked are marked instead of dropped";
        mark_ecnth: f64 = 0.1, in 0.0, 1.0,
            "RFC 8033 5.1", "From this chance on packets are dropped that could be marked";
        active_threshold: f64 = 0.0, in 0.0, 1.0,
            "RFC 8033 5.3 (optional; a third there)", "Part of the limit from which PIE is active; 0: always";
        derandomize: bool = true,
            "RFC 8033 5.4", "Drops come neither too close together nor too far apart";
        accu_prob_low: f64 = 0.85, in 0.0, 1e3,
            "RFC 8033 5.4", "Sum of chances since the last drop below which there is none";
        accu_prob_high: f64 = 8.5, in 0.0, 1e3,
            "RFC 8033 5.4", "Sum of chances since the last drop from which there is one";
        step_max: f64 = 0.02, in 0.0, 1.0,
            "RFC 8033 5.5", "Most that the chance rises at once when it is 0.1 or more";
        decay_below: TimeDelta = TimeDelta::ZERO, in 0.0, 1e3,
            "RFC 8033 4.2 (appendix B: half of qdelay_ref)", "The chance decays by 2 % while the last two delays are at most this";
    }
    ordered accu_prob_low <= accu_prob_high;
}

/// Section 4.2: what a step is divided by while the chance is small.
pub(crate) fn auto_tune(drop_prob: f64) -> f64 {
    match drop_prob {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

/// The chance and what it follows from. Delays are seconds.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    pub(crate) config: PieConfig,
    pub(crate) drop_prob: f64,
    pub(crate) current_qdelay: f64,
    pub(crate) qdelay_old: f64,
    pub(crate) burst_allowance: TimeDelta,
    pub(crate) accu_prob: f64,
    /// Section 5.3.
    active: bool,
}

impl Controller {
    pub(crate) fn new(config: &PieConfig) -> Controller {
        Controller {
            drop_prob: 0.0,
            current_qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: config.max_burst,
            accu_prob: 0.0,
            active: config.active_threshold <= 0.0,
            config: config.clone(),
        }
    }

    /// Sections 4.4 and 5.3: no chance, and the last delays below half of the reference.
    fn is_calm(&self) -> bool {
        let half = self.config.qdelay_ref.as_secs_f64() / 2.0;
        self.drop_prob == 0.0 && self.current_qdelay < half && self.qdelay_old < half
    }

    /// Appendix A, `enque`; 5.3: it turns inactive.
    #[inline]
    pub(crate) fn on_arrival(&mut self) {
        if self.is_calm() {
            self.burst_allowance = self.config.max_burst;
            self.active = self.config.active_threshold <= 0.0;
        }
    }

    /// Appendix B, `enque`: it turns active.
    fn activate(&mut self) {
        self.active = true;
        (self.qdelay_old, self.drop_prob, self.accu_prob) = (0.0, 0.0, 0.0);
        self.burst_allowance = self.config.max_burst;
    }

    /// Appendix B, `drop_early`, for an arrival that finds `bytes` waiting.
    #[inline]
    pub(crate) fn drop_early(&mut self, bytes: u64, random: &mut RandomStream) -> bool {
        let PieConfig { qdelay_ref, mean_pktsize, derandomize, accu_prob_low, accu_prob_high, .. } =
            self.config;
        if !self.active || self.burst_allowance > TimeDelta::ZERO {
            return false;
        }
        // Section 4.1: a safeguard, so that PIE is work conserving.
        let is_short = self.qdelay_old < qdelay_ref.as_secs_f64() / 2.0 && self.drop_prob < 0.2;
        if is_short || bytes <= 2 * mean_pktsize.as_u64() {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        let drop = match derandomize {
            true if self.accu_prob < accu_prob_low => false,
            true if self.accu_prob >= accu_prob_high => true,
            _ => random.chance(self.drop_prob),
        };
        if drop {
            self.accu_prob = 0.0;
        }
        drop
    }

    /// Section 4.2, `calculate_drop_prob`.
    pub(crate) fn update(&mut self) {
        let config = &self.config;
        let mut p = config.alpha * (self.current_qdelay - config.qdelay_ref.as_secs_f64())
            + config.beta * (self.current_qdelay - self.qdelay_old);
        p /= auto_tune(self.drop_prob);
        if self.drop_prob >= 0.1 {
            p = p.min(config.step_max);
        }
        self.drop_prob += p;
        let below = config.decay_below.as_secs_f64();
        if self.current_qdelay <= below && self.qdelay_old <= below {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = (self.burst_allowance - config.t_update).max(TimeDelta::ZERO);
    }
}

/// PIE over one queue.
#[derive(Clone, Debug)]
pub(crate) struct Pie<P> {
    limit: ResolvedLimit,
    controller: Controller,
    departures: Departures,
    random: RandomStream,
    queue: VecDeque<Queued<P>>,
    next_update: u64,
    t_update: u64,
}

impl<P: Transit> Pie<P> {
    /// Whether updates change nothing that the next arrival does not set right: none is needed before that.
    fn is_at_rest(&self) -> bool {
        let Controller { drop_prob, current_qdelay, qdelay_old, active, .. } = self.controller;
        !active || (self.queue.is_empty() && drop_prob == 0.0 && current_qdelay == 0.0 && qdelay_old == 0.0)
    }

    #[inline]
    fn on_arrival(&mut self, now: u64) {
        if self.is_at_rest() {
            // Updates are at multiples of their period, whenever the link was at rest.
            self.next_update = (now / self.t_update + 1).saturating_mul(self.t_update);
        }
        self.controller.on_arrival();
    }
}

impl<P: Transit> Discipline<P> for Pie<P> {
    type Config = PieConfig;

    const TIMED: bool = true;

    fn new(config: &PieConfig, context: &LinkContext<'_>) -> Result<Pie<P>, ParamError> {
        let t_update = config.t_update.as_nanos().max(1) as u64;
        Ok(Pie {
            limit: config.limit.resolve(context.nominal)?,
            controller: Controller::new(config),
            departures: Departures::new(config.dq_threshold),
            random: RandomStream::new(context.seed, &format!("link.{}.queue", context.name)),
            queue: VecDeque::with_capacity(64),
            next_update: t_update,
            t_update,
        })
    }

    fn set_limit(&mut self, limit: ResolvedLimit) {
        self.limit = limit;
    }

    #[inline]
    fn admit_to_idle<T: Transit>(&mut self, packet: &mut Queued<T>) -> bool {
        self.on_arrival(packet.since);
        true
    }

    #[inline]
    fn enqueue(&mut self, mut packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Result<(), Queued<P>> {
        self.on_arrival(packet.since);
        let (packets, bytes) = (waiting.packets(), waiting.bytes());
        if !self.limit.admits(packets, bytes, packet.size) {
            self.controller.accu_prob = 0.0;
            return Err(packet);
        }
        if self.controller.drop_early(bytes, &mut self.random) {
            let PieConfig { ecn, mark_ecnth, .. } = self.controller.config;
            let may_mark = ecn && self.controller.drop_prob < mark_ecnth;
            if !(may_mark && packet.mark()) {
                return Err(packet);
            }
        }
        let threshold = self.controller.config.active_threshold;
        if !self.controller.active && self.limit.is_filled(threshold, packets + 1, bytes + packet.size) {
            self.controller.activate();
            self.departures.begin(packet.since);
        }
        self.queue.push_back(packet);
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, now: u64, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        let Some(head) = self.queue.pop_front() else {
            // Nothing waits, nor would the next packet. And a measurement that meets an empty queue is none.
            self.controller.current_qdelay = 0.0;
            self.departures.stop();
            return None;
        };
        match self.controller.config.estimate {
            DelayEstimate::Timestamp => self.controller.current_qdelay = (now - head.since) as f64 / 1e9,
            DelayEstimate::DequeueRate => {
                self.departures.dequeued(now, head.size, waiting.bytes() - head.size);
            }
        }
        Some(head)
    }

    #[inline]
    fn next_timer(&self) -> u64 {
        if self.is_at_rest() { NEVER } else { self.next_update }
    }

    fn on_timer(&mut self, now: u64, waiting: &mut Waiting<'_, P>) {
        if self.controller.config.estimate == DelayEstimate::DequeueRate {
            self.controller.current_qdelay = self.departures.delay_of(waiting.bytes());
        }
        self.controller.update();
        self.next_update = now.saturating_add(self.t_update);
    }
}
