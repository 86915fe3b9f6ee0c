//! The laws that look at delay, over links with a queue: beside what their papers compute. `docs/known-results.md` has the figures; the bands
//! were written before the first run.

use crate::world::{flow, link, run};
use paceline_sim::Outcome;

/// A bulk flow of packets of 1500 B: its controller, its start in s, and a round trip beside the link's in ms.
type Bulk<'a> = (&'a str, u32, u32);

/// Flows over a link of these keys with a round trip of `rtt_ms`. Figures are from `from` s on.
pub(crate) fn over(link: &str, rtt_ms: u32, flows: &[Bulk<'_>], from: u32, to: u32) -> Outcome {
    let mut text = format!(
        "duration = \"{to}s\"\nwarmup = \"{from}s\"\nsample = \"1s\"\n[links.l]\n{link}\ndelay = \"{}us\"\n",
        rtt_ms * 500
    );
    for (number, (controller, start, more)) in flows.iter().enumerate() {
        text += &format!(
            "[flows.f{number}]\ntransport = \"tcp\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\nreturn_delay = \"{}us\"\nstart = \"{start}s\"\n\
             controller = {controller}\ntcp = {{ ack_every = 1, min_rto = \"200ms\" }}\n",
            rtt_ms * 500 + more * 1000
        );
    }
    run(&text)
}

/// Flows over a link of `mbps` with a queue of so many packets.
fn share(mbps: f64, rtt_ms: u32, packets: u32, flows: &[Bulk<'_>], from: u32, to: u32) -> Outcome {
    over(&format!("rate = \"{mbps}Mbps\"\nqueue = {{ packets = {packets} }}"), rtt_ms, flows, from, to)
}

pub(crate) fn rate(outcome: &Outcome, number: usize) -> f64 {
    flow(outcome, &format!("f{number}")).throughput_mbps.expect("it sends")
}

fn queue(outcome: &Outcome) -> f64 {
    link(outcome, "l").queue_packets.mean.expect("known")
}

/// A figure beside its expectation: `false` outside of a band of a tenth, or of what is said.
fn near(what: &str, expected: f64, found: f64, within: f64) -> bool {
    let ratio = found / expected;
    println!("| {what} | {expected:.2} | {found:.2} | {:+.1} % |", (ratio - 1.0) * 100.0);
    (ratio - 1.0).abs() <= within
}

#[track_caller]
fn all(points: Vec<(String, f64, f64)>, within: f64) {
    let wrong: Vec<_> =
        points.into_iter().filter(|(what, expected, found)| !near(what, *expected, *found, within)).collect();
    assert!(wrong.is_empty(), "outside of {within}: {wrong:?}");
}

fn fast(alpha: u32) -> String {
    format!("{{ kind = \"fast\", alpha = {alpha} }}")
}

/// Jin, Wei and Low 2004, equilibrium: each flow has alpha packets in the queue.
#[test]
fn fast_keeps_alpha_packets_of_each_flow_in_the_queue() {
    let mut points = Vec::new();
    for (mbps, rtt_ms) in [(10.0, 20), (10.0, 100), (50.0, 20), (50.0, 100), (100.0, 50)] {
        for alpha in [10, 20, 60] {
            let outcome = share(mbps, rtt_ms, 1000, &[(&fast(alpha), 0, 0)], 20, 40);
            points.push((
                format!("fast, {mbps} Mbit/s, {rtt_ms} ms, alpha {alpha}"),
                f64::from(alpha),
                queue(&outcome),
            ));
        }
    }
    for count in [2, 4] {
        let flow = fast(20);
        let flows: Vec<Bulk<'_>> = (0..count).map(|_| (flow.as_str(), 0, 0)).collect();
        let outcome = share(50.0, 50, 1000, &flows, 30, 60);
        points.push((format!("fast, {count} flows, alpha 20"), 20.0 * f64::from(count), queue(&outcome)));
    }
    all(points, 0.1);
}

/// Rates in proportion to alpha, whatever the round trip: weighted proportional fairness.
#[test]
fn fast_shares_in_proportion_to_alpha_whatever_the_round_trip() {
    let (small, large) = (fast(10), fast(30));
    let mut points = Vec::new();
    for (name, flows, expected) in [
        ("alpha 30 beside 10", [(large.as_str(), 0, 0), (small.as_str(), 0, 0)], 3.0),
        ("100 ms beside 40 ms", [(large.as_str(), 0, 60), (large.as_str(), 0, 0)], 1.0),
        ("200 ms beside 40 ms", [(large.as_str(), 0, 160), (large.as_str(), 0, 0)], 1.0),
    ] {
        let outcome = share(50.0, 40, 1000, &flows, 40, 80);
        points.push((format!("fast, {name}: rates"), expected, rate(&outcome, 0) / rate(&outcome, 1)));
    }
    all(points, 0.1);
}

/// Constants a fifth off are seen.
#[test]
fn another_alpha_target_or_delta_is_another_queue() {
    let outcome = share(50.0, 50, 1000, &[(&fast(24), 0, 0)], 20, 40);
    assert!(!near("fast, alpha 24 for 20", 20.0, queue(&outcome), 0.1));
    let outcome = share(10.0, 60, 2000, &[("{ kind = \"ledbat-pp\", target = \"72ms\" }", 0, 0)], 60, 180);
    let median = flow(&outcome, "f0").queue_delay_ms.p50.expect("packets arrived");
    assert!(!near("ledbat-pp, 72 for 60 ms", 60.0, median, 0.1));
    let outcome = share(50.0, 100, 1000, &[(&copa(0.125, "default-mode"), 0, 0)], 20, 60);
    assert!(!near("copa, delta 0.125 for 0.1", 12.5, queue(&outcome), 0.1));
}

/// draft-irtf-iccrg-ledbat-plus-plus-06: the target is 60 ms. Half of the time at least is between slowdowns, so that the median is the target.
#[test]
fn ledbat_pp_keeps_its_target_between_slowdowns() {
    let mut points = Vec::new();
    for mbps in [5.0, 10.0, 20.0, 50.0] {
        for rtt_ms in [20, 60, 120] {
            let outcome = share(mbps, rtt_ms, 2000, &[("\"ledbat-pp\"", 0, 0)], 60, 180);
            let median = flow(&outcome, "f0").queue_delay_ms.p50.expect("packets arrived");
            points.push((format!("ledbat-pp, {mbps} Mbit/s, {rtt_ms} ms: median wait in ms"), 60.0, median));
            let used = rate(&outcome, 0) / mbps;
            assert!(
                (0.88..=1.001).contains(&used),
                "{mbps} Mbit/s, {rtt_ms} ms: slowdowns cost a tenth at most: {used:.3}"
            );
        }
    }
    all(points, 0.1);
}

/// Its abstract: LEDBAT's latecomer's advantage and its drift are mitigated. LEDBAT's own first flow starves.
#[test]
fn a_latecomer_has_an_advantage_under_ledbat_and_none_under_ledbat_pp() {
    for (controller, least, most) in [("\"ledbat\"", 0.65, 1.0), ("\"ledbat-pp\"", 0.35, 0.65)] {
        let outcome = share(10.0, 40, 2000, &[(controller, 0, 0), (controller, 30, 0)], 150, 300);
        let part = rate(&outcome, 1) / (rate(&outcome, 0) + rate(&outcome, 1));
        println!("| {controller}: the latecomer's part | {least} to {most} | {part:.3} |");
        assert!((least..=most).contains(&part), "{controller}: {part:.3}");
    }
}

/// Beside CUBIC in a queue of less than LEDBAT's target: LEDBAT has a TCP's part, LEDBAT++ yields.
#[test]
fn ledbat_pp_yields_where_ledbat_competes() {
    // 80 ms at 10 Mbit/s.
    let part = |controller: &str| {
        let outcome = share(10.0, 40, 67, &[("\"cubic\"", 0, 0), (controller, 0, 0)], 60, 180);
        rate(&outcome, 1) / (rate(&outcome, 0) + rate(&outcome, 1))
    };
    let (ledbat, better) = (part("\"ledbat\""), part("\"ledbat-pp\""));
    println!("| part beside CUBIC, ledbat, ledbat-pp | above 0.15, below 0.1 | {ledbat:.3}, {better:.3} |");
    assert!(ledbat > 0.15 && better < 0.1, "{ledbat:.3} and {better:.3}");
}

/// Hayes and Armitage 2011: losses that congestion did not cause do not count, so that CDG has more than NewReno where one packet in a hundred is lost;
/// and its queue is shorter.
#[test]
fn cdg_tolerates_losses_and_keeps_a_shorter_queue() {
    let lossy = |controller: &str| {
        let outcome = run(&format!(
            "duration = \"120s\"\nwarmup = \"20s\"\nsample = \"1s\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = {{ packets = 84 }}\n\
             loss = {{ kind = \"bernoulli\", ratio = 0.01 }}\n\
             [flows.f0]\ntransport = \"tcp\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\ncontroller = {controller}\ntcp = {{ ack_every = 1 }}\n"
        ));
        rate(&outcome, 0)
    };
    let (newreno, cdg) = (lossy("\"newreno\""), lossy("\"cdg\""));
    println!("| Mbit/s with 1 % of losses, NewReno, cdg | cdg at least 1.5 times | {newreno:.2}, {cdg:.2} |");
    assert!(cdg >= 1.5 * newreno, "{cdg:.2} beside {newreno:.2}");
    let wait = |controller: &str| {
        let outcome = share(10.0, 40, 84, &[(controller, 0, 0)], 20, 120);
        (flow(&outcome, "f0").queue_delay_ms.mean.expect("packets"), rate(&outcome, 0))
    };
    let (of_reno, _) = wait("\"newreno\"");
    let (of_cdg, used) = wait("\"cdg\"");
    println!("| mean wait in ms, NewReno, cdg | cdg at most half | {of_reno:.1}, {of_cdg:.1} |");
    assert!(of_cdg <= of_reno / 2.0 && used >= 8.0, "{of_cdg:.1} beside {of_reno:.1} ms, {used:.2} Mbit/s");
}

/// Arun and Balakrishnan 2018, section 3: with flows that have the same delta the queue swings between nothing and 2.5 packets over delta, for
/// N flows N times as many. So its mean is 1.25 over delta.
fn copa(delta: f64, profile: &str) -> String {
    format!("{{ kind = \"copa\", profile = \"{profile}\", delta = {delta} }}")
}

#[test]
fn copa_keeps_between_nothing_and_two_and_a_half_packets_over_delta() {
    let mut tenth = 0;
    for (mbps, rtt_ms) in [(10.0, 40), (50.0, 40), (50.0, 100), (100.0, 20), (100.0, 100), (50.0, 200)] {
        for delta in [0.5, 0.1, 0.05] {
            let outcome = share(mbps, rtt_ms, 1000, &[(&copa(delta, "default-mode"), 0, 0)], 20, 60);
            let (found, used) = (queue(&outcome), rate(&outcome, 0) / mbps);
            tenth += u32::from(near(
                &format!("copa, {mbps} Mbit/s, {rtt_ms} ms, delta {delta}: queue"),
                1.25 / delta,
                found,
                0.1,
            ));
            assert!(found <= 2.5 / delta, "{mbps} Mbit/s, {rtt_ms} ms, delta {delta}: {found:.2} packets");
            assert!(used >= 0.9, "{mbps} Mbit/s, {rtt_ms} ms, delta {delta}: {used:.3}");
        }
    }
    // The paper's analysis takes the queue for short beside the path; where it is not, the mean is longer.
    assert!(tenth >= 12, "{tenth} of 18 within a tenth of the mean");
}

#[test]
fn copa_flows_share_equally_and_compete_beside_cubic() {
    let flow = copa(0.5, "2018");
    let outcome = share(50.0, 40, 1000, &[(&flow, 0, 0), (&flow, 10, 0), (&flow, 20, 0)], 40, 120);
    let rates: Vec<f64> = (0..3).map(|number| rate(&outcome, number)).collect();
    let jain = outcome.summary.fairness.jain.expect("several flows");
    println!("| copa, three flows: Jain's index | at least 0.95 | {jain:.3} |");
    let beside = |profile: &str| {
        let outcome = share(10.0, 40, 67, &[("\"cubic\"", 0, 0), (&copa(0.5, profile), 0, 0)], 30, 120);
        rate(&outcome, 1) / (rate(&outcome, 0) + rate(&outcome, 1))
    };
    let (competing, meek) = (beside("2018"), beside("default-mode"));
    println!(
        "| copa's part beside CUBIC, competitive, default mode | above 0.2, below 0.2 | {competing:.3}, {meek:.3} |"
    );
    assert!(jain >= 0.95, "{jain:.3} of {rates:?}");
    assert!(competing > 0.2 && meek < 0.2, "{competing:.3} and {meek:.3}");
}

/// draft-chung-ccwg-search-00: slow start ends after the link is full and before it loses, where the queue holds two doublings; afterwards the
/// link is used. The first seconds of CUBIC, which later overflows any queue.
#[test]
fn search_ends_slow_start_without_a_loss_where_nothing_else_does() {
    let begin = |hystart: &str, mbps: f64, rtt_ms: u32| {
        let product = mbps * 1e6 / 8.0 / 1500.0 * f64::from(rtt_ms) / 1e3;
        let rounds = (product / 10.0).log2().max(0.0) + 24.0;
        let outcome = run(&format!(
            "duration = \"{}ms\"\nsample = \"1ms\"\n[links.l]\nrate = \"{mbps}Mbps\"\ndelay = \"{}us\"\nqueue = {{ packets = {} }}\n\
             [flows.f0]\ntransport = \"tcp\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n\
             controller = {{ kind = \"cubic\", hystart = \"{hystart}\" }}\ntcp = {{ ack_every = 1 }}\n",
            (rounds * f64::from(rtt_ms)) as u32,
            rtt_ms * 500,
            (6.0 * product) as u32,
        ));
        (link(&outcome, "l").dropped, rate(&outcome, 0) / mbps)
    };
    let mut wrong = Vec::new();
    for mbps in [10.0, 50.0, 100.0] {
        for rtt_ms in [20, 60, 120, 250] {
            let ((lost, used), (lost_off, _)) = (begin("search", mbps, rtt_ms), begin("off", mbps, rtt_ms));
            println!(
                "| search, {mbps} Mbit/s, {rtt_ms} ms | 0 lost; off loses | {lost}; {lost_off} | used {used:.2} |"
            );
            // A product of 17 packets is overflown before SEARCH has the bins that it compares.
            let is_long_enough = (mbps, rtt_ms) != (10.0, 20);
            if (lost > 0) == is_long_enough || lost_off == 0 || used < 0.5 {
                wrong.push((mbps, rtt_ms, lost, lost_off, used));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
