//! `queue = { ... }` of a link. The kinds and their keys are said by `link`, with each discipline.

use crate::error::ScenarioError;
use crate::params;
use crate::rate::RateSpec;
use crate::reader::{Node, Table};
use paceline_link::{QueueConfig, QueueLimit};
use paceline_units::{Bitrate, Bytes, TimeDelta, params};

pub(super) const QUEUE: &str = "a queue such as { kind = \"droptail\", limit = \"300ms\" }";
const LIMITS: &str = "exactly one of limit (a time), packets or bytes";
const KEYS: [&str; 4] = ["kind", "limit", "packets", "bytes"];

pub(super) fn parse(node: &Node<'_>, rate: &RateSpec) -> Result<QueueConfig, ScenarioError> {
    let table = node.table(QUEUE)?;
    let mut config: QueueConfig = params::kind(&table, Some(QueueConfig::KINDS[0]))?;
    params::set(&table, &mut config, &KEYS)?;
    config.set_limit(limit(&table, rate, config.limit())?);
    config.check_at(Bitrate::MAX).map_err(|error| params::blame(&table, &error))?;
    Ok(config)
}

params! {
    /// How much may wait, in one of three ways.
    pub(crate) struct LimitKeys {
        limit: Option<TimeDelta> = None, where no ["packets", "bytes"], in 1e-9, 1e6, "", "How much may wait, turned into bytes once, at the nominal rate: the constant one, the first step's, or the trace's mean";
        packets: Option<u64> = None, where no ["limit", "bytes"], in 1.0, f64::INFINITY, "", "Packets that may wait; the packet in service does not count";
        bytes: Option<Bytes> = None, where no ["limit", "packets"], in 1.0, 1e18, "", "Bytes that may wait, headers in";
    }
}

fn limit(table: &Table<'_>, rate: &RateSpec, usual: QueueLimit) -> Result<QueueLimit, ScenarioError> {
    let starts_dead = match rate {
        RateSpec::Steps(steps) => steps[0].1 == RateSpec::Constant(Bitrate::ZERO),
        RateSpec::Ramp(points) => points[0].1 == Bitrate::ZERO,
        RateSpec::Constant(_) | RateSpec::Trace(_) | RateSpec::Mmwave(_) => false,
    };
    let mut keys = LimitKeys::default();
    params::set_some(table, &mut keys)?;
    match (keys.limit, keys.packets, keys.bytes, usual) {
        (Some(_), None, None, _) if starts_dead => Err(table
            .require("limit", LIMITS)?
            .fail("packets or bytes: a time counts at the first step's rate, which is 0")),
        (Some(span), None, None, _) => Ok(QueueLimit::Time(span)),
        (None, Some(packets), None, _) => Ok(QueueLimit::Packets(packets)),
        (None, None, Some(bytes), _) => Ok(QueueLimit::Bytes(bytes)),
        (None, None, None, QueueLimit::Time(_)) if starts_dead => Err(table.fail(
            "none of limit, packets, bytes",
            "packets or bytes: the usual limit is a time at the first step's rate, which is 0",
        )),
        (None, None, None, QueueLimit::Unlimited) => Err(table.fail("none of them", LIMITS)),
        (None, None, None, usual) => Ok(usual),
        _ => Err(table.fail("several of them", LIMITS)),
    }
}
