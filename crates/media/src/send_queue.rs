//! The send queue of one stream: frames wait here, and packets are cut when the sender may send.
//!
//! Lives in the sender endpoint, which executes a controller's discard on it. A frame of B bytes of payload becomes
//! ceil(B / `max_payload`) packets, all full but the last. Only frames are stored: the head frame is held apart, so that
//! asking for the next size and cutting a packet are a few additions. A packet that is ready-made waits as it is.

use crate::Frame;
use alloc::collections::VecDeque;
use paceline_units::{Bytes, Time, TimeDelta};

/// A packet cut from the head of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuedPacket {
    /// The frame it belongs to.
    pub frame: u64,
    /// When that frame was captured.
    pub captured: Time,
    /// When that frame was pushed.
    pub queued: Time,
    /// Size without the header.
    pub payload: Bytes,
    /// Whether it is the frame's first packet.
    pub first: bool,
    /// Whether it is the frame's last packet.
    pub marker: bool,
    /// Whether the frame is a key frame.
    pub key: bool,
}

/// Packets that were thrown away. A frame already sent in part does not count as a frame: at the receiver it is incomplete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use]
pub struct Discarded {
    /// Frames of which no packet had been sent.
    pub frames: u64,
    /// Packets they would have become.
    pub packets: u64,
    /// Bytes of those packets, headers in.
    pub bytes: Bytes,
}

#[derive(Clone, Copy, Debug)]
struct WaitingFrame {
    id: u64,
    captured: Time,
    queued: Time,
    /// Payload still to send.
    left: u64,
    key: bool,
    /// Whether its next packet is the frame's first.
    first: bool,
    /// Whether its last packet is the frame's last; not of a ready-made packet that others of its frame follow.
    ends: bool,
}

const NO_FRAME: WaitingFrame = WaitingFrame {
    id: 0,
    captured: Time::ZERO,
    queued: Time::ZERO,
    left: 0,
    key: false,
    first: true,
    ends: true,
};

/// Frames of one stream that wait to be sent.
#[derive(Clone, Debug)]
pub struct SendQueue {
    max_payload: u64,
    header: u64,
    /// The oldest frame; nothing left in it means that the queue is empty.
    head: WaitingFrame,
    behind: VecDeque<WaitingFrame>,
    payload: u64,
    packets: u64,
    /// Bytes of the newest frame when it was pushed, headers in.
    newest: u64,
    /// Whether the newest frame is one of ready-made packets of which more may come.
    open: Option<u64>,
}

impl SendQueue {
    /// Largest payload of a frame; what is beyond is cut off, so that sums stay exact.
    pub const MAX_FRAME: Bytes = Bytes::new(u32::MAX as u64);
    const MAX_PACKET: u64 = u16::MAX as u64;

    /// A queue that cuts packets of at most `max_payload` (1 to 65,535 B) and counts `header` (up to 65,535 B) on each.
    pub fn new(max_payload: Bytes, header: Bytes) -> SendQueue {
        SendQueue {
            max_payload: max_payload.as_u64().clamp(1, Self::MAX_PACKET),
            header: header.as_u64().min(Self::MAX_PACKET),
            head: NO_FRAME,
            behind: VecDeque::with_capacity(16),
            payload: 0,
            packets: 0,
            newest: 0,
            open: None,
        }
    }

    /// Puts a frame at the end. An empty one is not queued.
    pub fn push(&mut self, now: Time, frame: &Frame) {
        let left = frame.payload.min(Self::MAX_FRAME).as_u64();
        if left == 0 {
            return;
        }
        let Frame { id, captured, key, .. } = *frame;
        let packets = left.div_ceil(self.max_payload);
        self.newest = left + packets * self.header;
        self.open = None;
        self.enqueue(WaitingFrame { id, captured, queued: now, left, key, first: true, ends: true }, packets);
    }

    /// Puts a packet that is ready-made at the end, `frame.payload` bytes without the header, the last of its frame if it
    /// `ends` it; others of the frame have the same `frame.id`. False, and nothing is queued, if the packet is empty or larger
    /// than a packet may be.
    pub fn push_packet(&mut self, now: Time, frame: &Frame, ends: bool) -> bool {
        let Frame { id, captured, key, .. } = *frame;
        let left = frame.payload.as_u64();
        if left == 0 || left > self.max_payload {
            return false;
        }
        let first = self.open != Some(id);
        self.newest = if first { 0 } else { self.newest.min(self.bytes().as_u64()) } + left + self.header;
        self.open = (!ends).then_some(id);
        self.enqueue(WaitingFrame { id, captured, queued: now, left, key, first, ends }, 1);
        true
    }

