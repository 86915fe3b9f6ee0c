//! Controllers: any bytes are a sequence of operations of the contract, against an independent model of the flight, and
//! receiver halves: any bytes are arrivals.
//!
//! Of an input the first byte chooses. The interpreter is that of the conformance suite.
#![cfg_attr(fuzzing, no_main)]

use paceline_cc::scream::{Config, Params, Scream};
use paceline_cc::window::Setup;
use paceline_cc::ccid::{ccid2, ccid3};
use paceline_cc::{Controller, bbr, cubic, dctcp, ledbat, rap, reno, tfrc, vegas};
use paceline_units::Bytes;

#[path = "../../crates/cc/tests/conformance/hostile.rs"]
mod hostile;

use hostile::Flight;

paceline_fuzz::target!(controller_ops);

/// The largest packet that the controllers are told of.
const LARGEST: Bytes = Bytes::new(1212);

fn controller_ops(data: &[u8]) {
    let Some((choice, operations)) = data.split_first() else { return };
    if choice / 4 % 16 == 10 {
        let params = tfrc_params(*choice);
        let verdict = hostile::drive_half(&mut tfrc::TfrcReceiver::new(&params), operations);
        return verdict.unwrap_or_else(|broken| panic!("tfrc's receiver: {broken}"));
    }
    if choice / 4 % 16 == 13 {
        let verdict = hostile::drive_half(&mut ccid3::Ccid3Receiver::new(&ccid3_params(*choice)), operations);
        return verdict.unwrap_or_else(|broken| panic!("ccid3's receiver: {broken}"));
    }
    let (name, flight, mut controller) = controller(*choice);
    if let Err(broken) = hostile::drive(&mut *controller, flight, LARGEST, operations) {
        panic!("{name}: {broken}");
    }
}

fn tfrc_params(choice: u8) -> tfrc::Params {
    tfrc::Params::profile(["rfc5348", "ns2"][usize::from(choice & 1)]).expect("a known profile")
}

fn ccid3_params(choice: u8) -> ccid3::Params {
    ccid3::Params::profile(["rfc4342", "ns2"][usize::from(choice & 1)]).expect("a known profile")
}

/// Bits 2 to 5 choose the controller, 0 SCReAM, 10 TFRC's receiver, 13 CCID 3's; bits 0 and 1 its profile and SCReAM's marks.
fn controller(choice: u8) -> (&'static str, Flight, Box<dyn Controller>) {
    let setup = Setup { largest_packet: LARGEST, initial_window: 10, max_window: None };
    let law: (_, Box<dyn Controller>) = match choice / 4 % 16 {
        1 => ("reno", Box::new(reno::Reno::new(&reno::Params::default(), &setup))),
        2 => {
            let params = reno::Params::profile("ns2").expect("a known profile");
            ("reno ns2", Box::new(reno::Reno::new(&params, &setup)))
        }
        3 => ("cubic", Box::new(cubic::Cubic::new(&cubic::Params::default(), &setup))),
        4 => ("vegas", Box::new(vegas::Vegas::new(&vegas::Params::default(), &setup))),
        5 => ("bbr", Box::new(bbr::Bbr::new(&bbr::Params::default(), &setup))),
        6 => ("dctcp", Box::new(dctcp::Dctcp::new(&dctcp::Params::default(), &setup))),
        7 => ("ledbat", Box::new(ledbat::Ledbat::new(&ledbat::Params::default(), &setup))),
        8 => {
            let config = tfrc::Config { params: tfrc_params(choice), largest_packet: LARGEST };
            return ("tfrc", Flight::ToHighestAcknowledged, Box::new(tfrc::Tfrc::new(config)));
        }
        9 => {
            let params = rap::Params::profile(["rap1999", "ns2"][usize::from(choice & 1)]);
            let config = rap::Config { params: params.expect("a known profile"), largest_packet: LARGEST };
            return ("rap", Flight::ToHighestAcknowledged, Box::new(rap::Rap::new(config)));
        }
        11 => {
            let params = ccid2::Params::profile(["rfc4341", "rfc2861", "ns2", "ns2"][usize::from(choice & 3)]);
            let config = ccid2::Config { params: params.expect("a known profile"), largest_packet: LARGEST };
            return ("ccid2", Flight::AckVector, Box::new(ccid2::Ccid2::new(config)));
        }
        12 => {
            let config = ccid3::Config { params: ccid3_params(choice), largest_packet: LARGEST };
            return ("ccid3", Flight::ToHighestAcknowledged, Box::new(ccid3::Ccid3::new(config)));
        }
        _ => return scream(choice),
    };
    (law.0, Flight::Pipe, law.1)
}

fn scream(choice: u8) -> (&'static str, Flight, Box<dyn Controller>) {
    let profile = ["rfc8298", "reference-2022"][usize::from(choice & 1)];
    let params = Params::profile(profile).expect("a known profile");
    let controller = Scream::new(Config::one_stream(params, choice & 2 != 0, LARGEST));
    (profile, Flight::ToHighestAcknowledged, Box::new(controller))
}
