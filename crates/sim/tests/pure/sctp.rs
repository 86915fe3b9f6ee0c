//! SCTP beside ns-2's, streams beside one order for all, and a data channel beside a call.

use crate::world::{count, flow, link, run};

/// Mbit/s on the link of one association under `profile`.
fn rate(
    profile: &str,
    (mbps, rtt_ms, queue): (u64, u64, u64),
    loss: f64,
    (seconds, seed): (u64, u64),
) -> f64 {
    let lossy = if loss > 0.0 {
        format!("loss = {{ kind = \"bernoulli\", ratio = {loss} }}\n")
    } else {
        String::new()
    };
    let outcome = run(&format!(
        "duration = \"{seconds}s\"\nwarmup = \"{}s\"\nseed = {seed}\n[links.l]\nrate = \"{mbps}Mbps\"\n\
         delay = \"{}ms\"\nqueue = {{ packets = {queue} }}\n{lossy}[flows.f]\ntransport = \"sctp\"\n\
         controller = {{ kind = \"sctp\", profile = \"{profile}\" }}\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n",
        seconds / 5,
        rtt_ms as f64 / 2.0,
    ));
    flow(&outcome, "f").throughput_mbps.expect("a rate")
}

/// ns-2.35's Agent/SCTP with packets of 1500 B: round trip in ms, random loss, Mbit/s over 100 Mbit/s, the mean of four runs of 200 s.
const LOSSY: [(u64, f64, f64); 9] = [
    (50, 0.001, 9.855),
    (50, 0.003, 5.563),
    (50, 0.01, 2.978),
    (100, 0.001, 4.689),
    (100, 0.003, 2.812),
    (100, 0.01, 1.507),
    (200, 0.001, 2.288),
    (200, 0.003, 1.397),
    (200, 0.01, 0.735),
];
/// The same behind drop-tail: Mbit/s, round trip in ms and packets of the queue, Mbit/s in a run of 300 s.
const DROP_TAIL: [((u64, u64, u64), f64); 5] = [
    ((2, 50, 10), 1.993),
    ((2, 100, 20), 2.000),
    ((10, 20, 20), 10.0),
    ((10, 100, 20), 8.732),
    ((10, 100, 60), 9.867),
];

/// The band, 10 %, was set on 2026-11-28 before the first run.
#[test]
fn rates_are_those_of_ns_2() {
    let near = |what: String, found: f64, expected: f64| {
        println!("{what}: ns-2 {expected:.3}, here {found:.3} ({:+.1} %)", (found / expected - 1.0) * 100.0);
        assert!((found / expected - 1.0).abs() <= 0.1, "{what}: {found}, ns-2 {expected}");
    };
    for (rtt, loss, expected) in LOSSY {
        let all = (1..=4).map(|seed| rate("ns2", (100, rtt, 1000), loss, (200, seed)));
        near(format!("{rtt} ms, p = {loss}"), all.sum::<f64>() / 4.0, expected);
    }
    for (path, expected) in DROP_TAIL {
        near(format!("{path:?}"), rate("ns2", path, 0.0, (300, 1)), expected);
    }
}

/// Two streams of messages over one association on a link that loses 1 %: 95th percentile of the frame delay in ms.
fn frame_delay(order: &str) -> f64 {
    let outcome = run(&format!(
        "duration = \"120s\"\nseed = 3\n[links.l]\nrate = \"10Mbps\"\ndelay = \"50ms\"\nqueue = {{ packets = 100 }}\n\
         loss = {{ kind = \"bernoulli\", ratio = 0.01 }}\n[flows.f]\ntransport = \"sctp\"\npath = [\"l\"]\n\
         sctp = {{ order = \"{order}\" }}\n\
         [flows.f.streams.a]\nsource = {{ kind = \"cbr\", rate = \"80kbps\", fps = 50 }}\n\
         [flows.f.streams.b]\nsource = {{ kind = \"cbr\", rate = \"80kbps\", fps = 50 }}\n\
         [flows.f.streams.c]\nsource = {{ kind = \"cbr\", rate = \"80kbps\", fps = 50 }}\n\
         [flows.f.streams.d]\nsource = {{ kind = \"cbr\", rate = \"80kbps\", fps = 50 }}\n"
    ));
    let frames = &flow(&outcome, "f").frame_delay_ms;
    assert!(frames.p50.is_some_and(|p50| (50.0..51.0).contains(&p50)), "{order}: {frames:?}");
    frames.mean.expect("frames")
}

