//! Means, and levels that hold until they change.

use crate::summary::ratio;
use paceline_units::{Time, TimeDelta};

/// A sum and a count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    nanos: i128,
    count: u64,
}

impl Mean {
    pub(super) fn add(&mut self, span: TimeDelta) {
        self.nanos += i128::from(span.as_nanos());
        self.count += 1;
    }

    pub(super) fn millis(self) -> Option<f64> {
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
