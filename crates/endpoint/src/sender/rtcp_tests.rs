//! A media sender in RTCP: its reports, what it makes of those that come, requests for pictures, ends, and SSRCs that others have.

use super::tests::{Sender, at, controller, discarded, leaving, packet, sender_with};
use super::*;
use paceline_rtp::rtcp::{IncomingStream, NtpClock, ReceiverSession, RtcpConfig, RtcpEvent};
use paceline_units::TimeDelta;
use paceline_wire::ccfb::{self, ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::rtcp::report::{self, ReportBlock};
use paceline_wire::rtcp::{self as wire, bye, picture, sdes};
use paceline_wire::{FeedbackFormat, rtp};

fn config(reduced_size: bool) -> RtcpConfig {
    RtcpConfig { reduced_size, ..RtcpConfig::new("me@here", NtpClock::starting_at(0x1234_5678_0000_0000), 3) }
}

/// A sender of one stream, SSRC 5, in RTCP.
fn in_rtcp(kind: &str, reduced_size: bool) -> Sender {
    sender_with(kind, &[MediaStreamConfig::new(5)], |sender| {
        sender.use_rtcp(config(reduced_size), FeedbackFormat::Rfc8888);
    })
}

/// RTCP that leaves until then, and when.
fn reports(sender: &mut Sender, until: Time) -> Vec<(Time, Vec<u8>)> {
    let mut datagrams = vec![];
    while let Some((due, _)) = sender.next_timeout().filter(|(due, _)| *due <= until) {
        sender.handle_timeout(due);
        let _ = leaving(sender, due);
        let mut out = vec![];
        while sender.poll_rtcp(due, &mut out) {
            assert_eq!(wire::expect_compound(&out), Ok(()));
            datagrams.push((due, std::mem::take(&mut out)));
        }
    }
    datagrams
}

fn sender_report(datagram: &[u8]) -> report::Report<'_> {
    report::decode(&wire::first(datagram).expect("sound")).expect("sound")
}

/// A report of the receiver 77 on the stream 5.
fn receiver_report(block: ReportBlock) -> Vec<u8> {
    let mut out = vec![];
    report::encode(77, None, &[ReportBlock { ssrc: 5, ..block }], &mut out).expect("it fits");
    sdes::encode_cname(77, b"you", &mut out).expect("short");
    out
}

#[test]
fn a_sender_report_counts_what_left_and_ties_both_clocks() {
    let mut sender = in_rtcp("none", false);
    sender.offer(at(0), StreamId(0), packet(1, 100, false));
    sender.offer(at(0), StreamId(0), packet(1, 50, true));
    let written = reports(&mut sender, at(300));
    let (when, datagram) = &written[0];
    let report = sender_report(datagram);
    let info = report.sender.expect("it sends");
    assert_eq!((report.ssrc, info.packets, info.octets), (5, 2, 150));
    assert_eq!(info.ntp, NtpClock::starting_at(0x1234_5678_0000_0000).at(*when));
    // The newest frame's timestamp is 3000, and was offered at 0.
    assert_eq!(info.rtp_timestamp, 3000 + (when.as_nanos() * 9 / 100_000) as u32);
    let name = wire::packets(datagram).nth(1).expect("there is one").expect("sound");
    assert_eq!(sdes::decode(&name).expect("sound").cname(5), Some(&b"me@here"[..]));
    let later = reports(&mut sender, at(3000));
    assert!(later.len() > 5, "{}", later.len());
    assert_eq!(sender_report(&later.last().expect("several").1).sender, None, "it fell silent");
    assert_eq!(sender.rtcp_counters().sent, 1 + later.len() as u64);
}

#[test]
fn the_round_trip_is_found_and_absurd_reports_are_not_believed() {
    let mut sender = in_rtcp("none", false);
    sender.offer(at(0), StreamId(0), packet(1, 100, true));
    let (when, datagram) = reports(&mut sender, at(300)).remove(0);
    let middle = (sender_report(&datagram).sender.expect("it sends").ntp >> 16) as u32;
    let answer = when + TimeDelta::from_millis(130);
    let sound = ReportBlock {
        highest_sequence: 65_534,
        last_sr: middle,
        delay_since_last_sr: 65_536 * 30 / 1000,
        fraction_lost: 64,
        jitter: 90,
        ..Default::default()
    };
    for absurd in [
        ReportBlock { last_sr: middle.wrapping_add(1), ..sound },
        ReportBlock { delay_since_last_sr: 65_536, ..sound },
        ReportBlock { highest_sequence: 65_535, ..sound },
    ] {
        sender.receive_rtcp(answer, &receiver_report(absurd), Ecn::NotEct);
    }
    assert_eq!((sender.heard(StreamId(0)), sender.rtcp_counters().impossible), (None, 3));
    sender.receive_rtcp(answer, &receiver_report(sound), Ecn::NotEct);
    let heard = sender.heard(StreamId(0)).expect("it can be");
    let round_trip = heard.round_trip.expect("of one of ours").as_millis_f64();
    assert!((round_trip - 100.0).abs() < 0.1, "{round_trip}");
    assert_eq!((heard.fraction_lost, heard.jitter), (0.25, TimeDelta::from_millis(1)));
    let mut foreign = vec![];
    report::encode(77, None, &[ReportBlock { ssrc: 6, ..sound }], &mut foreign).expect("it fits");
    sender.receive_rtcp(answer, &foreign, Ecn::NotEct);
    sender.receive_rtcp(answer, &[1, 2, 3], Ecn::NotEct);
    assert_eq!((sender.rtcp_counters().unknown_ssrc, sender.rtcp_counters().malformed), (1, 1));
    assert_eq!(sender.heard(StreamId(0)), Some(heard));
}

