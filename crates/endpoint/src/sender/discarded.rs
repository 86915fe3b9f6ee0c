//! Packets that will not be sent, and why.

use crate::packet::MediaPacket;
use paceline_cc::StreamId;
use std::collections::VecDeque;

/// Most discarded packets that wait for the application to take them; of more, the oldest are only counted.
const MOST_UNTAKEN: usize = 16_384;

/// Why a packet is not sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DiscardReason {
    /// It waited for longer than the controller allows.
    TooOld,
    /// Its stream was removed, or was never there.
    Removed,
    /// As many packets waited as may.
    QueueFull,
    /// It is larger than the path takes.
    TooLarge,
    /// It has neither payload nor header extension.
    Empty,
    /// Its header extension has none of the forms of RFC 8285, so that no number can be put into it.
    Extension,
    /// The sender was stopped, or a circuit breaker ended the call.
    Stopped,
}

/// Packets that were discarded, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiscardCounters {
    /// Packets that waited for too long.
    pub too_old: u64,
    /// Packets whose stream was removed, or was never there.
    pub removed: u64,
    /// Packets for which there was no room.
    pub queue_full: u64,
    /// Packets larger than the path takes.
    pub too_large: u64,
    /// Packets without payload and header extension.
    pub empty: u64,
    /// Packets whose header extension takes no number.
    pub extension: u64,
    /// Packets that waited when the sender was stopped.
    pub stopped: u64,
    /// Discarded packets that the application did not take in time: counted above, and dropped.
    pub untaken: u64,
}

impl DiscardCounters {
    /// All of them.
    pub fn total(&self) -> u64 {
        let DiscardCounters {
            too_old,
            removed,
            queue_full,
            too_large,
            empty,
            extension,
            stopped,
            untaken: _,
        } = self;
        too_old + removed + queue_full + too_large + empty + extension + stopped
    }
}

/// A packet that will not be sent, handed back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiscardedPacket<P> {
    /// The stream that it was offered to.
    pub stream: StreamId,
    /// Number of the frame that the packet is part of.
    pub frame: u64,
    /// Where its payload begins in that of its frame, in bytes, as far as it was offered.
    pub offset: u64,
    /// Why it is not sent.
    pub reason: DiscardReason,
    /// The packet itself.
    pub packet: MediaPacket<P>,
}

/// Discarded packets that the application has not taken.
#[derive(Clone, Debug)]
pub(super) struct Discards<P> {
    waiting: VecDeque<DiscardedPacket<P>>,
    counters: DiscardCounters,
    /// Packets that the endpoint had discarded when it was asked last.
    known: u64,
}

impl<P> Default for Discards<P> {
    fn default() -> Discards<P> {
        Discards { waiting: VecDeque::new(), counters: DiscardCounters::default(), known: 0 }
    }
}

impl<P> Discards<P> {
    pub(super) fn counters(&self) -> DiscardCounters {
        self.counters
    }

    /// The endpoint has discarded `packets` so far. Whether some of them are new.
    #[inline]
    pub(super) fn follow(&mut self, packets: u64) -> bool {
        std::mem::replace(&mut self.known, packets) != packets
    }

    pub(super) fn push(
        &mut self,
        stream: StreamId,
        (packet, offset): (MediaPacket<P>, u64),
        reason: DiscardReason,
    ) {
        let counters = &mut self.counters;
        *match reason {
            DiscardReason::TooOld => &mut counters.too_old,
            DiscardReason::Removed => &mut counters.removed,
            DiscardReason::QueueFull => &mut counters.queue_full,
            DiscardReason::TooLarge => &mut counters.too_large,
            DiscardReason::Empty => &mut counters.empty,
            DiscardReason::Extension => &mut counters.extension,
            DiscardReason::Stopped => &mut counters.stopped,
        } += 1;
        if self.waiting.len() >= MOST_UNTAKEN {
            self.waiting.pop_front();
            counters.untaken += 1;
        }
        let frame = packet.frame;
        self.waiting.push_back(DiscardedPacket { stream, frame, offset, reason, packet });
    }

    pub(super) fn poll(&mut self) -> Option<DiscardedPacket<P>> {
        self.waiting.pop_front()
    }
}
