//! A camera under every controller on paths that many people have: long and short queues, links that become slow or fall silent.
//!
//! Excuses from a controller's own source stand in a list beside each check, which demands that they are needed.

use crate::members::{self, Member};
use crate::world::{column, flow, run};
use paceline_cc::Steers;
use paceline_sim::Outcome;

const CAMERA: &str = "{ kind = \"trace-encoder\", generator = \"frames\" }";

/// A camera for `seconds` over the link `l`, with rows of a tenth of a second. `link` may go on with other tables.
fn camera(controller: &str, link: &str, seconds: u32, flow: &str) -> Outcome {
    run(&format!(
        "duration = \"{seconds}s\"\nsample = \"100ms\"\n[flows.f]\nsource = {CAMERA}\npath = [\"l\"]\n{flow}\n\
         controller = {controller}\n[links.l]\n{link}\n"
    ))
}

/// Mean of the rows from one second to another.
fn mean(rows: &[f64], from: f64, to: f64) -> f64 {
    let rows = &rows[(from * 10.0) as usize..(to * 10.0) as usize];
    rows.iter().sum::<f64>() / rows.len() as f64
}

fn rates(outcome: &Outcome, name: &str) -> Vec<f64> {
    column(&outcome.flows, "flow", "f", name)
}

/// Each kind that controls something, under each profile.
fn all() -> impl Iterator<Item = Member> {
    members::all().filter(|member| !matches!(member.params.kind(), "fixed" | "none"))
}

