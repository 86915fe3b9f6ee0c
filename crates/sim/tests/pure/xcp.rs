//! XCP's senders and routers: beside ns-2.35, by the paper's claims, and where round trips and windows are extreme or routers know no XCP.
//! `docs/known-results.md` has the figures and says how ns-2 was run; the bands were written before the first run.

use crate::world::{cells, differs, flow, link, run, run_at};
use paceline_sim::{Outcome, Pace};

/// A queue with an XCP router, and one without.
const XCP: &str = "{ kind = \"xcp\", packets = 100000 }";
pub(crate) const PLAIN: &str = "{ packets = 500 }";

/// A bulk flow of packets of 1000 B: its controller, its links, its round trip in ms and its start in s.
#[derive(Clone, Copy)]
pub(crate) struct Bulk<'a>(pub &'a str, pub &'a str, pub f64, pub f64);

/// Flows over links, each with its name, Mbit/s and queue, and 1 us long. Figures are from `from` s on.
pub(crate) fn network(links: &[(&str, f64, &str)], flows: &[Bulk<'_>], span: (f64, f64)) -> Outcome {
    run(&text(links, flows, span))
}

/// The scenario of these links and flows, seen between two seconds.
pub(crate) fn text(links: &[(&str, f64, &str)], flows: &[Bulk<'_>], (from, to): (f64, f64)) -> String {
    let mut text = format!("duration = \"{to}s\"\nwarmup = \"{from}s\"\nsample = \"100ms\"\n");
    for (name, mbps, queue) in links {
        text += &format!("[links.{name}]\nrate = \"{mbps}Mbps\"\ndelay = \"1us\"\nqueue = {queue}\n");
    }
    for (number, Bulk(controller, path, rtt_ms, start)) in flows.iter().enumerate() {
        text += &format!(
            "[flows.f{number}]\ntransport = \"tcp\"\nsource = {{ kind = \"bulk\" }}\npacket_size = \"1000B\"\npath = [{path}]\n\
             return_delay = \"{}us\"\nstart = \"{start}s\"\ncontroller = {controller}\n\
             tcp = {{ ack_every = 1, min_rto = \"200ms\", initial_window = 2, handshake = false }}\n",
            rtt_ms * 1e3 - 1.0
        );
    }
    text
}

/// XCP flows of round trips in ms and starts in s over one XCP link.
fn share(mbps: f64, flows: &[(f64, f64)], span: (f64, f64)) -> Outcome {
    let flows: Vec<_> =
        flows.iter().map(|&(rtt_ms, start)| Bulk("\"xcp\"", "\"l\"", rtt_ms, start)).collect();
    network(&[("l", mbps, XCP)], &flows, span)
}

pub(crate) fn rate(outcome: &Outcome, number: usize) -> f64 {
    flow(outcome, &format!("f{number}")).throughput_mbps.expect("it sends")
}

pub(crate) fn rates(outcome: &Outcome) -> Vec<f64> {
    (0..outcome.summary.flows.len()).map(|number| rate(outcome, number)).collect()
}

pub(crate) fn queue(outcome: &Outcome) -> f64 {
    link(outcome, "l").queue_packets.mean.expect("known")
}

/// Seconds from a flow's start until its window is nine tenths of its fair share of the link.
fn reach(outcome: &Outcome, mbps: f64, flows: &[(f64, f64)], number: usize) -> Option<f64> {
    let (rtt_ms, start) = flows[number];
    let fair = mbps * 1e3 / 8.0 * rtt_ms / flows.len() as f64;
    let windows = cells(&outcome.flows, "flow", &format!("f{number}"), "cwnd_bytes");
    let times = cells(&outcome.flows, "flow", &format!("f{number}"), "time_s");
    let mut reached = times.into_iter().zip(windows).filter_map(|(time, window)| Some((time?, window?)));
    reached.find(|(time, window)| *time >= start && *window >= 0.9 * fair).map(|(time, _)| time - start)
}

/// A point's name, Mbit/s, round trips in ms and starts in s, and the span of its figures in s; ns-2.35's rates in Mbit/s, its mean queue in
/// packets, and the seconds that windows took to nine tenths of the fair share.
type Point = (&'static str, f64, &'static [(f64, f64)], (f64, f64), &'static [f64], f64, &'static [f64]);

/// Ten flows that start 0.1 s apart.
pub(crate) const fn ten(rtt_ms: f64) -> [(f64, f64); 10] {
    [
        (rtt_ms, 0.1),
        (rtt_ms, 0.2),
        (rtt_ms, 0.3),
        (rtt_ms, 0.4),
        (rtt_ms, 0.5),
        (rtt_ms, 0.6),
        (rtt_ms, 0.7),
        (rtt_ms, 0.8),
        (rtt_ms, 0.9),
        (rtt_ms, 1.0),
    ]
}

/// `Agent/TCP/Reno/XCP` and `Agent/TCPSink/XCPSink` over `Queue/XCP` with packets of 1000 B, headers in (`useHeaders_`
/// false, `ts_option_size_` 0), `windowInit_` 2, timestamps, a tick of
/// 0.1 ms and a limit of 100,000 packets. Queue and window are looked at every 10 and 100 ms.
const NS2: [Point; 17] = [
    ("2 Mbit/s, 100 ms", 2.0, &[(100.0, 0.1)], (10.0, 40.0), &[1.997], 0.056, &[0.6]),
    ("10 Mbit/s, 20 ms", 10.0, &[(20.0, 0.1)], (10.0, 40.0), &[9.984], 0.053, &[0.2]),
    ("10 Mbit/s, 80 ms", 10.0, &[(80.0, 0.1)], (10.0, 40.0), &[9.996], 0.060, &[0.5]),
    ("10 Mbit/s, 400 ms", 10.0, &[(400.0, 0.1)], (20.0, 80.0), &[9.999], 0.057, &[2.1]),
    ("50 Mbit/s, 20 ms", 50.0, &[(20.0, 0.1)], (10.0, 30.0), &[49.98], 0.064, &[0.2]),
    ("50 Mbit/s, 100 ms", 50.0, &[(100.0, 0.1)], (10.0, 30.0), &[50.0], 0.064, &[0.6]),
    ("200 Mbit/s, 40 ms", 200.0, &[(40.0, 0.1)], (10.0, 20.0), &[200.0], 0.108, &[0.3]),
    ("200 Mbit/s, 200 ms", 200.0, &[(200.0, 0.1)], (20.0, 40.0), &[200.0], 0.073, &[1.1]),
    (
        "10 Mbit/s, 3 of 80 ms",
        10.0,
        &[(80.0, 0.1), (80.0, 0.2), (80.0, 0.3)],
        (20.0, 60.0),
        &[3.322, 3.323, 3.321],
        0.774,
        &[0.3, 1.4, 2.1],
    ),
    (
        "20 Mbit/s, 10 of 80 ms",
        20.0,
        &ten(80.0),
        (30.0, 90.0),
        &[1.996, 2.009, 2.004, 2.002, 2.002, 2.002, 2.003, 2.005, 2.004, 1.821],
        2.546,
        &[0.3, 0.3, 1.4, 1.6, 1.8, 1.7, 1.9, 1.7, 1.8, 1.7],
    ),
    (
        "50 Mbit/s, 5 of 100 ms",
        50.0,
        &[(100.0, 0.1), (100.0, 0.2), (100.0, 0.3), (100.0, 0.4), (100.0, 0.5)],
        (20.0, 60.0),
        &[10.01, 10.01, 9.932, 9.987, 9.993],
        1.401,
        &[0.6, 0.3, 0.3, 2.7, 2.7],
    ),
    (
        "100 Mbit/s, 10 of 40 ms",
        100.0,
        &ten(40.0),
        (20.0, 40.0),
        &[10.0, 9.996, 9.996, 9.996, 9.995, 9.706, 10.02, 9.996, 9.995, 10.01],
        2.633,
        &[0.2, 0.1, 0.5, 0.4, 0.5, 1.0, 0.8, 0.8, 0.9, 0.9],
    ),
    (
        "10 Mbit/s, 40, 80 and 200 ms",
        10.0,
        &[(40.0, 0.1), (80.0, 0.2), (200.0, 0.3)],
        (20.0, 60.0),
        &[3.318, 3.318, 3.318],
        1.925,
        &[0.2, 2.4, 2.1],
    ),
    (
        "50 Mbit/s, 20, 100 and 400 ms",
        50.0,
        &[(20.0, 0.1), (100.0, 0.2), (400.0, 0.3)],
        (30.0, 60.0),
        &[16.68, 16.59, 16.61],
        8.946,
        &[0.2, 0.7, 6.1],
    ),
    (
        "100 Mbit/s, 20, 40, 80, 160 and 320 ms",
        100.0,
        &[(20.0, 0.1), (40.0, 0.2), (80.0, 0.3), (160.0, 0.4), (320.0, 0.5)],
        (30.0, 60.0),
        &[20.01, 19.98, 19.97, 19.96, 19.97],
        6.550,
        &[0.1, 0.3, 0.4, 0.7, 3.3],
    ),
    (
        "20 Mbit/s, 80 ms, joined at 10 and 20 s",
        20.0,
        &[(80.0, 0.1), (80.0, 10.0), (80.0, 20.0)],
        (30.0, 50.0),
        &[6.666, 6.673, 6.656],
        0.056,
        &[0.3, 0.9, 1.7],
    ),
    (
        "50 Mbit/s, 40 ms, joined every 5 s",
        50.0,
        &[(40.0, 0.1), (40.0, 5.0), (40.0, 10.0), (40.0, 15.0)],
        (20.0, 40.0),
        &[12.48, 12.49, 12.49, 12.49],
        0.858,
        &[0.2, 0.3, 0.5, 0.9],
    ),
];

/// Rates within a tenth of ns-2's, queues within a tenth or two packets, and windows there within three round trips of when ns-2's are.
#[test]
fn rates_queues_and_convergence_are_ns_2_s() {
    let (mut wrong, mut late) = (Vec::new(), Vec::new());
    for (name, mbps, flows, span, expected, packets, reached) in NS2 {
        let outcome = share(mbps, flows, span);
        let (found, waits) = (rates(&outcome), queue(&outcome));
        let differences = found.iter().zip(expected).map(|(found, expected)| found / expected - 1.0);
        let largest = differences.fold(0.0, |most: f64, one| if one.abs() > most.abs() { one } else { most });
        let times: Vec<_> =
            (0..flows.len()).map(|number| reach(&outcome, mbps, flows, number).unwrap_or(f64::NAN)).collect();
        println!(
            "| {name} | {:.3} | {:.3} | {:+.1} % | {packets:.2} | {waits:.2} | {reached:?} | {times:.1?} |",
            expected.iter().sum::<f64>(),
            found.iter().sum::<f64>(),
            largest * 100.0
        );
        let is_near = (waits - packets).abs() <= (0.1 * packets).max(2.0);
        if largest.abs() > 0.1 || !is_near || link(&outcome, "l").dropped > 0 {
            wrong.push(name);
        }
        // Of flows that start together ns-2's draws decide which has its share first.
        if flows.windows(2).all(|pair| pair[1].1 - pair[0].1 >= 1.0) {
            for ((rtt_ms, _), (time, expected)) in flows.iter().zip(times.iter().zip(reached)) {
                if (time - expected).abs() > (3e-3 * rtt_ms).max(0.1) + 1e-9 {
                    late.push((name, *expected, *time));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(late.is_empty(), "{late:?}");
}

/// Each router lowers what another gave: a flow has the least rate of its path, and the second link fills with the rest.
pub(crate) fn routers_share_by_max_min(kind: &str) {
    let (controller, queue) = (&format!("\"{kind}\""), &format!("{{ kind = \"{kind}\", packets = 100000 }}"));
    let links: [(_, _, &str); 2] = [("a", 10.0, queue), ("b", 20.0, queue)];
    let flows = [
        Bulk(controller, "\"a\", \"b\"", 60.0, 0.0),
        Bulk(controller, "\"a\"", 60.0, 0.3),
        Bulk(controller, "\"b\"", 60.0, 0.6),
    ];
    let outcome = network(&links, &flows, (20.0, 60.0));
    println!("max-min: {:.3?}", rates(&outcome));
    for (number, expected) in [5.0, 5.0, 15.0].into_iter().enumerate() {
        let found = rate(&outcome, number);
        assert!((found / expected - 1.0).abs() <= 0.1, "{number}: {found}, expected {expected}");
    }
}

/// Katabi, Handley and Rohrs 2002, section 5.
#[test]
fn several_routers_share_by_max_min() {
    routers_share_by_max_min("xcp");
}

/// Where no router writes, Reno's law is left: alone, beside NewReno, and behind a router that gives more than the next link has.
#[test]
fn without_xcp_s_routers_it_is_as_polite_as_reno() {
    let alone = |controller| {
        let outcome = network(&[("l", 10.0, PLAIN)], &[Bulk(controller, "\"l\"", 60.0, 0.0)], (20.0, 80.0));
        rate(&outcome, 0)
    };
    let (xcp, sack) = (alone("\"xcp\""), alone("\"sack\""));
    println!("plain link: xcp {xcp:.3}, sack {sack:.3}");
    assert!((xcp / sack - 1.0).abs() <= 0.1, "{xcp} beside {sack}");
    // Laws of this kind halve the window, Reno the flight: its constants in such a law are the measure, and SACK's share beside NewReno.
    let beside = |me, other| {
        let both = [Bulk(me, "\"l\"", 60.0, 0.0), Bulk(other, "\"l\"", 60.0, 0.1)];
        let outcome = network(&[("l", 10.0, PLAIN)], &both, (20.0, 200.0));
        let share = rate(&outcome, 0) / (rate(&outcome, 0) + rate(&outcome, 1));
        println!("{me} beside {other}: {share:.3}");
        share
    };
    let same = beside("\"xcp\"", "{ kind = \"gaimd\", alpha = 1, beta = 0.5 }");
    assert!((0.35..=0.65).contains(&same), "{same}");
    let (mine, sack) = (beside("\"xcp\"", "\"newreno\""), beside("\"sack\"", "\"newreno\""));
    assert!((mine - sack).abs() <= 0.1, "{mine} and {sack}");
    let mixed = [("a", 20.0, XCP), ("l", 10.0, PLAIN)];
    let outcome = network(&mixed, &[Bulk("\"xcp\"", "\"a\", \"l\"", 60.0, 0.0)], (20.0, 80.0));
    let (found, lost) = (rate(&outcome, 0), link(&outcome, "l").dropped);
    println!("behind a router with more: {found:.3} of 10, {lost} dropped");
    assert!(found >= 7.0, "{found}");
}

/// Round trips of 10 us and 10 s, and a window of more than a million packets.
#[test]
fn extreme_round_trips_and_windows_are_defined() {
    let short = share(1000.0, &[(0.01, 0.0)], (0.5, 2.0));
    println!("10 us: {:.1} of 1000 Mbit/s, queue {:.2}", rate(&short, 0), queue(&short));
    assert!(rate(&short, 0) >= 500.0, "{}", rate(&short, 0));
    // A window of a packet in 10 s is not seen by intervals of a second: ns-2 stays at it, too.
    let long = [Bulk("\"xcp\"", "\"l\"", 10_000.0, 0.0)];
    let usual = network(&[("l", 2.0, XCP)], &long, (200.0, 600.0));
    let longer = "{ kind = \"xcp\", packets = 100000, rtt_max = \"20s\" }";
    let longer = network(&[("l", 2.0, longer)], &long, (200.0, 600.0));
    println!("10 s: {:.3} of 2 Mbit/s, with rtt_max 20 s {:.3}", rate(&usual, 0), rate(&longer, 0));
    assert!(rate(&usual, 0) > 0.0 && rate(&longer, 0) >= 1.6, "{}", rate(&longer, 0));
    // A window of 250,000 packets; one of a million is more than a sender counts, and ends in losses and not in a panic.
    for (mbps, least) in [(2_000.0, 1800.0), (9_000.0, 0.0)] {
        let paced = Bulk("{ kind = \"xcp\", pacing = true }", "\"l\"", 1000.0, 0.0);
        let queue = "{ kind = \"xcp\", packets = 1000000 }";
        let large = network(&[("l", mbps, queue)], &[paced], (8.0, 12.0));
        let window =
            cells(&large.flows, "flow", "f0", "cwnd_bytes").into_iter().flatten().fold(0.0, f64::max);
        println!("1 s: {:.0} of {mbps} Mbit/s, window of {:.0} packets", rate(&large, 0), window / 1e3);
        assert!(rate(&large, 0) >= least && window > 1e8, "{mbps}: {}, {window}", rate(&large, 0));
    }
}

/// Headers are written alike in windows of time and step by step, with losses and copies on the way.
pub(crate) fn headers_are_alike(kind: &str) {
    let (controller, queue) = (&format!("\"{kind}\""), &format!("{{ kind = \"{kind}\", packets = 100000 }}"));
    let copies = &format!(
        "{{ kind = \"{kind}\", packets = 30 }}\nloss = {{ kind = \"bernoulli\", ratio = 0.001 }}\nduplicate = {{ ratio = 0.01 }}"
    );
    let flows = [Bulk(controller, "\"a\", \"b\"", 60.0, 0.0), Bulk(controller, "\"b\"", 20.0, 0.3)];
    let text = text(&[("a", 10.0, copies), ("b", 12.0, queue)], &flows, (0.0, 10.0));
    assert_eq!(differs(&run(&text), &run_at(&text, Pace::Stepped)), None);
}

#[test]
fn headers_are_the_same_step_by_step() {
    headers_are_alike("xcp");
}

/// A router without shuffling is seen: nothing is spare on a full link.
#[test]
fn without_shuffling_a_latecomer_stays_behind() {
    let flows = [Bulk("\"xcp\"", "\"l\"", 80.0, 0.1), Bulk("\"xcp\"", "\"l\"", 80.0, 10.0)];
    let still = "{ kind = \"xcp\", packets = 100000, gamma = 0 }";
    let outcome = network(&[("l", 20.0, still)], &flows, (15.0, 20.0));
    let shuffled = network(&[("l", 20.0, XCP)], &flows, (15.0, 20.0));
    println!("latecomer: {:.3} without shuffling, {:.3} with it", rate(&outcome, 1), rate(&shuffled, 1));
    assert!(rate(&outcome, 1) < 0.5 * rate(&outcome, 0), "{:?}", rates(&outcome));
    assert!((rate(&shuffled, 1) / rate(&shuffled, 0) - 1.0).abs() <= 0.1, "{:?}", rates(&shuffled));
}
