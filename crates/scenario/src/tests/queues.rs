//! `queue = { ... }`: what each discipline takes, and what is said of what it cannot.

use crate::ScenarioError;
use crate::parse;
use crate::spec::Scenario;
use paceline_link::{QueueConfig, QueueLimit, Scheduler};
use paceline_units::TimeDelta;
use paceline_units::param::ParamSet;

fn queue(text: &str) -> Result<Scenario, ScenarioError> {
    let text = format!(
        "duration = \"1s\"\n[links.l]\nrate = \"8Mbps\"\nqueue = {text}\n\
         [flows.f]\ntransport = \"udp\"\nsource = {{ kind = \"cbr\" }}\npath = [\"l\"]\n"
    );
    parse(&text, "q.toml")
}

#[test]
fn every_discipline_has_its_sources_defaults_and_takes_its_own_keys() {
    for kind in ["red", "codel", "fq-codel", "pie", "dualpi2", "xcp", "rcp"] {
        let plain = queue(&format!("{{ kind = \"{kind}\" }}")).expect(kind);
        let written = plain.to_toml();
        assert!(written.contains(&format!("kind = \"{kind}\"")), "{written}");
        assert_eq!(parse(&written, "q.toml").expect("reads back"), plain);
        queue(&format!("{{ kind = \"{kind}\", packets = 7 }}")).expect(kind);
    }
    let scenario =
        queue("{ kind = \"dualpi2\", scheduler = \"ts-fifo\", tshift = \"40ms\", k = 1.5, p_cmax = 0.3, bytes = \"90kB\" }")
            .expect("right");
    let QueueConfig::DualPi2(config) = &scenario.links[0].queue else { panic!("another kind") };
    assert_eq!((config.scheduler, config.tshift), (Scheduler::TsFifo, TimeDelta::from_millis(40)));
    assert_eq!((config.k, config.p_cmax), (1.5, Some(0.3)));
    assert!(matches!(config.limit, QueueLimit::Bytes(_)));
    assert_eq!(parse(&scenario.to_toml(), "q.toml").expect("reads back"), scenario);
}

#[test]
fn a_link_that_starts_dead_has_no_limit_in_time() {
    for rate in [
        "{ steps = [[\"0s\", \"0Mbps\"], [\"1s\", \"1Mbps\"]] }",
        "{ ramp = [[\"0s\", \"0Mbps\"], [\"1s\", \"1Mbps\"]] }",
    ] {
        let read = |queue: &str| {
            let text = format!(
                "duration = \"2s\"\n[links.l]\nrate = {rate}\nqueue = {queue}\n\
                 [flows.f]\ntransport = \"udp\"\nsource = {{ kind = \"cbr\" }}\npath = [\"l\"]\n"
            );
            parse(&text, "q.toml")
        };
        read("{ kind = \"pie\", packets = 9 }").expect("packets need no rate");
        for kind in QueueConfig::KINDS {
            let usual = QueueConfig::of(kind).expect("it is there").limit();
            match read(&format!("{{ kind = \"{kind}\" }}")) {
                Ok(_) => assert!(matches!(usual, QueueLimit::Packets(_) | QueueLimit::Bytes(_)), "{kind}"),
                Err(error) => {
                    let is_time =
                        error.expected.contains("the usual limit is a time at the first step's rate");
                    assert_eq!(is_time, matches!(usual, QueueLimit::Time(_)), "{kind}: {error}");
                }
            }
        }
    }
}

#[test]
fn what_no_discipline_can_be_is_named() {
    for (text, key, expected) in [
        ("{ kind = \"red\", min_th = 20 }", "max_th", "above min_th"),
        ("{ packets = 9, scale = -1 }", "scale", "from 0 to 1000"),
        (
            "{ packets = 9, scale = { steps = [[\"1s\", 1]] } }",
            "scale.steps[0][0]",
            "it begins where the run does",
        ),
        ("{ packets = { steps = [[\"0s\", 9]] } }", "packets", "a whole number"),
        ("{ kind = \"red\", min_th = 20, max_th = 10 }", "max_th", "above min_th"),
        ("{ kind = \"red\", max_p = 1.5 }", "max_p", "0 to 1"),
        ("{ kind = \"codel\", target = \"200ms\" }", "target", "below the interval"),
        ("{ kind = \"codel\", interval = \"0s\" }", "interval", "from 1ns"),
        ("{ kind = \"codel\", packets = 0 }", "packets", "1 or more"),
        ("{ kind = \"fq-codel\", flows = 0 }", "flows", "65536"),
        ("{ kind = \"pie\", mark_ecnth = 2 }", "mark_ecnth", "0 to 1"),
        ("{ kind = \"pie\", estimate = \"guess\" }", "estimate", "timestamp"),
        (
            "{ kind = \"pie\", accu_prob_high = 0.5 }",
            "accu_prob_high",
            "at least accu_prob_low, which is 0.85",
        ),
        ("{ kind = \"pie\", t_update = \"0s\" }", "t_update", "1us"),
        ("{ kind = \"fq-codel\", quantum = \"1B\" }", "quantum", "64B"),
        (
            "{ kind = \"fq-codel\", ecn = false, ce_threshold = \"1ms\" }",
            "ce_threshold",
            "no packet is marked",
        ),
        ("{ kind = \"dualpi2\", k = 0 }", "k", "a number from 0.001"),
        ("{ kind = \"dualpi2\", scheduler = \"fifo\" }", "scheduler", "\"ts-fifo\""),
        ("{ kind = \"dualpi2\", bytes = \"1kB\" }", "bytes", "for mtu"),
        ("{ kind = \"dualpi2\", quantum = \"1kB\" }", "quantum", "a key that `paceline list dualpi2` has"),
        (
            "{ kind = \"dualpi2\", min_th = 1 }",
            "min_th",
            "a key such as minth; `paceline list dualpi2` has all",
        ),
        ("{ kind = \"red\", ecn = 1 }", "ecn", "true or false"),
        ("{ kind = \"pie\", limit = \"1s\", packets = 3 }", "", "exactly one"),
    ] {
        let error = queue(text).expect_err(text);
        assert!(
            error.key == format!("links.l.queue.{key}") || error.key == "links.l.queue",
            "{text}: {error}"
        );
        assert!(error.line() == Some(4) && error.expected.contains(expected), "{text}: {error}");
    }
}

#[test]
fn the_reference_names_every_key_and_default() {
    let reference = include_str!("../../../../docs/reference-links.md");
    for config in QueueConfig::KINDS.iter().filter_map(|kind| QueueConfig::of(kind)) {
        let section = reference.split(&format!("`kind = \"{}\"", config.kind())).nth(1).unwrap_or_default();
        let section = section.split("`kind = ").next().unwrap_or_default();
        let shared = if config.kind() == "fq-codel" { reference } else { section };
        for key in config.specs() {
            assert!(shared.contains(&format!("`{}`", key.name)), "{}: {}", config.kind(), key.name);
            let Some(value) = config.value(key.name) else { continue };
            let text = crate::params::toml(&value).to_string();
            let text = text.trim();
            let text = text.strip_suffix(".0").unwrap_or(text);
            assert!(shared.contains(text), "{}: {} = {text}", config.kind(), key.name);
        }
    }
}
