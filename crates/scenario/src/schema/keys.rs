//! The keys of the tables that are read by hand: the scenario, a link and its rate, a flow, a stream.
//!
//! Their values are checked where they are read; their names, the keys that they exclude, and their listing follow from here.

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

/// The keys at the top of a scenario.
pub(crate) const SCENARIO: &[Spec] = &[
    key("name", "text", "the file's stem", "Name of the run"),
    required("duration", "time", "How long is simulated; above 0, at most 1e6 s"),
    key("warmup", "time", "0s", "Left out of every statistic; below `duration`"),
    key("seed", "count", "1", "Of all random draws; 0 to 2^63 - 1, what TOML holds"),
    key(
        "sample",
        "time",
        "50ms",
        "Interval of the time series. A row is one link or stream at one sample; an interval that makes more than 10 million \
         rows is refused, and the message names one that does not",
    ),
    key("links", "tables", "no link", "The links by name"),
    required("flows", "tables", "The flows by name, at least one"),
    key("coupling", "tables", "no flow shares", "Which flows share their rates, and how"),
];

/// The keys of `[links.NAME]`.
pub(crate) const LINK: &[Spec] = &[
    key(
        "from",
        "name",
        "it fits everywhere",
        "The node where the link begins. A path over links with nodes must join, and pass each node once",
    ),
    key("to", "name", "it fits everywhere", "The node where the link ends"),
    key(
        "network",
        "name",
        "no network",
        "A named network ([networks](networks.md)), whose keys the others here override, each as a whole",
    ),
    required("rate", "rate or table", "How fast the link serves: see below; a network has one"),
    key("delay", "time", "0s", "Propagation, one way"),
    required(
        "queue",
        "table",
        "`{ limit = \"300ms\" }`, `{ packets = 100 }` or `{ bytes = \"150kB\" }`, exactly one of them and above 0. It limits what \
         waits; the packet in service does not count. A time is turned into bytes once, at the constant rate, the first step's, \
         or the trace's mean. A `kind` that manages its queue has a limit of its own: see [queues](queues.md)",
    ),
    key("mark", "table with kind", "no marks", "ECN marks: see below"),
    key("loss", "table with kind", "no loss", "Loss before the queue: see below"),
    key(
        "noise",
        "table with kind, or list",
        "no noise",
        "Delay noise, or a list of noises that a packet passes in turn: see below",
    ),
    key(
        "down",
        "list of [from, to]",
        "it never fails",
        "Failures: `[[\"30s\", \"31s\"]]`. Nothing is served meanwhile; the queue keeps its packets and takes what fits",
    ),
    key("overhead", "size", "0B", "Added to each packet's size here, such as `\"28B\"` for IPv4 and UDP"),
];

/// The keys that say which `rate` a table is.
pub(crate) const RATE: &[Spec] = &[
    one_of(
        "steps",
        "list of [time, rate]",
        &["trace", "generator"],
        "Rates, each of which holds from its time on",
    ),
    one_of("trace", "file", &["steps", "generator"], "A recording"),
    one_of("generator", "name", &["steps", "trace"], "Draws a rate at random"),
];

/// The keys of `[flows.NAME]` before those of its transport.
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
        "over udp none; else it must be said",
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
    key(
        "priority",
        "ratio or list of [time, ratio]",
        "1",
        "Weight among the flows that it shares with (`[coupling.NAME]`), 0.001 to 1000; or steps: `[[\"0s\", 1], [\"100s\", 0.5]]`",
    ),
    key(
        "ecn",
        "off, classic or l4s",
        "off; under prague l4s",
        "The ECN field that packets leave with: `\"classic\"` is ECT(0), `\"l4s\"` ECT(1). With a controller that ignores marks it is `\"off\"`",
    ),
    required("path", "list of names", "The links from sender to receiver, 1 to 64"),
    key(
        "return_path",
        "list of names",
        "unlimited and lossless, with `return_delay`",
        "The links back, at most 64",
    ),
    key("return_delay", "time", "the sum of the forward delays", "Delay of an empty return path"),
    key("count", "count", "1", "Number of flows like this one, called `NAME-1` and so on, at most 10,000"),
    key("start", "time", "0s", "When the flow begins; its samples before have no target and no state"),
    key(
        "start_within",
        "time",
        "0s",
        "Each starts at a time of its own, drawn evenly from `start` to so much later",
    ),
    key(
        "stop",
        "time",
        "at the end of the run",
        "When the flow ends; its samples after have no target and no state",
    ),
    key(
        "pause",
        "list of [from, to]",
        "it never pauses",
        "`[[\"30s\", \"40s\"]]`: the application is silent meanwhile; what waits to be sent still leaves. In order, between `start` \
         and `stop`",
    ),
];

/// The keys of `[flows.NAME]` behind those of its transport.
const FLOW_TAIL: &[Spec] = &[
    key(
        "packet_size",
        "size",
        "the controller's `mss` and the header, else 1212 B over rtp and 1500 B over others",
        "The largest packet, transport header in. Given, it sets `mss`",
    ),
    key("overhead", "size", "0B", "Added to each packet's size on every link"),
    key("playout", "table with kind", "as soon as it is complete", "When a frame is shown: see below"),
    key(
        "record",
        "true or list of names",
        "none",
        "Inner states that become columns `state.NAME` of the time series; `true`: all",
    ),
];

/// The keys of `[flows.NAME]`.
pub(crate) const FLOW: &[Spec] = &joined::<{ FLOW_HEAD.len() + Transport::KEYS.len() + FLOW_TAIL.len() }>(&[
    (FLOW_HEAD, ""),
    (Transport::KEYS, ""),
    (FLOW_TAIL, ""),
]);

/// The keys of `[flows.NAME.streams.STREAM]`.
pub(crate) const STREAM: &[Spec] = &[
    required("source", "table with kind", "Where the media comes from"),
    key("priority", "ratio", "1", "Share beside other streams, 0.001 to 1000"),
    key("bitrate", "table", "the flow's", "Limits of its target, as `bitrate` of the flow"),
    key("target_bitrate_min", "rate", "the flow's", "Older name of `bitrate.min`"),
    key("target_bitrate_start", "rate", "the flow's", "Older name of `bitrate.start`"),
    key("target_bitrate_max", "rate", "the flow's", "Older name of `bitrate.max`"),
    key(
        "start",
        "time",
        "with the flow",
        "When the stream joins the flow; its samples before have no target",
    ),
    key(
        "stop",
        "time",
        "with the flow",
        "When the stream leaves the flow: what waits of it is discarded, what is under way is still reported on",
    ),
];

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
