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
use paceline_units::param::Kinds;
use paceline_units::text::one_of;
use paceline_units::{Bitrate, Bytes, TimeDelta};

const RATE: &str = "a rate such as \"20Mbps\", { steps = [[\"0s\", \"20Mbps\"]] }, { trace = FILE, format = NAME } or \
                    { generator = \"mmwave\" }";
const QUEUE: &str = "a queue such as { kind = \"droptail\", limit = \"300ms\" }";
/// The most that a link or a flow may add to a packet.
pub(super) const MAX_OVERHEAD: u64 = 65_535;

/// The most noises of a link, each of which costs time for each packet.
const MAX_NOISES: usize = 16;

/// A link's keys, over what the network says that it names.
struct Layers<'a> {
    own: Table<'a>,
    network: Option<Table<'a>>,
}

impl<'a> Layers<'a> {
    fn find(&self, key: &str) -> Option<Node<'a>> {
        self.own.find(key).or_else(|| self.network.as_ref()?.find(key))
    }

    fn require(&self, key: &str, expected: &str) -> Result<Node<'a>, ScenarioError> {
        self.find(key).ok_or_else(|| self.own.missing(key, expected))
    }
}

pub(super) fn parse(name: &str, node: &Node<'_>) -> Result<LinkSpec, ScenarioError> {
    let table = node.table("a table [links.NAME]")?;
    table.only(&keys::names(keys::LINK))?;
    let Some(network) = table.find("network") else {
        return layered(name, &Layers { own: table, network: None });
    };
    let known: Vec<_> = NETWORKS.iter().map(|known| known.name.as_str()).collect();
    let chosen = network.name(&known)?;
    let text = NETWORKS.iter().find(|known| known.name == chosen).map(Network::toml).unwrap_or_default();
    let input = Input { file: chosen, text: &text };
    let document = input.parse()?;
    layered(name, &Layers { own: table, network: Some(Table::root(&input, &document)) })
}

fn layered(name: &str, table: &Layers<'_>) -> Result<LinkSpec, ScenarioError> {
    let rate = rate(&table.require("rate", RATE)?)?;
    let place = |key: &str| {
        let name = table.find(key).map(|node| node.text("the name of a node").map(String::from));
        name.transpose()
    };
    let (from, to) = (place("from")?, place("to")?);
    if from.is_some() && from == to {
        return Err(table.require("to", "a node")?.fail("another node than where the link begins"));
    }
    Ok(LinkSpec {
        name: name.into(),
        from,
        to,
        delay: table.find("delay").map_or(Ok(TimeDelta::ZERO), |node| node.time())?,
        queue: queue::parse(&table.require("queue", QUEUE)?, &rate)?,
        rate,
        mark: family(table, "mark", "marks such as { kind = \"step\", at = \"1ms\" }")?,
        loss: family(table, "loss", "a loss model such as { kind = \"bernoulli\", ratio = 0.01 }")?,
        noise: noises(table)?,
        down: table.find("down").map_or(Ok(Vec::new()), |node| down(&node))?,
        overhead: table
            .find("overhead")
            .map_or(Ok(Bytes::ZERO), |node| node.size_within(0..=MAX_OVERHEAD))?,
    })
}

fn rate(node: &Node<'_>) -> Result<RateSpec, ScenarioError> {
    if !node.is_table() {
        return Ok(RateSpec::Constant(node.rate_above_zero()?));
    }
    let table = node.table(RATE)?;
    if let Some(node) = table.find("steps") {
        table.only(&["steps"])?;
        return steps(&node);
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

fn steps(node: &Node<'_>) -> Result<RateSpec, ScenarioError> {
    const EXPECTED: &str = "a list of [time, rate], such as [[\"0s\", \"20Mbps\"], [\"47.74s\", \"10Mbps\"]]";
    let mut steps: Vec<(TimeDelta, RateSpec)> = Vec::new();
    let mut repeating = None;
    for step in node.list(EXPECTED)? {
        let [time, rate] = step.pair(EXPECTED)?;
        let at = time.time()?;
        match steps.last() {
            None if at != TimeDelta::ZERO => {
                return Err(time.fail("\"0s\": the first step is where the run begins"));
            }
            Some(&(before, _)) if at <= before => return Err(time.fail("a time after the step before it")),
            _ => {}
        }
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
    match table.find("steps") {
        Some(_) => Err(node.fail("a rate, a trace or a generator: steps do not nest")),
        None => recorded(&table, node),
    }
}

fn trace(table: &Table<'_>, file: &str) -> Result<RateSpec, ScenarioError> {
    let mut spec = TraceSpec::default();
    let is_json = file.trim_end_matches(".gz").ends_with(".json");
    if is_json {
        spec.options.format = TraceFormat::JsonGhent;
    }
    params::set(table, &mut spec, &[])?;
    if !is_json && table.find("format").is_none() {
        // Lines of one or two numbers can be read in more than one way.
        return Err(table.missing("format", &one_of(TraceFormat::NAMES)));
    }
    params::check(table, &spec)?;
    Ok(RateSpec::Trace(spec))
}

/// One of a family such as marks, by its `kind`.
fn family<K: Kinds>(table: &Layers<'_>, key: &str, expected: &str) -> Result<Option<K>, ScenarioError> {
    table.find(key).map(|node| chosen(&node, expected)).transpose()
}

fn chosen<K: Kinds>(node: &Node<'_>, expected: &str) -> Result<K, ScenarioError> {
    let table = node.table(expected)?;
    let mut chosen = params::kind(&table, None)?;
    params::read(&table, &mut chosen, &["kind"])?;
    Ok(chosen)
}

/// The delay noises: one, or a list of several.
fn noises(table: &Layers<'_>) -> Result<Vec<NoiseConfig>, ScenarioError> {
    const EXPECTED: &str = "delay noise such as { kind = \"rfc8868\" }, or a list of 1 to 16 of them";
    let Some(node) = table.find("noise") else { return Ok(Vec::new()) };
    if !node.is_list() {
        return Ok(vec![chosen(&node, EXPECTED)?]);
    }
    let nodes = node.list(EXPECTED)?;
    if nodes.is_empty() || nodes.len() > MAX_NOISES {
        return Err(node.fail(EXPECTED));
    }
    nodes.iter().map(|node| chosen(node, EXPECTED)).collect()
}

fn down(node: &Node<'_>) -> Result<Vec<(TimeDelta, TimeDelta)>, ScenarioError> {
    const EXPECTED: &str = "a list of [from, to], such as [[\"30s\", \"31s\"]]";
    let mut down = Vec::new();
    for interval in node.list(EXPECTED)? {
        let [from, to] = interval.pair(EXPECTED)?;
        let (from, end) = (from.time()?, to.time()?);
        if end <= from {
            return Err(to.fail("a time after the beginning of the failure"));
        }
        down.push((from, end));
    }
    down.sort_unstable();
    Ok(down)
}
