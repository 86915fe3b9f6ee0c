//! Controllers: any bytes are a sequence of operations of the contract, against an independent model of the flight, and
//! receiver halves: any bytes are arrivals.
//!
//! Of an input the first two bytes choose. The interpreter is that of the conformance suite.
#![cfg_attr(fuzzing, no_main)]

use paceline_cc::{AnyController, ControllerParams, FlowSetup};
use paceline_conformance::LARGEST;
use paceline_conformance::hostile::{self, Flight};

paceline_fuzz::target!(controller_ops);

/// The first byte chooses among all kinds under all their profiles; the second one L4S, or the receiver half where there is one.
fn controller_ops(data: &[u8]) {
    let [kind, variant, operations @ ..] = data else { return };
    let all: Vec<_> = ControllerParams::all().collect();
    let (params, profile) = &all[usize::from(*kind) % all.len()];
    let name = params.kind();
    let half = AnyController::receiver_half(params);
    let flight = Flight::of(params.steers(), half.is_some());
    if let Some(mut half) = half.filter(|_| variant % 2 == 1) {
        let verdict = hostile::drive_half(&mut half, operations);
        return verdict.unwrap_or_else(|broken| panic!("the receiver half of {name} {profile}: {broken}"));
    }
    let setup = FlowSetup { l4s: variant % 2 == 1, ..FlowSetup::new(LARGEST) };
    let mut controller = AnyController::new(params, &setup).expect("a registered profile");
    // `fixed` counts what reports cover as no longer under way, as often as they cover it: the suite exempts it, too.
    let verdict = match params {
        ControllerParams::Fixed(_) => hostile::survive(&mut controller, flight, operations),
        _ => hostile::drive(&mut controller, flight, LARGEST, operations),
    };
    if let Err(broken) = verdict {
        panic!("{name} {profile}: {broken}");
    }
}
