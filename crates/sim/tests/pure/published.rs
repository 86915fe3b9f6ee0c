//! Published figures of the rivals of a call. Each test prints the behaviour, its source, what is expected and what was measured, and fails
//! outside the bounds, which stood here before the first run but for those named "Linux 6" and Prague's, which are parts of what a formula
//! or a paper gives. docs/known-results.md has the figures. Rates at random losses are in `response.rs`.

use crate::world::{column, flow, run};

/// Prints a line of the table, and fails unless `measured` lies within the bounds.
#[track_caller]
fn judge(behaviour: &str, source: &str, expected: f64, (least, most): (f64, f64), measured: f64) {
    let bounds = format!("{least:.3} to {most:.3}");
    println!("| {behaviour} | {source} | {expected:.3} | {bounds} | {measured:.3} |");
    assert!(
        (least..=most).contains(&measured),
        "{behaviour}: {measured:.3}, expected {expected:.3} ({bounds}; {source})"
    );
}

/// Bounds that lie a part `within` around what is expected.
fn around(expected: f64, within: f64) -> (f64, f64) {
    (expected * (1.0 - within), expected * (1.0 + within))
}

/// How many times the rate of a flow with a round trip of 400 ms one of 100 ms has, both losing packets at random with probability `p`.
fn advantage_at_random_losses(controller: &str, p: f64, seconds: u64) -> f64 {
    let links = [("near", 50), ("far", 200)].map(|(name, delay)| {
        format!(
            "[links.{name}]\nrate = \"10Gbps\"\ndelay = \"{delay}ms\"\nqueue = {{ packets = 100000 }}\n\
             loss = {{ kind = \"bernoulli\", ratio = {p} }}\n\
             [flows.{name}]\ntransport = \"tcp\"\ncontroller = \"{controller}\"\ntcp = {{ ack_every = 1 }}\nsource = {{ kind = \"bulk\" }}\n\
             packet_size = \"1000B\"\npath = [\"{name}\"]\nreturn_delay = \"{delay}ms\"\n"
        )
    });
    let [near, far] = &links;
    let outcome = run(&format!("duration = \"{seconds}s\"\nwarmup = \"60s\"\nsample = \"1s\"\n{near}{far}"));
    let [near, far] =
        ["near", "far"].map(|name| flow(&outcome, name).throughput_mbps.expect("packets arrive"));
    near / far
}

/// Mathis et al.: rates go with 1 / RTT. RFC 9438 equation 6: windows go with RTT^(3/4), rates with RTT^(-1/4).
#[test]
#[ignore = "long: make test-all"]
fn round_trips_count_at_random_losses_as_the_laws_say() {
    let reno = advantage_at_random_losses("newreno", 1e-3, 2000);
    judge("Reno, RTT 100 to 400 ms, p 0.001: ratio of rates", "Mathis 1997", 4.0, around(4.0, 0.12), reno);
    let cubic = advantage_at_random_losses("cubic", 3e-5, 1200);
    let expected = 4f64.powf(0.25);
    judge(
        "CUBIC, RTT 100 to 400 ms, p 0.00003: ratio of rates",
        "RFC 9438 5.1",
        expected,
        around(expected, 0.2),
        cubic,
    );
}

/// Two flows over one drop-tail link, whose round trips without queue are 20 and 100 ms: the ratio of rates as a power of that of round trips.
fn exponent_behind_drop_tail(controller: &str) -> f64 {
    let flows = [("near", 10), ("far", 90)].map(|(name, back)| {
        format!(
            "[flows.{name}]\ntransport = \"tcp\"\ncontroller = \"{controller}\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n\
             return_delay = \"{back}ms\"\n"
        )
    });
    let outcome = run(&format!(
        "duration = \"600s\"\nwarmup = \"60s\"\n[links.l]\nrate = \"20Mbps\"\ndelay = \"10ms\"\nqueue = {{ limit = \"30ms\" }}\n\
         noise = {{ kind = \"uniform\", max = \"600us\" }}\n{}",
        flows.concat()
    ));
    let of = |name| flow(&outcome, name);
    let rates = of("near").throughput_mbps.zip(of("far").throughput_mbps).map(|(near, far)| near / far);
    let trips = of("far").srtt_ms.mean.zip(of("near").srtt_ms.mean).map(|(far, near)| far / near);
    rates.expect("packets arrive").ln() / trips.expect("a round trip is measured").ln()
}

