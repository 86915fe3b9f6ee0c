//! DCCP in the simulator: sizes, sources, handshakes and shares, over links.

use crate::world::{assert_near, column, count, flow, link, run, run_at};
use paceline_sim::{Outcome, Pace};

const LINK: &str = "[links.l]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = { packets = 40 }\n";
const BACK: &str = "[links.back]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = { packets = 40 }\n";

fn world(links: &str, flow: &str) -> String {
    format!("duration = \"30s\"\nsample = \"1s\"\n{links}\n[flows.f]\npath = [\"l\"]\n{flow}\n")
}

#[test]
fn bulk_fills_a_link() {
    for (controller, least) in [("ccid2", 0.95), ("ccid3", 0.8)] {
        let outcome =
            run(&world(LINK, &format!("controller = \"{controller}\"\nsource = {{ kind = \"bulk\" }}")));
        let found = link(&outcome, "l").utilisation.unwrap_or(0.0);
        assert!((least..=1.0).contains(&found), "{controller}: {found}");
        let found = flow(&outcome, "f");
        // Goodput is what is left of 1500 B after 16 B of header; acknowledgements of acknowledgements cost little.
        let (throughput, goodput) = (found.throughput_mbps, found.goodput_mbps);
        assert_near("goodput", goodput, throughput.unwrap_or(0.0) * 1484.0 / 1500.0, 0.02);
        assert!(found.srtt_ms.mean.is_some_and(|srtt| (40.0..100.0).contains(&srtt)), "{:?}", found.srtt_ms);
        assert!(found.target_bitrate_mbps.is_some_and(|target| (7.0..14.0).contains(&target)));
    }
}

#[test]
fn headers_of_one_length_count_as_they_say() {
    for (size, profile) in [(532, "ccid2"), (1032, "ccid2"), (532, "ccid3"), (1032, "ccid3")] {
        let outcome = run(&world(
            LINK,
            &format!(
                "controller = {{ kind = \"{profile}\", profile = \"ns2\" }}\nsource = {{ kind = \"bulk\" }}\npacket_size = \"{size}B\""
            ),
        ));
        let found = flow(&outcome, "f");
        let expected = count(found.packets_received) as f64 * size as f64 * 8.0 / 30e6;
        assert_near("throughput", found.throughput_mbps, expected, 1e-6);
        assert_near("goodput", found.goodput_mbps, expected * (size - 32) as f64 / size as f64, 1e-6);
    }
}

#[test]
fn media_below_the_link_arrives_whole() {
    for controller in ["ccid2", "ccid3"] {
        for source in [
            "{ kind = \"cbr\", rate = \"2Mbps\", fps = 50 }",
            "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        ] {
            let outcome = run(&world(LINK, &format!("controller = \"{controller}\"\nsource = {source}")));
            let found = flow(&outcome, "f");
            assert!(
                found.packets_received > Some(500),
                "{controller} {source}: {:?}",
                found.packets_received
            );
            if source.contains("cbr") {
                // A round trip for the handshake, and slow start until the backlog of that time is gone.
                assert_near("goodput", found.goodput_mbps, 2.0, 0.02);
                assert_eq!(found.loss_ratio, Some(0.0));
            }
        }
    }
}

#[test]
fn a_handshake_takes_a_round_trip_and_may_be_left_out() {
    let first = |handshake: bool| {
        let text = world(
            LINK,
            &format!(
                "controller = \"ccid2\"\nsource = {{ kind = \"bulk\", length = \"1kB\" }}\ndccp = {{ handshake = {handshake} }}"
            ),
        );
        let outcome = run(&text);
        let found = flow(&outcome, "f");
        assert_eq!(found.packets_received, Some(1));
        found.send_queue_delay_ms.max.expect("it waited")
    };
    // Two small packets on the way there and back.
    assert_near("with", first(true), 40.0, 0.2);
    assert_near("without", first(false), 0.0, 0.001);
}

