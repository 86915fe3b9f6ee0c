//! Named networks: what a scenario gets with one, and whether each has the noise and the loss that it is described by.

use super::bad_input::GOOD;
use crate::networks::NETWORKS;
use crate::{Loader, Origin, Scenario, ScenarioError, load, parse};
use paceline_link::{Departure, Link, LinkConfig, Offered, Transit};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

/// The good scenario with this as its link.
fn with_link(link: &str) -> String {
    let (before, rest) = GOOD.split_once("rate =").expect("a rate");
    let (_, after) = rest.split_once("[flows").expect("flows");
    format!("{before}{link}\n[flows{after}")
}

fn linked(link: &str) -> Result<Scenario, ScenarioError> {
    parse(&with_link(link), "networks.toml")
}

#[test]
fn every_network_is_a_link_whose_keys_can_be_overridden() {
    for network in NETWORKS.iter() {
        let plain = linked(&format!("network = \"{}\"", network.name)).expect(&network.name);
        let written = plain.to_toml();
        assert_eq!(parse(&written, "networks.toml").expect(&network.name), plain, "{}", network.name);
        let own = linked(&format!("network = \"{}\"\ndelay = \"7ms\"", network.name)).expect(&network.name);
        let (link, before) = (&own.links[0], &plain.links[0]);
        assert_eq!(link.delay, TimeDelta::from_millis(7).into());
        assert_eq!((&link.rate, &link.noise, &link.loss), (&before.rate, &before.noise, &before.loss));
        let quiet = linked(&format!("network = \"{}\"\nnoise = {{ kind = \"rfc8868\" }}", network.name));
        assert_eq!(quiet.expect(&network.name).links[0].noise.len(), 1);
    }
}

#[test]
fn each_key_of_a_network_is_one_of_a_link_and_says_where_it_is_from() {
    for network in NETWORKS.iter() {
        for given in &network.keys {
            assert!(!given.source.is_empty() && !given.why.is_empty(), "{}: {}", network.name, given.key);
        }
        let keys: Vec<_> = network.keys.iter().map(|given| given.key.as_str()).collect();
        assert!(["rate", "delay", "queue", "noise"].iter().all(|key| keys.contains(key)), "{}", network.name);
    }
}

#[test]
fn what_is_wrong_with_noises_and_networks_is_named() {
    let clean = "rate = \"1Mbps\"\nqueue = { packets = 9 }\nnoise = ";
    for (link, key, expected) in [
        ("network = \"wimx\"", "network", "wimax"),
        ("network = 3", "network", "wimax"),
        ("network = \"wimax\"\nnoise = []", "noise", "a list of 1 to 16"),
        (&format!("{clean}[]"), "noise", "a list of 1 to 16"),
        (&format!("{clean}[3]"), "noise[0]", "a list of 1 to 16"),
        (&format!("{clean}[{{ kind = \"grant\" }}]"), "noise[0].period", "a time"),
        (&format!("{clean}[{{ kind = \"grant\", period = \"0ms\" }}]"), "noise[0].period", "from 1us"),
        (&format!("{clean}{{ kind = \"grant\", period = \"5ms\", miss = nan }}"), "noise.miss", "0 to 0.999"),
        (&format!("{clean}{{ kind = \"grant\", period = \"5ms\", miss = 1 }}"), "noise.miss", "0 to 0.999"),
        (
            &format!("{clean}{{ kind = \"lognormal\", mean = \"0ms\", std = \"1ms\" }}"),
            "noise.mean",
            "above 0",
        ),
        (&format!("{clean}{{ kind = \"gamma\", mean = \"-1ms\" }}"), "noise.mean", "not below 0"),
        (
            &format!("{clean}{{ kind = \"gamma\", mean = \"1ms\", shape = inf }}"),
            "noise.shape",
            "from 1 to 1000000",
        ),
        (&format!("{clean}{{ kind = \"pareto\", mean = \"1ms\", shape = 1 }}"), "noise.shape", "1.01"),
        (
            &format!("{clean}{{ kind = \"spikes\", every = \"1us\", length = \"1s\" }}"),
            "noise.every",
            "of 1ms or more",
        ),
        (
            &format!("{clean}{{ kind = \"retransmission\", p = -0.1, round = \"8ms\" }}"),
            "noise.p",
            "from 0 to 1",
        ),
        (
            &format!("{clean}{{ kind = \"retransmission\", p = 0.1, round = \"8ms\", p_bad = 0.5 }}"),
            "noise.p_bad",
            "go with bad",
        ),
        (
            &format!("{clean}{{ kind = \"retransmission\", p = 0.1, round = \"8ms\", bad = \"1s\" }}"),
            "noise",
            "between two fades",
        ),
        (
            &format!("{clean}{{ kind = \"contention\", busy = \"1ms\", idle = \"0s\" }}"),
            "noise.idle",
            "of 1ms or more",
        ),
        (
            &format!("{clean}{{ kind = \"contention\", busy = \"1ms\", idle = \"1ms\", cw_min = 2000 }}"),
            "noise.cw_min",
            "at most cw_max",
        ),
        (&format!("{clean}{{ kind = \"empirical\", quantiles = [] }}"), "noise.quantiles", "1 to 100000"),
        (
            &format!("{clean}{{ kind = \"empirical\", quantiles = [\"2ms\", \"1ms\"] }}"),
            "noise.quantiles[1]",
            "2ms or more",
        ),
        (
            &format!("{clean}{{ kind = \"empirical\", quantiles = [\"nan\"] }}"),
            "noise.quantiles[0]",
            "a time",
        ),
    ] {
        let error = linked(link).expect_err(link);
        assert_eq!(error.key, format!("links.bottleneck.{key}"), "{link}: {error}");
        assert!(error.expected.contains(expected), "{link}: {error}");
    }
}

