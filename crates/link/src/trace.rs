//! Recorded rates: what a trace is, and the formats it may come in.
//!
//! Parsers take bytes that are already decompressed; who reads files is somebody else. No input makes them panic.

mod error;
mod held;
mod json;
mod mahimahi;
mod measure;
mod ping;
mod recorded;
mod rows;
mod tables;
mod units;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
pub(crate) use error::ROUND_TRIPS;
pub use error::{TraceError, TraceWarning};
use held::Held;
pub use measure::Measure;
use paceline_units::param::{Kind, ParamError, Parameter, Reason, Value};
use paceline_units::{Bitrate, Bytes, TimeDelta, names, params};
pub use recorded::{Columns, Recorded};
use tables::Reading;
pub use units::{rate_unit, time_unit};

/// The fastest rate a link may have: 1 Pbit/s, so that a nanosecond's carry and a packet's work fit 64 bits together.
pub(crate) const MAX_RATE: u64 = 1_000_000_000_000_000;

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

names! {
    /// How a trace is written.
    pub enum TraceFormat {
        /// A rate in Mbit/s per line, each for `interval`.
        Mbps = "mbps",
        /// "time rate" per line, in seconds and Mbit/s: the rate holds until the next line's time.
        TimeMbps = "time-mbps",
        /// "rate hold" per line, in Mbit/s and seconds.
        MbpsHold = "mbps-hold",
        /// A delivery opportunity of `opportunity` bytes per line, in whole milliseconds.
        Mahimahi = "mahimahi",
        /// A JSON list of `{"duration_ms", "bandwidth_kbps", "latency_ms"}`; the latency is not used.
        JsonGhent = "json-ghent",
        /// JSON of any kind that is known: such a list, a trace of AlphaRTC, or what `iperf3 --json` writes.
        Json = "json",
    }
}

impl TraceFormat {
    /// Content of a file of the format, in a line.
    pub fn help(self) -> &'static str {
        match self {
            TraceFormat::Mbps => "A rate in Mbit/s per line, each for `interval`",
            TraceFormat::TimeMbps => {
                "Seconds and Mbit/s per line: a rate holds until the next time, the last for `interval`"
            }
            TraceFormat::MbpsHold => "Mbit/s and the seconds it holds per line",
            TraceFormat::Mahimahi => "Milliseconds at which a packet may leave, one per line",
            TraceFormat::JsonGhent => "A JSON list of objects with duration_ms and bandwidth_kbps",
            TraceFormat::Json => {
                "Such a list, a trace of AlphaRTC (uplink, trace_pattern), or what `iperf3 --json` writes"
            }
        }
    }

    /// Whether files of the format are read with the option called `name`.
    fn knows(self, name: &str) -> bool {
        match name {
            "interval" => matches!(self, TraceFormat::Mbps | TraceFormat::TimeMbps),
            "column" => !matches!(self, TraceFormat::Mahimahi | TraceFormat::JsonGhent),
            "time_column" => matches!(self, TraceFormat::TimeMbps | TraceFormat::MbpsHold),
            "opportunity" => self == TraceFormat::Mahimahi,
            _ => true,
        }
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

/// The largest number of a column.
const LAST_COLUMN: u64 = 9_999;

impl Parameter for Column {
    const KIND: Kind = Kind::Text("heading or number", "a column's heading, or its number counted from 0");

    fn to_value(&self) -> Option<Value> {
        Some(match self {
            Column::Index(index) => Value::Count(*index as u64),
            Column::Name(name) => Value::Text(name.clone()),
        })
    }

    fn from_value(value: Value) -> Option<Column> {
        match value {
            Value::Count(index) if index <= LAST_COLUMN => Some(Column::Index(index as usize)),
            Value::Text(name) => Some(Column::Name(name)),
            _ => None,
        }
    }
}

params! {
    /// How to read a trace.
    #[derive(Eq)]
    pub struct TraceOptions {
        format: TraceFormat = TraceFormat::Mbps, else "json for a .json file; of any other it must be said", "", "How the file is written";
        interval: Option<TimeDelta> = None, else "the usual time between values", in 1e-9, 1e6, "", "How long each value holds, in time-mbps the last one";
        column: Option<Column> = None, else "the usual place", "", "Where the rate is; numbers count from 0. Of JSON a part: `uplink`, `downlink`, `sum`";
        time_column: Option<Column> = None, else "the usual place", "", "Where the time or hold is";
        // The value of most tools; mahimahi's own code delivers 1504.
        opportunity: Bytes = Bytes::new(1500), in 1.0, 65_535.0, "", "Bytes of each line";
    }
    idle of_another_format;
    check interval_where_needed;
}

fn of_another_format(options: &TraceOptions, name: &str) -> Option<Reason> {
    let others = || TraceFormat::ALL.iter().filter(|format| format.knows(name)).map(|format| format.name());
    (!options.format.knows(name)).then(|| {
        let formats = others().collect::<Vec<_>>().join(" or ");
        Reason::Useless(format!("nothing: `{name}` goes with the format {formats}").into())
    })
}

fn interval_where_needed(options: &TraceOptions) -> Result<(), ParamError> {
    if options.format == TraceFormat::Mbps && options.interval.is_none() {
        return Err(ParamError::new("interval", "nothing", "the time between values, such as \"1s\""));
    }
    Ok(())
}

impl TraceOptions {
    /// `format` with its defaults.
    pub fn new(format: TraceFormat) -> TraceOptions {
        TraceOptions { format, ..TraceOptions::default() }
    }
}

/// The longest trace, in nanoseconds: a hundred years, so that no sum of times overflows.
const MAX_LENGTH: i64 = 100 * 366 * 86_400 * 1_000_000_000;

impl Trace {
    /// Reads a decompressed file. Units that the header of a table names are taken at their word, with a warning.
    pub fn parse(bytes: &[u8], options: &TraceOptions) -> Result<Trace, TraceError> {
        Trace::parse_by(bytes, options, false)
    }

    /// The same for a caller with a scale of its own, which makes Mbit/s of the numbers whatever the header calls them.
    pub fn parse_numbers(bytes: &[u8], options: &TraceOptions) -> Result<Trace, TraceError> {
        Trace::parse_by(bytes, options, true)
    }

    fn parse_by(bytes: &[u8], options: &TraceOptions, scaled: bool) -> Result<Trace, TraceError> {
        let reading = Reading { options, measure: Measure::Rate, scaled };
        Trace::of(match options.format {
            TraceFormat::Mbps => tables::mbps(bytes, reading)?,
            TraceFormat::TimeMbps => tables::time_mbps(bytes, reading)?,
            TraceFormat::MbpsHold => tables::mbps_hold(bytes, reading)?,
            TraceFormat::Mahimahi => return mahimahi::parse(bytes, options.opportunity),
            TraceFormat::JsonGhent => json::ghent(bytes, Measure::Rate)?,
            TraceFormat::Json => json::parse(bytes, &reading)?,
        })
    }

    /// The trace of rates in bit/s.
    fn of((segments, warnings): Held) -> Result<Trace, TraceError> {
        let rates = segments.into_iter().map(|(duration, bps)| (duration, Bitrate::from_bps(bps)));
        Ok(Trace { warnings, ..Trace::from_segments(rates)? })
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
            if rate.as_bps() > MAX_RATE {
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

    /// Oddities of the file, and the reading of it.
    pub fn warnings(&self) -> &[TraceWarning] {
        &self.warnings
    }
}
