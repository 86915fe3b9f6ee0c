//! `[flows.NAME]`.

use super::controller::{self, Choice};
use super::path::Surroundings;
use super::{coupling, dccp, keys, link, path, source, tcp};
use crate::error::ScenarioError;
use crate::params;
use crate::reader::{Node, Table};
use crate::source::SourceSpec;
use crate::spec::{FlowSpec, PriorityStep, StreamLimits, StreamSpec, Transport};
use paceline_cc::{AnyController, ControllerParams, FlowSetup, ReceiverRequest};
use paceline_media::{CbrParams, PlayoutConfig};
use paceline_transport::rtp::{ClockStep, ClockSteps, FeedbackConfig, ReceiverClock, RtpIdentity};
use paceline_units::{Bytes, EcnMode, Time, TimeDelta};

pub(super) fn parse(
    name: &str,
    node: &Node<'_>,
    around: &Surroundings<'_>,
) -> Result<FlowSpec, ScenarioError> {
    let table = node.table("a table [flows.NAME]")?;
    table.only(&keys::names(keys::FLOW))?;
    let Choice { transport, controller, packet_size, limits } = controller::parse(&table)?;
    only_its_own(&table, transport, &controller.params)?;
    let usual_ecn = controller.usual_ecn();
    let ecn = table.find("ecn").map_or(Ok(usual_ecn), |node| {
        node.named(EcnMode::NAMES, EcnMode::named).map_err(|error| {
            let meant = node.as_text().and_then(EcnMode::of_codepoint);
            let hint = meant.map(|mode| format!("\"{}\"", mode.name()).into()).or(error.hint.clone());
            ScenarioError { hint, ..error }
        })
    })?;
    let tcp = match transport {
        Transport::Tcp => {
            let usual = controller.usual_tcp();
            Some(tcp::parse(&table, usual, packet_size, ecn)?)
        }
        _ => None,
    };
    let priority = coupling::priority(&table)?;
    let (start, stop) = times(&table, around)?;
    let there = (start, stop.unwrap_or(around.duration));
    let streams = streams(&table, transport, (&controller.params, limits), (&priority, there))?;
    let dccp = match transport {
        Transport::Dccp => {
            let frames = streams.iter().all(|stream| !matches!(stream.source, SourceSpec::Bulk(_)));
            let usual = controller.usual_dccp();
            Some(dccp::parse(&table, usual, controller.params.steers(), frames, packet_size)?)
        }
        _ => None,
    };
    let (path, return_path) = path::both(&table, around)?;
    Ok(FlowSpec {
        name: name.into(),
        transport,
        priority,
        streams,
        rtp: identity(&table)?,
        feedback: feedback(&table, &controller.params, ecn)?,
        record: table.find("record").map_or(Ok(Vec::new()), |node| record(&node, &controller.params))?,
        controller,
        ecn,
        tcp,
        dccp,
        return_delay: return_delay(&table, &path, &return_path, around)?,
        path,
        return_path,
        start,
        stop,
        pause: pause(&table, there.0, there.1)?,
        packet_size,
        overhead: table
            .find("overhead")
            .map_or(Ok(Bytes::ZERO), |node| node.size_within(0..=link::MAX_OVERHEAD))?,
        playout: table.find("playout").map_or(Ok(PlayoutConfig::IMMEDIATE), |node| playout(&node))?,
    })
}

fn return_delay(
    table: &Table<'_>,
    path: &[String],
    return_path: &[String],
    around: &Surroundings<'_>,
) -> Result<TimeDelta, ScenarioError> {
    match table.find("return_delay") {
        Some(node) if !return_path.is_empty() => {
            Err(node.fail("nothing: the links of return_path have delays"))
        }
        Some(node) => node.time(),
        None if !return_path.is_empty() => Ok(TimeDelta::ZERO),
        None => {
            let forward = around.links.iter().filter(|link| path.contains(&link.name));
            Ok(forward.fold(TimeDelta::ZERO, |sum, link| sum + link.delay))
        }
    }
}

fn times(
    table: &Table<'_>,
    around: &Surroundings<'_>,
) -> Result<(TimeDelta, Option<TimeDelta>), ScenarioError> {
    let start = table.find("start").map_or(Ok(TimeDelta::ZERO), |node| {
        let start = node.time()?;
        if start < around.duration { Ok(start) } else { Err(node.fail("a time before the end of the run")) }
    })?;
    let stop = table.find("stop").map(|node| {
        let stop = node.time()?;
        if stop <= start {
            return Err(node.fail("a time after the flow's start"));
        }
        if stop > around.duration {
            return Err(node.fail("a time not after the end of the run"));
        }
        Ok(stop)
    });
    Ok((start, stop.transpose()?))
}

