//! Flows that share an exchange: equal, or as their priorities say, and the same in windows as step by step.

use crate::world::{run, run_at};
use paceline_cc::CouplingParams;
use paceline_metrics::Summary;
use paceline_sim::Pace;

/// The dumbbell of the coupling paper: 10 Mbit/s, 1000 B packets, drop-tail of `packets`, a round trip of `rtt` ms.
fn dumbbell(controller: &str, flows: u32, rtt: u32, packets: u32, seconds: u32, coupling: &str) -> String {
    let delay = rtt / 2 - 2;
    let mut text = format!(
        "duration = \"{seconds}s\"\nwarmup = \"5s\"\n\
         [links.bottleneck]\nrate = \"10Mbps\"\ndelay = \"{delay}ms\"\nqueue = {{ kind = \"droptail\", packets = {packets} }}\n"
    );
    for flow in 0..flows {
        text.push_str(&format!(
            "[links.in{flow}]\nrate = \"1Gbps\"\ndelay = \"2ms\"\nqueue = {{ packets = 1000 }}\n\
             [flows.f{flow}]\ntransport = \"rtp\"\ncontroller = {{ kind = \"{controller}\", profile = \"ns2\" }}\n\
             source = {{ kind = \"bulk\" }}\npacket_size = \"1000B\"\npath = [\"in{flow}\", \"bottleneck\"]\n\
             start = \"{}ms\"\n",
            flow * 83
        ));
    }
    let names: Vec<_> = (0..flows).map(|flow| format!("\"f{flow}\"")).collect();
    if !coupling.is_empty() {
        text.push_str(&format!("[coupling.all]\n{coupling}\nflows = [{}]\n", names.join(", ")));
    }
    text
}

fn rates(summary: &Summary) -> Vec<f64> {
    summary.flows.values().map(|flow| flow.throughput_mbps.unwrap_or(0.0)).collect()
}

const ACTIVE: &str = "kind = \"active\"\nprofile = \"islam2014\"";
const CONSERVATIVE: &str = "kind = \"conservative\"\nprofile = \"islam2014\"";

fn queue(summary: &Summary) -> f64 {
    summary.links["bottleneck"].queue_packets.mean.expect("known")
}

fn loss(summary: &Summary) -> f64 {
    let link = &summary.links["bottleneck"];
    link.dropped as f64 / link.offered as f64
}

/// The paper's section 3: the simple algorithm parts flows that used to reduce together, and the queue stays full.
#[test]
fn the_active_exchange_fills_the_queue_and_the_conservative_one_does_not() {
    for (controller, rtt, packets) in [("rap", 10, 12), ("rap", 100, 61), ("tfrc", 100, 61)] {
        let figures = ["", ACTIVE, CONSERVATIVE]
            .map(|coupling| run(&dumbbell(controller, 5, rtt, packets, 60, coupling)).summary);
        let [apart, active, conservative] = &figures;
        assert!(queue(conservative) < 0.7 * queue(apart), "{controller} {rtt} ms: {figures:?}");
        if controller == "rap" {
            assert!(queue(active) > 1.1 * queue(apart), "{controller} {rtt} ms: {figures:?}");
            assert!(loss(conservative) < 0.5 * loss(apart), "{controller} {rtt} ms: {figures:?}");
        }
        for (summary, least) in [(active, 0.999), (conservative, 0.9985)] {
            let jain = summary.fairness.jain.expect("several flows");
            assert!(jain > least, "{controller} {rtt} ms: {:?}", rates(summary));
        }
    }
}

/// Five flows with round trips of 1 : 2 : 4 : 8 : 16.
fn unequal(controller: &str, coupling: &str) -> String {
    let mut text = dumbbell(controller, 5, 10, 30, 100, coupling);
    for flow in 0..5 {
        let near = format!("[links.in{flow}]\nrate = \"1Gbps\"\ndelay = \"2ms\"");
        let far = format!("[links.in{flow}]\nrate = \"1Gbps\"\ndelay = \"{}ms\"", (10 << flow) - 3);
        text = text.replace(&near, &far);
    }
    text
}

/// The largest rate over the smallest.
fn spread(rates: &[f64]) -> f64 {
    let (low, high) =
        rates.iter().fold((f64::MAX, 0.0f64), |(low, high), rate| (rate.min(low), rate.max(high)));
    high / low
}

