//! The controller's answers that concern streams: targets and discards.

use super::sender::RtpSender;
use paceline_cc::{Controller, Discard, StreamId, StreamSet};
use paceline_units::Time;

impl<C: Controller> RtpSender<C> {
    /// Tells the encoders of these streams what the controller divided by itself.
    pub(super) fn set_targets(&mut self, now: Time, streams: StreamSet) {
        self.shares.set_total(None);
        for id in 0..self.streams.len() {
            if streams.contains(StreamId(id as u8)) && self.streams[id].is_present() {
                self.aim(now, id);
            }
        }
    }

    /// Tells the encoder of a stream the target that the controller has for it, or the one that it has. Until a total is divided again no
    /// share holds it.
    pub(super) fn aim(&mut self, now: Time, id: usize) {
        let stream = &mut self.streams[id];
        stream.hold_to(None);
        let target = self.controller.target_bitrate(StreamId(id as u8)).unwrap_or(stream.target());
        stream.aim(now, target);
    }

    /// Tells the encoders their shares of the total that the controller named last, if it names one.
    pub(super) fn share_total(&mut self, now: Time) {
        self.shares.divide(now, self.controller.media_drain(), &mut self.streams);
    }

    #[cold]
    pub(super) fn discard(&mut self, now: Time, discard: &Discard) {
        let Some(stream) = self.streams.by_id_mut(discard.stream) else { return };
        self.offering.count_discarded(&stream.discard(now, discard.older_than));
        if discard.key_frame {
            stream.request_key_frame(now);
        }
        self.tell_queue(now, usize::from(discard.stream.0));
    }
}
