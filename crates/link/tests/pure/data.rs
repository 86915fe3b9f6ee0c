//! Every rate trace of the project's data folder parses, and its mean is the one that the folder's index states.
//!
//! The data is not part of the repository: set `PACELINE_DATA` to its folder, or the test says that it saw nothing.

use paceline_link::trace::{Column, TraceFormat, TraceOptions};
use paceline_link::{Link, LinkConfig, QueueConfig, QueueLimit, RateProcess, Trace};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The folder, if there is one.
fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("PACELINE_DATA").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: PACELINE_DATA is not set, no real trace was read");
    }
    folder
}

/// File name, length in seconds and mean in Mbit/s of each rate trace, as `INDEX.md` tells them.
fn index(folder: &Path) -> BTreeMap<PathBuf, (f64, f64)> {
    let index = std::fs::read_to_string(folder.join("INDEX.md")).expect("an index");
    let (mut section, mut traces) = (String::new(), BTreeMap::new());
    for line in index.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.trim().to_string();
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        // file, path, format, interval, length, min, mean, ...; video sections are not rates.
        let [_, file, _, _, _, length, _, mean, ..] = cells[..] else { continue };
        if let (Ok(length), Ok(mean), false) = (length.parse(), mean.parse(), section.starts_with("video")) {
            traces.insert(folder.join(&section).join(file), (length, mean));
        }
    }
    traces
}

fn content(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_none_or(|extension| extension != "gz") {
        return bytes;
    }
    let mut content = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut content).expect("a gzip file");
    content
}

fn options(path: &Path) -> TraceOptions {
    let section = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).expect("a section");
    let format = match section {
        "mmwave_nyu60ghz" => TraceFormat::MbpsHold,
        "mmwave_nyu_nebula" | "cell_mahimahi" | "cell_c2tcp_nyc18" => TraceFormat::Mahimahi,
        "lte_ghent" => TraceFormat::JsonGhent,
        "starlink_autobahn" => TraceFormat::Mbps,
        _ => TraceFormat::TimeMbps,
    };
    let mut options = TraceOptions::new(format);
    if format == TraceFormat::Mbps {
        options.interval = Some(TimeDelta::from_secs(1));
        options.column = Some(Column::Name("download_mbps".into()));
    }
    options
}

fn parse(path: &Path) -> Trace {
    Trace::parse(&content(path), &options(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_real_trace_has_the_mean_of_the_index() {
    let Some(folder) = folder() else { return };
    let traces = index(&folder);
    assert!(traces.len() >= 30, "only {} traces in the index", traces.len());
    for (path, (length, mean)) in traces {
        let trace = parse(&path);
        let (found_length, found_mean) = (trace.length().as_secs_f64(), trace.mean().as_mbps_f64());
        println!("{}: {found_length:.1} s ({length}), {found_mean:.2} Mbit/s ({mean})", path.display());
        // Starlink is read as one value per second; the index weights by the timestamps, so a value before a gap of
        // up to 2656 s counts that often there.
        if path.ends_with("starlink_autobahn/throughput_slim.csv.gz") {
            assert_eq!(trace.length(), TimeDelta::from_secs(4861));
            assert!((found_mean / 217.66 - 1.0).abs() < 0.001);
            continue;
        }
        let tolerance = 0.02 + 0.005 / mean;
        assert!(
            (found_mean / mean - 1.0).abs() < tolerance,
            "{}: {found_mean}, index {mean}",
            path.display()
        );
        assert!(
            (found_length / length - 1.0).abs() < 0.02,
            "{}: {found_length}, index {length}",
            path.display()
        );
    }
}

#[test]
fn the_odd_rows_of_real_traces_are_reported() {
    let Some(folder) = folder() else { return };
    let warnings = |file: &str| -> Vec<usize> {
        parse(&folder.join(file)).warnings().iter().map(|warning| warning.count).collect()
    };
    // Six times that do not advance, one long gap.
    assert_eq!(warnings("wifi_solis/wifi_cafe_231115-154511.txt"), [6, 1]);
    assert_eq!(warnings("wifi_solis/wifi_campus_231115-192852.txt"), [0; 0]);
    assert_eq!(warnings("hspa_norway/bus.ljansbakken-oslo-report.2010-09-28_1407CEST.log"), [2]);
}

/// A packet of 1500 B.
#[derive(Clone, Copy)]
struct Full;

impl paceline_link::Transit for Full {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}

    fn flow(&self) -> u64 {
        0
    }
}

#[test]
fn a_saturated_link_delivers_what_a_mahimahi_file_allows() {
    let Some(folder) = folder() else { return };
    let path = folder.join("cell_mahimahi/ATT-LTE-driving-2016.up");
    let text = String::from_utf8(content(&path)).expect("text");
    // A packet that may leave at 0 leaves in the first millisecond of each round.
    let lines: Vec<u64> = text.lines().map(|line| line.parse().map_or(0, |line: u64| line.max(1))).collect();
    let trace = parse(&path);
    let length = trace.length();
    let rate = RateProcess::Trace { trace, offset: TimeDelta::ZERO, scale: 1.0, repeat: true };
    let config = LinkConfig::new(rate, TimeDelta::ZERO, QueueConfig::droptail(QueueLimit::Unlimited));
    let mut link = Link::new(config, 1, "uplink").expect("a valid link");
    let mut departed = Vec::new();
    for _ in 0..2 * lines.len() {
        link.offer(Time::ZERO, Full, &mut |departure| departed.push(departure.departed));
    }
    // Packet n leaves at or before the nth line, within that line's millisecond; the file loops.
    let second = lines.iter().map(|line| line + (length.as_nanos() / 1_000_000) as u64);
    for (packet, (departed, line)) in departed.iter().zip(lines.iter().copied().chain(second)).enumerate() {
        let line = line * 1_000_000;
        let nanos = departed.as_nanos();
        assert!(
            nanos <= line && nanos > line - 1_000_000,
            "packet {packet} left at {nanos} ns, line says {line} ns"
        );
    }
    assert_eq!(departed.len(), 2 * lines.len());
}
