//! NADA on whole paths: alone, under losses and marks, beside itself and beside TCP, and in test cases of RFC 8867. That names no bounds:
//! these were set after the first runs, and `--nocapture` prints what is.

use crate::world::{column, flow, run};
use paceline_sim::Outcome;

const CAMERA: &str = "{ kind = \"trace-encoder\", generator = \"frames\", fps = 30 }";
/// RFC 8867 section 4: the encoder of RFC 8593, from 150 kbit/s to 1.5 Mbit/s, which are NADA's usual RMIN and RMAX.
const VIDEO: &str = "{ kind = \"rfc8593\", model = \"statistical\", fps = 30 }";

/// A flow of NADA over these links, with more in its controller and in its table.
fn nada(name: &str, source: &str, path: &str, controller: &str, more: &str) -> String {
    format!(
        "[flows.{name}]\ntransport = \"rtp\"\ncontroller = {{ kind = \"nada\"{controller} }}\nsource = {source}\npath = {path}\n{more}\n"
    )
}

/// One flow that may have so many Mbit/s, over a link.
fn alone(rmax: u32, link: &str, more: &str) -> Outcome {
    let controller = format!(", target_bitrate_max = \"{rmax}Mbps\"");
    run(&format!(
        "duration = \"120s\"\nwarmup = \"60s\"\nsample = \"100ms\"\n[links.l]\ndelay = \"25ms\"\n{link}\n{}",
        nada("f", CAMERA, "[\"l\"]", &controller, more)
    ))
}

/// Throughput in Mbit/s, and median and 95th percentile of the wait in the link's queue in ms.
fn figures(outcome: &Outcome, name: &str) -> (f64, f64, f64) {
    let found = flow(outcome, name);
    let delay = &found.queue_delay_ms;
    let known = [found.throughput_mbps, delay.p50, delay.p95].map(|figure| figure.expect("packets arrived"));
    (known[0], known[1], known[2])
}

/// The mean rate of a flow in Mbit/s from one second to another.
fn mean(outcome: &Outcome, name: &str, (from, to): (u32, u32)) -> f64 {
    let rates = column(&outcome.flows, "flow", name, "throughput_mbps");
    let rates = &rates[from as usize * 10..to as usize * 10];
    rates.iter().sum::<f64>() / rates.len() as f64
}

/// Fails unless `found` lies between two bounds.
#[track_caller]
fn between(what: &str, found: f64, least: f64, most: f64) {
    assert!((least..=most).contains(&found), "{what}: {found:.3}, expected {least} to {most}");
}

/// RFC 8698 section 4.3: the signal at the rate r is XREF RMAX / r, here 15 to 20 ms.
#[test]
fn a_flow_fills_its_link_and_keeps_the_queue_of_its_equilibrium() {
    for (mbps, rmax) in [(1, 2), (5, 8), (20, 30)] {
        let outcome = alone(rmax, &format!("rate = \"{mbps}Mbps\"\nqueue = {{ limit = \"300ms\" }}"), "");
        let (rate, wait, p95) = figures(&outcome, "f");
        let targets = column(&outcome.flows, "flow", "f", "target_bitrate_mbps");
        let full = targets.iter().position(|target| *target > 0.9 * f64::from(mbps)).expect("a full link");
        println!(
            "{mbps} Mbit/s, RMAX {rmax}: {rate:.3} Mbit/s, p50 {wait:.1} ms, p95 {p95:.1} ms, 90 % after {full} tenths"
        );
        between("part of the link", rate / f64::from(mbps), 0.95, 1.0);
        between("queue, ms", wait, 8.0, 40.0);
        between("tenths of a second until it is full", full as f64, 20.0, 150.0);
    }
}

