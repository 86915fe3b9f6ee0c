//! What callers in Python hand over: read, or refused with what was found and what was expected.

use paceline_cc::{Limits, StreamId};
use paceline_units::{Bitrate, Ecn, Time, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Display;

/// The latest time that may be told, in seconds: 30 years.
const LATEST: f64 = 1e9;
/// The highest rate that may be told, in Mbit/s.
const FASTEST: f64 = 1e9;

/// The exception of an argument that is wrong.
pub(crate) fn wrong(py: Python<'_>, text: String) -> PyErr {
    let class = py.import("paceline.errors").and_then(|errors| errors.getattr("UsageError"));
    class.and_then(|class| class.call1((text,))).map_or_else(|error| error, PyErr::from_value)
}

/// A time that a call tells.
pub(crate) fn time(py: Python<'_>, name: &str, seconds: f64) -> PyResult<Time> {
    if (0.0..=LATEST).contains(&seconds) {
        return Ok(Time::from_secs_f64(seconds));
    }
    Err(wrong(py, format!("{name}: found {seconds}, expected seconds from 0 to {LATEST:.0}")))
}

/// A span of time that a call tells.
pub(crate) fn span(py: Python<'_>, name: &str, seconds: f64) -> PyResult<TimeDelta> {
    if (0.0..=LATEST).contains(&seconds) {
        return Ok(TimeDelta::from_secs_f64(seconds));
    }
    Err(wrong(py, format!("{name}: found {seconds}, expected seconds from 0 to {LATEST:.0}")))
}

/// A parameter as text: `True` is `true`, and a list is written with its items so.
fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(flag) = value.extract::<bool>() {
        return Ok(flag.to_string());
    }
    if value.is_instance_of::<pyo3::types::PyList>() {
        let items = value.try_iter()?.map(|item| text(&item?)).collect::<PyResult<Vec<_>>>()?;
        return Ok(format!("[{}]", items.join(", ")));
    }
    Ok(value.str()?.to_string())
}

/// What `make` makes of the names and values of keyword arguments, as text; what it says is wrong is an error.
pub(crate) fn configured<T, E: Display>(
    py: Python<'_>,
    given: Option<&Bound<'_, PyDict>>,
    make: impl FnOnce(&[(&str, &str)]) -> Result<T, E>,
) -> PyResult<T> {
    let given = given.into_iter().flat_map(|given| given.iter());
    let texts = given.map(|(name, value)| Ok((name.extract::<String>()?, text(&value)?)));
    let texts = texts.collect::<PyResult<Vec<_>>>()?;
    let settings: Vec<_> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    make(&settings).map_err(|error| wrong(py, error.to_string()))
}

/// Limits of a stream's target.
pub(crate) fn limits(py: Python<'_>, stream: u8, (min_mbps, max_mbps): (f64, f64)) -> PyResult<Limits> {
    if !(0.0 <= min_mbps && min_mbps <= max_mbps) {
        let found = format!("found {min_mbps} and {max_mbps}");
        return Err(wrong(py, format!("min_mbps, max_mbps: {found}, expected 0 or more, in this order")));
    }
    let [min, max] = [min_mbps, max_mbps].map(|mbps| Bitrate::from_bps_f64(mbps.min(FASTEST) * 1e6));
    Ok(Limits { stream: StreamId(stream), min, max })
}

/// An ECN field.
pub(crate) fn ecn(py: Python<'_>, found: u8) -> PyResult<Ecn> {
    if found < 4 {
        return Ok(Ecn::from_bits(found));
    }
    Err(wrong(py, format!("ecn: found {found}, expected 0 (Not-ECT), 1 (ECT(1)), 2 (ECT(0)) or 3 (CE)")))
}
