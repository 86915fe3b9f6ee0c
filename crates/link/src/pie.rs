//! Proportional integral controller enhanced (RFC 8033): drops or marks arrivals by a chance that follows the delay.

use crate::config::{QueueLimit, ResolvedLimit};
use crate::error::{LinkError, check_limit, check_positive, check_ratio};
use crate::held::{Discipline, Place, Queued, Waiting};
use crate::schedule::NEVER;
use crate::transit::Transit;
use paceline_units::{Bytes, RandomStream, TimeDelta};
use std::collections::VecDeque;

/// How PIE learns the delay of its queue (RFC 8033 sections 4.2 and 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayEstimate {
    /// What waits over the rate at which it leaves, measured while at least the threshold waits.
    DepartureRate,
    /// How long the packet at the head has waited.
    Timestamp,
}

/// PIE's parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct PieConfig {
    /// How much may wait at all (TAIL_DROP).
    pub limit: QueueLimit,
    /// The delay that is aimed for (QDELAY_REF).
    pub target: TimeDelta,
    /// How often the chance is computed (T_UPDATE).
    pub t_update: TimeDelta,
    /// How long nothing is dropped after a quiet time (MAX_BURST).
    pub max_burst: TimeDelta,
    /// Weight of the distance to the target, per second.
    pub alpha: f64,
    /// Weight of the change of the delay, per second.
    pub beta: f64,
    /// Up to this chance packets that can be marked are marked (mark_ecnth).
    pub mark_ecnth: f64,
    /// Whether packets are marked at all.
    pub ecn: bool,
    /// Whether drops are kept from coming close together or far apart (section 5.4).
    pub derandomise: bool,
    /// How the delay is learnt.
    pub estimate: DelayEstimate,
    /// A measurement of the departure rate begins with this much waiting (DQ_THRESHOLD).
    pub dq_threshold: Bytes,
    /// The usual packet: with two of them or less waiting nothing is dropped (MEAN_PKTSIZE).
    pub mean_packet: Bytes,
}

impl Default for PieConfig {
    /// RFC 8033 sections 4 and 5.
    fn default() -> PieConfig {
        PieConfig {
            limit: QueueLimit::Packets(1000),
            target: TimeDelta::from_millis(15),
            t_update: TimeDelta::from_millis(15),
            max_burst: TimeDelta::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            mark_ecnth: 0.1,
            ecn: true,
            derandomise: true,
            estimate: DelayEstimate::DepartureRate,
            dq_threshold: Bytes::new(16_384),
            mean_packet: Bytes::new(1500),
        }
    }
}

impl PieConfig {
    pub(crate) fn validate(&self) -> Result<(), LinkError> {
        check_limit(self.limit)?;
        check_positive("queue.target", self.target)?;
        check_positive("queue.t_update", self.t_update)?;
        if self.max_burst.is_negative() {
            return Err(LinkError::new("queue.max_burst", self.max_burst, "a time of 0 or more"));
        }
        for (key, value) in [("queue.alpha", self.alpha), ("queue.beta", self.beta)] {
            if !(0.0..=1e6).contains(&value) {
                return Err(LinkError::new(key, value, "a number from 0 to 1e6"));
            }
        }
        check_ratio("queue.mark_ecnth", self.mark_ecnth)
    }
}

/// A measurement of the departure rate (section 4.3).
#[derive(Clone, Copy, Debug)]
struct Measurement {
    begun: u64,
    bytes: u64,
}

/// PIE over one queue. Delays are seconds.
#[derive(Clone, Debug)]
pub(crate) struct Pie<P> {
    config: PieConfig,
    limit: ResolvedLimit,
    random: RandomStream,
    waiting: VecDeque<Queued<P>>,
    next_update: u64,
    drop_prob: f64,
    old_delay: f64,
    burst_allowance: f64,
    accu_prob: f64,
    measurement: Option<Measurement>,
    /// Seconds that a byte takes, smoothed; none before the first measurement.
    byte_time: Option<f64>,
}

