//! Datagrams without a header of their own: uncontrolled, or under a controller whose receiver reports as RTP's does.

use super::rtp::{self, RtpSpec};
use super::{Configured, EndsParts, FlowEnds, FlowTable};
use crate::assembly::Builder;
use crate::error::ScenarioError;
use crate::reader::Node;
use crate::schema::source;
use crate::source::SourceSpec;
use crate::spec::{ControllerSpec, FlowSpec};
use paceline_cc::{AnyController, Steers, Verb};
use paceline_ends::SendingEnd;
use paceline_media::{CbrParams, Source};
use paceline_rtp::udp::UdpSender;
use paceline_rtp::{FeedbackConfig, RtpIdentity};
use paceline_units::Bytes;

/// Datagrams, as a scenario says them.
#[derive(Clone, PartialEq, Debug)]
pub struct UdpSpec {
    /// When the receiver reports; absent if it does not.
    pub feedback: Option<FeedbackConfig>,
}

impl Configured for UdpSpec {
    const HEADER: Bytes = Bytes::ZERO;
    /// Datagrams are not controlled unless somebody says so.
    const USUAL_CONTROLLER: Option<&'static str> = Some("none");

    fn carries(steers: Steers) -> bool {
        matches!(steers, Steers::Datagrams | Steers::Unreported)
    }

    /// Nothing in plain datagrams would say what is padding, as probes are.
    fn executes(steers: Steers) -> &'static [Verb] {
        match UdpSpec::reports(steers) {
            true => &[Verb::Discard, Verb::PacketsPerReport, Verb::ReportInterval, Verb::RttAnnotation],
            false => UdpSender::<AnyController>::EXECUTES,
        }
    }

    fn reports(steers: Steers) -> bool {
        steers != Steers::Unreported
    }

    fn has_key(key: &str, steers: Steers) -> bool {
        key == "feedback" && UdpSpec::reports(steers)
    }

    fn source(node: &Node<'_>, steers: Steers) -> Result<SourceSpec, ScenarioError> {
        let source = source::parse_without_connections(node)?;
        if UdpSpec::reports(steers) {
            return Ok(source);
        }
        match source {
            SourceSpec::Bulk(_) => {
                Err(node
                    .fail("a source with a rate of its own, such as { kind = \"cbr\", rate = \"1Mbps\" }"))
            }
            SourceSpec::Codec(_) => Err(node.fail(
                "a source without pictures: nothing tells datagrams of one frame from those of another",
            )),
            // Datagrams are spaced evenly unless frames are asked for.
            SourceSpec::Cbr(cbr) if node.table(source::SOURCE)?.find("fps").is_none() => {
                Ok(SourceSpec::Cbr(CbrParams { fps: None, ..cbr }))
            }
            source => Ok(source),
        }
    }

    fn usual(controller: &ControllerSpec) -> UdpSpec {
        let reports = UdpSpec::reports(controller.params.steers());
        UdpSpec { feedback: reports.then(|| RtpSpec::usual(controller).feedback) }
    }

    fn read(flow: &FlowTable<'_>) -> Result<UdpSpec, ScenarioError> {
        let reports = UdpSpec::reports(flow.controller.params.steers());
        Ok(UdpSpec { feedback: reports.then(|| rtp::feedback(flow)).transpose()? })
    }

    fn write(&self, table: &mut toml_edit::Table) {
        if let Some(feedback) = &self.feedback {
            rtp::write_feedback(feedback, table);
        }
    }

    fn build(
        &self,
        flow: &FlowSpec,
        controller: &AnyController,
        builder: &mut Builder<'_>,
    ) -> Result<EndsParts, ScenarioError> {
        if let Some(feedback) = self.feedback.clone() {
            let session = RtpSpec { identity: RtpIdentity::default(), feedback };
            return rtp::parts(flow, &session, UdpSpec::HEADER, controller, builder).map(EndsParts::Rtp);
        }
        let max_payload = flow.packet_size;
        let source = builder.streams(flow, controller, max_payload)?.remove(0).source;
        Ok(EndsParts::Udp(UdpParts { source, max_payload }))
    }
}

/// Datagrams that nobody controls.
#[derive(Clone, Debug)]
pub struct UdpParts {
    /// Source of the data.
    pub source: Source,
    /// Largest payload of a datagram.
    pub max_payload: Bytes,
}

impl FlowEnds for UdpParts {
    fn source(&self, stream: usize) -> Option<&Source> {
        (stream == 0).then_some(&self.source)
    }

    fn source_mut(&mut self, stream: usize) -> Option<&mut Source> {
        (stream == 0).then_some(&mut self.source)
    }
}
