//! What `paceline list` prints, as data.

use self::Without::{Another, Is, Told, Wrong};
use crate::schema::LimitKeys;
use crate::spec::DccpSpec;
use paceline_cc::ControllerParams;
use paceline_link::trace::TraceFormat;
use paceline_link::{LossConfig, MarkConfig, NoiseConfig, QueueConfig, QueueLimit};
use paceline_media::PlayoutConfig;
use paceline_transport::rtp::FeedbackConfig;
use paceline_transport::tcp::TcpConfig;
use paceline_transport::tcp::transfers::TransfersConfig;
use paceline_units::param::{self, Kinds, ParamSet, Spec};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One kind of thing that a scenario can name.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Entry {
    /// Name of the kind in scenarios.
    pub kind: &'static str,
    /// Help in one line.
    pub help: &'static str,
    /// Profiles with their help, the default first; empty if the kind has none.
    pub profiles: Vec<Profile>,
    /// Parameters of the kind.
    pub parameters: Vec<Parameter>,
}

/// A named set of parameters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Profile {
    /// Name, as scenarios write it.
    pub name: &'static str,
    /// Help in one line.
    pub help: &'static str,
}

/// A parameter, with everything a person wants to know of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Parameter {
    /// Name, as scenarios write it.
    pub name: &'static str,
    /// Whether it must be given.
    pub need: Need,
    /// Default value; absent if there is none.
    pub default: Option<String>,
    /// The values that differ from the default, by profile.
    pub profiles: BTreeMap<&'static str, String>,
    /// What it is measured in: time, rate, size, ratio, count, flag, or the names there are.
    pub unit: Cow<'static, str>,
    /// The smallest value; absent where nothing limits it.
    pub min: Option<String>,
    /// The largest value; absent where nothing limits it.
    pub max: Option<String>,
    /// RFC section, paper equation, or where else it comes from.
    pub source: &'static str,
    /// Help in one line.
    pub help: Cow<'static, str>,
}

/// Whether a parameter must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// The parameter must be given.
    Required,
    /// The parameter may be left out: it has a default, or its help says what happens then.
    Optional,
    /// Exactly one of the parameters that say so must be given.
    OneOf,
}

/// A list of what there is.
pub type Listing = Vec<Entry>;

/// A parameter of a set, with the value that it has there.
fn parameter(params: &impl ParamSet, spec: &Spec) -> Parameter {
    let (min, max) = spec.bounds();
    let is_told = !spec.without.is_empty();
    Parameter {
        name: spec.name,
        need: match spec.need {
            param::Need::Required => Need::Required,
            param::Need::OneOf => Need::OneOf,
            param::Need::Optional => Need::Optional,
        },
        default: params
            .value(spec.name)
            .map(|value| value.to_string())
            .filter(|_| spec.need == param::Need::Optional && !is_told),
        profiles: BTreeMap::new(),
        unit: spec.kind.unit(),
        min,
        max,
        source: spec.source,
        help: if is_told {
            format!("{}; left out: {}", spec.help, spec.without).into()
        } else {
            spec.help.into()
        },
    }
}

/// A set of parameters under a name.
fn listed(kind: &'static str, help: &'static str, params: &impl ParamSet) -> Entry {
    let parameters = params.specs().iter().map(|spec| parameter(params, spec)).collect();
    Entry { kind, help: help.trim_end_matches('.'), profiles: Vec::new(), parameters }
}

/// Everything of a family.
fn family<K: Kinds>() -> Listing {
    let all = K::KINDS.iter().filter_map(|kind| K::of(kind));
    all.map(|usual| listed(usual.kind(), usual.help(), &usual)).collect()
}

/// The controllers with their profiles and parameters.
pub fn controllers() -> Listing {
    ControllerParams::KINDS
        .iter()
        .filter_map(|kind| ControllerParams::of(kind))
        .map(|usual| controller(&usual))
        .collect()
}

fn controller(usual: &ControllerParams) -> Entry {
    let profiles = usual.profiles();
    let others = profiles
        .iter()
        .skip(1)
        .filter_map(|(name, _)| ControllerParams::with_profile(usual.kind(), Some(name)));
    let mut entry = listed(usual.kind(), usual.help(), usual);
    for (params, profile) in others {
        for shown in &mut entry.parameters {
            let value = params.value(shown.name).map(|value| value.to_string());
            if let Some(value) = value.filter(|value| Some(value) != shown.default.as_ref()) {
                shown.profiles.insert(profile, value);
            }
        }
    }
    entry.profiles = profiles.into_iter().map(|(name, help)| Profile { name, help }).collect();
    entry
}

/// The ECN marks of links.
pub fn marks() -> Listing {
    family::<MarkConfig>()
}

/// The loss models of links.
pub fn losses() -> Listing {
    family::<LossConfig>()
}

/// The delay noises of links.
pub fn noises() -> Listing {
    family::<NoiseConfig>()
}

/// When frames are displayed.
pub fn playouts() -> Listing {
    family::<PlayoutConfig>()
}

/// What connections and reports do: the tables `tcp`, `dccp` and `feedback` of a flow.
pub fn transports() -> Listing {
    let window = Spec::by_hand(
        "max_window",
        "packets or a size",
        "1 GiB",
        "The receiver's window: packets, or a size on the link",
    );
    let mut tcp = listed("tcp", "A TCP connection", &TcpConfig::default());
    tcp.parameters.push(parameter(&TcpConfig::default(), &window));
    vec![
        tcp,
        listed("dccp", "A DCCP connection", &DccpSpec::default()),
        listed("feedback", "Reports over RTP and controlled datagrams", &FeedbackConfig::default()),
    ]
}

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

/// The queue disciplines.
pub fn queues() -> Listing {
    QueueConfig::KINDS.iter().filter_map(|kind| QueueConfig::of(kind)).map(|usual| queue(&usual)).collect()
}

/// A discipline with the keys of its limit before its own.
fn queue(usual: &QueueConfig) -> Entry {
    let mut entry = listed(usual.kind(), usual.help(), usual);
    let mut keys = LimitKeys::default();
    let (need, expected) = match usual.limit() {
        QueueLimit::Unlimited => (Need::OneOf, "exactly one of limit, packets and bytes"),
        QueueLimit::Time(span) => {
            keys.limit = Some(span);
            (Need::Optional, "at most one of limit, packets and bytes")
        }
        QueueLimit::Packets(packets) => {
            keys.packets = Some(packets);
            (Need::Optional, "at most one of limit, packets and bytes")
        }
        QueueLimit::Bytes(bytes) => {
            keys.bytes = Some(bytes);
            (Need::Optional, "at most one of limit, packets and bytes")
        }
    };
    let limits = LimitKeys::SPECS.iter().map(|spec| {
        let shown = parameter(&keys, spec);
        let without = if need == Need::Optional && shown.default.is_none() {
            "; left out: the one that has a default"
        } else {
            ""
        };
        let help = format!("{}; {expected}{without}", shown.help).into();
        Parameter { need, help, ..shown }
    });
    entry.parameters.splice(0..0, limits);
    entry
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_says_what_it_is_and_json_can_carry_it() {
        for listing in [
            controllers(),
            queues(),
            marks(),
            losses(),
            noises(),
            playouts(),
            transports(),
            sources(),
            traces(),
        ] {
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
        for parameter in
            [queues(), marks(), losses(), noises(), playouts(), transports(), sources(), traces()]
                .concat()
                .iter()
                .flat_map(|entry| &entry.parameters)
        {
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
