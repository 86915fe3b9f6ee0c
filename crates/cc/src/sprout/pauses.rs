//! Times when the application had nothing more to send.

use alloc::collections::VecDeque;
use paceline_units::Time;

/// Pauses that are remembered: beyond, the oldest are forgotten.
const MOST: usize = 1024;

/// When packets left behind which nothing waited, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Pauses(VecDeque<Time>);

impl Pauses {
    pub(super) fn new() -> Pauses {
        Pauses(VecDeque::with_capacity(MOST))
    }

    /// A packet left, and nothing waits behind it.
    pub(super) fn on_nothing_left(&mut self, now: Time) {
        if self.0.back().is_some_and(|last| *last >= now) {
            return;
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(now);
    }

    /// Whether nothing waited at a time between two packets that left then.
    pub(super) fn any_between(&self, earlier: Time, later: Time) -> bool {
        let first = self.0.partition_point(|pause| *pause < earlier);
        self.0.get(first).is_some_and(|pause| *pause < later)
    }
}
