//! Mahimahi's packet delivery traces: a line is the millisecond at which one packet may leave.
//!
//! An opportunity at millisecond k becomes rate over (k-1, k]: a packet that begins with it ends at k, when mahimahi
//! would deliver it, and the file's length is its last timestamp, as in mahimahi, where the file loops.

use super::rows::{lines, text};
use super::{Trace, TraceError};
use alloc::vec::Vec;
use paceline_units::{Bitrate, Bytes, TimeDelta};

const EXPECTED: &str = "whole milliseconds, one per line, never decreasing, below 3e12";
/// The first timestamp of a recording is below this, three years: a larger one counts from 1970, and nothing would ever leave.
const EPOCH: u64 = 100_000_000_000;
const NOT_EPOCH: &str = "milliseconds since the recording began, not since 1970: take the first off each";

/// A rate per millisecond in which something may be delivered.
pub(super) fn parse(bytes: &[u8], opportunity: Bytes) -> Result<Trace, TraceError> {
    if opportunity == Bytes::ZERO || opportunity.as_u64() > 1 << 20 {
        return Err(TraceError::whole(opportunity.as_u64(), "an opportunity of 1 B to 1 MiB"));
    }
    let mut segments = Vec::new();
    // The opportunities of the millisecond before `end`, and the time up to which segments are complete.
    let (mut end, mut count, mut complete, mut previous) = (1u64, 0u64, 0u64, None);
    for (line, content) in lines(text(bytes)?) {
        let content = content.trim();
        let time = match content.parse::<u64>() {
            Ok(time) if time < 3_000_000_000_000 && previous.is_none_or(|before| before <= time) => time,
            _ => return Err(TraceError::at(line, content, EXPECTED)),
        };
        if previous.is_none() && time >= EPOCH {
            return Err(TraceError::at(line, content, NOT_EPOCH));
        }
        previous = Some(time);
        // There is no millisecond before 0; what may leave at 0 leaves in the first.
        if time.max(1) != end {
            flush(&mut segments, &mut complete, end, count, opportunity);
            (end, count) = (time.max(1), 0);
        }
        count += 1;
    }
    match previous {
        None => Err(TraceError::whole("an empty file", EXPECTED)),
        Some(0) => Err(TraceError::whole("only opportunities at 0", "a last timestamp above 0")),
        Some(_) => {
            flush(&mut segments, &mut complete, end, count, opportunity);
            Trace::from_segments(segments)
        }
    }
}

fn flush(
    segments: &mut Vec<(TimeDelta, Bitrate)>,
    complete: &mut u64,
    end: u64,
    count: u64,
    opportunity: Bytes,
) {
    if count == 0 {
        return;
    }
    let millis = |count: u64| TimeDelta::from_millis(count as i64);
    segments.push((millis(end - 1 - *complete), Bitrate::ZERO));
    let bits = count.saturating_mul(opportunity.as_u64()).saturating_mul(8);
    segments.push((millis(1), Bitrate::from_bps(bits.saturating_mul(1000))));
    *complete = end;
}
