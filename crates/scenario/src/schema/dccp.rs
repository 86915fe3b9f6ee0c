//! `dccp = { ... }` of a flow.

use crate::error::ScenarioError;
use crate::quantity::format_size;
use crate::reader::Table;
use crate::spec::DccpSpec;
use paceline_transport::dccp::{SEQUENCE_WINDOW_MAX, SEQUENCE_WINDOW_MIN};
use paceline_units::Bytes;
use paceline_wire::dccp::ServiceCode;

const KEYS: [&str; 11] = [
    "sequence_window",
    "ack_vector",
    "handshake",
    "short_numbers",
    "ack_delay",
    "ack_at_once",
    "service",
    "rtp",
    "discard_age",
    "options",
    "header",
];

/// The longest header (RFC 4340 section 5).
const LONGEST_HEADER: u64 = 1020;

/// A flow's connection: `usual` where the table `dccp` of the flow does not say otherwise. `frames`: whether it carries
/// media, not a file.
pub(super) fn parse(
    flow: &Table<'_>,
    usual: DccpSpec,
    controller: &str,
    frames: bool,
    packet_size: Bytes,
) -> Result<DccpSpec, ScenarioError> {
    let mut spec =
        DccpSpec { rtp: usual.rtp && frames, discard_age: usual.discard_age.filter(|_| frames), ..usual };
    let service = |rtp| if rtp { ServiceCode::RTP_VIDEO } else { ServiceCode::NONE };
    spec.service = service(spec.rtp);
    let Some(node) = flow.find("dccp") else {
        return fits(flow, spec, packet_size);
    };
    let table = node.table("a table such as { sequence_window = 10000, handshake = true }")?;
    table.only(&KEYS)?;
    let flag = |key: &str, usual: bool| table.find(key).map_or(Ok(usual), |node| node.flag());
    if let Some(node) = table.find("sequence_window") {
        spec.sequence_window = node.count(SEQUENCE_WINDOW_MIN..=SEQUENCE_WINDOW_MAX)?;
    }
    if let Some(node) = table.find("ack_vector") {
        spec.ack_vector = node.flag()?;
        if !spec.ack_vector && controller == "ccid2" {
            return Err(node.fail("true: ccid2 lives on Ack Vectors"));
        }
    }
    spec.handshake = flag("handshake", usual.handshake)?;
    spec.short_numbers = flag("short_numbers", usual.short_numbers)?;
    if let Some(node) = table.find("ack_delay") {
        spec.ack_delay = node.time_above_zero()?;
    }
    spec.ack_at_once = flag("ack_at_once", usual.ack_at_once)?;
    if let Some(node) = table.find("rtp") {
        spec.rtp = node.flag()?;
        if spec.rtp && !frames {
            return Err(node.fail("false: a file has no frames"));
        }
        spec.service = service(spec.rtp);
    }
    if let Some(node) = table.find("discard_age") {
        spec.discard_age = Some(node.time_above_zero()?);
        if !frames {
            return Err(node.fail("nothing: a file is sent however old it is"));
        }
    }
    if let Some(node) = table.find("service") {
        const SERVICE: &str = "a service code such as \"SC:call\", \"SC=42\" or \"SC=x2A\"";
        spec.service = node.text(SERVICE)?.parse::<ServiceCode>().map_err(|_| node.fail(SERVICE))?;
    }
    if let Some(node) = table.find("options") {
        spec.options = node.size_within(0..=LONGEST_HEADER)?;
    }
    if let Some(node) = table.find("header") {
        spec.header = Some(node.size_within(0..=LONGEST_HEADER)?);
    }
    fits(flow, spec, packet_size)
}

/// A packet must have room for a byte of payload.
fn fits(flow: &Table<'_>, spec: DccpSpec, packet_size: Bytes) -> Result<DccpSpec, ScenarioError> {
    let header = spec.header() + spec.rtp_header();
    if packet_size > header {
        return Ok(spec);
    }
    let found = format!("packet_size \"{}\"", format_size(packet_size));
    Err(flow.fail(&found, &format!("more than the header of \"{}\"", format_size(header))))
}
