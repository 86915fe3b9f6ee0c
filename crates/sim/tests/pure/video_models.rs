//! The video sources of RFC 8593 under a controller, in a whole simulation.

use crate::world::{assert_near, column, flow, link, run, run_at, simulated};
use paceline_scenario::{Loader, Origin, load};
use paceline_sim::{Outcome, Pace};
use paceline_units::TimeDelta;

const STATISTICAL: &str = "model = \"statistical\"";
const TRACE: &str = "model = \"trace\", generator = \"frames\"";
const HYBRID: &str = "model = \"hybrid\", generator = \"frames\"";
const MODELS: [&str; 3] = [STATISTICAL, TRACE, HYBRID];

/// One SCReAM call over a link of 2 Mbit/s, RFC 8867's limits of a video.
fn call(source: &str, rate: &str) -> String {
    format!(
        "duration = \"60s\"\nwarmup = \"20s\"\nsample = \"200ms\"\nseed = 3\n\
         [links.l]\nrate = {rate}\ndelay = \"50ms\"\nqueue = {{ limit = \"300ms\" }}\n\
         [flows.video]\nsource = {{ kind = \"rfc8593\", {source} }}\npath = [\"l\"]\n\
         [flows.video.controller]\nkind = \"scream\"\nprofile = \"rfc8298\"\ntarget_bitrate_min = \"150kbps\"\n\
         target_bitrate_start = \"500kbps\"\ntarget_bitrate_max = \"1500kbps\"\n"
    )
}

fn target(outcome: &Outcome) -> Vec<f64> {
    column(&outcome.flows, "flow", "video", "target_bitrate_mbps")
}

/// The link has room for the most that the video may have: it gets there, and its payload is what the controller asked
/// for, with 12 of 1012 B as headers on top.
#[test]
fn a_call_is_carried_at_its_target() {
    for model in MODELS {
        let outcome = run(&call(model, "\"2Mbps\""));
        let steady = &target(&outcome)[100..];
        let mean = steady.iter().sum::<f64>() / steady.len() as f64;
        let video = flow(&outcome, "video");
        eprintln!(
            "{model}: target {mean:.3} Mbit/s, throughput {:?}, loss {:?}, queue delay {:?}, utilisation {:?}",
            video.throughput_mbps,
            video.loss_ratio,
            video.queue_delay_ms,
            link(&outcome, "l").utilisation
        );
        assert!((1.2..=1.5).contains(&mean), "{model}: target {mean}");
        assert_near(model, video.throughput_mbps, mean * 1.02, 0.04);
        assert_near("loss", video.loss_ratio, 0.0, 0.001);
    }
}

/// Down to less than a third and up again. The target of this SCReAM stays above such a link, whatever the source, and it
/// discards: the link is full, key frames are asked for, and the target comes back once there is room.
#[test]
fn a_call_survives_a_link_that_falls() {
    for model in MODELS {
        let steps = "{ steps = [[\"0s\", \"2Mbps\"], [\"20s\", \"600kbps\"], [\"40s\", \"2Mbps\"]] }";
        let outcome = run(&call(model, steps));
        let mean = |name: &str, from: usize, to: usize| {
            let values = &column(&outcome.flows, "flow", "video", name)[5 * from..5 * to];
            values.iter().sum::<f64>() / values.len() as f64
        };
        let (target, rate) = ("target_bitrate_mbps", "throughput_mbps");
        assert!((1.4..=1.5).contains(&mean(target, 10, 20)), "{model}: {}", mean(target, 10, 20));
        assert!((0.6..0.9).contains(&mean(target, 30, 40)), "{model}: {}", mean(target, 30, 40));
        assert!((0.58..=0.602).contains(&mean(rate, 30, 39)), "{model}: {}", mean(rate, 30, 39));
        assert!((1.3..=1.5).contains(&mean(target, 53, 60)), "{model}: {}", mean(target, 53, 60));
        assert!(flow(&outcome, "video").frames.discarded > Some(0), "{model}: key frames were asked for");
    }
}

#[test]
fn both_paces_make_the_same_frames() {
    for model in MODELS {
        let text = call(model, "{ steps = [[\"0s\", \"2Mbps\"], [\"9s\", \"500kbps\"]] }");
        let [windowed, stepped] = [Pace::Windowed, Pace::Stepped].map(|pace| run_at(&text, pace));
        assert_eq!(windowed.flows, stepped.flows, "{model}");
    }
}

