//! Calls as applications make them: beside a camera speech that wants little, a stream with limits, streams of unequal priority.
//! Every controller that carries media passes, under each of its profiles.

use crate::members::{self, CONSTANT, COUNTS_LONG, Member, PACE, REFERENCE, RMAX};
use crate::world::{column, run};
use paceline_cc::{ControllerParams, Steers};
use paceline_sim::Outcome;

/// Every controller that carries media.
fn members() -> impl Iterator<Item = Member> {
    let carries = |params: &ControllerParams| {
        matches!(params.steers(), Steers::Media | Steers::Datagrams) && params.kind() != "fixed"
    };
    members::untuned().filter(move |member| carries(&member.params))
}

const SECONDS: u32 = 120;
/// The seconds before are not judged: the slowest ramp takes so long.
const WARMUP: u32 = 30;
const CAMERA: &str = "{ kind = \"trace-encoder\", generator = \"frames\", fps = 30 }";

/// A call over 10 Mbit/s with 300 ms of queue: `flow` has its source or its streams.
fn call(controller: &str, flow: &str) -> Outcome {
    run(&scenario(controller, flow))
}

fn scenario(controller: &str, flow: &str) -> String {
    format!(
        "duration = \"{SECONDS}s\"\nsample = \"100ms\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"25ms\"\n\
         queue = {{ kind = \"droptail\", limit = \"300ms\" }}\n\
         [flows.f]\ntransport = \"rtp\"\npath = [\"l\"]\ncontroller = {controller}\n{flow}\n"
    )
}

/// A stream's table.
fn stream(name: &str, source: &str, more: &str) -> String {
    format!("[flows.f.streams.{name}]\nsource = {source}\n{more}\n")
}

/// Mbit/s of a stream from one second to another.
fn rate(outcome: &Outcome, stream: &str, (from, to): (u32, u32)) -> f64 {
    let streams = outcome.flows.text("stream").expect("a column");
    let values = outcome.flows.float("throughput_mbps").expect("a column");
    let rows = (0..outcome.flows.rows()).filter(|row| streams.value(*row) == Some(stream));
    let rates: Vec<f64> = rows.map(|row| values.value(row).unwrap_or(0.0)).collect();
    let rates = &rates[from as usize * 10..to as usize * 10];
    rates.iter().sum::<f64>() / rates.len() as f64
}

const LATE: (u32, u32) = (WARMUP, SECONDS);

/// Member, test and the reason.
const EXEMPT: &[(&str, &str, &str)] = &[
    ("um paper", "bound", CONSTANT),
    ("um paper", "twice", COUNTS_LONG),
    ("gcc libwebrtc", "twice", PACE),
    ("rap rap1999", "twice", COUNTS),
    ("rap ns2", "twice", COUNTS),
    ("scream reference-2022", "limits", REFERENCE),
    ("scream reference-2022", "priority", REFERENCE),
    ("sprout nsdi13", "bitrate", CAUTION),
];
const CAUTION: &str = "a least bitrate is the encoder's; its window stays what arrives with 95 % probability, 0.47 of 0.8 Mbit/s";
const COUNTS: &str =
    "it allows twice the larger of the last two counts, of 250 ms each, and hears of each a round trip later";

