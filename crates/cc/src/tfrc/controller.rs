//! TFRC's sender half as a controller: what it is told, and what it answers.

use super::Tfrc;
use super::feedback::Feedback;
use crate::observe::state_variables;
use crate::{
    Annotation, Assigned, CeResponse, Controller, Offered, ReceiverReport, Report, SendQueueState,
    SentPacket, Snapshot, StreamChange, StreamId, TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, Time, TimeDelta};

impl Controller for Tfrc {
    fn on_offered(&mut self, now: Time, _offered: &Offered, queue: &SendQueueState) -> Update {
        let update = self.answer_queue(queue);
        if self.no_feedback.is_some() {
            return update;
        }
        self.ensure_started(now);
        self.answer(now)
    }

    #[inline(always)]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.ensure_started(now);
        self.started.get_or_insert(now);
        self.segment.on_packet(packet.size, self.p);
        self.sent_since = true;
        if !packet.app_limited {
            let r = self.round_trip.r().unwrap_or(0.0);
            self.data_limited.on_not_limited(now, TimeDelta::from_secs_f64(r));
        }
        if self.params.burst_credit == 0.0 {
            return Update::none();
        }
        self.spend_credit(now, packet.size);
        Update { pacing: Some(self.pacing(now)), ..Update::none() }
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Receiver(ReceiverReport::Tfrc {
            loss_event_rate,
            receive_rate,
            newest_sent: Some(newest_sent),
            delay,
        }) = *report
        else {
            return Update::none();
        };
        let x_recv = receive_rate.as_bps_f64() / 8.0;
        let feedback =
            Feedback { p: loss_event_rate, x_recv, t_recvdata: newest_sent, t_delay: delay, x_drop: None };
        if !self.is_possible(now, &feedback) {
            return Update::none();
        }
        self.on_feedback(now, &feedback);
        self.answer(now)
    }

    fn on_send_queue(&mut self, _now: Time, queue: &SendQueueState) -> Update {
        self.answer_queue(queue)
    }

    fn on_stream(&mut self, _now: Time, stream: StreamId, change: StreamChange) -> Update {
        self.room.on_stream(stream, change);
        Update::none()
    }

    fn verbs(&self) -> &'static [Verb] {
        &[Verb::RttAnnotation]
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Reduces
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        match (assigned, self.round_trip.r()) {
            (Assigned::Rate(rate), _) => self.set_x(rate.as_bps_f64() / 8.0),
            (Assigned::Window(window), Some(r)) => self.set_x(window.as_f64() / r),
            (Assigned::Window(_), None) => {}
        }
        self.answer(now)
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.no_feedback.map(|due| (due, TimeoutReason::NoFeedback))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        if self.no_feedback.is_none_or(|due| now < due) {
            return Update::none();
        }
        self.on_no_feedback(now);
        self.answer(now)
    }

    #[inline]
    fn annotation(&self, _now: Time, _stream: StreamId) -> Option<Annotation> {
        self.round_trip.r().map(|r| Annotation::Rtt(TimeDelta::from_secs_f64(r)))
    }

    /// X, whatever an encoder is told.
    fn share(&self) -> Option<Assigned> {
        Some(Assigned::Rate(self.allowed_rate()))
    }

    fn media_drain(&self) -> Option<TimeDelta> {
        Some(self.params.media_drain)
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            srtt: self.round_trip.r().map(TimeDelta::from_secs_f64),
            target: Some(self.target()),
            ..Snapshot::default()
        }
    }

    state_variables! { |self|
        x: "Mbps" = mbps(self.x), "X, the allowed rate";
        x_inst: "Mbps" = mbps(self.x_inst()), "X_inst, the rate at which packets are spaced";
        x_bps: "Mbps" = self.x_bps.map(mbps), "The throughput equation's rate; absent before a loss";
        x_recv: "Mbps" = Some(self.limit.max()).filter(|rate| rate.is_finite()).map(mbps), "The largest recent rate that the receiver told; absent before it limits";
        loss_event_rate: "" = self.p, "p, as the receiver told it";
        segment_size: "B" = self.segment.bytes(), "s, the mean packet, header in";
    }
}

fn mbps(rate: f64) -> f64 {
    rate * 8.0 / 1e6
}

impl Tfrc {
    /// X, the allowed sending rate.
    pub fn allowed_rate(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.x * 8.0)
    }

    /// R, the round-trip time in seconds; absent before the first feedback.
    pub(crate) fn rtt(&self) -> Option<f64> {
        self.round_trip.r()
    }

    /// The rate is lower by `packets` per round trip, but not below one by this (RFC 4342 section 5.2). True if there is
    /// a round-trip time to count with.
    pub(crate) fn send_fewer(&mut self, packets: u64) -> bool {
        let Some(r) = self.round_trip.r() else { return false };
        let s = self.segment.bytes();
        self.set_x((self.x - packets as f64 * s / r).max(self.x.min(s / r)));
        true
    }

    /// `s`, bytes.
    pub(crate) fn segment_size(&self) -> f64 {
        self.segment.bytes()
    }
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
