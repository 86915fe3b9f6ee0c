//! A flow's share in its group.

use crate::figure::Facts;
use crate::table::CouplingSummary;
use paceline_ends::{Coupled, CoupledShare};

/// The record of a flow that may share with others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CouplingRecord {
    /// As it was told last; none of a flow that is alone.
    now: Option<Coupled>,
    /// When the window began and ended; none before that.
    at_begin: Option<Coupled>,
    at_end: Option<Coupled>,
}

impl CouplingRecord {
    pub(super) fn observe(&mut self, now: Coupled) {
        self.now = Some(now);
    }

    pub(super) fn begin(&mut self) {
        self.at_begin = self.now;
    }

    pub(super) fn end(&mut self) {
        self.at_end = self.now;
    }

    /// The quantity that it shares by now.
    pub(super) fn share(&self) -> Option<CoupledShare> {
        self.now.and_then(|coupled| coupled.share)
    }

    /// Its group while it shares, counted from 0.
    pub(super) fn group(&self) -> Option<usize> {
        self.now.filter(|coupled| coupled.share.is_some()).map(|coupled| coupled.group)
    }

    /// How often something happened in the window; never if it ends before it begins.
    pub(crate) fn counted(&self, count: fn(&Coupled) -> u64) -> u64 {
        let of = |coupled: Option<Coupled>| coupled.as_ref().map_or(0, count);
        of(self.at_end).saturating_sub(of(self.at_begin.or(self.at_end)))
    }

    /// Absent of flows that are alone.
    pub(crate) fn summary(&self) -> Option<CouplingSummary> {
        self.at_end.map(|_| CouplingSummary::of(self, Facts::SENDER))
    }
}
