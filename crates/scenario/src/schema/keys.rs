//! The keys of a scenario's tables: those that are declared with their fields in `spec`, and those that have no field of their own.
//!
//! The values of the latter are checked where they are read; their names, the keys that they exclude, and their listing follow from here.

use super::{CopyKeys, OlderKeys};
use crate::spec::{FlowSpec, LinkSpec, Scenario, StreamSpec};
use crate::transports::Transport;
use paceline_units::param::{Kind, Need, Spec, joined};

/// A key that may be left out: its name, what it holds, what happens without it, what it does.
pub(crate) const fn key(
    name: &'static str,
    unit: &'static str,
    without: &'static str,
    help: &'static str,
) -> Spec {
    Spec::by_hand(name, unit, without, help)
}

/// A key that must be given.
const fn required(name: &'static str, unit: &'static str, help: &'static str) -> Spec {
    Spec { need: Need::Required, ..Spec::by_hand(name, unit, "", help) }
}

/// A key of which exactly one must be given.
const fn one_of(
    name: &'static str,
    unit: &'static str,
    excludes: &'static [&'static str],
    help: &'static str,
) -> Spec {
    Spec { need: Need::OneOf, excludes, ..Spec::by_hand(name, unit, "", help) }
}

/// The names of these keys.
pub(super) fn names(keys: &[Spec]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// The keys of these sets, one set behind the other.
macro_rules! keys {
    ($($set:expr),+) => { &joined::<{ 0 $( + $set.len() )+ }>(&[$( ($set, "") ),+]) };
}

/// The keys at the top of a scenario.
pub(crate) const SCENARIO: &[Spec] = keys!(Scenario::SPECS, TABLES);

const TABLES: &[Spec] = &[
    key("links", "tables", "no link", "The links by name"),
    required("flows", "tables", "The flows by name, at least one"),
    key("coupling", "tables", "no flow shares", "Which flows share their rates, and how"),
];

/// The keys of `[links.NAME]`.
pub(crate) const LINK: &[Spec] = keys!(NETWORK, LinkSpec::SPECS);

const NETWORK: &[Spec] = &[key(
    "network",
    "name",
    "no network",
    "A named network ([networks](networks.md)), whose keys the others here override, each as a whole",
)];

/// The keys that say which `rate` a table is.
pub(crate) const RATE: &[Spec] = &[
    one_of(
        "steps",
        "list of [time, rate]",
        &["ramp", "trace", "generator"],
        "Rates, each of which holds from its time on",
    ),
    one_of(
        "ramp",
        "list of [time, rate]",
        &["steps", "trace", "generator"],
        "Rates, between which it changes evenly",
    ),
    one_of("trace", "file", &["steps", "ramp", "generator"], "A recording"),
    one_of("generator", "name", &["steps", "ramp", "trace"], "Draws a rate at random"),
];

/// The keys of `[flows.NAME]` that are read together: they say which streams it has, over which transport, under which controller.
const FLOW_HEAD: &[Spec] = &[
    Spec {
        kind: Kind::Name(Transport::NAMES),
        ..key(
            "transport",
            "",
            "the controller's usual one",
            "The protocol; udp: datagrams without a header of their own",
        )
    },
    key(
        "controller",
        "name or table",
        "over rtp tempo, over udp none; else it must be said",
        "`\"scream\"`, or `{ kind, profile, NAME = value }`: see below",
    ),
    one_of(
        "source",
        "table with kind",
        &["streams"],
        "Where the media comes from ([sources](reference-sources.md)); or several in `[flows.NAME.streams.STREAM]`",
    ),
    one_of("streams", "tables", &["source"], "Several streams by name: see below"),
    key(
        "bitrate",
        "table",
        "the controller's",
        "Limits of the media's target, headers in, whatever the controller calls it: `{ min = \"50kbps\", start = \"300kbps\", \
         max = \"5Mbps\" }`, each or some; for each stream that says nothing else. Over `rtp` and controlled `udp`",
    ),
];

/// The keys of `[flows.NAME]` behind those of its transport.
const FLOW_TAIL: &[Spec] = &[key(
    "record",
    "true or list of names",
    "none",
    "Inner states that become columns `state.NAME` of the time series; `true`: all",
)];

/// The keys of `[flows.NAME]`.
pub(crate) const FLOW: &[Spec] =
    keys!(FLOW_HEAD, FlowSpec::SPECS, CopyKeys::SPECS, Transport::KEYS, FLOW_TAIL);

/// The keys of `[flows.NAME.streams.STREAM]`.
pub(crate) const STREAM: &[Spec] = keys!(StreamSpec::SPECS, OlderKeys::SPECS);

/// The keys of `[coupling.NAME]`, beside the parameters of its kind.
pub(crate) const COUPLING: &[Spec] = &[
    required("kind", "name", "How the flows share: see below"),
    key("profile", "name", "the first", "A named set of the kind's parameters, which further keys override"),
    one_of(
        "flows",
        "list of names",
        &["groups"],
        "Flows that are one group; a flow with `count` stands for all its copies, `\"*\"` for every flow",
    ),
    one_of("groups", "list of lists of names", &["flows"], "Several groups"),
    key(
        "detection",
        "table",
        "the groups are as said",
        "Flows share while their delays say that they share a bottleneck: see below. Then there is one group of those that may, \
         and `leaving` is `\"subtract\"` unless it is said: who moves takes its rate along",
    ),
    key(
        "truth",
        "list",
        "unknown",
        "Which flows share a bottleneck in truth, for the figures by which detection is judged: steps of a time and groups, \
         `[[\"0s\", [[\"a\", \"b\"]]], [\"60s\", []]]`. Flows in no group share with nobody. It changes nothing else of a run",
    ),
];
