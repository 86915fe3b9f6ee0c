//! Ready-made media: what is offered leaves as it is or comes back, whatever streams do meanwhile.

use super::*;
use paceline_cc::{AnyController, ControllerParams, FlowSetup};
use paceline_units::TimeDelta;
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::rtp;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

pub(super) fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

pub(super) fn controller(kind: &str) -> AnyController {
    let params = ControllerParams::of(kind).expect("there is one");
    AnyController::new(&params, &FlowSetup::new(Bytes::new(1212))).expect("in range")
}

pub(super) type Sender = MediaSender<AnyController, Vec<u8>>;

pub(super) fn sender(kind: &str, streams: &[MediaStreamConfig]) -> Sender {
    sender_with(kind, streams, |_| {})
}

/// A sender of these streams, on which something is done before they are added.
pub(super) fn sender_with(
    kind: &str,
    streams: &[MediaStreamConfig],
    prepare: impl FnOnce(&mut Sender),
) -> Sender {
    let config = SenderConfig::new(Bytes::new(1200));
    let mut sender = MediaSender::new(controller(kind), &config);
    sender.number_from(65_534);
    prepare(&mut sender);
    for stream in streams {
        sender.add_stream(Time::ZERO, stream).expect("there is room");
    }
    sender.start(Time::ZERO);
    sender
}

pub(super) fn packet(frame: u64, size: usize, marker: bool) -> MediaPacket<Vec<u8>> {
    MediaPacket::payload(frame, (96, frame as u32 * 3000, marker), vec![frame as u8; size]).expect("sound")
}

pub(super) fn leaving(sender: &mut Sender, now: Time) -> Vec<MediaTransmit<Vec<u8>>> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

pub(super) fn discarded(sender: &mut Sender) -> Vec<(u64, u64, DiscardReason)> {
    let packets = std::iter::from_fn(|| sender.poll_discarded());
    packets.map(|packet| (packet.frame, packet.offset, packet.reason)).collect()
}

/// All that is said of these packets of a stream: they arrived `delay` after they were sent, at `written`.
fn report(stream: StreamId, begin: u64, arrivals: &[Option<Time>], written: Time) -> RtpFeedback {
    let entry = |at: &Option<Time>| match at {
        Some(at) => ArrivalReport::Received { at: Some(*at), ecn: Ecn::NotEct },
        None => ArrivalReport::Missing,
    };
    RtpFeedback::Packets(Box::new(Feedback {
        written,
        blocks: vec![FeedbackBlock { stream, begin, count: arrivals.len() as u32 }],
        arrivals: arrivals.iter().map(entry).collect(),
    }))
}

#[test]
fn payloads_and_whole_packets_leave_under_the_endpoints_numbers() {
    let mut sender = sender("none", &[MediaStreamConfig::new(0x0102_0304)]);
    let whole = [
        &[0xb2, 0xe2, 0xde, 0xad, 0, 0, 0, 9, 0xde, 0xad, 0xde, 0xad][..],
        &[0, 0, 0, 5, 0, 0, 0, 6, 0xbe, 0xde, 0, 1, 0x10, 0xaa, 0, 0, 1, 2, 3, 0, 2][..],
    ];
    sender.offer(at(1), StreamId(0), MediaPacket::whole(7, whole.concat()).expect("sound"));
    let own = MediaPacket::payload(8, (96, 10, false), vec![4, 5]).expect("sound");
    sender.offer(at(1), StreamId(0), own.with_element(3, &[0xbb, 0xcc]).expect("it fits"));
    let sent = leaving(&mut sender, at(1));
    let bytes: Vec<_> = sent
        .iter()
        .map(|sent| {
            let mut bytes = vec![];
            sent.write(&mut bytes).expect("sound");
            assert_eq!(bytes.len() as u64, sent.size.as_u64());
            bytes
        })
        .collect();
    let expected = [
        &[0x92, 0xe2, 0xff, 0xfe, 0, 0, 0, 9, 1, 2, 3, 4, 0, 0, 0, 5, 0, 0, 0, 6][..],
        &[0xbe, 0xde, 0, 1, 0x10, 0xaa, 0, 0, 1, 2, 3][..],
    ];
    assert_eq!(
        bytes[0],
        expected.concat(),
        "number and SSRC are new, padding is gone, all else is as it was"
    );
    let expected = [
        &[0x90, 96, 0xff, 0xff, 0, 0, 0, 10, 1, 2, 3, 4][..],
        &[0xbe, 0xde, 0, 1, 0x31, 0xbb, 0xcc, 0, 4, 5][..],
    ];
    assert_eq!(bytes[1], expected.concat());
    assert_eq!((sent[0].sequence, sent[1].sequence), (65_534, 65_535));
    let buffers: Vec<_> = sent.into_iter().filter_map(|sent| Some(sent.media?.into_buffer())).collect();
    assert_eq!(buffers, [whole.concat(), vec![4, 5]], "and the buffers come back");
}

