//! Reports between two participants: figures by hand from the appendices of RFC 3550, times by arithmetic, and hostile input.

use super::clock::{middle, ticks_of, time_of, units_of};
use super::reception::round_trip;
use super::*;
use paceline_units::{Ecn, Time};
use paceline_wire::rtcp::report::{self, ReportBlock, SenderInfo};
use paceline_wire::rtcp::{self as wire, bye, ecn, sdes};
use paceline_wire::rtp::{RtpHeaderFields, RtpView};
use proptest::prelude::*;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn config() -> RtcpConfig {
    RtcpConfig::new("a@b", NtpClock::starting_at(0xeb00_0000_0000_0000), 1)
}

#[test]
fn the_wall_clock_counts_from_where_it_was_told() {
    let clock = NtpClock::starting_at(5 << 32);
    assert_eq!(clock.at(at(1500)), 6 << 32 | 0x8000_0000);
    assert_eq!(middle(clock.at(at(1500))), 6 << 16 | 0x8000);
    assert_eq!(
        (units_of(TimeDelta::from_millis(250)), time_of(0x4000)),
        (0x4000, TimeDelta::from_millis(250))
    );
    assert_eq!(ticks_of(at(100), 90_000), 9000);
}

#[test]
fn the_interval_is_the_rfcs() {
    // 1 Mbit/s: 360 / 1000 s; the first is half of it. 10 kbit/s: 62.5 B/s are for RTCP, and two participants send 128 B.
    let interval = |bandwidth, reduced_minimum| {
        ReportInterval::new(&RtcpConfig { bandwidth, reduced_minimum, ..config() }, "test")
    };
    let mut fast = interval(Bitrate::from_mbps(1), true);
    assert_eq!(fast.deterministic(), TimeDelta::from_millis(180));
    let _ = fast.next(Time::ZERO);
    assert_eq!(fast.deterministic(), TimeDelta::from_millis(360));
    let mut regular = interval(Bitrate::from_mbps(1), false);
    assert_eq!(regular.deterministic(), TimeDelta::from_millis(2500));
    let _ = regular.next(Time::ZERO);
    assert_eq!(regular.deterministic(), TimeDelta::from_secs(5));
    let mut slow = interval(Bitrate::from_kbps(10), false);
    let _ = slow.next(Time::ZERO);
    assert_eq!(slow.deterministic(), TimeDelta::from_secs(5));
    (0..200).for_each(|_| slow.on_packet(972));
    assert!(
        (slow.deterministic().as_secs_f64() - 32.0).abs() < 0.1,
        "1000 B each: {:?}",
        slow.deterministic()
    );
    // Drawn from half to one and a half of it, over e - 3/2.
    let mut now = Time::ZERO;
    let draws: Vec<f64> = (0..2000)
        .map(|_| {
            let next = regular.next(now);
            let drawn = next.saturating_since(now).as_secs_f64();
            now = next;
            drawn
        })
        .collect();
    let (least, most) =
        draws.iter().fold((9.0f64, 0.0f64), |(least, most), draw| (least.min(*draw), most.max(*draw)));
    assert!((2.05..2.10).contains(&least) && (6.10..6.16).contains(&most), "{least} {most}");
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    assert!((4.0..4.2).contains(&mean), "5 s / 1.218: {mean}");
}

fn arrive(reception: &mut Reception, millis: u64, sequence: u16, timestamp: u32) -> Option<(u64, bool)> {
    reception.on_packet(at(millis), (sequence, timestamp), Ecn::NotEct)
}

#[test]
fn losses_are_counted_as_the_rfc_does() {
    let mut reception = Reception::new(90_000);
    assert!(!reception.is_heard());
    for sequence in [65_533, 65_534, 65_535, 1, 2, 2, 3] {
        assert!(arrive(&mut reception, 0, sequence, 0).is_some());
    }
    // Of 65,533 to 3 seven are expected; 0 is missing, and 2 came twice, which hides it.
    let block = reception.block(at(10), 9);
    assert_eq!((block.cumulative_lost, block.fraction_lost, block.highest_sequence), (0, 0, 0x1_0003));
    assert_eq!(
        reception.ecn_counts(),
        ecn::EcnCounts { not_ect: 7, lost: 1, duplicates: 1, ..Default::default() }
    );
    for sequence in [5, 7, 8] {
        arrive(&mut reception, 20, sequence, 0);
    }
    let block = reception.block(at(30), 9);
    assert_eq!((block.cumulative_lost, block.fraction_lost), (2, 102), "two of five: 2 * 256 / 5");
    arrive(&mut reception, 30, 6, 0);
    arrive(&mut reception, 30, 6, 0);
    arrive(&mut reception, 30, 4, 0);
    let block = reception.block(at(40), 9);
    assert_eq!((block.cumulative_lost, block.fraction_lost), (-1, 0), "more came than were expected");
    assert_eq!(reception.ecn_counts().lost, 1, "of which duplicates hide nothing");
}

