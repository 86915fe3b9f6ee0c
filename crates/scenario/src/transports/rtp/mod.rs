//! RTP: media one way, reports the other.

mod ends;

pub use ends::{ReceivingParts, RtpParts, SendingWorld};

use super::{Configured, EndsParts, FlowTable, spans};
use crate::assembly::{Builder, StreamParts};
use crate::error::ScenarioError;
use crate::params;
use crate::reader::{Node, Table};
use crate::registry::{Entry, listed};
use crate::schema::keys::key;
use crate::spec::{ControllerSpec, FlowSpec, StreamSpec};
use crate::write::{Inline, put};
use paceline_cc::{AnyController, ControllerParams, ReceiverRequest, Steers, StreamId, Verb};
use paceline_ends::SendingEnd;
use paceline_rtp::{
    ClockStep, ClockSteps, FeedbackConfig, RTP_HEADER, ReceiverClock, RtpIdentity, RtpSender, SenderConfig,
    StreamConfig,
};
use paceline_units::param::Spec;
use paceline_units::{Bytes, EcnMode, RandomStream, Time, TimeDelta};
use paceline_wire::twcc;

/// An RTP session, as a scenario says it.
#[derive(Clone, PartialEq, Debug)]
pub struct RtpSpec {
    /// Where the numbers of its packets begin, and how it is guarded.
    pub identity: RtpIdentity,
    /// When the receiver reports.
    pub feedback: FeedbackConfig,
}

impl Configured for RtpSpec {
    const HEADER: Bytes = RTP_HEADER;
    /// RTP over a 1500 B path with room to spare.
    const PACKET_SIZE: Bytes = Bytes::new(1212);
    const USUAL_CONTROLLER: Option<&'static str> = Some(AnyController::USUAL);
    const KEYS: &'static [Spec] = &[
        key(
            "feedback",
            "table",
            "as the controller asks",
            "When the receiver reports: see below; over `rtp` and controlled `udp`",
        ),
        key(
            "rtp",
            "table",
            "random",
            "Where the numbers of packets begin, and whether circuit breakers end the flow: see below; over RTP alone",
        ),
    ];
    const SEVERAL_STREAMS: bool = true;

    fn carries(steers: Steers) -> bool {
        matches!(steers, Steers::Media | Steers::Datagrams)
    }

    fn executes(_steers: Steers) -> &'static [Verb] {
        RtpSender::<AnyController>::EXECUTES
    }

    fn reports(_steers: Steers) -> bool {
        true
    }

    fn tables() -> Vec<Entry> {
        let feedback = "Reports over RTP and controlled datagrams";
        vec![
            listed("rtp", "An RTP session", &RtpIdentity::default()),
            listed("feedback", feedback, &FeedbackConfig::default()),
        ]
    }

    fn usual(controller: &ControllerSpec) -> RtpSpec {
        RtpSpec { identity: RtpIdentity::default(), feedback: requested_feedback(&controller.params) }
    }

    fn read(flow: &FlowTable<'_>) -> Result<RtpSpec, ScenarioError> {
        Ok(RtpSpec { identity: identity(flow.table)?, feedback: feedback(flow)? })
    }

    fn write(&self, table: &mut toml_edit::Table) {
        write_feedback(&self.feedback, table);
        if self.identity != RtpIdentity::default() {
            put(table, "rtp", Inline::default().with_all(&self.identity));
        }
    }

    fn build(
        &self,
        flow: &FlowSpec,
        controller: &AnyController,
        builder: &mut Builder<'_>,
    ) -> Result<EndsParts, ScenarioError> {
        let half = AnyController::receiver_half(&flow.controller.params).is_some();
        let numbered = self.feedback.format.is_transport_wide() && !half;
        let extension = Bytes::new(if numbered { twcc::EXTENSION as u64 } else { 0 });
        parts(flow, self, RTP_HEADER + extension, controller, builder).map(EndsParts::Rtp)
    }
}

/// The parts of both ends of a flow whose packets have this header.
pub(super) fn parts(
    flow: &FlowSpec,
    session: &RtpSpec,
    header: Bytes,
    controller: &AnyController,
    builder: &mut Builder<'_>,
) -> Result<RtpParts, ScenarioError> {
    let max_payload = flow.packet_size - header;
    let streams = builder.streams(flow, controller, max_payload)?.into_iter();
    Ok(RtpParts {
        streams: streams.map(StreamConfig::from).collect(),
        sender: SenderConfig {
            max_payload,
            header,
            ecn: flow.ecn.codepoint(),
            clock_step: session.feedback.clock.step(),
            forgiven_lateness: TimeDelta::ZERO,
            discard_age: session.identity.discard_age,
        },
        identity: session.identity,
        first_sequences: first_sequences(flow, &session.identity, builder.scenario.seed),
        spans: spans(flow, builder.scenario.duration),
        expected: expected(flow),
        feedback: session.feedback.clone(),
        playout: flow.playout,
        receiver_half: AnyController::receiver_half(&flow.controller.params),
        detection: builder.scenario.detection_of(&flow.name).cloned(),
    })
}

impl From<StreamParts> for StreamConfig {
    fn from(parts: StreamParts) -> StreamConfig {
        let StreamParts { source, priority, target_start, limits } = parts;
        StreamConfig { source, priority, target_start, limits }
    }
}

/// Where the sequence numbers of a simulated flow's streams begin.
fn first_sequences(flow: &FlowSpec, identity: &RtpIdentity, seed: u64) -> Vec<u16> {
    let mut drawn = RandomStream::new(seed, &format!("flow.{}.sequence", flow.name));
    let first = |_| identity.first_sequence.map_or_else(|| drawn.next_u64() as u16, |first| first as u16);
    flow.streams.iter().map(first).collect()
}

/// The streams that are not there when their flow starts. Of flows that start within a time a stream may be over by then.
fn expected(flow: &FlowSpec) -> Vec<StreamId> {
    let streams = (0..).map(StreamId).zip(&flow.streams);
    let is_absent = |stream: &StreamSpec| {
        stream.start.is_some_and(|start| flow.start < start)
            || stream.stop.is_some_and(|stop| stop <= flow.start)
    };
    streams.filter(|(_, stream)| is_absent(stream)).map(|(id, _)| id).collect()
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

/// When the receiver of a flow reports, as its key `feedback` says.
pub(super) fn feedback(flow: &FlowTable<'_>) -> Result<FeedbackConfig, ScenarioError> {
    const FEEDBACK: &str =
        "a table such as { packets = 16, time = \"40ms\", marker = true, clock = \"1/1024s\" }";
    let mut config = RtpSpec::usual(flow.controller).feedback;
    if let Some(node) = flow.table.find("feedback") {
        let table = node.table(FEEDBACK)?;
        let mut first = config.clone();
        params::read(&table, &mut first, &[])?;
        // Its clock is the format's unless it is said.
        config.clock = ReceiverClock::of(first.format);
        params::read(&table, &mut config, &[])?;
        if !config.format.tells_ecn() && flow.ecn != EcnMode::Off {
            let expected =
                format!("rfc8888 with ecn = \"{}\": this format has no ECN field", flow.ecn.name());
            return Err(table.find("format").unwrap_or(node).fail(&expected));
        }
        if let Some(node) = table.find("clock_steps") {
            config.clock_steps = clock_steps(&node)?;
        }
    }
    Ok(config)
}

/// Writes when the receiver reports.
pub(super) fn write_feedback(feedback: &FeedbackConfig, table: &mut toml_edit::Table) {
    put(table, "feedback", Inline::default().with_all(feedback));
}

/// Numbers and guards of a flow, as its key `rtp` says.
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
