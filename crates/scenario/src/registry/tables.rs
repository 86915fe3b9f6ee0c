//! Sources and traces, whose files and states are read by hand: their parameters as tables.

use self::Without::{Another, Is, Told, Wrong};
use super::{Entry, Listing, Need, Parameter, listed};
use paceline_link::trace::TraceFormat;
use paceline_transport::tcp::transfers::TransfersConfig;
use std::collections::BTreeMap;

/// What there is if a parameter is left out.
#[derive(Clone, Copy)]
enum Without {
    /// The parameter has this value.
    Is(&'static str),
    /// The parameter's help says what happens.
    Told,
    /// Another parameter, which excludes this one, is given.
    Another,
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
            Another => Need::OneOf,
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

const FPS: Line = ("fps", Is("50"), "number", ("0.001", "1000000"), "scream-5g-2022 IV", "Frames per second");

const TRACE_ENCODER: [Line; 8] = [
    ("file", Another, "file", ("", ""), "", "Frame sizes: bytes per line, or syncodecs lines"),
    (
        "format",
        Told,
        "sizes or syncodecs",
        ("", ""),
        "",
        "How the file is written; left out: the first line tells",
    ),
    (
        "generator",
        Another,
        "frames",
        ("", ""),
        "",
        "\"frames\": sizes drawn at random; needs no file; as a table also preset = \"trace-key\"",
    ),
    FPS,
    ("offset", Is("0s"), "time", ("0s", "1000000s"), "", "Where in the trace the run starts"),
    ("key_frame_scale", Is("1"), "ratio", ("0", "100"), "ours", "Size of a key frame on demand"),
    ("nominal_gain", Is("0.05"), "ratio", ("0", "1"), "scream-5g-2022 eq. 3", "Weight of the newest frame"),
    ("nominal_start", Told, "rate", ("", ""), "ours", "Where the trace's rate starts; left out: at its mean"),
];

const RFC8593: [Line; 17] = [
    (
        "model",
        Wrong,
        "statistical, trace or hybrid",
        ("", ""),
        "RFC 8593 5, 6, 7",
        "Which of the three; the rest says for which models it is, if not for all",
    ),
    ("fps", Is("30"), "number", ("0.001", "1000000"), "RFC 8593 figure 2", "FPS, frames per second"),
    (
        "r_min",
        Told,
        "rate",
        ("0bps", ""),
        "RFC 8593 5.4",
        "The target is never taken to be below; left out: 150kbps for statistical, else no limit",
    ),
    (
        "r_max",
        Told,
        "rate",
        ("1bps", ""),
        "RFC 8593 5.4",
        "The target is never taken to be above; left out: 1.5Mbps for statistical, else no limit",
    ),
    (
        "tau_v",
        Is("200ms"),
        "time",
        ("0s", "60s"),
        "RFC 8593 5.1",
        "Not trace: how long the encoder stays with a target",
    ),
    ("k_d", Is("8"), "count", ("1", "10000"), "RFC 8593 5.2", "Not trace: frames of a burst"),
    (
        "k_b",
        Is("13500B"),
        "size",
        ("1B", "4294967295B"),
        "RFC 8593 5.2",
        "Not trace: size of the burst's first frame",
    ),
    (
        "scale_t",
        Is("0.15"),
        "ratio",
        ("0", "1"),
        "RFC 8593 5.3",
        "Not trace: scale of the frame intervals' Laplace deviations",
    ),
    (
        "scale_b",
        Is("0.15"),
        "ratio",
        ("0", "1"),
        "RFC 8593 5.3",
        "Statistical: scale of the frame sizes' Laplace deviations",
    ),
    (
        "transient_change",
        Is("0.1"),
        "ratio",
        ("0", "100"),
        "RFC 8593 7",
        "Not trace: a larger change of the target makes a burst",
    ),
    (
        "seed",
        Told,
        "count",
        ("0", ""),
        "",
        "Not trace: seed of the deviations; left out: the run's, by the stream's name",
    ),
    (
        "ladder",
        Another,
        "list of { rate, file, format }",
        ("", ""),
        "RFC 8593 6.1",
        "Not statistical, which needs neither: frame sizes at each rate, the lowest first",
    ),
    (
        "generator",
        Another,
        "frames",
        ("", ""),
        "ours",
        "Not statistical, which needs neither: \"frames\", sizes drawn at random for each rate; needs no file",
    ),
    (
        "rates",
        Told,
        "list of rates",
        ("", ""),
        "ours",
        "With generator: its rates; left out: 200, 400, 600, 800, 1000, 1200 and 1500 kbps",
    ),
    (
        "skip_frames",
        Is("20"),
        "count",
        ("0", ""),
        "RFC 8593 6.2.1",
        "Not statistical: first frames that are played once; 0: all are played again",
    ),
    (
        "fs_min",
        Is("10B"),
        "size",
        ("1B", "4294967295B"),
        "RFC 8593 6.2.1",
        "Not statistical: smallest frame of the ladder",
    ),
    (
        "fs_max",
        Is("1MB"),
        "size",
        ("1B", "4294967295B"),
        "RFC 8593 6.2.1",
        "Not statistical: largest frame of the ladder",
    ),
];

/// The sources of media.
pub fn sources() -> Listing {
    vec![
        entry(
            "trace-encoder",
            "An encoder whose frame sizes follow a trace, scaled to the target. Exactly one of file, generator",
            &TRACE_ENCODER,
        ),
        entry(
            "rfc8593",
            "The video models of RFC 8593: statistical, trace-driven (ladder) and hybrid. For the last two exactly one of \
             ladder, generator",
            &RFC8593,
        ),
        entry(
            "cbr",
            "Frames of one size at one rate",
            &[
                ("rate", Is("1Mbps"), "rate", ("1bps", ""), "RFC 8867", "Payload rate"),
                FPS,
                ("adaptive", Is("false"), "flag", ("", ""), "ours", "Whether the rate follows the target"),
            ],
        ),
        entry(
            "bulk",
            "A file, sent as fast as the controller allows",
            &[(
                "length",
                Told,
                "size",
                ("1B", ""),
                "RFC 8867",
                "Payload of the file; left out: it never ends",
            )],
        ),
        listed(
            "short-transfers",
            "Bursts of files fetched in parallel, each over a TCP connection of its own, and idle times",
            &TransfersConfig::default(),
        ),
    ]
}
