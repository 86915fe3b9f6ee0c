//! Media that enters the send queues of the sender endpoint: from its sources, and from programs that have their own encoder.
//! It leaves them unsent in `stale`, and where the controller says so in `controlled`.

use super::sender::RtpSender;
use super::streams::Streams;
use paceline_cc::{Controller, Offered, StreamId};
use paceline_media::{Discarded, Frame};
use paceline_units::{Bytes, Time};

/// When media enters the send queues of one flow, and how much of it was discarded.
#[derive(Clone, Debug)]
pub(super) struct Offering {
    /// When the next frame of any stream is captured; `Time::MAX` if none is.
    next_capture: Time,
    frames: u64,
    discarded: Discarded,
}

impl Offering {
    /// Nothing has entered.
    pub(super) fn new() -> Offering {
        Offering { next_capture: Time::MAX, frames: 0, discarded: Discarded::default() }
    }

    /// When the next frame of any stream is captured; `Time::MAX` if none is.
    #[inline]
    pub(super) fn next_capture(&self) -> Time {
        self.next_capture
    }

    /// Sources began, ended or captured.
    pub(super) fn find_next_capture(&mut self, streams: &Streams) {
        self.next_capture = streams.next_capture();
    }

    /// Frames that entered the send queues.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Packets discarded from the send queues.
    #[inline]
    pub(super) fn discarded(&self) -> Discarded {
        self.discarded
    }

    pub(super) fn count_discarded(&mut self, dropped: &Discarded) {
        self.discarded.frames += dropped.frames;
        self.discarded.packets += dropped.packets;
        self.discarded.bytes += dropped.bytes;
    }
}

impl<C: Controller> RtpSender<C> {
    /// Captures the frames that are due.
    pub(super) fn capture(&mut self, now: Time) {
        for id in 0..self.streams.len() {
            while let Some(frame) = self.streams[id].capture(now) {
                self.push_frame(now, id, &frame);
            }
        }
        self.offering.find_next_capture(&self.streams);
    }

    /// Puts a frame from outside into the send queue of `stream`, for programs that have their own encoder.
    pub fn offer_frame(&mut self, now: Time, stream: StreamId, frame: &Frame) {
        if usize::from(stream.0) < self.streams.len() && self.broken().is_none() {
            self.push_frame(now, usize::from(stream.0), frame);
        }
    }

    fn push_frame(&mut self, now: Time, id: usize, frame: &Frame) {
        let stream = &mut self.streams[id];
        let before = stream.queue().bytes();
        stream.push_frame(now, frame);
        self.tell_offered(now, id, before, true);
    }

    /// Puts a ready-made packet into the send queue of a stream: `frame.payload` bytes behind the header, the last of its frame
    /// if it `ends` it. False, and nothing is queued, if it is empty or larger than a packet may be, or there is no such stream.
    pub fn offer_packet(&mut self, now: Time, stream: StreamId, frame: &Frame, ends: bool) -> bool {
        let id = usize::from(stream.0);
        let Some(stream) = self.streams.get_mut(id) else { return false };
        let before = stream.queue().bytes();
        let taken = stream.push_packet(now, frame, ends);
        if taken {
            self.tell_offered(now, id, before, ends);
        }
        taken
    }

    /// Something was put into a send queue in which `before` bytes waited.
    fn tell_offered(&mut self, now: Time, id: usize, before: Bytes, frame_end: bool) {
        let stream = &mut self.streams[id];
        let bytes = stream.queue().bytes() - before;
        if before == Bytes::ZERO {
            self.scheduler.on_waiting(stream);
            self.stale.on_waiting(now, stream);
        }
        let claim_changes = stream.note_offered(now, bytes, before);
        self.offering.frames += u64::from(frame_end);
        if let Some(breaker) = &mut self.breaker {
            breaker.on_offered(now);
        }
        let offered = Offered { stream: StreamId(id as u8), bytes, frame_end };
        let state = stream.queue_state(now, offered.stream);
        let update = self.controller.on_offered(now, &offered, &state);
        self.apply(now, update);
        if self.streams.len() > 1 && (claim_changes || frame_end && self.controller.media_drain().is_some()) {
            self.share_total(now);
        }
    }

    /// Keeps the queue of an endless source filled.
    #[inline]
    pub(super) fn refill(&mut self, now: Time, id: usize) {
        if self.streams[id].is_bulk() {
            self.fill(now, id);
        }
    }

    #[cold]
    fn fill(&mut self, now: Time, id: usize) {
        while let Some(frame) = self.streams[id].refill(now) {
            self.push_frame(now, id, &frame);
        }
    }

    pub(super) fn tell_queue(&mut self, now: Time, id: usize) {
        let state = self.streams[id].queue_state(now, StreamId(id as u8));
        let update = self.controller.on_send_queue(now, &state);
        self.apply(now, update);
    }
}
