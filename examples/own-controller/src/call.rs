//! The controller in the simulator, by its name, and the duties of every controller.

use super::{Aimd, Params};
use paceline_cc::FlowSetup;
use paceline_cc::guest::{OwnController, register};
use paceline_scenario::{Loader, Origin, load};
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;

/// Throughput of a call over 3 Mbit/s in Mbit/s, under the controller that this text names.
fn throughput(controller: &str) -> Result<f64, String> {
    let text = format!(
        "duration = \"30s\"\nwarmup = \"10s\"\n\
         links.path = {{ rate = \"3Mbps\", delay = \"20ms\", queue = {{ kind = \"droptail\", limit = \"300ms\" }} }}\n\
         flows.call = {{ controller = {controller}, path = [\"path\"], source = {{ kind = \"bulk\" }} }}\n"
    );
    let origin = Origin { text: &text, file: "call", sets: &[] };
    let loaded = load(&origin, &Loader::default()).map_err(|error| error.to_string())?;
    let mut simulation = Simulation::new(&loaded, Pace::Windowed).map_err(|error| error.to_string())?;
    while !simulation.advance(TimeDelta::from_secs(1)) {}
    let outcome = simulation.finish();
    outcome.summary.flows.get("call").and_then(|flow| flow.throughput_mbps).ok_or_else(|| "no figure".into())
}

#[test]
fn it_is_chosen_by_its_name_and_fills_a_path() {
    assert!(throughput("\"aimd\"").is_err(), "nobody has registered it");
    register::<Aimd>().expect("a name of its own");
    assert!(register::<Aimd>().is_err(), "once");
    let usual = throughput("\"aimd\"").expect("a run");
    assert!((1.5..3.0).contains(&usual), "{usual} Mbit/s");
    let patient = throughput("{ kind = \"aimd\", profile = \"patient\", gain = 0.9 }").expect("a run");
    assert!(patient > usual, "{patient} and {usual} Mbit/s");
    let wrong = throughput("{ kind = \"aimd\", gain = 2.0 }").expect_err("out of range");
    assert!(wrong.contains("gain") && wrong.contains("0.99"), "{wrong}");
}

#[test]
fn it_does_the_duties_of_every_controller() {
    let mine = |setup: &FlowSetup| Aimd::new(&Params::default(), setup);
    let findings = paceline_conformance::check(mine, Aimd::STEERS);
    assert!(findings.is_empty(), "{findings:#?}");
}
