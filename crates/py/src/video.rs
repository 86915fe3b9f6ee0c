//! Real video: encoders that Python brings, asked once per frame, and what became of each packet of pictures.

use crate::arguments::floats;
use paceline_media::{EncodedFrame, FrameEncoder, FrameRequest};
use paceline_scenario::Loaded;
use paceline_scenario::assembly::CodecStream;
use paceline_sim::{LoggedPacket, MediaLog};
use paceline_units::Bytes;
use paceline_units::param::{self, Value};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception of any encoder of a run.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    /// Fails if an encoder has.
    pub fn check(&self) -> PyResult<()> {
        let mut failure = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), Err)
    }

    fn has_happened(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// A callable `encode(number, captured_ns, target_bps, key) -> (bytes, key)`.
#[derive(Debug)]
struct PyEncoder {
    encode: Py<PyAny>,
    failure: Failure,
}

impl FrameEncoder for PyEncoder {
    /// After an exception frames are empty: the run ends at the next look-up.
    fn encode(&self, request: &FrameRequest) -> EncodedFrame {
        let FrameRequest { id, captured, target, key } = *request;
        let skipped = EncodedFrame { payload: Bytes::ZERO, key: false };
        if self.failure.has_happened() {
            return skipped;
        }
        let asked = |py: Python<'_>| -> PyResult<(u64, bool)> {
            self.encode.call1(py, (id, captured.as_nanos(), target.as_bps(), key))?.extract(py)
        };
        match Python::attach(asked) {
            Ok((bytes, key)) => EncodedFrame { payload: Bytes::new(bytes), key },
            Err(error) => {
                self.failure.note(error);
                skipped
            }
        }
    }
}

/// The scenario with an encoder at each of its streams of pictures, in the order of [`streams`].
pub fn attached(loaded: &Loaded, encoders: Vec<Py<PyAny>>, failure: &Failure) -> Loaded {
    let mut loaded = loaded.clone();
    for (index, encode) in encoders.into_iter().enumerate() {
        let Some(CodecStream { flow, stream, .. }) = loaded.parts.codecs.get(index) else { break };
        let (flow, stream) = (*flow, *stream);
        if let Some(codec) = loaded.parts.codec_mut(flow, stream) {
            codec.attach(Arc::new(PyEncoder { encode, failure: failure.clone() }));
        }
    }
    loaded
}

/// The streams of pictures as dictionaries: where they are, and every parameter in base units.
pub fn streams<'py>(py: Python<'py>, loaded: &Loaded) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for codec in &loaded.parts.codecs {
        let flow = &loaded.scenario.flows[codec.flow];
        let stream = PyDict::new(py);
        for (name, value) in param::values(&codec.spec) {
            stream.set_item(name as &str, in_base_units(py, &value)?)?;
        }
        stream.set_item("flow", &flow.name)?;
        stream.set_item("stream", flow.streams[codec.stream].label())?;
        stream.set_item("path", &codec.path)?;
        stream.set_item("seed", codec.seed)?;
        stream.set_item("max_payload", codec.max_payload.as_u64())?;
        list.append(stream)?;
    }
    Ok(list)
}

fn in_base_units<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Time(time) => time.as_secs_f64().into_bound_py_any(py),
        Value::Size(size) => size.as_u64().into_bound_py_any(py),
        Value::Ratio(ratio) => ratio.into_bound_py_any(py),
        Value::Count(count) => count.into_bound_py_any(py),
        Value::Flag(flag) => flag.into_bound_py_any(py),
        Value::List(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(in_base_units(py, value)?)?;
            }
            Ok(list.into_any())
        }
        text => text.to_string().into_bound_py_any(py),
    }
}

/// The fate of the packets of each stream of pictures, in the order of [`streams`]: columns of little-endian float64 in
/// milliseconds, NaN for what is absent.
pub fn packets<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    logs: &[Option<Box<MediaLog>>],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for codec in &loaded.parts.codecs {
        let log = logs.get(codec.flow).and_then(Option::as_ref);
        let packets: Vec<&LoggedPacket> = log.iter().flat_map(|log| log.packets(codec.stream)).collect();
        let column = |cell: fn(&LoggedPacket) -> Option<f64>| -> Bound<'py, PyBytes> {
            floats(py, packets.iter().map(|packet| cell(packet).unwrap_or(f64::NAN)))
        };
        let columns = PyDict::new(py);
        columns.set_item("captured_ns", column(|packet| Some(packet.captured.as_nanos() as f64)))?;
        columns.set_item("place", column(|packet| packet.place.map(f64::from)))?;
        columns.set_item("sent_ns", column(|packet| packet.sent.map(|at| at.as_nanos() as f64)))?;
        columns.set_item("arrived_ns", column(|packet| packet.arrived.map(|at| at.as_nanos() as f64)))?;
        columns.set_item("queue_ns", column(|packet| Some(packet.wait.as_nanos() as f64)))?;
        columns.set_item("noise_ns", column(|packet| Some(packet.noise.as_nanos() as f64)))?;
        list.append(columns)?;
    }
    Ok(list)
}