#[test]
fn both_sides_agree_on_round_trip_and_loss() {
    let mut sender = in_rtcp("none", false);
    let mut receiver = ReceiverSession::new(config(false), 77);
    receiver.add_stream(IncomingStream::new(5));
    receiver.tell_ecn();
    let (mut there, mut back) = (vec![], vec![]);
    let mut sent = 0u32;
    for millis in 0..3000u64 {
        if millis % 5 == 0 {
            sender.offer(at(millis), StreamId(0), packet(millis, 200, true));
        }
        sender.handle_timeout(at(millis));
        for packet in leaving(&mut sender, at(millis)) {
            sent += 1;
            if !sent.is_multiple_of(4) {
                let mut bytes = vec![];
                packet.write(&mut bytes).expect("sound");
                there.push((millis + 40, bytes));
            }
        }
        let mut out = vec![];
        while sender.poll_rtcp(at(millis), &mut out) {
            there.push((millis + 40, std::mem::take(&mut out)));
        }
        while receiver.poll_transmit(at(millis), &mut out) {
            back.push((millis + 25, std::mem::take(&mut out)));
        }
        for (_, bytes) in there.extract_if(.., |(due, _)| *due <= millis) {
            match rtp::decode(&bytes) {
                Ok(view) => drop(receiver.on_rtp(at(millis), &view, Ecn::Ect0)),
                Err(_) => receiver.on_rtcp(at(millis), &bytes),
            }
        }
        for (_, bytes) in back.extract_if(.., |(due, _)| *due <= millis) {
            sender.receive_rtcp(at(millis), &bytes, Ecn::NotEct);
        }
    }
    let heard = sender.heard(StreamId(0)).expect("reports came");
    let round_trip = heard.round_trip.expect("it was told").as_millis_f64();
    assert!((round_trip - 65.0).abs() < 1.0, "{round_trip}");
    assert!((heard.fraction_lost - 0.25).abs() < 0.03, "{heard:?}");
    assert!((130..=150).contains(&heard.cumulative_lost), "{heard:?}");
    let ecn = heard.ecn.expect("the receiver tells them");
    assert_eq!((ecn.not_ect, ecn.ect1, ecn.ce, u32::from(ecn.lost)), (0, 0, 0, heard.cumulative_lost as u32));
    assert!((390..=450).contains(&ecn.ect0), "three of four packets: {ecn:?}");
    let counters = sender.rtcp_counters();
    assert_eq!(
        (counters.malformed, counters.impossible, counters.unknown_ssrc, counters.other),
        (0, 0, 0, 0)
    );
    let counters = receiver.counters();
    assert_eq!((counters.malformed, counters.unknown_ssrc, counters.other), (0, 0, 0));
}

#[test]
fn reports_on_packets_are_read_among_the_others() {
    let mut sender = in_rtcp("scream", true);
    sender.offer(at(0), StreamId(0), packet(1, 100, true));
    assert_eq!(leaving(&mut sender, at(0)).len(), 1);
    let arrival = ArrivalReport::Received { at: Some(at(20)), ecn: Ecn::NotEct };
    let blocks = vec![FeedbackBlock { stream: StreamId(0), begin: 65_534, count: 1 }];
    let feedback = Feedback { written: at(20), blocks, arrivals: vec![arrival] };
    let mut datagram = vec![];
    ccfb::encode(&feedback, 77, |_| 5, &mut datagram).expect("it fits");
    assert!(sender.end().controller().snapshot().in_flight > Some(Bytes::ZERO));
    sender.receive_rtcp(at(40), &datagram, Ecn::NotEct);
    assert_eq!(sender.end().controller().snapshot().in_flight, Some(Bytes::ZERO));
    assert_eq!((sender.rtcp_counters().other, sender.sender_counters().unknown_reports), (0, 0));
}

