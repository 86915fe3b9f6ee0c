//! The two constants.

use super::*;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, lost};
use crate::{FlowSetup, Recovery};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn};

fn make(profile: &str, packets: u64) -> Flow<Avoidance<GaimdRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Gaimd::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
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
fn adds_alpha_and_leaves_beta() {
    for packets in [10, 1000] {
        let (grown, left) = step("yang-lam", packets);
        close(grown, 0.31);
        close(left, 0.875);
        let (grown, left) = step("reno", packets);
        close(grown, 1.0);
        close(left, 0.5);
    }
}

/// Yang and Lam 2000: friendly to Reno where alpha = 4 (1 - beta^2) / 3, in the part of its equation that timeouts rule.
#[test]
fn the_pair_is_friendly_to_reno() {
    let Params { alpha, beta, .. } = Params::default();
    close((4.0 * (1.0 - beta * beta) / 3.0 * 100.0).round() / 100.0, alpha);
}