impl<P: Transit> Pie<P> {
    /// Section 4.1 with the corrections of 5.1 to 5.4: whether an arrival that finds `bytes` waiting is to be dropped.
    fn drop_early(&mut self, size: u64, bytes: u64) -> bool {
        let reference = self.config.target.as_secs_f64();
        if self.burst_allowance > 0.0
            || (self.old_delay < reference / 2.0 && self.drop_prob < 0.2)
            || bytes <= 2 * self.config.mean_packet.as_u64()
        {
            return false;
        }
        if self.config.derandomise {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            // Larger packets weigh more where bytes are the bottleneck; here every packet counts once (section 4.1).
            let _ = size;
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                self.accu_prob = 0.0;
                return true;
            }
        }
        let drop = self.random.chance(self.drop_prob);
        if drop {
            self.accu_prob = 0.0;
        }
        drop
    }

    /// Section 4.2.
    fn update(&mut self, delay: f64) {
        let reference = self.config.target.as_secs_f64();
        let mut step = self.config.alpha * (delay - reference) + self.config.beta * (delay - self.old_delay);
        step /= tuning(self.drop_prob);
        if self.drop_prob >= 0.1 {
            // Section 5.5's limit to a step.
            step = step.min(0.02);
        }
        self.drop_prob += step;
        if delay == 0.0 && self.old_delay == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        let calm = self.drop_prob == 0.0 && delay < reference / 2.0 && self.old_delay < reference / 2.0;
        self.burst_allowance = match calm {
            true => self.config.max_burst.as_secs_f64(),
            false => (self.burst_allowance - self.config.t_update.as_secs_f64()).max(0.0),
        };
        self.old_delay = delay;
    }

    /// Whether an update would change nothing: none is needed until something waits.
    fn is_quiet(&self) -> bool {
        self.waiting.is_empty()
            && self.drop_prob == 0.0
            && self.old_delay == 0.0
            && self.burst_allowance == self.config.max_burst.as_secs_f64()
    }

    fn delay(&self, now: u64, bytes: u64) -> f64 {
        match self.config.estimate {
            DelayEstimate::Timestamp => {
                self.waiting.front().map_or(0.0, |head| now.saturating_sub(head.since) as f64 / 1e9)
            }
            DelayEstimate::DepartureRate => self.byte_time.map_or(0.0, |time| time * bytes as f64),
        }
    }

    /// Section 4.3: the rate is measured over a threshold's worth of departures.
    fn measure_departure(&mut self, now: u64, size: u64, bytes: u64) {
        let threshold = self.config.dq_threshold.as_u64();
        if self.measurement.is_none() && bytes >= threshold {
            self.measurement = Some(Measurement { begun: now, bytes: 0 });
            return;
        }
        let Some(measurement) = &mut self.measurement else { return };
        measurement.bytes += size;
        if measurement.bytes >= threshold {
            let sample = (now - measurement.begun) as f64 / 1e9 / measurement.bytes as f64;
            self.byte_time = Some(self.byte_time.map_or(sample, |old| 0.5 * old + 0.5 * sample));
            self.measurement = (bytes >= threshold).then_some(Measurement { begun: now, bytes: 0 });
        }
    }
}

/// What steps are divided by while the chance is small (section 4.2).
fn tuning(drop_prob: f64) -> f64 {
    const TABLE: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
    TABLE.iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, divisor)| *divisor)
}

impl<P: Transit> Discipline<P> for Pie<P> {
    type Config = PieConfig;

    fn new(config: &PieConfig, place: &Place<'_>) -> Result<Pie<P>, LinkError> {
        config.validate()?;
        Ok(Pie {
            limit: config.limit.resolve(place.nominal)?,
            random: RandomStream::new(place.seed, &format!("link.{}.queue", place.name)),
            waiting: VecDeque::with_capacity(64),
            next_update: config.t_update.as_nanos() as u64,
            drop_prob: 0.0,
            old_delay: 0.0,
            burst_allowance: config.max_burst.as_secs_f64(),
            accu_prob: 0.0,
            measurement: None,
            byte_time: None,
            config: config.clone(),
        })
    }

    fn enqueue(&mut self, mut packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Option<()> {
        if self.is_quiet() {
            let period = self.config.t_update.as_nanos() as u64;
            self.next_update = (packet.since / period + 1) * period;
        }
        if !self.limit.admits(waiting.packets(), waiting.bytes(), packet.size) {
            self.accu_prob = 0.0;
            return None;
        }
        if self.drop_early(packet.size, waiting.bytes()) {
            let may_mark = self.config.ecn && self.drop_prob <= self.config.mark_ecnth;
            if !may_mark || !packet.mark() {
                return None;
            }
        }
        self.waiting.push_back(packet);
        Some(())
    }

    fn dequeue(&mut self, now: u64, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        let next = self.waiting.pop_front();
        match &next {
            Some(head) => self.measure_departure(now, head.size, waiting.bytes()),
            // A measurement that meets an empty queue says nothing of the link.
            None => self.measurement = None,
        }
        next
    }

    fn next_timer(&self) -> u64 {
        if self.is_quiet() { NEVER } else { self.next_update }
    }

    fn on_timer(&mut self, now: u64, waiting: &mut Waiting<'_, P>) {
        let delay = self.delay(now, waiting.bytes());
        self.update(delay);
        self.next_update = now + self.config.t_update.as_nanos() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_chances_take_small_steps() {
        for (chance, divisor) in
            [(0.0, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0), (0.1, 1.0)]
        {
            assert_eq!(tuning(chance), divisor, "{chance}");
        }
    }
}