#[test]
fn each_discard_says_frame_offset_and_reason() {
    let narrow = MediaStreamConfig { most_waiting: 3, ..MediaStreamConfig::new(1) };
    let mut sender = sender("scream", &[narrow]);
    // The first round trip's window lets three packets out.
    sender.offer(at(0), StreamId(0), packet(0, 1201, false));
    for _ in 0..3 {
        sender.offer(at(0), StreamId(0), packet(0, 1000, false));
    }
    sender.offer(at(0), StreamId(0), packet(0, 30, true));
    assert_eq!(
        discarded(&mut sender),
        [(0, 0, DiscardReason::TooLarge), (0, 4201, DiscardReason::QueueFull)],
        "larger than the path takes, and one more than may wait"
    );
    sender.offer(at(0), StreamId(9), packet(5, 10, true));
    sender.remove_stream(at(1), StreamId(0)).expect("it is there");
    assert_eq!(
        discarded(&mut sender),
        [
            (5, 0, DiscardReason::Removed),
            (0, 1201, DiscardReason::Removed),
            (0, 2201, DiscardReason::Removed),
            (0, 3201, DiscardReason::Removed),
        ]
    );
    let id = sender.add_stream(at(2), &narrow).expect("the SSRC is free again");
    assert_eq!(id, StreamId(1), "the old one may still be reported on");
    sender.offer(at(2), id, packet(1, 0, true));
    sender.offer(at(2), id, packet(2, 100, true));
    sender.stop(at(3));
    assert_eq!(discarded(&mut sender), [(1, 0, DiscardReason::Empty), (2, 0, DiscardReason::Stopped)]);
    let counters = sender.counters();
    assert_eq!((counters.offered, counters.sent, counters.discarded.removed), (8, 0, 4));
}

#[test]
fn a_controller_that_clears_a_queue_hands_its_packets_back() {
    let mut sender = sender("scream", &[MediaStreamConfig::new(1)]);
    let mut offered = 0;
    for frame in 0..100 {
        for part in 0..4 {
            sender.offer(at(frame * 40), StreamId(0), packet(frame, 1100, part == 3));
            offered += 1;
        }
        // Nothing is reported: the window is soon full, and what waits becomes old.
        let _ = leaving(&mut sender, at(frame * 40));
    }
    let counters = sender.counters();
    assert!(counters.discarded.too_old > 100, "{counters:?}");
    assert!(sender.take_key_frame_request(StreamId(0)));
    let came_back = discarded(&mut sender);
    assert!(came_back.iter().all(|(.., reason)| *reason == DiscardReason::TooOld));
    let waiting = sender.streams[0].waiting() as u64;
    assert_eq!(counters.sent + came_back.len() as u64 + waiting, offered);
}

/// Two streams of which the second leaves with packets in flight.
fn left_with_packets_in_flight(kind: &str) -> (Sender, Vec<MediaTransmit<Vec<u8>>>) {
    let mut sender = sender(kind, &[MediaStreamConfig::new(1), MediaStreamConfig::new(2)]);
    sender.offer(at(0), StreamId(0), packet(0, 500, true));
    sender.offer(at(0), StreamId(1), packet(0, 900, true));
    let mut sent = Vec::new();
    for millis in 0..300 {
        sender.handle_timeout(at(millis));
        sent.extend(leaving(&mut sender, at(millis)));
    }
    assert_eq!(sent.iter().filter(|sent| sent.media.is_some()).count(), 2, "{kind}");
    sender.remove_stream(at(300), StreamId(1)).expect("it is there");
    (sender, sent)
}

#[test]
fn what_was_in_flight_of_a_stream_that_left_is_reported_on_and_no_loss() {
    let (mut sender, _) = left_with_packets_in_flight("scream");
    let before = sender.end().controller().snapshot();
    assert!(before.in_flight > Some(Bytes::new(1000)));
    for stream in 0..2 {
        let arrived = [Some(at(330))];
        sender.receive(at(350), report(StreamId(stream), 65_534, &arrived, at(331)), Ecn::NotEct);
    }
    let after = sender.end().controller().snapshot();
    assert_eq!((after.in_flight, sender.sender_counters().unknown_reports), (Some(Bytes::ZERO), 0));
    assert!(after.window >= before.window, "{before:?} {after:?}");
}

