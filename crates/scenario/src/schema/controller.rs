//! `controller = { kind, profile, NAME = value }`.

use super::bitrate;
use crate::error::ScenarioError;
use crate::params;
use crate::reader::{Node, Table};
use crate::spec::{ControllerSpec, StreamLimits};
use crate::transports::Transport;
use paceline_cc::ControllerParams;
use paceline_units::Bytes;
use paceline_units::param::{ParamSet, Spec, Value};
use paceline_units::text::{format_size, one_of};

const CONTROLLER: &str = "a controller such as { kind = \"scream\", profile = \"rfc8298\" }";
const NO_CONTROLLER: &str = "a controller such as \"tempo\", or a transport that brings one, such as \"rtp\"";

/// The controller of a flow, its transport, and the size of its largest packet: one choice. `packet_size` is `mss` and the transport's
/// header.
pub(super) struct Choice {
    pub(super) transport: Transport,
    pub(super) controller: ControllerSpec,
    pub(super) packet_size: Bytes,
    /// The limits of streams that say none: the flow's, and for the rest those of the controller, if it has such parameters.
    pub(super) limits: Option<StreamLimits>,
}

/// Reads a flow's transport, controller and largest packet.
pub(super) fn parse(flow: &Table<'_>) -> Result<Choice, ScenarioError> {
    let given = flow.find("transport");
    let wanted = given.as_ref().map(|node| node.named(Transport::NAMES, Transport::named)).transpose()?;
    let node = match (flow.find("controller"), wanted) {
        (Some(node), _) => node,
        (None, wanted) => match wanted.and_then(|wanted| Some((wanted, wanted.usual_controller()?))) {
            Some((wanted, usual)) => return named(flow, usual, |_| Ok(wanted)),
            None => return Err(flow.missing("controller", NO_CONTROLLER)),
        },
    };
    let transport = |params: &ControllerParams| {
        let offered = Transport::carrying(params);
        match (&given, wanted) {
            (Some(node), Some(wanted)) if !offered.contains(&wanted) => {
                let names: Vec<_> = offered.iter().map(|transport| transport.name()).collect();
                Err(node.fail(&format!("{}, with the controller {}", one_of(&names), params.kind())))
            }
            (_, Some(wanted)) => Ok(wanted),
            _ => Ok(Transport::usual_of(params)),
        }
    };
    if node.as_text().is_some() {
        return named(flow, node.name(&ControllerParams::kinds())?, transport);
    }
    let table = node.table(CONTROLLER)?;
    let (mut params, profile) = params::profiled(&table)?;
    let transport = transport(&params)?;
    params::set(&table, &mut params, &["kind", "profile"])?;
    finish(flow, Some(&table), transport, ControllerSpec { profile: profile.into(), params })
}

/// The controller of a kind that there is, as it comes.
fn named(
    flow: &Table<'_>,
    kind: &str,
    transport: impl FnOnce(&ControllerParams) -> Result<Transport, ScenarioError>,
) -> Result<Choice, ScenarioError> {
    let Some((params, profile)) = ControllerParams::with_profile(kind, None) else {
        return Err(flow.fail(kind, &one_of(&ControllerParams::kinds())));
    };
    let transport = transport(&params)?;
    finish(flow, None, transport, ControllerSpec { profile: profile.into(), params })
}

fn finish(
    flow: &Table<'_>,
    table: Option<&Table<'_>>,
    transport: Transport,
    spec: ControllerSpec,
) -> Result<Choice, ScenarioError> {
    let mss = table.and_then(|table| table.find("mss"));
    let (mut params, packet_size) = packet_size(flow, mss, transport, spec.params)?;
    let said = bitrate::set(flow, table, &mut params)?;
    fit_start(table, &mut params);
    params::check(table.unwrap_or(flow), &params)?;
    let controller = ControllerSpec { profile: spec.profile, params };
    let own = || controller.has_limits().then(|| StreamLimits::of(&controller.params));
    let limits = said.or_else(own);
    Ok(Choice { transport, controller, packet_size, limits })
}

/// The size by `packet_size` and `mss` together: one follows from the other, and both must agree.
fn packet_size(
    flow: &Table<'_>,
    mss: Option<Node<'_>>,
    transport: Transport,
    mut params: ControllerParams,
) -> Result<(ControllerParams, Bytes), ScenarioError> {
    let header = transport.header();
    let of_mss = match params.value("mss") {
        Some(Value::Size(mss)) => Some(mss + header),
        _ => None,
    };
    let Some(node) = flow.find("packet_size") else {
        return Ok((params, of_mss.unwrap_or(transport.packet_size())));
    };
    let size = node.size_within(header.as_u64() + 1..=65_535)?;
    match (of_mss, mss) {
        (Some(other), Some(_)) if other != size => {
            let (other, header) = (format_size(other), header.as_u64());
            return Err(node.fail(&format!("\"{other}\": the controller's mss and {header} B of header")));
        }
        (Some(_), None) => {
            let payload = Value::Size(size - header);
            let spec = params.specs().iter().find(|spec| spec.name == "mss");
            let range = spec.map(Spec::expected).unwrap_or_default();
            params.set("mss", payload).map_err(|_| {
                node.fail(&format!("{} B more than an mss, which is {range}", header.as_u64()))
            })?;
        }
        _ => {}
    }
    Ok((params, size))
}

/// A first target that nobody gave follows the limits that somebody did.
fn fit_start(table: Option<&Table<'_>>, params: &mut ControllerParams) {
    if table.is_none_or(|table| table.find("target_bitrate_start").is_none()) {
        params.start_within_limits();
    }
}
