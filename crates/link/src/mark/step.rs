//! The step of the simplest L4S queue: all above a threshold.

use paceline_units::Ecn;

/// Marks ECT(1) packets that waited more than `at` nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    at: u64,
}

impl Step {
    pub(crate) fn new(at: u64) -> Step {
        Step { at }
    }

    #[inline]
    pub(crate) fn decide(&self, wait: u64, ecn: Ecn) -> bool {
        wait > self.at && ecn == Ecn::Ect1
    }
}
