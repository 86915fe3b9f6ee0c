//! Counts of departures, some of which lie ahead: drop-tail tells of them before they happen.

use alloc::collections::VecDeque;

/// Departures of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    happened: u64,
    /// When those depart that were not counted yet, in nanoseconds.
    ahead: VecDeque<u64>,
}

impl Tally {
    /// One more departs at `departs`; in order.
    pub(crate) fn note(&mut self, departs: u64) {
        self.ahead.push_back(departs);
    }

    /// How many departed up to and including `now`.
    pub(crate) fn until(&mut self, now: u64) -> u64 {
        while self.ahead.front().is_some_and(|departs| *departs <= now) {
            self.ahead.pop_front();
            self.happened += 1;
        }
        self.happened
    }
}
