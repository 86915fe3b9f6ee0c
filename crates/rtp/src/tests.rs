//! Sender and receiver against each other and against hand-written reports.

use super::*;
use paceline_cc::scream::{Params, Scream};
use paceline_cc::{FlowSetup, StreamId, shared_bottleneck};
use paceline_ends::{Follows, PathFacts, Reason, ReceivingEnd, SendingEnd, Transmit};
use paceline_media::{Cbr, CbrParams, PlayoutConfig, Source};
use paceline_units::param::Profiles;
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use proptest::prelude::*;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn packet(sequence: u64, marker: bool) -> RtpPacket {
    let (stream, payload) = (StreamId(0), Bytes::new(1200));
    let (first, annotation) = (None, None);
    RtpPacket {
        stream,
        sequence,
        captured: at(1),
        payload,
        padding: 0,
        header: Header::RTP,
        transport: 0,
        first,
        marker,
        key: None,
        annotation,
    }
}

fn receiver(packets: u32, marker: bool) -> RtpReceiver {
    RtpReceiver::new(
        FeedbackConfig { packets, marker, ..FeedbackConfig::default() },
        1,
        PlayoutConfig::IMMEDIATE,
    )
}

/// Whether a report is due at once when a packet has arrived.
fn arrives(receiver: &mut RtpReceiver, now: Time, packet: RtpPacket, ecn: Ecn) -> bool {
    receiver.receive(now, packet, ecn, PathFacts::default());
    receiver.next_timeout() == Some((now, Reason::Report))
}

fn report(receiver: &mut RtpReceiver, now: Time) -> Option<(u64, Vec<bool>)> {
    receiver.poll_transmit(now).map(|Transmit { packet: feedback, .. }| {
        let received = |arrival: &ArrivalReport| matches!(arrival, ArrivalReport::Received { .. });
        let mut single = Feedback::default();
        let feedback = feedback.on_packets(&mut single).expect("there is no half");
        (feedback.blocks[0].begin, feedback.arrivals.iter().map(received).collect())
    })
}

#[test]
fn a_report_is_due_after_its_packets_its_time_or_a_marker() {
    let mut by_count = receiver(3, false);
    assert!(!arrives(&mut by_count, at(0), packet(0, true), Ecn::NotEct));
    assert!(!arrives(&mut by_count, at(1), packet(1, false), Ecn::NotEct));
    assert_eq!(by_count.next_timeout(), Some((at(40), Reason::Report)), "40 ms after the first");
    assert_eq!(report(&mut by_count, at(39)), None);
    assert!(arrives(&mut by_count, at(2), packet(2, false), Ecn::NotEct));
    assert_eq!(report(&mut by_count, at(2)), Some((0, vec![true; 3])));
    assert_eq!(by_count.next_timeout(), None);
    assert!(arrives(&mut receiver(16, true), at(0), packet(0, true), Ecn::NotEct));
}

#[test]
fn a_stream_may_begin_at_any_sequence_number() {
    let mut receiver = receiver(2, false);
    arrives(&mut receiver, at(0), packet(5000, false), Ecn::NotEct);
    arrives(&mut receiver, at(1), packet(5001, false), Ecn::NotEct);
    assert_eq!(report(&mut receiver, at(1)), Some((5000, vec![true, true])));
}

#[test]
fn a_report_that_overlaps_says_nothing_of_what_was_before_the_first_packet() {
    let config = FeedbackConfig { packets: 1, overlap: 3, ..FeedbackConfig::default() };
    let mut receiver = RtpReceiver::new(config, 1, PlayoutConfig::IMMEDIATE);
    for (sequence, begin) in [(5000, 5000), (5001, 5000), (4999, 4999), (5002, 4999), (5003, 5000)] {
        arrives(&mut receiver, at(0), packet(sequence, false), Ecn::NotEct);
        assert_eq!(report(&mut receiver, at(0)).map(|(begin, _)| begin), Some(begin), "{sequence}");
    }
}