/// A network's treatment of packets.
struct Probed {
    mean_ms: f64,
    p90_ms: f64,
    max_ms: f64,
    loss: f64,
}

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

/// As the paper measures noise: packets at half the capacity, and of their delays what is above the smallest. For 900 s, as
/// long as its runs.
fn probed(config: LinkConfig, seed: u64) -> Probed {
    let half = Bitrate::from_bps(config.rate.nominal().as_bps() / 2);
    let gap = half.time_for(Bytes::new(1212));
    let mut link = Link::new(config, seed, "bottleneck").expect("a link");
    let (mut delays, mut lost, mut sent) = (Vec::new(), 0, 0);
    let mut now = Time::ZERO;
    while now < Time::from_nanos(900_000_000_000) {
        let mut sink = |departure: Departure<Packet>| delays.push((departure.arrives - now).as_millis_f64());
        lost += u32::from(link.offer(now, Packet, &mut sink) == Offered::Lost);
        (sent, now) = (sent + 1, now + gap);
    }
    delays.sort_by(f64::total_cmp);
    let above = |delay: &f64| delay - delays[0];
    let at = |part: f64| above(&delays[(part * (delays.len() - 1) as f64) as usize]);
    let mean_ms = delays.iter().map(above).sum::<f64>() / delays.len() as f64;
    Probed { mean_ms, p90_ms: at(0.9), max_ms: at(1.0), loss: f64::from(lost) / f64::from(sent) }
}

#[test]
fn each_network_has_the_noise_and_the_loss_that_the_paper_gives_it() {
    // Mean noise and its largest value in ms, and the loss: between these. From docs/networks.md.
    let expected = [
        ("adsl", [4.0, 6.0], [9.0, 40.0], 0.0022),
        ("cable", [1.6, 2.4], [3.0, 5.0], 0.0012),
        ("ethernet-limited", [0.5, 0.9], [1.5, 6.0], 0.0),
        ("wifi-hotspot", [14.0, 24.0], [80.0, 400.0], 0.0249),
        ("wimax", [28.0, 36.0], [200.0, 1100.0], 0.0002),
        ("wimax-lossy", [28.0, 36.0], [200.0, 1100.0], 0.0185),
        ("hspa-plus", [28.0, 36.0], [300.0, 450.0], 0.0037),
    ];
    let stand_still = NETWORKS.iter().map(|network| network.name.as_str()).take(expected.len());
    assert_eq!(stand_still.collect::<Vec<_>>(), expected.map(|row| row.0));
    for (name, mean, max, loss) in expected {
        let text = with_link(&format!("network = \"{name}\""));
        let origin = Origin { text: &text, file: "networks.toml", sets: &[] };
        let loaded = load(&origin, &Loader::default()).expect(name);
        let probed = probed(loaded.parts.links[0].clone(), 1);
        println!(
            "{name}: mean {:.2} ms, 90 % {:.2} ms, max {:.1} ms, loss {:.5}",
            probed.mean_ms, probed.p90_ms, probed.max_ms, probed.loss
        );
        assert!((mean[0]..mean[1]).contains(&probed.mean_ms), "{name}: mean {}", probed.mean_ms);
        assert!((max[0]..max[1]).contains(&probed.max_ms), "{name}: max {}", probed.max_ms);
        assert!(probed.p90_ms > probed.mean_ms, "{name}: 90 % {}", probed.p90_ms);
        assert!((probed.loss - loss).abs() <= 0.35 * loss + 0.0001, "{name}: loss {}", probed.loss);
    }
}

/// One-way delays in ms, over links that have nothing else to do, of packets that come each 10 ms for a minute; none of those that
/// are lost.
fn delays_over(network: &str) -> Vec<Option<f64>> {
    let text = with_link(&format!("network = \"{network}\"\nnoise = {{ kind = \"uniform\", max = \"0s\" }}"));
    let origin = Origin { text: &text, file: "networks.toml", sets: &[] };
    let loaded = load(&origin, &Loader::default()).expect(network);
    let mut link = Link::new(loaded.parts.links[0].clone(), 1, "bottleneck").expect("a link");
    let mut delays = Vec::new();
    for number in 0..6000 {
        let now = Time::from_nanos(number * 10_000_000);
        let mut delay = None;
        let mut sink = |departure: Departure<Packet>| delay = Some((departure.arrives - now).as_millis_f64());
        link.offer(now, Packet, &mut sink);
        delays.push(delay);
    }
    delays
}

#[test]
fn each_network_that_moves_does_as_it_says() {
    let near = |delays: &[Option<f64>], second: f64, expected: f64| {
        let delay = delays[(second * 100.0) as usize].expect("it arrives");
        assert!((delay - expected).abs() < 3.0, "at {second} s: {delay} ms, not {expected}");
    };
    let leo = delays_over("leo");
    for (second, delay) in
        [(0.1, 50.0), (5.0, 20.0), (14.95, 40.0), (15.05, 60.0), (20.0, 32.0), (59.0, 26.0)]
    {
        near(&leo, second, delay);
    }
    let handover = delays_over("handover");
    for (second, delay) in [(10.0, 35.0), (29.75, 259.0), (31.0, 8.0), (59.0, 8.0)] {
        near(&handover, second, delay);
    }
    let elevator = delays_over("elevator");
    for (second, delay) in [(10.0, 25.0), (45.0, 63.0)] {
        near(&elevator, second, delay);
    }
    assert!(elevator[2200].is_some_and(|delay| delay > 10_000.0), "held until the user is back");
    // 100 packets of 1212 B a second are 970 kbit/s: the policer lets all pass.
    let policed = delays_over("policed-mobile");
    assert!(policed.iter().all(|delay| delay.is_some_and(|delay| delay < 31.0)));
}
