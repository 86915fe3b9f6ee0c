//! RACK-TLP (RFC 8985) in whole scenarios, beside RFC 6675: short flows with loss, reordering, and loss of retransmissions.

use crate::world::{column, flow, run};
use paceline_sim::Outcome;

fn scenario(link: &str, flow: &str, tcp: &str) -> Outcome {
    run(&format!(
        "duration = \"60s\"\nseed = 1\n[links.l]\n{link}\n[flows.f]\ntransport = \"tcp\"\npath = [\"l\"]\n{flow}\ntcp = {{ {tcp} }}\n"
    ))
}

fn mbps(outcome: &Outcome) -> f64 {
    let rates = column(&outcome.flows, "flow", "f", "throughput_mbps");
    let late = &rates[rates.len() / 6..];
    late.iter().sum::<f64>() / late.len() as f64
}

/// RFC 8985 section 7: ten segments over a round trip of 40 ms with 2 % of loss. A lost tail costs a probe and no timeout.
#[test]
fn short_flows_with_loss_end_after_round_trips() {
    const LINK: &str = "rate = \"100Mbps\"\ndelay = \"20ms\"\nqueue = { packets = 1000 }\nloss = { kind = \"bernoulli\", ratio = 0.02 }";
    const FLOW: &str = "controller = { kind = \"cubic\", profile = \"rfc9438\" }\nsource = { kind = \"short-transfers\", parallel = 10, size_min = \"14600B\", size_max = \"14600B\", idle = \"100ms\", idle_kind = \"fixed\" }";
    let p95 = |tcp: &str| {
        let outcome = scenario(LINK, FLOW, tcp);
        flow(&outcome, "f").transfers.expect("of files that end").completion_time_ms.p95.expect("some end")
    };
    let (sack, rack) = (p95("recovery = \"sack\""), p95("recovery = \"rack-tlp\""));
    println!("p95 of ten segments: sack {sack:.0} ms, rack-tlp {rack:.0} ms");
    assert!(sack > 1000.0, "{sack}");
    // A handshake and a flight take 80 ms; a tail's probe comes two round trips later, or behind a delayed
    // acknowledgement, and its repair takes one.
    assert!((80.0..450.0).contains(&rack), "{rack}");
}

/// RFC 8985 section 6.2: packets overtake each other by 5 ms on 20 Mbit/s.
#[test]
fn reordering_does_not_cost_the_rate() {
    const LINK: &str = "rate = \"20Mbps\"\ndelay = \"20ms\"\nqueue = { packets = 100 }\nnoise = { kind = \"uniform\", max = \"5ms\", reorder = true }";
    const FLOW: &str =
        "controller = { kind = \"cubic\", profile = \"rfc9438\" }\nsource = { kind = \"bulk\" }";
    let (sack, rack) =
        (scenario(LINK, FLOW, "recovery = \"sack\""), scenario(LINK, FLOW, "recovery = \"rack-tlp\""));
    let (sack, rack) = (mbps(&sack), mbps(&rack));
    println!("5 ms of reordering on 20 Mbit/s: sack {sack:.1}, rack-tlp {rack:.1} Mbit/s");
    assert!(sack < 12.0 && (18.0..20.0).contains(&rack), "{sack}, {rack}");
}

/// RFC 8985 section 6.2 step 5: with 15 % of loss retransmissions are lost, and found without the timer. The kernel's BBR has
/// 40 Mbit/s on this path (Linux 6, `paceline link --tun`, 2026-11-25).
#[test]
fn bbr_under_loss_does_not_depend_on_the_timer() {
    const LINK: &str = "rate = \"50Mbps\"\ndelay = \"20ms\"\nqueue = { packets = 200 }\nloss = { kind = \"bernoulli\", ratio = 0.15 }";
    const FLOW: &str = "controller = \"bbr\"\nsource = { kind = \"bulk\" }";
    let rate = |recovery: &str, min_rto: &str| {
        mbps(&scenario(LINK, FLOW, &format!("recovery = \"{recovery}\", min_rto = \"{min_rto}\"")))
    };
    let sack = [rate("sack", "1s"), rate("sack", "200ms")];
    let rack = [rate("rack-tlp", "1s"), rate("rack-tlp", "200ms")];
    println!("BBR, 15 % loss, min_rto 1 s and 200 ms: sack {sack:.1?}, rack-tlp {rack:.1?} Mbit/s");
    // The rate that gets through is 42.5 Mbit/s, give or take the chance of a minute.
    assert!(rack.iter().all(|rate| (34.0..43.0).contains(rate)), "{rack:?}");
    assert!((sack[0] - sack[1]).abs() > 0.1 * sack[0], "the timer's: {sack:?}");
}
