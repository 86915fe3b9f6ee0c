//! The average of how many packets arrive marked (section 2.3.2).

use super::Params;
use crate::window::Ack;

/// Alpha, and what of the present round it will be moved by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alpha {
    g: f64,
    pub value: f64,
    /// Whether nothing counts before the first mark.
    waits: bool,
    acked: u64,
    marked: u64,
}

impl Alpha {
    pub fn new(params: &Params) -> Alpha {
        Alpha { g: params.g, value: params.alpha_start, waits: params.alpha_waits, acked: 0, marked: 0 }
    }

    pub fn count(&mut self, ack: &Ack) {
        self.acked = self.acked.saturating_add(ack.delivered);
        self.marked = self.marked.saturating_add(ack.marked);
        self.waits &= ack.marked == 0;
    }

    /// Whether marks are still to come.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// A round is over.
    pub fn update(&mut self) {
        if !self.waits && self.acked > 0 {
            self.value += self.g * (self.marked as f64 / self.acked as f64 - self.value);
        }
        (self.acked, self.marked) = (0, 0);
    }
}