#[test]
fn numbers_that_go_on_elsewhere_are_reported_from_there_and_those_before_are_not_forgotten() {
    let mut receiver = receiver(4, false);
    for (n, sequence) in [(0, 0), (1, 1), (2, 2900)] {
        assert!(!arrives(&mut receiver, at(n), packet(sequence, false), Ecn::NotEct));
    }
    receiver.resynchronise(at(3), StreamId(0), 3);
    assert!(arrives(&mut receiver, at(3), packet(3, false), Ecn::NotEct));
    let Some(Transmit { packet: RtpFeedback::Packets(feedback), .. }) = receiver.poll_transmit(at(3)) else {
        panic!("a report")
    };
    let blocks: Vec<_> = feedback.blocks.iter().map(|block| (block.begin, block.count)).collect();
    assert_eq!(blocks, [(0, 2901), (3, 1)]);
    assert_eq!(feedback.arrivals.len(), 2902);
    for n in 4..8 {
        arrives(&mut receiver, at(n), packet(n, false), Ecn::NotEct);
    }
    assert_eq!(report(&mut receiver, at(8)), Some((4, vec![true; 4])), "and nothing of those far ahead");
    receiver.resynchronise(at(9), StreamId(7), 3);
}

#[test]
fn a_late_packet_is_reported_with_all_that_follows_it() {
    let mut receiver = receiver(1, false);
    arrives(&mut receiver, at(0), packet(0, false), Ecn::NotEct);
    assert_eq!(report(&mut receiver, at(0)), Some((0, vec![true])));
    arrives(&mut receiver, at(1), packet(2, false), Ecn::NotEct);
    assert_eq!(report(&mut receiver, at(1)), Some((1, vec![false, true])));
    arrives(&mut receiver, at(2), packet(1, false), Ecn::NotEct);
    assert_eq!(report(&mut receiver, at(2)), Some((1, vec![true, true])), "received stays received");
    arrives(&mut receiver, at(3), packet(3, false), Ecn::NotEct);
    assert_eq!(report(&mut receiver, at(3)), Some((3, vec![true])));
}

/// At ten packets a millisecond a packet that 190 ms of others overtook is 1,900 behind.
#[test]
fn a_late_packet_is_reported_for_the_reordering_time_at_any_rate() {
    let lateness = |late_by_ms: u64| {
        let mut receiver = receiver(16, false);
        let tenth = |n: u64| Time::from_nanos(n * 100_000);
        let (missing, last) = (9_000, 9_000 + 10 * late_by_ms);
        for n in (0..=last).filter(|n| *n != missing) {
            arrives(&mut receiver, tenth(n), packet(n, false), Ecn::NotEct);
            let _ = report(&mut receiver, tenth(n));
        }
        arrives(&mut receiver, tenth(last), packet(missing, false), Ecn::NotEct);
        report(&mut receiver, tenth(last + 400)).map(|(begin, arrivals)| (begin, arrivals[0], arrivals.len()))
    };
    assert_eq!(lateness(190), Some((9_000, true, 1_901)));
    assert_ne!(lateness(1_500).map(|(begin, ..)| begin), Some(9_000), "its memory has an end");
}

#[test]
fn reports_by_rate_come_every_20_ms_of_fast_media() {
    let config = FeedbackConfig { by_rate: true, ..FeedbackConfig::default() };
    let mut receiver = RtpReceiver::new(config, 1, PlayoutConfig::IMMEDIATE);
    // 1.2 kB a millisecond are 9.6 Mbit/s, and each ends a frame.
    let reports: Vec<u64> = (0..2000)
        .filter(|n| {
            arrives(&mut receiver, at(*n), packet(*n, true), Ecn::NotEct);
            report(&mut receiver, at(*n)).is_some()
        })
        .collect();
    assert!(reports.windows(2).all(|pair| pair[1] - pair[0] == 20), "{reports:?}");
}

#[test]
fn of_duplicates_the_first_arrival_counts_and_ce_if_any_copy_has_it() {
    let mut receiver = receiver(16, false);
    arrives(&mut receiver, at(10), packet(0, false), Ecn::Ect1);
    arrives(&mut receiver, at(20), packet(0, false), Ecn::Ce);
    arrives(&mut receiver, at(30), packet(0, false), Ecn::Ect1);
    let RtpFeedback::Packet(report) = receiver.poll_transmit(at(60)).expect("it is due").packet else {
        unreachable!("it is one packet")
    };
    assert_eq!((report.arrived, report.ecn), (ReceiverClock::RFC8888.read(at(10)), Ecn::Ce));
}

#[test]
fn a_jump_in_sequence_numbers_costs_no_memory() {
    let mut receiver = receiver(1, false);
    for sequence in [0, 1 << 40, u64::MAX - 1] {
        arrives(&mut receiver, at(1), packet(sequence, false), Ecn::NotEct);
        let (_, received) = report(&mut receiver, at(1)).expect("due");
        assert!(received.len() <= 16_384);
    }
    arrives(&mut receiver, at(1), packet(5, false), Ecn::NotEct);
    assert_eq!(report(&mut receiver, at(1)), None, "too old to report on");
}

