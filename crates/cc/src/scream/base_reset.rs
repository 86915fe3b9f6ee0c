//! When the base-delay history is forgotten: the reference program's rule.

use super::{BaseDelay, Params};
use paceline_units::{Time, TimeDelta};

/// How often the slow minimum moves.
const SLOW_INTERVAL: TimeDelta = TimeDelta::from_millis(50);

/// The slow minimum of the queue delay.
#[derive(Clone, Debug, Default)]
pub struct BaseReset {
    slow_min: f64,
    slow_due: Time,
}

impl BaseReset {
    /// Forgets the history when even the smallest delay of a long time is large: the path, or a clock, has changed.
    pub fn check(&mut self, params: &Params, now: Time, target: f64, base: &mut BaseDelay) {
        if !params.base_reset_fraction.is_finite() {
            return;
        }
        let delay = base.queue_delay.as_secs_f64();
        if now >= self.slow_due {
            self.slow_due = now + SLOW_INTERVAL;
            self.slow_min += params.base_reset_weight * (delay - self.slow_min);
        }
        self.slow_min = self.slow_min.min(delay);
        let due = now.saturating_since(base.since) >= params.base_reset_interval;
        if due && self.slow_min > params.base_reset_fraction * target {
            base.forget(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_standing_queue_is_taken_for_the_path_after_the_interval() {
        let params = Params { base_reset_fraction: 0.25, base_reset_weight: 0.5, ..Params::rfc8298() };
        let mut base = BaseDelay::new(true, TimeDelta::from_secs(60), 10);
        let mut reset = BaseReset::default();
        base.sample(ms(0), ms(0), ms(10));
        for step in 1..500 {
            base.sample(ms(step * 50), ms(step * 50), ms(step * 50 + 60));
            reset.check(&params, ms(step * 50), 0.06, &mut base);
            let expected = if step * 50 <= 20_000 { 50 } else { 0 };
            assert_eq!(base.queue_delay, TimeDelta::from_millis(expected), "at {} ms", step * 50);
        }
    }
}
