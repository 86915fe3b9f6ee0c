//! Prague over whole scenarios: edges of rate and round trip, losses, peers without accurate feedback, acknowledgements that are rare or
//! lost, and which queues its fall-back takes for Classic ones. Published figures of it are in `published.rs`.
//!
//! `cargo test -p paceline-sim --test pure -- prague:: --nocapture` prints what `docs/rivals.md` shows. Bands were set by this project after a first
//! look (2026-11-25).

use crate::world::{column, flow, run};
use paceline_sim::Outcome;

/// A bottleneck, and flows with much to send: their controllers and round trips.
struct Path<'t> {
    rate: &'t str,
    queue: &'t str,
    seconds: [u32; 2],
    more: &'t str,
}

const USUAL: Path<'static> =
    Path { rate: "40Mbps", queue: "{ kind = \"dualpi2\" }", seconds: [20, 60], more: "" };

impl Path<'_> {
    /// Figures of flows `f0`, `f1`, ..., each a controller, its round trip without queue in ms and further keys.
    fn run(&self, flows: &[(&str, u32, &str)]) -> Outcome {
        let Path { rate, queue, seconds: [from, to], more } = self;
        let mut text = format!(
            "duration = \"{to}s\"\nwarmup = \"{from}s\"\n[links.l]\nrate = \"{rate}\"\ndelay = \"0s\"\nqueue = {queue}\n{more}\n"
        );
        for (number, (controller, trip, more)) in flows.iter().enumerate() {
            text += &format!(
                "[flows.f{number}]\ntransport = \"tcp\"\ncontroller = {controller}\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n\
                 return_delay = \"{trip}ms\"\n{more}\n"
            );
        }
        run(&text)
    }
}

const PRAGUE: &str = "\"prague\"";
const FALLS_BACK: &str = "{ kind = \"prague\", classic_ecn_fallback = true }";
const CUBIC: (&str, u32, &str) = ("\"cubic\"", 20, "ecn = \"classic\"");

fn rate(outcome: &Outcome, number: usize) -> f64 {
    flow(outcome, &format!("f{number}")).throughput_mbps.expect("it sent")
}

fn wait(outcome: &Outcome, number: usize) -> f64 {
    flow(outcome, &format!("f{number}")).queue_delay_ms.mean.expect("it sent")
}

/// Prints a line of the table, and fails outside the band.
#[track_caller]
fn within(what: &str, found: f64, (least, most): (f64, f64)) {
    println!("| {what} | {least} to {most} | {found:.3} |");
    assert!((least..=most).contains(&found), "{what}: {found} is outside {least}..={most}");
}

#[test]
fn alone_it_fills_links_from_64_kbit_s_to_1_gbit_s_with_little_queue() {
    for (rate_of, mbps, trip, seconds, used, most_wait) in [
        ("10Mbps", 10.0, 0, [10, 30], 0.98, 1.0),
        ("10Mbps", 10.0, 1, [10, 30], 0.98, 1.0),
        ("40Mbps", 40.0, 10, [20, 60], 0.98, 1.0),
        ("40Mbps", 40.0, 100, [60, 180], 0.9, 1.0),
        ("1Gbps", 1000.0, 1, [5, 10], 0.98, 1.0),
        ("1Gbps", 1000.0, 10, [10, 20], 0.98, 1.0),
    ] {
        let path = Path { rate: rate_of, seconds, ..USUAL };
        let outcome = path.run(&[(PRAGUE, trip, "")]);
        let what = format!("DualPI2, {rate_of}, {trip} ms");
        within(&format!("{what}: part of the link"), rate(&outcome, 0) / mbps, (used, 1.001));
        within(&format!("{what}: wait, ms"), wait(&outcome, 0), (0.05, most_wait));
    }
    let path = Path { rate: "64kbps", queue: "{ packets = 10 }", seconds: [20, 120], ..USUAL };
    let outcome = path.run(&[(PRAGUE, 40, "")]);
    within(
        "drop-tail of 10 packets, 64 kbit/s, 40 ms: part of the link",
        rate(&outcome, 0) / 0.064,
        (0.95, 1.001),
    );
    let lost = flow(&outcome, "f0").loss_ratio.expect("it sent");
    within("the same: losses", lost, (0.001, 0.05));
}

