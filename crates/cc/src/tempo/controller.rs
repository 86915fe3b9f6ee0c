//! Tempo as a controller: what it is told, and what it answers.

use super::{Tempo, bounds};
use crate::media_streams::LOWEST;
use crate::observe::state_variables;
use crate::{
    Assigned, CeResponse, Controller, Limits, Marking, Offered, Report, SendQueueState, SentPacket, SentRun,
    Snapshot, StreamChange, StreamId, StreamSet, TargetChange, TimeoutReason, Update,
};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

impl Tempo {
    /// Target and pace, if they changed.
    fn answer(&mut self) -> Update {
        let (target, pace) = self.rates();
        self.said.say(target, pace)
    }

    /// A report told something: reports come again, and more of the rate may be used.
    fn end_silence(&mut self, now: Time) {
        let in_flight = self.streams.in_flight() > Bytes::ZERO;
        let limit = self.params.queue_limit.as_secs_f64();
        // While the whole rate is used it does not count.
        let drained = !self.silence.is_answered() || self.path.standing().is_none_or(|queue| queue < limit);
        let was_outage = self.silence.is_outage();
        self.silence.on_report(now, self.round_trip(), in_flight, drained);
        if was_outage && !self.silence.is_outage() {
            self.path.forget_recent();
        }
    }

    /// The limits of the streams changed.
    fn limit(&mut self) {
        self.bounds = bounds(&self.params, &self.streams);
        if !self.begun {
            // The start is as high as all streams may have together, in whatever order they come.
            self.law.rate = self.params.target_bitrate_start.as_bps_f64();
        }
        self.law.rate = self.law.rate.clamp(self.bounds.0, self.bounds.1);
    }
}

impl Controller for Tempo {
    fn on_offered(&mut self, now: Time, offered: &Offered, queue: &SendQueueState) -> Update {
        self.begun = true;
        if !queue.greedy && offered.stream.0 < StreamSet::CAPACITY {
            self.path.frames.note(now, offered.stream, offered.bytes, offered.frame_end);
        }
        self.on_send_queue(now, queue)
    }

    fn on_send_queue(&mut self, _now: Time, queue: &SendQueueState) -> Update {
        if queue.stream.0 < StreamSet::CAPACITY {
            self.room.on_queue(queue);
        }
        if self.begun { self.answer() } else { Update::none() }
    }

    #[inline]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.begun = true;
        if let Some(detector) = self.streams.sent_by(packet.stream) {
            detector.on_sent(now, packet.sequence, packet.size);
            self.silence.on_sent(now, self.round_trip());
        }
        if self.said.is_nothing() { self.answer() } else { Update::none() }
    }

    #[inline]
    fn on_run(&mut self, run: &SentRun) -> Option<Update> {
        if self.said.is_nothing() {
            return None;
        }
        self.streams.sent_by(run.packet.stream)?.on_run(run);
        self.silence.on_run(run, self.round_trip());
        Some(Update::none())
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        if !self.begun || report.packets.is_empty() {
            return Update::none();
        }
        self.on_packets(now, report);
        self.end_silence(now);
        self.update(now);
        self.answer()
    }

    fn on_limits(&mut self, _now: Time, limits: &Limits) -> Update {
        if !self.streams.on_limits(limits) {
            return Update::none();
        }
        self.limit();
        if self.begun { self.answer() } else { Update::none() }
    }

    /// A stream adds its limits to those of the target, and takes them along.
    fn on_stream(&mut self, _now: Time, stream: StreamId, change: StreamChange) -> Update {
        self.room.on_stream(stream, change);
        if !self.streams.on_stream(stream, change) {
            return Update::none();
        }
        self.limit();
        let (target, _) = self.rates();
        Update { target: TargetChange::Total(target), ..self.answer() }
    }

    fn on_marking(&mut self, _now: Time, marking: Marking) -> Update {
        self.l4s = marking == Marking::L4s;
        Update::none()
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Reduces
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        let Some(rate) = assigned.rate_over(self.round_trip.smoothed()) else { return Update::none() };
        self.law.assign(&self.params, rate.clamp(self.bounds.0, self.bounds.1));
        self.law.rate = self.law.rate.clamp(self.bounds.0, self.bounds.1);
        self.answer()
    }

    /// A group that counts windows cannot know the worth of a rate before there is a round trip. While reports stay away, and until the
    /// whole rate is used again, it shares nothing.
    fn share(&self) -> Option<Assigned> {
        let shares = self.round_trip.smoothed().is_some() && !self.silence.is_answered();
        shares.then(|| Assigned::Rate(Bitrate::from_bps_f64(self.law.shared(&self.params))))
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.silence.due().map(|due| (due, TimeoutReason::NoFeedback))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        let lowest = self.usable() <= LOWEST;
        self.silence.on_timeout(now, lowest);
        if self.begun { self.answer() } else { Update::none() }
    }

    fn media_drain(&self) -> Option<TimeDelta> {
        Some(self.params.queue_drain)
    }

    fn target_bitrate(&self, _stream: StreamId) -> Option<Bitrate> {
        (self.streams.count() == 1).then(|| self.rates().0)
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            srtt: self.round_trip.smoothed(),
            queue_delay: self.path.standing().map(TimeDelta::from_secs_f64),
            target: Some(self.rates().0),
            ..Snapshot::default()
        }
    }

    #[inline]
    fn srtt_and_target(&self) -> (Option<TimeDelta>, Option<Bitrate>) {
        (self.round_trip.smoothed(), self.said.target().or_else(|| self.snapshot().target))
    }

    state_variables! { |self|
        rate: "Mbit/s" = self.law.rate * 1e-6, "The rate";
        phase: "" = f64::from(self.law.phase as u8), "0 start, 1 growth, 2 drain";
        standing: "ms" = self.path.standing().map(|queue| queue * 1e3), "Standing queue";
        floor: "ms" = self.law.others.floor * 1e3, "Queue that stands whatever is sent";
        noise: "ms" = self.law.others.noise * 1e3, "Noise of the standing queue";
        usual_loss: "" = self.law.losses.usual, "Part of packets that is lost at any rate";
        alpha: "" = self.law.marks.alpha, "Average part of marked bytes";
        skew: "ppm" = self.path.skew_ppm(), "By how much the receiver's clock is taken to run faster";
    }
}
