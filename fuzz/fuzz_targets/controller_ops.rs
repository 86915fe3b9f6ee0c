//! Controllers: any bytes are a sequence of operations of the contract, against an independent model of the flight, and
//! receiver halves: any bytes are arrivals.
//!
//! Of an input the first byte chooses. The interpreter is that of the conformance suite.
#![cfg_attr(fuzzing, no_main)]

use paceline_cc::scream::{self, Scream};
use paceline_cc::{rap, tfrc};
use paceline_units::Bytes;

#[path = "../../crates/cc/tests/conformance/hostile.rs"]
mod hostile;

paceline_fuzz::target!(controller_ops);

/// The largest packet that the controllers are told of.
const LARGEST: Bytes = Bytes::new(1212);

fn controller_ops(data: &[u8]) {
    let Some((choice, operations)) = data.split_first() else { return };
    let other = choice & 1 != 0;
    let (name, verdict) = match choice >> 2 & 3 {
        0 => ("scream", drive_scream(other, choice & 2 != 0, operations)),
        1 => {
            let params =
                tfrc::Params::profile(if other { "ns2" } else { "rfc5348" }).expect("a known profile");
            let mut controller = tfrc::Tfrc::new(tfrc::Config { params, largest_packet: LARGEST });
            ("tfrc", hostile::drive(&mut controller, LARGEST, operations))
        }
        2 => {
            let params =
                tfrc::Params::profile(if other { "ns2" } else { "rfc5348" }).expect("a known profile");
            ("tfrc's receiver", hostile::drive_half(&mut tfrc::TfrcReceiver::new(&params), operations))
        }
        _ => {
            let params =
                rap::Params::profile(if other { "ns2" } else { "rap1999" }).expect("a known profile");
            let mut controller = rap::Rap::new(rap::Config { params, largest_packet: LARGEST });
            ("rap", hostile::drive(&mut controller, LARGEST, operations))
        }
    };
    if let Err(broken) = verdict {
        panic!("{name}, choice {choice}: {broken}");
    }
}

fn drive_scream(reference: bool, l4s: bool, operations: &[u8]) -> Result<(), String> {
    let profile = if reference { "reference-2022" } else { "rfc8298" };
    let params = scream::Params::profile(profile).expect("a known profile");
    let mut controller = Scream::new(scream::Config::one_stream(params, l4s, LARGEST));
    hostile::drive(&mut controller, LARGEST, operations)
}
