//! A controller and what holds of its answers.

use crate::{PACELINE_NEVER, PACELINE_UNKNOWN, PacelineMessage, PacelineResult, PacelineState};
use paceline_cc::{
    Allowance, Answers, AnyController, Controller, Pacing, PacketResult, PacketsReport, ReceiverReport,
    Report, Status, StreamId, Update,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

/// A controller and what holds of its answers.
pub(crate) struct ControllerSession {
    pub(crate) controller: AnyController,
    pub(crate) answers: Answers,
    results: Vec<PacketResult>,
}

impl ControllerSession {
    /// A controller that has been told nothing.
    pub(crate) fn new(controller: AnyController) -> ControllerSession {
        ControllerSession { controller, answers: Answers::new(), results: Vec::new() }
    }

    /// Tells the controller, and keeps what it answers.
    pub(crate) fn tell(&mut self, call: impl FnOnce(&mut AnyController) -> Update) {
        let update = call(&mut self.controller);
        self.answers.take(update);
    }

    /// A report on single packets.
    pub(crate) fn report(&mut self, now: Time, packets: &[PacelineResult], clock_step: TimeDelta) {
        self.results.clear();
        self.results.extend(packets.iter().map(read));
        let packets = PacketsReport { packets: &self.results, clock_step, ambiguous: false };
        let update = self.controller.on_report(now, &Report::Packets(packets));
        self.answers.take(update);
    }

    /// A message of the controller's receiver half.
    pub(crate) fn message(&mut self, now: Time, message: &PacelineMessage) {
        let report = ReceiverReport::Tfrc {
            loss_event_rate: message.loss_event_rate,
            receive_rate: Bitrate::from_bps(message.receive_bps),
            newest_sent: u64::try_from(message.newest_sent_ns).ok().map(Time::from_nanos),
            delay: TimeDelta::from_nanos(i64::try_from(message.delay_ns).unwrap_or(i64::MAX)),
        };
        let update = self.controller.on_report(now, &Report::Receiver(report));
        self.answers.take(update);
    }

    pub(crate) fn state(&self) -> PacelineState {
        let snapshot = self.controller.snapshot();
        let (allowed_bytes, allowed_packets) = match self.answers.allowance {
            Allowance::Unlimited => (PACELINE_NEVER, PACELINE_NEVER),
            Allowance::Bytes(bytes) => (bytes.as_u64(), PACELINE_NEVER),
            Allowance::Packets(packets) => (PACELINE_NEVER, packets),
        };
        let (pacing, gap) = match self.answers.pacing {
            Pacing::Off => (Bitrate::ZERO, TimeDelta::ZERO),
            Pacing::Rate(rate) | Pacing::Burst { rate, .. } => (rate, TimeDelta::ZERO),
            Pacing::Gap(gap) => (Bitrate::ZERO, gap),
        };
        let burst = match self.answers.pacing {
            Pacing::Burst { at_once, .. } => at_once,
            Pacing::Off | Pacing::Rate(_) | Pacing::Gap(_) => TimeDelta::ZERO,
        };
        let size = |bytes: Option<Bytes>| bytes.map_or(PACELINE_NEVER, Bytes::as_u64);
        let span = |span: Option<TimeDelta>| span.map_or(PACELINE_UNKNOWN, TimeDelta::as_nanos);
        PacelineState {
            allowed_bytes,
            allowed_packets,
            pacing_bps: pacing.as_bps(),
            pacing_gap_ns: gap.as_nanos().max(0) as u64,
            target_bps: snapshot.target.unwrap_or_default().as_bps(),
            window: size(snapshot.window),
            in_flight: size(snapshot.in_flight),
            srtt_ns: span(snapshot.srtt),
            queue_delay_ns: span(snapshot.queue_delay),
            pacing_burst_ns: burst.as_nanos().max(0) as u64,
            next_stream: self.answers.next_stream.map_or(-1, |stream| i32::from(stream.0)),
        }
    }
}

fn read(result: &PacelineResult) -> PacketResult {
    let arrived = u64::try_from(result.arrived_ns).ok().map(Time::from_nanos);
    let status = match result.received {
        0 => Status::Missing,
        _ => Status::Received { arrived, ecn: Ecn::from_bits(result.ecn) },
    };
    PacketResult {
        stream: StreamId(result.stream),
        sequence: result.sequence,
        size: Bytes::new(result.size),
        sent: Time::from_nanos(result.sent_ns),
        status,
    }
}
