//! SCTP: messages of several streams over one association.

use super::{Configured, EndsParts, FlowEnds, FlowTable, spans};
use crate::assembly::{Builder, wrong};
use crate::error::ScenarioError;
use crate::key_path::quoted_key;
use crate::params;
use crate::registry::{Entry, listed};
use crate::schema::keys::key;
use crate::spec::{ControllerSpec, FlowSpec};
use crate::write::{Inline, put};
use paceline_cc::{AnyController, CeResponse, Controller, FlowSetup, Steers, Verb};
use paceline_ends::{Plan, SendingEnd, StreamSpan};
use paceline_media::Source;
use paceline_sctp::{SCTP_HEADER, SctpConfig, SctpSender, StreamConfig};
use paceline_units::param::Spec;
use paceline_units::{Bytes, EcnMode, RandomStream, TimeDelta};

impl Configured for SctpConfig {
    const HEADER: Bytes = SCTP_HEADER;
    const KEYS: &'static [Spec] =
        &[key("sctp", "table", "see below", "Configuration of the association, over SCTP alone")];
    const USUAL_CONTROLLER: Option<&'static str> = Some("sctp");
    const SEVERAL_STREAMS: bool = true;

    fn carries(steers: Steers) -> bool {
        steers == Steers::ByteStream
    }

    fn executes(_steers: Steers) -> &'static [Verb] {
        SctpSender::<AnyController>::EXECUTES
    }

    fn tables() -> Vec<Entry> {
        vec![listed("sctp", "An SCTP association", &SctpConfig::default())]
    }

    fn usual(controller: &ControllerSpec) -> SctpConfig {
        SctpConfig::of(controller.stack())
    }

    fn read(flow: &FlowTable<'_>) -> Result<SctpConfig, ScenarioError> {
        let mut config = SctpConfig { packet_size: flow.packet_size, ..SctpConfig::usual(flow.controller) };
        if let Some(node) = flow.table.find("sctp") {
            params::read(
                &node.table("a table such as { order = \"none\", lifetime = \"200ms\" }")?,
                &mut config,
                &[],
            )?;
        }
        Ok(config)
    }

    fn write(&self, table: &mut toml_edit::Table) {
        put(table, "sctp", Inline::default().with_all(self));
    }

    fn set_up(&self, setup: &mut FlowSetup) {
        setup.initial_window = self.initial_window();
    }

    fn build(
        &self,
        flow: &FlowSpec,
        controller: &AnyController,
        builder: &mut Builder<'_>,
    ) -> Result<EndsParts, ScenarioError> {
        if flow.ecn != EcnMode::Off && controller.ce_response() != CeResponse::Ignored {
            let kind = flow.controller.params.kind();
            let expected =
                format!("\"off\": sctp tells no marks (RFC 9260 appendix A); {kind} hears of them over tcp");
            return Err(wrong(format!("flows.{}.ecn", quoted_key(&flow.name)), flow.ecn.name(), &expected));
        }
        let streams = builder.streams(flow, controller, Bytes::new(self.max_payload()))?.into_iter();
        let streams = streams.map(|stream| StreamConfig { source: stream.source, priority: stream.priority });
        Ok(EndsParts::Sctp(SctpParts {
            config: *self,
            streams: streams.collect(),
            random: RandomStream::new(builder.scenario.seed, &format!("flow.{}.heartbeats", flow.name)),
            spans: spans(flow, builder.scenario.duration),
        }))
    }
}

/// The parts of both ends of an association.
#[derive(Clone, Debug)]
pub struct SctpParts {
    /// Configuration of the association.
    pub config: SctpConfig,
    /// The streams of the association, in the order of their identifiers.
    pub streams: Vec<StreamConfig>,
    /// Where the times of HEARTBEATs are drawn from.
    pub random: RandomStream,
    /// When streams are there that join or leave.
    spans: Vec<StreamSpan>,
}

impl FlowEnds for SctpParts {
    fn source(&self, stream: usize) -> Option<&Source> {
        self.streams.get(stream).map(|stream| &stream.source)
    }

    fn source_mut(&mut self, stream: usize) -> Option<&mut Source> {
        self.streams.get_mut(stream).map(|stream| &mut stream.source)
    }

    fn plan(&self, plan: Plan) -> Plan {
        plan.with_streams(&self.spans)
    }

    fn last(&mut self, flow: &FlowSpec, duration: TimeDelta) {
        self.spans = spans(flow, duration);
    }
}
