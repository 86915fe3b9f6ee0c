//! Reports on transport-wide numbers: one sequence over all streams, no ECN, and what is forged changes nothing but a counter.

use super::*;
use paceline_cc::{AnyController, ControllerParams, FlowSetup, StreamId};
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd};
use paceline_media::PlayoutConfig;
use paceline_rtp::{FeedbackConfig, Header, RtpPacket, RtpReceiver};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::{FeedbackFormat, TRANSPORT_WIDE};
use proptest::prelude::*;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Two streams whose packets are numbered together from 65,534 on, the first of each sent.
fn sender(kind: &str) -> MediaSender<AnyController, Vec<u8>> {
    let config = SenderConfig::new(Bytes::new(1200));
    let params = ControllerParams::of(kind).expect("there is one");
    let controller = AnyController::new(&params, &FlowSetup::new(Bytes::new(1212))).expect("in range");
    let mut sender = MediaSender::new(controller, &config);
    sender.number_transport_wide(65_534, 5);
    for ssrc in [1, 2] {
        sender.add_stream(Time::ZERO, &MediaStreamConfig::new(ssrc)).expect("there is room");
    }
    sender.start(Time::ZERO);
    sender
}

fn offer(sender: &mut MediaSender<AnyController, Vec<u8>>, now: Time, frames: u64) {
    for frame in 0..frames {
        for stream in 0..2 {
            let packet = MediaPacket::payload(frame, (96, 0, true), vec![0; 400]).expect("sound");
            sender.offer(now, StreamId(stream), packet);
        }
    }
}

fn report(begin: u64, arrivals: Vec<ArrivalReport>, written: Time) -> RtpFeedback {
    let count = arrivals.len() as u32;
    let blocks = vec![FeedbackBlock { stream: TRANSPORT_WIDE, begin, count }];
    RtpFeedback::Packets(Box::new(Feedback { written, blocks, arrivals }))
}

#[test]
fn numbers_run_over_all_streams_and_a_report_finds_its_packets() {
    let mut sender = sender("none");
    offer(&mut sender, at(0), 2);
    let sent: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(at(0))).collect();
    let numbers: Vec<_> = sent.iter().map(|sent| sent.transport).collect();
    assert_eq!(numbers, [65_534, 65_535, 0, 1].map(Some));
    let config = FeedbackConfig { format: FeedbackFormat::Twcc, packets: 3, ..FeedbackConfig::default() };
    let mut receiver = RtpReceiver::new(config, 2, PlayoutConfig::IMMEDIATE);
    for (n, sent) in sent.iter().enumerate().filter(|(n, _)| *n != 1) {
        let packet = RtpPacket {
            stream: sent.stream,
            sequence: sent.sequence,
            captured: at(0),
            payload: Bytes::new(400),
            padding: 0,
            header: Header::RTP,
            transport: sent.transport.expect("it has one"),
            first: None,
            marker: false,
            key: None,
            annotation: None,
        };
        receiver.receive(at(20 + n as u64), packet, Ecn::Ce, PathFacts::default());
    }
    let feedback = receiver.poll_transmit(at(23)).expect("three packets came").packet;
    let RtpFeedback::Packets(told) = &feedback else { panic!("a report") };
    assert_eq!(
        told.blocks.iter().map(|block| (block.stream, block.count)).collect::<Vec<_>>(),
        [(TRANSPORT_WIDE, 4)]
    );
    let marks = |arrival: &ArrivalReport| matches!(arrival, ArrivalReport::Received { ecn: Ecn::Ce, .. });
    assert!(!told.arrivals.iter().any(marks), "the format has no ECN field");
    assert_eq!(told.arrivals[1], ArrivalReport::Missing);
    sender.receive(at(43), feedback, Ecn::NotEct);
    let found: Vec<_> =
        sender.end().reported().iter().map(|result| (result.stream.0, result.sequence)).collect();
    assert_eq!(found, [(0, 0), (1, 0), (0, 1), (1, 1)], "streams of one priority take turns");
    assert_eq!(sender.sender_counters().unknown_reports, 0);
    assert!(receiver.poll_transmit(at(90)).is_none(), "all is reported");
}

proptest! {
    #[test]
    fn forged_reports_change_nothing_but_a_counter(
        kind in prop_oneof![Just("gcc"), Just("urcp"), Just("scream")],
        begin in 2u64..65_480, turns in 0u64..1 << 40,
        arrivals in prop::collection::vec(prop::option::of(any::<u64>()), 1..50),
        written: u64,
    ) {
        let mut sender = sender(kind);
        offer(&mut sender, at(0), 1);
        while sender.poll_transmit(at(0)).is_some() {}
        let before = format!("{:?}", sender.end().controller());
        let count = arrivals.len() as u64;
        let entry = |arrival: Option<u64>| match arrival {
            None => ArrivalReport::Missing,
            Some(nanos) => ArrivalReport::Received { at: Some(Time::from_nanos(nanos)), ecn: Ecn::NotEct },
        };
        let forged = report(begin + (turns << 16), arrivals.into_iter().map(entry).collect(), Time::from_nanos(written));
        sender.receive(at(5), forged, Ecn::NotEct);
        prop_assert_eq!(sender.sender_counters().unknown_reports, count);
        prop_assert_eq!(format!("{:?}", sender.end().controller()), before);
    }
}
