//! What `paceline list` prints, as data.

mod sources;

pub use self::sources::sources;

use self::Without::{Another, Is, Told, Wrong};
use super::{ControllerParams, controller_kinds};
use crate::parameter;
use crate::schema::queue;
use paceline_cc::params::ParamSet;
use paceline_link::trace::TraceFormat;
use paceline_link::{QueueConfig, QueueLimit, QueueValue};
use serde::Serialize;
use std::collections::BTreeMap;

/// One kind of thing that a scenario can name.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Entry {
    /// Its name in scenarios.
    pub kind: &'static str,
    /// What it is, in a line.
    pub help: &'static str,
    /// Its profiles and what they are, the default first; none where there are no profiles.
    pub profiles: Vec<Profile>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// A named set of parameters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub help: &'static str,
}

/// A parameter, with everything a person wants to know of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be given.
    pub need: Need,
    /// Its default; absent if there is none.
    pub default: Option<String>,
    /// The values that differ from the default, by profile.
    pub profiles: BTreeMap<&'static str, String>,
    /// What it is measured in: time, rate, size, ratio, count, flag, or the names there are.
    pub unit: &'static str,
    /// The smallest value; absent where nothing limits it.
    pub min: Option<String>,
    /// The largest value; absent where nothing limits it.
    pub max: Option<String>,
    /// RFC section, paper equation, or where else it comes from.
    pub source: &'static str,
    /// What it does, in a line.
    pub help: &'static str,
}

/// Whether a parameter must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// It must.
    Required,
    /// It may be left out: it has a default, or its help says what happens then.
    Optional,
    /// Exactly one of those that say so must be given.
    OneOf,
}

/// A list of what there is.
pub type Listing = Vec<Entry>;

/// The controllers with their profiles and parameters.
pub fn controllers() -> Listing {
    controller_kinds()
        .into_iter()
        .filter_map(|kind| ControllerParams::new(kind, None))
        .map(controller)
        .collect()
}

