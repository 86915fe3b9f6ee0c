//! `controller = { kind, profile, NAME = value }` and the limits of streams.

use crate::error::ScenarioError;
use crate::params;
use crate::reader::{Node, Table};
use crate::spec::{ControllerSpec, StreamLimits, Transport};
use paceline_cc::ControllerParams;
use paceline_units::param::{ParamSet, Spec, Value};
use paceline_units::text::one_of;
use paceline_units::{Bitrate, Bytes};

const CONTROLLER: &str = "a controller such as { kind = \"scream\", profile = \"rfc8298\" }";
/// Controllers of later versions.
const NOT_YET: [&str; 3] = ["scream2", "nada", "learned"];
/// The three parameters that limit a stream.
const LIMITS: [&str; 3] = ["target_bitrate_min", "target_bitrate_start", "target_bitrate_max"];

/// RTP's header, which `packet_size` counts and `mss` does not.
const RTP_HEADER: u64 = 12;
/// The largest packet of a flow whose controller does not say: RTP over a 1500 B path with room to spare.
const RTP_PACKET_SIZE: u64 = 1212;
/// That of the other transports, which fill the path (RFC 8868 section 4.6).
const FULL_PACKET_SIZE: u64 = 1500;

/// What steers a flow over which transport, and the size of its largest packet: one choice. `packet_size` is `mss` + 12.
pub(super) struct Choice {
    pub(super) transport: Transport,
    pub(super) controller: ControllerSpec,
    pub(super) packet_size: Bytes,
}

/// Reads a flow's transport, controller and largest packet.
pub(super) fn parse(flow: &Table<'_>) -> Result<Choice, ScenarioError> {
    let given = flow.find("transport");
    let wanted = given.as_ref().map(|node| node.named(Transport::NAMES, Transport::named)).transpose()?;
    let node = match (flow.find("controller"), wanted) {
        (Some(node), _) => node,
        // Datagrams are not controlled unless somebody says so.
        (None, Some(Transport::Udp)) => return named(flow, "none", |_| Ok(Transport::Udp)),
        (None, _) => return Err(flow.missing("controller", CONTROLLER)),
    };
    let transport = |params: &ControllerParams| {
        let offered = Transport::steered_by(params.steers());
        match (&given, wanted) {
            (Some(node), Some(wanted)) if !offered.contains(&wanted) => {
                let names: Vec<_> = offered.iter().map(|transport| transport.name()).collect();
                Err(node.fail(&format!("{}, with the controller {}", one_of(&names), params.kind())))
            }
            (_, Some(wanted)) => Ok(wanted),
            _ => Ok(offered[0]),
        }
    };
    if node.as_text().is_some() {
        return named(flow, node.name(ControllerParams::KINDS, &NOT_YET)?, transport);
    }
    let table = node.table(CONTROLLER)?;
    let (mut params, profile) = params::profiled(&table, &NOT_YET)?;
    let transport = transport(&params)?;
    params::set(&table, &mut params, &["kind", "profile"])?;
    finish(flow, &table, transport, ControllerSpec { profile: profile.into(), params })
}

/// The controller of a kind that there is, as it comes.
fn named(
    flow: &Table<'_>,
    kind: &str,
    transport: impl FnOnce(&ControllerParams) -> Result<Transport, ScenarioError>,
) -> Result<Choice, ScenarioError> {
    let Some((params, profile)) = ControllerParams::with_profile(kind, None) else {
        return Err(flow.fail(kind, &one_of(ControllerParams::KINDS)));
    };
    let transport = transport(&params)?;
    let (params, packet_size) = packet_size(flow, None, transport, params)?;
    Ok(Choice { transport, controller: ControllerSpec { profile: profile.into(), params }, packet_size })
}

fn finish(
    flow: &Table<'_>,
    table: &Table<'_>,
    transport: Transport,
    spec: ControllerSpec,
) -> Result<Choice, ScenarioError> {
    let (mut params, packet_size) = packet_size(flow, table.find("mss"), transport, spec.params)?;
    fit_start(table, &mut params);
    params::check(table, &params)?;
    Ok(Choice { transport, controller: ControllerSpec { profile: spec.profile, params }, packet_size })
}

/// What `packet_size` and `mss` say together: one follows from the other, and both must agree.
fn packet_size(
    flow: &Table<'_>,
    mss: Option<Node<'_>>,
    transport: Transport,
    mut params: ControllerParams,
) -> Result<(ControllerParams, Bytes), ScenarioError> {
    let of_mss = match params.value("mss") {
        Some(Value::Size(mss)) => Some(mss.as_u64() + RTP_HEADER),
        _ => None,
    };
    let Some(node) = flow.find("packet_size") else {
        let usual = if transport == Transport::Rtp { RTP_PACKET_SIZE } else { FULL_PACKET_SIZE };
        return Ok((params, Bytes::new(of_mss.unwrap_or(usual))));
    };
    let size = node.size_within(transport.header().as_u64() + 1..=65_535)?.as_u64();
    match (of_mss, mss) {
        (Some(other), Some(_)) if other != size => {
            let other = paceline_units::text::format_size(Bytes::new(other));
            return Err(node.fail(&format!("\"{other}\": the controller's mss and 12 B of RTP header")));
        }
        (Some(_), None) => {
            let payload = Value::Size(Bytes::new(size - RTP_HEADER));
            let spec = params.specs().iter().find(|spec| spec.name == "mss");
            let range = spec.map(Spec::expected).unwrap_or_default();
            params
                .set("mss", payload)
                .map_err(|_| node.fail(&format!("12 B more than an mss, which is {range}")))?;
        }
        _ => {}
    }
    Ok((params, Bytes::new(size)))
}

/// A first target that nobody gave follows the limits that somebody did.
fn fit_start(table: &Table<'_>, params: &mut ControllerParams) {
    if table.find("target_bitrate_start").is_none() {
        params.start_within_limits();
    }
}

/// The limits of a stream as the controller's parameters say them, if it has such parameters.
pub(super) fn limits(params: &ControllerParams) -> Option<StreamLimits> {
    let rate = |name: &str| match params.value(name) {
        Some(Value::Rate(rate)) => Some(rate),
        _ => None,
    };
    let [min, start, max] = LIMITS.map(rate);
    Some(StreamLimits { min: min?, start: start?, max: max? })
}

/// The limits of one of several streams: its own, and for the rest those of the controller, if it has such parameters.
pub(super) fn stream_limits(
    stream: &Table<'_>,
    params: &ControllerParams,
) -> Result<Option<StreamLimits>, ScenarioError> {
    let given = LIMITS.map(|name| stream.find(name));
    let default = match limits(params) {
        Some(default) => default,
        None if given.iter().all(Option::is_none) => return Ok(None),
        None => StreamLimits::NONE,
    };
    let rate = |node: &Option<Node<'_>>, default: Bitrate| {
        node.as_ref().map_or(Ok(default), |node| node.rate_above_zero())
    };
    let (min, max) = (rate(&given[0], default.min)?, rate(&given[2], default.max)?);
    let start = rate(&given[1], default.start.max(min).min(max))?;
    if min <= start && start <= max {
        return Ok(Some(StreamLimits { min, start, max }));
    }
    Err(stream
        .fail("limits out of order", "target_bitrate_min <= target_bitrate_start <= target_bitrate_max"))
}