/// Lakshman and Madhow (1997): between 1 and 2. CUBIC was made to be fairer (RFC 9438 section 5.1), and is Reno where the round trip is short.
#[test]
fn round_trips_count_behind_drop_tail_between_once_and_twice() {
    let source = "Lakshman and Madhow 1997";
    judge(
        "Reno, drop-tail: rates go with RTT to the power of -",
        source,
        1.5,
        (1.0, 2.0),
        exponent_behind_drop_tail("sack"),
    );
    judge("CUBIC, drop-tail: the same", "RFC 9438 5.1", 1.0, (0.25, 1.5), exponent_behind_drop_tail("cubic"));
}

/// Alizadeh et al. (2010), section 3.3, for one flow: W* = C RTT + K, alpha = sqrt(2 / W*), the queue K + 1 at most, and a saw under it whose
/// teeth are sqrt(2 W*) / 2.
#[test]
fn dctcp_has_the_queue_and_the_part_of_marks_of_its_analysis() {
    let (rate, trip, threshold): (f64, f64, f64) = (100e6 / 12_000.0, 0.02, 0.005);
    let outcome = run(
        "duration = \"60s\"\nwarmup = \"20s\"\n[links.l]\nrate = \"100Mbps\"\ndelay = \"10ms\"\nqueue = { packets = 1000 }\n\
         mark = { kind = \"step\", at = \"5ms\" }\n[flows.f]\ntransport = \"tcp\"\ncontroller = \"dctcp\"\necn = \"l4s\"\nrecord = [\"alpha\"]\n\
         tcp = { ack_every = 1 }\nsource = { kind = \"bulk\" }\npath = [\"l\"]\nreturn_delay = \"10ms\"\n",
    );
    let window = rate * trip + rate * threshold;
    let alpha = (2.0 / window).sqrt();
    let rows = column(&outcome.flows, "flow", "f", "state.alpha");
    let mean = rows[400..].iter().sum::<f64>() / (rows.len() - 400) as f64;
    let source = "Alizadeh 2010, 3.3";
    judge("DCTCP, 100 Mbit/s, 20 ms, K 5 ms: alpha", source, alpha, around(alpha, 0.3), mean);
    let wait = (rate * threshold + 1.0 - (2.0 * window).sqrt() / 4.0) / rate * 1e3;
    let found = flow(&outcome, "f").queue_delay_ms;
    judge("the same: mean wait, ms", source, wait, around(wait, 0.1), found.mean.expect("packets wait"));
    let most = (rate * threshold + 1.0) / rate * 1e3;
    judge("the same: longest wait, ms", source, most, around(most, 0.1), found.max.expect("packets wait"));
}

/// Rossi et al. (2010); RFC 6817 section 4.2: a flow that comes late takes the queue of the first for the path's delay, adds a target of
/// its own, and the first gives way.
#[test]
fn ledbat_s_latecomer_takes_the_link() {
    let flows = [("first", 0), ("late", 60)].map(|(name, start)| {
        format!(
            "[flows.{name}]\ntransport = \"tcp\"\ncontroller = \"ledbat\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\nstart = \"{start}s\"\n"
        )
    });
    let outcome = run(&format!(
        "duration = \"240s\"\nsample = \"1s\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = {{ limit = \"400ms\" }}\n{}",
        flows.concat()
    ));
    let mean = |rows: &[f64]| rows.iter().sum::<f64>() / rows.len() as f64;
    let rates = |name| column(&outcome.flows, "flow", name, "throughput_mbps");
    let share = mean(&rates("late")[120..240]) / 10.0;
    judge(
        "LEDBAT: part of the link that a latecomer has after a minute",
        "Rossi 2010; RFC 6817 4.2",
        1.0,
        (0.75, 1.0),
        share,
    );
    let waits = column(&outcome.flows, "flow", "first", "queue_delay_ms");
    judge("LEDBAT alone: wait, ms", "RFC 6817 2.5, TARGET", 100.0, around(100.0, 0.1), mean(&waits[30..60]));
    judge(
        "LEDBAT with a latecomer: wait, ms",
        "Rossi 2010; RFC 6817 4.2",
        200.0,
        around(200.0, 0.15),
        mean(&waits[120..240]),
    );
}

