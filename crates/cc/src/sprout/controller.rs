//! Sprout as a controller: what it is told, and what it answers.

use super::Sprout;
use crate::media_streams::LOWEST;
use crate::observe::state_variables;
use crate::{
    Assigned, CeResponse, Controller, Limits, Offered, Report, SendQueueState, SentPacket, Snapshot,
    StreamChange, StreamId, StreamSet, TargetChange, TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, Bytes, Time};

impl Sprout {
    /// The limits of the streams, or their number, changed.
    fn retarget(&mut self) -> Update {
        if !self.begun {
            return Update::none();
        }
        let update = self.answer();
        Update { target: TargetChange::Total(self.target()), ..update }
    }
}

impl Controller for Sprout {
    fn on_offered(&mut self, now: Time, _offered: &Offered, queue: &SendQueueState) -> Update {
        self.begin(now);
        self.on_send_queue(now, queue)
    }

    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        if queue.stream.0 < StreamSet::CAPACITY {
            self.room.on_queue(queue);
        }
        if !self.begun {
            return Update::none();
        }
        self.window.pass(&self.params, now);
        self.answer()
    }

    #[inline]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.begin(now);
        let srtt = self.round_trip();
        if usize::from(packet.stream.0) < self.streams.count()
            && let Some(detector) = self.streams.sent_by(packet.stream)
        {
            detector.on_sent(now, packet.sequence, packet.size);
            self.silence.on_sent(now, srtt);
            self.heartbeat.on_sent(now, srtt);
            self.window.pass(&self.params, now);
            self.window.on_sent(&self.params, packet.size);
        }
        if packet.app_limited {
            self.pauses.on_nothing_left(now);
        }
        self.answer()
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        if !self.begun || report.packets.is_empty() {
            return Update::none();
        }
        self.on_packets(now, report);
        let (in_flight, srtt) = (self.streams.in_flight(), self.round_trip());
        self.silence.on_report(now, srtt, in_flight > Bytes::ZERO, true);
        self.heartbeat.on_report(now, srtt);
        self.window.pass(&self.params, now);
        self.window.on_in_flight(&self.params, in_flight);
        if self.receiver.has_news() {
            let forecast = self.receiver.forecast();
            self.window.on_forecast(now, forecast);
        }
        self.answer()
    }

    fn on_limits(&mut self, _now: Time, limits: &Limits) -> Update {
        if self.streams.on_limits(limits) { self.retarget() } else { Update::none() }
    }

    /// A stream adds its limits to those of the target, and takes them along.
    fn on_stream(&mut self, _now: Time, stream: StreamId, change: StreamChange) -> Update {
        self.room.on_stream(stream, change);
        if self.streams.on_stream(stream, change) { self.retarget() } else { Update::none() }
    }

    fn verbs(&self) -> &'static [Verb] {
        &[Verb::ReportInterval]
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Ignored
    }

    /// Its forecast is of the deliveries to this flow alone, and a group's sum would be none of a link.
    fn shares() -> bool {
        false
    }

    fn share(&self) -> Option<Assigned> {
        None
    }

    fn assign(&mut self, _now: Time, _assigned: Assigned) -> Update {
        Update::none()
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        let tick = self.window.next(&self.params).filter(|_| self.begun);
        let dues = [
            tick.map(|due| (due, TimeoutReason::Estimate)),
            self.silence.due().map(|due| (due, TimeoutReason::NoFeedback)),
            self.heartbeat.due.map(|due| (due, TimeoutReason::NoFeedback)),
        ];
        dues.into_iter().flatten().min_by_key(|(due, _)| *due)
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        let lowest = self.usable() <= LOWEST;
        self.silence.on_timeout(now, lowest);
        self.heartbeat.on_timeout(now);
        self.window.pass(&self.params, now);
        if self.begun { self.answer() } else { Update::none() }
    }

    fn media_drain(&self) -> Option<paceline_units::TimeDelta> {
        Some(self.params.queue_drain)
    }

    fn target_bitrate(&self, _stream: StreamId) -> Option<Bitrate> {
        (self.streams.count() == 1).then(|| self.target())
    }

    fn snapshot(&self) -> Snapshot {
        let in_flight = self.streams.in_flight();
        Snapshot {
            window: Some(in_flight + self.allowance()),
            in_flight: Some(in_flight),
            srtt: self.round_trip.smoothed(),
            queue_delay: self.receiver.wait,
            target: Some(self.target()),
        }
    }

    state_variables! { |self|
        link_rate: "Mbit/s" = self.receiver.mean_rate().map(|rate| rate * self.params.packet.as_bits_f64() * 1e-6), "Mean of the link rate's distribution";
        outage: "" = self.receiver.outage(), "Probability of an outage";
        forecast: "packets" = self.window.packets(self.params.look_ahead as usize), "Deliveries that the forecast has within the look-ahead";
        forecast_end: "packets" = self.window.packets(self.params.forecast_ticks as usize), "Deliveries within the whole forecast";
        queue: "packets" = self.window.queue, "Packets that are thought to wait in the queue";
        allowance: "packets" = self.allowance().as_f64() / self.params.packet.as_f64(), "Packets that may leave";
    }
}
