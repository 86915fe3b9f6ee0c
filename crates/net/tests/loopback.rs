//! One call on real sockets and the machine's clock, in a few seconds: SCReAM over RTP through a relay of 4 Mbit/s. All others
//! are in `real_time`.

#[allow(dead_code, reason = "nothing is waited for here")]
mod lateness;

use lateness::{judge_on_time, late_ms};
use paceline_net::{Control, LiveOptions, LiveOutput, live};
use paceline_scenario::{Loader, Origin, load};
use std::sync::atomic::AtomicBool;

const CALL: &str = r#"
    duration = "3s"
    [links.path]
    rate = "4Mbps"
    delay = "20ms"
    queue = { limit = "300ms" }
    [flows.video]
    controller = { kind = "scream", target_bitrate_start = "1Mbps", target_bitrate_max = "3Mbps" }
    source = { kind = "trace-encoder", generator = "frames", fps = 50 }
    path = ["path"]
    return_delay = "20ms"
"#;

/// A call whose outcome holds however late the machine is: media is carried, shown and reported on, nothing is lost on the way, nothing
/// refused, and nothing arrives sooner than its link can carry it.
fn call() -> LiveOutput {
    let loaded = load(&Origin { text: CALL, file: "loopback.toml", sets: &[] }, &Loader::default());
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_| () };
    let output = live(&loaded.expect("a scenario"), &LiveOptions::default(), &control).expect("a call");
    let ends = [&output.sender, &output.link, &output.receiver];
    let [sent, relayed, received] = ends.map(|end| &end.summary.flows["video"]);
    let (left, passed) = (sent.packets_sent.expect("a count"), relayed.packets_received.expect("a count"));
    let arrived = received.packets_received.expect("a count");
    assert!(left >= passed && passed >= arrived && arrived > 30, "{left}, {passed} and {arrived} packets");
    assert!(sent.packets_received.is_some_and(|told| 0 < told && told <= arrived), "{sent:?}");
    assert!(received.frames.displayed.is_some_and(|shown| shown > 20), "{:?}", received.frames);
    assert!(
        received.one_way_delay_ms.p50.is_some_and(|delay| delay >= 19.8),
        "one machine, one clock: {received:?}"
    );
    assert!(sent.srtt_ms.p50.is_some_and(|round_trip| round_trip >= 39.6), "{sent:?}");
    for end in ends {
        let counters = end.counters;
        let refused =
            [counters.malformed, counters.unknown_peers, counters.unknown_reports, counters.unsendable];
        assert_eq!(refused, [0; 4], "{counters:?}");
    }
    output
}

#[test]
fn a_call_has_the_delay_of_its_link_and_grows_to_what_its_encoder_takes() {
    judge_on_time(call, |output| {
        let [sent, relayed, received] =
            [&output.sender, &output.link, &output.receiver].map(|end| &end.summary.flows["video"]);
        for figures in [sent, relayed, received] {
            assert!(figures.throughput_mbps.is_some_and(|mbps| (1.0..3.6).contains(&mbps)), "{figures:?}");
        }
        for figures in [sent, received] {
            assert!(figures.loss_ratio.is_some_and(|lost| lost < 0.01), "{figures:?}");
        }
        let late = late_ms(&[&output.sender, &output.link]);
        let delay = received.one_way_delay_ms.p50.expect("one clock");
        assert!(delay < 40.0 + late, "{delay} ms, {late} ms late: {received:?}");
        let (captured, shown) = (sent.frames.captured, received.frames.displayed);
        assert!(captured.is_some_and(|frames| (140..=150).contains(&frames)), "{:?}", sent.frames);
        assert!(shown.is_some_and(|frames| frames >= 120), "{:?}", received.frames);
    });
}