#[test]
fn pictures_are_asked_for_once_in_a_while() {
    let mut sender = in_rtcp("none", true);
    sender.offer(at(0), StreamId(0), packet(1, 100, true));
    let _ = leaving(&mut sender, at(0));
    let pli = |ssrc| {
        let mut out = vec![];
        picture::encode_pli(picture::PictureLoss { sender_ssrc: 77, media_ssrc: ssrc }, &mut out);
        out
    };
    let fir = |number| {
        let mut out = vec![];
        picture::encode_fir(77, (5, number), &mut out);
        out
    };
    let mut asks = |millis, datagram: &[u8]| {
        sender.receive_rtcp(at(millis), datagram, Ecn::NotEct);
        sender.take_key_frame_request(StreamId(0))
    };
    assert!(asks(1, &pli(5)));
    assert!(!asks(2, &pli(5)) && !asks(300, &fir(1)), "too soon");
    assert!(asks(302, &fir(1)));
    assert!(!asks(5000, &fir(1)), "the same request");
    assert!(asks(5001, &fir(2)) && asks(5302, &pli(5)));
    assert!(!asks(9000, &pli(6)), "not our stream");
    let counters = sender.rtcp_counters();
    assert_eq!((counters.pictures, counters.pictures_too_soon, counters.unknown_ssrc), (7, 3, 1));
}

#[test]
fn a_stream_that_leaves_says_goodbye_and_a_receiver_that_does_is_told_of() {
    let mut sender = in_rtcp("none", false);
    let silent = sender.add_stream(at(0), &MediaStreamConfig::new(6)).expect("there is room");
    sender.offer(at(0), StreamId(0), packet(1, 100, true));
    let _ = reports(&mut sender, at(10));
    sender.remove_stream(at(10), StreamId(0)).expect("it is there");
    sender.remove_stream(at(10), silent).expect("it is there");
    let goodbye = reports(&mut sender, at(10));
    assert_eq!(goodbye.len(), 1);
    let last = wire::packets(&goodbye[0].1).flatten().last().expect("several");
    assert_eq!(
        bye::decode(&last).expect("sound").sources().collect::<Vec<_>>(),
        [5],
        "who never sent says nothing"
    );
    let mut theirs = vec![];
    report::encode(77, None, &[], &mut theirs).expect("empty");
    bye::encode(&[77], None, &mut theirs).expect("one");
    sender.receive_rtcp(at(11), &theirs, Ecn::NotEct);
    assert_eq!(sender.poll_rtcp_event(), Some(RtcpEvent::Ended { ssrc: 77 }));
    assert!(discarded(&mut sender).is_empty());
}

/// RFC 3550 section 8.2: goodbye with the old SSRC, on with another; what is in flight is still reported on.
#[test]
fn an_ssrc_that_another_has_is_changed_once_and_nothing_else() {
    let mut sender = in_rtcp("scream", true);
    sender.offer(at(0), StreamId(0), packet(1, 100, true));
    assert_eq!(leaving(&mut sender, at(0)).len(), 1);
    let before = format!("{:?}", sender.end().controller());
    let mut theirs = vec![];
    report::encode(5, None, &[], &mut theirs).expect("empty");
    for millis in 1..50 {
        sender.receive_rtcp(at(millis), &theirs, Ecn::NotEct);
        sender.on_ssrc_collision(at(millis), 5);
    }
    let Some(RtcpEvent::SsrcChanged { stream: StreamId(0), from: 5, to }) = sender.poll_rtcp_event() else {
        panic!("it changed")
    };
    assert_eq!((sender.ssrc(StreamId(0)), sender.poll_rtcp_event()), (Some(to), None));
    assert_eq!(format!("{:?}", sender.end().controller()), before);
    let mut goodbye = vec![];
    assert!(sender.poll_rtcp(at(50), &mut goodbye));
    let last = wire::packets(&goodbye).flatten().last().expect("several");
    assert_eq!(bye::decode(&last).expect("sound").sources().collect::<Vec<_>>(), [5]);
    let arrival = ArrivalReport::Received { at: Some(at(20)), ecn: Ecn::NotEct };
    let blocks = vec![FeedbackBlock { stream: StreamId(0), begin: 65_534, count: 1 }];
    let feedback = Feedback { written: at(50), blocks, arrivals: vec![arrival] };
    let mut datagram = vec![];
    ccfb::encode(&feedback, 77, |_| 5, &mut datagram).expect("it fits");
    sender.receive_rtcp(at(60), &datagram, Ecn::NotEct);
    assert_eq!(sender.end().controller().snapshot().in_flight, Some(Bytes::ZERO), "of the old one");
    sender.on_ssrc_collision(at(60), to);
    assert_eq!(sender.ssrc(StreamId(0)), Some(to), "not again so soon");
    sender.on_ssrc_collision(at(20_000), to);
    assert_ne!(sender.ssrc(StreamId(0)), Some(to));
}