/// RFC 8698 equation (2): a loss ratio p leaves RMAX 0.01^2 / p^2, which is a quarter at 2 % and a twenty-fifth at 5 %.
#[test]
fn losses_leave_the_rate_of_the_equilibrium() {
    for (ratio, least, most) in
        [(0.001, 9.5, 10.0), (0.005, 9.2, 10.0), (0.01, 8.0, 10.0), (0.02, 2.5, 4.5), (0.05, 0.2, 0.6)]
    {
        let link = format!(
            "rate = \"20Mbps\"\nqueue = {{ limit = \"300ms\" }}\nloss = {{ kind = \"bernoulli\", ratio = {ratio} }}"
        );
        let (rate, ..) = figures(&alone(10, &link, ""), "f");
        println!("{ratio} lost: {rate:.3} Mbit/s of 10");
        between(&format!("Mbit/s at {ratio}"), rate, least, most);
    }
}

/// A flow of at most 10 Mbit/s over 5 Mbit/s with this queue: its rate, the 95th percentile of its wait, and the part that is marked.
fn marked(queue: &str, ecn: &str) -> (f64, f64, f64) {
    let outcome = alone(10, &format!("rate = \"5Mbps\"\n{queue}"), &format!("ecn = \"{ecn}\""));
    let (rate, wait, p95) = figures(&outcome, "f");
    let marked = flow(&outcome, "f").ce_ratio.expect("packets arrived");
    println!("{queue}, ecn {ecn}: {rate:.3} Mbit/s, p50 {wait:.1} ms, p95 {p95:.1} ms, {marked:.4} marked");
    (rate, p95, marked)
}

/// RFC 8698 appendix A: NADA has not been tested by its authors with marks that come all at once above a threshold.
#[test]
fn marks_lower_the_rate_before_a_queue_does() {
    for mark in ["{ kind = \"ramp\", low = \"2ms\", high = \"10ms\" }", "{ kind = \"step\", at = \"5ms\" }"] {
        let (rate, p95, part) = marked(&format!("queue = {{ limit = \"300ms\" }}\nmark = {mark}"), "l4s");
        between("Mbit/s", rate, 1.5, 4.5);
        between("queue, ms", p95, 1.0, 30.0);
        between("part that is marked", part, 0.02, 0.25);
    }
    for queue in ["codel", "pie", "red"] {
        for ecn in ["off", "classic"] {
            let queue = format!("queue = {{ kind = \"{queue}\", limit = \"300ms\" }}");
            let (rate, p95, part) = marked(&queue, ecn);
            between("Mbit/s", rate, 3.5, 5.0);
            between("queue, ms", p95, 5.0, 90.0);
            assert_eq!(part > 0.0, ecn == "classic");
        }
    }
}

/// Two flows over 6 Mbit/s: rates in Mbit/s of the last minute of three.
fn two(of_a: &str, of_b: &str) -> [f64; 2] {
    let most = ", target_bitrate_max = \"8Mbps\"";
    let flows = nada("a", CAMERA, "[\"l\"]", &format!("{most}{of_a}"), "")
        + &nada("b", CAMERA, "[\"l\"]", most, of_b);
    let outcome = run(&format!(
        "duration = \"180s\"\nwarmup = \"120s\"\nsample = \"100ms\"\n\
         [links.l]\nrate = \"6Mbps\"\ndelay = \"25ms\"\nqueue = {{ limit = \"300ms\" }}\n{flows}"
    ));
    println!("{of_a} {of_b}: {:?} {:?}", figures(&outcome, "a"), figures(&outcome, "b"));
    ["a", "b"].map(|name| figures(&outcome, name).0)
}

/// RFC 8698 section 4.3: rates at equilibrium are in proportion to PRIO and RMAX.
#[test]
fn two_flows_share_by_priority_whenever_they_come() {
    for start in ["0s", "5s", "30s"] {
        let [a, b] = two("", &format!("start = \"{start}\""));
        between("first over second", a / b, 0.8, 1.25);
        between("sum", a + b, 5.5, 6.01);
    }
    let [a, b] = two(", prio = 2", "");
    between("first over second", a / b, 1.7, 2.3);
    between("sum", a + b, 5.5, 6.01);
}