#[test]
fn feedback_for_a_stream_that_is_gone_is_counted_and_changes_nothing_else() {
    for kind in ["scream", "gcc", "urcp"] {
        let (mut sender, _) = left_with_packets_in_flight(kind);
        sender.receive(at(350), report(StreamId(0), 65_534, &[Some(at(330))], at(331)), Ecn::NotEct);
        sender.handle_timeout(at(3400));
        sender.offer(at(3400), StreamId(0), packet(1, 500, true));
        // A report on what is there lets go of what is not.
        sender.receive(at(3400), report(StreamId(0), 65_534, &[Some(at(330))], at(3390)), Ecn::NotEct);
        let (before, unknown) =
            (format!("{:?}", sender.end().controller()), sender.sender_counters().unknown_reports);
        let gone = [None, Some(at(335)), None];
        sender.receive(at(3400), report(StreamId(1), 65_534, &gone, at(3390)), Ecn::NotEct);
        assert_eq!(sender.sender_counters().unknown_reports, unknown + 3, "{kind}");
        assert_eq!(format!("{:?}", sender.end().controller()), before, "{kind}");
        let config = MediaStreamConfig::new(3);
        assert_eq!(sender.add_stream(at(3401), &config), Ok(StreamId(1)), "its place is free");
        sender.offer(at(3401), StreamId(1), packet(0, 500, true));
        sender.receive(at(3401), report(StreamId(1), 65_534, &gone, at(3390)), Ecn::NotEct);
        assert_eq!(sender.sender_counters().unknown_reports, unknown + 6, "{kind}: nor is it the new one's");
    }
}

/// The numbers of the first packets of three streams of a sender with these settings.
fn first_numbers(settings: &[(&str, &str)]) -> Vec<u64> {
    let mut sender = Sender::configured("none", None, settings.iter().copied()).expect("sound");
    for ssrc in ["1", "2", "3"] {
        sender.add_configured(Time::ZERO, [("ssrc", ssrc)]).expect("there is room");
    }
    sender.start(Time::ZERO);
    (0..3).for_each(|id| sender.offer(at(0), StreamId(id), packet(1, 100, true)));
    leaving(&mut sender, at(0)).iter().map(|sent| sent.sequence).collect()
}

#[test]
fn each_stream_has_a_first_number_of_its_own_unless_one_is_given() {
    let drawn = first_numbers(&[("seed", "5")]);
    let different: std::collections::BTreeSet<_> = drawn.iter().collect();
    assert_eq!((drawn.len(), different.len()), (3, 3), "{drawn:?}");
    assert!(drawn.iter().all(|number| *number < 1 << 16), "{drawn:?}");
    assert_eq!(first_numbers(&[("seed", "5")]), drawn);
    assert_ne!(first_numbers(&[("seed", "6")]), drawn);
    assert_eq!(first_numbers(&[("first_number", "65535")]), [65_535; 3]);
}

#[test]
fn priorities_hold_from_when_they_are_set() {
    let mut sender = sender("urcp", &[MediaStreamConfig::new(1), MediaStreamConfig::new(2)]);
    let target = |sender: &Sender, id| sender.target(StreamId(id)).map_or(0.0, Bitrate::as_bps_f64);
    sender.set_priority(at(1), StreamId(0), 3.0).expect("a weight");
    let ratio = target(&sender, 0) / target(&sender, 1);
    assert!((ratio - 3.0).abs() < 0.01, "{ratio}");
    let whole = target(&sender, 0) + target(&sender, 1);
    sender.remove_stream(at(2), StreamId(0)).expect("it is there");
    assert_eq!(sender.target(StreamId(0)), None);
    assert!((target(&sender, 1) / whole - 1.0).abs() < 0.01, "who stays has it all");
    let limits = Limits { stream: StreamId(1), min: Bitrate::ZERO, max: Bitrate::from_kbps(10) };
    sender.set_limits(at(3), &limits).expect("it is there");
    assert_eq!(sender.target(StreamId(1)), Some(limits.max));
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(sender.set_priority(at(4), StreamId(1), wrong), Err(StreamError::Priority));
    }
    assert_eq!(sender.set_priority(at(4), StreamId(0), 1.0), Err(StreamError::Unknown(StreamId(0))));
    assert_eq!(sender.add_stream(at(4), &MediaStreamConfig::new(2)), Err(StreamError::SsrcTaken(2)));
    assert_eq!(sender.set_ssrc(at(4), StreamId(1), 7), Ok(()));
    assert_eq!(sender.ssrc(StreamId(1)), Some(7));
}

