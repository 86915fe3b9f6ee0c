//! SCReAM v2 as a controller: what it is told, and what it answers.

use super::ScreamV2;
use crate::observe::state_variables;
use crate::{
    Assigned, CeResponse, Controller, Limits, Marking, Offered, Pacing, Report, SendQueueState, SentPacket,
    SentRun, Snapshot, StreamChange, StreamId, StreamSet, TargetChange, TimeoutReason, Update,
};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// In which time the media of one of several streams that waits is to leave (RFC 8698 section 5.2.2, as of other controllers).
const DRAIN: TimeDelta = TimeDelta::from_millis(333);

impl ScreamV2 {
    /// The allowance, the pace, and the target if it changed.
    pub(super) fn answer(&mut self) -> Update {
        let target = Bitrate::from_bps_f64(self.target);
        let changed = self.said.replace(target) != Some(target);
        Update {
            pacing: Some(self.pacing),
            target: if changed { TargetChange::Total(target) } else { TargetChange::None },
            ..Update::allow(self.send_window())
        }
    }

    /// The same, once a target was said.
    fn answer_if_begun(&mut self) -> Update {
        if self.said.is_some() { self.answer() } else { Update::none() }
    }
}

impl Controller for ScreamV2 {
    fn on_offered(&mut self, now: Time, offered: &Offered, queue: &SendQueueState) -> Update {
        let id = usize::from(offered.stream.0);
        let Some(frames) = self.media.stream(id) else { return Update::none() };
        if frames.on_offered(now, offered.bytes, offered.frame_end) {
            self.media.on_frame(&self.params, id, self.target, queue);
            self.set_sending();
        }
        self.answer()
    }

