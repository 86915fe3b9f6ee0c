//! The two powers.

use super::*;
use crate::FlowSetup;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, close, one_step};
use paceline_units::Bytes;
use paceline_units::param::Profiles;

fn make(profile: &str, packets: u64) -> Flow<Avoidance<BinomialRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Binomial::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn step(profile: &str, packets: u64) -> (f64, f64) {
    one_step(|| make(profile, packets))
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
