//! Media that enters the send queues of the sender endpoint: from its sources, and from programs that have their own encoder.

use super::sender::RtpSender;
use super::stream::Stream;
use super::streams::Streams;
use paceline_cc::{Controller, Offered, StreamId};
use paceline_media::{Discarded, Frame};
use paceline_units::{Bytes, Time, TimeDelta};

/// When media enters the send queues of one flow, and when it has waited too long.
#[derive(Clone, Debug)]
pub(super) struct Offering {
    discard_age: TimeDelta,
    /// When something may have waited too long; `Time::MAX` if nothing waits.
    stale_at: Time,
    /// When a key frame was asked for in place of what had.
    key_frame_asked: Option<Time>,
    /// When the next frame of any stream is captured; `Time::MAX` if none is.
    next_capture: Time,
    frames: u64,
    discarded: Discarded,
}

impl Offering {
    /// Media that waits for `discard_age` at most, 1 ns at least.
    pub(super) fn new(discard_age: TimeDelta) -> Offering {
        Offering {
            discard_age: discard_age.max(TimeDelta::from_nanos(1)),
            stale_at: Time::MAX,
            key_frame_asked: None,
            next_capture: Time::MAX,
            frames: 0,
            discarded: Discarded::default(),
        }
    }

    /// When something may have waited too long; `Time::MAX` if nothing waits.
    #[inline]
    pub(super) fn stale_at(&self) -> Time {
        self.stale_at
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

    /// A stream of which nothing waited has packets again.
    fn on_waiting(&mut self, now: Time, stream: &Stream) {
        if !stream.is_bulk() {
            self.stale_at = self.stale_at.min(now + self.discard_age);
        }
    }

    /// Discards what has waited too long in a queue, and asks for a key frame in its place. Whether there was anything.
    fn discard_stale(&mut self, now: Time, stream: &mut Stream) -> bool {
        if stream.is_bulk() {
            return false;
        }
        // A packet exactly as old as the limit goes.
        let dropped = stream.discard(now, Some(self.discard_age - TimeDelta::from_nanos(1)));
        if let Some(oldest) = stream.queue().oldest() {
            self.stale_at = self.stale_at.min(oldest + self.discard_age);
        }
        if dropped.packets == 0 {
            return false;
        }
        self.count_discarded(&dropped);
        if self.key_frame_asked.is_none_or(|asked| now >= asked + self.discard_age) {
            self.key_frame_asked = Some(now);
            stream.request_key_frame(now);
        }
        true
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

    /// Puts a ready-made packet into the send queue of a stream that is there: `frame.payload` bytes behind the header, the
    /// last of its frame if it `ends` it. False, and nothing is queued, if it is empty or larger than a packet may be.
    pub(super) fn push_packet(&mut self, now: Time, id: usize, frame: &Frame, ends: bool) -> bool {
        let stream = &mut self.streams[id];
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
            self.offering.on_waiting(now, stream);
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
        if claim_changes && self.streams.len() > 1 {
            self.share_total(now);
        }
    }

    /// Discards what has waited too long, and asks for a key frame in its place: once in the time that is too long, since one that
    /// is larger than others would add to the queue.
    #[cold]
    pub(super) fn discard_stale(&mut self, now: Time) {
        self.offering.stale_at = Time::MAX;
        for id in 0..self.streams.len() {
            if self.offering.discard_stale(now, &mut self.streams[id]) {
                self.tell_queue(now, id);
            }
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