#[test]
fn behind_drop_tail_it_is_reno() {
    let path = Path { queue: "{ limit = \"50ms\" }", seconds: [60, 200], ..USUAL };
    let alone = path.run(&[(PRAGUE, 20, "")]);
    within("drop-tail of 50 ms: part of the link", rate(&alone, 0) / 40.0, (0.95, 1.001));
    within("drop-tail of 50 ms: wait, ms", wait(&alone, 0), (10.0, 50.0));
    let beside = path.run(&[(PRAGUE, 20, ""), CUBIC]);
    within("drop-tail of 50 ms, beside CUBIC: part of the link", rate(&beside, 0) / 40.0, (0.25, 0.6));
}

/// RFC 5681 with half the window: sqrt(3/2) / sqrt(p) packets in a round trip, less what timeouts cost.
#[test]
fn random_losses_leave_it_what_they_leave_reno() {
    let path = Path {
        rate: "10Mbps",
        seconds: [20, 300],
        more: "loss = { kind = \"bernoulli\", ratio = 0.02 }",
        ..USUAL
    };
    let outcome = path.run(&[(PRAGUE, 40, "")]);
    let trip = flow(&outcome, "f0").srtt_ms.mean.expect("it sent") * 1e-3;
    let expected = (1.5f64 / 0.02).sqrt() * 0.012 / trip;
    within("2 % of losses, 40 ms: rate over Reno's", rate(&outcome, 0) / expected, (0.65, 1.1));
}

/// Two seconds there and back: a packet more in each round trip, whatever else.
#[test]
fn a_round_trip_of_two_seconds_is_survived() {
    let path = Path { rate: "10Mbps", seconds: [200, 400], ..USUAL };
    let outcome = path.run(&[(PRAGUE, 2000, "record = [\"cwnd\"]")]);
    let windows = column(&outcome.flows, "flow", "f0", "state.cwnd");
    let grown = windows[7999] - windows[3999];
    within("10 Mbit/s, 2 s: packets added in 200 s", grown, (90.0, 105.0));
    assert_eq!(flow(&outcome, "f0").loss_ratio, Some(0.0));
}

/// RFC 9768 table 2 and RFC 9331 section 4.2: what the other end knows decides, and Reno with or without marks is left of it.
#[test]
fn without_accurate_feedback_it_shares_a_classic_queue_by_halves() {
    for (peer, queue) in [("rfc3168", "dualpi2"), ("rfc3168", "pie"), ("off", "dualpi2"), ("off", "pie")] {
        let queue = format!("{{ kind = \"{queue}\" }}");
        let more = format!("tcp = {{ receiver_ecn = \"{peer}\" }}\nrecord = [\"l4s\"]");
        let outcome = Path { queue: &queue, ..USUAL }.run(&[(PRAGUE, 20, &more), CUBIC]);
        let share = rate(&outcome, 0) / 40.0;
        within(&format!("{queue}, receiver_ecn {peer}: part of the link beside CUBIC"), share, (0.35, 0.6));
        assert_eq!(column(&outcome.flows, "flow", "f0", "state.l4s").last(), Some(&0.0));
        let figures = flow(&outcome, "f0");
        let (marked, lost) = (figures.ce_ratio.expect("it sent"), figures.loss_ratio.expect("it sent"));
        assert_eq!((marked > 0.0, lost > 0.0), (peer == "rfc3168", peer == "off"), "{peer}: {marked} {lost}");
    }
}

