//! `queue = { ... }` of a link. What a discipline's keys are is said once, for reading, writing and listing.

use crate::error::ScenarioError;
use crate::quantity;
use crate::reader::{Node, Table};
use crate::spec::RateSpec;
use paceline_link::{
    CoDelConfig, DelayEstimate, DualPi2Config, FqCoDelConfig, LinkError, PieConfig, QueueConfig, QueueLimit,
    RedConfig, Scheduler,
};
use paceline_units::{Bitrate, Bytes, TimeDelta};

const QUEUE: &str = "a queue such as { kind = \"droptail\", limit = \"300ms\" }";
const LIMITS: &str = "exactly one of limit (a time), packets or bytes";

/// Where a key's value is in a discipline's parameters `C`, and what it takes.
#[derive(Clone, Copy)]
pub(crate) enum Slot<C> {
    Time(fn(&mut C) -> &mut TimeDelta),
    MaybeTime(fn(&mut C) -> &mut Option<TimeDelta>),
    Size(fn(&mut C) -> &mut u64),
    Bytes(fn(&mut C) -> &mut Bytes),
    Count(fn(&mut C) -> &mut u64),
    Number(fn(&mut C) -> &mut f64),
    MaybeNumber(fn(&mut C) -> &mut Option<f64>),
    Flag(fn(&mut C) -> &mut bool),
}

/// A key of a discipline.
pub(crate) struct Key<C> {
    pub(crate) name: &'static str,
    pub(crate) slot: Slot<C>,
    pub(crate) source: &'static str,
    pub(crate) help: &'static str,
}

impl<C> Key<C> {
    const fn new(name: &'static str, slot: Slot<C>, source: &'static str, help: &'static str) -> Key<C> {
        Key { name, slot, source, help }
    }

    /// What the key takes, in a word.
    pub(crate) fn unit(&self) -> &'static str {
        match self.slot {
            Slot::Time(_) | Slot::MaybeTime(_) => "time",
            Slot::Size(_) | Slot::Bytes(_) => "size",
            Slot::Count(_) => "count",
            Slot::Number(_) | Slot::MaybeNumber(_) => "number",
            Slot::Flag(_) => "flag",
        }
    }

    fn set(&self, config: &mut C, node: &Node<'_>) -> Result<(), ScenarioError> {
        match self.slot {
            Slot::Time(at) => *at(config) = node.time()?,
            Slot::MaybeTime(at) => *at(config) = Some(node.time()?),
            Slot::Size(at) => *at(config) = node.size()?.as_u64(),
            Slot::Bytes(at) => *at(config) = node.size()?,
            Slot::Count(at) => *at(config) = node.count(0..=i64::MAX as u64)?,
            Slot::Number(at) => *at(config) = node.any_number("a number")?,
            Slot::MaybeNumber(at) => *at(config) = Some(node.any_number("a number")?),
            Slot::Flag(at) => *at(config) = node.flag()?,
        }
        Ok(())
    }

    /// The value as a scenario writes it; none if there is none.
    pub(crate) fn value(&self, config: &mut C) -> Option<String> {
        let number = |value: f64| format!("{value:?}");
        let time = |span| format!("\"{}\"", quantity::format_time(span));
        let size = |bytes| format!("\"{}\"", quantity::format_size(bytes));
        match self.slot {
            Slot::Time(at) => Some(time(*at(config))),
            Slot::MaybeTime(at) => at(config).map(time),
            Slot::Size(at) => Some(size(Bytes::new(*at(config)))),
            Slot::Bytes(at) => Some(size(*at(config))),
            Slot::Count(at) => Some(at(config).to_string()),
            Slot::Number(at) => Some(number(*at(config))),
            Slot::MaybeNumber(at) => at(config).map(number),
            Slot::Flag(at) => Some(at(config).to_string()),
        }
    }
}

const ECN_HELP: &str = "Packets that can be marked are marked instead of dropped";

