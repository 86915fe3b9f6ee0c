//! A classic ECN queue in one rule: a standing queue is marked, a burst is not.

use paceline_units::Ecn;

/// Marks once the wait has been above `at` for `lasting` nanoseconds without a break.
#[derive(Clone, Debug)]
pub(crate) struct Classic {
    at: u64,
    lasting: u64,
    /// Departure of the first packet of the present unbroken run above `at`.
    above_since: Option<u64>,
}

impl Classic {
    pub(crate) fn new(at: u64, lasting: u64) -> Classic {
        Classic { at, lasting, above_since: None }
    }

    #[inline]
    pub(crate) fn decide(&mut self, departs: u64, wait: u64, ecn: Ecn) -> bool {
        if wait <= self.at {
            self.above_since = None;
            return false;
        }
        let since = *self.above_since.get_or_insert(departs);
        departs - since >= self.lasting && matches!(ecn, Ecn::Ect0 | Ecn::Ect1)
    }
}
