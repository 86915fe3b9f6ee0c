//! CCID 2 as a controller: what it is told, and what it answers.

use super::{Ccid2, STREAM};
use crate::ccid::{AckPathReport, CcidReport, DropCode, DroppedPacket, RTT_UNKNOWN};
use crate::observe::state_variables;
use crate::{
    Allowance, Assigned, CeResponse, Controller, Offered, PacketsReport, ReceiverRequest, Report,
    SendQueueState, SentPacket, Snapshot, Status, TargetChange, TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// The news in one acknowledgement.
#[derive(Clone, Copy, Default)]
struct News {
    /// Packets received unmarked that were in the pipe, and the newest of them.
    unmarked: u64,
    newest_unmarked: u64,
    /// Number of the newest packet that was marked.
    marked: Option<u64>,
    /// Number of the newest packet of all, and when it was sent.
    newest: Option<(u64, Time)>,
}

impl Controller for Ccid2 {
    fn on_offered(&mut self, now: Time, _offered: &Offered, queue: &SendQueueState) -> Update {
        self.room.on_queue(queue);
        if self.flight.pipe == 0 {
            self.window.on_idle(now, self.timeout.rto());
        } else if self.room.is_greedy() {
            return self.allow(now);
        }
        self.answer(now)
    }

    #[inline(always)]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        if packet.stream != STREAM || !self.flight.on_sent(now, packet.sequence, packet.size) {
            return Update::none();
        }
        let (pipe, rto, cwnd) = (self.flight.pipe, self.timeout.rto(), self.window.cwnd);
        self.window.on_sent(now, pipe, self.flight.next(), packet.app_limited, rto);
        // The timer runs from the first outstanding packet on; a flight that fills an acknowledgement waits no longer.
        if self.timeout.due.is_none() || pipe == self.ack_ratio.asked() {
            self.timeout.restart(now, pipe, self.ack_ratio.asked());
        }
        if self.window.cwnd == cwnd { self.allow(now) } else { self.answer(now) }
    }

    #[inline(always)]
    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        match report {
            Report::Packets(report) => self.on_packets(now, report),
            Report::Ccid(CcidReport::DataDropped(dropped)) => self.on_dropped(dropped),
            Report::Ccid(CcidReport::SlowReceiver) => {
                let rtt = self.timeout.srtt().unwrap_or(RTT_UNKNOWN);
                self.window.hold(now + rtt);
            }
            Report::Ccid(CcidReport::AckPath(AckPathReport { lost: 0, marked: 0 })) => {}
            Report::Ccid(CcidReport::AckPath(_)) => self.ack_ratio.on_acks_lost(self.window.cwnd),
            Report::Receiver(_) | Report::Congestion(_) | Report::Ccid(CcidReport::LossIntervals(_)) => {
                return Update::none();
            }
        }
        self.answer(now)
    }

    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        self.room.on_queue(queue);
        self.answer(now)
    }

    fn verbs(&self) -> &'static [Verb] {
        &[Verb::PacketsPerReport]
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Reduces
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        let bytes = match assigned {
            Assigned::Window(bytes) => Some(bytes.as_f64()),
            Assigned::Rate(rate) => {
                self.timeout.srtt().map(|srtt| rate.as_bps_f64() / 8.0 * srtt.as_secs_f64())
            }
        };
        if let Some(bytes) = bytes {
            let before = self.window.cwnd;
            self.window.assign((bytes / self.largest_packet.as_f64().max(1.0)) as u64);
            if self.window.cwnd > before {
                let room = self.window_bytes().saturating_sub(self.flight.bytes());
                self.spread.raised(room, self.largest_packet, self.flight.next());
            }
        }
        self.answer(now)
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.timeout.due.map(|due| (due, TimeoutReason::Stalled))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        if self.timeout.due.is_none_or(|due| now < due) {
            return Update::none();
        }
        self.window.on_timed_out(self.flight.next());
        self.flight.give_up();
        self.timeout.on_expired();
        self.ack_ratio.on_timed_out(self.window.cwnd);
        self.answer(now)
    }

    fn share(&self) -> Option<Assigned> {
        Some(Assigned::Window(self.window_bytes()))
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            window: Some(self.window_bytes()),
            in_flight: Some(self.flight.bytes()),
            srtt: self.timeout.srtt(),
            target: self.target(),
            ..Snapshot::default()
        }
    }

    state_variables! { |self|
        cwnd: "packets" = self.window.cwnd as f64, "Congestion window";
        ssthresh: "packets" = self.window.ssthresh().map(|packets| packets as f64), "Slow start threshold; absent before it is lowered";
        pipe: "packets" = self.flight.pipe as f64, "Data packets outstanding";
        ack_ratio: "packets" = self.ack_ratio.ratio as f64, "Data packets per acknowledgement, as wanted";
        rto: "ms" = self.timeout.rto().as_millis_f64(), "Transmit timeout, backed off";
    }
}

