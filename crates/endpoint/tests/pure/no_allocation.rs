//! A sender of ready-made media allocates nothing per packet once warm: the application's buffers go in and come back.

use paceline_cc::{AnyController, ControllerParams, FlowSetup};
use paceline_endpoint::{MediaPacket, MediaSender, MediaStreamConfig, RepairConfig};
use paceline_rtp::rtcp::{NtpClock, RtcpConfig};
use paceline_rtp::{RtpFeedback, SenderConfig};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::FeedbackFormat;
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::rtcp::nack;
use std::sync::Arc;

/// Frames of four packets, one in 20 ms, each reported on 10 ms after it left: allocations while frames `counted` are sent.
fn allocations(kind: &str, frames: u64, counted: u64) -> u64 {
    let params = ControllerParams::of(kind).expect("there is one");
    let config = SenderConfig::new(Bytes::new(1200));
    let controller = AnyController::new(&params, &FlowSetup::new(Bytes::new(1212))).expect("in range");
    let mut sender = MediaSender::new(controller, &config);
    let stream = sender.add_stream(Time::ZERO, &MediaStreamConfig::new(1)).expect("the first");
    sender.start(Time::ZERO);
    let mut buffers: Vec<Vec<u8>> = (0..4000).map(|_| vec![7; 1000]).collect();
    let (mut datagram, mut report) = (Vec::with_capacity(2000), Some(Box::<Feedback>::default()));
    let (mut before, mut sent) = (0, 0);
    for frame in 0..frames {
        if frame == frames - counted {
            before = crate::counting::allocations();
        }
        let now = Time::from_nanos(frame * 20_000_000);
        for part in 0..4 {
            let Some(buffer) = buffers.pop() else { break };
            let packet = MediaPacket::payload(frame, (96, frame as u32, part == 3), buffer).expect("sound");
            sender.offer(now, stream, packet.with_element(1, &[1, 2]).expect("it fits"));
        }
        let end = now + TimeDelta::from_millis(20);
        while let Some((due, _)) = sender.next_timeout().filter(|(due, _)| *due < end) {
            let due = due.max(now);
            sender.handle_timeout(due);
            while let Some(packet) = sender.poll_transmit(due) {
                datagram.clear();
                packet.write(&mut datagram).expect("sound");
                buffers.extend(packet.media.map(MediaPacket::into_buffer));
                sent += 1;
                let mut feedback = report.take().expect("it came back");
                feedback.clear();
                let arrived = due + TimeDelta::from_millis(10);
                feedback.written = arrived;
                feedback.blocks.push(FeedbackBlock { stream, begin: packet.sequence, count: 1 });
                feedback.arrivals.push(ArrivalReport::Received { at: Some(arrived), ecn: Ecn::NotEct });
                let used = sender.receive(arrived, RtpFeedback::Packets(feedback), Ecn::NotEct);
                let Some(RtpFeedback::Packets(used)) = used else { panic!("it can be used again") };
                report = Some(used);
            }
        }
        while let Some(discarded) = sender.poll_discarded() {
            buffers.push(discarded.packet.into_buffer());
        }
    }
    assert!(sent > frames, "{kind} sent {sent} packets");
    crate::counting::allocations() - before
}

#[test]
fn nothing_is_allocated_per_packet_once_warm() {
    for kind in ["scream", "scream-v2", "gcc", "nada", "tempo", "urcp", "rap", "none"] {
        assert_eq!(allocations(kind, 6000, 3000), 0, "{kind}");
    }
}

/// The same with reports of its own, and with one packet in ten asked for again, whose buffers are shared.
fn allocations_with_repair(kind: &str, frames: u64, counted: u64) -> u64 {
    let params = ControllerParams::of(kind).expect("there is one");
    let config = SenderConfig::new(Bytes::new(1200));
    let controller = AnyController::new(&params, &FlowSetup::new(Bytes::new(1212))).expect("in range");
    let mut sender = MediaSender::new(controller, &config);
    let rtcp = RtcpConfig { reduced_size: true, ..RtcpConfig::new("me", NtpClock::default(), 1) };
    sender.use_rtcp(rtcp, FeedbackFormat::Rfc8888);
    sender.use_repair();
    let stream = sender.add_stream(Time::ZERO, &MediaStreamConfig::new(1)).expect("the first");
    sender.repair(Time::ZERO, stream, &RepairConfig::new(2)).expect("the second");
    sender.start(Time::ZERO);
    let payload: Arc<[u8]> = vec![7; 1000].into();
    let (mut datagram, mut asked, mut reports) = (Vec::with_capacity(2000), Vec::new(), Vec::new());
    let (mut before, mut again, mut report) = (0, 0, Feedback::default());
    for frame in 0..frames {
        if frame == frames - counted {
            before = crate::counting::allocations();
        }
        let now = Time::from_nanos(frame * 20_000_000);
        let packet = MediaPacket::payload(frame, (96, frame as u32, true), payload.clone()).expect("sound");
        sender.offer(now, stream, packet);
        let end = now + TimeDelta::from_millis(20);
        while let Some((due, _)) = sender.next_timeout().filter(|(due, _)| *due < end) {
            let due = due.max(now);
            sender.handle_timeout(due);
            while let Some(packet) = sender.poll_transmit(due) {
                datagram.clear();
                packet.write(&mut datagram).expect("sound");
                asked.clear();
                if packet.stream == stream && packet.sequence % 10 == 0 {
                    nack::encode((9, 1), [packet.sequence as u16], &mut asked);
                    sender.receive_rtcp(due, &asked, Ecn::NotEct);
                } else {
                    again += u64::from(packet.stream != stream);
                    let at = Some(due + TimeDelta::from_millis(10));
                    let arrival = ArrivalReport::Received { at, ecn: Ecn::NotEct };
                    report.clear();
                    report.written = due + TimeDelta::from_millis(10);
                    report.blocks.push(FeedbackBlock {
                        stream: packet.stream,
                        begin: packet.sequence,
                        count: 1,
                    });
                    report.arrivals.push(arrival);
                    paceline_wire::ccfb::encode(&report, 9, |id| 1 + u32::from(id.0), &mut asked)
                        .expect("fits");
                    sender.receive_rtcp(due, &asked, Ecn::NotEct);
                }
            }
            reports.clear();
            while sender.poll_rtcp(due, &mut reports) {}
        }
    }
    assert!(again > frames / 20, "{kind} sent {again} packets again");
    crate::counting::allocations() - before
}

#[test]
fn nor_with_reports_and_retransmissions() {
    for kind in ["scream", "none"] {
        assert_eq!(allocations_with_repair(kind, 3000, 1000), 0, "{kind}");
    }
}