#[test]
fn losses_both_ways_slow_it_down_and_end_nothing() {
    let lossy = |text: &str| text.replace("delay", "loss = { kind = \"bernoulli\", ratio = 0.05 }\ndelay");
    for controller in ["ccid2", "ccid3"] {
        let flow_text = format!(
            "controller = \"{controller}\"\nsource = {{ kind = \"bulk\" }}\nreturn_path = [\"back\"]"
        );
        let outcome = run(&world(&format!("{}{}", lossy(LINK), lossy(BACK)), &flow_text));
        let found = flow(&outcome, "f");
        // The equation gives 1.3 Mbit/s.
        assert!(
            found.throughput_mbps.is_some_and(|rate| (0.6..2.2).contains(&rate)),
            "{controller}: {:?}",
            found.throughput_mbps
        );
        assert_near("loss", found.loss_ratio, 0.05, 0.02);
    }
}

#[test]
fn marks_stand_for_losses() {
    for controller in ["ccid2", "ccid3"] {
        let marked =
            LINK.replace("packets = 40 }", "packets = 400 }\nmark = { kind = \"step\", at = \"5ms\" }");
        let outcome = run(&world(
            &marked,
            &format!("controller = \"{controller}\"\nsource = {{ kind = \"bulk\" }}\necn = \"l4s\""),
        ));
        let found = flow(&outcome, "f");
        assert!(found.ce_ratio.is_some_and(|ratio| ratio > 0.0), "{controller}");
        // Slow start may overrun even 400 packets; after it nothing is lost.
        assert!(found.loss_ratio.is_some_and(|ratio| ratio < 0.02), "{controller}: {:?}", found.loss_ratio);
        assert!(
            found.throughput_mbps.is_some_and(|rate| rate > 6.0),
            "{controller}: {:?}",
            found.throughput_mbps
        );
    }
}

/// Headers of one length, so that delays are whole numbers of bytes; the connection is there from the beginning.
const EXACT: &str = "dccp = { header = \"16B\", rtp = true, handshake = false }";

#[test]
fn on_an_empty_link_a_frame_takes_its_serialisation_and_its_way() {
    for (controller, rate, packets, frame) in [
        // 1000 B of media in one packet, and 3000 B in three, with 28 B of headers each.
        ("ccid2", "200kbps", 1.0, 1028.0),
        ("ccid3", "200kbps", 1.0, 1028.0),
        ("ccid2", "600kbps", 3.0, 3084.0),
    ] {
        let text = format!(
            "controller = \"{controller}\"\nsource = {{ kind = \"cbr\", rate = \"{rate}\", fps = 25 }}\n{EXACT}"
        );
        // The first round trips know neither rate nor window.
        let outcome = run(&format!("warmup = \"2s\"\n{}", world(LINK, &text)));
        let found = flow(&outcome, "f");
        assert_near("delay", found.frame_delay_ms.mean, 20.0 + frame * 8.0 / 10e3, 0.0005);
        let parts = &found.frame_delay_parts_ms;
        let sum: f64 =
            [parts.send_queue, parts.link_queue, parts.path, parts.dejitter].iter().flatten().sum();
        assert_near("its parts", sum, 20.0 + frame * 8.0 / 10e3, 0.0005);
        assert_near("displayed", count(found.frames.displayed) as f64, 28.0 * 25.0, 1.0);
        assert_near("packets", count(found.packets_received) as f64, 28.0 * 25.0 * packets, 3.0);
        assert_near("throughput", found.throughput_mbps, 25.0 * frame * 8.0 / 1e6, 0.002);
        assert_near("goodput", found.goodput_mbps, 25.0 * (frame - 28.0 * packets) * 8.0 / 1e6, 0.002);
        assert_eq!((found.frames.incomplete, found.frames.discarded), (Some(0), Some(0)));
    }
}

#[test]
fn a_frame_waits_for_its_playout_time() {
    let text = format!(
        "controller = \"ccid2\"\nsource = {{ kind = \"cbr\", rate = \"200kbps\", fps = 25 }}\n{EXACT}\n\
         playout = {{ kind = \"fixed\", delay = \"100ms\" }}"
    );
    let outcome = run(&format!("warmup = \"2s\"\n{}", world(LINK, &text)));
    let found = flow(&outcome, "f");
    assert_near("delay", found.frame_delay_ms.mean, 100.0, 1e-6);
    assert_near("in the buffer", found.frame_delay_parts_ms.dejitter, 80.0 - 1028.0 * 8.0 / 10e3, 0.0005);
}

