//! The controller's answers, executed by the sender endpoint.

use super::sender::{RtpSender, Stream};
use super::shares::{Claim, level};
use super::streams::Presence;
use paceline_cc::{Controller, Discard, StreamId, StreamSet, TargetChange, Update};
use paceline_media::Source;
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
            TargetChange::Total(rate) => {
                self.total = Some(rate);
                self.share_total(now);
            }
            TargetChange::Streams(set) => self.set_targets(now, set),
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

    /// Tells the encoders of these streams what the controller divided by itself.
    fn set_targets(&mut self, now: Time, streams: StreamSet) {
        self.total = None;
        for id in 0..self.streams.len() {
            if streams.contains(StreamId(id as u8)) && self.streams[id].presence == Presence::Present {
                self.aim(now, id);
            }
        }
    }

    /// Tells the encoder of a stream the target that the controller has for it, or the one that it has.
    pub(super) fn aim(&mut self, now: Time, id: usize) {
        let stream = &mut self.streams[id];
        let target = self.controller.target_bitrate(StreamId(id as u8)).unwrap_or(stream.target);
        stream.aim(now, target);
    }

    /// Tells the encoders their shares of the total that the controller named last, if it names one: max-min by priority, within
    /// the limits of each stream. A stream that leaves much of its share unused leaves it to the others, and is told for all
    /// that what it could have if it wanted more, so that it can come back.
    pub(super) fn share_total(&mut self, now: Time) {
        let Some(total) = self.total else { return };
        if let [stream] = &mut self.streams[..] {
            if stream.takes_share() {
                stream.aim(now, total);
            }
            return;
        }
        let total = total.as_bps_f64();
        let sharing = self.streams.iter().filter(|stream| stream.takes_share());
        let mut claims = std::mem::take(&mut self.claims);
        claims.clear();
        claims.extend(sharing.map(|stream| stream.claim(now)));
        let common = level(total, &claims);
        for (place, stream) in self.streams.iter_mut().filter(|stream| stream.takes_share()).enumerate() {
            let claim = claims[place];
            let most = stream.limits.max.as_bps_f64().max(claim.least);
            let share = if most > claim.most && stream.may_want_more() {
                claims[place].most = most;
                let share = claims[place].share(level(total, &claims));
                claims[place] = claim;
                share
            } else {
                claim.share(common)
            };
            stream.aim(now, Bitrate::from_bps_f64(share));
        }
        self.claims = claims;
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
    /// Whether it shares what the controller names for all.
    fn takes_share(&self) -> bool {
        self.presence == Presence::Present && !self.repairs
    }

    /// Whether its source may come to offer more than it did, being told that it may.
    pub(super) fn may_want_more(&self) -> bool {
        matches!(self.source, Source::External) || self.source.follows_target()
    }

    /// The stream's claim on the total, in bit/s.
    fn claim(&self, now: Time) -> Claim {
        let least = self.limits.min.as_bps_f64();
        let wanted = self.wanted.wanted(now).unwrap_or(Bitrate::MAX).min(self.limits.max);
        Claim { weight: self.priority, least, most: wanted.as_bps_f64().max(least) }
    }

    /// Tells the encoder its target, within what the application allows.
    pub(super) fn aim(&mut self, now: Time, target: Bitrate) {
        self.target = self.limits.clamp(target);
        self.source.set_target(now, self.target);
    }
}
