//! Controllers: any bytes are a sequence of operations of the contract, against an independent model of the flight.
//!
//! Of an input the first byte chooses the controller. The interpreter is that of the conformance suite.
#![cfg_attr(fuzzing, no_main)]

use paceline_cc::scream::{Config, Params, Scream};
use paceline_units::Bytes;

#[path = "../../crates/cc/tests/conformance/hostile.rs"]
mod hostile;

paceline_fuzz::target!(controller_ops);

/// The largest packet that the controllers are told of.
const LARGEST: Bytes = Bytes::new(1212);

fn controller_ops(data: &[u8]) {
    let Some((choice, operations)) = data.split_first() else { return };
    let profile = ["rfc8298", "reference-2022"][usize::from(choice & 1)];
    let params = Params::profile(profile).expect("a known profile");
    let mut controller = Scream::new(Config::one_stream(params, choice & 2 != 0, LARGEST));
    if let Err(broken) = hostile::drive(&mut controller, LARGEST, operations) {
        panic!("{profile}, {}: {broken}", if choice & 2 != 0 { "l4s" } else { "no l4s" });
    }
}
