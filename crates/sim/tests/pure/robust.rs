//! SCReAM's profile `robust` on paths where it failed before its rules for them: each test names what it had then.

use crate::world::{count, flow, run};
use paceline_metrics::FlowSummary;
use paceline_sim::Outcome;

const FRAMES: &str = "\"frames\"";

/// Calls of 60 s over a link of `kbps` and a round trip of 50 ms; they may have from a tenth to one and a half times its rate and begin at the
/// tenth. `link` and `call` go on in their tables.
fn calls(seed: u32, kbps: u32, link: &str, source: &str, call: &str) -> Outcome {
    run(&format!(
        "seed = {seed}\nduration = \"60s\"\nwarmup = \"25s\"\n[links.l]\nrate = \"{kbps}kbps\"\ndelay = \"25ms\"\n{link}\n\
         [flows.call]\ntransport = \"rtp\"\npath = [\"l\"]\ncontroller = {{ kind = \"scream\", profile = \"robust\" }}\n\
         bitrate = {{ min = \"{}kbps\", start = \"{}kbps\", max = \"{}kbps\" }}\n\
         source = {{ kind = \"trace-encoder\", {source} }}\n{call}\n",
        kbps / 10,
        kbps / 10,
        kbps * 3 / 2,
    ))
}

const QUEUE: &str = "queue = { kind = \"droptail\", limit = \"300ms\" }";

/// Throughput of a flow in Mbit/s.
fn mbps(outcome: &Outcome, name: &str) -> f64 {
    flow(outcome, name).throughput_mbps.expect("it sends")
}

/// The part of its frames that a call showed.
fn shown(flow: &FlowSummary) -> f64 {
    count(flow.frames.displayed) as f64 / count(flow.frames.captured) as f64
}

/// 0.03 of 0.3 Mbit/s with an empty queue: the time that a packet takes at 300 kbit/s rose and fell with the sizes of frames like a queue,
/// and five frames a second were five steps of growth. At 15 to 60 frames a second nothing is to be mended.
#[test]
fn five_frames_a_second_fill_a_slow_link() {
    for seed in 1..=3 {
        let outcome = calls(seed, 300, QUEUE, &format!("generator = {FRAMES}, fps = 5"), "");
        let (rate, wait) =
            (mbps(&outcome, "call"), flow(&outcome, "call").queue_delay_ms.p95.expect("it sends"));
        println!("seed {seed}: {rate:.3} Mbit/s, p95 {wait:.0} ms");
        assert!(rate > 0.2 && wait < 200.0, "seed {seed}: {rate:.3} Mbit/s, p95 {wait:.0} ms");
    }
}

/// 0.2 to 0.4 of 2 Mbit/s, and under independent noise 0.2: noise of 30 ms passed for a queue. Means of five seeds.
#[test]
fn delay_noise_is_no_queue() {
    for noise in ["std = \"30ms\", correlation = \"300ms\"", "std = \"30ms\""] {
        let link = format!("{QUEUE}\nnoise = {{ kind = \"lognormal\", mean = \"30ms\", {noise} }}");
        let rate = |seed| mbps(&calls(seed, 2000, &link, &format!("generator = {FRAMES}"), ""), "call");
        let rates = [1, 2, 3, 4, 5].map(rate);
        println!("{noise}: {rates:.2?} Mbit/s");
        assert!(rates.iter().sum::<f64>() / 5.0 > 0.9, "{noise}: {rates:.2?} Mbit/s");
    }
}

/// 0.9 to 1.4 of 5 Mbit/s, and 2.4 to 3.3 of 20.
#[test]
fn random_losses_do_not_take_the_rate() {
    for (kbps, ratio) in [(5000, 0.01), (20_000, 0.01), (1000, 0.05)] {
        for seed in 1..=3 {
            let link = format!("{QUEUE}\nloss = {{ kind = \"bernoulli\", ratio = {ratio} }}");
            let outcome = calls(seed, kbps, &link, &format!("generator = {FRAMES}"), "");
            let rate = mbps(&outcome, "call");
            println!("{kbps} kbit/s, {ratio}, seed {seed}: {rate:.2} Mbit/s");
            assert!(rate > 0.5e-3 * f64::from(kbps), "{kbps} kbit/s, {ratio}, seed {seed}: {rate:.2} Mbit/s");
        }
    }
}

