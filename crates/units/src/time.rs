//! A point in time and a span of time, in whole nanoseconds.

use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

const NANOS_PER_SEC: f64 = 1e9;

/// A point in time: nanoseconds since the driver's zero (start of the run). Never the wall's clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

/// A signed span of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TimeDelta(i64);

impl Time {
    /// The driver's zero.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const MAX: Time = Time(u64::MAX);

    /// The point `nanos` nanoseconds after zero.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// The point `secs` seconds after zero, rounded to the nearest nanosecond; negative and NaN give zero.
    #[inline]
    pub fn from_secs_f64(secs: f64) -> Time {
        Time((secs * NANOS_PER_SEC + 0.5) as u64)
    }

    /// Nanoseconds since zero.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since zero.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC
    }

    /// The span from `earlier` to here, zero if `earlier` is later.
    #[inline]
    pub const fn saturating_since(self, earlier: Time) -> TimeDelta {
        let nanos = self.0.saturating_sub(earlier.0);
        TimeDelta(if nanos > i64::MAX as u64 { i64::MAX } else { nanos as i64 })
    }

    /// Signed difference in one instruction, for what is done for each packet: it wraps between times that are 292 years apart.
    #[inline]
    pub const fn wrapping_since(self, earlier: Time) -> TimeDelta {
        TimeDelta(self.0.wrapping_sub(earlier.0) as i64)
    }
}

impl TimeDelta {
    /// No time at all.
    pub const ZERO: TimeDelta = TimeDelta(0);
    /// The longest span there is (292 years).
    pub const MAX: TimeDelta = TimeDelta(i64::MAX);

    /// A span of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: i64) -> TimeDelta {
        TimeDelta(nanos)
    }

    /// A span of `micros` microseconds.
    #[inline]
    pub const fn from_micros(micros: i64) -> TimeDelta {
        TimeDelta(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    #[inline]
    pub const fn from_millis(millis: i64) -> TimeDelta {
        TimeDelta(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds.
    #[inline]
    pub const fn from_secs(secs: i64) -> TimeDelta {
        TimeDelta(secs.saturating_mul(1_000_000_000))
    }

    /// A span of `secs` seconds, rounded to the nearest nanosecond; NaN gives zero.
    #[inline]
    pub fn from_secs_f64(secs: f64) -> TimeDelta {
        let nanos = secs * NANOS_PER_SEC;
        TimeDelta(if nanos < 0.0 { nanos - 0.5 } else { nanos + 0.5 } as i64)
    }

    /// The time in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The time in seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC
    }

    /// The time in milliseconds.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Whether the span points backwards.
    #[inline]
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }
}

impl Add<TimeDelta> for Time {
    type Output = Time;
    /// Saturates at both ends: a clock never wraps and never runs before zero. A sum of signed numbers is asked for first, since
    /// the processor itself says whether that is exact: it is unless a time lies beyond 292 years or before zero.
    #[inline]
    fn add(self, span: TimeDelta) -> Time {
        match (self.0 as i64).checked_add(span.0) {
            Some(sum) if self.0 as i64 | sum >= 0 => Time(sum as u64),
            _ => self.add_saturating(span),
        }
    }
}

impl Time {
    /// Never in line: the processor would compute it for each sum, in advance.
    #[cold]
    #[inline(never)]
    fn add_saturating(self, span: TimeDelta) -> Time {
        Time(self.0.saturating_add_signed(span.0))
    }
}

impl AddAssign<TimeDelta> for Time {
    #[inline]
    fn add_assign(&mut self, span: TimeDelta) {
        *self = *self + span;
    }
}

impl Sub<TimeDelta> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, span: TimeDelta) -> Time {
        let size = span.0.unsigned_abs();
        Time(if span.is_negative() { self.0.saturating_add(size) } else { self.0.saturating_sub(size) })
    }
}