/// A camera that makes what it is told, 30 fps, and speech of 40 kbit/s, over a path of 25 ms that carries everything. Answers the
/// target of the camera after each 100 ms.
fn camera_and_speech(kind: &str, profile: &str, speech: bool) -> Vec<f64> {
    const CAMERA: StreamId = StreamId(0);
    let streams: Vec<_> =
        [10, 20][..1 + usize::from(speech)].iter().map(|n| MediaStreamConfig::new(*n)).collect();
    let controller = AnyController::configured(kind, Some(profile), []).expect("there is one");
    let mut sender = MediaSender::new(controller, &SenderConfig::new(Bytes::new(1200)));
    streams.iter().for_each(|stream| {
        sender.add_stream(Time::ZERO, stream).expect("there is room");
    });
    sender.start(Time::ZERO);
    let (mut targets, mut under_way) = (Vec::new(), VecDeque::new());
    for now in 0..6000u64 {
        if now % 33 == 0 {
            let bytes =
                sender.target(CAMERA).unwrap_or_default().bytes_in(TimeDelta::from_millis(33)).as_u64()
                    as usize;
            let packets = bytes.div_ceil(1100).max(1);
            for n in 0..packets {
                sender.offer(at(now), CAMERA, packet(now, (bytes / packets).max(1), n + 1 == packets));
            }
        }
        if speech && now % 20 == 0 {
            sender.offer(at(now), StreamId(1), packet(now, 100, true));
        }
        while sender.next_timeout().is_some_and(|(due, _)| due <= at(now)) {
            sender.handle_timeout(at(now));
            for sent in leaving(&mut sender, at(now)) {
                under_way.push_back((now, sent.stream, sent.sequence));
            }
        }
        if now % 20 == 0 {
            let there = under_way.iter().take_while(|(sent, ..)| sent + 50 <= now).count();
            for (sent, stream, sequence) in under_way.drain(..there).collect::<Vec<_>>() {
                sender.receive(
                    at(now),
                    report(stream, sequence, &[Some(at(sent + 25))], at(now - 25)),
                    Ecn::NotEct,
                );
            }
        }
        if now % 100 == 99 {
            targets.push(sender.target(CAMERA).unwrap_or_default().as_mbps_f64());
        }
    }
    targets
}

#[test]
fn a_camera_beside_speech_has_all_that_speech_leaves_and_grows_as_one_alone() {
    for (kind, profile) in [
        ("gcc", "libwebrtc"),
        ("gcc", "draft"),
        ("gcc", "libwebrtc-2012"),
        ("urcp", "adaptive"),
        ("um", "paper"),
        ("scream", "robust"),
    ] {
        let [alone, beside] = [false, true].map(|speech| camera_and_speech(kind, profile, speech));
        println!(
            "{kind:6} {profile:15} after 1 s {:.3} and {:.3}, 6 s {:.3} and {:.3} Mbit/s",
            alone[9], beside[9], alone[59], beside[59]
        );
        // Over a path without end some double and double: who is half a second behind has half.
        let least = 0.9 * (alone[59].min(2.0) - 0.06);
        assert!(beside[59] > least, "{kind} {profile}: {} and {} Mbit/s", alone[59], beside[59]);
    }
    let probed = camera_and_speech("gcc", "libwebrtc", false);
    assert!(probed[9] > 1.0, "the first probes tell of more than 300 kbit/s: {probed:?}");
}

#[derive(Clone, Debug)]
enum Operation {
    Offer(u8, usize, bool),
    Add(u32),
    Remove(u8),
    Priority(u8, f64),
    Limits(u8, u64),
    Report(u8, u64, Vec<Option<u64>>, u64),
    Wait(u64),
    Take,
}

fn operation() -> impl Strategy<Value = Operation> {
    let number = prop_oneof![4 => 65_530u64..65_700, 1 => any::<u64>()];
    let arrivals =
        prop::collection::vec(prop::option::of(prop_oneof![4 => 0u64..5000, 1 => any::<u64>()]), 0..40);
    let written = prop_oneof![4 => 0u64..5000, 1 => 0u64..1 << 40];
    prop_oneof![
        12 => (0u8..5, 0usize..1300, any::<bool>()).prop_map(|(id, size, marker)| Operation::Offer(id, size, marker)),
        1 => (0u32..6).prop_map(Operation::Add),
        1 => (0u8..5).prop_map(Operation::Remove),
        1 => (0u8..5, prop_oneof![Just(f64::NAN), Just(0.0), 0.01f64..100.0]).prop_map(|(id, p)| Operation::Priority(id, p)),
        1 => (0u8..5, any::<u64>()).prop_map(|(id, max)| Operation::Limits(id, max)),
        6 => (0u8..70, number, arrivals, written).prop_map(|(id, n, a, w)| Operation::Report(id, n, a, w)),
        10 => prop_oneof![8 => 0u64..200, 1 => 0u64..5000].prop_map(Operation::Wait),
        2 => Just(Operation::Take),
    ]
}

