//! `tcp = { ... }` of a flow.

use crate::error::ScenarioError;
use crate::reader::{Node, Table};
use crate::spec::EcnMode;
use paceline_transport::tcp::{EcnEcho, RecoveryKind, TcpConfig};
use paceline_units::{Bytes, Ecn, TimeDelta};

const KEYS: [&str; 16] = [
    "ack_every",
    "ack_delay",
    "recovery",
    "initial_window",
    "initial_rto",
    "min_rto",
    "max_rto",
    "clock",
    "one_sample",
    "handshake",
    "max_window",
    "duplicate_acks",
    "limited_transmit",
    "prr",
    "impatient",
    "ecn_echo",
];
/// Ways of recovery by name.
pub(crate) const RECOVERY: [(&str, RecoveryKind); 4] = [
    ("tahoe", RecoveryKind::Tahoe),
    ("reno", RecoveryKind::Reno),
    ("newreno", RecoveryKind::NewReno),
    ("sack", RecoveryKind::Sack),
];
/// Ways of telling marks by name.
pub(crate) const ECHO: [(&str, EcnEcho); 2] = [("rfc3168", EcnEcho::Rfc3168), ("exact", EcnEcho::Exact)];

/// A flow's connection: `usual` where the table `tcp` of the flow does not say otherwise.
pub(super) fn parse(
    flow: &Table<'_>,
    usual: TcpConfig,
    packet_size: Bytes,
    ecn: EcnMode,
) -> Result<TcpConfig, ScenarioError> {
    let ect = match ecn {
        EcnMode::Off => Ecn::NotEct,
        EcnMode::Classic => Ecn::Ect0,
        EcnMode::L4s => Ecn::Ect1,
    };
    let mut config = TcpConfig { packet_size, ect, ..usual };
    let Some(node) = flow.find("tcp") else {
        return Ok(config);
    };
    let table = node.table("a table such as { ack_every = 2, initial_window = 10 }")?;
    table.only(&KEYS)?;
    let count = |key: &str, usual: u64, range| table.find(key).map_or(Ok(usual), |node| node.count(range));
    let time = |key: &str, usual: TimeDelta| table.find(key).map_or(Ok(usual), |node| node.time_above_zero());
    let flag = |key: &str, usual: bool| table.find(key).map_or(Ok(usual), |node| node.flag());
    config.ack_every = count("ack_every", u64::from(usual.ack_every), 1..=1_000)? as u32;
    config.ack_delay = time("ack_delay", usual.ack_delay)?;
    config.recovery =
        table.find("recovery").map_or(Ok(usual.recovery), |node| node.choice(&RECOVERY, &[]))?;
    config.initial_window = count("initial_window", usual.initial_window, 1..=100_000)?;
    config.initial_rto = time("initial_rto", usual.initial_rto)?;
    config.min_rto = time("min_rto", usual.min_rto)?;
    config.max_rto = time("max_rto", usual.max_rto)?;
    config.clock = table.find("clock").map_or(Ok(usual.clock), |node| node.time())?;
    config.one_sample = flag("one_sample", usual.one_sample)?;
    config.handshake = flag("handshake", usual.handshake)?;
    config.max_window = table.find("max_window").map(|node| window(&node, packet_size)).transpose()?;
    config.duplicate_acks = count("duplicate_acks", u64::from(usual.duplicate_acks), 1..=3)? as u32;
    config.limited_transmit = flag("limited_transmit", usual.limited_transmit)?;
    config.prr = flag("prr", usual.prr)?;
    config.impatient = flag("impatient", usual.impatient)?;
    config.ecn_echo = table.find("ecn_echo").map_or(Ok(usual.ecn_echo), |node| node.choice(&ECHO, &[]))?;
    if config.min_rto > config.max_rto {
        return Err(table.fail("min_rto above max_rto", "min_rto at most max_rto"));
    }
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
