//! Rows of a file that have a duration and no value: the last value holds, so that no later one moves in time.

use super::error::warn;
use super::{TraceError, TraceWarning};
use alloc::vec::Vec;
use paceline_units::TimeDelta;

const NO_VALUE: &str = "a row without a value; the last value holds";
const NO_VALUE_YET: &str = "a row without a value at the beginning; the first value holds";

/// A duration, the value in millionths if the file has one, and the line that says so.
pub(super) type Row = (TimeDelta, Option<u64>, usize);

/// Durations with their values in millionths, and what was odd.
pub(super) type Held = (Vec<(TimeDelta, u64)>, Vec<TraceWarning>);

/// Rows of which each has a value.
pub(super) fn filled(rows: Vec<Row>, mut warnings: Vec<TraceWarning>) -> Result<Held, TraceError> {
    let Some(mut last) = rows.iter().find_map(|(_, value, _)| *value) else {
        return Err(TraceError::whole("only rows without a value", "a value in some row"));
    };
    let mut begun = false;
    let mut segments = Vec::with_capacity(rows.len());
    for (duration, value, line) in rows {
        match value {
            Some(value) => (last, begun) = (value, true),
            None => warn(&mut warnings, line, if begun { NO_VALUE } else { NO_VALUE_YET }),
        }
        segments.push((duration, last));
    }
    Ok((segments, warnings))
}