/// Ware et al. (2019), equations 5, 7 and 8, give BBR more than the kernel's BBR has beside the kernel's CUBIC: 0.97, 0.78, 0.63, 0.54 and
/// 0.49 for what was 0.84, 0.55, 0.49, 0.38 and 0.34 (Linux 6, `paceline link --tun`, 10 Mbit/s, 40 ms, 85 or 70 s behind the first 30;
/// 2026-11-25). A second run with 4 BDP had 0.42: the mean of both is expected.
#[test]
fn bbr_v1_beside_cubic_has_the_part_that_the_kernel_s_has_whatever_the_queue_s_depth() {
    let (rate, trip): (f64, f64) = (10e6 / 12_000.0, 0.04);
    for (depth, expected) in [(1.0, 0.84), (2.0, 0.55), (4.0, 0.455), (8.0, 0.38), (16.0, 0.34)] {
        let flows = ["bbr", "cubic"].map(|kind| {
            format!("[flows.{kind}]\ntransport = \"tcp\"\ncontroller = \"{kind}\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n")
        });
        let packets = (depth * rate * trip).round();
        let outcome = run(&format!(
            "duration = \"300s\"\nwarmup = \"60s\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = {{ packets = {packets} }}\n{}",
            flows.concat()
        ));
        let share = flow(&outcome, "bbr").throughput_mbps.expect("packets arrive") / 10.0;
        let behaviour = format!("BBR v1 beside CUBIC, {depth} BDP of queue: part of the link");
        judge(&behaviour, "Linux 6", expected, (expected - 0.1, expected + 0.1), share);
    }
}

/// Outcome of flows with much to send, each a controller, its round trip without queue in ms and its ECN field, over a link of 40 Mbit/s.
fn over(queue: &str, seconds: u32, flows: &[(&str, u32, &str)]) -> paceline_sim::Outcome {
    let mut text = format!(
        "duration = \"{seconds}s\"\nwarmup = \"{}s\"\n[links.l]\nrate = \"40Mbps\"\ndelay = \"0s\"\nqueue = {{ {queue} }}\n",
        seconds / 4
    );
    for (number, (controller, trip, ecn)) in flows.iter().enumerate() {
        text += &format!(
            "[flows.f{number}]\ntransport = \"tcp\"\ncontroller = {controller}\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n\
             return_delay = \"{trip}ms\"\necn = \"{ecn}\"\n"
        );
    }
    run(&text)
}

fn rates(outcome: &paceline_sim::Outcome) -> [f64; 2] {
    ["f0", "f1"].map(|name| flow(outcome, name).throughput_mbps.expect("packets arrive"))
}

const DUALPI2: &str = "kind = \"dualpi2\"";
const PRAGUE: &str = "\"prague\"";
const CUBIC: &str = "\"cubic\"";

/// Windows by the probability p' of DualPI2 (RFC 9332 section 2.1: L4S packets are marked with 2 p', others with p'^2): Prague's is 2.24 over its
/// (alpha / 2 of the window for a packet in each round with a mark, of which there are as many as are not empty), in a round trip of
/// 25 ms at least; CUBIC's, where it is Reno's, is 1.22 over the root of its own, in a round trip with a queue of 15 ms.
fn prague_over_cubic(prague: f64, cubic: f64) -> f64 {
    2.24 / 2.0 / 1.22 * (cubic + 15.0) / (prague + 0.5).max(25.0)
}

