//! Arguments of callers in Python: read, or refused with what was found and what was expected.

use paceline_cc::{Limits, StreamId};
use paceline_units::{Bitrate, Time, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::fmt::Display;

/// The latest time that may be told, in seconds: 300 years, so that time since 1970 is one. A float of those is exact to 0.12 us
/// today.
const LATEST: f64 = 1e10;
/// The longest span that may be told, in seconds: 30 years.
const LONGEST: f64 = 1e9;
/// The highest rate that may be told, in Mbit/s.
const FASTEST: f64 = 1e9;

/// The exception of an argument that is wrong.
pub(crate) fn wrong(py: Python<'_>, text: String) -> PyErr {
    error(py, "UsageError", text)
}

/// An error of this class of the package.
pub(crate) fn error(py: Python<'_>, class: &str, text: String) -> PyErr {
    let class = py.import("paceline.errors").and_then(|errors| errors.getattr(class));
    class.and_then(|class| class.call1((text,))).map_or_else(|error| error, PyErr::from_value)
}

/// The bytes that a call hands over: `bytes` as they are, of any other buffer of bytes (bytearray, memoryview, numpy array) a copy.
pub(crate) fn data_of<'py>(found: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = found.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let py = found.py();
    let view = py.import("builtins")?.getattr("memoryview")?.call1((found,)).ok();
    let size = view.as_ref().map(|view| view.getattr("itemsize")?.extract::<usize>()).transpose()?;
    let what = match (view, size) {
        (Some(view), Some(1)) => return Ok(view.call_method0("tobytes")?.cast_into::<PyBytes>()?),
        (_, Some(size)) => format!("a buffer whose items have {size} bytes"),
        _ => format!("a value of type {}", found.get_type().name()?),
    };
    Err(wrong(py, format!("data: found {what}, expected bytes, or a buffer of bytes such as bytearray")))
}

/// A whole number of 0 or more that an argument holds.
fn whole<T: TryFrom<u64>>(found: &Bound<'_, PyAny>, name: &str, most: u64) -> PyResult<T> {
    let number = found.extract::<u64>().ok().filter(|number| *number <= most);
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        let found_text = shown(found);
        wrong(found.py(), format!("{name}: found {found_text}, expected a whole number from 0 to {most}"))
    })
}

/// Letters of a value that a message shows.
const SHOWN: usize = 200;

/// A value as Python shows it, of a long one the beginning.
pub(crate) fn shown(found: &Bound<'_, PyAny>) -> String {
    let whole = found.repr().map_or_else(|_| "another value".into(), |shown| shown.to_string());
    match whole.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &whole[..end]),
        None => whole,
    }
}

/// A number that an argument holds: refused here, where an int that is too large would be an OverflowError.
fn number(found: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    found
        .extract::<f64>()
        .map_err(|_| wrong(found.py(), format!("{name}: found {}, expected a number", shown(found))))
}

/// Numbers that arguments hold, each read by the function with the argument's name.
pub(crate) mod numbers {
    use super::{number, whole};
    use pyo3::prelude::*;

    macro_rules! named {
        ($( $name:ident: $of:ty, )*) => {
            $( pub(crate) fn $name(found: &Bound<'_, PyAny>) -> PyResult<$of> {
                whole(found, stringify!($name), <$of>::MAX.into())
            } )*
        };
    }

    named! {
        sequence: u64, size: u64, queued: u64, newest_frame: u64, frame: u64, probe: u64,
        stream: u8, payload_type: u8, ssrc: u32, timestamp: u32,
    }

    macro_rules! real {
        ($( $name:ident, )*) => {
            $( pub(crate) fn $name(found: &Bound<'_, PyAny>) -> PyResult<f64> {
                number(found, stringify!($name))
            } )*
        };
    }

    real! {
        now_s, oldest_s, clock_step_s, min_mbps, max_mbps, loss_event_rate, receive_mbps, newest_sent_s, delay_s,
        sent_s, priority, desired_mbps,
    }

    /// The bits of an ECN field.
    pub(crate) fn ecn(found: &Bound<'_, PyAny>) -> PyResult<u8> {
        found.extract::<u8>().ok().filter(|bits| *bits < 4).ok_or_else(|| {
            let text = format!(
                "ecn: found {}, expected 0 (Not-ECT), 1 (ECT(1)), 2 (ECT(0)) or 3 (CE)",
                super::shown(found)
            );
            super::wrong(found.py(), text)
        })
    }

    pub(crate) fn optional_queued(found: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        if found.is_none() { Ok(None) } else { queued(found).map(Some) }
    }

    pub(crate) fn optional_probe(found: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        if found.is_none() { Ok(None) } else { probe(found).map(Some) }
    }

    pub(crate) fn optional_desired_mbps(found: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
        if found.is_none() { Ok(None) } else { desired_mbps(found).map(Some) }
    }

    /// Numbers of packets.
    pub(crate) fn marked(found: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        found.try_iter()?.map(|number| whole(&number?, "marked", u64::MAX)).collect()
    }

    /// Numbers of packets, each with a time or none.
    pub(crate) fn packets(found: &Bound<'_, PyAny>) -> PyResult<Vec<(u64, Option<f64>)>> {
        let packet = |packet: PyResult<Bound<'_, PyAny>>| {
            let packet = packet?;
            let (number, time): (Bound<'_, PyAny>, Option<f64>) = packet.extract().map_err(|_| {
                let found = super::shown(&packet);
                let expected = "a number of a packet and a time or None";
                super::wrong(packet.py(), format!("packets: found {found}, expected {expected}"))
            })?;
            Ok((whole(&number, "packets", u64::MAX)?, time))
        };
        found.try_iter()?.map(packet).collect()
    }
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
    if (0.0..=LONGEST).contains(&seconds) {
        return Ok(TimeDelta::from_secs_f64(seconds));
    }
    Err(wrong(py, format!("{name}: found {seconds}, expected seconds from 0 to {LONGEST:.0}")))
}

/// When something is due, in seconds: the first that, told as the time, are not before it.
pub(crate) fn seconds(due: Time) -> f64 {
    let seconds = due.as_secs_f64();
    if Time::from_secs_f64(seconds) < due { seconds.next_up() } else { seconds }
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

/// The object that `make` makes of the names and values of keyword arguments, as text; its complaint is an error.
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

/// Numbers as little-endian float64.
pub(crate) fn floats<'py>(py: Python<'py>, values: impl Iterator<Item = f64>) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &values.flat_map(f64::to_le_bytes).collect::<Vec<u8>>())
}
