//! The text of a scenario into a [`Scenario`]: every rule of the format, with messages for people.
//!
//! A key that is not known is reported before a key that is missing, since one is often the other misspelt.

mod bitrate;
mod controller;
mod copies;
mod coupling;
mod flow;
pub(crate) mod keys;
mod link;
mod mmwave;
mod path;
mod queue;
pub(crate) mod source;

pub(crate) use bitrate::{BitrateKeys, OlderKeys};
pub(crate) use copies::CopyKeys;
pub(crate) use queue::LimitKeys;

use crate::error::{Place, ScenarioError};
use crate::params;
use crate::reader::{Input, Node, Table};
use crate::source::SourceSpec;
use crate::spec::{FlowSpec, Scenario};
use paceline_units::TimeDelta;
use paceline_units::text;
use std::ops::Range;

/// The most rows of time series, over all streams and links: a guard against samples that no memory holds.
const MAX_ROWS: u64 = 10_000_000;
/// The most connections of short transfers at once, over all flows: a guard likewise (some 2 kB each).
const MAX_CONNECTIONS: u64 = 100_000;

/// A table `[flows.NAME]`: its name, and the numbers of the flows that it stands for.
type FlowRange<'a> = (&'a str, Range<usize>);

/// Reads a scenario. `file` is what messages call it; its stem names a scenario that has no `name`.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn parse(text: &str, file: &str) -> Result<Scenario, ScenarioError> {
    let input = Input { file, text };
    let document = input.parse()?;
    let root = Table::root(&input, &document);
    root.only(&keys::names(keys::SCENARIO))?;
    let stem =
        std::path::Path::new(file).file_stem().map_or("scenario".into(), |stem| stem.to_string_lossy());
    let mut scenario = Scenario { name: stem.into_owned(), ..Scenario::default() };
    params::set_some(&root, &mut scenario)?;
    scenario.links = links(&root)?;
    let Scenario { duration, seed, .. } = scenario;
    let (flows, ranges) = flows(&root, &path::Surroundings { duration, seed, links: &scenario.links })?;
    scenario.flows = flows;
    params::check(&root, &scenario)?;
    few_rows(&scenario).map_err(|(found, expected)| {
        let error = match root.find("sample") {
            Some(node) => node.fail(&expected),
            None => root.missing("sample", &expected),
        };
        ScenarioError { found, ..error }
    })?;
    scenario.couplings = coupling::parse(&root, &scenario.flows, &ranges, &scenario.links)?;
    Ok(scenario)
}

/// The text found and the one expected where a run would keep too many rows: one of each stream and each link at every sample.
fn few_rows(scenario: &Scenario) -> Result<(), (String, String)> {
    let Scenario { sample, links, flows, .. } = scenario;
    let tables = (links.len() + flows.iter().map(|flow| flow.streams.len()).sum::<usize>()) as u64;
    let duration = scenario.duration.as_nanos() as u64;
    let rows = (duration / sample.as_nanos() as u64).saturating_mul(tables);
    if rows <= MAX_ROWS {
        return Ok(());
    }
    let least = shortest_sample(duration, tables);
    let found = format!("{}, which makes {rows} rows of time series", text::format_time(*sample));
    let expected = format!("at most {MAX_ROWS} rows (some 3 GB): \"{}\" or longer", text::format_time(least));
    Err((found, expected))
}

/// An error if a run of a scenario would keep too many rows.
pub(crate) fn check_rows(scenario: &Scenario) -> Result<(), ScenarioError> {
    few_rows(scenario).map_err(|(found, expected)| {
        let (file, key, expected) = (scenario.name.as_str().into(), "sample".into(), expected.into());
        ScenarioError { file, place: Place::Whole, key, found, expected, hint: None }
    })
}

/// The shortest round interval at which `tables` do not get too many rows.
fn shortest_sample(duration: u64, tables: u64) -> TimeDelta {
    // Of each table as many as fit; 1, 2 or 5 of a power of ten is easily said.
    let samples = (MAX_ROWS / tables.max(1)).max(1);
    let least = duration / (samples + 1) + 1;
    let power = 10u64.pow(least.ilog10());
    let round = [1, 2, 5, 10].map(|part| part * power).into_iter().find(|round| *round >= least);
    TimeDelta::from_nanos(round.unwrap_or(duration) as i64)
}

fn links(root: &Table<'_>) -> Result<Vec<crate::spec::LinkSpec>, ScenarioError> {
    let Some(node) = root.find("links") else {
        return Ok(Vec::new());
    };
    let table = node.table("tables [links.NAME]")?;
    named(&table)?.into_iter().map(|(name, node)| link::parse(name, &node)).collect()
}

/// The flows, and which of them each table `[flows.NAME]` stands for.
fn flows<'a>(
    root: &Table<'a>,
    around: &path::Surroundings<'_>,
) -> Result<(Vec<FlowSpec>, Vec<FlowRange<'a>>), ScenarioError> {
    const EXPECTED: &str = "at least one table [flows.NAME]";
    let table = root.require("flows", EXPECTED)?.table(EXPECTED)?;
    let named = named(&table)?;
    let (mut flows, mut ranges) = (Vec::new(), Vec::new());
    for (name, node) in &named {
        let copies = copies::of(flow::parse(name, node, around)?, node, around)?;
        if copies.len() > 1
            && let Some(copy) = copies.iter().find(|copy| named.iter().any(|(other, _)| *other == copy.name))
        {
            return Err(
                node.fail(&format!("another name: a copy would be \"{}\", which there is", copy.name))
            );
        }
        ranges.push((*name, flows.len()..flows.len() + copies.len()));
        flows.extend(copies);
        few_connections(&flows, node)?;
    }
    if flows.is_empty() { Err(table.fail("no flow", EXPECTED)) } else { Ok((flows, ranges)) }
}

/// Complains if `flows`, of which the last are those of the table `node`, have too many connections at once.
fn few_connections(flows: &[FlowSpec], node: &Node<'_>) -> Result<(), ScenarioError> {
    let parallel = |flow: &FlowSpec| match flow.streams.first().map(|stream| &stream.source) {
        Some(SourceSpec::ShortTransfers(transfers)) => u64::from(transfers.parallel),
        _ => 0,
    };
    let connections: u64 = flows.iter().map(parallel).sum();
    if connections <= MAX_CONNECTIONS {
        return Ok(());
    }
    let found = format!("short transfers over up to {connections} connections at once with the flows before");
    Err(ScenarioError { found, ..node.fail(&format!("at most {MAX_CONNECTIONS} over all flows")) })
}

/// The entries of a table of things that have names.
fn named<'a>(table: &Table<'a>) -> Result<Vec<(&'a str, Node<'a>)>, ScenarioError> {
    let entries: Vec<_> = table.entries().collect();
    for (name, node) in &entries {
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(node.fail("a name that can be read"));
        }
    }
    Ok(entries)
}
