//! A controller that does not control: it sends at one rate, whatever the network says.
//!
//! The baseline of comparisons, the background traffic of studies, and the probe with which links are tested.

use paceline_cc::params::{ParamError, ParamKind, ParamSet, ParamSpec, ParamValue};
use paceline_cc::{
    Allowance, Assigned, Controller, Offered, Report, SendQueueState, SentPacket, Snapshot, TimeoutReason,
    Update,
};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// The parameters of [`Fixed`].
#[derive(Clone, PartialEq, Debug)]
pub struct FixedParams {
    /// Pacing rate, headers in.
    pub rate: Bitrate,
    /// The target bitrate of the media, as a part of `rate`.
    pub media_part: f64,
}

/// The named sets of parameters.
pub const PROFILES: &[(&str, &str)] = &[("default", "1 Mbit/s")];

const SPECS: &[ParamSpec] = &[
    ParamSpec {
        name: "rate",
        kind: ParamKind::Rate,
        range: (1e3, 1e12),
        source: "ours",
        help: "Rate at which packets are spaced, headers in",
    },
    ParamSpec {
        name: "media_part",
        kind: ParamKind::Ratio,
        range: (0.01, 1.0),
        source: "ours",
        help: "Target of the media as a part of the rate; the rest is for headers and for frames that vary",
    },
];

impl FixedParams {
    /// The named set, if there is one of that name.
    pub fn profile(name: &str) -> Option<FixedParams> {
        (name == "default").then_some(FixedParams { rate: Bitrate::from_mbps(1), media_part: 0.95 })
    }

    /// Whether the parameters fit each other: always.
    pub(super) fn validate(&self) -> Result<(), ParamError> {
        Ok(())
    }
}

impl ParamSet for FixedParams {
    fn specs(&self) -> &'static [ParamSpec] {
        SPECS
    }

    fn value(&self, name: &str) -> Option<ParamValue> {
        match name {
            "rate" => Some(ParamValue::Rate(self.rate)),
            "media_part" => Some(ParamValue::Ratio(self.media_part)),
            _ => None,
        }
    }

    fn set(&mut self, name: &str, value: ParamValue) -> Result<(), ParamError> {
        let Some(spec) = SPECS.iter().find(|spec| spec.name == name) else {
            return Err(ParamError::Unknown { known: SPECS.iter().map(|spec| spec.name).collect() });
        };
        if !(spec.range.0..=spec.range.1).contains(&value.as_f64()) {
            return Err(ParamError::Range { range: spec.range });
        }
        match (name, value) {
            ("rate", ParamValue::Rate(rate)) => self.rate = rate,
            ("media_part", ParamValue::Ratio(part)) => self.media_part = part,
            _ => return Err(ParamError::Kind { expected: spec.kind }),
        }
        Ok(())
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
    pub fn new(params: &FixedParams) -> Fixed {
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

    fn target_bitrate(&self, _stream: paceline_cc::StreamId) -> Option<Bitrate> {
        Some(self.target())
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            window: None,
            in_flight: Some(self.in_flight),
            srtt: None::<TimeDelta>,
            queue_delay: None,
            target: Some(self.target()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Pacing;

    #[test]
    fn it_says_its_rate_once_and_again_when_assigned_another() {
        let mut fixed = Fixed::new(&FixedParams::profile("default").expect("there is one"));
        assert_eq!(fixed.next_timeout(), Some((Time::ZERO, TimeoutReason::MediaRate)));
        let update = fixed.on_timeout(Time::ZERO);
        assert_eq!(update.pacing, Some(Pacing::Rate(Bitrate::from_mbps(1))));
        assert_eq!(fixed.on_timeout(Time::ZERO), Update::none());
        assert_eq!(fixed.next_timeout(), None);
        let update = fixed.assign(Time::ZERO, Assigned::Rate(Bitrate::from_mbps(2)));
        assert_eq!(update.pacing, Some(Pacing::Rate(Bitrate::from_mbps(2))));
    }

    #[test]
    fn parameters_out_of_range_change_nothing() {
        let mut params = FixedParams::profile("default").expect("there is one");
        assert!(params.set("media_part", ParamValue::Ratio(2.0)).is_err());
        assert!(params.set("media_part", ParamValue::Rate(Bitrate::from_bps(1))).is_err());
        assert!(params.set("speed", ParamValue::Ratio(0.5)).is_err());
        assert_eq!(Some(params), FixedParams::profile("default"));
    }
}
