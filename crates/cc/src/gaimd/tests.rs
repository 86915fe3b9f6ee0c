//! The two constants.

use super::*;
use crate::FlowSetup;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, close, one_step};
use paceline_units::Bytes;
use paceline_units::param::Profiles;

fn make(profile: &str, packets: u64) -> Flow<Avoidance<GaimdRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Gaimd::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn step(profile: &str, packets: u64) -> (f64, f64) {
    one_step(|| make(profile, packets))
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
