//! `source = { kind = "short-transfers" }`: what may be said, and what is wrong where.

use crate::transports::{ByteStream, EndsParts, TcpParts, TransportSpec};
use crate::{Loader, Origin, Scenario, ScenarioError, SourceSpec, load, parse, parse_with};
use paceline_tcp::transfers::{Begin, IdleKind, TransfersConfig};
use paceline_units::{Bytes, TimeDelta};
use proptest::prelude::*;

const GOOD: &str = r#"duration = "10s"

[links.bottleneck]
rate = "20Mbps"
queue = { kind = "droptail", limit = "300ms" }

[flows.web]
transport = "tcp"
controller = "cubic"
path = ["bottleneck"]
source = { kind = "short-transfers" }
"#;

fn read(source: &str) -> Result<Scenario, ScenarioError> {
    parse(&GOOD.replace("{ kind = \"short-transfers\" }", source), "web.toml")
}

fn transfers(scenario: &Scenario) -> TransfersConfig {
    match &scenario.flows[0].streams[0].source {
        SourceSpec::ShortTransfers(transfers) => *transfers,
        other => panic!("{other:?}"),
    }
}

#[test]
fn defaults_are_those_of_rfc_8868() {
    let scenario = parse(GOOD, "web.toml").expect("right");
    let expected = TransfersConfig {
        parallel: 30,
        size_min: Bytes::new(30_000),
        size_max: Bytes::new(50_000),
        idle: TimeDelta::from_secs(10),
        idle_kind: IdleKind::Exponential,
        begin: Begin::On,
    };
    assert_eq!(transfers(&scenario), expected);
    // The controller says TCP.
    let usual = GOOD.replace("transport = \"tcp\"\n", "");
    assert_eq!(transfers(&parse(&usual, "web.toml").expect("right")), expected);
}

#[test]
fn what_is_wrong_is_told_with_its_key() {
    const KIND: &str = "kind = \"short-transfers\"";
    for (keys, key, found, expected) in [
        ("parallel = 0", ".parallel", "0 (a number)", "a whole number from 1 to 10000"),
        ("parallel = 10001", ".parallel", "10001", "from 1 to 10000"),
        ("parallel = \"30\"", ".parallel", "\"30\" (text)", "a whole number"),
        ("size_min = \"0B\"", ".size_min", "0B", "a size of 1B or more"),
        ("size_max = 40000", ".size_max", "40000 (a number)", "a size"),
        ("size_min = \"60kB\"", ".size_min", "60kB", "at most size_max, which is 50kB"),
        ("size_max = \"29kB\"", ".size_max", "29kB", "at least size_min, which is 30kB"),
        ("idle = \"-1s\"", ".idle", "-1s", "not below 0"),
        ("idle = 10", ".idle", "10 (a number)", "a time"),
        ("idle_kind = \"uniform\"", ".idle_kind", "uniform", "one of \"exponential\", \"fixed\""),
        ("begin = true", ".begin", "true", "one of \"on\", \"off\""),
        ("paralel = 3", ".paralel", "an unknown key", "parallel, size_min"),
        ("length = \"40kB\"", ".length", "an unknown key", "parallel, size_min"),
    ] {
        let error = read(&format!("{{ {KIND}, {keys} }}")).expect_err(keys);
        assert_eq!((error.line(), error.key.as_str()), (Some(11), format!("flows.web.source{key}").as_str()));
        assert!(error.found.contains(found) && error.expected.contains(expected), "{error}");
    }
}

#[test]
fn only_tcp_has_connections() {
    let named = "[flows.web.streams.page]\nsource = { kind = \"short-transfers\" }";
    for (transport, controller, source) in [
        ("rtp", "\"scream\"", None),
        ("rtp", "\"fixed\"", None),
        ("udp", "\"none\"", None),
        ("udp", "\"tfrc\"", None),
        ("rtp", "\"scream\"", Some(named)),
    ] {
        let text = GOOD.replace("\"tcp\"", &format!("\"{transport}\"")).replace("\"cubic\"", controller);
        let text = match source {
            Some(streams) => text.replace("source = { kind = \"short-transfers\" }", streams),
            None => text,
        };
        let error = parse(&text, "web.toml").expect_err(transport);
        assert!(error.key.ends_with("source.kind") && error.line() >= Some(11), "{error}");
        assert!(
            error.found.contains("short-transfers") && error.expected.contains("transport tcp"),
            "{error}"
        );
    }
}

