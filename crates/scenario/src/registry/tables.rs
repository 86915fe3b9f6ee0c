//! Traces, whose files and states are read by hand: their parameters as tables.

use self::Without::{Is, Told, Wrong};
use super::{Entry, Listing, Need, Parameter};
use paceline_link::trace::TraceFormat;
use std::collections::BTreeMap;

/// What there is if a parameter is left out.
#[derive(Clone, Copy)]
enum Without {
    /// The parameter has this value.
    Is(&'static str),
    /// The parameter's help says what happens.
    Told,
    /// The scenario is refused.
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
            Wrong => Need::Required,
        },
        default: if let Is(default) = without { Some(default.to_string()) } else { None },
        profiles: BTreeMap::new(),
        unit: unit.into(),
        min: some(min),
        max: some(max),
        source,
        help: help.into(),
    });
    Entry { kind, help, profiles: Vec::new(), parameters: parameters.collect() }
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
            Told,
            "lumos5g-walking or lumos5g-driving",
            ("", ""),
            "docs/generators.md",
            "States fitted to recordings, with an interval of 1 s; excludes los, blocked, outage_ratio and rate_max; left out: los and \
             blocked",
        ),
        (
            "states",
            Told,
            "list of { name, rates, correlation, dwell, dwell_shape, next }",
            ("", ""),
            "docs/generators.md",
            "States of one's own, such as `paceline fit` prints, with an interval of 1 s; excludes the same; left out: los and \
             blocked",
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
