//! `tcp = { ... }` of a flow.

use crate::error::ScenarioError;
use crate::params;
use crate::reader::{Node, Table};
use paceline_transport::tcp::{EcnEcho, TcpConfig};
use paceline_units::Bytes;
use paceline_units::EcnMode;

/// A flow's connection: `usual` where the table `tcp` of the flow does not say otherwise.
pub(super) fn parse(
    flow: &Table<'_>,
    usual: TcpConfig,
    packet_size: Bytes,
    ecn: EcnMode,
) -> Result<TcpConfig, ScenarioError> {
    let mut config = TcpConfig { packet_size, ect: ecn.codepoint(), ..usual };
    let Some(node) = flow.find("tcp") else {
        return Ok(config);
    };
    let table = node.table("a table such as { ack_every = 2, initial_window = 10 }")?;
    params::read(&table, &mut config, &["max_window"])?;
    if let Some(node) = table.find("ecn_echo")
        && (ecn, usual.ecn_echo, config.ecn_echo) == (EcnMode::L4s, EcnEcho::Accurate, EcnEcho::Rfc3168)
    {
        return Err(
            node.fail("accurate or exact: with ecn l4s each mark is to be told (RFC 9331 section 4.2)")
        );
    }
    config.max_window = table.find("max_window").map(|node| window(&node, packet_size)).transpose()?;
    Ok(config)
}

/// A window in packets or in bytes, header in; at least a packet.
fn window(node: &Node<'_>, packet_size: Bytes) -> Result<Bytes, ScenarioError> {
    const LARGEST: u64 = 1 << 30;
    if node.as_text().is_some() {
        return node.size_within(packet_size.as_u64()..=LARGEST);
    }
    let packets = node.count(1..=LARGEST / packet_size.as_u64().max(1))?;
    Ok(Bytes::new(packets * packet_size.as_u64()))
}
