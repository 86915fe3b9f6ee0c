//! RCP's senders and routers: beside ns-2's of one of its authors, by the rate that the equation settles at, and where round trips are
//! extreme or routers know no RCP. `docs/known-results.md` has the figures and says how ns-2 was run; the bands were written before the
//! first run.

use crate::world::{cells, link, run};
use crate::xcp::{
    Bulk, PLAIN, headers_are_alike, network, queue, rate, rates, routers_share_by_max_min, ten, text,
};
use paceline_sim::Outcome;

/// A queue with an RCP router.
const RCP: &str = "{ kind = \"rcp\", packets = 100000 }";

/// RCP flows of round trips in ms and starts in s over one RCP link.
fn share(mbps: f64, flows: &[(f64, f64)], span: (f64, f64)) -> Outcome {
    let flows: Vec<_> =
        flows.iter().map(|&(rtt_ms, start)| Bulk("\"rcp\"", "\"l\"", rtt_ms, start)).collect();
    network(&[("l", mbps, RCP)], &flows, span)
}

/// Seconds from a flow's start until it sends at nine tenths of its fair share of the link.
fn reach(outcome: &Outcome, mbps: f64, flows: &[(f64, f64)], number: usize) -> Option<f64> {
    let start = flows[number].1;
    let fair = mbps / flows.len() as f64;
    let name = format!("f{number}");
    let sent = cells(&outcome.flows, "flow", &name, "send_rate_mbps");
    let times = cells(&outcome.flows, "flow", &name, "time_s");
    let mut reached = times.into_iter().zip(sent).filter_map(|(time, sent)| Some((time?, sent?)));
    reached.find(|(time, sent)| *time >= start && *sent >= 0.9 * fair).map(|(time, _)| time - start)
}

