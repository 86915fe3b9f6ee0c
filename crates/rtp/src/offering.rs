//! Media that enters the send queues of the sender endpoint: from its sources, and from programs that have their own encoder.

use super::sender::{RtpSender, Stream};
use paceline_cc::{Controller, Offered, SendQueueState, StreamId};
use paceline_media::{Frame, Source};
use paceline_units::{Bytes, Time, TimeDelta};

impl<C: Controller> RtpSender<C> {
    pub(super) fn find_next_capture(&mut self) {
        let captures = self.streams.iter().filter_map(|stream| stream.source.next_capture());
        self.next_capture = captures.min().unwrap_or(Time::MAX);
    }

    /// Captures the frames that are due.
    pub(super) fn capture(&mut self, now: Time) {
        for id in 0..self.streams.len() {
            while self.streams[id].source.next_capture().is_some_and(|due| due <= now) {
                let frame = self.streams[id].source.capture(now);
                self.push_frame(now, id, &frame);
            }
        }
        self.find_next_capture();
    }

    /// Puts a frame from outside into the send queue of `stream`, for programs that have their own encoder.
    pub fn offer_frame(&mut self, now: Time, stream: StreamId, frame: &Frame) {
        if usize::from(stream.0) < self.streams.len() && self.broken().is_none() {
            self.push_frame(now, usize::from(stream.0), frame);
        }
    }

    fn push_frame(&mut self, now: Time, id: usize, frame: &Frame) {
        let stream = &mut self.streams[id];
        let before = stream.queue.bytes();
        stream.queue.push(now, frame);
        stream.newest_frame = stream.queue.bytes() - before;
        self.tell_offered(now, id, before, true);
    }

    /// Puts a ready-made packet into the send queue of a stream that is there: `frame.payload` bytes behind the header, the
    /// last of its frame if it `ends` it. False, and nothing is queued, if it is empty or larger than a packet may be.
    pub(super) fn push_packet(&mut self, now: Time, id: usize, frame: &Frame, ends: bool) -> bool {
        let stream = &mut self.streams[id];
        let before = stream.queue.bytes();
        let taken = stream.queue.push_packet(now, frame, ends);
        if taken {
            stream.newest_frame = stream.queue.newest_frame();
            self.tell_offered(now, id, before, ends);
        }
        taken
    }

    /// Something was put into a send queue in which `before` bytes waited.
    fn tell_offered(&mut self, now: Time, id: usize, before: Bytes, frame_end: bool) {
        let stream = &mut self.streams[id];
        let bytes = stream.queue.bytes() - before;
        if before == Bytes::ZERO {
            // Nobody is served later for what he did not want before.
            stream.served = stream.served.max(self.served);
            if !matches!(stream.source, Source::Bulk(_)) {
                self.stale_at = self.stale_at.min(now + self.discard_age);
            }
        }
        let told = (stream.target, stream.may_want_more());
        let claim_changes = stream.wanted.on_offered(now, bytes, before, told);
        self.counters.frames += u64::from(frame_end);
        if let Some(breaker) = &mut self.breaker {
            breaker.on_offered(now);
        }
        let offered = Offered { stream: StreamId(id as u8), bytes, frame_end };
        let update = self.controller.on_offered(now, &offered, &self.queue_state(now, id));
        self.apply(now, update);
        if claim_changes && self.streams.len() > 1 {
            self.share_total(now);
        }
    }

    /// Discards what has waited too long, and asks for a key frame in its place: once in the time that is too long, since one that
    /// is larger than others would add to the queue.
    #[cold]
    pub(super) fn discard_stale(&mut self, now: Time) {
        self.stale_at = Time::MAX;
        for id in 0..self.streams.len() {
            let stream = &mut self.streams[id];
            if matches!(stream.source, Source::Bulk(_)) {
                continue;
            }
            // A packet exactly as old as the limit goes.
            let age = self.discard_age - TimeDelta::from_nanos(1);
            let dropped = stream.queue.discard_older_than(now, age);
            if let Some(oldest) = stream.queue.oldest() {
                self.stale_at = self.stale_at.min(oldest + self.discard_age);
            }
            if dropped.packets == 0 {
                continue;
            }
            self.counters.count(&dropped);
            if self.key_frame_asked.is_none_or(|asked| now >= asked + self.discard_age) {
                self.key_frame_asked = Some(now);
                stream.source.request_key_frame(now);
                stream.key_frame_wanted = true;
            }
            self.tell_queue(now, id);
        }
    }

    /// Keeps the queue of an endless source filled.
    #[inline]
    pub(super) fn refill(&mut self, now: Time, id: usize) {
        if matches!(self.streams[id].source, Source::Bulk(_)) {
            self.fill(now, id);
        }
    }

    #[cold]
    fn fill(&mut self, now: Time, id: usize) {
        while let Some(frame) = {
            let stream = &mut self.streams[id];
            stream.source.refill(now, stream.queue.payload())
        } {
            self.push_frame(now, id, &frame);
        }
    }

    /// The state of a send queue, as the controller is told.
    fn queue_state(&self, now: Time, id: usize) -> SendQueueState {
        let Stream { queue, source, .. } = &self.streams[id];
        SendQueueState {
            stream: StreamId(id as u8),
            bytes: queue.bytes(),
            packets: queue.packets(),
            oldest: queue.oldest().map(|queued| now.saturating_since(queued)),
            newest_frame: queue.newest_frame(),
            greedy: matches!(source, Source::Bulk(_)),
        }
    }

    pub(super) fn tell_queue(&mut self, now: Time, id: usize) {
        let update = self.controller.on_send_queue(now, &self.queue_state(now, id));
        self.apply(now, update);
    }
}
