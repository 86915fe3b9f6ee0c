//! Samples that reach the statistics from arrivals and from reports, and the part of a peer's report that is taken.

use super::*;
use crate::RtpFeedback;
use paceline_units::{Bytes, Ecn};
use paceline_wire::{FeedbackFormat, delays, rtcp};

const T: TimeDelta = TimeDelta::from_millis(100);

fn params(at: SummaryEnd) -> Params {
    Params { at, interval: T, n: 4, m: 4, f: 4, ..Params::default() }
}

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

const FIRST: StreamId = StreamId(0);

/// Packets with these sequence numbers, 1 ms apart from `from` on, 20 ms on their way.
fn arrive(delays: &mut ArrivalDelays, from: u64, sequences: &[u64]) {
    for (place, &sequence) in (from..).zip(sequences) {
        delays.on_arrival(ms(place), (FIRST, sequence), ms(place), Some(ms(place.saturating_sub(20))));
    }
}

fn summary(delays: &mut ArrivalDelays, at: u64) -> DelaySummary {
    delays.poll(ms(at)).expect("an interval has ended").summary
}

#[test]
fn gaps_are_losses_until_they_are_filled() {
    let mut delays = ArrivalDelays::new(&params(SummaryEnd::Receiver), 1);
    assert_eq!((delays.next_timeout(), delays.poll(ms(0))), (None, None), "nothing has arrived");
    // Senders begin anywhere; 1003 and 1004 are missing.
    arrive(&mut delays, 1000, &[1000, 1001, 1002, 1005]);
    assert_eq!(delays.next_timeout(), Some(ms(1100)));
    assert_eq!(delays.poll(ms(1099)), None);
    assert_eq!(summary(&mut delays, 1100).loss, 2.0 / 6.0);
    // 1003 was late: with 1006 there are 6 packets of 7.
    arrive(&mut delays, 1110, &[1003, 1006]);
    assert_eq!(summary(&mut delays, 1200).loss, 2.0 / 8.0, "a loss was counted already");
    arrive(&mut delays, 1210, &[1008]);
    assert_eq!(summary(&mut delays, 1300).loss, 2.0 / 9.0, "the new one was paid for by the late one");
}

#[test]
fn a_leap_of_sequence_numbers_is_no_loss() {
    let mut delays = ArrivalDelays::new(&params(SummaryEnd::Receiver), 1);
    arrive(&mut delays, 1000, &[5, 5 + LONGEST_GAP + 1, u64::MAX, 3]);
    assert_eq!(summary(&mut delays, 1100).loss, 0.0);
    delays.on_arrival(ms(1101), (StreamId(9), 1), ms(1101), None);
    assert_eq!(summary(&mut delays, 1200).intervals, 2, "a stream that is not there changes nothing");
}

#[test]
fn an_arrival_ends_the_interval_before_it_counts() {
    let mut delays = ArrivalDelays::new(&params(SummaryEnd::Receiver), 1);
    arrive(&mut delays, 1000, &[0, 1]);
    // Later by 10 ms, after the end of the interval: it is of the second.
    delays.on_arrival(ms(1100), (FIRST, 2), ms(1110), Some(ms(1080)));
    assert_eq!(delays.next_timeout(), Some(ms(1100)), "the first waits to be sent");
    let first = summary(&mut delays, 1100);
    assert_eq!((first.intervals, first.skewness), (1, 0.0));
    assert_eq!(summary(&mut delays, 1200).skewness, -1.0);
}

fn result(sequence: u64, arrived: Option<u64>) -> PacketResult {
    let status =
        arrived.map_or(Status::Missing, |at| Status::Received { arrived: Some(ms(at)), ecn: Ecn::NotEct });
    PacketResult { stream: FIRST, sequence, size: Bytes::new(100), sent: ms(1000), status }
}