#[test]
fn numbers_that_begin_anew_are_counted_anew() {
    let mut reception = Reception::new(90_000);
    (0..10u16).for_each(|n| assert!(arrive(&mut reception, 0, n * 2, 0).is_some()));
    assert_eq!(arrive(&mut reception, 1, 30_000, 0), None, "far off: the next must tell");
    assert!(arrive(&mut reception, 1, 30_001, 0).is_some());
    let block = reception.block(at(2), 9);
    assert_eq!((block.cumulative_lost, block.highest_sequence as u16), (0, 30_001));
    assert_eq!(reception.ecn_counts().lost, 9, "what was lost before stays lost");
}

#[test]
fn jitter_is_the_rfcs() {
    let mut reception = Reception::new(8000);
    // Timestamps 20 ms apart, arrivals 20, 20 and 36 ms: the transit changes by 16 ms, 128 ticks, once.
    for (millis, n) in [(0, 0u16), (20, 1), (40, 2), (76, 3)] {
        arrive(&mut reception, millis, n, u32::from(n) * 160);
    }
    assert_eq!(reception.block(at(80), 9).jitter, 8);
    assert_eq!(reception.jitter(), TimeDelta::from_millis(1));
    // A timestamp that goes back is a change of transit like any other.
    arrive(&mut reception, 76, 4, 0);
    assert_eq!(reception.block(at(80), 9).jitter, (128 + 480 - (128 + 8) / 16) >> 4);
}

#[test]
fn marks_are_counted_with_their_duplicates() {
    let mut reception = Reception::new(90_000);
    for (n, mark) in [(0, Ecn::Ect0), (1, Ecn::Ect1), (2, Ecn::Ce), (2, Ecn::Ce), (3, Ecn::NotEct)] {
        reception.on_packet(at(0), (n, 0), mark);
    }
    let expected = ecn::EcnCounts { ect0: 1, ect1: 1, ce: 2, not_ect: 1, lost: 0, duplicates: 1 };
    assert_eq!(reception.ecn_counts(), expected);
}

#[test]
fn a_round_trip_is_what_the_report_was_away_less_its_wait() {
    let sent = [(100u32, at(1000)), (0x8000, at(2000))];
    let block =
        |last_sr, delay_since_last_sr| ReportBlock { last_sr, delay_since_last_sr, ..Default::default() };
    let of = |millis, block: ReportBlock| round_trip(at(millis), &block, sent);
    assert_eq!(
        of(2150, block(0x8000, 0x2000)),
        Ok(Some(TimeDelta::from_millis(25))),
        "of 150 ms it waited 125"
    );
    assert_eq!(of(2150, block(0, 0)), Ok(None), "it has heard no report of ours");
    assert_eq!(of(2150, block(101, 0)), Err(()), "never sent");
    assert_eq!(
        of(2150, block(0x8000, units_of(TimeDelta::from_millis(151)))),
        Err(()),
        "waited for longer than it was away"
    );
    assert_eq!(of(2150, block(0x8000, u32::MAX)), Err(()));
    assert_eq!(of(1900, block(0x8000, 0)), Ok(Some(TimeDelta::ZERO)), "a clock that went back");
}

fn receiver() -> ReceiverSession {
    let mut receiver = ReceiverSession::new(config(), 77);
    assert!(receiver.add_stream(IncomingStream::new(5)));
    assert!(!receiver.add_stream(IncomingStream::new(5)), "expected already");
    receiver
}

fn header(ssrc: u32, sequence: u16) -> RtpHeaderFields {
    RtpHeaderFields { payload_type: 96, ssrc, sequence, timestamp: u32::from(sequence) * 3000, marker: false }
}

fn view(header: RtpHeaderFields) -> RtpView<'static> {
    RtpView { header, csrc: &[], extension: None, payload: &[1], padding: 0 }
}

