//! Means, and levels that hold until they change.

use paceline_units::{Time, TimeDelta};

/// `numerator` over `denominator`, if that exists.
pub(crate) fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator).filter(|ratio| ratio.is_finite())
}

/// `bytes` over `seconds` in Mbit/s.
pub(crate) fn per_time(bytes: u64, seconds: f64) -> Option<f64> {
    ratio(bytes as f64 * 8.0 / 1e6, seconds)
}

/// A sum and a count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    nanos: i128,
    count: u64,
}

impl Mean {
    pub(super) fn add(&mut self, span: TimeDelta) {
        self.nanos += i128::from(span.as_nanos());
        self.count += 1;
    }

    pub(crate) fn millis(self) -> Option<f64> {
        ratio(self.nanos as f64 / 1e6, self.count as f64)
    }
}

/// A value that holds until it changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level<T> {
    value: Option<T>,
    since: Time,
}

impl<T: Copy + PartialEq> Level<T> {
    pub(super) const UNKNOWN: Level<T> = Level { value: None, since: Time::ZERO };

    /// Whether the value is this.
    #[inline(always)]
    pub(super) fn is(&self, value: Option<T>) -> bool {
        self.value == value
    }

    /// Takes a new value; answers the old one and when it began if it is over.
    #[inline]
    pub(super) fn change(&mut self, now: Time, value: Option<T>) -> Option<(T, Time)> {
        if self.value == value {
            return None;
        }
        let before = std::mem::replace(self, Level { value, since: now });
        before.value.map(|old| (old, before.since))
    }
}
