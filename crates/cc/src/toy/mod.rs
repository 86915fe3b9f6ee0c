//! A toy: half the rate when a packet is missing, a little more for each report else.

use crate::{
    Assigned, Controller, FlowSetup, Offered, Report, SendQueueState, SentPacket, Snapshot, Status, StreamId,
    TimeoutReason, Update,
};
use paceline_units::{Bitrate, Time, params};

params! {
    /// The parameters of [`Toy`].
    pub struct Params {
        start: Bitrate = Bitrate::from_kbps(300), in 1e3, 1e12, "ours", "First rate";
        step: f64 = 1.02, in 1.0, 2.0, "ours", "Factor of the rate for a report without loss";
    }
    profiles {
        "default": "2 % more for each report" => Params::default,
    }
}

/// The toy. `assign` overwrites its rate.
#[derive(Clone, Debug)]
pub struct Toy {
    rate: f64,
    step: f64,
}

impl Toy {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, _setup: &FlowSetup) -> Toy {
        Toy { rate: params.start.as_bps_f64(), step: params.step }
    }

    fn say(&self) -> Update {
        let rate = Bitrate::from_bps_f64(self.rate);
        Update::none().with_target(rate).with_pacing_rate(rate)
    }
}

impl Controller for Toy {
    fn on_offered(&mut self, _now: Time, _offered: &Offered, _queue: &SendQueueState) -> Update {
        self.say()
    }

    fn on_sent(&mut self, _now: Time, _packet: &SentPacket) -> Update {
        Update::none()
    }

    fn on_report(&mut self, _now: Time, report: &Report<'_>) -> Update {
        if let Report::Packets(report) = report {
            let missing = report.packets.iter().any(|packet| packet.status == Status::Missing);
            self.rate = (self.rate * if missing { 0.5 } else { self.step }).clamp(1e4, 1e10);
        }
        self.say()
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        if let Assigned::Rate(rate) = assigned {
            self.rate = rate.as_bps_f64();
        }
        self.say()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        None
    }

    fn on_timeout(&mut self, _now: Time) -> Update {
        Update::none()
    }

    fn target_bitrate(&self, _stream: StreamId) -> Option<Bitrate> {
        Some(Bitrate::from_bps_f64(self.rate))
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { target: Some(Bitrate::from_bps_f64(self.rate)), ..Snapshot::default() }
    }
}
