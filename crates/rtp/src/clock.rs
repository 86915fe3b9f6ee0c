//! The receiver's clock, as coarse as the feedback format makes it, and how it is put forward and back.

use paceline_units::param::{Kind, Parameter, Value};
use paceline_units::text::{Dimension, format_time, parse_ticks};
use paceline_units::{Time, TimeDelta};
use paceline_wire::FeedbackFormat;
use std::ops::RangeInclusive;

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

    /// The clock whose steps the arrival times of reports in this format have.
    pub fn of(format: FeedbackFormat) -> ReceiverClock {
        ReceiverClock { ticks_per_second: format.ticks_per_second() }
    }

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

    /// The clock's reading at `now`: the last tick, rounded down to a nanosecond.
    #[inline]
    pub fn read(self, now: Time) -> Time {
        let nanos = now.as_nanos();
        if self.ticks_per_second == 1024 && nanos < 1 << 62 {
            // The common case with one division: a tick is 1953125/2 ns.
            return Time::from_nanos(nanos * 2 / 1_953_125 * 1_953_125 / 2);
        }
        let ticks = u64::from(self.ticks_per_second);
        let (secs, rest) = (nanos / NANOS_PER_SEC, nanos % NANOS_PER_SEC);
        let shown = (rest * ticks / NANOS_PER_SEC) * NANOS_PER_SEC / ticks;
        Time::from_nanos(secs * NANOS_PER_SEC + shown)
    }
}

/// A clock that is put by `by` at `at`: forward, or back where `by` is negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockStep {
    /// When, by the driver's clock.
    pub at: Time,
    /// By how much.
    pub by: TimeDelta,
}

/// The steps of a clock, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClockSteps {
    steps: Vec<ClockStep>,
    /// The clock's lead at first, so that no step takes it below zero.
    first: TimeDelta,
}

/// Written as pairs of when and by how much: `[["10s", "200ms"], ["20s", "-3s"]]`.
impl Parameter for ClockSteps {
    const KIND: Kind = Kind::Other("list of [time, time]");

    fn to_value(&self) -> Option<Value> {
        let pair = |step: &ClockStep| {
            let at = format_time(step.at - Time::ZERO);
            Value::List([at, ClockSteps::format(step.by)].map(Value::Text).to_vec())
        };
        (!self.steps.is_empty()).then(|| Value::List(self.steps.iter().map(pair).collect()))
    }

    fn from_value(value: Value) -> Option<ClockSteps> {
        let Value::List(pairs) = value else { return None };
        let step = |pair: Value| match pair {
            Value::List(pair) => match &pair[..] {
                [Value::Text(at), Value::Text(by)] => {
                    let at = Time::from_nanos(Dimension::Time.parse(at).ok()?);
                    Some(ClockStep { at, by: ClockSteps::parse(by)? })
                }
                _ => None,
            },
            _ => None,
        };
        ClockSteps::new(pairs.into_iter().map(step).collect::<Option<_>>()?)
    }
}

impl ClockSteps {
    /// How many steps a clock can have.
    pub const MOST: usize = 1000;
    /// By how much a clock can be put at once.
    pub const SPANS: RangeInclusive<TimeDelta> =
        TimeDelta::from_secs(-1_000_000)..=TimeDelta::from_secs(1_000_000);

    /// The steps of a clock; absent if they are not in order, too many, or too large.
    pub fn new(steps: Vec<ClockStep>) -> Option<ClockSteps> {
        let fits = |step: &ClockStep| Self::SPANS.contains(&step.by);
        let ordered = steps.windows(2).all(|pair| pair[0].at < pair[1].at);
        if steps.len() > Self::MOST || !ordered || !steps.iter().all(fits) {
            return None;
        }
        let (mut ahead, mut least) = (TimeDelta::ZERO, TimeDelta::ZERO);
        for step in &steps {
            ahead += step.by;
            least = least.min(ahead);
        }
        // In whole seconds, so that the clock ticks at the same moments as one that is not put.
        let seconds = least.as_nanos().unsigned_abs().div_ceil(NANOS_PER_SEC);
        Some(ClockSteps { steps, first: TimeDelta::from_secs(seconds as i64) })
    }

    /// Whether the clock is never put.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// By how much the clock is ahead at `now`.
    pub fn ahead(&self, now: Time) -> TimeDelta {
        let passed = self.steps.iter().take_while(|step| step.at <= now);
        passed.fold(self.first, |ahead, step| ahead + step.by)
    }

    /// A span of time that may be negative, such as "-200ms".
    pub fn parse(text: &str) -> Option<TimeDelta> {
        let (back, span) = text.trim().strip_prefix('-').map_or((false, text), |span| (true, span));
        let span = TimeDelta::from_nanos(i64::try_from(Dimension::Time.parse(span).ok()?).ok()?);
        Some(if back { -span } else { span })
    }

    fn format(span: TimeDelta) -> String {
        if span.is_negative() { format!("-{}", format_time(-span)) } else { format_time(span) }
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

    proptest! {
        #[test]
        fn the_common_clock_reads_as_any_other(now in (0u64..1 << 62).prop_union(0u64..10_000_000_000)) {
            let (secs, rest) = (now / NANOS_PER_SEC, now % NANOS_PER_SEC);
            let shown = secs * NANOS_PER_SEC + rest * 1024 / NANOS_PER_SEC * NANOS_PER_SEC / 1024;
            prop_assert_eq!(ReceiverClock::RFC8888.read(Time::from_nanos(now)), Time::from_nanos(shown));
        }
    }

    #[test]
    fn a_clock_is_put_forward_and_back_and_never_below_zero() {
        let seconds = |seconds: f64| TimeDelta::from_secs_f64(seconds);
        let step = |at: f64, by: f64| ClockStep { at: Time::from_secs_f64(at), by: seconds(by) };
        let steps = ClockSteps::new(vec![step(1.0, 0.2), step(2.0, -3.0), step(3.0, 1.0)]).expect("in order");
        for (at, ahead) in [(0.0, 3.0), (0.999, 3.0), (1.0, 3.2), (2.0, 0.2), (9.0, 1.2)] {
            assert_eq!(steps.ahead(Time::from_secs_f64(at)), seconds(ahead), "at {at} s");
        }
        let written = steps.to_value().expect("a value");
        assert_eq!(written.to_string(), "[[1s, 200ms], [2s, -3s], [3s, 1s]]");
        assert_eq!(ClockSteps::from_value(written), Some(steps));
        assert_eq!(ClockSteps::default().to_value(), None);
        for wrong in [
            vec![step(2.0, 1.0), step(1.0, 1.0)],
            vec![step(1.0, 1.0), step(1.0, 1.0)],
            vec![step(1.0, 2e6)],
            vec![step(1.0, -2e6)],
            (0..1001).map(|at| step(f64::from(at), 1.0)).collect(),
        ] {
            assert_eq!(ClockSteps::new(wrong), None);
        }
        for text in ["", "-", "--1s", "1", "- 1s x", "1e30s"] {
            assert_eq!(ClockSteps::parse(text), None, "{text}");
        }
    }
}
