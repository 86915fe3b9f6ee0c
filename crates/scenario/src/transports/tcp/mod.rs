//! TCP: a stream of bytes over one connection, or over many that come and go.

mod conversations;

use super::{Configured, EndsParts, FlowEnds, FlowTable};
use crate::assembly::Builder;
use crate::error::ScenarioError;
use crate::params;
use crate::reader::Node;
use crate::registry::{Entry, listed, shown};
use crate::schema::keys::key;
use crate::schema::source;
use crate::source::SourceSpec;
use crate::spec::{ControllerSpec, FlowSpec};
use crate::write::{Inline, put, size};
use paceline_cc::{AnyController, FlowSetup, Steers, Verb};
use paceline_ends::SendingEnd;
use paceline_media::{ConnectionVectors, Source};
use paceline_tcp::conversations::ConversationsConfig;
use paceline_tcp::transfers::TransfersConfig;
use paceline_tcp::{EcnEcho, RecoveryKind, TCP_HEADER, TcpConfig, TcpSender};
use paceline_units::param::Spec;
use paceline_units::{Bytes, EcnMode, RandomStream};

impl Configured for TcpConfig {
    const HEADER: Bytes = TCP_HEADER;
    const KEYS: &'static [Spec] =
        &[key("tcp", "table", "see below", "Configuration of the connection, over TCP alone")];

    fn carries(steers: Steers) -> bool {
        steers == Steers::ByteStream
    }

    /// The same of one connection and of many.
    fn executes(_steers: Steers) -> &'static [Verb] {
        TcpSender::<AnyController>::EXECUTES
    }

    fn tables() -> Vec<Entry> {
        let window = Spec::by_hand(
            "max_window",
            "packets or a size",
            "1 GiB",
            "The receiver's window: packets, or a size on the link",
        );
        let mut tcp = listed("tcp", "A TCP connection", &TcpConfig::default());
        tcp.parameters.push(shown(&window, None));
        vec![tcp]
    }

    fn source(node: &Node<'_>, _steers: Steers) -> Result<SourceSpec, ScenarioError> {
        source::parse(node)
    }

    fn usual(controller: &ControllerSpec) -> TcpConfig {
        let (usual, needs) = (TcpConfig::of(controller.stack()), controller.params.needs());
        let recovery = needs.recovery.unwrap_or(usual.recovery);
        let ecn_echo = needs.ecn_echo.unwrap_or(usual.ecn_echo);
        TcpConfig { recovery, ecn_echo, timestamps: recovery == RecoveryKind::RackTlp, ..usual }
    }

    fn read(flow: &FlowTable<'_>) -> Result<TcpConfig, ScenarioError> {
        let usual = TcpConfig::usual(flow.controller);
        let mut config = TcpConfig { packet_size: flow.packet_size, ect: flow.ecn.codepoint(), ..usual };
        let Some(node) = flow.table.find("tcp") else {
            return Ok(config);
        };
        let table = node.table("a table such as { ack_every = 2, initial_window = 10 }")?;
        params::read(&table, &mut config, &["max_window"])?;
        if let Some(node) = table.find("ecn_echo")
            && (flow.ecn, usual.ecn_echo, config.ecn_echo)
                == (EcnMode::L4s, EcnEcho::Accurate, EcnEcho::Rfc3168)
        {
            return Err(
                node.fail("accurate or exact: with ecn l4s each mark is to be told (RFC 9331 section 4.2)")
            );
        }
        config.max_window =
            table.find("max_window").map(|node| window(&node, flow.packet_size)).transpose()?;
        Ok(config)
    }

    fn write(&self, table: &mut toml_edit::Table) {
        let tcp = Inline::default().with_all(self).perhaps("max_window", self.max_window.map(size));
        put(table, "tcp", tcp);
    }

    fn set_up(&self, setup: &mut FlowSetup) {
        (setup.initial_window, setup.max_window) = (self.initial_window, self.max_window);
    }

    fn build(
        &self,
        flow: &FlowSpec,
        controller: &AnyController,
        builder: &mut Builder<'_>,
    ) -> Result<EndsParts, ScenarioError> {
        let carried = match flow.streams.first().map(|stream| &stream.source) {
            Some(SourceSpec::ShortTransfers(transfers)) => {
                let name = format!("flow.{}.transfers", flow.name);
                ByteStream::Transfers(*transfers, RandomStream::new(builder.scenario.seed, &name))
            }
            Some(SourceSpec::Tmix(spec)) => ByteStream::Conversations(builder.conversations(flow, spec)?),
            _ => {
                let max_payload = flow.packet_size - TCP_HEADER;
                ByteStream::Source(builder.streams(flow, controller, max_payload)?.remove(0).source)
            }
        };
        Ok(EndsParts::Tcp(TcpParts { config: *self, carried }))
    }
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

/// The parts of both ends of one connection, or of many.
#[derive(Clone, Debug)]
pub struct TcpParts {
    /// Configuration of each connection.
    pub config: TcpConfig,
    /// The data that the connections carry: one stream of bytes, files, or conversations.
    pub carried: ByteStream,
}

/// The data of TCP connections.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow")]
pub enum ByteStream {
    /// The data of a source, over one connection.
    Source(Source),
    /// Files over connections that come and go: their sizes and times, and where these are drawn from.
    Transfers(TransfersConfig, RandomStream),
    /// Data units of both sides of connections that come and go.
    Conversations(ConversationsConfig),
}

impl FlowEnds for TcpParts {
    fn source(&self, stream: usize) -> Option<&Source> {
        match &self.carried {
            ByteStream::Source(source) if stream == 0 => Some(source),
            _ => None,
        }
    }

    fn source_mut(&mut self, stream: usize) -> Option<&mut Source> {
        match &mut self.carried {
            ByteStream::Source(source) if stream == 0 => Some(source),
            _ => None,
        }
    }

    fn connection_vectors(&self) -> Option<&ConnectionVectors> {
        match &self.carried {
            ByteStream::Conversations(conversations) => Some(&conversations.vectors),
            _ => None,
        }
    }
}
