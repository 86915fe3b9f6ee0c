//! Rows of a file that have a duration and no rate: the last rate holds, so that no later one moves in time.

use super::error::warn;
use super::{Trace, TraceError, TraceWarning};
use alloc::vec::Vec;
use paceline_units::{Bitrate, TimeDelta};

const NO_VALUE: &str = "a row without a value; the last value holds";
const NO_VALUE_YET: &str = "a row without a value at the beginning; the first value holds";

/// A duration, the rate if the file has one, and the line that says so.
pub(super) type Row = (TimeDelta, Option<Bitrate>, usize);

/// The trace of a file's rows.
pub(super) fn trace(rows: Vec<Row>, mut warnings: Vec<TraceWarning>) -> Result<Trace, TraceError> {
    let Some(mut last) = rows.iter().find_map(|(_, rate, _)| *rate) else {
        return Err(TraceError::whole("only rows without a value", "a rate in some row"));
    };
    let mut begun = false;
    let mut segments = Vec::with_capacity(rows.len());
    for (duration, rate, line) in rows {
        match rate {
            Some(rate) => (last, begun) = (rate, true),
            None => warn(&mut warnings, line, if begun { NO_VALUE } else { NO_VALUE_YET }),
        }
        segments.push((duration, last));
    }
    Ok(Trace::from_segments(segments)?.with_warnings(warnings))
}