#[test]
fn a_receiver_is_believed_whatever_its_clock_shows() {
    for format in [FeedbackFormat::Rfc8888, FeedbackFormat::Twcc] {
        for shown in [0, 65_000, 100_000, 640_000, 900_000] {
            let mut sender = sender_with("none", &[MediaStreamConfig::new(5)], |sender| {
                sender.use_rtcp(config(true), format);
            });
            let stream = if format.is_transport_wide() { paceline_wire::TRANSPORT_WIDE } else { StreamId(0) };
            let written = at(0) + TimeDelta::from_secs(shown);
            let blocks = vec![FeedbackBlock { stream, begin: 0, count: 1 }];
            let arrivals = vec![ArrivalReport::Received { at: Some(written), ecn: Ecn::NotEct }];
            let (report, mut bytes) = (Feedback { written, blocks, arrivals }, vec![]);
            let reporter = &mut paceline_wire::Reporter::default();
            format.encode(&report, reporter, |_| 5, Bytes::new(1200), &mut bytes).expect("it fits");
            sender.receive_rtcp(at(100), &bytes, Ecn::NotEct);
            let counters = sender.rtcp_counters();
            assert_eq!((counters.received, counters.malformed), (1, 0), "{format:?} at {shown} s");
        }
    }
}

/// RFC 8083 section 4.1: reports on packets or regular ones, but some; then every stream says goodbye, once.
#[test]
fn a_call_that_a_circuit_breaker_ends_says_goodbye_and_regular_reports_keep_it() {
    for hears in [false, true] {
        let mut sender = in_rtcp("none", false);
        sender.guard(CircuitBreakers::Timeouts);
        let mut ends = 0;
        for n in 0..2000_u64 {
            sender.offer(at(10 * n), StreamId(0), packet(n, 100, true));
            sender.handle_timeout(at(10 * n));
            let _ = leaving(&mut sender, at(10 * n));
            let mut out = vec![];
            while sender.poll_rtcp(at(10 * n), &mut out) {}
            let packets = wire::packets(&out).map(|packet| packet.expect("sound").packet_type);
            ends += packets.filter(|kind| *kind == bye::PACKET_TYPE).count();
            if hears && n % 500 == 10 {
                let newest = (65_534 + n as u32) & 0xffff;
                let block = ReportBlock { highest_sequence: newest, ..Default::default() };
                sender.receive_rtcp(at(10 * n), &receiver_report(block), Ecn::NotEct);
            }
        }
        let broken = sender.end().broken().map(|(when, _)| when);
        assert_eq!((broken, ends), if hears { (None, 0) } else { (Some(at(15_000)), 1) });
        let refused = std::iter::from_fn(|| sender.poll_discarded()).count();
        assert_eq!(refused > 400, !hears, "what is offered to a call that is over comes back");
        let refusal = sender.add_stream(at(20_000), &MediaStreamConfig::new(6)).err();
        assert_eq!(refusal, (!hears).then_some(StreamError::Broken));
    }
}

#[test]
fn a_call_that_stopped_takes_no_media_until_it_starts_again() {
    let mut sender = in_rtcp("none", false);
    sender.stop(at(10));
    sender.offer(at(20), StreamId(0), packet(1, 100, true));
    assert_eq!((leaving(&mut sender, at(20)).len(), discarded(&mut sender).len()), (0, 1));
    assert!(reports(&mut sender, at(9000)).is_empty(), "it left");
    sender.start(at(10_000));
    sender.offer(at(10_000), StreamId(0), packet(2, 100, true));
    assert_eq!((leaving(&mut sender, at(10_000)).len(), discarded(&mut sender).len()), (1, 0));
    let (_, datagram) = &reports(&mut sender, at(19_000))[0];
    assert_eq!(sender_report(datagram).ssrc, 5, "its sender reports go on");
}

#[test]
fn where_reports_tell_of_no_marks_packets_leave_without_ecn() {
    for (format, expected) in [(FeedbackFormat::Rfc8888, Ecn::Ect0), (FeedbackFormat::Twcc, Ecn::NotEct)] {
        let settings = SenderConfig { ecn: Ecn::Ect0, ..SenderConfig::new(Bytes::new(1200)) };
        let mut sender: Sender = MediaSender::new(controller("none"), &settings);
        sender.check_ecn(EcnChecks::Monitor);
        sender.use_rtcp(config(false), format);
        sender.add_stream(at(0), &MediaStreamConfig::new(5)).expect("there is room");
        sender.start(at(0));
        sender.offer(at(0), StreamId(0), packet(0, 100, true));
        let left = leaving(&mut sender, at(0));
        assert_eq!(left.iter().map(|sent| sent.ecn).collect::<Vec<_>>(), [expected]);
        assert_eq!(sender.end().ecn_state().is_some(), expected.is_capable());
    }
}
