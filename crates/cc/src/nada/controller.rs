//! NADA as a controller: what it is told, and what it answers.

use super::Nada;
use super::reference_rate::Bounds;
use super::reference_rate::ReferenceRate;
use crate::media_streams::LOWEST;
use crate::observe::state_variables;
use crate::{
    Assigned, CeResponse, Controller, Limits, Offered, Report, SendQueueState, SentPacket, Snapshot,
    StreamChange, StreamId, StreamSet, TargetChange, TimeoutReason, Update,
};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

impl Nada {
    /// Target and pace, if they changed.
    fn answer(&mut self) -> Update {
        let rates = self.rates();
        let (target, pace) = (Bitrate::from_bps_f64(rates.r_vin), Bitrate::from_bps_f64(rates.r_send));
        self.said.say(target, pace)
    }

    /// Media was offered, or something was sent: the first of it begins the time that updates count.
    fn begin(&mut self, now: Time) {
        self.last.get_or_insert(now);
    }

    /// A report told something: reports come again, and more of the rate may be used.
    fn end_silence(&mut self, now: Time) {
        let in_flight = self.streams.in_flight() > Bytes::ZERO;
        let drained = self.observation.own < self.params.qth;
        let was_outage = self.silence.is_outage();
        self.silence.on_report(now, self.round_trip(), in_flight, drained);
        if was_outage && !self.silence.is_outage() {
            self.observation.forget_recent(&self.params);
        }
    }

    /// The limits of the streams changed.
    fn limit(&mut self) {
        self.bounds = Bounds::of(&self.streams);
        if self.last.is_none() {
            // The start is as high as all streams may have together, in whatever order they come.
            let start = self.params.target_bitrate_start.as_bps_f64();
            self.reference = ReferenceRate::new(self.bounds.clip(start));
        }
        self.reference.r_ref = self.bounds.clip(self.reference.r_ref);
    }
}

impl Controller for Nada {
    fn on_offered(&mut self, now: Time, _offered: &Offered, queue: &SendQueueState) -> Update {
        self.begin(now);
        self.on_send_queue(now, queue)
    }

    fn on_send_queue(&mut self, _now: Time, queue: &SendQueueState) -> Update {
        if queue.stream.0 < StreamSet::CAPACITY {
            self.room.on_queue(queue);
        }
        if self.last.is_some() { self.answer() } else { Update::none() }
    }

    #[inline]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.begin(now);
        if let Some(detector) = self.streams.sent_by(packet.stream) {
            detector.on_sent(now, packet.sequence, packet.size);
            self.silence.on_sent(now, self.round_trip());
        }
        if self.said.is_nothing() { self.answer() } else { Update::none() }
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        if self.last.is_none() || report.packets.is_empty() {
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
        if self.last.is_some() { self.answer() } else { Update::none() }
    }

    /// A stream adds its limits to those of the target, and takes them along.
    fn on_stream(&mut self, _now: Time, stream: StreamId, change: StreamChange) -> Update {
        self.room.on_stream(stream, change);
        if !self.streams.on_stream(stream, change) {
            return Update::none();
        }
        self.limit();
        let target = Bitrate::from_bps_f64(self.rates().r_vin);
        Update { target: TargetChange::Total(target), ..self.answer() }
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Reduces
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        let Some(rate) = assigned.rate_over(self.round_trip.smoothed()) else { return Update::none() };
        self.reference.r_ref = self.bounds.clip(rate);
        self.answer()
    }

    /// `r_ref`, whatever an encoder is told (RFC 8699 section 6.1). A group that counts windows cannot know its worth before there is a
    /// round trip. While reports stay away, and until the whole rate is used again, it shares nothing.
    fn share(&self) -> Option<Assigned> {
        let shares = self.round_trip.smoothed().is_some() && !self.silence.is_answered();
        shares.then(|| Assigned::Rate(Bitrate::from_bps_f64(self.reference.r_ref)))
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.silence.due().map(|due| (due, TimeoutReason::NoFeedback))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        let lowest = self.usable() <= LOWEST;
        self.silence.on_timeout(now, lowest);
        if self.last.is_some() { self.answer() } else { Update::none() }
    }

    fn target_bitrate(&self, _stream: StreamId) -> Option<Bitrate> {
        (self.streams.count() == 1).then(|| Bitrate::from_bps_f64(self.rates().r_vin))
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            srtt: self.round_trip.smoothed(),
            queue_delay: self.observation.delay.d_queue(),
            target: Some(Bitrate::from_bps_f64(self.rates().r_vin)),
            ..Snapshot::default()
        }
    }

    state_variables! { |self|
        r_ref: "Mbit/s" = self.reference.r_ref * 1e-6, "r_ref, the reference rate";
        r_recv: "Mbit/s" = self.r_recv * 1e-6, "r_recv, the rate at which packets arrived when r_ref was updated";
        rmode: "" = f64::from(self.rmode as u8), "rmode: 0 accelerated ramp-up, 1 gradual update";
        x_curr: "ms" = self.x_curr * 1e3, "x_curr, the aggregate congestion signal";
        d_queue: "ms" = self.observation.delay.d_queue().map(TimeDelta::as_millis_f64), "d_queue, the queue delay behind the minimum filter";
        d_tilde: "ms" = self.observation.d_tilde(&self.params) * 1e3, "d_tilde, the queue delay as it counts while packets are lost";
        p_loss: "" = self.observation.p_loss, "p_loss, the smoothed loss ratio";
        p_mark: "" = self.observation.p_mark, "p_mark, the smoothed marking ratio";
        loss_int: "" = self.observation.losses.loss_int(), "loss_int, the mean loss interval in packets; absent before two loss events";
        buffer_len: "kB" = self.room.waiting() / 8e3, "buffer_len, media that waits in the send queues behind the newest frame of each";
        skew: "ppm" = self.observation.delay.skew_ppm(), "By how much the receiver's clock is taken to run faster";
    }
}
