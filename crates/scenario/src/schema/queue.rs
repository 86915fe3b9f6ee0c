//! `queue = { ... }` of a link. What kinds there are and what keys they have is said by `link`, with each discipline.

use crate::error::ScenarioError;
use crate::parameter;
use crate::quantity;
use crate::reader::{Node, Table, one_of};
use crate::spec::RateSpec;
use paceline_cc::params::{ParamKind, ParamSpec, ParamValue};
use paceline_link::{LinkError, QueueConfig, QueueKey, QueueLimit, QueueValue, QueueValueKind};
use paceline_units::Bitrate;

const QUEUE: &str = "a queue such as { kind = \"droptail\", limit = \"300ms\" }";
const LIMITS: &str = "exactly one of limit (a time), packets or bytes";
const LIMIT_KEYS: [&str; 4] = ["kind", "limit", "packets", "bytes"];

pub(super) fn parse(node: &Node<'_>, rate: &RateSpec) -> Result<QueueConfig, ScenarioError> {
    let table = node.table(QUEUE)?;
    let kind = match table.find("kind") {
        Some(node) => {
            node.choice(&QueueConfig::KINDS.iter().map(|&kind| (kind, kind)).collect::<Vec<_>>(), &[])?
        }
        None => QueueConfig::KINDS[0],
    };
    let Some(mut config) = QueueConfig::of(kind) else {
        return Err(node.fail(QUEUE));
    };
    let known: Vec<_> = LIMIT_KEYS.into_iter().chain(config.keys().iter().map(|key| key.name)).collect();
    table.only(&known)?;
    let usual = config.limit();
    config.set_limit(limit(&table, rate, (usual != QueueLimit::Unlimited).then_some(usual))?);
    for key in config.keys() {
        if let Some(node) = table.find(key.name) {
            set(&mut config, key, &node)?;
        }
    }
    config.validate().map_err(|error| invalid(&table, &error))?;
    Ok(config)
}

fn set(config: &mut QueueConfig, key: &QueueKey, node: &Node<'_>) -> Result<(), ScenarioError> {
    let expected = expected(key);
    let value = match key.kind {
        QueueValueKind::Time => QueueValue::Time(node.time()?),
        QueueValueKind::Size => QueueValue::Size(node.size()?),
        QueueValueKind::Number => QueueValue::Number(node.any_number(&expected)?),
        QueueValueKind::Count => QueueValue::Count(node.count(0..=i64::MAX as u64)?),
        QueueValueKind::Flag => QueueValue::Flag(node.flag()?),
        QueueValueKind::Name(names) => {
            let choices: Vec<_> = names.iter().map(|&name| (name, name)).collect();
            QueueValue::Name(node.choice(&choices, &[])?)
        }
    };
    if key.admits(value) && config.set(key.name, value) { Ok(()) } else { Err(node.fail(&expected)) }
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

/// An error that the queue found, at the key that it names.
fn invalid(table: &Table<'_>, error: &LinkError) -> ScenarioError {
    let key = error.key.rsplit('.').next().unwrap_or(error.key);
    table.find(key).map_or_else(
        || table.fail(&format!("{key} = {}", error.found), error.expected),
        |node| node.fail(error.expected),
    )
}

/// A key as other parameters are described; a name has no range.
fn spec(key: &QueueKey) -> Option<ParamSpec> {
    let kind = match key.kind {
        QueueValueKind::Time => ParamKind::Time,
        QueueValueKind::Size => ParamKind::Bytes,
        QueueValueKind::Number => ParamKind::Ratio,
        QueueValueKind::Count => ParamKind::Count,
        QueueValueKind::Flag => ParamKind::Flag,
        QueueValueKind::Name(_) => return None,
    };
    Some(ParamSpec { name: key.name, kind, range: key.range, source: key.source, help: key.help })
}

fn expected(key: &QueueKey) -> String {
    match (key.kind, spec(key)) {
        (QueueValueKind::Name(names), _) => one_of(names),
        (_, Some(spec)) => parameter::expected(&spec),
        (_, None) => String::new(),
    }
}

/// What a key takes, in a word.
pub(crate) fn unit(key: &QueueKey) -> &'static str {
    spec(key).map_or("name", |spec| parameter::unit(spec.kind))
}

/// A key's smallest and largest value, where it has a range.
pub(crate) fn range(key: &QueueKey) -> (Option<String>, Option<String>) {
    match spec(key).filter(|spec| spec.kind != ParamKind::Flag) {
        Some(spec) => {
            let (min, max) = parameter::range(&spec);
            (Some(min), max)
        }
        None => (None, None),
    }
}

/// A value for people, without quotes.
pub(crate) fn text(value: QueueValue) -> String {
    param(value).map_or_else(|name| name.into(), parameter::text)
}

/// A value as TOML.
pub(crate) fn toml(value: QueueValue) -> String {
    param(value).map_or_else(|name| format!("\"{name}\""), parameter::toml)
}

fn param(value: QueueValue) -> Result<ParamValue, &'static str> {
    Ok(match value {
        QueueValue::Time(span) => ParamValue::Time(span),
        QueueValue::Size(size) => ParamValue::Bytes(size),
        QueueValue::Number(number) => ParamValue::Ratio(number),
        QueueValue::Count(count) => ParamValue::Count(count),
        QueueValue::Flag(flag) => ParamValue::Flag(flag),
        QueueValue::Name(name) => return Err(name),
    })
}
