//! Files that a flow sends whole, and how long each takes.

use super::Window;
use crate::histogram::Histogram;
use crate::summary::{Distribution, TransferSummary};
use paceline_transport::{SendingEnd, Transfer, TransferCounters};

/// What is seen of transfers at the sender. One that ends in the window counts, wherever it began.
#[derive(Clone, Debug)]
pub(super) struct TransferRecord {
    window: Window,
    bytes: u64,
    completion_time: Histogram,
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

    /// Absent of flows without transfers.
    pub(super) fn summary(&self) -> Option<TransferSummary> {
        let end = self.at_end?;
        // A window that ends before it begins holds nothing.
        let begin = self.at_begin.unwrap_or(end);
        Some(TransferSummary {
            begun: end.begun.saturating_sub(begin.begun),
            completed: self.completion_time.count(),
            bytes: self.bytes,
            completion_time_ms: Distribution::from(&self.completion_time),
        })
    }
}
