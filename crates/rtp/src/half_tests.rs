//! A controller with two halves, and what it asks of the receiver, through the endpoints.

use super::*;
use paceline_cc::tfrc::{Params, Tfrc, TfrcReceiver};
use paceline_cc::{
    Annotation, Arrival, Controller, FlowSetup, ReceiverHalf, ReceiverReport, ReceiverRequest, StreamId, rap,
};
use paceline_ends::{PathFacts, Reason, ReceivingEnd, SendingEnd, Transmit};
use paceline_media::{Bulk, BulkParams, PlayoutConfig, Source};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Reports on every second packet, and 50 ms after the others.
#[derive(Default)]
struct Half {
    heard: Vec<Arrival>,
    due: Option<Time>,
}

impl ReceiverHalf for Half {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival) -> bool {
        self.heard.push(*arrival);
        self.due = Some(now + TimeDelta::from_millis(50));
        self.heard.len().is_multiple_of(2)
    }

    fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    fn report(&mut self, _now: Time) -> Option<ReceiverReport> {
        self.due = None;
        Some(ReceiverReport::Remb { bitrate: Bitrate::from_bps(self.heard.len() as u64) })
    }
}

#[test]
fn a_receiver_half_hears_of_each_arrival_and_its_reports_replace_the_others() {
    let config = FeedbackConfig { packets: 1, ..FeedbackConfig::default() };
    let mut receiver = RtpReceiver::with_half(config, 1, PlayoutConfig::IMMEDIATE, Some(Half::default()));
    let annotation = Some(Annotation::Counter(5));
    let packet = |sequence| RtpPacket {
        stream: StreamId(0),
        sequence,
        captured: at(1),
        payload: Bytes::new(1000),
        padding: 0,
        header: Header::RTP,
        transport: 0,
        first: None,
        marker: true,
        key: None,
        annotation,
    };
    let facts = PathFacts { sent: Some(at(3)), ..PathFacts::default() };
    receiver.receive(at(10), packet(7), Ecn::Ce, facts);
    let due = receiver.next_timeout();
    assert_eq!(due, Some((at(60), Reason::Report)), "neither its packet nor its marker makes a report due");
    assert!(receiver.poll_transmit(at(59)).is_none());
    receiver.receive(at(20), packet(8), Ecn::NotEct, PathFacts::default());
    assert_eq!(receiver.next_timeout(), Some((at(20), Reason::Report)));
    let Transmit { packet: feedback, size, .. } = receiver.poll_transmit(at(20)).expect("it is due");
    assert_eq!(feedback, RtpFeedback::Half(Box::new(ReceiverReport::Remb { bitrate: Bitrate::from_bps(2) })));
    assert_eq!((receiver.next_timeout(), size), (None, Bytes::new(24)));
    assert!(receiver.poll_transmit(at(90)).is_none());
    let half = receiver.receiver_half().expect("there is one");
    let (stream, size, sent) = (StreamId(0), Bytes::new(1012), Some(at(3)));
    assert_eq!(half.heard[0], Arrival { stream, sequence: 7, size, sent, ecn: Ecn::Ce, annotation });
    assert_eq!((half.heard[1].sequence, half.heard[1].sent), (8, None));
}

fn sender<C: Controller>(controller: C, header: Bytes) -> RtpSender<C> {
    let max_payload = Bytes::new(1000);
    let config = SenderConfig { header, clock_step: TimeDelta::ZERO, ..SenderConfig::new(max_payload) };
    let source = Source::Bulk(Bulk::new(BulkParams::for_payload(max_payload)));
    let stream = StreamConfig::new(source, Bitrate::from_mbps(1));
    let mut sender = RtpSender::new(controller, &config, vec![stream]);
    sender.start(at(100));
    sender
}

fn tfrc() -> Tfrc {
    Tfrc::new(&Params::default(), &FlowSetup::new(Bytes::new(1000)))
}