/// The datagrams that are due until then.
fn written(receiver: &mut ReceiverSession, until: Time) -> Vec<(Time, Vec<u8>)> {
    let mut datagrams = vec![];
    while let Some(due) = receiver.next_timeout().filter(|due| *due <= until) {
        let mut out = vec![];
        if receiver.poll_transmit(due, &mut out) {
            assert_eq!(wire::expect_compound(&out), Ok(()));
            datagrams.push((due, out));
        }
    }
    datagrams
}

fn sender_report(ssrc: u32, seconds: u64) -> Vec<u8> {
    let info = SenderInfo { ntp: seconds << 32, rtp_timestamp: 1, packets: 2, octets: 3 };
    let mut out = vec![];
    report::encode(ssrc, Some(&info), &[], &mut out).expect("it fits");
    sdes::encode_cname(ssrc, b"x", &mut out).expect("short");
    out
}

#[test]
fn a_receiver_reports_on_what_it_hears_and_repeats_the_senders_time() {
    let mut receiver = receiver();
    receiver.tell_ecn();
    assert_eq!(receiver.next_timeout(), None, "nothing came");
    for n in 0..20 {
        receiver.on_rtp(at(n * 20), &view(header(5, n as u16)), Ecn::Ect1);
    }
    receiver.on_rtcp(at(200), &sender_report(5, 0x1_0007));
    assert_eq!(receiver.on_rtp(at(380), &view(header(6, 1)), Ecn::NotEct), None, "not expected");
    let reports = written(&mut receiver, at(1000));
    let (first_at, first) = &reports[0];
    let packets: Vec<_> = wire::packets(first).flatten().collect();
    let report = report::decode(&packets[0]).expect("sound");
    let block = report.blocks().next().expect("on one stream");
    assert_eq!((report.ssrc, block.ssrc, block.highest_sequence, block.last_sr), (77, 5, 19, 7 << 16));
    assert_eq!(block.delay_since_last_sr, units_of(first_at.saturating_since(at(200))));
    assert_eq!(sdes::decode(&packets[1]).expect("sound").cname(77), Some(&b"a@b"[..]));
    let (ssrc, counts) = ecn::decode_summary(&packets[2]).expect("sound").next().expect("of one stream");
    assert_eq!((ssrc, counts.ect1, counts.lost), (5, 20, 0));
    let last =
        report::decode(&wire::first(&reports.last().expect("several").1).expect("sound")).expect("sound");
    assert_eq!(last.blocks().len(), 0, "of a silent stream nothing is said");
    assert_eq!((receiver.counters().unknown_ssrc, receiver.counters().malformed), (1, 0));
}

#[test]
fn many_streams_are_reported_on_in_datagrams_that_fit() {
    let mut receiver = receiver();
    receiver.tell_ecn();
    (100..200).for_each(|ssrc| assert!(receiver.add_stream(IncomingStream::new(ssrc))));
    for ssrc in (100..200).chain([5]) {
        receiver.on_rtp(at(0), &view(header(ssrc, 0)), Ecn::NotEct);
    }
    let due = receiver.next_timeout().expect("something came");
    let reports = written(&mut receiver, due);
    assert!(reports.iter().all(|(_, bytes)| bytes.len() <= LARGEST));
    let mut told: Vec<u32> = Vec::new();
    for (_, bytes) in &reports {
        let first = wire::first(bytes).expect("sound");
        told.extend(report::decode(&first).expect("sound").blocks().map(|block| block.ssrc));
    }
    told.sort_unstable();
    assert_eq!(told, [5].into_iter().chain(100..200).collect::<Vec<_>>(), "each once");
}

#[test]
fn a_stream_that_says_goodbye_is_gone_and_a_receiver_says_so_too() {
    let mut receiver = receiver();
    receiver.on_rtp(at(0), &view(header(5, 0)), Ecn::NotEct);
    let _ = written(&mut receiver, at(500));
    let mut datagram = sender_report(5, 1);
    bye::encode(&[5, 6], None, &mut datagram).expect("two");
    receiver.on_rtcp(at(600), &datagram);
    assert_eq!(receiver.poll_event(), Some(ReceiverEvent::Ended { ssrc: 5 }));
    assert_eq!((receiver.poll_event(), receiver.counters().unknown_ssrc), (None, 1), "6 was not expected");
    assert_eq!(receiver.on_rtp(at(610), &view(header(5, 1)), Ecn::NotEct), None);
    receiver.leave();
    let goodbye = written(&mut receiver, at(9000));
    assert_eq!(goodbye.len(), 1, "and nothing after it");
    let last = wire::packets(&goodbye[0].1).flatten().last().expect("several");
    assert_eq!(bye::decode(&last).expect("sound").sources().collect::<Vec<_>>(), [77]);
}