/// RED's keys.
pub(crate) const RED: [Key<RedConfig>; 9] = {
    const SOURCE: &str = "Floyd and Jacobson 1993; FACTS 18, no text at hand";
    const NS2: &str = "ns-2's default; no text at hand";
    [
        Key::new(
            "min_th",
            Slot::Number(|c| &mut c.min_th),
            NS2,
            "Average length, in packets, from which drops begin",
        ),
        Key::new(
            "max_th",
            Slot::Number(|c| &mut c.max_th),
            NS2,
            "Average length at which the chance is max_p",
        ),
        Key::new("max_p", Slot::Number(|c| &mut c.max_p), NS2, "Chance of a drop at max_th"),
        Key::new("q_w", Slot::Number(|c| &mut c.q_w), SOURCE, "Weight of the newest length in the average"),
        Key::new(
            "gentle",
            Slot::Flag(|c| &mut c.gentle),
            NS2,
            "The chance rises to 1 at twice max_th, not at once",
        ),
        Key::new("wait", Slot::Flag(|c| &mut c.wait), NS2, "Drops keep a distance of 1/chance"),
        Key::new(
            "in_bytes",
            Slot::Flag(|c| &mut c.in_bytes),
            SOURCE,
            "The queue is measured in bytes, larger packets dropped sooner",
        ),
        Key::new("mean_packet", Slot::Bytes(|c| &mut c.mean_packet), SOURCE, "The usual packet"),
        Key::new("ecn", Slot::Flag(|c| &mut c.ecn), SOURCE, ECN_HELP),
    ]
};

/// CoDel's keys.
pub(crate) const CODEL: [Key<CoDelConfig>; 4] = [
    Key::new("target", Slot::Time(|c| &mut c.target), "RFC 8289 4.3", "Wait that is acceptable"),
    Key::new("interval", Slot::Time(|c| &mut c.interval), "RFC 8289 4.4", "How long it may be exceeded"),
    Key::new(
        "mtu",
        Slot::Size(|c| &mut c.mtu),
        "RFC 8289 4.4",
        "With no more than this waiting nothing is dropped",
    ),
    Key::new("ecn", Slot::Flag(|c| &mut c.ecn), "RFC 8290 4.1", ECN_HELP),
];

/// FQ-CoDel's keys.
pub(crate) const FQ_CODEL: [Key<FqCoDelConfig>; 8] = [
    Key::new("target", Slot::Time(|c| &mut c.codel.target), "RFC 8290 5.2.1", "Wait that is acceptable"),
    Key::new(
        "interval",
        Slot::Time(|c| &mut c.codel.interval),
        "RFC 8290 5.2.2",
        "How long it may be exceeded",
    ),
    Key::new(
        "mtu",
        Slot::Size(|c| &mut c.codel.mtu),
        "RFC 8289 4.4",
        "With no more than this in a queue nothing is dropped",
    ),
    Key::new("ecn", Slot::Flag(|c| &mut c.codel.ecn), "RFC 8290 5.2.6", ECN_HELP),
    Key::new("flows", Slot::Count(|c| &mut c.flows), "RFC 8290 5.2.3", "Queues that flows are hashed to"),
    Key::new(
        "quantum",
        Slot::Size(|c| &mut c.quantum),
        "RFC 8290 5.2.4",
        "What a queue may send in its turn",
    ),
    Key::new(
        "drop_batch",
        Slot::Count(|c| &mut c.drop_batch),
        "RFC 8290 4.1",
        "Most packets dropped at once from the longest queue",
    ),
    Key::new(
        "ce_threshold",
        Slot::MaybeTime(|c| &mut c.ce_threshold),
        "RFC 8290 5.2.7",
        "Everything that waited longer is marked; left out: off",
    ),
];

/// PIE's keys.
pub(crate) const PIE: [Key<PieConfig>; 10] = [
    Key::new("target", Slot::Time(|c| &mut c.target), "RFC 8033 4.2 (QDELAY_REF)", "Delay that is aimed for"),
    Key::new(
        "t_update",
        Slot::Time(|c| &mut c.t_update),
        "RFC 8033 4.2 (T_UPDATE)",
        "How often the chance is computed",
    ),
    Key::new(
        "max_burst",
        Slot::Time(|c| &mut c.max_burst),
        "RFC 8033 4.4 (MAX_BURST)",
        "How long nothing is dropped after a quiet time",
    ),
    Key::new(
        "alpha",
        Slot::Number(|c| &mut c.alpha),
        "RFC 8033 4.2",
        "Weight of the distance to the target, per second",
    ),
    Key::new(
        "beta",
        Slot::Number(|c| &mut c.beta),
        "RFC 8033 4.2",
        "Weight of the change of the delay, per second",
    ),
    Key::new(
        "mark_ecnth",
        Slot::Number(|c| &mut c.mark_ecnth),
        "RFC 8033 5.1",
        "Largest chance at which packets are marked",
    ),
    Key::new("ecn", Slot::Flag(|c| &mut c.ecn), "RFC 8033 5.1", ECN_HELP),
    Key::new(
        "derandomise",
        Slot::Flag(|c| &mut c.derandomise),
        "RFC 8033 5.4",
        "Drops neither too close together nor too far apart",
    ),
    Key::new(
        "dq_threshold",
        Slot::Bytes(|c| &mut c.dq_threshold),
        "RFC 8033 5.2 (DQ_THRESHOLD)",
        "What must wait for the departure rate to be measured",
    ),
    Key::new(
        "mean_packet",
        Slot::Bytes(|c| &mut c.mean_packet),
        "RFC 8033 4.1 (MEAN_PKTSIZE)",
        "With two of these waiting nothing is dropped",
    ),
];

