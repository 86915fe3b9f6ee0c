//! GCC of libwebrtc as the crate `goog_cc` has it, and of webrtc-rs as the crate `rtc-interceptor` has it.

mod goog_cc;
mod webrtc_rs;

use paceline_cc::{FlowSetup, Steers};
use paceline_guest::{Declared, Description, Failure, Hears, Mind, MindMaker, Setting};
use paceline_units::Bitrate;
use paceline_units::param::Value;

/// The application's limits of the target.
pub struct Limits {
    min: Bitrate,
    start: Bitrate,
    max: Bitrate,
}

/// Makes a controller of one kind for each flow.
pub struct Maker(fn(&Limits) -> Box<dyn Mind>);

impl MindMaker for Maker {
    fn make(&self, settings: &[Setting], _setup: &FlowSetup) -> Result<Box<dyn Mind>, Failure> {
        let rate = |name: &str| match settings.iter().find(|(known, _)| *known == name) {
            Some((_, Value::Rate(rate))) => Ok(*rate),
            other => Err(Failure::new(format!("{name}: found {other:?}, expected a rate"))),
        };
        let limits = Limits {
            min: rate("target_bitrate_min")?,
            start: rate("target_bitrate_start")?,
            max: rate("target_bitrate_max")?,
        };
        Ok((self.0)(&limits))
    }
}

/// Each controller's description and maker.
pub fn peers() -> [(Description, Maker); 2] {
    let waking = Hears { sent: true, timeout: true, ..Hears::default() };
    [
        peer("goog-cc", "GCC of goog_cc, a port of libwebrtc's", "0.1.4", waking, |limits| {
            Box::new(goog_cc::GoogCc::new(limits))
        }),
        peer("webrtc-rs", "GCC of rtc-interceptor, of webrtc-rs", "0.21.1", Hears::default(), |limits| {
            Box::new(webrtc_rs::WebrtcRs::new(limits))
        }),
    ]
}

fn peer(
    kind: &str,
    help: &str,
    version: &str,
    hears: Hears,
    make: fn(&Limits) -> Box<dyn Mind>,
) -> (Description, Maker) {
    let limit = |name: &str, value: &str, help: &str| Declared {
        name: name.into(),
        value: value.into(),
        help: help.into(),
    };
    let description = Description {
        kind: kind.into(),
        help: help.into(),
        version: version.into(),
        steers: Steers::Media,
        hears,
        // The usual values of both crates.
        parameters: vec![
            limit("target_bitrate_min", "100kbps", "lowest target"),
            limit("target_bitrate_start", "300kbps", "first target"),
            limit("target_bitrate_max", "100Mbps", "highest target"),
        ],
    };
    (description, Maker(make))
}
