//! Queue delay from one-way delays: the delay over the smallest seen in a long history (RFC 6817 sections 2.4.2 and 3.1.1).

use super::Params;
use crate::one_way_delay::{Clocks, LeastDelays};
use paceline_units::{Time, TimeDelta};

/// How often the slow minimum moves.
const SLOW_INTERVAL: TimeDelta = TimeDelta::from_millis(50);

/// Room for the buckets of both profiles: the history grows over minutes, and must not allocate then.
const FIRST_BUCKETS: usize = 64;

/// The base-delay history. Clocks need not agree: all values are differences, and what the receiver's clock gains, and its
/// steps, are taken out where the parameters say so.
#[derive(Clone, Debug)]
pub struct BaseDelay {
    clocks: Clocks,
    /// The smallest delays of the past buckets.
    least: LeastDelays,
    bucket_end: Time,
    /// The present estimate of the queue delay.
    pub queue_delay: TimeDelta,
    slow_min: f64,
    slow_due: Time,
    last_reset: Time,
}

impl BaseDelay {
    /// A history that has seen nothing.
    pub fn new(params: &Params) -> BaseDelay {
        BaseDelay {
            clocks: Clocks::new(params.skew_compensation),
            least: LeastDelays::with_room(FIRST_BUCKETS),
            bucket_end: Time::ZERO,
            queue_delay: TimeDelta::ZERO,
            slow_min: 0.0,
            slow_due: Time::ZERO,
            last_reset: Time::ZERO,
        }
    }

    /// A packet sent at `sent` (our clock) arrived at `arrived` (theirs).
    #[inline(always)]
    pub fn sample(&mut self, params: &Params, now: Time, sent: Time, arrived: Time) {
        let (delay, tilt) = self.clocks.on_arrival(now, sent, arrived);
        if let Some(tilt) = tilt {
            self.least.correct(&tilt);
        }
        if now >= self.bucket_end {
            self.close_bucket(params, now);
        }
        self.least.note(delay);
        // No delay is below the base.
        let queue = delay.nanos.checked_sub(self.least.least());
        self.queue_delay = TimeDelta::from_nanos(queue.unwrap_or(i64::MAX));
    }

    /// By how many parts per million the receiver's clock is taken to run faster; absent if it is not looked at.
    pub fn skew_ppm(&self) -> Option<f64> {
        self.clocks.skew_ppm()
    }

    #[cold]
    fn close_bucket(&mut self, params: &Params, now: Time) {
        if self.bucket_end == Time::ZERO {
            self.last_reset = now;
        }
        self.bucket_end = now + params.base_delay_bucket;
        if !self.least.is_idle() {
            self.least.close(params.base_delay_buckets as usize);
        }
    }

    /// Forgets the history when even the smallest delay of a long time is large: the path, or a clock, has changed.
    pub fn check_reset(&mut self, params: &Params, now: Time, target: f64) {
        if !params.base_reset_fraction.is_finite() {
            return;
        }
        let delay = self.queue_delay.as_secs_f64();
        if now >= self.slow_due {
            self.slow_due = now + SLOW_INTERVAL;
            self.slow_min += params.base_reset_weight * (delay - self.slow_min);
        }
        self.slow_min = self.slow_min.min(delay);
        let due = now.saturating_since(self.last_reset) >= params.base_reset_interval;
        if due && self.slow_min > params.base_reset_fraction * target {
            self.least.clear();
            self.last_reset = now;
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
    fn queue_delay_is_over_the_smallest_of_the_history_whatever_the_clocks() {
        let params = Params::rfc8298();
        for offset in [0, 5_000_000] {
            let mut base = BaseDelay::new(&Params::rfc8298());
            for (now, delay, expected) in [(1, 30, 0), (2, 50, 20), (3, 20, 0), (4, 50, 30)] {
                base.sample(&params, ms(now), ms(now), ms(now + delay + offset));
                assert_eq!(base.queue_delay, TimeDelta::from_millis(expected));
            }
        }
    }

    #[test]
    fn a_minimum_is_forgotten_after_its_buckets() {
        let params =
            Params { base_delay_buckets: 3, base_delay_bucket: TimeDelta::from_secs(1), ..Params::rfc8298() };
        let mut base = BaseDelay::new(&Params::rfc8298());
        base.sample(&params, ms(0), ms(0), ms(10));
        for second in 1..=3 {
            base.sample(&params, ms(second * 1000), ms(0), ms(15));
            assert_eq!(base.queue_delay, TimeDelta::from_millis(5), "second {second}");
        }
        base.sample(&params, ms(4000), ms(0), ms(15));
        assert_eq!(base.queue_delay, TimeDelta::ZERO);
    }

    #[test]
    fn arrival_before_sending_and_a_jumping_clock_do_no_harm() {
        let mut base = BaseDelay::new(&Params::rfc8298());
        base.sample(&Params::rfc8298(), ms(5), ms(1000), ms(1));
        base.sample(&Params::rfc8298(), ms(6), Time::MAX, ms(1));
        base.sample(&Params::rfc8298(), ms(7), ms(1), Time::MAX);
        assert!(!base.queue_delay.is_negative());
    }

    #[test]
    fn a_standing_queue_is_taken_for_the_path_after_the_interval() {
        let params = Params { base_reset_fraction: 0.25, base_reset_weight: 0.5, ..Params::rfc8298() };
        let mut base = BaseDelay::new(&Params::rfc8298());
        base.sample(&params, ms(0), ms(0), ms(10));
        for step in 1..500 {
            base.sample(&params, ms(step * 50), ms(step * 50), ms(step * 50 + 60));
            base.check_reset(&params, ms(step * 50), 0.06);
            let expected = if step * 50 <= 20_000 { 50 } else { 0 };
            assert_eq!(base.queue_delay, TimeDelta::from_millis(expected), "at {} ms", step * 50);
        }
    }
}
