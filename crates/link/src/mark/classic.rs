//! A classic ECN queue in one rule: a standing queue is marked, a burst is not.

use crate::schedule::nanos;
use paceline_units::{Ecn, TimeDelta, params};

params! {
    /// The parameters of the classic rule.
    pub struct ClassicConfig {
        at: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "Wait above which the queue counts as standing";
        lasting("for"): TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "How long it must have been, from departure to departure, for ECT(0) and ECT(1) packets to be marked";
    }
}

/// Marks once the wait has been above `at` for `lasting` nanoseconds without a break.
#[derive(Clone, Debug)]
pub(crate) struct Classic {
    at: u64,
    lasting: u64,
    /// Departure of the first packet of the present unbroken run above `at`.
    above_since: Option<u64>,
}

impl Classic {
    pub(super) fn new(config: &ClassicConfig) -> Classic {
        Classic { at: nanos(config.at), lasting: nanos(config.lasting), above_since: None }
    }

    #[inline]
    pub(super) fn decide(&mut self, departs: u64, wait: u64, ecn: Ecn) -> bool {
        if wait <= self.at {
            self.above_since = None;
            return false;
        }
        let since = *self.above_since.get_or_insert(departs);
        departs - since >= self.lasting && matches!(ecn, Ecn::Ect0 | Ecn::Ect1)
    }
}
