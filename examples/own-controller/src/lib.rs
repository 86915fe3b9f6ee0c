//! AIMD over datagrams in a hundred lines: a rate that grows by a step with each report, and falls by a factor when a packet is lost, the
//! queue is longer than it should be, or reports stay away.

use paceline_cc::guest::OwnController;
use paceline_cc::{
    Assigned, CeResponse, Controller, FlowSetup, Limits, Offered, Report, SendQueueState, SentPacket,
    Snapshot, Status, Steers, TimeoutReason, Update,
};
use paceline_units::{Bitrate, Time, TimeDelta, params};

params! {
    /// The parameters of [`Aimd`].
    pub struct Params {
        gain: f64 = 0.8, in 0.1, 0.99, "ours", "Factor of the rate after a loss or a long queue";
        step: Bitrate = Bitrate::from_kbps(10), in 1.0, 1e9, "ours", "Growth of the rate with each report";
        queue: TimeDelta = TimeDelta::from_millis(40), in 1e-3, 10.0, "ours", "Queue delay above which the rate falls";
        silence: TimeDelta = TimeDelta::from_millis(500), in 1e-3, 10.0, "ours", "Wait for a report after which the rate falls";
        target_bitrate_min: Bitrate = Bitrate::from_kbps(50), in 1e3, 1e12, "ours", "Lowest target bitrate";
        target_bitrate_start: Bitrate = Bitrate::from_kbps(500), in 1e3, 1e12, "ours", "First target bitrate";
    }
    ordered target_bitrate_min <= target_bitrate_start;
    profiles {
        "default": "for calls" => Params::default,
        "patient": "falls later" => || Params { queue: TimeDelta::from_millis(100), ..Params::default() },
    }
}

/// Additive increase, multiplicative decrease.
#[derive(Clone, Debug)]
pub struct Aimd {
    params: Params,
    rate: Bitrate,
    limits: Option<Limits>,
    /// The smallest one-way delay so far, of clocks with any zeros.
    least: Option<TimeDelta>,
    /// No second fall before this.
    held: Time,
    /// Since when a report is waited for.
    waiting: Option<Time>,
    srtt: Option<TimeDelta>,
}

impl Aimd {
    fn answer(&mut self, wanted: Bitrate) -> Update {
        let wanted = wanted.max(self.params.target_bitrate_min);
        self.rate = self.limits.map_or(wanted, |limits| limits.clamp(wanted));
        Update::none()
            .with_target(self.rate)
            .with_pacing_rate(scaled(self.rate, 1.5).max(Bitrate::from_kbps(1)))
    }
}

fn scaled(rate: Bitrate, factor: f64) -> Bitrate {
    Bitrate::from_bps_f64(rate.as_bps_f64() * factor)
}

impl OwnController for Aimd {
    type Params = Params;

    const KIND: &'static str = "aimd";
    const HELP: &'static str = "AIMD: grows by a step, falls by a factor after losses and long queues";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const STEERS: Steers = Steers::Datagrams;

    fn new(params: &Params, _setup: &FlowSetup) -> Aimd {
        let rate = params.target_bitrate_start;
        Aimd {
            params: params.clone(),
            rate,
            limits: None,
            least: None,
            held: Time::ZERO,
            waiting: None,
            srtt: None,
        }
    }
}

impl Controller for Aimd {
    fn on_sent(&mut self, now: Time, _packet: &SentPacket) -> Update {
        self.waiting = self.waiting.or(Some(now));
        Update::none()
    }

    fn on_offered(&mut self, _now: Time, _offered: &Offered, _queue: &SendQueueState) -> Update {
        self.answer(self.rate)
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        self.waiting = None;
        let (mut is_bad, mut newest) = (false, None);
        for packet in report.packets {
            match packet.status {
                Status::Received { arrived: Some(arrived), ecn } => {
                    let delay = arrived - packet.sent;
                    let least = self.least.map_or(delay, |least| least.min(delay));
                    self.least = Some(least);
                    is_bad |= ecn.is_ce() || delay - least > self.params.queue;
                    newest = newest.max(Some(packet.sent));
                }
                Status::Received { arrived: None, .. } => {}
                Status::Missing => is_bad = true,
            }
        }
        self.srtt = newest.map(|sent| now - sent).or(self.srtt);
        if !is_bad {
            return self
                .answer(Bitrate::from_bps_f64(self.rate.as_bps_f64() + self.params.step.as_bps_f64()));
        }
        if now < self.held {
            return Update::none();
        }
        self.held = now + TimeDelta::from_millis(200);
        self.answer(scaled(self.rate, self.params.gain))
    }

    fn on_limits(&mut self, _now: Time, limits: &Limits) -> Update {
        self.limits = Some(*limits);
        self.answer(self.rate)
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        match assigned {
            Assigned::Rate(rate) => self.answer(rate),
            Assigned::Window(_) => Update::none(),
        }
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.waiting.map(|since| (since + self.params.silence, TimeoutReason::NoFeedback))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        self.waiting = Some(now);
        self.answer(scaled(self.rate, self.params.gain))
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Reduces
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { target: Some(self.rate), srtt: self.srtt, ..Snapshot::default() }
    }
}

#[cfg(test)]
mod call;