fn controller((default, _): (ControllerParams, &'static str)) -> Entry {
    let kind = default.kind();
    let others: Vec<_> = default
        .profiles()
        .iter()
        .skip(1)
        .filter_map(|(name, _)| ControllerParams::new(kind, Some(name)))
        .collect();
    let shown = |params: &ControllerParams, name: &str| params.value(name).map(parameter::text);
    let parameters = default.specs().iter().map(|spec| {
        let value = shown(&default, spec.name);
        let (min, max) = parameter::range(spec);
        let differing = others.iter().filter_map(|(params, profile)| {
            let other = shown(params, spec.name);
            (other != value).then_some((*profile, other?))
        });
        Parameter {
            name: spec.name,
            need: Need::Optional,
            profiles: differing.collect(),
            default: value,
            unit: parameter::unit(spec.kind),
            min: Some(min),
            max,
            source: spec.source,
            help: spec.help,
        }
    });
    Entry {
        kind,
        help: default.help(),
        profiles: default.profiles().iter().map(|&(name, help)| Profile { name, help }).collect(),
        parameters: parameters.collect(),
    }
}

/// What there is if a parameter is left out.
#[derive(Clone, Copy)]
enum Without {
    /// This value.
    Is(&'static str),
    /// What its help says.
    Told,
    /// Another of those that exclude it.
    Another,
    /// An error.
    Wrong,
}

/// A line of the tables below: name, what there is without it, unit, range, source, help.
type Line = (&'static str, Without, &'static str, (&'static str, &'static str), &'static str, &'static str);

fn entry(kind: &'static str, help: &'static str, lines: &[Line]) -> Entry {
    let some = |text: &'static str| (!text.is_empty()).then(|| text.to_string());
    let parameters = lines.iter().map(|&(name, without, unit, (min, max), source, help)| Parameter {
        name,
        need: match without {
            Is(_) | Told => Need::Optional,
            Another => Need::OneOf,
            Wrong => Need::Required,
        },
        default: if let Is(default) = without { Some(default.to_string()) } else { None },
        profiles: BTreeMap::new(),
        unit,
        min: some(min),
        max: some(max),
        source,
        help,
    });
    Entry { kind, help, profiles: Vec::new(), parameters: parameters.collect() }
}

/// The queue disciplines.
pub fn queues() -> Listing {
    let droptail = entry(
        "droptail",
        "First in, first out; what does not fit is dropped. Exactly one of limit, packets, bytes; the packet in \
         service does not count",
        &[
            (
                "limit",
                Another,
                "time",
                ("1ns", "1000000s"),
                "",
                "Turned into bytes once, at the nominal rate",
            ),
            ("packets", Another, "count", ("1", ""), "", "Packets that may wait"),
            ("bytes", Another, "size", ("1B", ""), "", "Bytes that may wait, headers in"),
        ],
    );
    let managed = QueueConfig::KINDS.iter().skip(1).filter_map(|kind| QueueConfig::of(kind)).map(managed);
    std::iter::once(droptail).chain(managed).collect()
}

/// A discipline with keys of its own, beside the limit that all have.
fn managed(default: QueueConfig) -> Entry {
    const HELP: &str = "How much may wait; at most one of limit, packets, bytes";
    let usual = match default.limit() {
        QueueLimit::Time(span) => [Some(QueueValue::Time(span)), None, None],
        QueueLimit::Packets(packets) => [None, Some(QueueValue::Count(packets)), None],
        QueueLimit::Bytes(bytes) => [None, None, Some(QueueValue::Size(bytes))],
        QueueLimit::Unlimited => [None, None, None],
    };
    let names = [("limit", "time", "1ns"), ("packets", "count", "1"), ("bytes", "size", "1B")];
    let limits = names.into_iter().zip(usual).map(|((name, unit, min), usual)| Parameter {
        name,
        need: Need::Optional,
        default: usual.map(queue::text),
        profiles: BTreeMap::new(),
        unit,
        min: Some(min.into()),
        max: None,
        source: "",
        help: if usual.is_some() {
            HELP
        } else {
            "How much may wait; at most one of limit, packets, bytes; left out: the one that has a default"
        },
    });
    let own = default.keys().iter().map(|key| {
        let (min, max) = queue::range(key);
        let default = default.value(key.name).map(queue::text);
        let unit = queue::unit(key);
        let (need, profiles) = (Need::Optional, BTreeMap::new());
        Parameter {
            name: key.name,
            need,
            default,
            profiles,
            unit,
            min,
            max,
            source: key.source,
            help: key.help,
        }
    });
    let parameters = limits.chain(own).collect();
    Entry { kind: default.kind(), help: default.help(), profiles: Vec::new(), parameters }
}

const PLAYED: [Line; 3] = [
    ("offset", Is("0s"), "time", ("0s", "1000000s"), "", "Where in the trace the run starts"),
    ("scale", Is("1"), "ratio", ("above 0", "1e9"), "", "Every rate is multiplied by this"),
    ("repeat", Is("false"), "flag", ("", ""), "", "Start over at the end; else the last value holds"),
];
const INTERVAL: Line = ("interval", Wrong, "time", ("1ns", "1000000s"), "", "Time between values");
const LAST: Line = (
    "interval",
    Told,
    "time",
    ("1ns", "1000000s"),
    "",
    "How long the last value holds; left out: the usual time between values",
);
const COLUMN: Line = (
    "column",
    Told,
    "heading or number",
    ("", ""),
    "",
    "Where the rate is; numbers count from 0; left out: the usual place",
);
const TIME_COLUMN: Line = (
    "time_column",
    Told,
    "heading or number",
    ("", ""),
    "",
    "Where the time or hold is; left out: the usual place",
);
const OPPORTUNITY: Line = ("opportunity", Is("1500B"), "size", ("1B", "65535B"), "", "Bytes of each line");

/// The formats of rate traces, and the generator of rates.
pub fn traces() -> Listing {
    let format = |(kind, format): (&'static str, TraceFormat)| {
        let (help, mut lines) = match format {
            TraceFormat::Mbps => ("A rate in Mbit/s per line, each for `interval`", vec![INTERVAL, COLUMN]),
            TraceFormat::TimeMbps => (
                "Seconds and Mbit/s per line: a rate holds until the next time, the last for `interval`",
                vec![LAST, COLUMN, TIME_COLUMN],
            ),
            TraceFormat::MbpsHold => ("Mbit/s and the seconds it holds per line", vec![COLUMN, TIME_COLUMN]),
            TraceFormat::Mahimahi => {
                ("Milliseconds at which a packet may leave, one per line", vec![OPPORTUNITY])
            }
            TraceFormat::JsonGhent => ("A JSON list of objects with duration_ms and bandwidth_kbps", vec![]),
        };
        lines.extend(PLAYED);
        entry(kind, help, &lines)
    };
    let mut listing: Listing = TraceFormat::ALL.into_iter().map(format).collect();
    listing.push(mmwave());
    listing
}

fn mmwave() -> Entry {
    const STATE: &str = "{ mean, std, shape, correlation, dwell }";
    let mut lines = vec![
        ("length", Told, "time", ("", ""), "", "How long the trace is; left out: as long as the scenario"),
        ("seed", Told, "count", ("0", ""), "", "Seed of the draws; left out: the run's, by the link's name"),
        (
            "preset",
            Another,
            "lumos5g-walking or lumos5g-driving",
            ("", ""),
            "docs/generators.md",
            "States fitted to recordings, with an interval of 1 s; excludes los, blocked, outage_ratio and rate_max",
        ),
        (
            "states",
            Another,
            "list of { name, rates, correlation, dwell, dwell_shape, next }",
            ("", ""),
            "docs/generators.md",
            "States of one's own, such as `paceline fit` prints, with an interval of 1 s; excludes the same",
        ),
        (
            "ramps",
            Told,
            "flag",
            ("", ""),
            "docs/generators.md",
            "With preset or states: a stay begins and ends towards the states before and after it; left out: true for \
             a preset, else false",
        ),
        (
            "los",
            Told,
            STATE,
            ("", ""),
            "",
            "In line of sight; left out: 1.2 Gbps, 300 Mbps, normal, 1 s, 8 s",
        ),
        ("blocked", Told, STATE, ("", ""), "", "Blocked; left out: 80 Mbps, 60 Mbps, lognormal, 0.5 s, 3 s"),
        (
            "outage_ratio",
            Is("0.1"),
            "ratio",
            ("0", "1"),
            "",
            "Part of the blockages in which nothing is served",
        ),
        ("rate_max", Is("1860Mbps"), "rate", ("1kbps", ""), "Lumos5G", "No rate is above this"),
        (
            "interval",
            Is("100ms"),
            "time",
            ("1ms", ""),
            "",
            "Time between two values; of preset and states 1s",
        ),
    ];
    lines.extend(&PLAYED[1..]);
    entry(
        "mmwave",
        "Generator (rate = { generator = \"mmwave\" }): line of sight and blockage in turns, or preset, or states",
        &lines,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_says_what_it_is_and_json_can_carry_it() {
        for listing in [controllers(), queues(), sources(), traces()] {
            assert!(!listing.is_empty());
            for parameter in listing.iter().flat_map(|entry| &entry.parameters) {
                assert!(!parameter.help.is_empty() && !parameter.unit.is_empty(), "{}", parameter.name);
            }
            assert!(serde_json::to_string(&listing).is_ok());
        }
    }

    #[test]
    fn what_may_be_left_out_says_what_happens_then() {
        let need = |listing: Listing, kind: &str, name: &str| {
            let entry = listing.into_iter().find(|entry| entry.kind == kind).expect(kind);
            entry.parameters.into_iter().find(|parameter| parameter.name == name).expect(name).need
        };
        assert_eq!(need(traces(), "mbps", "interval"), Need::Required);
        assert_eq!(need(traces(), "time-mbps", "interval"), Need::Optional);
        assert_eq!(need(traces(), "mbps-hold", "time_column"), Need::Optional);
        assert_eq!(need(traces(), "mmwave", "seed"), Need::Optional);
        assert_eq!(need(queues(), "droptail", "packets"), Need::OneOf);
        assert_eq!(need(sources(), "trace-encoder", "generator"), Need::OneOf);
        assert_eq!(need(sources(), "bulk", "length"), Need::Optional);
        for parameter in [queues(), sources(), traces()].concat().iter().flat_map(|entry| &entry.parameters) {
            let is_told = parameter.default.is_some() || parameter.help.contains("left out: ");
            assert_eq!(is_told, parameter.need == Need::Optional, "{}", parameter.name);
        }
    }

    #[test]
    fn profiles_show_where_they_differ() {
        let listing = controllers();
        let scream = listing.iter().find(|entry| entry.kind == "scream").expect("is there");
        assert_eq!(scream.profiles[0].name, "rfc8298");
        let lo = scream
            .parameters
            .iter()
            .find(|parameter| parameter.name == "qdelay_target_lo")
            .expect("is there");
        assert_eq!(lo.default.as_deref(), Some("100ms"));
        assert_eq!(lo.profiles.get("reference-2022").map(String::as_str), Some("60ms"));
        assert_eq!((lo.min.as_deref(), lo.max.as_deref()), (Some("1ms"), Some("10s")));
        assert_eq!(traces().len(), 6);
    }
}