#[test]
fn copies_do_not_multiply_connections_without_end() {
    let many = |count: u32| parse(&format!("{GOOD}count = {count}\n"), "web.toml");
    assert_eq!(many(3_333).expect("99,990 connections").flows.len(), 3_333);
    let error = many(3_334).expect_err("too many");
    assert!(error.key == "flows.web" && error.found.contains("100020 connections"), "{error}");
    assert!(error.expected.contains("at most 100000"), "{error}");
}

#[test]
fn a_size_that_is_set_counts() {
    let sets = ["size_min", "size_max"].map(|key| (format!("flows.web.source.{key}"), "40kB".to_string()));
    let fixed = transfers(&parse_with(GOOD, "web.toml", &sets).expect("right"));
    assert_eq!((fixed.size_min, fixed.size_max), (Bytes::new(40_000), Bytes::new(40_000)));
}

proptest! {
    #[test]
    fn what_is_resolved_reads_back(
        parallel in 1u16..=10_000,
        min in 1u64..1_000_000,
        more in 0u64..1_000_000,
        idle in 0u64..100_000_000_000,
        fixed: bool,
        on: bool,
    ) {
        let kind = if fixed { "fixed" } else { "exponential" };
        let begin = if on { "on" } else { "off" };
        let scenario = read(&format!(
            "{{ kind = \"short-transfers\", parallel = {parallel}, size_min = \"{min}B\", size_max = \"{}B\", \
             idle = \"{idle}ns\", idle_kind = \"{kind}\", begin = \"{begin}\" }}",
            min + more
        ));
        let scenario = scenario.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let found = transfers(&scenario);
        prop_assert_eq!((found.parallel, found.size_min.as_u64(), found.begin == Begin::On), (parallel, min, on));
        let resolved = scenario.to_toml();
        prop_assert_eq!(parse(&resolved, "web.toml"), Ok(scenario), "{}", resolved);
    }
}

#[test]
fn a_window_is_in_packets_or_in_bytes() {
    let with = |window: &str| {
        let text = GOOD.replace("path = ", &format!("tcp = {{ max_window = {window} }}\npath = "));
        parse(&text, "web.toml").map(|scenario| match &scenario.flows[0].transport {
            TransportSpec::Tcp(tcp) => (tcp.max_window, scenario.flows[0].packet_size),
            other => panic!("{other:?}"),
        })
    };
    let (packets, size) = with("10").expect("right");
    assert_eq!(packets, Some(Bytes::new(10 * size.as_u64())));
    assert_eq!(with("\"64kB\"").expect("right").0, Some(Bytes::new(64_000)));
    for (window, expected) in [
        ("0", "a whole number from 1 to "),
        ("\"1B\"", "a size from 1500B to "),
        ("true", "a whole number from 1"),
    ] {
        let error = with(window).expect_err(window);
        assert_eq!((error.line(), error.key.as_str()), (Some(10), "flows.web.tcp.max_window"), "{error}");
        assert!(error.expected.starts_with(expected), "{error}");
    }
}

#[test]
fn connections_are_drawn_by_the_flows_name() {
    let drawn = |name: &str| {
        let text = GOOD.replace("[flows.web]", &format!("[flows.{name}]"));
        let loaded = load(&Origin { text: &text, file: "web.toml", sets: &[] }, &Loader::default());
        match &loaded.expect("right").parts.flows[0].ends {
            EndsParts::Tcp(TcpParts { carried: ByteStream::Transfers(transfers, random), .. }) => {
                (*transfers, random.clone().next_u64())
            }
            _ => panic!("connections"),
        }
    };
    assert_eq!(drawn("web").0, transfers(&parse(GOOD, "web.toml").expect("right")));
    assert_eq!(drawn("web"), drawn("web"));
    assert_ne!(drawn("web").1, drawn("other").1);
}
