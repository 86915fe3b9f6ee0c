//! A recorded quantity that is no rate: a delay, or a part of the packets.

use super::tables::{self, Reading};
use super::{Column, MAX_LENGTH, Measure, TraceError, TraceOptions, TraceWarning, json, ping};
use alloc::sync::Arc;
use alloc::vec::Vec;
use paceline_units::TimeDelta;

/// A quantity over a finite time, each value for a while. Cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    segments: Arc<[(TimeDelta, u64)]>,
}

impl Recorded {
    /// Reads a decompressed file: JSON, the output of `ping`, or a table with times, or with an `interval` and no column of times a
    /// value per line. Units that a header names are taken at their word, with a warning. Answers the oddities too.
    ///
    /// # Errors
    /// The line that is wrong, and what would be right.
    pub fn parse(
        bytes: &[u8],
        columns: &Columns<'_>,
        measure: Measure,
    ) -> Result<(Recorded, Vec<TraceWarning>), TraceError> {
        let begin = bytes.trim_ascii_start();
        let is_json = begin.starts_with(b"[") || begin.starts_with(b"{");
        let Columns { column, time_column, interval } = *columns;
        let options = TraceOptions {
            interval,
            column: column.cloned(),
            time_column: time_column.cloned(),
            ..TraceOptions::default()
        };
        let reading = Reading { options: &options, measure, scaled: false };
        let (segments, warnings) = match interval {
            _ if is_json => json::parse(bytes, &reading)?,
            _ if ping::is_one(bytes) => ping::parse(bytes, &reading)?,
            Some(_) if time_column.is_none() => tables::mbps(bytes, reading)?,
            _ => tables::time_mbps(bytes, reading)?,
        };
        let recorded = Recorded { segments: segments.into() };
        match recorded.length() {
            TimeDelta::ZERO => Err(TraceError::whole("no time at all", "a recording that lasts")),
            length if length.as_nanos() > MAX_LENGTH => {
                Err(TraceError::whole(length.as_secs_f64(), "at most a hundred years"))
            }
            _ => Ok((recorded, warnings)),
        }
    }

    /// Duration of each value, and the value: nanoseconds of a delay, millionths of a ratio.
    pub fn segments(&self) -> &[(TimeDelta, u64)] {
        &self.segments
    }

    /// The sum of the durations.
    pub fn length(&self) -> TimeDelta {
        let nanos = self.segments.iter().map(|(duration, _)| duration.as_nanos());
        TimeDelta::from_nanos(nanos.fold(0, i64::saturating_add))
    }
}

/// Where a table has the values and their times.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// The column of the values; none: the usual place.
    pub column: Option<&'a Column>,
    /// The column of the times; none: the first.
    pub time_column: Option<&'a Column>,
    /// How long each value holds; of a table with times, the last one.
    pub interval: Option<TimeDelta>,
}
