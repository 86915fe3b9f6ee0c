//! How often something may happen: a token bucket (the virtual scheduling algorithm of ITU-T I.371).

use paceline_units::{Time, TimeDelta};

/// A bucket that is full when nothing has happened for a while.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// When the bucket is full again.
    full_at: Time,
}

impl Pace {
    /// Something happens that may happen each `interval`.
    pub fn take(&mut self, now: Time, interval: TimeDelta) {
        self.full_at = self.full_at.max(now) + interval;
    }

    /// From when on it may happen, in a row `burst` times.
    pub fn next(&self, interval: TimeDelta, burst: i64) -> Time {
        self.full_at - interval * (burst - 1)
    }

    /// Whether it may happen now.
    pub fn allows(&self, now: Time, interval: TimeDelta, burst: i64) -> bool {
        self.next(interval, burst) <= now
    }
}
