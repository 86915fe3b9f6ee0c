//! Whether the application limited the sender all the time that a feedback packet covers (RFC 5348 section 8.2.1).

use paceline_units::{Time, TimeDelta};

/// Two times at which the sender was not limited by the application, placed so that one lies in the next interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct DataLimited {
    not_limited_1: Time,
    not_limited_2: Time,
    t_new: Time,
    t_next: Time,
}

impl DataLimited {
    /// A segment was sent, and the sender has sent all that it is allowed to: more waits.
    #[inline]
    pub(super) fn on_not_limited(&mut self, now: Time) {
        if self.not_limited_1 <= self.t_new {
            self.not_limited_1 = now;
        } else if self.not_limited_2 <= self.t_next {
            self.not_limited_2 = now;
        }
    }

    /// A feedback packet names the send time `t_new`: was the interval of `r` up to it data-limited?
    pub(super) fn on_feedback(&mut self, now: Time, t_new: Time, r: TimeDelta) -> bool {
        let t_old = t_new - r;
        (self.t_new, self.t_next) = (t_new, now);
        let covered = |time: Time| t_old < time && time <= t_new;
        let limited = !covered(self.not_limited_1) && !covered(self.not_limited_2);
        if self.not_limited_1 <= t_new && self.not_limited_2 > t_new {
            self.not_limited_1 = self.not_limited_2;
        }
        limited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const R: TimeDelta = TimeDelta::from_millis(100);

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// A packet every 10 ms, feedback every 100 ms of what was sent 100 ms before; what each feedback packet covers.
    fn run(backlogged: impl Fn(u64) -> bool) -> Vec<bool> {
        let mut state = DataLimited::default();
        let mut limited = Vec::new();
        for n in 1..=100 {
            if n % 10 == 0 && n > 10 {
                limited.push(state.on_feedback(ms(n * 10), ms(n * 10 - 100), R));
            }
            if backlogged(n) {
                state.on_not_limited(ms(n * 10));
            }
        }
        limited
    }

    #[test]
    fn always_or_never_limited() {
        assert!(run(|_| true).iter().all(|limited| !limited));
        assert!(run(|_| false).iter().all(|limited| *limited));
    }

    #[test]
    fn one_moment_without_limit_is_enough() {
        let found = run(|n| n % 10 == 5);
        assert!(found.iter().all(|limited| !limited), "{found:?}");
    }

    #[test]
    fn a_period_is_found_where_it_was() {
        let found = run(|n| !(40..70).contains(&n));
        // The intervals end at 100, 200, ... 900 ms; those up to 500, 600 and 700 lie wholly within 400 to 690.
        assert_eq!(found, [false, false, false, false, true, true, false, false, false]);
    }
}
