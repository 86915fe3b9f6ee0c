//! `[links.NAME]`.

use super::{keys, mmwave, queue};
use crate::error::ScenarioError;
use crate::networks::{NETWORKS, Network};
use crate::params;
use crate::rate::{RateSpec, TraceSpec};
use crate::reader::{Input, Node, Table};
use crate::spec::LinkSpec;
use paceline_link::NoiseConfig;
use paceline_link::trace::TraceFormat;
use paceline_units::text::one_of;
use paceline_units::{Bitrate, TimeDelta};

const RATE: &str = "a rate such as \"20Mbps\", { steps = [[\"0s\", \"20Mbps\"]] }, { ramp = [[\"0s\", \"20Mbps\"]] }, { trace = FILE, format = NAME } or \
                    { generator = \"mmwave\" }";

/// The most noises of a link, each of which costs time for each packet.
const MAX_NOISES: usize = 16;

pub(super) fn parse(name: &str, node: &Node<'_>) -> Result<LinkSpec, ScenarioError> {
    let table = node.table("a table [links.NAME]")?;
    table.only(&keys::names(keys::LINK))?;
    let Some(network) = table.find("network") else {
        return read(name, &table);
    };
    let known: Vec<_> = NETWORKS.iter().map(|known| known.name.as_str()).collect();
    let chosen = network.name(&known)?;
    let text = NETWORKS.iter().find(|known| known.name == chosen).map(Network::toml).unwrap_or_default();
    let input = Input { file: chosen, text: &text };
    let document = input.parse()?;
    read(name, &table.over(Table::root(&input, &document)))
}

fn read(name: &str, table: &Table<'_>) -> Result<LinkSpec, ScenarioError> {
    let mut link = LinkSpec { name: name.into(), ..LinkSpec::default() };
    link.rate = rate(&table.require("rate", RATE)?)?;
    link.queue = queue::parse(&table.require("queue", queue::QUEUE)?, &link.rate)?;
    params::set_some(table, &mut link)?;
    link.mark = params::family(table, "mark", "marks such as { kind = \"step\", at = \"1ms\" }")?;
    link.loss = params::family(table, "loss", "a loss model such as { kind = \"bernoulli\", ratio = 0.01 }")?;
    link.noise = table.find("noise").map_or(Ok(Vec::new()), |node| noises(&node))?;
    params::check(table, &link)?;
    link.down.sort_unstable();
    Ok(link)
}

fn rate(node: &Node<'_>) -> Result<RateSpec, ScenarioError> {
    if !node.is_table() {
        return node.rate_above_zero().map(RateSpec::Constant).map_err(|error| node.or_steps(error));
    }
    let table = node.table(RATE)?;
    let mut forms =
        ["steps", "ramp", "trace", "generator"].into_iter().filter_map(|key| Some((key, table.find(key)?)));
    if let (Some((first, _)), Some((second, node))) = (forms.next(), forms.next()) {
        return Err(node.fail(&format!("either {first} or {second}, not both")));
    }
    if let Some(node) = table.find("steps") {
        table.only(&["steps"])?;
        return steps(&node);
    }
    if let Some(node) = table.find("ramp") {
        table.only(&["ramp"])?;
        return ramp(&node);
    }
    recorded(&table, node)
}

/// A trace or a generator.
fn recorded(table: &Table<'_>, node: &Node<'_>) -> Result<RateSpec, ScenarioError> {
    if let Some(node) = table.find("trace") {
        return trace(table, node.text("a file's name")?);
    }
    if let Some(node) = table.find("generator") {
        node.name(&["mmwave"])?;
        return Ok(RateSpec::Mmwave(mmwave::parse(table)?));
    }
    table.only(&keys::names(keys::RATE))?;
    Err(node.fail(RATE))
}

const POINTS: &str = "a list of [time, rate], such as [[\"0s\", \"20Mbps\"], [\"47.74s\", \"10Mbps\"]]";

/// The time of a step or of a point of a ramp, behind those before it.
fn point_time<T>(time: &Node<'_>, before: &[(TimeDelta, T)]) -> Result<TimeDelta, ScenarioError> {
    let at = time.time()?;
    match before.last() {
        None if at != TimeDelta::ZERO => Err(time.fail("\"0s\": the first step is where the run begins")),
        Some(&(before, _)) if at <= before => Err(time.fail("a time after the step before it")),
        _ => Ok(at),
    }
}

fn ramp(node: &Node<'_>) -> Result<RateSpec, ScenarioError> {
    let mut points = Vec::new();
    for point in node.list(POINTS)? {
        let [time, rate] = point.pair(POINTS)?;
        let at = point_time(&time, &points)?;
        points.push((at, rate.rate()?));
    }
    if points.iter().all(|(_, rate)| *rate == Bitrate::ZERO) {
        return Err(node.fail("at least one rate above 0"));
    }
    Ok(RateSpec::Ramp(points))
}

fn steps(node: &Node<'_>) -> Result<RateSpec, ScenarioError> {
    let mut steps: Vec<(TimeDelta, RateSpec)> = Vec::new();
    let mut repeating = None;
    for step in node.list(POINTS)? {
        let [time, rate] = step.pair(POINTS)?;
        let at = point_time(&time, &steps)?;
        let spec = step_rate(&rate)?;
        repeating = spec.repeats().then_some(rate);
        steps.push((at, spec));
    }
    if let Some(last) = repeating {
        return Err(last.fail("a trace without repeat = true in the last step"));
    }
    if steps.iter().all(|(_, rate)| *rate == RateSpec::Constant(Bitrate::ZERO)) {
        return Err(node.fail("at least one step with a rate above 0"));
    }
    Ok(RateSpec::Steps(steps))
}

/// The rate in a step: a rate, zero allowed, or a trace or generator that plays from its own start.
fn step_rate(node: &Node<'_>) -> Result<RateSpec, ScenarioError> {
    if !node.is_table() {
        return Ok(RateSpec::Constant(node.rate()?));
    }
    let table = node.table(RATE)?;
    match ["steps", "ramp"].iter().any(|key| table.find(key).is_some()) {
        true => Err(node.fail("a rate, a trace or a generator: steps do not nest")),
        false => recorded(&table, node),
    }
}

fn trace(table: &Table<'_>, file: &str) -> Result<RateSpec, ScenarioError> {
    let mut spec = TraceSpec::default();
    let is_json = file.trim_end_matches(".gz").ends_with(".json");
    if is_json {
        spec.options.format = TraceFormat::Json;
    }
    params::set(table, &mut spec, &[])?;
    if !is_json && table.find("format").is_none() {
        // Lines of one or two numbers can be read in more than one way.
        return Err(table.missing("format", &one_of(TraceFormat::NAMES)));
    }
    params::check(table, &spec)?;
    Ok(RateSpec::Trace(spec))
}

/// The delay noises: one, or a list of several.
fn noises(node: &Node<'_>) -> Result<Vec<NoiseConfig>, ScenarioError> {
    const EXPECTED: &str = "delay noise such as { kind = \"rfc8868\" }, or a list of 1 to 16 of them";
    if !node.is_list() {
        return Ok(vec![params::chosen(node, EXPECTED)?]);
    }
    let nodes = node.list(EXPECTED)?;
    if nodes.is_empty() || nodes.len() > MAX_NOISES {
        return Err(node.fail(EXPECTED));
    }
    nodes.iter().map(|node| params::chosen(node, EXPECTED)).collect()
}