#[test]
fn a_packet_counts_once_however_many_reports_cover_it() {
    let mut sent = SentDelays::new(&params(SummaryEnd::Sender), 1);
    sent.on_packets(ms(1000), &[result(0, Some(1020)), result(1, None), result(2, Some(1022))]);
    // The newer report came first; then what it left out, and what came late.
    sent.on_packets(ms(1010), &[result(6, Some(1020)), result(7, None)]);
    sent.on_packets(
        ms(1020),
        &[result(0, Some(1020)), result(1, Some(1040)), result(4, Some(1020)), result(5, None)],
    );
    sent.on_packets(ms(1030), &[result(7, None), result(5, None)]);
    assert_eq!(sent.newest(), None);
    sent.on_packets(ms(1100), &[]);
    let summary = *sent.newest().expect("an interval has ended");
    // Of 0, 1, 2, 4, 5, 6 and 7 two are missing.
    assert_eq!((summary.intervals, summary.loss), (1, 2.0 / 7.0));
    sent.on_packets(ms(1110), &[result(8, Some(1010))]);
    sent.on_packets(ms(1200), &[]);
    assert_eq!(sent.newest().map(|summary| summary.skewness), Some(1.0), "faster than the mean");
}

#[test]
fn a_report_far_back_is_of_nothing_that_is_remembered() {
    let mut stream = ReportedStream::new();
    assert_eq!(stream.note(REMEMBERED * 3, true), (true, true));
    assert_eq!(stream.note(REMEMBERED * 2, true), (false, false));
    assert_eq!(stream.note(REMEMBERED * 2 + 1, true), (true, true));
    assert_eq!(stream.note(u64::MAX, true), (true, true));
}

#[test]
fn hostile_reports_change_nothing() {
    let good = DelaySummary {
        intervals: 9,
        skewness: -0.5,
        variability: T,
        frequency: 0.1,
        loss: 0.0,
        bottleneck: true,
    };
    let report = DelayReport { stream: FIRST, interval: T, summary: good };
    let of = |summary| DelayReport { summary, ..report };
    let second = TimeDelta::from_secs(1);
    let mut sent = SentDelays::new(&params(SummaryEnd::Receiver), 1);
    assert!(sent.on_report(&report, 1, second));
    for wrong in [
        report,
        DelayReport { stream: StreamId(1), ..of(DelaySummary { intervals: 10, ..good }) },
        DelayReport { interval: TimeDelta::ZERO, ..of(DelaySummary { intervals: 10, ..good }) },
        DelayReport { interval: T * 2, ..of(DelaySummary { intervals: 10, ..good }) },
        DelayReport { interval: -T, ..of(DelaySummary { intervals: 10, ..good }) },
        of(DelaySummary { intervals: 8, ..good }),
        of(DelaySummary { intervals: 11, ..good }),
        of(DelaySummary { intervals: u64::MAX, ..good }),
        of(DelaySummary { intervals: 10, skewness: f64::NAN, ..good }),
        of(DelaySummary { intervals: 10, frequency: f64::INFINITY, ..good }),
        of(DelaySummary { intervals: 10, loss: -f64::NAN, ..good }),
        of(DelaySummary { intervals: 10, variability: -T, ..good }),
    ] {
        assert!(!sent.on_report(&wrong, 1, second), "{wrong:?}");
        assert_eq!(sent.newest(), Some(&good));
    }
    assert!(sent.on_report(&of(DelaySummary { intervals: 10, ..good }), 1, second));
    // Where the sender summarises, nobody else does.
    let mut own = SentDelays::new(&params(SummaryEnd::Sender), 1);
    assert!(!own.on_report(&report, 1, second) && own.newest().is_none());
}

#[test]
fn a_report_over_the_wire_is_the_same() {
    let summary = DelaySummary {
        intervals: 61,
        skewness: -0.25,
        variability: TimeDelta::from_micros(12_345),
        frequency: 0.5,
        loss: 0.125,
        bottleneck: true,
    };
    let report = DelayReport { stream: StreamId(3), interval: TimeDelta::from_millis(350), summary };
    let mut bytes = Vec::new();
    delays::encode(&report.to_packet(1, 2), &mut bytes);
    assert_eq!(
        RtpFeedback::Delays(Box::new(report)).size(FeedbackFormat::Rfc8888),
        Bytes::new(bytes.len() as u64)
    );
    let packet = delays::decode_packet(&rtcp::first(&bytes).expect("RTCP")).expect("a summary");
    assert_eq!((packet.sender_ssrc, packet.ssrc), (1, 2));
    assert_eq!(DelayReport::of_packet(&packet, StreamId(3)), report);
}