/// DualPI2's keys.
pub(crate) const DUALPI2: [Key<DualPi2Config>; 11] = {
    const A: &str = "RFC 9332 A.1";
    [
        Key::new("target", Slot::Time(|c| &mut c.target), A, "Classic delay that is aimed for"),
        Key::new("rtt_max", Slot::Time(|c| &mut c.rtt_max), A, "Largest round trip that is expected"),
        Key::new(
            "t_update",
            Slot::MaybeTime(|c| &mut c.t_update),
            A,
            "How often the chance is computed; left out: the smaller of target and rtt_max / 3",
        ),
        Key::new(
            "alpha",
            Slot::MaybeNumber(|c| &mut c.alpha),
            A,
            "Integral gain per second; left out: 0.1 t_update / rtt_max^2",
        ),
        Key::new(
            "beta",
            Slot::MaybeNumber(|c| &mut c.beta),
            A,
            "Proportional gain per second; left out: 0.3 / rtt_max",
        ),
        Key::new("k", Slot::Number(|c| &mut c.k), A, "Coupling factor"),
        Key::new(
            "p_c_max",
            Slot::MaybeNumber(|c| &mut c.p_c_max),
            A,
            "Classic chance from which on everything is dropped; left out: 1 / k^2",
        ),
        Key::new("min_th", Slot::Time(|c| &mut c.min_th), A, "No L4S mark up to this wait"),
        Key::new("range", Slot::Time(|c| &mut c.range), A, "From min_th to where all are marked; 0s: a step"),
        Key::new(
            "th_len",
            Slot::Count(|c| &mut c.th_len),
            A,
            "With so many L4S packets none is marked for its own queue",
        ),
        Key::new(
            "mtu",
            Slot::Size(|c| &mut c.mtu),
            "RFC 9332 A.1",
            "With twice this waiting the classic queue asks for nothing",
        ),
    ]
};

/// Names of PIE's ways to learn the delay.
pub(crate) const ESTIMATES: [(&str, DelayEstimate); 2] =
    [("departure-rate", DelayEstimate::DepartureRate), ("timestamp", DelayEstimate::Timestamp)];

#[derive(Clone, Copy)]
enum Kind {
    DropTail,
    Red,
    CoDel,
    FqCoDel,
    Pie,
    DualPi2,
}

const KINDS: [(&str, Kind); 6] = [
    ("droptail", Kind::DropTail),
    ("red", Kind::Red),
    ("codel", Kind::CoDel),
    ("fq-codel", Kind::FqCoDel),
    ("pie", Kind::Pie),
    ("dualpi2", Kind::DualPi2),
];

pub(super) fn parse(node: &Node<'_>, rate: &RateSpec) -> Result<QueueConfig, ScenarioError> {
    let table = node.table(QUEUE)?;
    let kind = table.find("kind").map_or(Ok(Kind::DropTail), |node| node.choice(&KINDS, &[]))?;
    let limit = |usual: Option<QueueLimit>| limit(&table, rate, usual);
    let config = match kind {
        Kind::DropTail => {
            table.only(&["kind", "limit", "packets", "bytes"])?;
            QueueConfig::DropTail { limit: limit(None)? }
        }
        Kind::Red => {
            let mut config = RedConfig::default();
            config.limit = limit(Some(config.limit))?;
            QueueConfig::Red(set_all(&table, &RED, &[], config)?)
        }
        Kind::CoDel => {
            let mut config = CoDelConfig::default();
            config.limit = limit(Some(config.limit))?;
            QueueConfig::CoDel(set_all(&table, &CODEL, &[], config)?)
        }
        Kind::FqCoDel => {
            let mut config = FqCoDelConfig::default();
            config.codel.limit = limit(Some(config.codel.limit))?;
            QueueConfig::FqCoDel(set_all(&table, &FQ_CODEL, &[], config)?)
        }
        Kind::Pie => {
            let mut config = PieConfig::default();
            config.limit = limit(Some(config.limit))?;
            let estimate = table.find("estimate");
            config.estimate = estimate.map_or(Ok(config.estimate), |node| node.choice(&ESTIMATES, &[]))?;
            QueueConfig::Pie(set_all(&table, &PIE, &["estimate"], config)?)
        }
        Kind::DualPi2 => {
            let mut config = DualPi2Config::default();
            config.limit = limit(Some(config.limit))?;
            config.scheduler = scheduler(&table, config.scheduler)?;
            QueueConfig::DualPi2(set_all(&table, &DUALPI2, &["wrr", "t_shift"], config)?)
        }
    };
    config.validate().map_err(|error| invalid(&table, &error))?;
    Ok(config)
}