/// The ladder of RFC 8593's reference implementation, a chat at 720p, read in place where `PACELINE_DATA` points to. Its
/// sizes make their rates up to 1 Mbit/s and less above, which shows.
#[test]
fn a_call_of_recorded_frames() {
    let Some(data) = std::env::var_os("PACELINE_DATA") else {
        eprintln!("skipped: PACELINE_DATA is not set, no recorded frames were played");
        return;
    };
    let rungs = [200, 400, 600, 800, 1_000, 1_200, 1_500, 2_000].map(|kbps| {
        format!("{{ rate = \"{kbps}kbps\", file = \"video_syncodecs_chat/chat_720p_{kbps}.txt\" }}")
    });
    let ladder = format!("ladder = [{}]", rungs.join(", "));
    let loader = Loader::new("", vec![data.into()]);
    for (model, part) in [("trace", 0.94), ("hybrid", 0.94)] {
        let text = call(&format!("model = \"{model}\", {ladder}"), "\"2Mbps\"");
        let world = load(&Origin { text: &text, file: "test.toml", sets: &[] }, &loader);
        let world = world.unwrap_or_else(|error| panic!("{error}"));
        assert!(world.parts.warnings.is_empty(), "{:?}", world.parts.warnings);
        let outcome = simulated(&world, Pace::Windowed, TimeDelta::from_secs(60));
        let steady = &target(&outcome)[100..];
        let mean = steady.iter().sum::<f64>() / steady.len() as f64;
        let throughput = flow(&outcome, "video").throughput_mbps;
        eprintln!("{model}: target {mean:.3} Mbit/s, throughput {throughput:?}");
        assert_near(model, throughput, mean * 1.02 * part, 0.05);
    }
}

/// A window law names no target: an encoder over TCP is told what its connection carries, when the link falls too.
#[test]
fn an_encoder_follows_a_tcp_window() {
    let outcome = run("duration = \"60s\"\nsample = \"200ms\"\n[links.l]\n\
         rate = { steps = [[\"0s\", \"2Mbps\"], [\"30s\", \"600kbps\"]] }\ndelay = \"50ms\"\nqueue = { limit = \"200ms\" }\n\
         [flows.video]\ntransport = \"tcp\"\ncontroller = \"newreno\"\npath = [\"l\"]\n\
         source = { kind = \"trace-encoder\", generator = \"frames\", fps = 30 }\n");
    let rates = column(&outcome.flows, "flow", "video", "throughput_mbps");
    for (name, capacity, samples) in [("2 Mbit/s", 2.0, &rates[50..150]), ("600 kbit/s", 0.6, &rates[200..])]
    {
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        assert!((0.7 * capacity..1.001 * capacity).contains(&mean), "{name}: {mean}");
    }
    let video = flow(&outcome, "video");
    // The bytes written never run far ahead of the bytes sent: the encoder slows down with the window.
    assert!(
        video.send_queue_delay_ms.p95.is_some_and(|wait| wait < 1000.0),
        "{:?}",
        video.send_queue_delay_ms
    );
}

/// TCP names no target; its sender tells the encoder one, which summary and rows show alike.
#[test]
fn the_target_of_an_encoder_over_tcp_is_in_the_summary() {
    let text = call(STATISTICAL, "\"2Mbps\"");
    let (before, _) = text.split_once("[flows.video.controller]").expect("it has a controller");
    for controller in ["newreno", "vegas"] {
        let outcome = run(&format!("{before}controller = \"{controller}\"\n"));
        let steady = &target(&outcome)[100..];
        let mean = steady.iter().sum::<f64>() / steady.len() as f64;
        assert_near(controller, flow(&outcome, "video").target_bitrate_mbps, mean, 0.1 * mean);
    }
    let bulk = before.replace(&format!("{{ kind = \"rfc8593\", {STATISTICAL} }}"), "{ kind = \"bulk\" }");
    let outcome = run(&format!("{bulk}controller = \"newreno\"\n"));
    assert_eq!(flow(&outcome, "video").target_bitrate_mbps, None, "a file has no target");
}