#[test]
fn prague_beside_cubic_has_what_the_coupling_gives_it_at_any_round_trips() {
    for (prague, cubic) in [(10, 10), (10, 50), (50, 10)] {
        let [ours, rival] = rates(&over(DUALPI2, 80, &[(PRAGUE, prague, "l4s"), (CUBIC, cubic, "classic")]));
        let expected = prague_over_cubic(f64::from(prague), f64::from(cubic));
        judge(
            &format!("Prague, {prague} ms, beside CUBIC, {cubic} ms, DualPI2: ratio of rates"),
            "RFC 9332 2.1; draft-briscoe-iccrg-prague-congestion-control-04 2.4.4",
            expected,
            around(expected, 0.35),
            ours / rival,
        );
    }
}

/// draft-briscoe-iccrg-prague-congestion-control-04, section 2.4.4: as round trips below 25 ms count as 25 ms, rates go with 25 to
/// 100 ms where marks are as probable for both. A step marks all or nothing: then they go with the square. DualPI2 alone with L4S
/// traffic is a ramp of 0.4 ms, which lies between.
#[test]
fn round_trips_count_for_two_pragues_as_25_to_100_ms() {
    let (near, far) = ((PRAGUE, 10, "l4s"), (PRAGUE, 100, "l4s"));
    let coupled = rates(&over(DUALPI2, 400, &[near, far, (CUBIC, 40, "classic")]));
    let source = "draft-briscoe-iccrg-prague-congestion-control-04 2.4.4";
    let what = "Pragues, 10 and 100 ms, DualPI2 with CUBIC: ratio of rates";
    judge(what, source, 4.0, around(4.0, 0.3), coupled[0] / coupled[1]);
    let alone = rates(&over(DUALPI2, 400, &[near, far]));
    judge("the same without CUBIC", source, 8.0, (4.0, 16.0), alone[0] / alone[1]);
}

/// RFC 9332 appendix A: L4S packets are marked by waits from 0.8 ms on, all from 1.2 ms on.
#[test]
fn prague_s_queue_behind_dualpi2_is_that_of_its_ramp() {
    let outcome = over(DUALPI2, 60, &[(PRAGUE, 10, "l4s")]);
    let waits = &flow(&outcome, "f0").queue_delay_ms;
    let source = "RFC 9332 A.1";
    judge(
        "Prague, 10 ms, DualPI2: mean wait, ms",
        source,
        0.8,
        (0.4, 1.2),
        waits.mean.expect("packets wait"),
    );
    judge("the same: p99, ms", source, 1.2, (0.8, 1.5), waits.p99.expect("packets wait"));
}

/// Briscoe and Ahmed (2019): in a single queue with Classic ECN Prague starves a Classic flow, as RFC 9331 section 4.3 warns; with the fall-back
/// both have about as much.
#[test]
fn prague_falls_back_where_a_classic_queue_marks() {
    let falls_back = "{ kind = \"prague\", classic_ecn_fallback = true }";
    for (name, queue) in [
        ("CoDel", "kind = \"codel\""),
        ("PIE", "kind = \"pie\""),
        ("RED", "kind = \"red\", packets = 200, min_th = 20.0, max_th = 60.0"),
    ] {
        let share = |controller| {
            let [ours, rival] = rates(&over(queue, 100, &[(controller, 20, "l4s"), (CUBIC, 20, "classic")]));
            rival / (ours + rival)
        };
        let what = format!("CUBIC beside Prague, {name} with ECN: part of the link");
        judge(&what, "RFC 9331 4.3", 0.1, (0.02, 0.2), share(PRAGUE));
        let what = format!("the same with classic_ecn_fallback, {name}");
        judge(&what, "Briscoe and Ahmed 2019", 0.5, (0.35, 0.65), share(falls_back));
    }
}