#[test]
fn a_message_about_what_was_never_sent_does_not_reach_the_controller() {
    let mut sender = sender(tfrc(), RTP_HEADER);
    assert!(sender.poll_transmit(at(100)).is_some());
    let before = sender.controller().allowed_rate();
    let tell = |sender: &mut RtpSender<Tfrc>, newest_sent| {
        let report = ReceiverReport::Tfrc {
            loss_event_rate: 0.0,
            receive_rate: Bitrate::ZERO,
            newest_sent: Some(newest_sent),
            delay: TimeDelta::ZERO,
        };
        sender.receive(at(200), RtpFeedback::Half(Box::new(report)), Ecn::NotEct);
    };
    for newest_sent in [at(99), at(101), at(201), Time::ZERO, Time::MAX] {
        tell(&mut sender, newest_sent);
    }
    assert_eq!((sender.counters().unknown_reports, sender.controller().allowed_rate()), (5, before));
    tell(&mut sender, at(100));
    assert_eq!(sender.counters().unknown_reports, 5);
    // Four segments of 1012 B at most 4380 B: 4048 B in 100 ms; the largest packet is said to be 1000 B.
    assert_eq!(sender.controller().allowed_rate(), Bitrate::from_bps(320_000));
}

#[test]
fn both_halves_of_tfrc_talk_through_the_endpoints() {
    let mut sender = sender(tfrc(), RTP_HEADER);
    let half = TfrcReceiver::new(&Params::default());
    let mut receiver =
        RtpReceiver::with_half(FeedbackConfig::default(), 1, PlayoutConfig::IMMEDIATE, Some(half));
    let delay = TimeDelta::from_millis(20);
    let mut under_way = std::collections::VecDeque::new();
    let mut back = std::collections::VecDeque::new();
    let mut annotated = 0;
    for now in (100..5000).map(at) {
        while let Some(out) = sender.poll_transmit(now) {
            annotated += u64::from(out.packet.annotation.is_some());
            // One packet in a hundred is lost.
            if out.packet.sequence % 100 != 99 {
                under_way.push_back((now + delay, now, out.packet));
            }
        }
        while under_way.front().is_some_and(|(arrives, ..)| *arrives <= now) {
            let Some((_, sent, packet)) = under_way.pop_front() else { break };
            let facts = PathFacts { sent: Some(sent), ..PathFacts::default() };
            receiver.receive(now, packet, Ecn::NotEct, facts);
            if let Some(Transmit { packet: feedback, size, .. }) = receiver.poll_transmit(now) {
                assert_eq!(size, Bytes::new(28));
                back.push_back((now + delay, feedback));
            }
        }
        if let Some(Transmit { packet: feedback, .. }) = receiver.poll_transmit(now) {
            back.push_back((now + delay, feedback));
        }
        while back.front().is_some_and(|(arrives, _)| *arrives <= now) {
            let Some((_, feedback)) = back.pop_front() else { break };
            let used = sender.receive(now, feedback, Ecn::NotEct).expect("its memory can be used again");
            receiver.recycle(used);
        }
        sender.handle_timeout(now);
    }
    assert!(annotated > 100, "{annotated} packets say the round-trip time");
    // The equation at R = 40 ms, p = 0.01, s = 1012 B: 2.27 Mbit/s; the window of 8 intervals is not full yet.
    let rate = sender.controller().allowed_rate().as_mbps_f64();
    assert!((1.7..=2.9).contains(&rate), "{rate} Mbit/s");
    assert_eq!(sender.counters().unknown_reports, 0);
}

#[test]
fn what_the_controller_asks_of_the_receiver_can_be_read() {
    assert_eq!(sender(tfrc(), RTP_HEADER).receiver_request(), None);
    let params = rap::Params::default();
    let rap = rap::Rap::new(&params, &FlowSetup::new(Bytes::new(1000)));
    assert_eq!(sender(rap, RTP_HEADER).receiver_request(), Some(ReceiverRequest::PacketsPerReport(1)));
}

#[test]
fn plain_datagrams_have_no_header() {
    for (header, size) in [(Bytes::ZERO, 1000), (RTP_HEADER, 1012), (Bytes::new(300), 1255)] {
        let mut sender = sender(tfrc(), header);
        let out = sender.poll_transmit(at(100)).expect("a packet");
        assert_eq!(out.packet.size(), Bytes::new(size));
        assert_eq!(paceline_ends::SendingEnd::send_queue_bytes(&sender, StreamId(0)).as_u64() % size, 0);
    }
}
