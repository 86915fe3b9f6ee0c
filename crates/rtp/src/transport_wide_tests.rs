//! A receiver that reports on transport-wide numbers.

use super::*;
use paceline_cc::StreamId;
use paceline_ends::{PathFacts, ReceivingEnd};
use paceline_media::PlayoutConfig;
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::FeedbackFormat;
use paceline_wire::ccfb::ArrivalReport;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Stream 0 was led astray: its sequence numbers or timestamps are refused, by the driver or because they are too far behind.
#[test]
fn packets_that_their_stream_refuses_are_reported_by_the_numbers_that_all_share() {
    let config = FeedbackConfig { format: FeedbackFormat::Twcc, ..FeedbackConfig::default() };
    let mut receiver = RtpReceiver::new(config, 2, PlayoutConfig::IMMEDIATE);
    let packet = |sequence: u64, transport: u16| RtpPacket {
        stream: StreamId(0),
        sequence,
        captured: at(0),
        payload: Bytes::new(400),
        padding: 0,
        header: Header::RTP,
        transport,
        first: None,
        marker: false,
        key: None,
        annotation: None,
    };
    receiver.receive(at(0), packet(100_000, 7), Ecn::NotEct, PathFacts::default());
    receiver.poll_transmit(at(40)).expect("a report");
    receiver.note_refused(at(50), 8);
    receiver.receive(at(60), packet(5, 9), Ecn::NotEct, PathFacts::default());
    assert_eq!(receiver.next_timeout(), Some((at(90), paceline_ends::Reason::Report)));
    let RtpFeedback::Packets(told) = receiver.poll_transmit(at(90)).expect("a report").packet else {
        panic!("on packets")
    };
    assert_eq!(told.blocks[0].count, 2);
    let arrived = |arrival: &ArrivalReport| matches!(arrival, ArrivalReport::Received { at: Some(_), .. });
    assert!(told.arrivals.iter().all(arrived), "{told:?}");
}