/// The three bits of the counter last for acknowledgements that are rare, or of which half are lost.
#[test]
fn the_counter_of_marks_stands_rare_and_lost_acknowledgements() {
    let told = |outcome: &Outcome| {
        let rows = column(&outcome.flows, "flow", "f0", "state.alpha");
        let mean = rows[400..].iter().sum::<f64>() / (rows.len() - 400) as f64;
        mean / flow(outcome, "f0").ce_ratio.expect("it sent")
    };
    for every in [1, 2, 16] {
        let more = format!("tcp = {{ ack_every = {every} }}\nrecord = [\"alpha\"]");
        let outcome = USUAL.run(&[(PRAGUE, 20, &more)]);
        within(
            &format!("an acknowledgement for {every}: alpha over the part of marks"),
            told(&outcome),
            (0.8, 1.25),
        );
        within("the same: part of the link", rate(&outcome, 0) / 40.0, (0.9, 1.001));
    }
    let back = "[links.back]\nrate = \"1Gbps\"\ndelay = \"20ms\"\nqueue = { packets = 100 }\nloss = { kind = \"bernoulli\", ratio = 0.5 }\n";
    let outcome = run(&format!(
        "duration = \"60s\"\nwarmup = \"20s\"\n[links.l]\nrate = \"40Mbps\"\ndelay = \"0s\"\nqueue = {{ kind = \"dualpi2\" }}\n{back}\
         [flows.f0]\ntransport = \"tcp\"\ncontroller = {PRAGUE}\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\nreturn_path = [\"back\"]\n\
         record = [\"alpha\"]\n"
    ));
    within("half the acknowledgements lost: alpha over the part of marks", told(&outcome), (0.8, 1.25));
}

/// Briscoe and Ahmed 2019: DualPI2 is seldom taken for a Classic queue, but for low rates.
#[test]
fn the_fall_back_takes_dualpi2_for_a_classic_queue_at_low_rates_alone() {
    for (rate, trip, expected) in [
        ("40Mbps", 10, 0.0),
        ("40Mbps", 100, 0.0),
        ("200Mbps", 10, 0.0),
        ("200Mbps", 100, 0.0),
        ("4Mbps", 10, 17.0),
    ] {
        for rival in [false, true] {
            if rival && rate == "4Mbps" {
                continue;
            }
            let flows = [(FALLS_BACK, trip, "record = [\"classic_ecn\"]"), (CUBIC.0, trip, CUBIC.2)];
            let outcome = Path { rate, ..USUAL }.run(&flows[..1 + usize::from(rival)]);
            let score = *column(&outcome.flows, "flow", "f0", "state.classic_ecn").last().expect("a row");
            let beside = if rival { ", beside CUBIC" } else { "" };
            within(&format!("DualPI2, {rate}, {trip} ms{beside}: score"), score, (expected, expected + 0.5));
        }
    }
}

/// A SCReAM call of at most 10 Mbit/s on 10 Mbit/s and 40 ms, 20 s before Prague comes; figures of 40 to 100 s.
#[test]
fn a_call_beside_it_gets_little_where_marks_are_shared() {
    for (queue, ecn, controller, share, delay) in [
        ("kind = \"droptail\", limit = \"300ms\"", "off", PRAGUE, (2.0, 3.5), (300.0, 420.0)),
        ("kind = \"codel\"", "off", PRAGUE, (0.2, 0.6), (35.0, 60.0)),
        ("kind = \"codel\"", "off", FALLS_BACK, (1.6, 3.0), (40.0, 70.0)),
        ("kind = \"dualpi2\"", "l4s", PRAGUE, (0.2, 0.6), (25.0, 45.0)),
        ("kind = \"dualpi2\"", "off", PRAGUE, (1.3, 2.6), (50.0, 100.0)),
    ] {
        let outcome = run(&format!(
            "duration = \"100s\"\nwarmup = \"40s\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = {{ {queue} }}\n\
             [flows.call]\ncontroller = {{ kind = \"scream\", profile = \"rfc8298\", target_bitrate_max = \"10Mbps\" }}\necn = \"{ecn}\"\n\
             source = {{ kind = \"trace-encoder\", generator = \"frames\" }}\npath = [\"l\"]\n\
             [flows.rival]\ntransport = \"tcp\"\ncontroller = {controller}\nstart = \"20s\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n"
        ));
        let call = flow(&outcome, "call");
        let back = if controller == FALLS_BACK { ", which falls back" } else { "" };
        let what = format!("a call with ecn {ecn} beside Prague{back}, {queue}");
        within(&format!("{what}: Mbit/s"), call.throughput_mbps.expect("it sent"), share);
        within("the same: frame delay, p95, ms", call.frame_delay_ms.p95.expect("frames are shown"), delay);
    }
}