/// Fails where a flow that is not excused has `faults`, and where one that is excused has none.
fn judge(faults: &[(String, String)], excused: &[(&str, &str)]) {
    let wrong = members::wrong(faults, excused.iter().copied());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Seconds for which more was sent than twice what arrived, in the mean over a second, and 100 kbit/s.
fn too_fast_for(outcome: &Outcome) -> f64 {
    let (sent, arrived) = (rates(outcome, "send_rate_mbps"), rates(outcome, "throughput_mbps"));
    let seconds = sent.windows(10).zip(arrived.windows(10));
    let too_fast = |(sent, arrived): (&[f64], &[f64])| {
        sent.iter().sum::<f64>() > 2.0 * arrived.iter().sum::<f64>() + 1.0
    };
    let (_, longest) = seconds.map(too_fast).fold((0, 0), |(run, longest), too_fast| {
        let run = if too_fast { run + 1 } else { 0 };
        (run, longest.max(run))
    });
    f64::from(longest) / 10.0
}

/// RFC 5348 section 4.3: X is at most twice X_recv. A second is left to it, and one more to learn what arrives.
#[test]
fn no_flow_sends_more_than_twice_what_arrives_for_long() {
    const SILENCE: &str = "its source has no answer to silence";
    const NO_FEEDBACK: &str =
        "RFC 5348 section 4.4: half once in four round trips, and the queue is in those";
    let excused = [
        ("scream reference-2022", SILENCE),
        ("gcc libwebrtc-2012", SILENCE),
        ("tfrc rfc5348", NO_FEEDBACK),
        ("tfrc ns2", NO_FEEDBACK),
        ("ccid3 rfc4342", NO_FEEDBACK),
        ("ccid3 ns2", NO_FEEDBACK),
        ("vivace loss", "its start doubles until losses show, which a queue of seconds hides for as long"),
        ("hybla 2004", "over 60 ms slow start makes five times of a window in a round trip"),
        ("cubic rfc8312", "no limit to what the curve asks for within a round trip, which RFC 9438 has"),
    ];
    let paths = [
        ("rate = \"5Mbps\"\ndelay = \"30ms\"\nqueue = { bytes = \"1MB\" }", 5.0),
        ("network = \"adsl\"", 1.0),
        ("network = \"cable\"", 1.2),
        (
            "rate = { steps = [[\"0s\", \"10Mbps\"], [\"15s\", \"500kbps\"]] }\ndelay = \"30ms\"\nqueue = { bytes = \"1MB\" }",
            10.0,
        ),
        (
            "rate = \"5Mbps\"\ndelay = \"30ms\"\nqueue = { limit = \"300ms\" }\ndown = [[\"15s\", \"25s\"]]",
            5.0,
        ),
    ];
    let mut faults = Vec::new();
    for member in all() {
        let (name, controller) = (member.name.clone(), member.controller());
        for (path, capacity) in paths {
            let outcome = camera(&controller, path, 30, "");
            let (seconds, most) = (too_fast_for(&outcome), rates(&outcome, "send_rate_mbps"));
            let fastest =
                most.windows(10).map(|second| second.iter().sum::<f64>() / 10.0).fold(0.0, f64::max);
            println!("{name}: {seconds} s, {fastest:.1} of {capacity} Mbit/s");
            if seconds > 2.0 || fastest > 6.0 * capacity {
                faults.push((
                    name.clone(),
                    format!("{seconds} s, {fastest:.1} of {capacity} Mbit/s over {path}"),
                ));
            }
        }
    }
    judge(&faults, &excused);
}

/// A camera for five minutes: what waits to be sent is as little in the fifth as in the first.
#[test]
fn no_send_queue_grows() {
    let path = "rate = \"5Mbps\"\ndelay = \"25ms\"\nqueue = { limit = \"300ms\" }";
    let mut faults = Vec::new();
    for member in all() {
        let (name, controller) = (member.name.clone(), member.controller());
        let outcome = camera(&controller, path, 300, "");
        let waits = rates(&outcome, "send_queue_delay_ms");
        let (early, late) = (mean(&waits, 10.0, 60.0), mean(&waits, 240.0, 300.0));
        println!("{name}: {early:.1} ms, {late:.1} ms");
        if late > 100.0 || late > 2.0 * early + 10.0 {
            faults.push((name, format!("{early:.1} ms from 10 s to 60 s, {late:.1} ms from 240 s on")));
        }
    }
    let slow =
        "its window grows by less than a tenth of a packet in a round trip, so that what waits leaves slowly";
    let many = "200 packets of its own wait, half a second of this link";
    judge(&faults, &[("binomial iiad", slow), ("fast gigabit", many)]);
}

/// A link of `mbps` and its way back, which fall silent: the link from 30 s to 32 s, the way back with it or alone.
fn silent(mbps: u32, delay_ms: u32, link_too: bool) -> String {
    let down = "down = [[\"30s\", \"32s\"]]";
    let link = if link_too { down } else { "" };
    format!(
        "rate = \"{mbps}Mbps\"\ndelay = \"{delay_ms}ms\"\nqueue = {{ limit = \"300ms\" }}\n{link}\n\
         [links.back]\nrate = \"100Mbps\"\ndelay = \"{delay_ms}ms\"\nqueue = {{ packets = 1 }}\n{down}"
    )
}

/// Two seconds after the path is as before, so is the rate: 80 % of it at least, in the mean over a second.
#[test]
fn after_two_seconds_of_silence_the_rate_is_back_within_two() {
    const AS_MEASURED: &str = "the reference program, which does not answer silence";
    const NS2: &str = "the round-trip times of packets that waited for the end count";
    const TIMEOUTS: &str = "RFC 4341 section 5: each timeout halves the threshold";
    const AFTER_A_FLOOD: &str = "over 0.2 s the media that waited is a queue that takes half of the window, which grows back by packets";
    const LINEAR: &str = "a packet more in each round trip of up to half a second";
    const AHEAD: &str = "its window is what the link delivers within 100 ms, half of this round trip";
    let excused = [
        ("scream reference-2022", AS_MEASURED),
        ("tfrc ns2", NS2),
        ("ccid3 ns2", NS2),
        ("ccid2 rfc4341", TIMEOUTS),
        ("ccid2 rfc2861", TIMEOUTS),
        ("ccid2 rfc5681", LINEAR),
        ("ccid2 ns2", LINEAR),
        ("rap rap1999", LINEAR),
        ("rap ns2", LINEAR),
        ("scream-v2 draft", AFTER_A_FLOOD),
        ("scream-v2 libwebrtc", AFTER_A_FLOOD),
        ("sprout ewma", AHEAD),
    ];
    let mut faults = Vec::new();
    for member in all().filter(|member| member.params.steers() != Steers::ByteStream) {
        let (name, controller) = (member.name.clone(), member.controller());
        for (mbps, delay_ms, link_too) in [(5, 25, true), (5, 25, false), (20, 10, true), (2, 100, true)] {
            let link = silent(mbps, delay_ms, link_too);
            let outcome = camera(&controller, &link, 36, "return_path = [\"back\"]");
            let arrived = rates(&outcome, "throughput_mbps");
            let (before, after) = (mean(&arrived, 20.0, 30.0), mean(&arrived, 33.5, 34.5));
            println!("{name}, {mbps} Mbit/s: {before:.2}, {after:.2} Mbit/s");
            if after < 0.8 * before {
                let case = if link_too { "all" } else { "the way back" };
                faults.push((
                    name.clone(),
                    format!("{before:.2} and {after:.2} of {mbps} Mbit/s, {case} silent"),
                ));
            }
        }
    }
    judge(&faults, &excused);
}

/// RFC 8298 section 4.1.2.6: what is paced fits into a short queue.
#[test]
fn scream_needs_no_long_queue() {
    for kilobytes in [15, 30, 60, 100, 150, 250] {
        let link = format!("rate = \"100Mbps\"\ndelay = \"5ms\"\nqueue = {{ bytes = \"{kilobytes}kB\" }}");
        let of = |extra: &str| {
            let outcome = run(&format!(
                "duration = \"60s\"\nsample = \"100ms\"\n[flows.f]\nsource = {CAMERA}\npath = [\"l\"]\n\
                 controller = {{ kind = \"scream\", target_bitrate_max = \"20Mbps\"{extra} }}\n[links.l]\n{link}\n"
            ));
            let arrived = mean(&rates(&outcome, "throughput_mbps"), 20.0, 60.0);
            (arrived, flow(&outcome, "f").loss_ratio.expect("packets were sent"))
        };
        let (rate, lost) = of("");
        assert!(
            (18.0..=21.0).contains(&rate) && lost < 1e-3,
            "{kilobytes} kB: {rate:.2} Mbit/s, {lost:.4} lost"
        );
        let (bursts, lost) = of(", pacing_delay_fraction = 0.02");
        if kilobytes <= 60 {
            assert!(
                bursts < 17.0 && lost > 3e-3,
                "{kilobytes} kB, not paced: {bursts:.2} Mbit/s, {lost:.4} lost"
            );
        }
    }
}
