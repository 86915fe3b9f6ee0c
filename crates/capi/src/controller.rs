//! A controller as C knows it: its reports, its messages and its state.

use crate::handles::Kept;
use crate::{PACELINE_NEVER, PACELINE_UNKNOWN, PacelineMessage, PacelineResult, PacelineState};
use paceline_cc::{AnyController, Controller, PacketResult, ReceiverReport, Session, Status, StreamId};
use paceline_ends::CoupledSession;
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

/// A controller and its answers in force.
pub(crate) type ControllerSession = Session<AnyController>;

impl Kept for CoupledSession {
    const NAME: &'static str = "controller";
}

/// The state of a controller.
pub(crate) fn state_of(session: &ControllerSession) -> PacelineState {
    let snapshot = session.controller.snapshot();
    let size = |bytes: Option<Bytes>| bytes.map_or(PACELINE_NEVER, Bytes::as_u64);
    let span = |span: Option<TimeDelta>| span.map_or(PACELINE_UNKNOWN, TimeDelta::as_nanos);
    let nanos = |span: TimeDelta| span.as_nanos().max(0) as u64;
    PacelineState {
        allowed_bytes: size(session.allowed_bytes()),
        allowed_packets: session.allowed_packets().unwrap_or(PACELINE_NEVER),
        pacing_bps: session.pacing_rate().unwrap_or_default().as_bps(),
        pacing_gap_ns: nanos(session.pacing_gap().unwrap_or_default()),
        target_bps: snapshot.target.unwrap_or_default().as_bps(),
        window: size(snapshot.window),
        in_flight: size(snapshot.in_flight),
        srtt_ns: span(snapshot.srtt),
        queue_delay_ns: span(snapshot.queue_delay),
        pacing_burst_ns: nanos(session.pacing_burst()),
        next_stream: session.answers.next_stream.map_or(-1, |stream| i32::from(stream.0)),
    }
}

/// A message of the controller's receiver half.
pub(crate) fn read_message(message: &PacelineMessage) -> ReceiverReport {
    ReceiverReport::Tfrc {
        loss_event_rate: message.loss_event_rate,
        receive_rate: Bitrate::from_bps(message.receive_bps),
        newest_sent: u64::try_from(message.newest_sent_ns).ok().map(Time::from_nanos),
        delay: TimeDelta::from_nanos(i64::try_from(message.delay_ns).unwrap_or(i64::MAX)),
    }
}

/// The status of a packet in a report.
pub(crate) fn read_result(result: &PacelineResult) -> PacketResult {
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
