//! The draft's example test cases (its appendix) on a path in the test: a bottleneck with a queue, that drops, slows down and
//! gathers acknowledgements as the case says. Whole scenarios are in `crates/sim/tests/pure/bbr3.rs`.

mod losses;
mod path;
mod paths;
mod probe_bw;
mod probe_rtt;
mod startup;

use super::*;
use crate::FlowSetup;
use crate::window::drive::{Flow, SIZE};
use paceline_units::Bytes;

/// A rate sample of nothing.
pub(super) fn sample() -> Sample {
    Sample {
        now: Time::ZERO,
        delivery_rate: 0.0,
        delivered: 0.0,
        prior_delivered: 0,
        app_limited: false,
        tx_in_flight: 0.0,
        lost: 0.0,
        rtt: None,
        newly_acked: 0.0,
        flight_before: 0.0,
    }
}

/// Of a packet sent with so much in flight, before anything was lost.
fn note(tx_in_flight: u64) -> Note {
    let mut note = Note::default();
    note.extra = Sending { tx_in_flight, lost: 0 };
    note
}

fn make() -> Flow<Bbr3Law> {
    with(Params::default())
}

fn with(params: Params) -> Flow<Bbr3Law> {
    Flow::new(Bbr3::new(&params, &FlowSetup::new(Bytes::new(SIZE))))
}
