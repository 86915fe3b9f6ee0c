//! Rate traces and frame sizes in every format: any bytes are read or refused, and what is read drives a link.
//!
//! Of an input the first two bytes say how the rest is to be read.
#![cfg_attr(fuzzing, no_main)]

use paceline_link::trace::{Column, TraceFormat, TraceOptions};
use paceline_link::{Link, LinkConfig, QueueConfig, QueueLimit, RateProcess, Trace, Transit};
use paceline_media::{FrameRate, FrameTrace, FrameTraceFormat};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

paceline_fuzz::target!(trace_parse);

fn trace_parse(data: &[u8]) {
    let [format, options, file @ ..] = data else { return };
    match usize::from(*format) % (TraceFormat::ALL.len() + 1) {
        index if index < TraceFormat::ALL.len() => rates(file, TraceFormat::ALL[index], *options),
        _ => frames(file, *options),
    }
}

fn rates(file: &[u8], format: TraceFormat, choice: u8) {
    let columns = [None, Some(Column::Index(1)), Some(Column::Index(9)), Some(Column::Name("down".into()))];
    let options = TraceOptions {
        interval: (choice & 1 == 0).then_some(TimeDelta::from_millis(100)),
        column: columns[usize::from(choice >> 1 & 3)].clone(),
        time_column: columns[usize::from(choice >> 3 & 3)].clone(),
        opportunity: Bytes::new(if choice & 128 == 0 { 1500 } else { 65_535 }),
        ..TraceOptions::new(format)
    };
    let trace = match Trace::parse(file, &options) {
        Ok(trace) => trace,
        Err(error) => {
            assert!(error.line.is_none_or(|line| line <= lines(file)), "{error}");
            return assert!(!error.to_string().is_empty());
        }
    };
    let segments = trace.segments();
    assert!(segments.iter().all(|(duration, _)| *duration > TimeDelta::ZERO));
    assert_eq!(
        segments.iter().map(|(duration, _)| duration.as_nanos()).sum::<i64>(),
        trace.length().as_nanos()
    );
    assert!(trace.min() <= trace.mean() && trace.mean() <= trace.max());
    assert!(segments.iter().all(|(_, rate)| (trace.min()..=trace.max()).contains(rate)));
    let scale = if choice & 64 == 0 { 1.0 } else { 0.001 };
    let played = RateProcess::Trace { trace, offset: TimeDelta::ZERO, scale, repeat: choice & 32 == 0 };
    // As a step, a trace is laid out over and over up to the next one.
    let then = RateProcess::Constant(Bitrate::from_mbps(1));
    drive(RateProcess::Sequence(vec![(Time::ZERO, played.clone()), (Time::from_secs_f64(1.0), then)]));
    drive(played);
}

struct Packet;

impl Transit for Packet {
    fn size(&self) -> Bytes {
        Bytes::new(1212)
    }

    fn ecn(&self) -> Ecn {
        Ecn::Ect1
    }

    fn mark_ce(&mut self) {}

    fn flow(&self) -> u64 {
        0
    }
}

/// A trace that was read has rates to serve packets with, in order and never before they came.
fn drive(rate: RateProcess) {
    let queue = QueueConfig::droptail(QueueLimit::Packets(5));
    let config = LinkConfig::new(rate, TimeDelta::from_millis(1), queue);
    if config.validate().is_err() {
        return;
    }
    let mut link = Link::new(config, 1, "fuzzed").expect("validated");
    let mut last = Time::ZERO;
    for number in 0..50 {
        let now = Time::from_nanos(number * 7_000_000);
        link.offer(now, Packet, &mut |departure| {
            assert!(departure.departed > now && departure.departed >= last && !departure.wait.is_negative());
            last = departure.departed;
        });
    }
    let (end, counters) = (Time::from_secs_f64(3.0), link.counters());
    assert_eq!(
        counters.offered,
        counters.departed + counters.dropped + counters.queue_packets + counters.in_service
    );
    let bits = link.capacity_bits(Time::ZERO, end);
    assert!(bits.is_finite() && bits >= 0.0);
}

fn frames(file: &[u8], choice: u8) {
    let format =
        [None, Some(FrameTraceFormat::Sizes), Some(FrameTraceFormat::Syncodecs)][usize::from(choice) % 3];
    match FrameTrace::parse(file, format) {
        Ok(trace) => {
            assert!(!trace.frames().is_empty() && trace.frames().len() <= lines(file));
            assert!(trace.mean_rate(FrameRate::per_second(50)) > Bitrate::ZERO);
        }
        Err(error) => {
            assert!(error.line.is_none_or(|line| line <= lines(file)) && !error.to_string().is_empty())
        }
    }
}

/// Lines as an editor counts them, and one for a file without any.
fn lines(file: &[u8]) -> usize {
    file.split(|byte| matches!(byte, b'\n' | b'\r')).count().max(1)
}