fn sender(rate: Bitrate) -> RtpSender<Scream> {
    let params = Params::profile("reference-2022").unwrap();
    let controller = Scream::new(&params, &FlowSetup::new(Bytes::new(1212)));
    let config = SenderConfig::new(Bytes::new(1200));
    let source = Source::Cbr(Cbr::new(CbrParams { rate, ..CbrParams::default() }));
    let mut sender = RtpSender::new(controller, &config, vec![StreamConfig::new(source, rate)]);
    sender.start(Time::ZERO);
    sender
}

/// Sends what may be sent until `until`, without any feedback.
fn drain(sender: &mut RtpSender<Scream>, until: Time) -> Vec<Transmit<RtpPacket>> {
    let mut sent = Vec::new();
    while let Some((now, _)) = sender.next_timeout().filter(|(due, _)| *due < until) {
        sender.handle_timeout(now);
        sent.extend(std::iter::from_fn(|| sender.poll_transmit(now)));
    }
    sent
}

#[test]
fn the_window_holds_a_sender_without_feedback_and_it_probes_after_a_stall() {
    let mut sender = sender(Bitrate::from_mbps(10));
    let first: u64 = drain(&mut sender, at(450)).iter().map(|out| out.packet.size().as_u64()).sum();
    assert!((9_000..=11_212).contains(&first), "initial window 10,000 B and one packet: {first}");
    let later = drain(&mut sender, at(1_200));
    assert!(!later.is_empty(), "after 0.5 s of silence what is outstanding is forgotten");
}

#[test]
fn feedback_for_packets_never_sent_changes_nothing() {
    let (mut told, mut untold) = (sender(Bitrate::from_mbps(10)), sender(Bitrate::from_mbps(10)));
    drain(&mut told, at(100));
    drain(&mut untold, at(100));
    let received = ArrivalReport::Received { at: Some(at(90)), ecn: Ecn::Ce };
    let block = |stream, begin| FeedbackBlock { stream: StreamId(stream), begin, count: 2 };
    let hostile = Feedback {
        written: at(95),
        blocks: vec![block(0, 1000), block(0, u64::MAX - 1), block(7, 0)],
        arrivals: vec![received; 6],
    };
    told.receive(at(100), RtpFeedback::Packets(Box::new(hostile)), Ecn::NotEct);
    assert_eq!(told.counters().unknown_reports, 6);
    assert_eq!(drain(&mut told, at(2000)), drain(&mut untold, at(2000)));
}

#[test]
fn a_report_covers_as_many_packets_again_as_its_overlap_says() {
    for overlap in [100, 256, 300, 5000, 16_000] {
        let time = TimeDelta::from_secs(60);
        let config =
            FeedbackConfig { packets: 100, time, marker: false, overlap, ..FeedbackConfig::default() };
        let mut receiver = RtpReceiver::new(config, 1, PlayoutConfig::IMMEDIATE);
        let mut last = None;
        for sequence in 0..20_000 {
            if arrives(&mut receiver, at(sequence), packet(sequence, false), Ecn::NotEct) {
                last = report(&mut receiver, at(sequence));
            }
        }
        let (begin, arrivals) = last.expect("a report every 100 packets");
        assert_eq!((begin, arrivals.len()), (19_900 - u64::from(overlap), 100 + overlap as usize));
        assert!(arrivals.iter().all(|received| *received), "{overlap}");
    }
}

