//! The two lists of delays (RFC 6817 section 2.4.2): smallest ones of past minutes, and those just seen.

use super::Params;
use alloc::collections::VecDeque;
use paceline_units::{Time, TimeDelta};

const MINUTE: u64 = 60_000_000_000;
/// Nothing was measured in that minute.
const NONE: i64 = i64::MAX;

/// `base_delays` and `current_delays`. Delays are differences of two clocks that run at the same rate.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    /// The smallest of each past minute.
    past: VecDeque<i64>,
    past_min: i64,
    minute: Option<u64>,
    minute_min: i64,
    current: VecDeque<(Time, i64)>,
}

impl Delays {
    pub fn new(params: &Params) -> Delays {
        Delays {
            past: VecDeque::with_capacity(params.base_history as usize + 1),
            past_min: NONE,
            minute: None,
            minute_min: NONE,
            current: VecDeque::with_capacity(params.current_filter as usize + 1),
        }
    }

    /// `update_base_delay` and `update_current_delay`.
    #[inline]
    pub fn sample(&mut self, params: &Params, now: Time, delay: TimeDelta) {
        let delay = delay.as_nanos();
        let minute = now.as_nanos() / MINUTE;
        if self.minute != Some(minute) {
            self.roll_over(params, minute);
        }
        self.minute_min = self.minute_min.min(delay);
        if self.current.len() as u64 >= params.current_filter {
            self.current.pop_front();
        }
        self.current.push_back((now, delay));
    }

    /// A minute is over; those in which nothing was heard count as unknown.
    #[cold]
    fn roll_over(&mut self, params: &Params, minute: u64) {
        let passed = self.minute.map_or(0, |before| minute.saturating_sub(before).max(1));
        let kept = params.base_history.saturating_sub(1) as usize;
        for _ in 0..passed.min(params.base_history) {
            self.past.push_back(self.minute_min);
            self.minute_min = NONE;
            if self.past.len() > kept {
                self.past.pop_front();
            }
        }
        self.minute = Some(minute);
        self.past_min = self.past.iter().copied().min().unwrap_or(NONE);
    }

    /// FILTER(current) less MIN(base): the smallest of those just seen, which are no older than a round trip.
    #[inline]
    pub fn queue_delay(&self, now: Time, rtt: f64) -> Option<TimeDelta> {
        let oldest = now - TimeDelta::from_secs_f64(rtt);
        let base = self.past_min.min(self.minute_min);
        let newest = self.current.back()?.1;
        let recent = self.current.iter().filter(|(at, _)| *at >= oldest);
        let current = recent.fold(newest, |least, (_, delay)| least.min(*delay));
        Some(TimeDelta::from_nanos(current.saturating_sub(base)))
    }

    /// `MIN(base_delays)`.
    pub fn base(&self) -> Option<TimeDelta> {
        let base = self.past_min.min(self.minute_min);
        (base != NONE).then(|| TimeDelta::from_nanos(base))
    }

    /// Other clocks: nothing that was measured compares.
    #[cold]
    pub fn forget(&mut self) {
        self.past.clear();
        self.current.clear();
        (self.past_min, self.minute_min) = (NONE, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Time {
        Time::from_nanos(secs * 1_000_000_000)
    }

    fn ms(millis: i64) -> TimeDelta {
        TimeDelta::from_millis(millis)
    }

    #[test]
    fn the_base_is_the_smallest_of_ten_minutes_and_then_forgotten() {
        let params = Params::default();
        let mut delays = Delays::new(&params);
        delays.sample(&params, at(1), ms(-500));
        for minute in 1..10 {
            delays.sample(&params, at(minute * 60 + 1), ms(-480));
            assert_eq!(delays.queue_delay(at(minute * 60 + 1), 0.1), Some(ms(20)), "minute {minute}");
        }
        delays.sample(&params, at(601), ms(-480));
        assert_eq!(delays.queue_delay(at(601), 0.1), Some(ms(0)));
    }

    #[test]
    fn ten_idle_minutes_forget_everything_and_nine_do_not() {
        let params = Params::default();
        for (minutes, expected) in [(9, 30), (10, 0), (1000, 0)] {
            let mut delays = Delays::new(&params);
            delays.sample(&params, at(1), ms(10));
            delays.sample(&params, at(1 + 60 * minutes), ms(40));
            assert_eq!(delays.queue_delay(at(1 + 60 * minutes), 0.1), Some(ms(expected)), "{minutes}");
        }
    }

    #[test]
    fn the_filter_takes_the_smallest_of_four_within_a_round_trip() {
        let params = Params::default();
        let mut delays = Delays::new(&params);
        for delay in [10, 60, 50, 70, 80] {
            delays.sample(&params, at(1), ms(delay));
        }
        assert_eq!(delays.queue_delay(at(1), 0.1), Some(ms(40)), "50 is the smallest of the last four");
        delays.sample(&params, at(2), ms(90));
        assert_eq!(delays.queue_delay(at(2), 0.1), Some(ms(80)), "the others are older than a round trip");
    }

    #[test]
    fn clocks_that_jump_do_no_harm() {
        let params = Params::default();
        let mut delays = Delays::new(&params);
        for (now, delay) in [(Time::MAX, i64::MAX), (Time::ZERO, i64::MIN), (at(7), 3), (Time::MAX, i64::MAX)]
        {
            delays.sample(&params, now, TimeDelta::from_nanos(delay));
            assert!(delays.queue_delay(now, 1e9).is_some_and(|delay| !delay.is_negative()));
        }
    }
}
