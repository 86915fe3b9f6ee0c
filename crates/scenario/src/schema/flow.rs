//! `[flows.NAME]`.

use super::bitrate;
use super::controller::{self, Choice};
use super::path::Surroundings;
use super::{keys, path, source};
use crate::error::ScenarioError;
use crate::params;
use crate::priorities::PriorityStep;
use crate::reader::{Node, Table};
use crate::spec::{FlowSpec, StreamLimits, StreamSpec};
use crate::transports::{FlowTable, Transport};
use paceline_cc::{AnyController, ControllerParams, FlowSetup};
use paceline_units::{EcnMode, TimeDelta};

const PLAYOUT: &str = "a playout such as { kind = \"fixed\", delay = \"100ms\" }";

pub(super) fn parse(
    name: &str,
    node: &Node<'_>,
    around: &Surroundings<'_>,
) -> Result<FlowSpec, ScenarioError> {
    let table = node.table("a table [flows.NAME]")?;
    table.only(&keys::names(keys::FLOW))?;
    let Choice { transport, controller, packet_size, limits } = controller::parse(&table)?;
    let mut flow = FlowSpec { name: name.into(), ecn: controller.usual_ecn(), ..FlowSpec::default() };
    transport.check_keys(&table, controller.params.steers())?;
    params::set_some(&table, &mut flow).map_err(|error| codepoint_meant(&table, error))?;
    flow.in_time(around.duration).map_err(|error| params::blame(&table, &error))?;
    let there = (flow.start, flow.stop.unwrap_or(around.duration));
    flow.packet_size = packet_size;
    flow.streams = streams(&table, transport, (&controller.params, limits), (&flow.priority, there))?;
    let ecn = flow.ecn;
    let own = FlowTable { table: &table, controller: &controller, packet_size, ecn, streams: &flow.streams };
    flow.transport = transport.read(&own)?;
    (flow.path, flow.return_path) = path::both(&table, around)?;
    if table.find("return_delay").is_none() && flow.return_path.is_empty() {
        let forward = around.links.iter().filter(|link| flow.path.contains(&link.name));
        for link in forward {
            let way_back = || {
                let expected = format!("a time, or return_path: the delay of link {} is recorded", link.name);
                table.missing("return_delay", &expected)
            };
            flow.return_delay += link.delay.first().ok_or_else(way_back)?;
        }
    }
    flow.playout = params::family(&table, "playout", PLAYOUT)?.unwrap_or_default();
    flow.record = table.find("record").map_or(Ok(Vec::new()), |node| record(&node, &controller.params))?;
    flow.controller = controller;
    params::check(&table, &flow)?;
    Ok(flow)
}

/// The error with a hint where the wrong value of `ecn` names a codepoint.
fn codepoint_meant(table: &Table<'_>, error: ScenarioError) -> ScenarioError {
    let given = table.find("ecn").filter(|_| error.key.ends_with(".ecn"));
    let meant = given.and_then(|node| node.as_text()).and_then(EcnMode::of_codepoint);
    let hint = meant.map(|mode| format!("\"{}\"", mode.name()).into()).or(error.hint.clone());
    ScenarioError { hint, ..error }
}

fn streams(
    flow: &Table<'_>,
    transport: Transport,
    (params, limits): (&ControllerParams, Option<StreamLimits>),
    (priority, there): (&[PriorityStep], (TimeDelta, TimeDelta)),
) -> Result<Vec<StreamSpec>, ScenarioError> {
    const EITHER: &str = "either source = { ... } or tables [flows.NAME.streams.STREAM]";
    match (flow.find("source"), flow.find("streams")) {
        (Some(node), None) => Ok(vec![StreamSpec {
            source: transport.source(&node, params.steers())?,
            priority: first_weight(priority),
            limits,
            ..StreamSpec::default()
        }]),
        (None, Some(node)) => {
            if !transport.has_several_streams() {
                let carriers = Transport::of_several_streams();
                return Err(node.fail(&format!(
                    "source = {{ ... }}: only transport {carriers} carries several streams"
                )));
            }
            several(&node, params, limits, there)
        }
        (Some(_), Some(streams)) => Err(streams.fail(EITHER)),
        (None, None) => Err(flow.missing("source", source::SOURCE)),
    }
}

/// The streams of a flow that is there from one time to another.
fn several(
    node: &Node<'_>,
    params: &ControllerParams,
    limits: Option<StreamLimits>,
    there: (TimeDelta, TimeDelta),
) -> Result<Vec<StreamSpec>, ScenarioError> {
    const STREAMS: &str = "from 1 to 64 tables [flows.NAME.streams.STREAM]";
    let table = node.table(STREAMS)?;
    let mut streams = Vec::new();
    for (name, node) in super::named(&table)? {
        let table = node.table("a table [flows.NAME.streams.STREAM]")?;
        table.only(&keys::names(keys::STREAM))?;
        let mut stream = StreamSpec { name: Some(name.into()), ..StreamSpec::default() };
        params::set_some(&table, &mut stream)?;
        stream.in_time(there).map_err(|error| params::blame(&table, &error))?;
        stream.source = source::parse_without_connections(&table.require("source", source::SOURCE)?)?;
        stream.limits = bitrate::of_stream(&table, params, limits)?;
        streams.push(stream);
    }
    if (1..=FlowSetup::MOST_STREAMS).contains(&streams.len()) { Ok(streams) } else { Err(node.fail(STREAMS)) }
}

/// The weight of the only stream of a flow: nothing depends on it, and it is written back with the flow's.
fn first_weight(priority: &[PriorityStep]) -> f64 {
    priority.first().map_or(1.0, |step| step.priority.weight())
}

/// Which inner states are recorded: all of them, none, or those named.
fn record(node: &Node<'_>, params: &ControllerParams) -> Result<Vec<String>, ScenarioError> {
    let known: Vec<_> = AnyController::states_of(params).iter().map(|state| state.name).collect();
    if let Some(all) = node.as_flag() {
        return Ok(if all { known.into_iter().map(String::from).collect() } else { Vec::new() });
    }
    let expected = format!("true, or a list of inner states: {}", known.join(", "));
    let mut names: Vec<String> = Vec::new();
    for item in node.list(&expected)? {
        let name = item.text(&expected)?;
        if !known.contains(&name) {
            return Err(item.fail_near(&expected, name, &known));
        }
        if !names.iter().any(|other| other == name) {
            names.push(name.into());
        }
    }
    Ok(names)
}