impl Sub<Time> for Time {
    type Output = TimeDelta;
    /// Signed difference, saturating.
    #[inline]
    fn sub(self, earlier: Time) -> TimeDelta {
        let nanos = self.0.wrapping_sub(earlier.0) as i64;
        let is_earlier = self.0 < earlier.0;
        if is_earlier == nanos.is_negative() {
            TimeDelta(nanos)
        } else if is_earlier {
            TimeDelta(-i64::MAX)
        } else {
            TimeDelta::MAX
        }
    }
}

impl Add for TimeDelta {
    type Output = TimeDelta;
    #[inline]
    fn add(self, other: TimeDelta) -> TimeDelta {
        TimeDelta(self.0.saturating_add(other.0))
    }
}

impl AddAssign for TimeDelta {
    #[inline]
    fn add_assign(&mut self, other: TimeDelta) {
        *self = *self + other;
    }
}

impl Sub for TimeDelta {
    type Output = TimeDelta;
    #[inline]
    fn sub(self, other: TimeDelta) -> TimeDelta {
        TimeDelta(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for TimeDelta {
    #[inline]
    fn sub_assign(&mut self, other: TimeDelta) {
        *self = *self - other;
    }
}

impl Neg for TimeDelta {
    type Output = TimeDelta;
    #[inline]
    fn neg(self) -> TimeDelta {
        TimeDelta(self.0.saturating_neg())
    }
}

impl Mul<i64> for TimeDelta {
    type Output = TimeDelta;
    #[inline]
    fn mul(self, factor: i64) -> TimeDelta {
        TimeDelta(self.0.saturating_mul(factor))
    }
}

impl Div<i64> for TimeDelta {
    type Output = TimeDelta;
    /// # Panics
    /// If `divisor` is zero, as integers do.
    #[inline]
    fn div(self, divisor: i64) -> TimeDelta {
        TimeDelta(self.0 / divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Time::from_secs_f64(47.74).as_nanos(), 47_740_000_000);
        assert_eq!(TimeDelta::from_secs_f64(-0.001).as_nanos(), -1_000_000);
        assert_eq!(Time::from_secs_f64(-1.0), Time::ZERO);
        assert_eq!(TimeDelta::from_secs_f64(f64::NAN), TimeDelta::ZERO);
    }

    #[test]
    fn a_clock_never_runs_before_zero() {
        assert_eq!(Time::from_nanos(5) - TimeDelta::from_nanos(9), Time::ZERO);
        assert_eq!(Time::from_nanos(5) - Time::from_nanos(9), TimeDelta::from_nanos(-4));
        assert_eq!(Time::from_nanos(5).saturating_since(Time::from_nanos(9)), TimeDelta::ZERO);
    }

    proptest! {
        #[test]
        fn adding_then_subtracting_returns(t in 0..u64::MAX / 4, d in 0..i64::MAX / 4) {
            let (t, d) = (Time::from_nanos(t), TimeDelta::from_nanos(d));
            prop_assert_eq!((t + d) - d, t);
            prop_assert_eq!((t + d) - t, d);
            prop_assert_eq!(t - (t + d), -d);
        }

        #[test]
        fn a_sum_is_exact_or_saturated(
            near in prop_oneof![Just(0), Just(i64::MAX as u64), Just(u64::MAX)],
            t in prop_oneof![any::<u64>(), 0..1000u64],
            d in prop_oneof![any::<i64>(), -1000..1000i64, Just(i64::MIN), Just(i64::MAX)],
        ) {
            for t in [t, near.wrapping_add(t), near.wrapping_sub(t)].map(Time::from_nanos) {
                prop_assert_eq!(t + TimeDelta::from_nanos(d), Time::from_nanos(t.as_nanos().saturating_add_signed(d)));
            }
        }

        #[test]
        fn no_arithmetic_panics(a in any::<u64>(), b in any::<u64>(), d in any::<i64>()) {
            let (a, b, d) = (Time::from_nanos(a), Time::from_nanos(b), TimeDelta::from_nanos(d));
            let _ = (a - b, a + d, a - d, -d, d + d, d - (a - b), d * 3, a.saturating_since(b));
        }
    }
}