/// A camera of at most 8 Mbit/s beside CUBIC on 6 Mbit/s: neither starves, whatever the queue holds.
#[test]
fn beside_cubic_neither_starves() {
    for limit in [50, 100, 300, 1000] {
        let camera = nada("a", CAMERA, "[\"l\"]", ", target_bitrate_max = \"8Mbps\"", "");
        let outcome = run(&format!(
            "duration = \"180s\"\nwarmup = \"60s\"\nsample = \"100ms\"\n\
             [links.l]\nrate = \"6Mbps\"\ndelay = \"25ms\"\nqueue = {{ limit = \"{limit}ms\" }}\n{camera}\
             [flows.tcp]\ntransport = \"tcp\"\ncontroller = \"cubic\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\nstart = \"10s\"\n"
        ));
        let (nada, cubic) = (figures(&outcome, "a"), figures(&outcome, "tcp"));
        let lost = flow(&outcome, "a").loss_ratio.expect("packets");
        println!("queue of {limit} ms: {nada:?}, CUBIC {cubic:?}, loss {lost:.4}");
        between("NADA, Mbit/s", nada.0, 1.0, 5.0);
        between("sum", nada.0 + cubic.0, 5.8, 6.01);
        between("loss ratio", lost, 0.0, 0.03);
    }
}

/// A world of RFC 8867: so many seconds, a link `l` whose queue has so many bytes, and flows.
fn case(seconds: u32, (rate, delay_ms, bytes): (&str, u32, u32), flows: &str) -> Outcome {
    run(&format!(
        "duration = \"{seconds}s\"\nsample = \"100ms\"\n\
         [links.l]\nrate = {rate}\ndelay = \"{delay_ms}ms\"\nqueue = {{ bytes = \"{bytes}B\" }}\n{flows}"
    ))
}

const OVER_L: &str = "[\"l\"]";

#[test]
fn rfc8867_5_1_variable_capacity_one_flow() {
    let rate = "{ steps = [[\"0s\", \"1Mbps\"], [\"40s\", \"2500kbps\"], [\"60s\", \"600kbps\"], [\"80s\", \"1Mbps\"]] }";
    for delay in [50, 100] {
        let outcome = case(100, (rate, delay, 37_500), &nada("f", VIDEO, OVER_L, "", "stop = \"99s\""));
        let rates = [(20, 40), (50, 60), (65, 80), (90, 99)].map(|span| mean(&outcome, "f", span));
        let lost = flow(&outcome, "f").loss_ratio.expect("packets");
        println!("5.1 at {delay} ms: {rates:.3?}, {:?}, loss {lost:.4}", figures(&outcome, "f"));
        // RMAX, 1.5 Mbit/s, where the link has more.
        for (rate, link) in rates.into_iter().zip([1.0, 1.5, 0.6, 1.0]) {
            between("part of the link", rate / link, 0.8, 1.01);
        }
        between("loss ratio", lost, 0.0, 0.01);
    }
}

#[test]
fn rfc8867_5_2_variable_capacity_two_flows() {
    let rate = "{ steps = [[\"0s\", \"4Mbps\"], [\"25s\", \"2Mbps\"], [\"50s\", \"3500kbps\"], [\"75s\", \"1Mbps\"], [\"100s\", \"2Mbps\"]] }";
    let flows = nada("a", VIDEO, OVER_L, "", "") + &nada("b", VIDEO, OVER_L, "", "");
    let outcome = case(125, (rate, 50, 75_000), &flows);
    let spans = [(15, 25), (35, 50), (60, 75), (85, 100), (110, 125)];
    let [a, b] = ["a", "b"].map(|name| spans.map(|span| mean(&outcome, name, span)));
    println!("5.2: {a:.3?} and {b:.3?}, {:?}", figures(&outcome, "a"));
    for (place, half) in [1.5, 1.0, 1.5, 0.5, 1.0].into_iter().enumerate() {
        between("part of both halves", (a[place] + b[place]) / 2.0 / half, 0.85, 1.01);
        between("first over second", a[place] / b[place], 0.7, 1.4);
    }
}

/// Three flows over 3.5 Mbit/s of which the first has this in its controller, the others come later by `apart` seconds each, and the
/// second has this in its table.
fn three(first: &str, apart: u32, second: &str) -> Outcome {
    let of = |n: u32| {
        let (controller, more) = (if n == 0 { first } else { "" }, if n == 1 { second } else { "" });
        let table = format!("start = \"{}s\"\nstop = \"119s\"\n{more}", n * apart);
        nada(&format!("f{n}"), VIDEO, OVER_L, controller, &table)
    };
    case(120, ("\"3500kbps\"", 50, 131_250), &(0..3).map(of).collect::<String>())
}

