//! Runs of packets: a controller that takes one knows afterwards what it would know of its packets one by one.

use paceline_cc::{
    AnyController, Controller, ControllerParams, FlowSetup, Offered, PacketResult, PacketsReport, Report,
    SendQueueState, SentPacket, SentRun, Status, StreamId,
};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};

const SIZE: Bytes = Bytes::new(1212);
const STREAM: StreamId = StreamId(0);
const GAP: TimeDelta = TimeDelta::from_millis(3);

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn packet(sequence: u64) -> SentPacket {
    SentPacket { stream: STREAM, sequence, size: SIZE, probe: None, app_limited: false }
}

/// A controller 600 ms into a call: a packet each 10 ms, of which each is reported 40 ms later.
fn warm(params: &ControllerParams) -> AnyController {
    let mut controller = AnyController::new(params, &FlowSetup::new(SIZE)).expect("a profile");
    let offered = Offered { stream: STREAM, bytes: SIZE, frame_end: true };
    let queue = SendQueueState { stream: STREAM, bytes: SIZE, packets: 1, ..SendQueueState::default() };
    for sequence in 0..60 {
        let now = at(sequence * 10);
        if let Some(sequence) = sequence.checked_sub(4) {
            let sent = at(sequence * 10);
            let status =
                Status::Received { arrived: Some(sent + TimeDelta::from_millis(20)), ecn: Ecn::NotEct };
            let packets = [PacketResult { stream: STREAM, sequence, size: SIZE, sent, status }];
            let clock_step = TimeDelta::from_micros(977);
            let report = PacketsReport { packets: &packets, clock_step, ambiguous: false };
            let _ = controller.on_report(now, &Report::Packets(report));
        }
        let _ = controller.on_offered(now, &offered, &queue);
        let _ = controller.on_sent(now, &packet(sequence));
    }
    controller
}

#[test]
fn a_run_is_its_packets_one_by_one() {
    let mut take = Vec::new();
    for (params, profile) in ControllerParams::all() {
        for count in [1, 2, 5] {
            let (mut together, mut single) = (warm(&params), warm(&params));
            let run = SentRun { packet: packet(60), first: at(600), gap: GAP, count };
            let Some(update) = together.on_run(&run) else {
                assert_eq!(format!("{together:?}"), format!("{single:?}"), "{} notes nothing", params.kind());
                continue;
            };
            let mut last = None;
            for n in 0..count {
                last = Some(single.on_sent(run.first + GAP * n as i64, &packet(60 + n)));
            }
            let name = format!("{} {profile}, {count} packets", params.kind());
            assert_eq!(Some(update), last, "{name}");
            assert_eq!(format!("{together:?}"), format!("{single:?}"), "{name}");
            take.push(params.kind());
        }
    }
    take.dedup();
    assert_eq!(take, ["scream", "scream-v2", "tempo"]);
}
