//! Every controller that shares, coupled with every other: which pairs stay stable, as `docs/couple-flows.md` tells them.

use crate::world::run;
use paceline_cc::ControllerParams;
use paceline_scenario::{Loader, Origin, load};
use std::fmt::Write;

/// Transports in the order in which a controller is tried over them.
const TRANSPORTS: [&str; 3] = ["rtp", "dccp", "tcp"];
/// Controllers that do not react: what they are given or send says nothing of the network.
const DEAF: [&str; 2] = ["fixed", "uncontrolled"];

fn flow(name: &str, controller: &str, transport: &str, more: &str) -> String {
    // SCReAM and GCC steer an encoder; a file would be held by the window alone, or leave at a pace above the target.
    let (most, source) = match controller {
        "scream" => {
            (", profile = \"rfc8298\", target_bitrate_max = \"20Mbps\"", "kind = \"cbr\", adaptive = true")
        }
        "gcc" => (", target_bitrate_max = \"20Mbps\"", "kind = \"cbr\", adaptive = true"),
        _ => ("", "kind = \"bulk\""),
    };
    format!(
        "[flows.{name}]\ntransport = \"{transport}\"\ncontroller = {{ kind = \"{controller}\"{most} }}\n\
         source = {{ {source} }}\npath = [\"bottleneck\"]\n{more}\n"
    )
}

const WORLD: &str = "duration = \"30s\"\nwarmup = \"10s\"\n[links.bottleneck]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n\
                     queue = { packets = 60 }\n";

/// Each controller that reacts, and the transport that it runs over here.
fn controllers() -> Vec<(&'static str, &'static str)> {
    let transport = |kind: &'static str| {
        let loads = |transport: &&&str| {
            let coupled = "[coupling.all]\nkind = \"active\"\nflows = [\"f\"]\n";
            let text = format!("{WORLD}{}{coupled}", flow("f", kind, transport, ""));
            load(&Origin { text: &text, file: "pair.toml", sets: &[] }, &Loader::default()).is_ok()
        };
        let preferred = if ["newreno", "reno", "cubic"].contains(&kind) { "tcp" } else { "" };
        let found = TRANSPORTS.iter().find(|known| **known == preferred).or(TRANSPORTS.iter().find(loads))?;
        Some((kind, *found))
    };
    ControllerParams::KINDS
        .iter()
        .copied()
        .filter(|kind| !DEAF.contains(kind))
        .filter_map(transport)
        .collect()
}

/// Rates in Mbit/s of two coupled flows, of which the first has twice the priority.
fn rates((a, over_a): (&str, &str), (b, over_b): (&str, &str), kind: &str) -> (f64, f64) {
    let text = format!(
        "{WORLD}{}{}[coupling.all]\nkind = \"{kind}\"\nflows = [\"a\", \"b\"]\n",
        flow("a", a, over_a, "priority = 2"),
        flow("b", b, over_b, "start = \"3s\""),
    );
    let summary = run(&text).summary;
    let rate = |name: &str| summary.flows[name].throughput_mbps.unwrap_or(0.0);
    (rate("a"), rate("b"))
}

/// Controllers that steer a rate, and those that steer a window (SCReAM beside its target) and seldom wait for a timeout.
const RATES: [&str; 3] = ["tfrc", "ccid3", "rap"];
const WINDOWS: [&str; 9] =
    ["scream", "ccid2", "newreno", "sack", "cubic", "vegas", "dctcp", "prague", "ledbat"];

/// The bands of the table in `docs/couple-flows.md`: least and largest ratio of the rates, and least rate in Mbit/s. The first
/// flow has twice the priority.
fn bands(a: &str, b: &str, kind: &str) -> (f64, f64, f64) {
    let exchange = ["active", "conservative"].contains(&kind);
    let equation = |kind: &str| ["tfrc", "ccid3"].contains(&kind);
    let reacts = |kind: &str| RATES.contains(&kind) || WINDOWS.contains(&kind);
    match (a, b) {
        // A window during recovery takes nothing that is assigned, and BBR finds the link empty meanwhile.
        ("bbr", "newreno" | "reno") if !exchange => (0.0, f64::MAX, 0.04),
        (a, b) if !(reacts(a) && reacts(b)) => (0.0, f64::MAX, 0.1),
        (a, b) if RATES.contains(&a) && RATES.contains(&b) => (1.8, 2.2, 2.5),
        // Without SACK a packet is repaired in a round trip, while TFRC finds the link empty and the sum grows.
        ("newreno", other) | (other, "newreno") if exchange && equation(other) => (0.9, 2.8, 2.0),
        // Prague is Reno here, and conservative coupling lets CUBIC's steps up pass.
        ("cubic", "prague") if kind == "conservative" => (1.7, 3.2, 2.0),
        _ if exchange => (1.7, 2.5, 2.0),
        _ => (1.7, 2.7, 1.5),
    }
}

fn every_pair_keeps_to_its_band(kind: &str) {
    let (controllers, mut wrong) = (controllers(), String::new());
    assert!(controllers.len() >= 14, "{controllers:?}");
    let mut table = format!("{kind}\n");
    for &a in &controllers {
        write!(table, "{:<8}", a.0).expect("a string");
        for &b in &controllers {
            let (first, second) = rates(a, b, kind);
            write!(table, " {first:4.1}/{second:4.1}").expect("a string");
            let (least, most, rate) = bands(a.0, b.0, kind);
            let kept = (least..=most).contains(&(first / second)) && first.min(second) >= rate;
            if !kept || first + second > 10.05 {
                writeln!(wrong, "{kind}: {} {first:.2}, {} {second:.2} Mbit/s", a.0, b.0).expect("a string");
            }
        }
        table.push('\n');
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong}");
}

/// A test for each coupling kind of the table.
macro_rules! under {
    ($($kind:ident),*) => { $( #[test] fn $kind() { every_pair_keeps_to_its_band(stringify!($kind)); } )* };
}

under!(active, conservative, etcp, efcm);