/// A point's name, Mbit/s, round trips in ms and starts in s, and the span of its figures in s; the rate of each flow in Mbit/s, mean queue
/// in packets and seconds from starts to nine tenths of the fair share that ns-2 has.
type Point = (&'static str, f64, &'static [(f64, f64)], (f64, f64), f64, f64, &'static [f64]);

/// `Agent/RCP` over `Queue/DropTail/RCP` with packets of 960 B and 40 B of header, and the constants that ns-2's defaults have.
const NS2: [Point; 17] = [
    ("2 Mbit/s, 100 ms", 2.0, &[(100.0, 0.1)], (10.0, 40.0), 2.0, 0.000, &[1.8]),
    ("10 Mbit/s, 20 ms", 10.0, &[(20.0, 0.1)], (10.0, 40.0), 10.0, 0.000, &[2.1]),
    ("10 Mbit/s, 80 ms", 10.0, &[(80.0, 0.1)], (10.0, 40.0), 10.0, 0.000, &[1.8]),
    ("10 Mbit/s, 400 ms", 10.0, &[(400.0, 0.1)], (20.0, 80.0), 10.0, 0.000, &[3.6]),
    ("50 Mbit/s, 20 ms", 50.0, &[(20.0, 0.1)], (10.0, 30.0), 50.0, 0.000, &[2.2]),
    ("50 Mbit/s, 100 ms", 50.0, &[(100.0, 0.1)], (10.0, 30.0), 50.0, 0.000, &[1.8]),
    ("200 Mbit/s, 40 ms", 200.0, &[(40.0, 0.1)], (10.0, 20.0), 200.0, 0.000, &[1.9]),
    ("200 Mbit/s, 200 ms", 200.0, &[(200.0, 0.1)], (20.0, 40.0), 200.0, 0.000, &[2.2]),
    (
        "10 Mbit/s, 3 of 80 ms",
        10.0,
        &[(80.0, 0.1), (80.0, 0.2), (80.0, 0.3)],
        (20.0, 60.0),
        3.329,
        0.130,
        &[1.5, 1.5, 1.4],
    ),
    (
        "20 Mbit/s, 10 of 80 ms",
        20.0,
        &ten(80.0),
        (30.0, 90.0),
        1.995,
        0.628,
        &[0.4, 0.3, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
    ),
    (
        "50 Mbit/s, 5 of 100 ms",
        50.0,
        &[(100.0, 0.1), (100.0, 0.2), (100.0, 0.3), (100.0, 0.4), (100.0, 0.5)],
        (20.0, 60.0),
        9.993,
        0.416,
        &[1.1, 1.0, 1.0, 0.8, 0.7],
    ),
    (
        "100 Mbit/s, 10 of 40 ms",
        100.0,
        &ten(40.0),
        (20.0, 40.0),
        9.995,
        0.258,
        &[0.3, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
    ),
    (
        "10 Mbit/s, 40, 80 and 200 ms",
        10.0,
        &[(40.0, 0.1), (80.0, 0.2), (200.0, 0.3)],
        (20.0, 60.0),
        3.329,
        0.186,
        &[1.5, 1.4, 1.4],
    ),
    (
        "50 Mbit/s, 20, 100 and 400 ms",
        50.0,
        &[(20.0, 0.1), (100.0, 0.2), (400.0, 0.3)],
        (20.0, 60.0),
        16.66,
        0.329,
        &[1.3, 1.2, 1.4],
    ),
    (
        "100 Mbit/s, 20, 40, 80, 160 and 320 ms",
        100.0,
        &[(20.0, 0.1), (40.0, 0.2), (80.0, 0.3), (160.0, 0.4), (320.0, 0.5)],
        (20.0, 40.0),
        19.99,
        0.806,
        &[0.9, 0.9, 0.8, 0.8, 0.8],
    ),
    (
        "20 Mbit/s, 80 ms, joined at 10 and 20 s",
        20.0,
        &[(80.0, 0.1), (80.0, 10.0), (80.0, 20.0)],
        (25.0, 40.0),
        6.657,
        0.261,
        &[1.0, 0.2, 0.2],
    ),
    (
        "50 Mbit/s, 40 ms, joined every 5 s",
        50.0,
        &[(40.0, 0.1), (40.0, 5.0), (40.0, 10.0), (40.0, 15.0)],
        (20.0, 30.0),
        12.47,
        0.669,
        &[0.9, 0.1, 0.1, 0.2],
    ),
];

/// Rates within a tenth of ns-2's, queues within a tenth or two packets, no drops, and rates there within a fifth of the time, three round
/// trips or 0.2 s of when ns-2's are.
#[test]
fn rates_queues_and_convergence_are_ns_2_s() {
    let (mut wrong, mut late) = (Vec::new(), Vec::new());
    for (name, mbps, flows, span, expected, packets, reached) in NS2 {
        let outcome = share(mbps, flows, span);
        let (found, waits) = (rates(&outcome), queue(&outcome));
        let differences = found.iter().map(|found| found / expected - 1.0);
        let largest = differences.fold(0.0, |most: f64, one| if one.abs() > most.abs() { one } else { most });
        let times: Vec<_> =
            (0..flows.len()).map(|number| reach(&outcome, mbps, flows, number).unwrap_or(f64::NAN)).collect();
        println!(
            "| {name} | {expected:.3}, {:.3} ({:+.1} %) | {packets:.2}, {waits:.2} | {reached:?}; {times:.1?} |",
            found[0],
            largest * 100.0
        );
        let is_near = (waits - packets).abs() <= (0.1 * packets).max(2.0);
        if !(largest.abs() <= 0.1 && is_near) || link(&outcome, "l").dropped > 0 {
            wrong.push(name);
        }
        for ((rtt_ms, _), (time, expected)) in flows.iter().zip(times.iter().zip(reached)) {
            let room = (0.2 * expected).max(3e-3 * rtt_ms).max(0.2) + 1e-9;
            if time.is_nan() || (time - expected).abs() > room {
                late.push((name, *expected, *time));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(late.is_empty(), "{late:?}");
}

#[test]
fn several_routers_share_by_max_min() {
    routers_share_by_max_min("rcp");
}

/// Dukkipati and McKeown 2006, figure 1: a transfer that takes one or two round trips under RCP takes Reno's slow start several. Of 100 kB
/// over an idle link whose rate has settled RCP needs at most three round trips; NewReno at 10 packets doubles thrice.
#[test]
fn short_transfers_end_sooner_than_under_slow_start() {
    let finish = |controller: &str| {
        let text = text(&[("l", 100.0, RCP)], &[Bulk(controller, "\"l\"", 100.0, 5.0)], (0.0, 10.0));
        let outcome = run(&text.replace("{ kind = \"bulk\" }", "{ kind = \"bulk\", length = \"500kB\" }"));
        let times = cells(&outcome.flows, "flow", "f0", "time_s");
        let rates = cells(&outcome.flows, "flow", "f0", "throughput_mbps");
        let seen = times.into_iter().zip(rates).filter(|(_, rate)| rate.is_some_and(|rate| rate > 0.0));
        seen.filter_map(|(time, _)| time).fold(0.0, f64::max) - 5.0
    };
    let (rcp, newreno) = (finish("\"rcp\""), finish("\"newreno\""));
    println!("500 kB over 100 ms: RCP {rcp:.1} s, NewReno {newreno:.1} s");
    assert!(rcp <= 0.4 && newreno >= rcp + 0.2, "{rcp} and {newreno}");
}

/// Where no router writes, Reno's law is left; XCP's routers leave a header alone that asks for a rate.
#[test]
fn without_rcp_s_routers_it_is_reno() {
    let alone = |controller, queue| {
        let flows = [Bulk(controller, "\"l\"", 60.0, 0.0)];
        rate(&network(&[("l", 10.0, queue)], &flows, (20.0, 80.0)), 0)
    };
    let plain = alone("\"sack\"", PLAIN);
    for queue in [PLAIN, "{ kind = \"xcp\", packets = 500 }"] {
        let found = alone("\"rcp\"", queue);
        println!("{queue}: rcp {found:.3}, sack on a plain link {plain:.3}");
        assert!((found / plain - 1.0).abs() <= 0.1, "{queue}: {found} beside {plain}");
    }
    // And RCP's leave XCP's.
    let xcp = alone("\"xcp\"", "{ kind = \"rcp\", packets = 500 }");
    assert!((xcp / plain - 1.0).abs() <= 0.1, "{xcp} beside {plain}");
    let mixed = [("a", 20.0, RCP), ("l", 10.0, PLAIN)];
    let outcome = network(&mixed, &[Bulk("\"rcp\"", "\"a\", \"l\"", 60.0, 0.0)], (20.0, 80.0));
    println!("behind a router with more: {:.3} of 10", rate(&outcome, 0));
    assert!(rate(&outcome, 0) >= 5.0, "{}", rate(&outcome, 0));
}

/// Round trips of 10 us and 10 s.
#[test]
fn extreme_round_trips_are_defined() {
    let short = share(1000.0, &[(0.01, 0.0)], (2.0, 4.0));
    println!("10 us: {:.1} of 1000 Mbit/s, queue {:.2}", rate(&short, 0), queue(&short));
    assert!(rate(&short, 0) >= 500.0, "{}", rate(&short, 0));
    let long = share(2.0, &[(10_000.0, 0.0)], (300.0, 600.0));
    println!("10 s: {:.3} of 2 Mbit/s, queue {:.2}", rate(&long, 0), queue(&long));
    assert!(rate(&long, 0) >= 1.0, "{}", rate(&long, 0));
}

#[test]
fn headers_are_the_same_step_by_step() {
    headers_are_alike("rcp");
}

/// Constants a fifth off are seen: the queue of flows that join is drained by beta, and the rate climbs by alpha.
#[test]
fn another_constant_is_seen_beside_ns_2() {
    let with = |more: &str| {
        let queue = format!("{{ kind = \"rcp\", packets = 100000, {more} }}");
        let flows = [Bulk("\"rcp\"", "\"l\"", 100.0, 0.1)];
        let outcome = network(&[("l", 50.0, &queue)], &flows, (0.0, 10.0));
        reach(&outcome, 50.0, &[(100.0, 0.1)], 0).expect("it is reached")
    };
    let (usual, slow, fast) = (with("alpha = 0.4"), with("alpha = 0.3"), with("alpha = 0.5"));
    println!("nine tenths after {usual:.2}, {slow:.2} and {fast:.2} s");
    assert!(slow >= 1.15 * usual && fast <= 0.9 * usual, "{slow} and {fast} beside {usual}");
}