proptest! {
    /// Streams come and go, reports are right, late, forged and absurd: nothing panics, every packet that was offered comes
    /// back once, and no queue is longer than it may be.
    #[test]
    fn every_packet_comes_back_once_whatever_happens(
        kind in prop_oneof![Just("scream"), Just("gcc"), Just("urcp"), Just("none"), Just("fixed"), Just("rap")],
        operations in prop::collection::vec(operation(), 0..200),
    ) {
        let mut sender = sender(kind, &[MediaStreamConfig { most_waiting: 20, ..MediaStreamConfig::new(0) }]);
        let (mut now, mut offered) = (at(0), 0u64);
        let mut back: BTreeMap<u64, u32> = BTreeMap::new();
        for operation in operations {
            match operation {
                Operation::Offer(id, size, marker) => {
                    sender.offer(now, StreamId(id), packet(offered, size, marker));
                    offered += 1;
                }
                Operation::Add(ssrc) => {
                    let config = MediaStreamConfig { most_waiting: 20, ..MediaStreamConfig::new(ssrc) };
                    let _ = sender.add_stream(now, &config);
                }
                Operation::Remove(id) => drop(sender.remove_stream(now, StreamId(id))),
                Operation::Priority(id, priority) => drop(sender.set_priority(now, StreamId(id), priority)),
                Operation::Limits(id, max) => {
                    let limits = Limits { stream: StreamId(id), min: Bitrate::ZERO, max: Bitrate::from_bps(max) };
                    let _ = sender.set_limits(now, &limits);
                }
                Operation::Report(id, begin, arrivals, written) => {
                    let arrivals: Vec<_> =
                        arrivals.into_iter().map(|arrival| arrival.map(Time::from_nanos)).collect();
                    sender.receive(now, report(StreamId(id), begin, &arrivals, at(written)), Ecn::NotEct);
                }
                Operation::Wait(millis) => {
                    let (until, mut timers) = (now + TimeDelta::from_millis(millis as i64), 0);
                    while let Some((due, why)) = sender.next_timeout().filter(|(due, _)| *due <= until) {
                        timers += 1;
                        prop_assert!(timers < 100_000, "{why:?} at {due:?}, now {now:?}");
                        now = now.max(due);
                        sender.handle_timeout(now);
                        for sent in leaving(&mut sender, now) {
                            let mut bytes = vec![];
                            sent.write(&mut bytes).expect("sound");
                            prop_assert_eq!(bytes.len() as u64, sent.size.as_u64());
                            let view = rtp::decode(&bytes).expect("sound");
                            prop_assert_eq!(view.header.ssrc, sent.ssrc);
                            if let Some(media) = sent.media {
                                *back.entry(media.frame).or_default() += 1;
                            }
                        }
                    }
                    now = until;
                }
                Operation::Take => {
                    while let Some(discarded) = sender.poll_discarded() {
                        *back.entry(discarded.frame).or_default() += 1;
                    }
                }
            }
            prop_assert!(sender.streams.iter().all(|stream| stream.waiting() <= 20));
        }
        sender.stop(now);
        while let Some(discarded) = sender.poll_discarded() {
            *back.entry(discarded.frame).or_default() += 1;
        }
        prop_assert_eq!(back, (0..offered).map(|frame| (frame, 1)).collect::<BTreeMap<_, _>>());
    }

    #[test]
    fn no_bytes_make_a_packet_that_panics(bytes in prop::collection::vec(any::<u8>(), 0..80), first in any::<bool>()) {
        let mut bytes = bytes;
        if let (Some(byte), true) = (bytes.first_mut(), first) {
            *byte = 2 << 6 | *byte & 0x3f;
        }
        let mut sender = sender("none", &[MediaStreamConfig::new(9)]);
        if let Ok(packet) = MediaPacket::whole(0, bytes) {
            sender.offer(at(0), StreamId(0), packet);
            for sent in leaving(&mut sender, at(0)) {
                let mut out = vec![];
                sent.write(&mut out).expect("its payload type was read");
                prop_assert_eq!(out.len() as u64, sent.size.as_u64());
            }
        }
    }
}
