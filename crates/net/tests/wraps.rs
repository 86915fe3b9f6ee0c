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

/// The clock of a receiver that was just started.
const PLAIN: &str = r#"start = "0s""#;

/// A call of a second and a half whose numbers begin so, with reports in `format` of a receiver whose clock is set so.
fn call(rtp: &str, format: &str, clock: &str) -> Loaded {
    loaded(&format!(
        "duration = \"1500ms\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"5ms\"\nqueue = {{ packets = 100 }}\n[flows.f]\n\
         controller = {{ kind = \"scream\", target_bitrate_start = \"2Mbps\" }}\npath = [\"l\"]\n\
         source = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }}\n\
         rtp = {{ {rtp} }}\nfeedback = {{ format = \"{format}\", {clock} }}\n"
    ))
}

fn simulated(loaded: &Loaded) -> FlowSummary {
    let mut simulation = Simulation::new(loaded, Pace::Windowed).expect("a simulation");
    while !simulation.advance(TimeDelta::from_secs(1)) {}
    simulation.finish().summary.flows.into_values().next().expect("a flow")
}

/// The wrap changes nothing in the simulator; over loopback nothing is lost, refused or begun anew.
fn passes(rtp: &str, format: &str, clock: &str) {
    let plain = simulated(&call("ssrc = 100, first_sequence = 0, first_timestamp = 0", format, PLAIN));
    let wrapping = call(rtp, format, clock);
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
    passes("first_sequence = 65500", "rfc8888", PLAIN);
}

/// TWCC's numbers, which begin where the first stream's do, and the count of its reports, which has eight bits.
#[test]
fn transport_wide_numbers_wrap() {
    passes("first_sequence = 65500", "twcc", PLAIN);
}

#[test]
fn rtp_timestamps_wrap() {
    // 90,000 ticks before the wrap are a second.
    for format in ["rfc8888", "twcc"] {
        passes("first_sequence = 0, first_timestamp = 4294922296", format, PLAIN);
    }
}

#[test]
fn report_timestamps_wrap() {
    passes("ssrc = 4294967295", "rfc8888", r#"start = "65535500ms""#);
}

/// Reference times of TWCC count 64 ms in 24 bits: they wrap after 1,073,741.824 s, more than the longest time of a scenario.
#[test]
fn reference_times_wrap() {
    passes("ssrc = 4294967295", "twcc", r#"start = "1000000s", clock_steps = [["0s", "73741.312s"]]"#);
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