const THREE: [&str; 3] = ["f0", "f1", "f2"];

/// Twice the others' rate would be more than RMAX, 1.5 Mbit/s.
#[test]
fn rfc8867_5_4_three_flows_and_6_1_priorities() {
    for (first, least, most) in [("", 0.9, 1.2), (", prio = 2", 1.15, 1.5)] {
        let outcome = three(first, 20, "");
        let rates = THREE.map(|name| mean(&outcome, name, (80, 119)));
        println!("5.4{first}: {rates:.3?}, {:?}", figures(&outcome, "f0"));
        between("sum", rates.iter().sum(), 3.2, 3.51);
        between("first over third", rates[0] / rates[2], least, most);
    }
}

/// The longer a flow's round trip, the less it has.
#[test]
fn rfc8867_5_5_round_trips() {
    let delays = [10, 25, 50, 100, 150];
    let own = delays.map(|ms| {
        format!("[links.d{ms}]\nrate = \"1Gbps\"\ndelay = \"{ms}ms\"\nqueue = {{ packets = 1000 }}\n")
    });
    let of = |(n, ms): (usize, u32)| {
        let more = format!("start = \"{}s\"\nstop = \"299s\"", 10 * n);
        nada(&format!("f{n}"), VIDEO, &format!("[\"d{ms}\", \"l\"]"), "", &more)
    };
    let flows: String = delays.into_iter().enumerate().map(of).collect();
    let outcome = case(300, ("\"4Mbps\"", 0, 150_000), &(own.concat() + &flows));
    let rates = ["f0", "f1", "f2", "f3", "f4"].map(|name| mean(&outcome, name, (150, 299)));
    println!("5.5: {rates:.3?}, {:?}", figures(&outcome, "f2"));
    between("sum", rates.iter().sum(), 3.6, 4.01);
    between("least over a fifth", rates[4] / 0.8, 0.5, 1.0);
    between("most over a fifth", rates[0] / 0.8, 1.0, 1.6);
}

/// In the worst case the media falls to its least rate, 0.15 Mbit/s.
#[test]
fn rfc8867_5_6_beside_a_long_transfer() {
    for (controller, bytes) in
        [("newreno", 75_000), ("newreno", 250_000), ("cubic", 75_000), ("cubic", 250_000)]
    {
        let tcp = format!(
            "[flows.tcp]\ntransport = \"tcp\"\ncontroller = \"{controller}\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\nstop = \"119s\"\n"
        );
        let video = nada("f", VIDEO, OVER_L, "", "start = \"5s\"\nstop = \"119s\"");
        let outcome = case(120, ("\"2Mbps\"", 50, bytes), &(tcp + &video));
        let [media, tcp] = ["f", "tcp"].map(|name| mean(&outcome, name, (40, 119)));
        println!("5.6 {controller}, {bytes} B: {media:.3} beside {tcp:.3}, {:?}", figures(&outcome, "f"));
        between("media, Mbit/s", media, 0.14, 1.0);
        between("sum", media + tcp, 1.8, 2.01);
    }
}

/// While the second pauses, the others have RMAX.
#[test]
fn rfc8867_5_8_pause_and_resume() {
    let outcome = three("", 0, "pause = [[\"40s\", \"60s\"]]");
    let rates = THREE.map(|name| [(20, 40), (45, 60), (80, 119)].map(|span| mean(&outcome, name, span)));
    println!("5.8: {rates:.3?}, {:?}", figures(&outcome, "f0"));
    for (place, rates) in rates.into_iter().enumerate() {
        let meanwhile = if place == 1 { (0.0, 0.0) } else { (1.35, 1.51) };
        between("before", rates[0], 0.9, 1.4);
        between("in the pause", rates[1], meanwhile.0, meanwhile.1);
        between("after", rates[2], 0.9, 1.4);
    }
}