#[test]
fn a_lost_packet_loses_its_frame() {
    let lossy = LINK.replace("delay", "loss = { kind = \"bernoulli\", ratio = 0.05 }\ndelay");
    for controller in ["ccid2", "ccid3"] {
        let run = |rate: &str| {
            let text = format!(
                "controller = \"{controller}\"\nsource = {{ kind = \"cbr\", rate = \"{rate}\", fps = 25 }}\n{EXACT}"
            );
            run(&world(&lossy, &text))
        };
        let outcome = run("100kbps");
        let found = flow(&outcome, "f");
        assert_eq!(found.frames.captured, Some(750), "{controller}");
        assert_eq!(found.frames.displayed, found.packets_received, "{controller}: a packet, a frame");
        assert!(
            found.loss_ratio.is_some_and(|ratio| (0.03..0.07).contains(&ratio)),
            "{:?}",
            found.loss_ratio
        );
        let outcome = run("600kbps");
        let found = flow(&outcome, "f");
        let shown = count(found.frames.displayed) as f64 / (count(found.packets_sent) as f64 / 3.0);
        assert_near("all three arrived", shown, 0.95f64.powi(3), 0.04);
        assert!(found.frames.incomplete > Some(50), "{controller}: {:?}", found.frames.incomplete);
    }
}

#[test]
fn frames_that_wait_too_long_are_discarded() {
    // 1 Mbit/s of media that follows nobody, over half of that.
    let narrow = LINK.replace("10Mbps", "500kbps");
    for controller in ["ccid2", "ccid3"] {
        let run = |dccp: &str| {
            let text = format!(
                "controller = \"{controller}\"\nsource = {{ kind = \"cbr\", rate = \"1Mbps\", fps = 25 }}\ndccp = {{ {dccp} }}"
            );
            run(&world(&narrow, &text))
        };
        let outcome = run("discard_age = \"150ms\"");
        let found = flow(&outcome, "f");
        assert!(found.send_queue_delay_ms.max.is_some_and(|delay| delay < 151.5), "{controller}");
        let (displayed, cut) = (count(found.frames.displayed), count(found.frames.incomplete));
        let discarded = count(found.frames.discarded) + cut;
        assert!((230..400).contains(&displayed), "{controller}: {displayed}");
        assert!((350..=750 - displayed).contains(&discarded), "{controller}: {discarded}");
        // The default has room for more frames, and is no answer to twice the capacity either.
        let outcome = run("");
        let found = flow(&outcome, "f");
        assert!(found.send_queue_delay_ms.max.is_some_and(|delay| (400.0..501.5).contains(&delay)));
        assert!(found.frames.discarded > Some(300), "{controller}: {:?}", found.frames.discarded);
        let outcome = run("discard_age = \"100s\"");
        let found = flow(&outcome, "f");
        assert!(found.send_queue_delay_ms.max.is_some_and(|delay| delay > 10_000.0), "{controller}");
        assert_eq!(found.frames.discarded, Some(0));
    }
}

#[test]
fn an_encoder_follows_the_target() {
    let narrow = LINK.replace("10Mbps", "2Mbps");
    for controller in ["ccid2", "ccid3"] {
        let text = format!(
            "controller = \"{controller}\"\nsource = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }}"
        );
        let outcome = run(&format!("warmup = \"5s\"\n{}", world(&narrow, &text)));
        let found = flow(&outcome, "f");
        assert!(
            found.throughput_mbps.is_some_and(|rate| rate > 1.9),
            "{controller}: {:?}",
            found.throughput_mbps
        );
        let target = found.target_bitrate_mbps;
        assert!(target.is_some_and(|target| (1.9..2.8).contains(&target)), "{controller}: {target:?}");
        // The bottleneck's 240 ms, the way, and what waits to be sent.
        let delay = found.frame_delay_ms.max;
        assert!(delay.is_some_and(|delay| (250.0..770.0).contains(&delay)), "{controller}: {delay:?}");
        assert!(found.frames.displayed > Some(900), "{controller}: {:?}", found.frames);
    }
}

