//! `feedback.format = "twcc"` in the simulator: calls of one and of two streams under transport-wide reports.

use crate::call::formats::scenario;
use crate::call::loaded;
use paceline_metrics::FlowSummary;
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;

fn simulated(loaded: &Loaded) -> FlowSummary {
    let mut simulation = Simulation::new(loaded, Pace::Windowed).expect("sound links");
    while !simulation.advance(TimeDelta::from_secs(10)) {}
    simulation.finish().summary.flows.remove("only").expect("it ran")
}

/// A controller that reads arrival times alone comes to the same rate under either format: within 5 %, set before the first
/// run; the clock's steps differ, 250 us and 1/1024 s.
#[test]
fn in_the_simulator_a_call_has_the_rate_that_it_has_under_rfc8888() {
    for streams in [1, 2] {
        let [twcc, rfc8888] =
            ["twcc", "rfc8888"].map(|format| simulated(&loaded(&scenario(format, streams, 60, ""))));
        let (ours, theirs) = (twcc.goodput_mbps.expect("media"), rfc8888.goodput_mbps.expect("media"));
        assert!(
            (ours / theirs - 1.0).abs() < 0.05 && ours > 1.5,
            "{streams} streams: {ours} and {theirs} Mbit/s"
        );
    }
}

#[test]
fn a_format_without_an_ecn_field_is_no_format_for_packets_that_can_be_marked() {
    let text = scenario("twcc", 1, 6, "ecn = \"classic\"\n").replace("\"gcc\"", "\"scream\"");
    let origin = Origin { text: &text, file: "test.toml", sets: &[] };
    let error = load(&origin, &Loader::default()).expect_err("refused").to_string();
    assert!(error.contains("format") && error.contains("no ECN field"), "{error}");
}
