//! Generators: rates that nobody recorded, from a seed.

mod mmwave;
mod presets;
mod states;

pub use mmwave::{MmwaveParams, Shape, StateParams, mmwave};
pub use presets::{PRESETS, Preset, PresetName};
pub use states::{RateState, StatesParams, states};

use crate::trace::TraceError;
use paceline_units::TimeDelta;

/// The most values in a trace: a guard against a length that no memory holds.
const MAX_VALUES: i64 = 100_000_000;

/// How many intervals are at least `length`.
fn whole_intervals(length: TimeDelta, interval: TimeDelta) -> Result<i64, TraceError> {
    let (length_ns, interval) = (length.as_nanos(), interval.as_nanos());
    let values = length_ns / interval + i64::from(length_ns % interval > 0);
    if length <= TimeDelta::ZERO || values > MAX_VALUES {
        return Err(TraceError::whole(length.as_secs_f64(), "a length above 0 and at most 1e8 intervals"));
    }
    Ok(values)
}
