//! The cost of delay noise: nanoseconds that a link takes for a packet, without noise, with each kind, and as a named network.

use crate::{RUNS, processor_time};
use paceline_link::{Link, LinkConfig, Planned, Transit};
use paceline_scenario::{Loader, NETWORKS, Origin, load};
use paceline_units::{Bytes, Ecn, Time};

const PACKETS: u64 = 2_000_000;

/// A packet that nobody keeps.
struct Packet;

impl Transit for Packet {
    fn size(&self) -> Bytes {
        Bytes::new(1212)
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}

    fn flow(&self) -> u64 {
        0
    }
}

const KINDS: [(&str, &str); 10] = [
    ("no noise", ""),
    ("rfc8868", "kind = \"rfc8868\""),
    ("exponential", "kind = \"exponential\", mean = \"5ms\""),
    ("gamma", "kind = \"gamma\", mean = \"5ms\""),
    ("lognormal", "kind = \"lognormal\", mean = \"5ms\", std = \"2ms\", correlation = \"1s\""),
    ("empirical", "kind = \"empirical\", quantiles = [\"0ms\", \"3ms\", \"9ms\"], correlation = \"1s\""),
    ("retransmission", "kind = \"retransmission\", p = 0.1, round = \"8ms\", bad = \"0.2s\", good = \"2s\""),
    ("grant", "kind = \"grant\", period = \"5ms\", miss = 0.5"),
    ("contention", "kind = \"contention\", busy = \"16ms\", idle = \"4ms\", collision = 0.1"),
    ("spikes", "kind = \"spikes\", every = \"10s\", length = \"100ms\""),
];

/// Prints a line for each.
pub fn print() {
    println!("\n{:<22}{:>12}   a link's packets, half its capacity", "noise", "ns");
    for (name, keys) in KINDS {
        let noise = if keys.is_empty() { String::new() } else { format!("noise = {{ {keys} }}\n") };
        line(
            name,
            &format!("rate = \"100Mbps\"\ndelay = \"10ms\"\nqueue = {{ limit = \"300ms\" }}\n{noise}"),
        );
    }
    for network in NETWORKS.iter() {
        line(&network.name, &network.toml());
    }
}

fn line(name: &str, link: &str) {
    let text = format!(
        "duration = \"1000s\"\n[links.l]\n{link}[flows.f]\ntransport = \"udp\"\nsource = {{ kind = \"cbr\" }}\npath = [\"l\"]\n"
    );
    let origin = Origin { text: &text, file: name, sets: &[] };
    let loaded = load(&origin, &Loader::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let config = &loaded.parts.links[0];
    let fastest = (0..RUNS).map(|_| nanoseconds(config)).fold(f64::INFINITY, f64::min);
    println!("{name:<22}{fastest:>12.1}");
}

fn nanoseconds(config: &LinkConfig) -> f64 {
    let gap = config.rate.nominal().time_for(Bytes::new(1212)) * 2;
    let mut link: Link<Packet> = Link::new(config.clone(), 1, "l").expect("load has checked it");
    let (mut now, mut latest) = (Time::ZERO, Time::ZERO);
    let start = processor_time();
    for _ in 0..PACKETS {
        if let Planned::Departs(plan) = link.plan(now, &mut Packet) {
            latest = latest.max(plan.arrives);
        }
        now += gap;
    }
    let spent = processor_time() - start;
    assert!(latest > Time::ZERO, "something arrived");
    spent / PACKETS as f64 * 1e9
}
