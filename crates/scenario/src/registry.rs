//! The listing of `paceline list`, as data.

use crate::networks::{Given, NETWORKS, Network};
use crate::rate::{MmwaveSpec, TraceSpec};
use crate::schema::{BitrateKeys, CopyKeys, LimitKeys, keys};
use crate::source::{FrameGenerator, SourceSpec, VectorGenerator};
use crate::spec::{FlowSpec, LinkSpec, Scenario, StreamSpec};
use crate::transports::Transport;
use paceline_cc::shared_bottleneck;
use paceline_cc::{ControllerParams, CouplingParams};
use paceline_link::trace::{TraceFormat, TraceOptions};
use paceline_link::{
    DelayChanges, DuplicateConfig, LossConfig, MarkConfig, NoiseConfig, PolicerConfig, QueueConfig,
    QueueLimit, ShaperConfig,
};
use paceline_media::PlayoutConfig;
use paceline_units::param::{self, Kinds, ParamSet, ProfileHelp, ProfiledKinds, Profiles, Spec, Value};
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
    /// Its unit: time, rate, size, ratio, count, flag, or the names there are.
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
    shown(spec, params.value(spec.name))
}

/// A parameter with its usual value, if it has one.
pub(crate) fn shown(spec: &Spec, usual: Option<Value>) -> Parameter {
    let (min, max) = spec.bounds();
    let is_told = !spec.without.is_empty();
    Parameter {
        name: spec.name,
        need: match spec.need {
            param::Need::Required => Need::Required,
            param::Need::OneOf => Need::OneOf,
            param::Need::Optional => Need::Optional,
        },
        default: usual
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
pub(crate) fn listed(kind: &'static str, help: &'static str, params: &impl ParamSet) -> Entry {
    let parameters = params.specs().iter().map(|spec| parameter(params, spec)).collect();
    Entry { kind, help: help.trim_end_matches('.'), profiles: Vec::new(), parameters }
}

/// Everything of a family.
fn family<K: Kinds>() -> Listing {
    let all = K::kinds().into_iter().filter_map(K::of);
    all.map(|usual| listed(usual.kind(), usual.help(), &usual)).collect()
}

/// Everything of a family whose kinds have profiles.
fn profiled<K: ProfiledKinds>() -> Listing {
    K::kinds().into_iter().filter_map(K::of).map(|usual| with_profiles(&usual)).collect()
}

/// A kind with its profiles and what they set.
fn with_profiles<K: ProfiledKinds>(usual: &K) -> Entry {
    let entry = listed(usual.kind(), usual.help(), usual);
    let named = |name: &str| K::with_profile(usual.kind(), Some(name)).map(|(params, _)| params);
    telling(entry, usual.profiles(), named)
}

/// The entry with these profiles and what each but the first sets.
fn telling<P: ParamSet>(
    mut entry: Entry,
    profiles: &[ProfileHelp],
    named: impl Fn(&str) -> Option<P>,
) -> Entry {
    for &(profile, _) in profiles.iter().skip(1) {
        let Some(params) = named(profile) else { continue };
        for shown in &mut entry.parameters {
            let value = params.value(shown.name).map(|value| value.to_string());
            if let Some(value) = value.filter(|value| Some(value) != shown.default.as_ref()) {
                shown.profiles.insert(profile, value);
            }
        }
    }
    entry.profiles = profiles.iter().map(|&(name, help)| Profile { name, help }).collect();
    entry
}

/// A family's name, and what lists it.
type Family = (&'static str, fn() -> Listing);

/// The families in the order in which people are shown them.
const FAMILIES: &[Family] = &[
    ("controllers", controllers),
    ("queues", queues),
    ("sources", sources),
    ("generators", generators),
    ("traces", traces),
    ("marks", marks),
    ("losses", losses),
    ("noises", noises),
    ("networks", networks),
    ("playouts", playouts),
    ("couplings", couplings),
    ("detections", detections),
    ("transports", transports),
    ("tables", tables),
];

/// Everything that a scenario chooses from or says, by the name of its family.
pub fn families() -> impl Iterator<Item = (&'static str, Listing)> {
    FAMILIES.iter().map(|(name, listing)| (*name, listing()))
}

/// The families' names.
pub fn family_names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|(name, _)| *name)
}

/// One family; absent if there is none of that name.
pub fn named(family: &str) -> Option<Listing> {
    FAMILIES.iter().find(|(name, _)| *name == family).map(|(_, listing)| listing())
}

/// The controllers with their profiles and parameters.
pub fn controllers() -> Listing {
    profiled::<ControllerParams>()
}

/// How flows share their rates, with profiles and parameters.
pub fn couplings() -> Listing {
    profiled::<CouplingParams>()
}

/// The sources of media.
pub fn sources() -> Listing {
    family::<SourceSpec>()
}

/// The tables of a scenario that are no kind of anything: its top, a link, a flow, a stream.
pub fn tables() -> Listing {
    let table = |kind, help, keys: &[Spec], usual: &dyn Fn(&str) -> Option<Value>| {
        let parameters = keys.iter().map(|key| shown(key, usual(key.name))).collect();
        Entry { kind, help, profiles: Vec::new(), parameters }
    };
    let (flow, copies) = (FlowSpec::default(), CopyKeys::default());
    let of_flow = |name: &str| flow.value(name).or_else(|| copies.value(name));
    vec![
        table("scenario", "A scenario", keys::SCENARIO, &|name| Scenario::default().value(name)),
        table("link", "One direction of a link", keys::LINK, &|name| LinkSpec::default().value(name)),
        table("policer", "A bucket before the queue", PolicerConfig::SPECS, &|name| {
            PolicerConfig::default().value(name)
        }),
        table("shaper", "A bucket with a queue before the queue", ShaperConfig::SPECS, &|name| {
            ShaperConfig::default().value(name)
        }),
        table("duplicate", "Copies of packets", DuplicateConfig::SPECS, &|name| {
            DuplicateConfig::default().value(name)
        }),
        table("delay", "A delay that changes", DelayChanges::SPECS, &|name| {
            DelayChanges::default().value(name)
        }),
        table("flow", "A flow from a sender to a receiver", keys::FLOW, &of_flow),
        table("stream", "One of several streams of a flow", keys::STREAM, &|name| {
            StreamSpec::default().value(name)
        }),
        table("coupling", "Flows that share their rates", keys::COUPLING, &|_| None),
    ]
}

/// The formats of rate traces, and the generator of rates.
pub fn traces() -> Listing {
    const GENERATOR: &str = "Generator (rate = { generator = \"mmwave\" }): line of sight and blockage in turns, or preset, or states";
    let recordings = TraceFormat::ALL.iter().map(|&format| recording(format));
    recordings.chain([listed("mmwave", GENERATOR, &MmwaveSpec::default())]).collect()
}

/// The keys beside `trace` and `format`.
fn recording(format: TraceFormat) -> Entry {
    let usual = TraceSpec { options: TraceOptions::new(format), ..TraceSpec::default() };
    let missing = usual.contradiction().map_or_else(|error| error.name, |()| String::new());
    let beside = |spec: &&Spec| !matches!(spec.name, "trace" | "format") && usual.idle(spec.name).is_none();
    let parameters = usual.specs().iter().filter(beside).map(|spec| match spec.name == missing {
        true => parameter(&usual, &Spec { need: param::Need::Required, without: "", ..*spec }),
        false => parameter(&usual, spec),
    });
    Entry { kind: format.name(), help: format.help(), profiles: Vec::new(), parameters: parameters.collect() }
}

/// Generators of frame sizes and of connection vectors.
pub fn generators() -> Listing {
    [family::<FrameGenerator>(), family::<VectorGenerator>()].concat()
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

/// The named networks, with what each says of a link.
pub fn networks() -> Listing {
    let key = |given: &'static Given| {
        let spec = keys::LINK.iter().find(|spec| spec.name == given.key);
        Parameter {
            name: &given.key,
            need: Need::Optional,
            default: Some(given.value.as_str().into()),
            profiles: BTreeMap::new(),
            unit: spec.map_or_else(Cow::default, |spec| spec.kind.unit()),
            min: None,
            max: None,
            source: &given.source,
            help: given.why.as_str().into(),
        }
    };
    let entry = |network: &'static Network| Entry {
        kind: &network.name,
        help: &network.help,
        profiles: Vec::new(),
        parameters: network.keys.iter().map(key).collect(),
    };
    NETWORKS.iter().map(entry).collect()
}

/// When frames are displayed.
pub fn playouts() -> Listing {
    family::<PlayoutConfig>()
}

/// Bitrates, sessions, connections and reports: the table `bitrate` of a flow, and those of its transport.
pub fn transports() -> Listing {
    let bitrate = listed("bitrate", "Limits of the target of media", &BitrateKeys::default());
    std::iter::once(bitrate).chain(Transport::tables()).collect()
}

/// How flows of a coupling are told to share a bottleneck: its table `detection`.
pub fn detections() -> Listing {
    use shared_bottleneck::Params;
    let entry = listed("detection", "Detection of shared bottlenecks (RFC 8382)", &Params::default());
    vec![telling(entry, Params::PROFILES, Params::profile)]
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
