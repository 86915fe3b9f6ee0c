//! The two lists of delays (RFC 6817 section 2.4.2): smallest ones of past minutes, and those just seen.

use super::Params;
use crate::one_way_delay::{Clocks, KeptDelay, LeastDelays, Tilt};
use alloc::collections::VecDeque;
use paceline_units::{Time, TimeDelta};

const MINUTE: u64 = 60_000_000_000;

/// `base_delays` and `current_delays`. Delays are differences of two clocks, from which what the one gains on the other is
/// taken out if the parameters say so.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    clocks: Clocks,
    /// The smallest delays of the past minutes.
    least: LeastDelays,
    minute: Option<u64>,
    current: VecDeque<(Time, KeptDelay)>,
}

impl Delays {
    pub fn new(params: &Params) -> Delays {
        Delays {
            clocks: Clocks::new(params.skew_compensation),
            least: LeastDelays::with_room(params.base_history as usize + 1),
            minute: None,
            current: VecDeque::with_capacity(params.current_filter as usize + 1),
        }
    }

    /// `update_base_delay` and `update_current_delay`, at `now`, of what was sent at `sent` and `arrived` by the
    /// receiver's clock.
    #[inline]
    pub fn sample(&mut self, params: &Params, now: Time, sent: Time, arrived: Time) {
        let (delay, tilt) = self.clocks.on_arrival(now, sent, arrived);
        if let Some(tilt) = tilt {
            self.correct(&tilt);
        }
        let minute = now.as_nanos() / MINUTE;
        if self.minute != Some(minute) {
            self.roll_over(params, minute);
        }
        self.least.note(delay);
        if self.current.len() as u64 >= params.current_filter {
            self.current.pop_front();
        }
        self.current.push_back((now, delay));
    }

    /// Corrects the delays that are kept by the present knowledge of the clocks.
    fn correct(&mut self, tilt: &Tilt) {
        self.least.correct(tilt);
        self.current.iter_mut().for_each(|(_, delay)| delay.correct(tilt));
    }

    /// A minute is over; those in which nothing was heard count as unknown.
    fn roll_over(&mut self, params: &Params, minute: u64) {
        let passed = self.minute.map_or(0, |before| minute.saturating_sub(before).max(1));
        let kept = params.base_history.saturating_sub(1) as usize;
        for _ in 0..passed.min(params.base_history) {
            self.least.close(kept);
        }
        self.minute = Some(minute);
    }

    /// FILTER(current) less MIN(base): the smallest of those just seen, which are no older than a round trip.
    #[inline]
    pub fn queue_delay(&self, now: Time, rtt: f64) -> Option<TimeDelta> {
        let oldest = now - TimeDelta::from_secs_f64(rtt);
        let newest = self.current.back()?.1.nanos;
        let recent = self.current.iter().filter(|(at, _)| *at >= oldest);
        let current = recent.fold(newest, |least, (_, delay)| least.min(delay.nanos));
        Some(TimeDelta::from_nanos(current.saturating_sub(self.least.least())))
    }

    /// `MIN(base_delays)`.
    pub fn base(&self) -> Option<TimeDelta> {
        let base = self.least.least();
        (base != KeptDelay::NONE.nanos).then(|| TimeDelta::from_nanos(base))
    }

    /// By how many parts per million the receiver's clock is taken to run faster; absent if it is not looked at.
    pub fn skew_ppm(&self) -> Option<f64> {
        self.clocks.skew_ppm()
    }

    /// Other clocks: nothing that was measured compares.
    pub fn forget(&mut self) {
        self.clocks.forget();
        self.least.clear();
        self.current.clear();
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

    /// A delay that is told when the packet arrives, whose clock is ahead by a second.
    fn sample(delays: &mut Delays, params: &Params, now: Time, delay: TimeDelta) {
        delays.sample(params, now, now - delay, now + TimeDelta::from_secs(1));
    }

    #[test]
    fn the_base_is_the_smallest_of_ten_minutes_and_then_forgotten() {
        let params = Params::default();
        let mut delays = Delays::new(&params);
        sample(&mut delays, &params, at(1), ms(-500));
        for minute in 1..10 {
            sample(&mut delays, &params, at(minute * 60 + 1), ms(-480));
            assert_eq!(delays.queue_delay(at(minute * 60 + 1), 0.1), Some(ms(20)), "minute {minute}");
        }
        sample(&mut delays, &params, at(601), ms(-480));
        assert_eq!(delays.queue_delay(at(601), 0.1), Some(ms(0)));
    }

    #[test]
    fn ten_idle_minutes_forget_everything_and_nine_do_not() {
        let params = Params::default();
        for (minutes, expected) in [(9, 30), (10, 0), (1000, 0)] {
            let mut delays = Delays::new(&params);
            sample(&mut delays, &params, at(1), ms(10));
            sample(&mut delays, &params, at(1 + 60 * minutes), ms(40));
            assert_eq!(delays.queue_delay(at(1 + 60 * minutes), 0.1), Some(ms(expected)), "{minutes}");
        }
    }

    #[test]
    fn the_filter_takes_the_smallest_of_four_within_a_round_trip() {
        let params = Params::default();
        let mut delays = Delays::new(&params);
        for delay in [10, 60, 50, 70, 80] {
            sample(&mut delays, &params, at(1), ms(delay));
        }
        assert_eq!(delays.queue_delay(at(1), 0.1), Some(ms(40)), "50 is the smallest of the last four");
        sample(&mut delays, &params, at(2), ms(90));
        assert_eq!(delays.queue_delay(at(2), 0.1), Some(ms(80)), "the others are older than a round trip");
    }

    #[test]
    fn clocks_that_jump_do_no_harm() {
        let params = Params::default();
        let mut delays = Delays::new(&params);
        for (now, delay) in [(Time::MAX, i64::MAX), (Time::ZERO, i64::MIN), (at(7), 3), (Time::MAX, i64::MAX)]
        {
            sample(&mut delays, &params, now, TimeDelta::from_nanos(delay));
            assert!(delays.queue_delay(now, 1e9).is_some_and(|delay| !delay.is_negative()));
        }
    }
}