#[test]
fn a_receiver_whose_ssrc_another_has_takes_another_once() {
    let mut receiver = receiver();
    receiver.on_rtp(at(0), &view(header(5, 0)), Ecn::NotEct);
    let _ = written(&mut receiver, at(500));
    for n in 0..100 {
        receiver.on_rtp(at(500 + n), &view(header(receiver.ssrc(), 0)), Ecn::NotEct);
    }
    let Some(ReceiverEvent::SsrcChanged { from: 77, to }) = receiver.poll_event() else {
        panic!("it changed")
    };
    assert_eq!((receiver.ssrc(), receiver.poll_event(), receiver.counters().collisions), (to, None, 100));
    let goodbye = written(&mut receiver, at(600));
    let last = wire::packets(&goodbye[0].1).flatten().last().expect("several");
    assert_eq!(bye::decode(&last).expect("sound").sources().collect::<Vec<_>>(), [77]);
}

#[test]
fn without_an_agreement_a_report_comes_first() {
    let mut receiver = receiver();
    let mut goodbye = vec![];
    bye::encode(&[5], None, &mut goodbye).expect("one");
    receiver.on_rtcp(at(0), &goodbye);
    assert_eq!((receiver.poll_event(), receiver.counters().malformed), (None, 1));
}

proptest! {
    /// A sender's figures say what it did, whatever the network does to it.
    #[test]
    fn figures_are_those_of_the_stream(
        first: u16, fate in prop::collection::vec((0u8..4, any::<bool>()), 1..400),
    ) {
        let mut reception = Reception::new(90_000);
        let (mut sent, mut came, mut last, mut lost_before_last) = (0i64, 0i64, None, 0i64);
        let mut lost = 0i64;
        for (n, (copies, late)) in fate.iter().enumerate() {
            let copies = if n == 0 { 1 } else { *copies };
            sent += 1;
            if copies == 0 { lost += 1; }
            for _ in 0..copies {
                reception.on_packet(at(n as u64), (first.wrapping_add(n as u16), 0), Ecn::NotEct);
                came += 1;
                if *late && n > 0 {
                    reception.on_packet(at(n as u64), (first.wrapping_add(n as u16 - 1), 0), Ecn::NotEct);
                }
                last = Some(n as i64);
                lost_before_last = lost;
            }
        }
        prop_assert!(came > 0 && sent > 0);
        let block = reception.block(at(1000), 1);
        let highest = last.expect("the first came");
        prop_assert_eq!(block.highest_sequence, u32::from(first) + highest as u32);
        prop_assert!(i64::from(reception.ecn_counts().lost) <= lost_before_last, "late copies make up for losses");
        prop_assert!(i64::from(block.cumulative_lost) <= lost_before_last);
    }

    #[test]
    fn nothing_that_comes_panics(
        packets in prop::collection::vec((0u64..100_000, any::<u16>(), any::<u32>(), 0u8..4), 0..100),
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..10),
        kinds in prop::collection::vec((200u8..208, 0u8..32, prop::collection::vec(any::<u8>(), 0..15)), 0..10),
    ) {
        let mut config = config();
        config.reduced_size = true;
        let mut receiver = ReceiverSession::new(config, 77);
        receiver.add_stream(IncomingStream { clock_rate: 0, ..IncomingStream::new(5) });
        receiver.tell_ecn();
        for (millis, sequence, timestamp, mark) in packets {
            let header = RtpHeaderFields { sequence, timestamp, ..header(5, 0) };
            receiver.on_rtp(at(millis), &view(header), Ecn::from_bits(mark));
            let mut out = vec![];
            receiver.poll_transmit(at(millis), &mut out);
        }
        for (kind, count, words) in kinds {
            let mut datagram = vec![0x80 | count, kind, 0, words.len() as u8];
            words.iter().for_each(|word| datagram.extend([*word, 0, 0, 5]));
            receiver.on_rtcp(at(5), &datagram);
        }
        datagrams.iter().for_each(|datagram| receiver.on_rtcp(at(5), datagram));
        prop_assert!(receiver.events_waiting() <= MOST_EVENTS);
    }
}