/// The rows of an inner state from `from` seconds on.
fn state(outcome: &Outcome, name: &str, from: usize) -> Vec<f64> {
    column(&outcome.flows, "flow", "f", &format!("state.{name}")).split_off(from)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn marked_acknowledgements_raise_the_ack_ratio_as_lost_ones_do() {
    // 400 acknowledgements a second of 40 B and more: too many for the way back.
    let narrow = BACK.replace("10Mbps", "60kbps").replace("packets = 40", "packets = 20000");
    let run = |ecn: &str| {
        run(&world(
            &format!("{LINK}{narrow}mark = {{ kind = \"step\", at = \"20ms\" }}\n"),
            &format!(
                "controller = \"ccid2\"\nsource = {{ kind = \"bulk\" }}\nreturn_path = [\"back\"]\necn = \"{ecn}\"\n\
                 record = [\"ack_ratio\", \"cwnd\"]"
            ),
        ))
    };
    let (marked, unmarked) = (run("l4s"), run("off"));
    for (outcome, least, ratios, delays) in
        [(&marked, 100, 3.0..20.0, 5.0..100.0), (&unmarked, 0, 2.0..2.1, 1000.0..60_000.0)]
    {
        let back = link(outcome, "back");
        assert!(back.marked >= least && back.dropped == 0, "{back:?}");
        let ratio = mean(&state(outcome, "ack_ratio", 5));
        assert!(ratios.contains(&ratio), "{ratio}");
        assert!(back.queue_delay_ms.mean.is_some_and(|delay| delays.contains(&delay)), "{back:?}");
    }
    assert_eq!(link(&unmarked, "back").marked, 0);
}

/// RFC 4341 section 6.1.2.
#[test]
fn lost_acknowledgements_raise_the_ack_ratio_within_its_limits() {
    let mut means = Vec::new();
    for ratio in ["0.0", "0.02", "0.1"] {
        let back =
            BACK.replace("delay", &format!("loss = {{ kind = \"bernoulli\", ratio = {ratio} }}\ndelay"));
        let outcome = run(&world(
            &format!("{LINK}{back}"),
            "controller = \"ccid2\"\nsource = { kind = \"bulk\" }\nreturn_path = [\"back\"]\n\
             record = [\"ack_ratio\", \"cwnd\"]",
        ));
        let (ratios, windows) = (state(&outcome, "ack_ratio", 5), state(&outcome, "cwnd", 5));
        for (ratio, cwnd) in ratios.iter().zip(&windows) {
            assert!(ratio.fract() == 0.0 && *ratio <= (cwnd / 2.0).ceil().max(2.0), "{ratio} with {cwnd}");
            assert!(*cwnd < 4.0 || *ratio >= 2.0, "{ratio} with {cwnd}");
        }
        // Two acknowledgements for a window at least; where both are lost the window times out.
        let throughput = flow(&outcome, "f").throughput_mbps;
        assert!(throughput.is_some_and(|rate| rate > 5.0), "{ratio}: {throughput:?}");
        means.push((mean(&ratios), mean(&windows)));
    }
    assert_eq!(means[0].0, 2.0);
    // Doubled more often than it comes down: it stays near its limit of half the window.
    for (ratio, window) in &means[1..] {
        assert!((0.4..1.0).contains(&(ratio / (window / 2.0))), "{means:?}");
    }
}

/// The throughput of a flow under `controller`, relative to a NewReno that acknowledges each packet, over `rate` Mbit/s, `delay`
/// ms each way and `packets` of drop-tail queue. With delayed acknowledgements NewReno grows half as fast as both CCIDs.
///
/// With `noise` every packet reaches the queue later by a random part of the queue's service time, as Floyd and Jacobson
/// advise for simulations ("On Traffic Phase Effects in Packet-Switched Gateways", 1992). Without it the flows stay in
/// step: their packets arrive at the same moments of each service, and the flow that arrives just before a departure
/// loses nearly all that is lost.
fn share(controller: &str, (rate, delay, packets): (u32, u32, u32), noise: bool) -> f64 {
    let link_noise = if noise {
        format!("noise = {{ kind = \"uniform\", max = \"{}us\" }}\n", 1500 * 8 / rate)
    } else {
        String::new()
    };
    let link = |name: &str, rate: u32, delay: u32, packets: u32| {
        format!(
            "[links.{name}]\nrate = \"{rate}Mbps\"\ndelay = \"{delay}ms\"\nqueue = {{ packets = {packets} }}\n"
        )
    };
    let links = [
        link("f_access", 1000, 0, 1000) + &link_noise,
        link("tcp_access", 1000, 0, 1000) + &link_noise,
        link("l", rate, delay, packets),
        link("back", rate, delay, 200),
    ]
    .concat();
    let outcome = run(&format!(
        "duration = \"300s\"\nwarmup = \"20s\"\nsample = \"1s\"\n{links}\n\
         [flows.f]\npath = [\"f_access\", \"l\"]\nreturn_path = [\"back\"]\ncontroller = \"{controller}\"\n\
         source = {{ kind = \"bulk\" }}\n\
         [flows.tcp]\npath = [\"tcp_access\", \"l\"]\nreturn_path = [\"back\"]\ncontroller = \"newreno\"\n\
         source = {{ kind = \"bulk\" }}\ntcp = {{ ack_every = 1 }}\nstart = \"1s\"\n"
    ));
    let [found, tcp] = ["f", "tcp"].map(|name| flow(&outcome, name).throughput_mbps.unwrap_or(0.0));
    let how = if noise { "noise" } else { "in step" };
    println!(
        "{controller}, {rate} Mbit/s, {delay} ms, {packets} packets, {how}: {found:.2} and {tcp:.2} Mbit/s, {:.2}",
        found / tcp
    );
    assert!(found + tcp > 0.9 * f64::from(rate), "{controller}: they use {found} and {tcp} of {rate}");
    found / tcp
}

/// Mbit/s, one-way delay in ms, packets of queue: round trips of 20 to 200 ms, of 17 to 167 packets without the queue.
const PATHS: [(u32, u32, u32); 12] = [
    (10, 50, 60),
    (10, 50, 100),
    (10, 50, 150),
    (8, 75, 100),
    (10, 100, 150),
    (4, 50, 35),
    (10, 10, 25),
    (10, 10, 50),
    (10, 40, 70),
    (20, 20, 70),
    (4, 25, 30),
    (2, 50, 20),
];

#[test]
fn ccid2_and_newreno_share_a_queue_within_a_factor_of_two() {
    for (path, noise) in PATHS.into_iter().flat_map(|path| [(path, true), (path, false)]) {
        let share = share("ccid2", path, noise);
        assert!((0.5..=2.0).contains(&share), "{path:?}, noise {noise}: {share:.2}");
    }
}

#[test]
fn ccid3_and_newreno_share_a_queue_within_a_factor_of_two() {
    for path in PATHS {
        let share = share("ccid3", path, true);
        assert!((0.5..=2.0).contains(&share), "{path:?}: {share:.2}");
    }
}

/// Not CCID 3's doing: `docs/known-results.md` says how ns-2 fares.
#[test]
fn in_step_ccid3_gets_up_to_three_times_as_much() {
    for path in PATHS {
        let share = share("ccid3", path, false);
        assert!((0.9..=3.5).contains(&share), "{path:?}: {share:.2}");
    }
}

#[test]
fn windows_change_no_bit() {
    let text = format!(
        "duration = \"5s\"\nsample = \"100ms\"\n{LINK}{BACK}\n\
         [flows.a]\npath = [\"l\"]\nreturn_path = [\"back\"]\ncontroller = \"ccid2\"\nsource = {{ kind = \"bulk\" }}\n\
         [flows.b]\npath = [\"l\"]\ncontroller = \"ccid3\"\nsource = {{ kind = \"bulk\" }}\nstart = \"500ms\"\nstop = \"4s\"\n\
         [flows.c]\npath = [\"l\"]\ncontroller = \"newreno\"\nsource = {{ kind = \"bulk\" }}\n\
         [flows.d]\npath = [\"l\"]\nreturn_path = [\"back\"]\ncontroller = \"ccid3\"\ndccp = {{ discard_age = \"50ms\" }}\n\
         source = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }}\n"
    );
    let [windowed, step] = [Pace::Windowed, Pace::Stepped].map(|pace| run_at(&text, pace));
    assert_eq!(windowed.summary.to_json(), step.summary.to_json());
    assert_eq!(windowed.flows, step.flows);
}
