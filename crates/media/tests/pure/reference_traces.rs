//! The frame-size traces of the studies, read in place where `PACELINE_DATA` points to them; skipped otherwise.

use paceline_media::{FrameRate, FrameTrace, FrameTraceFormat, Source, TraceEncoder, TraceEncoderParams};
use paceline_units::{Bitrate, Bytes, Time};
use std::path::PathBuf;

fn trace(file: &str) -> Option<FrameTrace> {
    let Some(data) = std::env::var_os("PACELINE_DATA") else {
        eprintln!("skipped: PACELINE_DATA is not set, {file} not read");
        return None;
    };
    let path = PathBuf::from(data).join(file);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some(FrameTrace::parse(&bytes, None).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The paper: 2387 frames of 2 to 70 kB, 61.8 MB, 47.74 s at 50 fps.
#[test]
fn the_trace_of_the_scream_paper_is_what_the_paper_says() {
    let Some(trace) = trace("video_scream/trace_key.txt") else { return };
    let total: u64 = trace.frames().iter().map(|frame| u64::from(frame.bytes)).sum();
    assert_eq!((trace.frames().len(), total), (2387, 61_795_128));
    let rate = trace.mean_rate(FrameRate::per_second(50)).as_mbps_f64();
    assert!((10.35..10.36).contains(&rate), "{rate}");
}

#[test]
fn the_long_run_rate_is_the_target_on_the_trace_of_the_paper() {
    let Some(trace) = trace("video_scream/trace_key.txt") else { return };
    for mbps in [1, 10, 20, 100] {
        let encoder = TraceEncoder::new(trace.clone(), TraceEncoderParams::default()).expect("defaults");
        let mut source = Source::TraceEncoder(encoder);
        source.start(Time::ZERO);
        source.set_target(Time::ZERO, Bitrate::from_mbps(mbps));
        let frames = 10 * trace.frames().len();
        let total: Bytes = (0..frames).map(|_| source.capture(Time::MAX).payload).sum();
        let ratio = total.as_bits_f64() / (frames as f64 / 50.0) / (mbps as f64 * 1e6);
        assert!((0.99..1.01).contains(&ratio), "{mbps} Mbps: {ratio}");
        assert_eq!(source.next_capture(), Some(Time::from_nanos(frames as u64 * 20_000_000)));
    }
}

#[test]
fn a_table_with_quality_is_read_as_sizes() {
    let Some(trace) = trace("video_syncodecs_psnr/News_ProRes_720p_1000.txt") else { return };
    assert_eq!((trace.frames().len(), trace.frames()[0].bytes), (256, 21_582));
    assert!(trace.frames()[0].key && trace.frames()[1..].iter().all(|frame| !frame.key));
    let rate = trace.mean_rate(FrameRate::per_second(30)).as_mbps_f64();
    assert!((1.16..1.18).contains(&rate), "{rate}");
    // Asked for the other format, it says so.
    assert!(FrameTrace::parse(b"0 I 29.43 38.09 21582", Some(FrameTraceFormat::Sizes)).is_err());
}
