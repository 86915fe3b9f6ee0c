//! Numbers that wrap, in seconds: a run that begins just before the wrap, simulated and over loopback.

#[allow(dead_code, reason = "not all of it is needed here")]
mod call;
#[allow(dead_code, reason = "the relay says nothing of it")]
mod ends;

use call::{flow, loaded};
use ends::run;
use paceline_metrics::FlowSummary;
use paceline_scenario::Loaded;
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;

/// A call of a second and a half whose numbers begin so.
fn call(rtp: &str, clock: &str) -> Loaded {
    loaded(&format!(
        "duration = \"1500ms\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"5ms\"\nqueue = {{ packets = 100 }}\n[flows.f]\n\
         controller = {{ kind = \"scream\", target_bitrate_start = \"2Mbps\" }}\npath = [\"l\"]\n\
         source = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }}\n\
         rtp = {{ {rtp} }}\nfeedback = {{ start = \"{clock}\" }}\n"
    ))
}

fn simulated(loaded: &Loaded) -> FlowSummary {
    let mut simulation = Simulation::new(loaded, Pace::Windowed).expect("a simulation");
    while !simulation.advance(TimeDelta::from_secs(1)) {}
    simulation.finish().summary.flows.into_values().next().expect("a flow")
}

/// The wrap changes nothing in the simulator; over loopback nothing is lost, refused or begun anew.
fn passes(rtp: &str, clock: &str) {
    let plain = simulated(&call("ssrc = 100, first_sequence = 0, first_timestamp = 0", "0s"));
    let wrapping = call(rtp, clock);
    assert_eq!(simulated(&wrapping), plain);
    let ends = run(&wrapping, |_, _, _| ());
    let (sent, received) = (flow(&ends.sender), flow(&ends.receiver));
    assert!(sent.packets_sent > Some(100), "{sent:?}");
    for figures in [sent, received] {
        assert_eq!(figures.loss_ratio, Some(0.0), "{figures:?}");
    }
    assert!(received.frames.displayed >= Some(65), "{:?}", received.frames);
    assert!(sent.queue_delay_ms.max.is_some_and(|most| most < 1000.0), "{:?}", sent.queue_delay_ms);
    for counters in [ends.sender.counters, ends.receiver.counters] {
        let odd = [
            counters.out_of_sequence,
            counters.out_of_time,
            counters.resynchronised,
            counters.impossible_times,
            counters.unknown_reports,
            counters.unknown_ssrc,
            counters.malformed,
        ];
        assert_eq!(odd, [0; 7], "{counters:?}");
    }
}

#[test]
fn sequence_numbers_wrap() {
    passes("first_sequence = 65500", "0s");
}

#[test]
fn rtp_timestamps_wrap() {
    // 90,000 ticks before the wrap are a second.
    passes("first_sequence = 0, first_timestamp = 4294922296", "0s");
}

#[test]
fn report_timestamps_wrap() {
    passes("ssrc = 4294967295", "65535500ms");
}

/// Nobody says where the numbers of two streams begin, and they are told apart.
#[test]
fn several_streams_of_random_numbers_are_told_apart() {
    let loaded = loaded(
        "duration = \"500ms\"\n[links.l]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n[flows.f]\npath = [\"l\"]\n\
         controller = \"scream\"\n[flows.f.streams.camera]\nsource = { kind = \"cbr\", rate = \"300kbps\", fps = 50 }\n\
         [flows.f.streams.slides]\nsource = { kind = \"cbr\", rate = \"300kbps\", fps = 50 }\n",
    );
    let ends = run(&loaded, |_, _, _| ());
    let received = flow(&ends.receiver);
    assert!(received.frames.displayed >= Some(40), "{:?}", received.frames);
    assert_eq!((ends.receiver.counters.unknown_ssrc, received.loss_ratio), (0, Some(0.0)));
}
