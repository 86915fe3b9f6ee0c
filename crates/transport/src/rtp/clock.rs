//! The receiver's clock, as coarse as the feedback format makes it.

use paceline_units::param::{Kind, Parameter, Value};
use paceline_units::text::parse_ticks;
use paceline_units::{Time, TimeDelta};

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A clock that ticks so many times a second. RFC 8888's arrival times have 1024.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverClock {
    ticks_per_second: u32,
}

/// Written by its step: `1/1024s`, or a time that divides a second such as `1ms`.
impl Parameter for ReceiverClock {
    const KIND: Kind = Kind::Text(
        "step",
        "the step of a clock that ticks a whole number of times a second, such as \"1/1024s\" or \"1ms\"",
    );

    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(format!("1/{}s", self.ticks_per_second)))
    }

    fn from_value(value: Value) -> Option<ReceiverClock> {
        if let Value::Text(text) = value { ReceiverClock::new(parse_ticks(&text)?) } else { None }
    }
}

impl ReceiverClock {
    /// RFC 8888's clock: 1/1024 s.
    pub const RFC8888: ReceiverClock = ReceiverClock { ticks_per_second: 1024 };

    /// A clock of `ticks_per_second`, 1 to 10^9; absent if out of range.
    pub fn new(ticks_per_second: u32) -> Option<ReceiverClock> {
        (1..=1_000_000_000).contains(&ticks_per_second).then_some(ReceiverClock { ticks_per_second })
    }

    /// Ticks per second.
    pub fn ticks_per_second(self) -> u32 {
        self.ticks_per_second
    }

    /// The time between ticks, rounded up to a nanosecond.
    pub fn step(self) -> TimeDelta {
        TimeDelta::from_nanos(NANOS_PER_SEC.div_ceil(u64::from(self.ticks_per_second)) as i64)
    }

    /// What the clock shows at `now`: the last tick, rounded down to a nanosecond.
    #[inline]
    pub fn read(self, now: Time) -> Time {
        let nanos = now.as_nanos();
        let (secs, rest) = (nanos / NANOS_PER_SEC, nanos % NANOS_PER_SEC);
        let shown = if self.ticks_per_second == 1024 {
            // The common case without a division: 10^9/1024 = 1953125/2.
            ((rest * 1024) / NANOS_PER_SEC) * 1_953_125 / 2
        } else {
            let ticks = u64::from(self.ticks_per_second);
            (rest * ticks / NANOS_PER_SEC) * NANOS_PER_SEC / ticks
        };
        Time::from_nanos(secs * NANOS_PER_SEC + shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rfc8888_ticks_are_1024_a_second() {
        let clock = ReceiverClock::RFC8888;
        assert_eq!(clock.read(Time::from_nanos(976_562)), Time::ZERO);
        assert_eq!(
            clock.read(Time::from_nanos(976_563)),
            Time::from_nanos(976_562),
            "tick 1 is at 976562.5 ns"
        );
        assert_eq!(clock.read(Time::from_secs_f64(7.5)), Time::from_secs_f64(7.5));
    }

    proptest! {
        #[test]
        fn a_clock_is_never_ahead_and_less_than_a_step_behind(now in 0u64..1_000_000_000_000_000, ticks in 1u32..=1_000_000_000) {
            let clock = ReceiverClock::new(ticks).unwrap();
            let now = Time::from_nanos(now);
            let behind = now - clock.read(now);
            prop_assert!(!behind.is_negative() && behind <= clock.step());
        }
    }
}