#[test]
fn coupled_flows_are_equal_over_unequal_round_trips() {
    let [apart, together] =
        ["", CONSERVATIVE].map(|coupling| rates(&run(&unequal("tfrc", coupling)).summary));
    assert!(spread(&apart) > 1.5, "{apart:?}");
    assert!(spread(&together) < 1.01, "{together:?}");
}

/// A flow sends its assignment, to a packet in a thousand. Received rates are equal only as far as the queue drops from all
/// alike, for which noise sees; and TFRC's oscillation reduction sends more, of what it is given, where the queue is a larger
/// part of the round trip.
#[test]
fn coupled_flows_send_what_they_are_given() {
    let exact = ("profile = \"ns2\"", "profile = \"ns2\", oscillation_reduction = false");
    let noisy = (
        "ms\"\nqueue = { packets = 1000 }",
        "ms\"\nnoise = { kind = \"uniform\", max = \"1ms\" }\nqueue = { packets = 1000 }",
    );
    for (text, least, most) in [
        (unequal("rap", CONSERVATIVE), 0.9999, 1.01),
        (unequal("tfrc", CONSERVATIVE).replace(exact.0, exact.1), 0.9999, 1.01),
        (dumbbell("rap", 3, 10, 12, 100, ACTIVE), 0.9995, 1.05),
        (dumbbell("rap", 10, 10, 12, 100, ACTIVE), 0.9995, 1.05),
    ] {
        let summary = run(&text.replace(noisy.0, noisy.1)).summary;
        let sent = |summary: &Summary| -> Vec<f64> {
            summary.flows.values().map(|flow| flow.packets_sent.expect("known") as f64).collect()
        };
        for packets in [sent(&summary), sent(&run(&text).summary)] {
            assert!(spread(&packets) < 1.001, "{packets:?} in {text}");
        }
        let (jain, found) = (summary.fairness.jain.expect("several flows"), rates(&summary));
        assert!(jain > least && spread(&found) < most, "{jain}, {found:?} in {text}");
    }
}

#[test]
fn rates_follow_priorities_at_the_times_at_which_they_change() {
    let text = dumbbell("tfrc", 2, 100, 61, 150, CONSERVATIVE).replace(
        "start = \"83ms\"",
        "start = \"83ms\"\npriority = [[\"0s\", 1.0], [\"50s\", 0.5], [\"100s\", 0.25]]",
    );
    let outcome = run(&text);
    let of = |name: &str| crate::world::column(&outcome.flows, "flow", name, "throughput_mbps");
    let (first, second) = (of("f0"), of("f1"));
    // A row every 50 ms; each second after a change is left out.
    for (from, to, expected) in [(20, 50, 1.0), (52, 100, 0.5), (102, 150, 0.25)] {
        let mean = |rates: &[f64]| rates[from * 20..to * 20].iter().sum::<f64>();
        crate::world::assert_near("ratio", mean(&second) / mean(&first), expected, 0.01 * expected);
    }
}

/// The steps of a host have one order, however far its components go alone.
#[test]
fn windows_and_steps_agree() {
    let pausing = "start = \"83ms\"\npause = [[\"3s\", \"5s\"]]\npriority = [[\"0s\", 1], [\"4s\", 2]]";
    for coupling in [ACTIVE, CONSERVATIVE, "kind = \"passive\""] {
        for controller in ["rap", "tfrc"] {
            let text = dumbbell(controller, 3, 20, 20, 10, coupling).replace("start = \"83ms\"", pausing);
            let [windowed, stepped] = [Pace::Windowed, Pace::Stepped].map(|pace| run_at(&text, pace));
            assert_eq!(windowed.summary, stepped.summary, "{controller}, {coupling}");
            assert_eq!(windowed.flows, stepped.flows, "{controller}, {coupling}");
        }
    }
}

#[test]
fn who_shares_with_nobody_runs_as_before() {
    let apart = dumbbell("tfrc", 3, 20, 20, 20, "");
    let alone = format!("{apart}[coupling.one]\nkind = \"active\"\nflows = [\"f1\"]\n");
    let [apart, alone] = [apart, alone].map(|text| rates(&run(&text).summary));
    for (apart, alone) in apart.iter().zip(&alone) {
        // A group of one takes what its own controller computes, to a bit/s.
        crate::world::assert_near("throughput", *alone, *apart, 0.05 * apart);
    }
}