/// The intervals in which the application is silent, in order.
fn pause(
    table: &Table<'_>,
    start: TimeDelta,
    stop: TimeDelta,
) -> Result<Vec<(TimeDelta, TimeDelta)>, ScenarioError> {
    const EXPECTED: &str = "a list of [from, to], such as [[\"30s\", \"40s\"]]";
    let Some(node) = table.find("pause") else {
        return Ok(Vec::new());
    };
    let mut pauses: Vec<(TimeDelta, TimeDelta)> = Vec::new();
    for interval in node.list(EXPECTED)? {
        let [from, to] = interval.pair(EXPECTED)?;
        let (begin, end) = (from.time()?, to.time()?);
        if begin < pauses.last().map_or(start, |(_, end)| *end) {
            return Err(
                from.fail("a time not before the flow's start, nor before the end of the pause before it")
            );
        }
        if end <= begin {
            return Err(to.fail("a time after the beginning of the pause"));
        }
        if end > stop {
            return Err(to.fail("a time not after the flow's stop"));
        }
        pauses.push((begin, end));
    }
    Ok(pauses)
}

/// Reports are RTP's and those of controlled datagrams, playout DCCP's too; what a connection does is that of its
/// transport.
fn only_its_own(
    table: &Table<'_>,
    transport: Transport,
    params: &ControllerParams,
) -> Result<(), ScenarioError> {
    if let Some(node) = table.find("feedback").filter(|_| !transport.reports(params)) {
        return Err(node.fail("nothing: feedback goes with transport rtp"));
    }
    if let Some(node) = table.find("playout").filter(|_| !transport.plays_out(params)) {
        return Err(node.fail("nothing: playout goes with transport rtp or dccp"));
    }
    if let Some(node) = table.find("tcp").filter(|_| transport != Transport::Tcp) {
        return Err(node.fail("nothing: tcp goes with transport tcp"));
    }
    if let Some(node) = table.find("rtp").filter(|_| transport != Transport::Rtp) {
        return Err(node.fail("nothing: rtp goes with transport rtp"));
    }
    if let Some(node) = table.find("bitrate").filter(|_| !transport.reports(params)) {
        return Err(node.fail("nothing: bitrate goes with transport rtp"));
    }
    match table.find("dccp") {
        Some(node) if transport != Transport::Dccp => {
            Err(node.fail("nothing: dccp goes with transport dccp"))
        }
        _ => Ok(()),
    }
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
            name: None,
            source: only_source(&node, transport, params)?,
            priority: first_weight(priority),
            limits,
            start: None,
            stop: None,
        }]),
        (None, Some(node)) => {
            if transport != Transport::Rtp {
                return Err(node.fail("source = { ... }: only transport rtp carries several streams"));
            }
            several(&node, params, limits, there)
        }
        (Some(_), Some(streams)) => Err(streams.fail(EITHER)),
        (None, None) => Err(flow.missing("source", source::SOURCE)),
    }
}

/// The source of a flow with one stream, if its transport can carry it.
fn only_source(
    node: &Node<'_>,
    transport: Transport,
    params: &ControllerParams,
) -> Result<SourceSpec, ScenarioError> {
    if transport == Transport::Tcp {
        return source::parse(node);
    }
    let source = source::parse_without_connections(node)?;
    if transport.reports(params) || transport == Transport::Dccp {
        return Ok(source);
    }
    match source {
        SourceSpec::Bulk(_) => {
            Err(node.fail("a source with a rate of its own, such as { kind = \"cbr\", rate = \"1Mbps\" }"))
        }
        SourceSpec::Codec(_) => Err(node
            .fail("a source without pictures: nothing tells datagrams of one frame from those of another")),
        // Datagrams are spaced evenly unless frames are asked for.
        SourceSpec::Cbr(cbr) if node.table(source::SOURCE)?.find("fps").is_none() => {
            Ok(SourceSpec::Cbr(CbrParams { fps: None, ..cbr }))
        }
        source => Ok(source),
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
        let stream = node.table("a table [flows.NAME.streams.STREAM]")?;
        stream.only(&keys::names(keys::STREAM))?;
        let (start, stop) = stream_times(&stream, there)?;
        streams.push(StreamSpec {
            name: Some(name.into()),
            source: source::parse_without_connections(&stream.require("source", source::SOURCE)?)?,
            priority: stream.find("priority").map_or(Ok(1.0), |node| node.number(FlowSetup::PRIORITIES))?,
            limits: controller::stream_limits(&stream, params, limits)?,
            start,
            stop,
        });
    }
    if (1..=FlowSetup::MOST_STREAMS).contains(&streams.len()) { Ok(streams) } else { Err(node.fail(STREAMS)) }
}