    #[inline]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        let srtt = self.srtt();
        let Some(detector) = self.streams.reported_of(packet.stream) else { return Update::none() };
        detector.on_sent(now, packet.sequence, packet.size);
        if self.in_flight == Bytes::ZERO {
            self.silence.on_sent_from_rest(now, srtt);
        }
        self.in_flight = self.streams.in_flight();
        self.flight.on_sent(self.in_flight.as_u64());
        self.silence.on_sent(now);
        if self.said.is_none() { self.answer() } else { Update::allow(self.send_window()) }
    }

    #[inline]
    fn on_run(&mut self, run: &SentRun) -> Option<Update> {
        let [one] = self.streams.detectors() else { return None };
        if run.packet.stream != StreamId(0) || self.in_flight == Bytes::ZERO || self.said.is_none() {
            return None;
        }
        one.on_run(run);
        self.in_flight = self.streams.in_flight();
        self.flight.on_sent(self.in_flight.as_u64());
        self.silence.on_sent(run.last());
        Some(Update::allow(self.send_window()))
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        match report {
            Report::Packets(packets) => {
                self.on_packets(now, packets);
                self.answer()
            }
            _ => Update::none(),
        }
    }

    fn on_limits(&mut self, _now: Time, limits: &Limits) -> Update {
        if !self.streams.on_limits(limits) {
            return Update::none();
        }
        self.find_bounds();
        self.answer_if_begun()
    }

    /// A stream adds its limits to those of the target, and takes them along. Its flight counts until it is gone.
    fn on_stream(&mut self, _now: Time, stream: StreamId, change: StreamChange) -> Update {
        let id = usize::from(stream.0);
        if stream.0 >= StreamSet::CAPACITY {
            return Update::none();
        }
        let joined_or_left = self.streams.on_stream(stream, change);
        if change == StreamChange::Gone {
            self.in_flight = self.streams.in_flight();
            return self.answer_if_begun();
        }
        if !joined_or_left {
            return Update::none();
        }
        self.media.restart(id);
        self.find_bounds();
        let target = Bitrate::from_bps_f64(self.target);
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
        let loop_time = self.loop_time() + self.params.rate_rtt_margin.as_secs_f64();
        match assigned {
            Assigned::Rate(rate) => {
                self.set_target(rate.as_bps_f64());
                if loop_time > 0.0 {
                    let part = self.media.target_part(&self.params, self.wnd.ratio(self.mss), self.mss);
                    self.wnd.set(&self.params, self.target * loop_time / 8.0 / part, self.mss);
                }
            }
            Assigned::Window(window) => {
                self.wnd.set(&self.params, window.as_f64(), self.mss);
                if loop_time > 0.0 {
                    let part = self.media.target_part(&self.params, self.wnd.ratio(self.mss), self.mss);
                    self.set_target(part * 8.0 * self.wnd.ref_wnd / loop_time);
                }
            }
        }
        self.set_sending();
        self.answer()
    }

    /// The target. While reports stay away it shares nothing.
    fn share(&self) -> Option<Assigned> {
        (!self.silence.is_interrupted()).then(|| Assigned::Rate(Bitrate::from_bps_f64(self.target)))
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.silence.due(self.in_flight)
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        if self.next_timeout().is_none_or(|(due, _)| now < due) {
            return Update::none();
        }
        if self.silence.answers() {
            return self.on_silence(now);
        }
        self.forget_flight();
        self.answer()
    }

    fn target_bitrate(&self, _stream: StreamId) -> Option<Bitrate> {
        (self.streams.count() == 1).then(|| Bitrate::from_bps_f64(self.target))
    }

    fn media_drain(&self) -> Option<TimeDelta> {
        (self.streams.count() > 1).then_some(DRAIN)
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            window: Some(self.flight_allowed),
            in_flight: Some(self.in_flight),
            srtt: self.round_trip.smoothed(),
            queue_delay: Some(self.delay.base.queue_delay),
            target: Some(Bitrate::from_bps_f64(self.target)),
        }
    }

    state_variables! { |self|
        ref_wnd: "kB" = self.wnd.ref_wnd / 1e3, "ref_wnd, the reference window";
        ref_wnd_i: "kB" = self.wnd.ref_wnd_i / 1e3, "ref_wnd_i, its inflection point";
        qdelay_avg: "ms" = self.delay.qdelay_avg * 1e3, "qdelay_avg, the averaged queue delay";
        qdelay_target: "ms" = self.delay_target * 1e3, "qdelay_target, the target of the queue delay";
        ref_wnd_delay_scale: "" = self.delay.growth_scale(&self.params), "Part of its growth that the window has where the delay varies";
        l4s_alpha: "" = self.proportional(), "l4s_alpha, the averaged fraction of marked packets";
        loss_rate: "" = self.losses.loss_rate, "loss_rate, the averaged loss ratio";
        loss_level: "" = self.losses.level, "libwebrtc's level of losses: 1 reduces the window, above 0 it does not grow";
        rate_adjust_factor: "" = self.media.rate_adjust_factor(), "rate_adjust_factor, for media that waits";
        frame_size_dev: "" = self.media.frame_size_dev(), "frame_size_dev, for frames above their nominal size";
        frame_period: "ms" = self.media.period().as_millis_f64(), "frame_period, the longest of the streams";
        feedback_hold_time: "ms" = self.hold_time * 1e3, "Averaged time from a report's first packet to its last";
        acked_bitrate: "Mbit/s" = self.acked.rate.map(|rate| rate * 1e-6), "acked_bitrate, the rate that arrives; absent before it was measured";
        pacing_rate: "Mbit/s" = self.pacing_mbps(), "Pacing rate; absent without pacing";
        skew: "ppm" = self.delay.base.skew_ppm(), "By how much the receiver's clock is taken to run faster";
    }
}

impl ScreamV2 {
    fn pacing_mbps(&self) -> Option<f64> {
        match self.pacing {
            Pacing::Off | Pacing::Gap(_) => None,
            Pacing::Rate(rate) | Pacing::Burst { rate, .. } => Some(rate.as_mbps_f64()),
        }
    }
}
