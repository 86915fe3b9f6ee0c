//! The step of the simplest L4S queue: all above a threshold.

use crate::schedule::nanos;
use paceline_units::{Ecn, TimeDelta, params};

params! {
    /// The parameters of the step.
    pub struct StepConfig {
        at: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "Wait above which every ECT(1) packet is marked";
    }
}

/// Marks ECT(1) packets that waited more than `at` nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    at: u64,
}

impl Step {
    pub(super) fn new(config: &StepConfig) -> Step {
        Step { at: nanos(config.at) }
    }

    #[inline]
    pub(super) fn decide(&mut self, _departs: u64, wait: u64, ecn: Ecn) -> bool {
        wait > self.at && ecn == Ecn::Ect1
    }
}
