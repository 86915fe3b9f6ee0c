//! `feedback.format = "twcc"` in both worlds: calls of one and of two streams under transport-wide reports.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the ends run side by side, in threads of one process"
)]

#[allow(dead_code, reason = "not all of it is needed here")]
mod call;
#[allow(dead_code, reason = "what the relay says is not needed here")]
mod ends;

use call::{flow, loaded};
use paceline_metrics::FlowSummary;
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;

/// A call over 4 Mbit/s and 40 ms whose reports are in `format`, of one stream or of two.
fn scenario(format: &str, streams: usize, seconds: u32, more: &str) -> String {
    let source = "source = { kind = \"cbr\", rate = \"1Mbps\", adaptive = true, fps = 50 }\n";
    let streams = match streams {
        1 => source.to_string(),
        _ => format!(
            "[flows.only.streams.camera]\n{source}[flows.only.streams.screen]\n{source}priority = 2.0\n"
        ),
    };
    format!(
        "duration = \"{seconds}s\"\n[links.bottleneck]\nrate = \"4Mbps\"\ndelay = \"20ms\"\nqueue = {{ packets = 50 }}\n\
         [flows.only]\ncontroller = \"gcc\"\nfeedback = {{ format = \"{format}\", packets = 8 }}\npath = [\"bottleneck\"]\n\
         return_delay = \"20ms\"\n{more}{streams}"
    )
}

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
fn over_sockets_every_packet_is_numbered_and_reported_on() {
    for streams in [1, 2] {
        let loaded = loaded(&scenario("twcc", streams, 6, ""));
        let ends = ends::run(&loaded, |_, _, _| ());
        let (sent, received) = (flow(&ends.sender), flow(&ends.receiver));
        let (packets, arrived) =
            (sent.packets_sent.expect("packets"), received.packets_received.expect("packets"));
        assert!(
            arrived >= 250 && packets - arrived < 50,
            "{streams} streams: {packets} and {arrived} packets"
        );
        assert_eq!(ends.receiver.counters.malformed, 0, "each has its number");
        let counters = &ends.sender.counters;
        assert_eq!(
            (counters.malformed, counters.unknown_reports, counters.other_rtcp),
            (0, 0, 0),
            "{counters:?}"
        );
        assert!(sent.srtt_ms.p50.is_some_and(|srtt| (35.0..120.0).contains(&srtt)), "{:?}", sent.srtt_ms);
    }
}

#[test]
fn a_format_without_an_ecn_field_is_no_format_for_packets_that_can_be_marked() {
    let text = scenario("twcc", 1, 6, "ecn = \"classic\"\n").replace("\"gcc\"", "\"scream\"");
    let origin = Origin { text: &text, file: "test.toml", sets: &[] };
    let error = load(&origin, &Loader::default()).expect_err("refused").to_string();
    assert!(error.contains("format") && error.contains("no ECN field"), "{error}");
}