    fn enqueue(&mut self, waiting: WaitingFrame, packets: u64) {
        self.payload += waiting.left;
        self.packets += packets;
        if self.head.left == 0 {
            self.head = waiting;
        } else {
            self.behind.push_back(waiting);
        }
    }

    /// Size on the link, header in, of the packet that [`SendQueue::pop`] would give.
    #[inline]
    pub fn next_size(&self) -> Option<Bytes> {
        if self.head.left == 0 {
            return None;
        }
        Some(Bytes::new(self.head.left.min(self.max_payload) + self.header))
    }

    /// Cuts the next packet.
    #[inline]
    pub fn pop(&mut self, _now: Time) -> Option<QueuedPacket> {
        if self.head.left == 0 {
            return None;
        }
        let payload = self.head.left.min(self.max_payload);
        self.head.left -= payload;
        self.payload -= payload;
        self.packets -= 1;
        let WaitingFrame { id, captured, queued, key, first, left, ends } = self.head;
        let marker = left == 0 && ends;
        if left == 0 {
            self.head = self.behind.pop_front().unwrap_or(NO_FRAME);
        } else {
            self.head.first = false;
        }
        Some(QueuedPacket { frame: id, captured, queued, payload: Bytes::new(payload), first, marker, key })
    }

    /// How many packets [`SendQueue::pop`] gives that are full, and neither the first nor the last of their frame.
    #[inline]
    pub fn inner(&self) -> u64 {
        if self.head.first { 0 } else { self.head.left.saturating_sub(1) / self.max_payload }
    }

    /// Cuts as many of the packets that [`SendQueue::inner`] counts, one at least: answers the first.
    #[inline]
    pub fn pop_inner(&mut self, now: Time, count: u64) -> Option<QueuedPacket> {
        let others = count.min(self.inner()).checked_sub(1)?;
        self.head.left -= others * self.max_payload;
        self.payload -= others * self.max_payload;
        self.packets -= others;
        self.pop(now)
    }

    /// Whether no packet waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.left == 0
    }

    /// Bytes of all packets still to send, headers in.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.payload + self.packets * self.header)
    }

    /// Payload still to send.
    #[inline]
    pub fn payload(&self) -> Bytes {
        Bytes::new(self.payload)
    }

    /// Packets still to send.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// When the oldest waiting frame was pushed.
    #[inline]
    pub fn oldest(&self) -> Option<Time> {
        (self.head.left != 0).then_some(self.head.queued)
    }

    /// How long the oldest waiting frame has waited; zero when the queue is empty.
    #[inline]
    pub fn age(&self, now: Time) -> TimeDelta {
        self.oldest().map_or(TimeDelta::ZERO, |queued| now.saturating_since(queued))
    }

    /// Bytes still to send of the newest frame, headers in; none when the queue is empty.
    #[inline]
    pub fn newest_frame(&self) -> Bytes {
        // Once some of it has left, it is all that waits.
        self.bytes().min(Bytes::new(self.newest))
    }

    /// Throws away the frames that have waited longer than `age`.
    pub fn discard_older_than(&mut self, now: Time, age: TimeDelta) -> Discarded {
        let mut discarded = Discarded::default();
        while self.head.left != 0 && now.saturating_since(self.head.queued) > age {
            let packets = self.head.left.div_ceil(self.max_payload);
            self.payload -= self.head.left;
            self.packets -= packets;
            discarded.frames += u64::from(self.head.first);
            discarded.packets += packets;
            discarded.bytes += Bytes::new(self.head.left + packets * self.header);
            self.head = self.behind.pop_front().unwrap_or(NO_FRAME);
        }
        discarded
    }

    /// Throws away everything.
    pub fn discard_all(&mut self) -> Discarded {
        let behind = self.behind.iter().filter(|waiting| waiting.first).count() as u64;
        let frames = u64::from(self.head.left != 0 && self.head.first) + behind;
        let discarded = Discarded { frames, packets: self.packets, bytes: self.bytes() };
        self.behind.clear();
        (self.head, self.payload, self.packets) = (NO_FRAME, 0, 0);
        discarded
    }
}

#[cfg(test)]
#[path = "send_queue_tests.rs"]
mod tests;