/// Where losses are the flow's own doing they stay congestion: with losses that become usual by their average 1 % of the frames were whole.
#[test]
fn losses_of_a_short_queue_are_congestion() {
    for kbps in [5000, 20_000] {
        let link = "queue = { kind = \"droptail\", limit = \"10ms\" }";
        let outcome = calls(1, kbps, link, &format!("generator = {FRAMES}"), "");
        let (rate, shown) = (mbps(&outcome, "call"), shown(flow(&outcome, "call")));
        println!("{kbps} kbit/s: {rate:.2} Mbit/s, {shown:.3} of the frames shown");
        assert!(
            rate > 0.7e-3 * f64::from(kbps) && shown > 0.8,
            "{kbps} kbit/s: {rate:.2} Mbit/s, {shown:.3}"
        );
    }
}

const DUALPI2: &str = "queue = { kind = \"dualpi2\" }";

/// 5.8 to 6.3 of 10 Mbit/s alone; of three calls one had 5.1 and two 1.1.
#[test]
fn calls_under_l4s_share_a_dual_queue() {
    let source = format!("generator = {FRAMES}");
    for seed in 1..=3 {
        let alone = mbps(&calls(seed, 10_000, DUALPI2, &source, "ecn = \"l4s\""), "call");
        let call = "ecn = \"l4s\"\ncount = 3\nstart_within = \"1s\"";
        let three = calls(seed, 10_000, DUALPI2, &source, call);
        let rates = ["call-1", "call-2", "call-3"].map(|name| mbps(&three, name));
        println!("seed {seed}: alone {alone:.2}, of three {rates:.2?} Mbit/s");
        assert!(alone > 7.3, "seed {seed}: {alone:.2} of 10 Mbit/s");
        assert!(rates.iter().all(|rate| (2.0..3.6).contains(rate)), "seed {seed}: {rates:.2?}");
    }
}

/// 0.67 to 0.82 of the frames of a screen, and each large key frame, were discarded after a tenth of a second: 0.92 shown and 0.7 of 1 Mbit/s.
#[test]
fn a_large_frame_is_not_discarded_for_its_size() {
    const SCREEN: &str = "fps = 15, generator = { kind = \"frames\", key_interval = 0, sizes = [0.05, 0.05, 0.05, 0.05, 0.1, 0.1, 0.2, 0.5, 2, 12], min = \"100B\", max = \"2MB\" }";
    let screen = calls(1, 5000, QUEUE, SCREEN, "");
    let part = shown(flow(&screen, "call"));
    const KEYS: &str = "generator = { kind = \"frames\", key_scale = 20, key_interval = 60, max = \"2MB\" }";
    let keys = calls(1, 1000, QUEUE, KEYS, "");
    let (rate, whole) = (mbps(&keys, "call"), shown(flow(&keys, "call")));
    println!("screen {part:.3}; key frames {rate:.3} Mbit/s, {whole:.3}");
    assert!(part > 0.9, "{part:.3} of a screen's frames");
    assert!(rate > 0.8 && whole > 0.92, "{rate:.3} Mbit/s, {whole:.3} of the frames");
}

/// 186 of 1000 Mbit/s after ten seconds: growth ended at 10 Mbit/s per second.
#[test]
fn a_fast_link_is_filled_within_fifteen_seconds() {
    let outcome = run(
        "duration = \"17s\"\nwarmup = \"14s\"\n[links.l]\nrate = \"1Gbps\"\ndelay = \"25ms\"\nqueue = { limit = \"300ms\" }\n[flows.call]\n\
         transport = \"rtp\"\npath = [\"l\"]\ncontroller = { kind = \"scream\", profile = \"robust\" }\n\
         bitrate = { min = \"100Mbps\", start = \"100Mbps\", max = \"1.5Gbps\" }\nsource = { kind = \"trace-encoder\", generator = \"frames\" }\n",
    );
    let rate = mbps(&outcome, "call");
    println!("{rate:.0} Mbit/s");
    assert!(rate > 700.0, "{rate:.0} Mbit/s");
}

/// 155 to 201 ms at the 95th percentile with a report each 400 ms: growth went on while none could tell of it.
#[test]
fn seldom_reports_leave_a_short_queue() {
    for seed in 1..=3 {
        let call = "feedback = { packets = 16384, time = \"400ms\", marker = false }";
        let outcome = calls(seed, 10_000, QUEUE, &format!("generator = {FRAMES}"), call);
        let (rate, wait) =
            (mbps(&outcome, "call"), flow(&outcome, "call").queue_delay_ms.p95.expect("it sends"));
        println!("seed {seed}: {rate:.2} Mbit/s, p95 {wait:.0} ms");
        assert!(wait < 150.0 && rate > 8.0, "seed {seed}: {rate:.2} Mbit/s, p95 {wait:.0} ms");
    }
}