#[test]
fn summaries_of_delays_travel_beside_the_reports() {
    let interval = TimeDelta::from_millis(100);
    let params = shared_bottleneck::Params { interval, ..Default::default() };
    let (mut sender, mut receiver) = (sender(Bitrate::from_mbps(1)), receiver(16_384, false));
    sender.summarise_delays(&params);
    receiver.summarise_delays(&params);
    let mut newest = Vec::new();
    for millis in 0..1000 {
        for packet in drain(&mut sender, at(millis)) {
            let facts = PathFacts { sent: Some(at(millis)), wait: None };
            receiver.receive(at(millis + 20), packet.packet, Ecn::NotEct, facts);
        }
        while let Some(out) = receiver.poll_transmit(at(millis + 20)) {
            let packet = out.packet;
            if let RtpFeedback::Delays(report) = &packet {
                assert_eq!((out.size, millis % 100), (Bytes::new(40), 1));
                newest.push(report.summary.intervals);
            }
            let is_small = matches!(packet, RtpFeedback::Packet(_));
            let back = sender.receive(at(millis + 40), packet, Ecn::NotEct);
            assert_eq!(back.is_none(), is_small, "its memory is used again");
            back.into_iter().for_each(|back| receiver.recycle(back));
        }
        assert_eq!(sender.delay_summary().map(|summary| summary.intervals), newest.last().copied());
    }
    assert_eq!(newest, (1..=9).collect::<Vec<u64>>());
    let summary = *sender.delay_summary().expect("it came");
    let report = DelayReport { stream: StreamId(0), interval, summary };
    sender.receive(at(1000), RtpFeedback::Delays(Box::new(report)), Ecn::NotEct);
    assert_eq!(sender.counters().unknown_reports, 1, "it was there before");
}

#[test]
fn a_clock_that_is_skewed_or_put_shows_in_reports() {
    let put = |by| ClockStep { at: at(900), by: TimeDelta::from_micros(by) };
    for (skew, by, gained) in
        [(0.0, 0, 0), (100.0, 0, 100), (-100.0, 0, -100), (100.0, 200, 300), (0.0, -5, 999_995)]
    {
        let clock = ReceiverClock::new(1_000_000).expect("in range");
        let clock_steps = ClockSteps::new(vec![put(by)]).expect("one step");
        let config = FeedbackConfig { packets: 1, skew, clock, clock_steps, ..FeedbackConfig::default() };
        let mut receiver = RtpReceiver::new(config, 1, PlayoutConfig::IMMEDIATE);
        receiver.receive(at(1000), packet(0, true), Ecn::NotEct, PathFacts::default());
        let Some(Transmit { packet: RtpFeedback::Packet(report), .. }) = receiver.poll_transmit(at(1000))
        else {
            panic!("a report is due")
        };
        let shown = at(1000) + TimeDelta::from_micros(gained);
        assert_eq!((report.written, report.arrived, report.ecn), (shown, shown, Ecn::NotEct));
    }
}

proptest! {
    /// Numbers that go back and forth, frames of a few packets, padding, and every rule of when to report.
    #[test]
    fn after_an_arrival_follows_what_was_said(
        packets in prop::collection::vec((0u64..12, 0u64..30, 0u8..12), 1..200),
        (by_rate, marker, fixed) in any::<(bool, bool, bool)>(),
        every in 1u32..20,
    ) {
        let playout = if fixed { PlayoutConfig::fixed(TimeDelta::from_millis(30)) } else { PlayoutConfig::IMMEDIATE };
        let config = FeedbackConfig { by_rate, marker, packets: every, ..FeedbackConfig::default() };
        let mut receiver: RtpReceiver = RtpReceiver::new(config, 1, playout);
        let mut now = at(1000);
        for (number, (ahead, wait, kind)) in (20u64..).zip(packets) {
            now += TimeDelta::from_millis(wait as i64 / 10);
            let sequence = if ahead < 8 { number } else { number + ahead - 10 };
            let mut packet = packet(sequence, kind == 0);
            packet.captured = at(sequence / 4 * 20);
            if kind == 1 {
                (packet.payload, packet.padding) = (Bytes::ZERO, 100);
            }
            let before = receiver.next_timeout();
            let follows = receiver.receive(now, packet, Ecn::NotEct, PathFacts::default()).follows;
            let next = |receiver: &RtpReceiver| receiver.next_timeout().map_or(Time::MAX, |(due, _)| due);
            match follows {
                Follows::Unknown => {}
                Follows::Nothing => prop_assert_eq!(receiver.next_timeout(), before),
                Follows::Timeout(said) => prop_assert_eq!(next(&receiver), said),
                Follows::Answer(said) => {
                    prop_assert!(receiver.answer(now).is_some());
                    prop_assert_eq!(next(&receiver), said);
                }
            }
            if follows != Follows::Unknown {
                prop_assert!(receiver.poll_displayed().is_none());
                let is_due = before.is_some_and(|(due, _)| due <= now);
                prop_assert!(is_due || receiver.poll_transmit(now).is_none());
            }
            while let Some((due, _)) = receiver.next_timeout().filter(|(due, _)| *due <= now) {
                receiver.handle_timeout(due);
                while receiver.poll_transmit(due).is_some() {}
            }
            while receiver.poll_displayed().is_some() {}
        }
    }
}
