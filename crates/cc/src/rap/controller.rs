//! RAP as a controller: what it is told, and what it answers.

use super::outstanding::News;
use super::{Rap, SIZE_WEIGHT};
use crate::observe::state_variables;
use crate::{
    Assigned, Controller, Offered, Report, SendQueueState, SentPacket, Snapshot, Status, StreamChange,
    StreamId, TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, Time, TimeDelta};

impl Controller for Rap {
    fn on_offered(&mut self, _now: Time, _offered: &Offered, queue: &SendQueueState) -> Update {
        let update = self.answer_queue(queue);
        if self.said { update } else { self.answer() }
    }

    #[inline]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.size += SIZE_WEIGHT * (packet.size.as_f64() - self.size);
        self.size = self.size.max(1.0);
        self.stream(packet.stream).on_sent(now, packet.sequence);
        self.sent += 1;
        if self.step.is_none() {
            self.restart_step(now);
            self.sent = 1;
        }
        self.arrivals.on_sent(now, self.srtt(), packet.app_limited);
        let waits_for_first = !self.round_trip.is_known() && self.params.first_gap_follows;
        let hurried = core::mem::replace(&mut self.hurries, waits_for_first);
        self.last_size = packet.size;
        // A packet's time to leave is when the ages of the others are looked at.
        let changed = self.find_losses(now) || hurried || self.hurries || !self.said;
        if changed { self.answer() } else { Update::none() }
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        let (mut newest, mut oldest, mut late) = (None, Time::MAX, None);
        for packet in report.packets {
            if packet.status == Status::Missing {
                continue;
            }
            let Some(stream) = self.streams.get_mut(usize::from(packet.stream.0)) else { continue };
            match stream.on_received(packet.sequence) {
                News::None => {}
                News::Acknowledged => {
                    newest = newest.max(Some(packet.sent));
                    oldest = oldest.min(packet.sent);
                    self.arrivals.on_acknowledged(packet.sent);
                }
                News::Late => late = late.max(Some(packet.sent)),
            }
        }
        let mut changed = self.params.fine_grain && newest.is_some();
        if let Some(sent) = newest {
            self.round_trip.on_span(sent.saturating_since(oldest).as_secs_f64());
            changed |= self.on_round_trip(now, sent);
        } else if let Some(sent) = late.filter(|_| self.before_silence.is_some()) {
            self.round_trip.on_late(&self.params, now.saturating_since(sent).as_secs_f64());
        }
        changed |= self.arrivals.on_report(now, &self.params, self.srtt()) && self.limit_ipg(now);
        changed |= self.find_losses(now);
        if changed { self.answer() } else { Update::none() }
    }

    fn on_send_queue(&mut self, _now: Time, queue: &SendQueueState) -> Update {
        self.answer_queue(queue)
    }

    fn on_stream(&mut self, _now: Time, stream: StreamId, change: StreamChange) -> Update {
        self.room.on_stream(stream, change);
        Update::none()
    }

    fn verbs(&self) -> &'static [Verb] {
        &[Verb::PacketsPerReport]
    }

    /// While nothing is acknowledged, and until slow start has led back from there, it shares nothing.
    fn share(&self) -> Option<Assigned> {
        let alone = self.before_silence.is_some() || self.comes_back();
        (!alone).then(|| Assigned::Rate(Bitrate::from_bps_f64(self.largest * 8.0 / self.ipg)))
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        match assigned {
            Assigned::Rate(rate) => self.set_ipg(self.largest * 8.0 / rate.as_bps_f64().max(1.0)),
            Assigned::Window(window) if self.round_trip.is_known() => {
                self.set_ipg(self.largest * self.round_trip.srtt / window.as_f64().max(1.0));
            }
            Assigned::Window(_) => {}
        }
        self.arrivals.on_assigned(now, &self.params, 1.0 / self.ipg, self.srtt());
        self.answer()
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.step.map(|due| (due, TimeoutReason::MediaRate))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        if self.step.is_none_or(|due| now < due) {
            return Update::none();
        }
        if !self.find_losses(now) {
            self.on_step(now);
        }
        self.answer()
    }

    fn media_drain(&self) -> Option<TimeDelta> {
        Some(self.params.media_drain)
    }

    fn snapshot(&self) -> Snapshot {
        let srtt = self.round_trip.is_known().then(|| TimeDelta::from_secs_f64(self.round_trip.srtt));
        Snapshot { srtt, target: Some(self.target()), ..Snapshot::default() }
    }

    state_variables! { |self|
        ipg: "ms" = self.ipg * 1e3, "Gap between packets, before fine-grain adaptation";
        timeout: "ms" = self.round_trip.timeout(&self.params) * 1e3, "Age at which a packet without acknowledgement is lost";
        fine_grain: "" = self.round_trip.fine_grain(), "Short-term over long-term round-trip time";
        in_slow_start: "" = f64::from(u8::from(self.in_slow_start)), "1 before the first loss event, where the rate doubles";
    }
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
