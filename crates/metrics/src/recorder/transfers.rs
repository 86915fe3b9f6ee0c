//! Files that a flow sends whole, and how long each takes.

use super::Window;
use crate::figure::Facts;
use crate::histogram::Histogram;
use crate::table::TransferSummary;
use paceline_ends::{SendingEnd, Transfer, TransferCounters};

/// The sender's record of transfers. A transfer that ends in the window counts, wherever it began.
#[derive(Clone, Debug)]
pub(crate) struct TransferRecord {
    window: Window,
    pub(crate) bytes: u64,
    pub(crate) completion_time: Histogram,
    /// The counters when the window began and ended; none before that, and of flows without transfers.
    at_begin: Option<TransferCounters>,
    at_end: Option<TransferCounters>,
}

impl TransferRecord {
    pub(super) fn new(window: Window) -> TransferRecord {
        TransferRecord { window, bytes: 0, completion_time: Histogram::new(), at_begin: None, at_end: None }
    }

    pub(super) fn completed(&mut self, transfer: &Transfer) {
        if self.window.contains(transfer.completed) {
            self.bytes += transfer.size.as_u64();
            self.completion_time.record(transfer.completed - transfer.begun);
        }
    }

    pub(super) fn begin(&mut self, sender: &impl SendingEnd) {
        self.at_begin = sender.transfers();
    }

    pub(super) fn end(&mut self, sender: &impl SendingEnd) {
        self.at_end = sender.transfers();
    }

    /// Files whose connection began in the window; none if it ends before it begins.
    pub(crate) fn begun(&self) -> u64 {
        let begun = |counters: Option<TransferCounters>| counters.map_or(0, |counters| counters.begun);
        begun(self.at_end).saturating_sub(begun(self.at_begin.or(self.at_end)))
    }

    /// Absent of flows without transfers.
    pub(crate) fn summary(&self) -> Option<TransferSummary> {
        self.at_end.map(|_| TransferSummary::of(self, Facts::SENDER))
    }
}