impl Ccid2 {
    fn on_packets(&mut self, now: Time, report: &PacketsReport<'_>) {
        let news = self.read(report);
        let next = self.flight.next();
        if let Some((newest, sent)) = news.newest {
            self.timeout.on_acked(now, newest, sent, next);
            self.window.on_heard(newest);
        }
        let lost = self.flight.infer_losses();
        let clean = lost.is_none() && news.marked.is_none();
        if news.unmarked > 0 && (clean || self.params.count_beside_losses) {
            self.window.on_acked(now, news.unmarked, news.newest_unmarked, self.ack_ratio.asked());
        }
        for sequence in [lost, news.marked].into_iter().flatten() {
            self.window.on_congestion(sequence, next);
        }
        if let Some((newest, _)) = news.newest {
            self.ack_ratio.on_data_acked(newest, next, self.window.cwnd);
            self.timeout.restart(now, self.flight.pipe, self.ack_ratio.asked());
        }
    }

    /// Packets that were not acknowledged before. `Missing` is no news: losses are inferred.
    #[inline]
    fn read(&mut self, report: &PacketsReport<'_>) -> News {
        let mut news = News::default();
        for packet in report.packets.iter().filter(|packet| packet.stream == STREAM) {
            let Status::Received { ecn, .. } = packet.status else { continue };
            let Some(acked) = self.flight.on_received(packet.sequence) else { continue };
            let sequence = packet.sequence;
            if ecn.is_ce() {
                news.marked = news.marked.max(Some(sequence));
            } else if acked.counted || self.params.late_counts {
                news.unmarked += 1;
                news.newest_unmarked = news.newest_unmarked.max(sequence);
            }
            if news.newest.is_none_or(|(newest, _)| sequence > newest) {
                news.newest = Some((sequence, acked.at));
            }
        }
        news
    }

    /// RFC 4340 section 11.7.2, RFC 4341 section 5.2.
    fn on_dropped(&mut self, dropped: &[DroppedPacket]) {
        let mut no_room = 0;
        for packet in dropped.iter().filter(|packet| packet.sequence < self.flight.next()) {
            match packet.code {
                DropCode::ProtocolConstraints => {}
                DropCode::NotListening => self.not_listening = true,
                DropCode::ReceiveBuffer => no_room += 1,
                DropCode::Corrupt | DropCode::DeliveredCorrupt => {
                    self.window.on_congestion(packet.sequence, self.flight.next());
                    self.window.leave_slow_start();
                }
            }
        }
        if no_room > 0 {
            self.window.on_no_room(no_room);
        }
    }

    fn window_bytes(&self) -> Bytes {
        Bytes::new(self.window.cwnd.saturating_mul(self.largest_packet.as_u64()))
    }

    /// The encoder's part of a window per smoothed round trip; absent before one is known.
    fn target(&self) -> Option<Bitrate> {
        let rate = self.window_bytes().as_bits_f64() / self.timeout.srtt()?.as_secs_f64();
        let target = self.room.target(rate, self.params.media_part, self.params.media_drain);
        Some(target.max(Bitrate::from_bps(1)))
    }

    #[inline(always)]
    fn answer(&mut self, now: Time) -> Update {
        self.ack_ratio.constrain(self.window.cwnd);
        let mut update = self.allow(now);
        update.target = self.target().map_or(TargetChange::None, TargetChange::Total);
        update
    }

    /// The answer where neither window nor round trip has changed.
    #[inline(always)]
    fn allow(&mut self, now: Time) -> Update {
        let room = self.window.cwnd.saturating_sub(self.flight.pipe);
        let allowed = if self.not_listening { 0 } else { room };
        let (timeout, params) = (&self.timeout, &self.params);
        let interval = || {
            let rtt = timeout.srtt().map_or(0.0, TimeDelta::as_secs_f64);
            TimeDelta::from_secs_f64(rtt * params.ack_ratio_interval)
        };
        let pacing = if self.spread.is_on() {
            self.spread.pace(self.flight.first(), self.window_bytes(), self.timeout.srtt())
        } else {
            None
        };
        Update {
            pacing,
            allowance: Some(Allowance::Packets(allowed)),
            receiver: self.ack_ratio.request(now, interval).map(ReceiverRequest::PacketsPerReport),
            ..Update::none()
        }
    }
}