/// When a stream joins and leaves a flow that is there from one time to another.
fn stream_times(
    stream: &Table<'_>,
    (from, to): (TimeDelta, TimeDelta),
) -> Result<(Option<TimeDelta>, Option<TimeDelta>), ScenarioError> {
    let within = |name: &str, from: TimeDelta, expected: &str| {
        let Some(node) = stream.find(name) else { return Ok(None) };
        let at = node.time()?;
        if at < from || to < at { Err(node.fail(expected)) } else { Ok(Some(at)) }
    };
    let start = within("start", from, "a time between the flow's start and its stop")?;
    let least = start.unwrap_or(from) + TimeDelta::from_nanos(1);
    Ok((start, within("stop", least, "a time after the stream's start, and not after the flow's stop")?))
}

/// The weight of the only stream of a flow: nothing depends on it, and it is written back with the flow's.
fn first_weight(priority: &[PriorityStep]) -> f64 {
    priority.first().map_or(1.0, |step| step.priority.weight())
}

/// When the receiver reports if nobody says so: as the controller asks when it starts, else RFC 8888's usual.
fn requested_feedback(params: &ControllerParams) -> FeedbackConfig {
    let default = FeedbackConfig::default();
    match AnyController::first_request(params) {
        None => default,
        // Each packet is in four reports, so that a lost one is not taken for a lost packet.
        Some(ReceiverRequest::PacketsPerReport(packets)) => {
            let packets = u32::from(packets).max(1);
            FeedbackConfig { packets, marker: false, overlap: 3 * packets, ..default }
        }
        Some(ReceiverRequest::ReportInterval(time)) => {
            FeedbackConfig { packets: 16_384, time, marker: false, ..default }
        }
    }
}

fn feedback(
    flow: &Table<'_>,
    params: &ControllerParams,
    ecn: EcnMode,
) -> Result<FeedbackConfig, ScenarioError> {
    const FEEDBACK: &str =
        "a table such as { packets = 16, time = \"40ms\", marker = true, clock = \"1/1024s\" }";
    let mut config = requested_feedback(params);
    if let Some(node) = flow.find("feedback") {
        let table = node.table(FEEDBACK)?;
        let mut first = config.clone();
        params::read(&table, &mut first, &[])?;
        // Its clock is the format's unless it is said.
        config.clock = ReceiverClock::of(first.format);
        params::read(&table, &mut config, &[])?;
        if !config.format.tells_ecn() && ecn != EcnMode::Off {
            let expected = format!("rfc8888 with ecn = \"{}\": this format has no ECN field", ecn.name());
            return Err(table.find("format").unwrap_or(node).fail(&expected));
        }
        if let Some(node) = table.find("clock_steps") {
            config.clock_steps = clock_steps(&node)?;
        }
    }
    Ok(config)
}

fn identity(flow: &Table<'_>) -> Result<RtpIdentity, ScenarioError> {
    let mut identity = RtpIdentity::default();
    if let Some(node) = flow.find("rtp") {
        let table = node.table("a table such as { ssrc = 100, first_sequence = 0, first_timestamp = 0 }")?;
        params::read(&table, &mut identity, &[])?;
    }
    Ok(identity)
}

/// When the receiver's clock is put, and by how much.
fn clock_steps(node: &Node<'_>) -> Result<ClockSteps, ScenarioError> {
    const EXPECTED: &str =
        "a list of at most 1000 [time, time], such as [[\"10s\", \"200ms\"], [\"20s\", \"-3s\"]]";
    let mut steps: Vec<ClockStep> = Vec::new();
    for step in node.list(EXPECTED)? {
        let [at, by] = step.pair(EXPECTED)?;
        let time = Time::ZERO + at.time()?;
        if steps.last().is_some_and(|before| time <= before.at) {
            return Err(at.fail("a time after the step before it"));
        }
        const BY: &str = "a time from -1000000s to 1000000s, such as \"200ms\" or \"-3s\"";
        let span = ClockSteps::parse(by.text(BY)?).filter(|span| ClockSteps::SPANS.contains(span));
        steps.push(ClockStep { at: time, by: span.ok_or_else(|| by.fail(BY))? });
    }
    ClockSteps::new(steps).ok_or_else(|| node.fail(EXPECTED))
}

fn playout(node: &Node<'_>) -> Result<PlayoutConfig, ScenarioError> {
    let table = node.table("a playout such as { kind = \"fixed\", delay = \"100ms\" }")?;
    let mut playout: PlayoutConfig = params::kind(&table, None)?;
    params::read(&table, &mut playout, &["kind"])?;
    Ok(playout)
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
