//! Datagrams that wait to be sent: those of bulk data are many and equal, and are kept as one.

use paceline_units::{Bytes, Time};
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
    /// Bytes of all of them, headers in.
    bytes: Bytes,
    /// Bytes that congestion control was told of last, headers in: the newest frame.
    offered: Bytes,
}

impl SendQueue {
    /// Number of datagrams that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that wait, headers in.
    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Bytes that wait of the newest frame, headers in.
    pub(super) fn newest_frame(&self) -> Bytes {
        self.offered.min(self.bytes)
    }

    /// Congestion control hears of a frame of `bytes`, headers in.
    pub(super) fn note_offered(&mut self, bytes: Bytes) {
        self.offered = bytes;
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

    /// Datagrams have a header of this size from now on.
    pub(super) fn count(&mut self, header: Bytes) {
        let row = |row: &Queued| (header.as_u64() + row.payload.len() as u64) * row.count as u64;
        self.bytes = Bytes::new(self.rows.iter().map(row).sum());
    }

    /// Puts datagrams of so many `bytes` at the end, headers in.
    pub(super) fn push(&mut self, row: Queued, bytes: Bytes) {
        self.len += row.count;
        self.bytes += bytes;
        self.rows.push_back(row);
    }

    /// Takes the datagram out that leaves next, `size` bytes with its header: its payload, and since when it waits.
    #[inline(always)]
    pub(super) fn pop(&mut self, size: Bytes) -> Option<(Payload, Time)> {
        let row = self.rows.front_mut()?;
        self.len -= 1;
        self.bytes -= size;
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
