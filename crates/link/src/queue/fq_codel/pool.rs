//! Memory that all queues share: once it has held the most packets that ever wait, nothing is allocated any more.

use crate::queue::packet_queue::Queued;
use alloc::vec::Vec;

const NONE: usize = usize::MAX;

/// The packets of one queue, first in, first out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: usize,
    last: usize,
    len: u64,
    bytes: u64,
}

impl Chain {
    pub(super) fn new() -> Chain {
        Chain { first: NONE, last: NONE, len: 0, bytes: 0 }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[derive(Clone, Debug)]
struct Slot<P> {
    queued: Option<Queued<P>>,
    /// In its chain, or among the free ones.
    next: usize,
}

/// The packets of all queues.
#[derive(Clone, Debug)]
pub(super) struct Pool<P> {
    slots: Vec<Slot<P>>,
    free: usize,
}

impl<P> Pool<P> {
    pub(super) fn new() -> Pool<P> {
        Pool { slots: Vec::with_capacity(64), free: NONE }
    }

    #[inline]
    pub(super) fn push(&mut self, chain: &mut Chain, queued: Queued<P>) {
        chain.len += 1;
        chain.bytes += queued.size;
        let slot = Slot { queued: Some(queued), next: NONE };
        let at = match self.slots.get_mut(self.free) {
            Some(free) => {
                let at = core::mem::replace(&mut self.free, free.next);
                *free = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        match self.slots.get_mut(chain.last) {
            Some(last) => last.next = at,
            None => chain.first = at,
        }
        chain.last = at;
    }

    #[inline]
    pub(super) fn pop(&mut self, chain: &mut Chain) -> Option<Queued<P>> {
        let at = chain.first;
        let slot = self.slots.get_mut(at)?;
        let queued = slot.queued.take()?;
        chain.first = core::mem::replace(&mut slot.next, self.free);
        self.free = at;
        if chain.first == NONE {
            chain.last = NONE;
        }
        chain.len -= 1;
        chain.bytes -= queued.size;
        Some(queued)
    }
}