/// RFC 9260 section 6.5 (no text at hand): the fewer messages wait for one that is lost, the less is the delay.
#[test]
fn streams_do_not_wait_for_each_other() {
    let [association, streams, none] = ["association", "streams", "none"].map(frame_delay);
    println!("mean frame delay: association {association:.1} ms, streams {streams:.1} ms, none {none:.1} ms");
    let added = [association, streams, none].map(|mean| mean - 50.5);
    assert!(added[0] > 2.0 * added[1] && added[1] > 2.0 * added[2] && added[2] > 0.2, "{added:?}");
}

/// RFC 8831 (no text at hand), coupled by RFC 8699: the call keeps two thirds, as its priority says, and waits less.
#[test]
fn a_data_channel_shares_with_its_call() {
    let text = include_str!("../../../../scenarios/data-channel.toml").replace(
        "kind = \"trace-encoder\", generator = \"frames\", fps = 30",
        "kind = \"cbr\", adaptive = true",
    );
    let (apart, _) = text.split_once("[coupling.call]").expect("a group");
    let figures = |text: &str| {
        let outcome = run(text);
        let rates = ["video", "data"].map(|name| flow(&outcome, name).throughput_mbps.expect("a rate"));
        (rates, flow(&outcome, "video").queue_delay_ms.mean.expect("packets"))
    };
    let (coupled, apart) = (figures(&text), figures(apart));
    println!("coupled {coupled:?}, apart {apart:?}");
    assert!((1.7..=2.3).contains(&(coupled.0[0] / coupled.0[1])), "{coupled:?}");
    assert!(coupled.1 < 50.0 && apart.1 > 80.0, "{coupled:?} {apart:?}");
    assert!(apart.0[0] < 1.0, "SCReAM beside a file that fills the queue: {apart:?}");
}

/// A source that is far above the link, or losses of messages that live for a moment: most of it is given up, and the receiver is told so at
/// most once a round trip beyond each message.
#[test]
fn messages_that_are_given_up_leave_the_link_to_the_others() {
    for (rate, lossy, sctp, least) in [
        ("8Mbps", "", "lifetime = \"100ms\"", 0.9),
        ("8Mbps", "", "lifetime = \"0s\"", 0.1),
        (
            "2Mbps",
            "loss = { kind = \"bernoulli\", ratio = 0.02 }",
            "order = \"none\", lifetime = \"1ms\"",
            0.3,
        ),
    ] {
        let outcome = run(&format!(
            "duration = \"20s\"\n[links.l]\nrate = \"5Mbps\"\ndelay = \"25ms\"\nqueue = {{ limit = \"100ms\" }}\n{lossy}\n\
             [flows.f]\ntransport = \"sctp\"\ncontroller = \"sctp\"\npath = [\"l\"]\nsctp = {{ {sctp} }}\n\
             source = {{ kind = \"cbr\", rate = \"{rate}\", fps = 30 }}\n"
        ));
        let (offered, data) = (link(&outcome, "l").offered, count(flow(&outcome, "f").packets_sent));
        let others = offered - data;
        println!("{rate}, {sctp}: {offered} packets, {data} of data");
        // 600 frames, a SACK each second packet's time, HEARTBEATs; the link has 400 round trips.
        assert!(others < 1100, "{rate}, {sctp}: {others} packets beside {data} of data");
        assert!(flow(&outcome, "f").throughput_mbps.expect("a rate") > least, "{rate}, {sctp}");
    }
}

/// A link that is down for good: an association ends after eleven timeouts in a row, and a call by its circuit breaker. Each is said, and a
/// flow that goes on is not.
#[test]
fn a_flow_that_ends_by_itself_is_said() {
    let call = "controller = \"scream\"\nsource = { kind = \"cbr\", rate = \"1Mbps\" }\nrtp = { circuit_breaker = \"timeouts\" }";
    let file = "transport = \"sctp\"\nsource = { kind = \"bulk\" }";
    let datagrams = "transport = \"dccp\"\ncontroller = \"ccid2\"\nsource = { kind = \"bulk\" }";
    for (flow, down, said) in [
        (file, "10s", "flow f ended at 372.9 s"),
        (call, "10s", "flow f ended at 2"),
        (datagrams, "0s", "flow f ended at "),
        (datagrams, "10s", ""),
        (file, "600s", ""),
    ] {
        let outcome = run(&format!(
            "duration = \"600s\"\n[links.l]\nrate = \"1Mbps\"\ndelay = \"25ms\"\nqueue = {{ packets = 20 }}\n\
             down = [[\"{down}\", \"601s\"]]\n[flows.f]\npath = [\"l\"]\n{flow}\n"
        ));
        println!("{:?}", outcome.warnings);
        assert_eq!(outcome.warnings.len(), usize::from(!said.is_empty()));
        assert!(outcome.warnings.iter().all(|warning| warning.starts_with(said)), "{:?}", outcome.warnings);
    }
}