#[test]
fn windows_rates_and_media_share_in_one_group() {
    let mut text = dumbbell("tfrc", 1, 50, 60, 60, "");
    for (name, transport, controller, source) in [
        ("tcp", "tcp", "\"newreno\"", "{ kind = \"bulk\" }"),
        ("ccid2", "dccp", "\"ccid2\"", "{ kind = \"bulk\" }"),
        (
            "call",
            "rtp",
            "{ kind = \"scream\", target_bitrate_max = \"20Mbps\" }",
            "{ kind = \"cbr\", adaptive = true }",
        ),
    ] {
        text.push_str(&format!(
            "[flows.{name}]\ntransport = \"{transport}\"\ncontroller = {controller}\nsource = {source}\npath = [\"in0\", \"bottleneck\"]\n"
        ));
    }
    text.push_str("[coupling.all]\nkind = \"active\"\nflows = [\"f0\", \"tcp\", \"ccid2\", \"call\"]\n");
    let summary = run(&text).summary;
    assert!(rates(&summary).iter().all(|rate| (1.0..5.0).contains(rate)), "{:?}", rates(&summary));
}

/// RFC 8699 section 6.2: a flow that joins gets half of a window of 150 packets at once, and must not send it at once. Its
/// access link is so fast that what waits there is the burst.
#[test]
fn a_window_that_jumps_is_no_burst() {
    for (transport, controller) in [("tcp", "newreno"), ("tcp", "cubic"), ("dccp", "ccid2")] {
        for coupling in ["active", "etcp", "efcm", "cm"] {
            let mut text = "duration = \"20s\"\nwarmup = \"5s\"\n\
                 [links.bottleneck]\nrate = \"20Mbps\"\ndelay = \"50ms\"\nqueue = { packets = 80 }\n"
                .to_string();
            for (name, start) in [("old", 0), ("new", 10)] {
                text.push_str(&format!(
                    "[links.in_{name}]\nrate = \"1Gbps\"\nqueue = {{ packets = 1000 }}\n\
                     [flows.{name}]\ntransport = \"{transport}\"\ncontroller = \"{controller}\"\n\
                     source = {{ kind = \"bulk\" }}\npath = [\"in_{name}\", \"bottleneck\"]\nstart = \"{start}s\"\n"
                ));
            }
            text.push_str(&format!("[coupling.all]\nkind = \"{coupling}\"\nflows = [\"*\"]\n"));
            let summary = run(&text).summary;
            let (burst, rates) = (summary.links["in_new"].queue_packets.max, rates(&summary));
            assert!(burst <= 15, "{controller}, {coupling}: {burst} packets");
            assert!(rates.iter().all(|rate| *rate > 3.0), "{controller}, {coupling}: {rates:?}");
        }
    }
}

/// A flow whose source has 2 Mbit/s, headers in, beside a greedy one of the same controller: their rates in Mbit/s.
fn limited_and_greedy(transport: &str, controller: &str, priority: f64, coupling: &str) -> Vec<f64> {
    let mut text = "duration = \"40s\"\nwarmup = \"10s\"\n\
         [links.bottleneck]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = { packets = 40 }\n"
        .to_string();
    for (name, source, priority) in [
        ("limited", "{ kind = \"cbr\", rate = \"1.9Mbps\", fps = 50 }", 1.0),
        ("greedy", "{ kind = \"bulk\" }", priority),
    ] {
        text.push_str(&format!(
            "[flows.{name}]\ntransport = \"{transport}\"\ncontroller = \"{controller}\"\nsource = {source}\n\
             path = [\"bottleneck\"]\npriority = {priority}\n"
        ));
    }
    if coupling.is_empty() {
        text = text.replace(&format!("priority = {priority}"), "").replace("priority = 1\n", "");
    } else {
        text.push_str(&format!("[coupling.all]\n{coupling}\nflows = [\"limited\", \"greedy\"]\n"));
    }
    let summary = run(&text).summary;
    ["limited", "greedy"].map(|name| summary.flows[name].throughput_mbps.expect("known")).to_vec()
}

