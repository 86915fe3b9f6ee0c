//! Media that has waited too long in the send queues is discarded (`discard_age`), whatever the controller does.

use super::sender::RtpSender;
use super::stream::Stream;
use paceline_cc::Controller;
use paceline_media::Discarded;
use paceline_units::{Time, TimeDelta};

/// When media of one flow has waited too long.
#[derive(Clone, Debug)]
pub(super) struct StaleMedia {
    age: TimeDelta,
    /// When something may have waited too long; `Time::MAX` if nothing waits.
    due: Time,
    /// When a key frame was asked for in place of what had.
    key_frame_asked: Option<Time>,
}

impl StaleMedia {
    /// Media that waits for `age` at most, 1 ns at least.
    pub(super) fn new(age: TimeDelta) -> StaleMedia {
        StaleMedia { age: age.max(TimeDelta::from_nanos(1)), due: Time::MAX, key_frame_asked: None }
    }

    /// When something may have waited too long; `Time::MAX` if nothing waits.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// A stream of which nothing waited has packets again.
    pub(super) fn on_waiting(&mut self, now: Time, stream: &Stream) {
        if !stream.is_bulk() {
            self.due = self.due.min(now + self.age);
        }
    }

    /// Discards what has waited too long in a queue, and asks for a key frame in its place. Answers what it discarded, if anything.
    fn discard(&mut self, now: Time, stream: &mut Stream) -> Option<Discarded> {
        if stream.is_bulk() {
            return None;
        }
        // A packet exactly as old as the limit goes.
        let dropped = stream.discard(now, Some(self.age - TimeDelta::from_nanos(1)));
        if let Some(oldest) = stream.queue().oldest() {
            self.due = self.due.min(oldest + self.age);
        }
        if dropped.packets == 0 {
            return None;
        }
        if self.key_frame_asked.is_none_or(|asked| now >= asked + self.age) {
            self.key_frame_asked = Some(now);
            stream.request_key_frame(now);
        }
        Some(dropped)
    }
}

impl<C: Controller> RtpSender<C> {
    /// Discards what has waited too long, and asks for a key frame in its place: once in the time that is too long, since one that
    /// is larger than others would add to the queue.
    #[cold]
    pub(super) fn discard_stale(&mut self, now: Time) {
        self.stale.due = Time::MAX;
        for id in 0..self.streams.len() {
            if let Some(dropped) = self.stale.discard(now, &mut self.streams[id]) {
                self.offering.count_discarded(&dropped);
                self.tell_queue(now, id);
            }
        }
    }
}
