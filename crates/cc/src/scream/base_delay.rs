//! Queue delay from one-way delays: the delay over the smallest seen in a long history (RFC 6817 sections 2.4.2 and 3.1.1).

use crate::one_way_delay::{Clocks, LeastDelays};
use paceline_units::{Time, TimeDelta};

/// Room for the buckets of every profile: the history grows over minutes, and must not allocate then.
const FIRST_BUCKETS: usize = 64;

/// The base-delay history. Clocks need not agree: all values are differences, and what the receiver's clock gains, and its
/// steps, are taken out where the parameters say so.
#[derive(Clone, Debug)]
pub struct BaseDelay {
    clocks: Clocks,
    /// The smallest delays of the past buckets.
    least: LeastDelays,
    /// Length of a bucket, and how many there are.
    bucket: TimeDelta,
    buckets: usize,
    bucket_end: Time,
    /// The present estimate of the queue delay.
    pub queue_delay: TimeDelta,
    /// Since when the history is kept.
    pub since: Time,
}

impl BaseDelay {
    /// A history that has seen nothing, of so many buckets of this length; `compensates`: skew and steps of clocks are taken out.
    pub fn new(compensates: bool, bucket: TimeDelta, buckets: u64) -> BaseDelay {
        BaseDelay {
            clocks: Clocks::new(compensates),
            least: LeastDelays::with_room(FIRST_BUCKETS),
            bucket,
            buckets: buckets as usize,
            bucket_end: Time::ZERO,
            queue_delay: TimeDelta::ZERO,
            since: Time::ZERO,
        }
    }

    /// A packet sent at `sent` (our clock) arrived at `arrived` (theirs).
    #[inline(always)]
    pub fn sample(&mut self, now: Time, sent: Time, arrived: Time) {
        self.sample_above(now, sent, arrived, TimeDelta::ZERO);
    }

    /// The same where another packet of the report had a delay that is less by `above`.
    #[inline(always)]
    pub fn sample_above(&mut self, now: Time, sent: Time, arrived: Time, above: TimeDelta) {
        let (delay, tilt) = self.clocks.on_arrival(now, sent, arrived);
        if let Some(tilt) = tilt {
            self.least.correct(&tilt);
        }
        if now >= self.bucket_end {
            self.close_bucket(now);
        }
        self.least.note(delay.less(above));
        // No delay is below the base.
        let queue = delay.nanos.checked_sub(self.least.least());
        self.queue_delay = TimeDelta::from_nanos(queue.unwrap_or(i64::MAX));
    }

    /// By how many parts per million the receiver's clock is taken to run faster; absent if it is not looked at.
    pub fn skew_ppm(&self) -> Option<f64> {
        self.clocks.skew_ppm()
    }

    #[cold]
    fn close_bucket(&mut self, now: Time) {
        if self.bucket_end == Time::ZERO {
            self.since = now;
        }
        self.bucket_end = now + self.bucket;
        if !self.least.is_idle() {
            self.least.close(self.buckets);
        }
    }

    /// Forgets the history: the path, or a clock, has changed.
    pub fn forget(&mut self, now: Time) {
        self.least.clear();
        self.since = now;
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
        for offset in [0, 5_000_000] {
            let mut base = BaseDelay::new(true, TimeDelta::from_secs(60), 10);
            for (now, delay, expected) in [(1, 30, 0), (2, 50, 20), (3, 20, 0), (4, 50, 30)] {
                base.sample(ms(now), ms(now), ms(now + delay + offset));
                assert_eq!(base.queue_delay, TimeDelta::from_millis(expected));
            }
        }
    }

    #[test]
    fn a_minimum_is_forgotten_after_its_buckets() {
        let mut base = BaseDelay::new(true, TimeDelta::from_secs(1), 3);
        base.sample(ms(0), ms(0), ms(10));
        for second in 1..=3 {
            base.sample(ms(second * 1000), ms(0), ms(15));
            assert_eq!(base.queue_delay, TimeDelta::from_millis(5), "second {second}");
        }
        base.sample(ms(4000), ms(0), ms(15));
        assert_eq!(base.queue_delay, TimeDelta::ZERO);
    }

    #[test]
    fn arrival_before_sending_and_a_jumping_clock_do_no_harm() {
        let mut base = BaseDelay::new(true, TimeDelta::from_secs(60), 10);
        base.sample(ms(5), ms(1000), ms(1));
        base.sample(ms(6), Time::MAX, ms(1));
        base.sample(ms(7), ms(1), Time::MAX);
        assert!(!base.queue_delay.is_negative());
    }
}
