//! A controller that does not control: it sends at one rate, whatever the network says.
//!
//! The baseline of comparisons, the background traffic of studies, and the probe with which links are tested.

use crate::{
    Allowance, Assigned, CeResponse, Controller, DetectorConfig, FlowSetup, LossDetector, Offered, Report,
    SendQueueState, SentPacket, Snapshot, StreamId, TimeoutReason, Update,
};
use alloc::vec::Vec;
use paceline_units::{Bitrate, Time, TimeDelta, params};

/// Below this rate nothing is sent that anybody could wait for.
const SLOWEST: Bitrate = Bitrate::from_kbps(1);

params! {
    /// The parameters of [`Fixed`].
    pub struct Params {
        rate: Bitrate = Bitrate::from_mbps(1), in SLOWEST.as_bps() as f64, 1e12, "ours", "Rate at which packets are spaced, headers in";
        media_part: f64 = 0.95, in 0.01, 1.0, "ours", "Target of the media as a part of the rate; the rest is for headers and for frames that vary";
    }
    profiles {
        "default": "1 Mbit/s" => Params::default,
    }
}

/// The controller without a reaction. `assign` overwrites its rate, down to the lowest that its parameter can have.
#[derive(Clone, Debug)]
pub struct Fixed {
    rate: Bitrate,
    media_part: f64,
    /// Outstanding packets of each stream; nothing but the bytes in flight depends on it.
    streams: Vec<LossDetector>,
    said: bool,
}

/// A packet is out of the flight once a later one was acknowledged.
const DETECTOR: DetectorConfig = DetectorConfig {
    packet_threshold: None,
    reorder_window: TimeDelta::ZERO,
    reorder_window_max: TimeDelta::ZERO,
    unreported_is_lost: false,
};

impl Fixed {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, _setup: &FlowSetup) -> Fixed {
        Fixed { rate: params.rate, media_part: params.media_part, streams: Vec::new(), said: false }
    }

    fn target(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.rate.as_bps_f64() * self.media_part)
    }

    /// Everything there is to say, said once.
    fn say(&mut self) -> Update {
        if self.said {
            return Update::none();
        }
        self.said = true;
        let unlimited = Update { allowance: Some(Allowance::Unlimited), ..Update::none() };
        unlimited.with_target(self.target()).with_pacing_rate(self.rate)
    }
}

impl Controller for Fixed {
    fn on_offered(&mut self, _now: Time, _offered: &Offered, _queue: &SendQueueState) -> Update {
        self.say()
    }

    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        let id = usize::from(packet.stream.0);
        if self.streams.len() <= id {
            self.streams.resize_with(id + 1, || LossDetector::new(DETECTOR));
        }
        self.streams[id].on_sent(now, packet.sequence, packet.size);
        self.say()
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        if let Report::Packets(report) = report {
            for (id, stream) in self.streams.iter_mut().enumerate() {
                let _ = stream.on_report(now, report.of_stream(id));
            }
        }
        self.say()
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Uncontrolled
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        if let Assigned::Rate(rate) = assigned {
            self.rate = rate.max(SLOWEST);
            self.said = false;
        }
        self.say()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        (!self.said).then_some((Time::ZERO, TimeoutReason::MediaRate))
    }

    fn on_timeout(&mut self, _now: Time) -> Update {
        self.say()
    }

    fn target_bitrate(&self, _stream: StreamId) -> Option<Bitrate> {
        Some(self.target())
    }

    fn snapshot(&self) -> Snapshot {
        let in_flight = self.streams.iter().map(LossDetector::in_flight).sum();
        Snapshot { in_flight: Some(in_flight), target: Some(self.target()), ..Snapshot::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pacing, PacketResult, PacketsReport, Status};
    use paceline_units::{Bytes, Ecn};

    #[test]
    fn a_packet_that_two_reports_name_leaves_the_flight_once() {
        let mut fixed = Fixed::new(&Params::default(), &FlowSetup::new(Bytes::new(1212)));
        let (stream, size, sent) = (StreamId(0), Bytes::new(1000), Time::ZERO);
        for sequence in 0..4 {
            let packet = SentPacket { stream, sequence, size, probe: None, app_limited: false };
            let _ = fixed.on_sent(sent, &packet);
        }
        let received = Status::Received { arrived: None, ecn: Ecn::NotEct };
        let said = [received, Status::Missing, received];
        let results: Vec<_> = (0..3)
            .map(|n| PacketResult { stream, sequence: n, size, sent, status: said[n as usize] })
            .collect();
        for (reported, packets) in [(3, &results[..2]), (1, &results[..]), (1, &results[..])] {
            let report = PacketsReport { packets, clock_step: TimeDelta::from_nanos(1), ambiguous: false };
            let _ = fixed.on_report(sent, &Report::Packets(report));
            assert_eq!(fixed.snapshot().in_flight, Some(Bytes::new(1000 * reported)));
        }
    }

    #[test]
    fn it_says_its_rate_once_and_again_when_assigned_another() {
        let mut fixed = Fixed::new(&Params::default(), &FlowSetup::new(Bytes::new(1212)));
        assert_eq!(fixed.next_timeout(), Some((Time::ZERO, TimeoutReason::MediaRate)));
        let update = fixed.on_timeout(Time::ZERO);
        assert_eq!(update.pacing, Some(Pacing::Rate(Bitrate::from_mbps(1))));
        assert_eq!(fixed.on_timeout(Time::ZERO), Update::none());
        assert_eq!(fixed.next_timeout(), None);
        let update = fixed.assign(Time::ZERO, Assigned::Rate(Bitrate::from_mbps(2)));
        assert_eq!(update.pacing, Some(Pacing::Rate(Bitrate::from_mbps(2))));
        let update = fixed.assign(Time::ZERO, Assigned::Rate(Bitrate::ZERO));
        assert_eq!(
            update.pacing,
            Some(Pacing::Rate(Bitrate::from_kbps(1))),
            "a pace of zero would never send"
        );
    }
}