/// A greedy flow takes the rate that an application leaves; and whatever the greedy flow's priority, a limited one with a priority
/// that covers its rate is hardly touched.
#[test]
fn a_greedy_flow_takes_what_a_limited_one_leaves() {
    for (transport, controller) in [
        ("rtp", "tfrc"),
        ("rtp", "rap"),
        ("tcp", "newreno"),
        ("tcp", "cubic"),
        ("dccp", "ccid2"),
        ("dccp", "ccid3"),
    ] {
        for kind in ["active", "conservative", "cm"] {
            for priority in [1.0, 0.2] {
                let coupling = format!("kind = \"{kind}\"");
                let rates = limited_and_greedy(transport, controller, priority, &coupling);
                let told = format!("{transport} {controller} {kind} {priority}: {rates:?}");
                // RAP and CCID 2 repair nothing, and lose up to a tenth.
                let least = if ["rap", "ccid2"].contains(&controller) { 1.6 } else { 1.9 };
                assert!((least..2.1).contains(&rates[0]), "{told}");
                assert!((6.0..8.1).contains(&rates[1]), "{told}");
            }
        }
    }
}

/// Apart, the call that was there first keeps nine tenths.
#[test]
fn coupled_calls_share_by_priority() {
    let text = std::fs::read_to_string("../../scenarios/coupled-call.toml").expect("it is there");
    let (apart, _) = text.split_once("[coupling.call]").expect("it couples");
    let ratio = |text: &str| {
        let summary = run(text).summary;
        let rate = |name: &str| summary.flows[name].throughput_mbps.expect("known");
        (rate("camera") / rate("slides"), rate("camera") + rate("slides"))
    };
    assert!(ratio(apart).0 > 5.0, "{:?}", ratio(apart));
    for kind in CouplingParams::KINDS {
        let (ratio, sum) = ratio(&text.replace("\"active\"", &format!("\"{kind}\"")));
        // Parts of a joint window are parts of a rate only as far as the round trips agree.
        let band = if ["etcp", "efcm"].contains(kind) { 1.75..2.25 } else { 1.9..2.1 };
        // The Congestion Manager halves a joint window where SCReAM gives up a tenth.
        let least = if *kind == "cm" { 6.5 } else { 8.5 };
        assert!(band.contains(&ratio) && sum > least, "{kind}: {ratio}, {sum} Mbit/s");
    }
}

/// The group's state of each flow stands in its rows, while it shares and not else.
#[test]
fn the_rows_of_a_coupled_flow_show_its_group() {
    let late = "start = \"4s\"\npriority = [[\"0s\", 1.0], [\"6s\", 0.5]]\npause = [[\"8s\", \"9s\"]]";
    let alone =
        "[flows.alone]\ncontroller = \"tfrc\"\nsource = { kind = \"bulk\" }\npath = [\"bottleneck\"]\n";
    let text = dumbbell("tfrc", 2, 50, 60, 10, "").replace("start = \"83ms\"", late);
    let outcome = run(&format!("{text}{alone}[coupling.all]\n{ACTIVE}\nflows = [\"f0\", \"f1\"]\n"));
    let of = |flow: &str, column: &str| crate::world::cells(&outcome.flows, "flow", flow, column);
    let (first, second) = (of("f0", "coupled_rate_mbps"), of("f1", "coupled_rate_mbps"));
    let (sum, priority) = (of("f0", "coupled_sum_mbps"), of("f1", "coupled_priority"));
    // A row every 50 ms: row 80 is that of 4.05 s.
    assert_eq!((second[78], priority[78], sum[78]), (None, None, first[78]), "one flow has it all");
    assert!(sum[78].is_some_and(|sum| sum > 1.0), "{:?}", sum[78]);
    assert_eq!((priority[100], priority[140], priority[170]), (Some(1.0), Some(0.5), None));
    assert_eq!((second[170], of("f1", "coupled_group")[170]), (None, None), "who pauses does not share");
    for row in [100, 140] {
        let [first, second] = [&first, &second].map(|rates| rates[row].expect("it shares"));
        crate::world::assert_near("sum", first + second, sum[row].expect("they share"), 1e-5);
        crate::world::assert_near("ratio", second / first, priority[row].expect("it shares"), 1e-5);
    }
    assert_eq!(of("f1", "coupled_group")[100], Some(0.0));
    assert!(of("f0", "coupled_desired_mbps").iter().all(Option::is_none), "bulk data could use any rate");
    assert!(of("alone", "coupled_sum_mbps").iter().all(Option::is_none));
    let coupling = |name: &str| crate::world::flow(&outcome, name).coupling;
    let counted = [coupling("f0"), coupling("f1")].map(|coupling| coupling.expect("it is coupled"));
    assert!(counted.iter().all(|flow| flow.assignments > 20 && flow.ignored_updates == 0), "{counted:?}");
    assert_eq!(coupling("alone"), None);
}
