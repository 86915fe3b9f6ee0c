//! Recorded rates: what a trace is, and the formats it may come in.
//!
//! Parsers take bytes that are already decompressed; who reads files is somebody else. No input makes them panic.

mod error;
mod json;
mod mahimahi;
mod rows;
mod tables;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
pub use error::{TraceError, TraceWarning};
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// A piecewise-constant rate of finite length. Cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub struct Trace {
    segments: Arc<[(TimeDelta, Bitrate)]>,
    length: TimeDelta,
    mean: Bitrate,
    min: Bitrate,
    max: Bitrate,
    warnings: Vec<TraceWarning>,
}

/// How a trace is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    /// A rate in Mbit/s per line, each for `interval`.
    Mbps,
    /// "time rate" per line, in seconds and Mbit/s: the rate holds until the next line's time.
    TimeMbps,
    /// "rate hold" per line, in Mbit/s and seconds.
    MbpsHold,
    /// A delivery opportunity of `opportunity` bytes per line, in whole milliseconds.
    Mahimahi,
    /// A JSON list of `{"duration_ms", "bandwidth_kbps", "latency_ms"}`; the latency is not used.
    JsonGhent,
}

impl TraceFormat {
    /// Every format with its name in a scenario.
    pub const ALL: [(&'static str, TraceFormat); 5] = [
        ("mbps", TraceFormat::Mbps),
        ("time-mbps", TraceFormat::TimeMbps),
        ("mbps-hold", TraceFormat::MbpsHold),
        ("mahimahi", TraceFormat::Mahimahi),
        ("json-ghent", TraceFormat::JsonGhent),
    ];

    /// The format of this name.
    pub fn from_name(name: &str) -> Option<TraceFormat> {
        TraceFormat::ALL.iter().find(|(known, _)| *known == name).map(|&(_, format)| format)
    }
}

/// Which column of a table holds a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Column {
    /// Counted from 0.
    Index(usize),
    /// As the header line names it.
    Name(String),
}

/// How to read a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceOptions {
    /// How it is written.
    pub format: TraceFormat,
    /// `mbps`: how long each value holds, needed there. `time-mbps`: how long the last one does.
    pub interval: Option<TimeDelta>,
    /// Tables: where the rate is. Without it a line has no columns but those of its format.
    pub column: Option<Column>,
    /// `time-mbps`: where the time is, default the first; `mbps-hold`: where the hold is, default the second.
    pub time_column: Option<Column>,
    /// `mahimahi`: bytes per line. 1500 is what most tools take; mahimahi's own code delivers 1504.
    pub opportunity: Bytes,
}

impl TraceOptions {
    /// `format` with its defaults.
    pub fn new(format: TraceFormat) -> TraceOptions {
        TraceOptions {
            format,
            interval: None,
            column: None,
            time_column: None,
            opportunity: Bytes::new(1500),
        }
    }
}

/// The longest trace, in nanoseconds: a hundred years, so that no sum of times overflows.
const MAX_LENGTH: i64 = 100 * 366 * 86_400 * 1_000_000_000;

impl Trace {
    /// Reads a decompressed file.
    pub fn parse(bytes: &[u8], options: &TraceOptions) -> Result<Trace, TraceError> {
        match options.format {
            TraceFormat::Mbps => tables::mbps(bytes, options),
            TraceFormat::TimeMbps => tables::time_mbps(bytes, options),
            TraceFormat::MbpsHold => tables::mbps_hold(bytes, options),
            TraceFormat::Mahimahi => mahimahi::parse(bytes, options.opportunity),
            TraceFormat::JsonGhent => json::parse(bytes),
        }
    }

    /// A trace of (duration, rate). Durations of zero are left out, neighbours of one rate become one segment.
    pub fn from_segments(
        segments: impl IntoIterator<Item = (TimeDelta, Bitrate)>,
    ) -> Result<Trace, TraceError> {
        let mut merged: Vec<(TimeDelta, Bitrate)> = Vec::new();
        let mut length = TimeDelta::ZERO;
        let mut work = 0u128;
        for (duration, rate) in segments {
            if duration.is_negative() {
                return Err(TraceError::whole(duration.as_secs_f64(), "durations of 0 or more"));
            }
            if rate.as_bps() > crate::rate::MAX_RATE {
                return Err(TraceError::whole(rate.as_mbps_f64(), "rates of at most 1 Pbit/s"));
            }
            length += duration;
            if length.as_nanos() > MAX_LENGTH {
                return Err(TraceError::whole(length.as_secs_f64(), "at most a hundred years"));
            }
            work += rate.as_bps() as u128 * duration.as_nanos() as u128;
            match merged.last_mut() {
                _ if duration == TimeDelta::ZERO => {}
                Some(last) if last.1 == rate => last.0 += duration,
                _ => merged.push((duration, rate)),
            }
        }
        if merged.is_empty() {
            return Err(TraceError::whole("no time at all", "a trace that lasts"));
        }
        let rates = || merged.iter().map(|&(_, rate)| rate);
        let (min, max) = (rates().min().unwrap_or_default(), rates().max().unwrap_or_default());
        if max == Bitrate::ZERO {
            return Err(TraceError::whole("only zeros", "some rate above 0"));
        }
        let mean = Bitrate::from_bps((work / length.as_nanos() as u128) as u64);
        Ok(Trace { segments: merged.into(), length, mean, min, max, warnings: Vec::new() })
    }

    /// The trace with `rate` in place of every rate of 0: for recordings whose zeros are gaps, no outages.
    pub fn with_zeros_at(&self, rate: Bitrate) -> Result<Trace, TraceError> {
        let segments = self.segments.iter();
        let filled =
            segments.map(|&(duration, was)| (duration, if was == Bitrate::ZERO { rate } else { was }));
        Ok(Trace { warnings: self.warnings.clone(), ..Trace::from_segments(filled)? })
    }

    /// Duration and rate of each segment, in order.
    pub fn segments(&self) -> &[(TimeDelta, Bitrate)] {
        &self.segments
    }

    /// The sum of the durations.
    pub fn length(&self) -> TimeDelta {
        self.length
    }

    /// Mean over time.
    pub fn mean(&self) -> Bitrate {
        self.mean
    }

    /// The lowest rate.
    pub fn min(&self) -> Bitrate {
        self.min
    }

    /// The highest rate.
    pub fn max(&self) -> Bitrate {
        self.max
    }

    /// What was odd in the file and how it was read.
    pub fn warnings(&self) -> &[TraceWarning] {
        &self.warnings
    }

    fn with_warnings(mut self, warnings: Vec<TraceWarning>) -> Trace {
        self.warnings = warnings;
        self
    }
}
