//! A controller of somebody's own, from its contract alone: a window that grows by a packet a round trip, and shrinks when packets are
//! lost, marked or delayed. It keeps every promise, media without L4S and with it.

use paceline_cc::{
    Allowance, Assigned, CeResponse, Controller, DetectorConfig, FlowSetup, LossDetector, Pacing, Report,
    SentPacket, Snapshot, Status, Steers, TimeoutReason, Update,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

/// Wait in queues from which on the window shrinks.
const TARGET: TimeDelta = TimeDelta::from_millis(60);
/// Time without a report after which nothing counts as in flight.
const PATIENCE: TimeDelta = TimeDelta::from_millis(500);
const DETECTOR: DetectorConfig = DetectorConfig {
    packet_threshold: Some(3),
    reorder_window: TimeDelta::ZERO,
    reorder_window_max: TimeDelta::ZERO,
    unreported_is_lost: false,
};

pub struct Mine {
    largest: f64,
    window: f64,
    packets: LossDetector,
    srtt: Option<TimeDelta>,
    /// The shortest delay of a packet so far, by two clocks whose zeros differ; and the wait of the newest beyond it.
    base: TimeDelta,
    wait: TimeDelta,
    /// When the window may shrink again.
    shrinks: Time,
    /// When a report came last, or the first packet left after nothing was in flight.
    heard: Time,
}

impl Mine {
    pub fn new(setup: &FlowSetup) -> Mine {
        let largest = setup.largest_packet.as_f64();
        Mine {
            largest,
            window: 10.0 * largest,
            packets: LossDetector::new(DETECTOR),
            srtt: None,
            base: TimeDelta::MAX,
            wait: TimeDelta::ZERO,
            shrinks: Time::ZERO,
            heard: Time::ZERO,
        }
    }

    fn rate(&self) -> Bitrate {
        let srtt = self.srtt.unwrap_or(TimeDelta::from_millis(100)).max(TimeDelta::from_millis(1));
        Bitrate::from_bps_f64((8.0 * self.window / srtt.as_secs_f64()).min(1e9))
    }

    fn answer(&self) -> Update {
        let left = Bytes::new(self.window as u64) - self.packets.in_flight();
        let pace = Pacing::Rate(Bitrate::from_bps_f64(1.2 * self.rate().as_bps_f64()));
        let update = Update { allowance: Some(Allowance::Bytes(left)), pacing: Some(pace), ..Update::none() };
        update.with_target(Bitrate::from_bps_f64(0.9 * self.rate().as_bps_f64()))
    }

    /// Round trips and waits of the packets that a report names; whether one of them was marked.
    fn measure(&mut self, now: Time, report: &Report<'_>) -> bool {
        let Report::Packets(report) = report else { return false };
        let mut marked = false;
        for packet in report.of_stream(0) {
            let Status::Received { arrived, ecn } = packet.status else { continue };
            let rtt = now.saturating_since(packet.sent).min(TimeDelta::from_secs(10));
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8));
            if let Some(arrived) = arrived {
                let delay = arrived - packet.sent;
                self.base = self.base.min(delay);
                self.wait = delay - self.base;
            }
            marked |= ecn == Ecn::Ce;
        }
        marked
    }
}

impl Controller for Mine {
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        if packet.stream.0 == 0 {
            if self.packets.in_flight() == Bytes::ZERO {
                self.heard = now;
            }
            self.packets.on_sent(now, packet.sequence, packet.size);
        }
        self.answer()
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(packets) = report else { return self.answer() };
        self.heard = now;
        let marked = self.measure(now, report);
        let acked = self.packets.on_report(now, packets.of_stream(0));
        let srtt = self.srtt.unwrap_or(TimeDelta::ZERO);
        if acked.lost > 0 || marked || self.wait > TARGET {
            if now >= self.shrinks {
                self.window = (self.window / 2.0).max(2.0 * self.largest);
                self.shrinks = now + srtt;
            }
        } else {
            self.window += self.largest * (acked.newly_acked.as_f64() / self.window).min(1.0);
            self.window = self.window.min(1e9);
        }
        self.answer()
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Reduces
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        if let Assigned::Window(window) = assigned {
            self.window = window.as_f64().clamp(2.0 * self.largest, 1e9);
        }
        self.answer()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        let is_out = self.packets.in_flight() > Bytes::ZERO;
        is_out.then(|| (self.heard + PATIENCE, TimeoutReason::Stalled))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        if self.next_timeout().is_some_and(|(due, _)| due <= now) {
            self.packets.forget();
            self.window = 2.0 * self.largest;
        }
        self.answer()
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            window: Some(Bytes::new(self.window as u64)),
            in_flight: Some(self.packets.in_flight()),
            srtt: self.srtt,
            target: Some(self.rate()),
            ..Snapshot::default()
        }
    }
}

#[test]
fn a_controller_of_ones_own_keeps_every_promise() {
    let findings = paceline_conformance::check(Mine::new, Steers::Media);
    let findings: Vec<String> = findings.iter().map(|finding| finding.to_string()).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
