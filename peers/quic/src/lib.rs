//! The controllers of quinn and of s2n-quic. Each is told of TCP's reports as its own stack would tell it.

mod adapter;
mod quinn;
mod random;
mod round_trips;
mod s2n;

use adapter::{Adapter, Law};
use paceline_cc::{FlowSetup, Steers};
use paceline_guest::{Description, Failure, Hears, Mind, MindMaker, Setting};

/// Makes a controller of one kind for each flow.
pub struct Maker(fn(&FlowSetup) -> Box<dyn Mind>);

impl MindMaker for Maker {
    fn make(&self, _settings: &[Setting], setup: &FlowSetup) -> Result<Box<dyn Mind>, Failure> {
        Ok((self.0)(setup))
    }
}

/// Each controller's description and maker.
pub fn peers() -> [(Description, Maker); 5] {
    [
        peer("quinn-newreno", "NewReno of quinn-proto", "0.11.19", |setup| mind(quinn::new_reno(setup))),
        peer("quinn-cubic", "CUBIC of quinn-proto", "0.11.19", |setup| mind(quinn::cubic(setup))),
        peer("quinn-bbr", "BBR of quinn-proto", "0.11.19", |setup| mind(quinn::bbr(setup))),
        peer("s2n-cubic", "CUBIC of s2n-quic-core", "0.91.0", |setup| mind(s2n::cubic(setup))),
        peer("s2n-bbr", "BBRv2 of s2n-quic-core", "0.91.0", |setup| mind(s2n::bbr(setup))),
    ]
}

fn mind<L: Law + 'static>(law: L) -> Box<dyn Mind> {
    Box::new(Adapter::new(law))
}

fn peer(
    kind: &str,
    help: &str,
    version: &str,
    make: fn(&FlowSetup) -> Box<dyn Mind>,
) -> (Description, Maker) {
    let description = Description {
        kind: kind.into(),
        help: help.into(),
        version: version.into(),
        steers: Steers::ByteStream,
        hears: Hears { sent: true, recovery: true, unanswered: true, ..Hears::default() },
        parameters: Vec::new(),
    };
    (description, Maker(make))
}