/// Fails with all that is wrong, one line a fault, and with those that are exempt and need not be.
fn judge(test: &str, what: impl Fn(&str) -> Vec<(bool, String)>) {
    let faults = |member: Member| {
        let wrong = what(&member.controller()).into_iter().filter(|(right, _)| !right);
        wrong.map(|(_, why)| (member.name.clone(), why)).collect::<Vec<_>>()
    };
    let faults: Vec<_> = members().flat_map(faults).collect();
    let wrong = members::wrong_in(test, &faults, EXEMPT);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Speech of a constant rate, which follows no target, and a camera: all that speech leaves is the camera's.
#[test]
fn a_stream_that_wants_little_leaves_the_rest_to_the_others() {
    judge("little", |controller| {
        let alone = rate(&call(controller, &stream("camera", CAMERA, "")), "camera", LATE);
        let beside = |kbps: f64, fps: u32| {
            let source = format!("{{ kind = \"cbr\", rate = \"{kbps}kbps\", fps = {fps} }}");
            let outcome = call(controller, &(stream("speech", &source, "") + &stream("camera", CAMERA, "")));
            let [camera, speech] = ["camera", "speech"].map(|name| rate(&outcome, name, LATE));
            println!(
                "{controller:50} camera alone {alone:.3}, beside {kbps} kbit/s {camera:.3}, speech {speech:.4}"
            );
            let least = 0.95 * (alone - speech);
            [
                (
                    camera >= least,
                    format!("camera {camera:.3} beside {kbps} kbit/s, expected {least:.3} at least"),
                ),
                (speech >= 0.95 * kbps / 1000.0, format!("speech has {speech:.4} of {kbps} kbit/s")),
            ]
        };
        [beside(40.0, 50), beside(1.0, 1)].concat()
    });
}

/// An encoder that follows its target, up to its limits.
#[test]
fn limits_of_a_stream_hold() {
    const LIMITS: &str =
        "target_bitrate_min = \"16kbps\"\ntarget_bitrate_start = \"48kbps\"\ntarget_bitrate_max = \"64kbps\"";
    judge("limits", |controller| {
        let alone = rate(&call(controller, &stream("camera", CAMERA, "")), "camera", LATE);
        let source = "{ kind = \"cbr\", rate = \"48kbps\", adaptive = true, fps = 50 }";
        let outcome = call(controller, &(stream("camera", CAMERA, "") + &stream("speech", source, LIMITS)));
        let [camera, speech] = ["camera", "speech"].map(|name| rate(&outcome, name, LATE));
        println!("{controller:50} camera alone {alone:.3}, beside speech {camera:.3}, speech {speech:.4}");
        let least = 0.95 * (alone - 0.064);
        vec![
            ((0.055..0.07).contains(&speech), format!("speech has {speech:.4} Mbit/s of 0.064")),
            (camera >= least, format!("camera {camera:.3}, expected {least:.3} at least")),
        ]
    });
}

/// One name for what the bitrate of a flow may be, whatever its controller calls it.
#[test]
fn bitrate_of_a_flow_holds() {
    judge("bitrate", |controller| {
        let controller = &controller.replace(RMAX, "");
        let of = |bitrate: &str, link: &str| {
            let flow = format!("source = {CAMERA}\nbitrate = {bitrate}");
            rate(&run(&scenario(controller, &flow).replace("10Mbps", link)), "0", LATE)
        };
        let most = of("{ min = \"100kbps\", start = \"300kbps\", max = \"2Mbps\" }", "10Mbps");
        let least = of("{ min = \"600kbps\", max = \"9Mbps\" }", "800kbps");
        println!("{controller:50} at most {most:.3}, at least {least:.3}");
        vec![
            ((1.7..2.1).contains(&most), format!("{most:.3} of 2 Mbit/s")),
            (least >= 0.55, format!("{least:.3} of 0.6 Mbit/s")),
        ]
    });
}

/// The same camera as the flow's source or as its only stream, of the name that a source has: its frames follow from the name.
#[test]
fn a_source_and_a_single_stream_are_alike() {
    judge("alike", |controller| {
        let source = call(controller, &format!("source = {CAMERA}"));
        let table = call(controller, &stream("0", CAMERA, ""));
        [(0, 10), (10, SECONDS)]
            .map(|span| {
                let (one, other) = (rate(&source, "0", span), rate(&table, "0", span));
                let near = (one - other).abs() <= 0.01 * one;
                (near, format!("{one:.3} Mbit/s as source, {other:.3} as stream in {span:?} s"))
            })
            .to_vec()
    });
}

#[test]
fn greedy_streams_share_by_priority() {
    judge("priority", |controller| {
        let outcome = call(
            controller,
            &(stream("camera", CAMERA, "priority = 2.0") + &stream("screen", CAMERA, "priority = 1.0")),
        );
        let [camera, screen] = ["camera", "screen"].map(|name| rate(&outcome, name, LATE));
        let ratio = camera / screen;
        println!("{controller:50} camera {camera:.3}, screen {screen:.3}");
        vec![((1.7..2.4).contains(&ratio), format!("{camera:.3} and {screen:.3} Mbit/s by 2 to 1"))]
    });
}

/// From slides to a camera for games: each frame rate has most of what 30 frames per second have.
#[test]
fn every_frame_rate_has_its_part() {
    judge("fps", |controller| {
        let of = |fps: u32| {
            let source = CAMERA.replace("fps = 30", &format!("fps = {fps}"));
            rate(&call(controller, &stream("camera", &source, "")), "camera", LATE)
        };
        let usual = of(30);
        let found = [5, 10, 60, 120].map(|fps| (fps, of(fps)));
        println!("{controller:50} 30 fps {usual:.2}; {found:.2?}");
        let judged = |(fps, found): &(u32, f64)| {
            (*found >= 0.8 * usual, format!("{found:.2} Mbit/s at {fps} fps, {usual:.2} at 30"))
        };
        found.iter().map(judged).collect()
    });
}

/// The application is silent for 20 s, longer than any timer.
#[test]
fn a_pause_costs_little() {
    judge("pause", |controller| {
        let paused = format!("pause = [[\"60s\", \"80s\"]]\n{}", stream("camera", CAMERA, ""));
        let outcome = call(controller, &paused);
        let of = |span| rate(&outcome, "camera", span);
        let (before, during, after) = (of((40, 60)), of((63, 80)), of((85, 100)));
        println!("{controller:50} {before:.2}, {during:.2}, {after:.2}");
        vec![
            (during < 0.01, format!("{during:.2} Mbit/s in the pause")),
            (
                after >= 0.8 * before,
                format!("{after:.2} Mbit/s from 5 s after the pause on, {before:.2} before"),
            ),
        ]
    });
}

/// A call of an encoder that follows no target, 3 Mbit/s, over 5, 1 and 5 Mbit/s.
fn beyond_the_link(controller: &str) -> Outcome {
    run(&format!(
        "duration = \"60s\"\nsample = \"100ms\"\n[links.l]\n\
         rate = {{ steps = [[\"0s\", \"5Mbps\"], [\"20s\", \"1Mbps\"], [\"40s\", \"5Mbps\"]] }}\ndelay = \"25ms\"\n\
         queue = {{ kind = \"droptail\", limit = \"300ms\" }}\n\
         [flows.f]\ntransport = \"rtp\"\npath = [\"l\"]\ncontroller = {controller}\n\
         source = {{ kind = \"cbr\", rate = \"3Mbps\", fps = 30 }}\n"
    ))
}

#[test]
fn no_send_queue_is_older_than_its_bound() {
    judge("bound", |controller| {
        let outcome = beyond_the_link(controller);
        let of = |name| column(&outcome.flows, "flow", "f", name);
        let oldest = of("send_queue_delay_ms").iter().copied().fold(0.0, f64::max);
        let end = of("throughput_mbps")[500..].iter().sum::<f64>() / 100.0;
        println!("{controller:50} oldest {oldest:.0} ms, at the end {end:.2} of 3 Mbit/s");
        vec![
            (oldest <= 2001.0, format!("a send queue of {oldest:.0} ms")),
            (end > 2.0, format!("{end:.2} of 3 Mbit/s after the dip")),
        ]
    });
}

/// RFC 5348 section 4.3 lets a sender send twice what its receiver says that arrives.
#[test]
fn nobody_sends_twice_what_arrives_for_long() {
    judge("twice", |controller| {
        let outcome = beyond_the_link(controller);
        let of = |name| column(&outcome.flows, "flow", "f", name);
        let (sent, arrived) = (of("send_rate_mbps"), of("throughput_mbps"));
        let sum = |rates: &[f64], from: usize| rates[from..from + 20].iter().sum::<f64>() / 20.0;
        // Two seconds of what is sent beside what arrives of it.
        let most = (0..arrived.len() - 30).map(|from| sum(&sent, from) / sum(&arrived, from + 1).max(0.02));
        let most = most.fold(0.0, f64::max);
        println!("{controller:50} {most:.2} times what arrives");
        vec![(most <= 2.0, format!("{most:.2} times what arrives"))]
    });
}
