//! A controller that does not control: it sends at one rate, whatever the network says.
//!
//! The baseline of comparisons, the background traffic of studies, and the probe with which links are tested.

use crate::{
    Allowance, Assigned, Controller, FlowSetup, Offered, Report, SendQueueState, SentPacket, Snapshot,
    StreamId, TimeoutReason, Update,
};
use paceline_units::{Bitrate, Bytes, Time, params};

params! {
    /// The parameters of [`Fixed`].
    pub struct Params {
        rate: Bitrate = Bitrate::from_mbps(1), in 1e3, 1e12, "ours", "Rate at which packets are spaced, headers in";
        media_part: f64 = 0.95, in 0.01, 1.0, "ours", "Target of the media as a part of the rate; the rest is for headers and for frames that vary";
    }
    profiles {
        "default": "1 Mbit/s" => Params::default,
    }
}

/// The controller without a reaction. `assign` overwrites its rate.
#[derive(Clone, Debug)]
pub struct Fixed {
    rate: Bitrate,
    media_part: f64,
    in_flight: Bytes,
    said: bool,
}

impl Fixed {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, _setup: &FlowSetup) -> Fixed {
        Fixed { rate: params.rate, media_part: params.media_part, in_flight: Bytes::ZERO, said: false }
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

    fn on_sent(&mut self, _now: Time, packet: &SentPacket) -> Update {
        self.in_flight += packet.size;
        self.say()
    }

    fn on_report(&mut self, _now: Time, report: &Report<'_>) -> Update {
        // What a report covers is no longer under way, arrived or not: nothing depends on it.
        if let Report::Packets(report) = report {
            self.in_flight -= report.packets.iter().map(|packet| packet.size).sum();
        }
        self.say()
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        if let Assigned::Rate(rate) = assigned {
            self.rate = rate;
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
        Snapshot {
            window: None,
            in_flight: Some(self.in_flight),
            srtt: None,
            queue_delay: None,
            target: Some(self.target()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pacing;

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
    }
}
