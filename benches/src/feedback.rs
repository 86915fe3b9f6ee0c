//! The cost of reading reports: nanoseconds for each packet that a report tells of, from bytes to what an endpoint is told.

use crate::{RUNS, processor_time};
use paceline_cc::StreamId;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::{FeedbackFormat, Reporter, TRANSPORT_WIDE, rtcp, unwrap_sequence};

/// Packets that each line tells of, in all.
const PACKETS: usize = 8_000_000;
/// Different reports, one after the other.
const REPORTS: usize = 256;
/// Most that a packet of a report may cost, in nanoseconds.
const WANTED: f64 = 30.0;

/// Prints a line for each format and size of a report.
pub fn print() {
    println!("\n{:<22}{:>12}{:>12}   wanted (at most)", "feedback-parse", "per report", "ns");
    for format in [FeedbackFormat::Rfc8888, FeedbackFormat::Twcc] {
        for packets in [16, 128] {
            let reports: Vec<_> = (0..REPORTS).map(|report| written(format, packets, report)).collect();
            let fastest =
                (0..RUNS).map(|_| nanoseconds(format, packets, &reports)).fold(f64::INFINITY, f64::min);
            println!("{:<22}{packets:>12}{fastest:>12.1}   {WANTED}", format.name());
        }
    }
}

/// A report on so many packets, of which one in 29 is missing, that arrived 0.3 ms apart and now and then 9 ms.
fn written(format: FeedbackFormat, packets: usize, report: usize) -> Vec<u8> {
    let first = report * packets;
    let mut at = Time::ZERO + TimeDelta::from_millis(100) * (report as i64 + 1);
    let arrival = |number: usize| {
        at += if number.is_multiple_of(37) { TimeDelta::from_millis(9) } else { TimeDelta::from_micros(300) };
        let ecn = if number.is_multiple_of(11) { Ecn::Ce } else { Ecn::Ect1 };
        if number.is_multiple_of(29) {
            ArrivalReport::Missing
        } else {
            ArrivalReport::Received { at: Some(at), ecn }
        }
    };
    let arrivals: Vec<_> = (first..first + packets).map(arrival).collect();
    let stream = if format.is_transport_wide() { TRANSPORT_WIDE } else { StreamId(0) };
    let blocks = vec![FeedbackBlock { stream, begin: first as u64, count: packets as u32 }];
    let (feedback, mut bytes) = (Feedback { written: at, blocks, arrivals }, Vec::new());
    let reporter = &mut Reporter::default();
    format.encode(&feedback, reporter, |_| 1, Bytes::new(1200), &mut bytes).expect("it fits into a datagram");
    bytes
}

fn nanoseconds(format: FeedbackFormat, packets: usize, reports: &[Vec<u8>]) -> f64 {
    let (mut raw, mut feedback) = (format.raw(), Feedback::default());
    let (mut told, start) = (0, processor_time());
    for (number, bytes) in reports.iter().cycle().take(PACKETS / packets).enumerate() {
        let newest = (number % reports.len() * packets) as u64;
        for packet in rtcp::packets(bytes) {
            raw.decode(&packet.expect("sound")).expect("sound");
            let extend = |_, begin| unwrap_sequence(newest, begin);
            raw.complete(Some(Time::ZERO), |_| Some(StreamId(0)), extend, &mut feedback).expect("sound");
            told += std::hint::black_box(&feedback).arrivals.len();
        }
    }
    let spent = processor_time() - start;
    assert_eq!(told, PACKETS / packets * packets, "each packet is told of");
    spent / told as f64 * 1e9
}
