//! `dccp = { ... }` of a flow.

use crate::error::ScenarioError;
use crate::params;
use crate::reader::Table;
use crate::spec::DccpSpec;
use paceline_cc::Steers;
use paceline_units::Bytes;
use paceline_units::text::format_size;
use paceline_wire::dccp::ServiceCode;

/// A flow's connection: `usual` where the table `dccp` of the flow does not say otherwise. `frames`: whether it carries
/// media, not a file.
pub(super) fn parse(
    flow: &Table<'_>,
    usual: DccpSpec,
    steers: Steers,
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
    params::read(&table, &mut spec, &[])?;
    if let Some(node) = table.find("ack_vector").filter(|_| !spec.ack_vector && steers == Steers::Ccid(2)) {
        return Err(node.fail("true: ccid2 lives on Ack Vectors"));
    }
    if let Some(node) = table.find("rtp").filter(|_| spec.rtp && !frames) {
        return Err(node.fail("false: a file has no frames"));
    }
    if let Some(node) = table.find("discard_age").filter(|_| !frames) {
        return Err(node.fail("nothing: a file is sent however old it is"));
    }
    if table.find("service").is_none() {
        spec.service = service(spec.rtp);
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
