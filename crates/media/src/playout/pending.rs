//! Frames that are being put together, in the order of capture.

use super::window::SequenceWindow;
use super::{ArrivedPacket, FrameDelayParts};
use alloc::collections::VecDeque;
use paceline_units::{Bytes, Time, TimeDelta};

/// When a frame became complete and when it is to be shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Complete {
    pub at: Time,
    pub due: Time,
}

/// A frame of which at least one packet has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingFrame {
    pub captured: Time,
    pub bytes: Bytes,
    pub complete: Option<Complete>,
    /// Whether it is a key frame, where the wire says so.
    pub key: Option<bool>,
    /// Packets that arrived, those of them that did by the playout time, and the lowest and highest of their sequence
    /// numbers.
    pub received: u64,
    pub in_time: u64,
    pub low: u64,
    pub high: u64,
    /// The word of packet `low` on being the first.
    low_is_first: Option<bool>,
    /// Sequence number of the marker.
    end: Option<u64>,
    /// The playout time, where it is known before the frame is complete; else it never comes.
    deadline: Time,
    /// Of the packet that arrived last.
    arrived: Time,
    sent: Option<Time>,
    wait: Option<TimeDelta>,
}

impl PendingFrame {
    fn new(now: Time, packet: &ArrivedPacket, deadline: Time) -> PendingFrame {
        PendingFrame {
            captured: packet.captured,
            bytes: packet.payload,
            complete: None,
            key: packet.key,
            received: 1,
            in_time: u64::from(now <= deadline),
            low: packet.sequence,
            high: packet.sequence,
            low_is_first: packet.first,
            end: packet.marker.then_some(packet.sequence),
            deadline,
            arrived: now,
            sent: packet.sent,
            wait: packet.wait,
        }
    }

    fn add(&mut self, now: Time, packet: &ArrivedPacket) {
        if packet.sequence < self.low {
            self.low = packet.sequence;
            self.low_is_first = packet.first;
        }
        if packet.marker {
            self.end = Some(packet.sequence);
        }
        let high = self.high.max(packet.sequence);
        self.extend(now, packet);
        self.high = high;
    }

    /// Adds a packet that is behind all others of the frame, and not its last.
    #[inline]
    fn extend(&mut self, now: Time, packet: &ArrivedPacket) {
        self.bytes += packet.payload;
        self.received += 1;
        self.in_time += u64::from(now <= self.deadline);
        self.high = packet.sequence;
        self.arrived = now;
        self.sent = packet.sent;
        self.wait = packet.wait;
    }

    /// Whether every packet from the lowest to the marker has arrived.
    fn has_no_gap(&self) -> bool {
        self.end.is_some_and(|end| self.received - 1 == end - self.low)
    }

    /// Whether its first packet is known not to have arrived.
    pub(super) fn lacks_first(&self) -> bool {
        self.low_is_first == Some(false)
    }

    /// Whether its last packet has arrived.
    pub(super) fn has_end(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn delay_parts(&self, displayed: Time) -> FrameDelayParts {
        let travel = self.arrived - self.sent.unwrap_or(self.captured);
        FrameDelayParts {
            send_queue: self.sent.map(|sent| sent - self.captured),
            link_queue: self.wait,
            path: travel - self.wait.unwrap_or(TimeDelta::ZERO),
            dejitter: displayed - self.arrived,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct PendingFrames {
    frames: VecDeque<PendingFrame>,
    /// Time from a frame's capture to its display, where it is fixed.
    delay: Option<TimeDelta>,
}

impl PendingFrames {
    pub(super) fn new(delay: Option<TimeDelta>) -> PendingFrames {
        PendingFrames { frames: VecDeque::with_capacity(8), delay }
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PendingFrame> {
        self.frames.iter()
    }

    /// Adds a packet to the newest frame if it belongs there; it is behind all that came before, and not its frame's last.
    #[inline]
    pub(super) fn extend_newest(&mut self, now: Time, packet: &ArrivedPacket) -> bool {
        match self.frames.back_mut() {
            Some(newest) if newest.captured == packet.captured => {
                newest.extend(now, packet);
                true
            }
            _ => false,
        }
    }

    /// Adds a packet to its frame, wherever that is; answers the frame's place.
    pub(super) fn add(&mut self, now: Time, packet: &ArrivedPacket) -> usize {
        let index = self.frames.partition_point(|frame| frame.captured < packet.captured);
        match self.frames.get_mut(index) {
            Some(frame) if frame.captured == packet.captured => frame.add(now, packet),
            _ => {
                let deadline = self.delay.map_or(Time::MAX, |delay| packet.captured + delay);
                self.frames.insert(index, PendingFrame::new(now, packet, deadline));
            }
        }
        index
    }

    /// The capture time of frame `index` if it is complete and nobody knows yet.
    pub(super) fn newly_complete(&self, index: usize, window: &SequenceWindow) -> Option<Time> {
        let frame = self.frames.get(index)?;
        let newly = frame.complete.is_none() && frame.has_no_gap() && self.knows_start(index, frame, window);
        newly.then_some(frame.captured)
    }

    fn knows_start(&self, index: usize, frame: &PendingFrame, window: &SequenceWindow) -> bool {
        if let Some(is_first) = frame.low_is_first {
            return is_first;
        }
        if window.is_first(frame.low)
            || frame.low.checked_sub(1).is_some_and(|before| window.contains(before))
        {
            return true;
        }
        let before = index.checked_sub(1).and_then(|before| self.frames.get(before));
        before.is_some_and(|before| before.end.is_none() && before.high.checked_add(2) == Some(frame.low))
    }

    pub(super) fn set_complete(&mut self, index: usize, at: Time, due: Time) {
        if let Some(frame) = self.frames.get_mut(index) {
            frame.complete = Some(Complete { at, due });
        }
    }

    /// Place and playout time of the oldest complete frame.
    pub(super) fn first_complete(&self) -> Option<(usize, Time)> {
        let mut complete = self.frames.iter().map(|frame| frame.complete).enumerate();
        complete.find_map(|(index, complete)| complete.map(|complete| (index, complete.due)))
    }

    pub(super) fn take_oldest(&mut self) -> Option<PendingFrame> {
        self.frames.pop_front()
    }
}
