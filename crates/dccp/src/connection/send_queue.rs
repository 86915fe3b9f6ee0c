//! Datagrams that wait to be sent: those of bulk data are many and equal, and are kept as one.

use paceline_units::Time;
use paceline_wire::dccp::Payload;
use std::collections::VecDeque;

/// Equal datagrams in a row.
#[derive(Clone, Debug)]
pub(super) struct Queued {
    pub(super) payload: Payload,
    /// When they began to wait.
    pub(super) since: Time,
    /// How many there are, one at least.
    pub(super) count: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SendQueue {
    rows: VecDeque<Queued>,
    /// Number of datagrams.
    len: usize,
}

impl SendQueue {
    /// Number of datagrams that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The row of the datagram that leaves next.
    #[inline]
    pub(super) fn front(&self) -> Option<&Queued> {
        self.rows.front()
    }

    /// The same, to number it.
    #[inline]
    pub(super) fn front_mut(&mut self) -> Option<&mut Queued> {
        self.rows.front_mut()
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Queued> {
        self.rows.iter()
    }

    pub(super) fn push(&mut self, row: Queued) {
        self.len += row.count;
        self.rows.push_back(row);
    }

    /// Takes the datagram out that leaves next: its payload, and since when it waits.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(Payload, Time)> {
        let row = self.rows.front_mut()?;
        self.len -= 1;
        if row.count > 1 {
            row.count -= 1;
            return Some((row.payload.clone(), row.since));
        }
        self.rows.pop_front().map(|row| (row.payload, row.since))
    }

    /// Keeps the rows of which `worth` says so.
    pub(super) fn retain(&mut self, worth: impl FnMut(&Queued) -> bool) {
        self.rows.retain(worth);
        self.len = self.rows.iter().map(|row| row.count).sum();
    }
}
