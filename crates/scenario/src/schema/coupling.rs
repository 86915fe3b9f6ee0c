//! `[coupling.NAME]`: flows of one host that share their rates.

use super::{FlowRange, keys, named};
use crate::error::ScenarioError;
use crate::params;
use crate::reader::{Node, Table};
use crate::spec::{CouplingSpec, FlowSpec, LinkSpec, TruthStep};
use crate::transports::Transport;
use paceline_cc::shared_bottleneck::{self, SummaryEnd};
use paceline_cc::{AnyController, CouplingParams};
use paceline_units::TimeDelta;
use paceline_units::param::{ParamSet, Value};
use paceline_units::text::one_of;
use std::ops::Range;

const GROUPS: &str = "either flows = [\"a\", \"b\"], or groups = [[\"a\", \"b\"], [\"c\"]]";
const TRUTH: &str = "steps of a time and groups, such as [[\"0s\", [[\"a\", \"b\"]]], [\"60s\", []]]";

/// Reads the couplings of a scenario with these flows, which come from these tables.
pub(super) fn parse(
    root: &Table<'_>,
    flows: &[FlowSpec],
    ranges: &[FlowRange<'_>],
    links: &[LinkSpec],
) -> Result<Vec<CouplingSpec>, ScenarioError> {
    let mut taken: Vec<(usize, &str)> = Vec::new();
    let mut couplings = Vec::new();
    let tables = root.find("coupling").map(|node| node.table("tables [coupling.NAME]")).transpose()?;
    for (name, node) in tables.as_ref().map_or(Ok(Vec::new()), named)? {
        let table = node.table("a table [coupling.NAME]")?;
        let (mut params, profile): (CouplingParams, _) = params::profiled(&table)?;
        let detection = detection(&table)?;
        if detection.is_some() {
            // Refused by a kind that leaves no choice.
            let _ = params.set("leaving", Value::Name("subtract"));
        }
        params::read(&table, &mut params, &keys::names(keys::COUPLING))?;
        let nodes = match (table.find("flows"), table.find("groups")) {
            (Some(flows), None) => vec![flows],
            (None, Some(groups)) => groups.list(GROUPS)?,
            (None, None) => return Err(table.missing("flows", GROUPS)),
            (Some(_), Some(groups)) => return Err(groups.fail(GROUPS)),
        };
        let mut groups = Vec::new();
        for node in nodes {
            groups.push(group(&node, name, (flows, ranges), &mut taken)?);
        }
        if let (Some(node), Some(_)) = (table.find("groups").filter(|_| groups.len() > 1), &detection) {
            return Err(node.fail("flows = [\"a\", \"b\"]: detection forms the groups"));
        }
        if let (Some(node), Some(params)) = (table.find("detection"), &detection) {
            can_detect(&node, params, groups.iter().flatten().map(|&flow| &flows[flow]))?;
        }
        let truth = truth(&table, detection.is_some(), &groups.concat(), (flows, ranges))?;
        let coupling =
            CouplingSpec { name: name.into(), params, profile: profile.into(), groups, detection, truth };
        one_host(&coupling, &node, flows, links)?;
        couplings.push(coupling);
    }
    priorities_count(root, ranges, &taken)?;
    Ok(couplings)
}

/// A flow of several streams has a priority only where it shares with other flows.
fn priorities_count(
    root: &Table<'_>,
    ranges: &[FlowRange<'_>],
    sharing: &[(usize, &str)],
) -> Result<(), ScenarioError> {
    let Some(table) = root.find("flows") else { return Ok(()) };
    for ((_, node), (_, copies)) in named(&table.table("tables [flows.NAME]")?)?.iter().zip(ranges) {
        let flow = node.table("a table [flows.NAME]")?;
        let shares = || sharing.iter().any(|(flow, _)| copies.contains(flow));
        if let (Some(priority), Some(_)) = (flow.find("priority"), flow.find("streams"))
            && !shares()
        {
            return Err(priority
                .fail("nothing: each stream has its own priority, and the flow is in no [coupling.NAME]"));
        }
    }
    Ok(())
}

/// How shared bottlenecks are detected, if they are.
fn detection(table: &Table<'_>) -> Result<Option<shared_bottleneck::Params>, ScenarioError> {
    let Some(node) = table.find("detection") else { return Ok(None) };
    let table = node.table("a table such as { at = \"receiver\", T = \"350ms\" }, or {}")?;
    let mut detection = params::profile(&table)?;
    params::read(&table, &mut detection, &["profile"])?;
    Ok(Some(detection))
}

/// When a step begins: the first at 0 s, each other after the one before.
fn begin(at: &Node<'_>, before: Option<TimeDelta>) -> Result<TimeDelta, ScenarioError> {
    let begin = at.time()?;
    match before {
        None if begin != TimeDelta::ZERO => {
            Err(at.fail("\"0s\": the first step is the truth from the beginning"))
        }
        Some(before) if begin <= before => Err(at.fail("a time after that of the step before")),
        _ => Ok(begin),
    }
}

/// Which of the flows of a coupling share a bottleneck in truth, over time; empty where that is not said.
fn truth(
    table: &Table<'_>,
    detects: bool,
    members: &[usize],
    flows: (&[FlowSpec], &[FlowRange<'_>]),
) -> Result<Vec<TruthStep>, ScenarioError> {
    let Some(node) = table.find("truth") else { return Ok(Vec::new()) };
    if !detects {
        return Err(node.fail("nothing without `detection`: what it decides is judged by it"));
    }
    let mut steps: Vec<TruthStep> = Vec::new();
    for step in node.list(TRUTH)? {
        let [at, groups] = step.pair(TRUTH)?;
        let begin = begin(&at, steps.last().map(|step| step.at))?;
        let (mut named, mut sharing) = (Vec::new(), Vec::new());
        for group in groups.list(TRUTH)? {
            sharing.push(sharers(&group, members, flows, &mut named)?);
        }
        steps.push(TruthStep { at: begin, groups: sharing });
    }
    if steps.is_empty() { Err(node.fail(TRUTH)) } else { Ok(steps) }
}

/// The flows of a group of the truth: of the coupling's `members`, each `named` once.
fn sharers(
    node: &Node<'_>,
    members: &[usize],
    (flows, ranges): (&[FlowSpec], &[FlowRange<'_>]),
    named: &mut Vec<usize>,
) -> Result<Vec<usize>, ScenarioError> {
    let mut group = Vec::new();
    for node in node.list("a list of names of flows")? {
        let name = node.text("the name of a flow")?;
        let meant: Vec<usize> = called(name, flows, ranges).into_iter().flatten().collect();
        if meant.is_empty() || meant.iter().any(|flow| !members.contains(flow) || named.contains(flow)) {
            let names: Vec<_> = members.iter().map(|&flow| flows[flow].name.as_str()).collect();
            return Err(node.fail(&format!("a flow of this coupling, each once: {}", one_of(&names))));
        }
        named.extend(&meant);
        group.extend(meant);
    }
    Ok(group)
}

/// Each flow must tell of its delays: in reports of its receiver, or where the sender summarises in RFC 8888's.
fn can_detect<'a>(
    node: &Node<'_>,
    detection: &shared_bottleneck::Params,
    flows: impl Iterator<Item = &'a FlowSpec>,
) -> Result<(), ScenarioError> {
    for flow in flows {
        let params = &flow.controller.params;
        if !flow.transport.choice().reports(params.steers()) {
            let (reporting, name) = (Transport::reporting(), flow.transport.name());
            let expected = format!("flows over {reporting}; \"{}\" goes over {name}", flow.name);
            return Err(node.fail(&expected));
        }
        if detection.at == SummaryEnd::Sender && AnyController::receiver_half(params).is_some() {
            let kind = params.kind();
            return Err(node.fail(&format!(
                "at = \"receiver\": {kind}, which steers \"{}\", has reports of its own that say nothing of single packets",
                flow.name
            )));
        }
    }
    Ok(())
}

/// The flow of this name, or all copies of the flow with `count` of this name, by their numbers; `*` is every flow.
fn called(name: &str, flows: &[FlowSpec], ranges: &[FlowRange<'_>]) -> Option<Range<usize>> {
    if name == "*" {
        return Some(0..flows.len());
    }
    let one = flows.iter().position(|flow| flow.name == name).map(|flow| flow..flow + 1);
    one.or_else(|| ranges.iter().find(|(table, _)| *table == name).map(|(_, copies)| copies.clone()))
}

/// The flows of one group, by their numbers. A name stands for a flow, for all copies of a flow with `count`, or
/// for every flow.
fn group<'a>(
    node: &Node<'_>,
    coupling: &'a str,
    (flows, ranges): (&[FlowSpec], &[FlowRange<'_>]),
    taken: &mut Vec<(usize, &'a str)>,
) -> Result<Vec<usize>, ScenarioError> {
    let mut group = Vec::new();
    for node in node.list("a list of names of flows")? {
        let name = node.text("the name of a flow")?;
        let Some(meant) = called(name, flows, ranges) else {
            let names: Vec<_> = flows.iter().map(|flow| flow.name.as_str()).collect();
            return Err(node.name(&names).err().unwrap_or_else(|| node.fail("the name of a flow")));
        };
        for flow in meant {
            if let Some((_, other)) = taken.iter().find(|(known, _)| *known == flow) {
                return Err(
                    node.fail(&format!("a flow that shares nowhere else: it does in [coupling.{other}]"))
                );
            }
            can_share(&node, &flows[flow])?;
            taken.push((flow, coupling));
            group.push(flow);
        }
    }
    if group.is_empty() { Err(node.fail("at least one flow")) } else { Ok(group) }
}

/// A flow shares by what its controller steers; where there is nothing to replace, it cannot.
fn can_share(node: &Node<'_>, flow: &FlowSpec) -> Result<(), ScenarioError> {
    if !flow.controller.params.can_share() {
        let kind = flow.controller.params.kind();
        let which =
            format!("flows whose controllers share with others: \"{kind}\", of {}, does not", flow.name);
        return Err(node.fail(&which));
    }
    if let Some(stream) = flow.streams.iter().find(|stream| stream.source.has_connections()) {
        let expected =
            format!("a flow of one connection: {} opens many, under a controller each", stream.source.kind());
        return Err(node.fail(&expected));
    }
    Ok(())
}

/// An exchange is within one machine: where links have ends, the first links of its flows begin at one node.
fn one_host(
    coupling: &CouplingSpec,
    node: &Node<'_>,
    flows: &[FlowSpec],
    links: &[LinkSpec],
) -> Result<(), ScenarioError> {
    let begins = |flow: usize| {
        let first = flows[flow].path.first()?;
        links.iter().find(|link| link.name == *first)?.from.as_deref()
    };
    let mut nodes: Vec<&str> = coupling.groups.iter().flatten().filter_map(|&flow| begins(flow)).collect();
    nodes.dedup();
    match nodes.as_slice() {
        [one, other, ..] => {
            let expected = format!("flows that leave one node; these leave \"{one}\" and \"{other}\"");
            Err(node.fail(&expected))
        }
        _ => Ok(()),
    }
}
