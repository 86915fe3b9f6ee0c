//! The two powers.

use super::*;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, lost};
use crate::{FlowSetup, Recovery};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn};

fn make(profile: &str, packets: u64) -> Flow<Avoidance<BinomialRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Binomial::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-3 * expected.abs().max(1e-3), "{found}, not {expected}");
}

/// Growth of a window of so many packets in the acknowledgements of a round trip, and the part that a loss leaves.
fn step(profile: &str, packets: u64) -> (f64, f64) {
    let mut flow = make(profile, packets);
    flow.ack(0..1, Ecn::NotEct);
    let grown = (flow.cwnd() - packets as f64) * packets as f64;
    let mut flow = make(profile, packets);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!(flow.cwnd(), flow.ssthresh(), "no slow start follows");
    (grown, flow.cwnd() / packets as f64)
}

#[test]
fn sqrt_grows_and_falls_by_square_roots() {
    for (packets, grown, taken) in [(25, 0.2, 10.0 / 3.0), (100, 0.1, 20.0 / 3.0)] {
        let (found, left) = step("sqrt", packets);
        close(found, grown);
        close(packets as f64 * (1.0 - left), taken);
    }
}

#[test]
fn iiad_grows_inversely_and_falls_by_a_constant() {
    for (packets, grown) in [(25, 0.04), (100, 0.01)] {
        let (found, left) = step("iiad", packets);
        close(found, grown);
        close(packets as f64 * (1.0 - left), 2.0 / 3.0);
    }
}
