//! Paths that move: delays that step, grow and shrink, as packets and controllers see them.

use crate::members;
use crate::world::{column, count, flow, link, run};
use paceline_cc::Steers;

/// A call over a link, both of whose ways have delays that change so.
fn call(controller: &str, delay: &str) -> String {
    format!(
        "duration = \"60s\"\nwarmup = \"10s\"\nsample = \"100ms\"\n\
         [links.there]\nrate = \"10Mbps\"\ndelay = {delay}\nqueue = {{ limit = \"300ms\" }}\n\
         [links.back]\nrate = \"100Mbps\"\ndelay = {delay}\nqueue = {{ packets = 1000 }}\n\
         [flows.f]\ntransport = \"rtp\"\ncontroller = {controller}\npath = [\"there\"]\nreturn_path = [\"back\"]\n\
         source = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }}\n"
    )
}

const HANDOVERS: &str = "{ steps = [[\"0s\", \"50ms\"], [\"20s\", \"10ms\"], [\"30s\", \"50ms\"], [\"40s\", \"10ms\"], [\"50s\", \"50ms\"]] }";

#[test]
fn a_datagram_has_the_delay_of_its_moment() {
    let text = "duration = \"4s\"\nsample = \"500ms\"\n[links.l]\nrate = \"10Gbps\"\nqueue = { packets = 9 }\n\
                delay = { steps = [[\"0s\", \"50ms\"], [\"1s\", \"10ms\"], [\"2s\", \"90ms\"]] }\n\
                [flows.f]\ntransport = \"udp\"\npath = [\"l\"]\nsource = { kind = \"cbr\", rate = \"800kbps\" }\n";
    for (overtake, overtaking) in [("", 0), ("overtake = true", 2)] {
        let outcome = run(&text.replace("[flows.f]", &format!("{overtake}\n[flows.f]")));
        let delays = column(&outcome.flows, "flow", "f", "one_way_delay_ms");
        let expected = [50.0, 50.0, 10.0, 10.0, 90.0, 90.0];
        // The sample in which the route becomes shorter has those that wait behind the longer one.
        let near = |place: usize| (delays[place] - expected[place]).abs() < 0.5;
        assert!([0, 1, 3, 5].into_iter().all(near), "{delays:?}");
        assert_eq!(link(&outcome, "l").overtaking, overtaking);
        // Nothing is lost: the rest was under way when the flow stopped.
        let figures = flow(&outcome, "f");
        assert!(count(figures.packets_sent) - count(figures.packets_received) <= 6, "{figures:?}");
    }
}

/// A shaper is as a link of its rate that carries a burst at once: over a second it lets its rate pass, and what waits for tokens counts
/// as a wait in the queue. Its limit drops what is more.
#[test]
fn a_shaper_holds_back_and_drops() {
    let datagrams = |rate: &str| {
        format!(
            "duration = \"20s\"\nwarmup = \"1s\"\n[links.l]\nrate = \"1Gbps\"\nqueue = {{ packets = 9 }}\ndelay = \"10ms\"\n\
             shaper = {{ rate = \"2Mbps\", burst = \"12kB\", limit = \"100ms\" }}\n\
             [flows.f]\ntransport = \"udp\"\npath = [\"l\"]\nsource = {{ kind = \"cbr\", rate = \"{rate}\" }}\n"
        )
    };
    let (below, above) = (run(&datagrams("1900kbps")), run(&datagrams("4Mbps")));
    let figures = |outcome| (flow(outcome, "f").throughput_mbps.unwrap_or(0.0), link(outcome, "l"));
    let (rate, quiet) = figures(&below);
    assert!((rate - 1.9).abs() < 0.02 && quiet.shaped + quiet.dropped == 0, "{rate} {quiet:?}");
    let (rate, full) = figures(&above);
    assert!((rate - 2.0).abs() < 0.01, "{rate}");
    let wait = full.queue_delay_ms.mean.unwrap_or(0.0);
    assert!((90.0..=100.0).contains(&wait), "{wait}");
    assert!(full.shaped.abs_diff(full.delivered) < 30 && full.dropped > full.delivered / 2, "{full:?}");
    assert_eq!(flow(&above, "f").queue_delay_ms.mean.map(f64::round), Some(wait.round()));
}

/// Set after a first look: each keeps half of its rate over a path that does not move, and at most 100 ms more of queue.
#[test]
fn every_controller_goes_on_after_handovers() {
    let media =
        |member: &members::Member| matches!(member.params.steers(), Steers::Media | Steers::Datagrams);
    for member in members::untuned().filter(media) {
        let [moving, still] = [HANDOVERS, "\"50ms\""].map(|delay| run(&call(&member.controller(), delay)));
        let rate = |outcome| flow(outcome, "f").throughput_mbps.expect("packets arrived");
        let wait = |outcome| flow(outcome, "f").queue_delay_ms.p95.expect("packets arrived");
        let (name, rates, waits) =
            (&member.name, (rate(&moving), rate(&still)), (wait(&moving), wait(&still)));
        println!(
            "{name:30} {:5.2} of {:5.2} Mbit/s, p95 of the queue {:5.1} and {:5.1} ms",
            rates.0, rates.1, waits.0, waits.1
        );
        assert!(rates.0 > 0.5 * rates.1 && waits.0 < waits.1 + 100.0, "{name}");
    }
}
