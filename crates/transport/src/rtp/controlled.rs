//! What the controller answers, executed by the sender endpoint.

use super::sender::{RtpSender, Stream};
use super::streams::Presence;
use paceline_cc::{Controller, Discard, StreamId, TargetChange, Update};
use paceline_units::{Bitrate, Time};

impl<C: Controller> RtpSender<C> {
    /// Inlined where it is called per packet: most of an answer is known to be empty there.
    #[inline(always)]
    pub(super) fn apply(&mut self, now: Time, update: Update) {
        let Update { allowance, pacing, target, next_stream, discard, probe, receiver } = update;
        if let Some(allowance) = allowance {
            self.allowance = allowance;
        }
        if let Some(pacing) = pacing {
            self.pacer.set(pacing);
        }
        if next_stream.is_some() {
            self.chosen = next_stream;
        }
        match target {
            TargetChange::None => {}
            change => self.set_targets(now, change),
        }
        if let Some(discard) = discard {
            self.discard(now, &discard);
        }
        if let Some(probe) = probe {
            self.probing.ask(now, probe);
        }
        if receiver.is_some() {
            self.receiver_request = receiver;
        }
    }

    fn set_targets(&mut self, now: Time, change: TargetChange) {
        let total: f64 = self.streams.iter().map(|stream| stream.priority).sum();
        let present = |stream: &&mut Stream| stream.presence == Presence::Present;
        for (id, stream) in self.streams.iter_mut().enumerate().filter(|(_, stream)| present(stream)) {
            let target = match change {
                TargetChange::None => None,
                TargetChange::Total(rate) => {
                    Some(Bitrate::from_bps_f64(rate.as_bps_f64() * stream.priority / total))
                }
                TargetChange::Streams(set) if set.contains(StreamId(id as u8)) => {
                    self.controller.target_bitrate(StreamId(id as u8))
                }
                TargetChange::Streams(_) => None,
            };
            if let Some(target) = target {
                stream.aim(now, target);
            }
        }
    }

    #[cold]
    fn discard(&mut self, now: Time, discard: &Discard) {
        let Some(stream) = self.streams.get_mut(usize::from(discard.stream.0)) else { return };
        let dropped = match discard.older_than {
            Some(age) => stream.queue.discard_older_than(now, age),
            None => stream.queue.discard_all(),
        };
        self.counters.count(&dropped);
        if discard.key_frame {
            stream.source.request_key_frame(now);
            stream.key_frame_wanted = true;
        }
        self.tell_queue(now, usize::from(discard.stream.0));
    }
}

impl Stream {
    /// Tells the encoder its target, within what the application allows.
    pub(super) fn aim(&mut self, now: Time, target: Bitrate) {
        self.target = self.limits.clamp(target);
        self.source.set_target(now, self.target);
    }
}