fn set_all<C>(table: &Table<'_>, keys: &[Key<C>], more: &[&str], mut config: C) -> Result<C, ScenarioError> {
    let mut known = vec!["kind", "limit", "packets", "bytes"];
    known.extend(keys.iter().map(|key| key.name));
    known.extend(more);
    table.only(&known)?;
    for key in keys {
        if let Some(node) = table.find(key.name) {
            key.set(&mut config, &node)?;
        }
    }
    Ok(config)
}

fn limit(table: &Table<'_>, rate: &RateSpec, usual: Option<QueueLimit>) -> Result<QueueLimit, ScenarioError> {
    let starts_dead =
        matches!(rate, RateSpec::Steps(steps) if steps[0].1 == RateSpec::Constant(Bitrate::ZERO));
    match (table.find("limit"), table.find("packets"), table.find("bytes"), usual) {
        (Some(node), None, None, _) if starts_dead => {
            Err(node.fail("packets or bytes: a time counts at the first step's rate, which is 0"))
        }
        (Some(node), None, None, _) => Ok(QueueLimit::Time(node.time_above_zero()?)),
        (None, Some(node), None, _) => Ok(QueueLimit::Packets(node.count(1..=u64::MAX)?)),
        (None, None, Some(node), _) => {
            Ok(QueueLimit::Bytes(node.size_within(1..=quantity::MAX_SIZE.as_u64())?))
        }
        (None, None, None, Some(QueueLimit::Time(_))) if starts_dead => Err(table.fail(
            "none of limit, packets, bytes",
            "packets or bytes: the usual limit is a time at the first step's rate, which is 0",
        )),
        (None, None, None, Some(usual)) => Ok(usual),
        (None, None, None, None) => Err(table.fail("none of them", LIMITS)),
        _ => Err(table.fail("several of them", LIMITS)),
    }
}

fn scheduler(table: &Table<'_>, usual: Scheduler) -> Result<Scheduler, ScenarioError> {
    match (table.find("wrr"), table.find("t_shift")) {
        (Some(node), None) => Ok(Scheduler::Wrr(node.number(0.0..=1.0)?)),
        (None, Some(node)) => Ok(Scheduler::TimeShifted(node.time()?)),
        (None, None) => Ok(usual),
        (Some(_), Some(node)) => Err(node.fail("nothing beside wrr: the two are different schedulers")),
    }
}

/// An error that the queue found, at the key that it names.
fn invalid(table: &Table<'_>, error: &LinkError) -> ScenarioError {
    let key = error.key.rsplit('.').next().unwrap_or(error.key);
    table.find(key).map_or_else(|| table.fail(&error.found, error.expected), |node| node.fail(error.expected))
}

/// The kind of a queue, its limit and the values of its keys, as a scenario writes them.
pub(crate) fn written(config: &QueueConfig) -> (&'static str, QueueLimit, Vec<(&'static str, String)>) {
    fn all<C: Clone>(keys: &[Key<C>], config: &C) -> Vec<(&'static str, String)> {
        let mut config = config.clone();
        keys.iter().filter_map(|key| Some((key.name, key.value(&mut config)?))).collect()
    }
    match config {
        QueueConfig::DropTail { limit } => ("droptail", *limit, Vec::new()),
        QueueConfig::Red(config) => ("red", config.limit, all(&RED, config)),
        QueueConfig::CoDel(config) => ("codel", config.limit, all(&CODEL, config)),
        QueueConfig::FqCoDel(config) => ("fq-codel", config.codel.limit, all(&FQ_CODEL, config)),
        QueueConfig::Pie(config) => {
            let mut values = all(&PIE, config);
            let name = ESTIMATES.iter().find(|(_, estimate)| *estimate == config.estimate);
            values.push(("estimate", format!("\"{}\"", name.map_or("", |(name, _)| name))));
            ("pie", config.limit, values)
        }
        QueueConfig::DualPi2(config) => {
            let mut values = all(&DUALPI2, config);
            values.push(match config.scheduler {
                Scheduler::Wrr(part) => ("wrr", format!("{part:?}")),
                Scheduler::TimeShifted(shift) => ("t_shift", format!("\"{}\"", quantity::format_time(shift))),
            });
            ("dualpi2", config.limit, values)
        }
    }
}
