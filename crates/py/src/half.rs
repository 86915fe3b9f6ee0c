//! The receiver half of a controller, stepped packet by packet.

use crate::arguments::{configured, numbers, seconds, span, time};
use paceline_cc::{Annotation, AnyReceiverHalf, Arrival, ReceiverHalf as _, ReceiverReport, StreamId};
use paceline_units::{Bytes, Ecn, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A controller's annotation of a packet: a counter, or a round-trip time in seconds.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum Put {
    Counter(u8),
    Rtt(f64),
}

impl From<Annotation> for Put {
    fn from(put: Annotation) -> Put {
        match put {
            Annotation::Rtt(rtt) => Put::Rtt(rtt.as_secs_f64()),
            Annotation::Counter(value) => Put::Counter(value),
        }
    }
}

/// The part at the receiver of controllers that go by messages of their own (tfrc, ccid3).
///
/// Times are in seconds of a clock with any zero, 0 or more: monotonic ones, or those since 1970, of which a float is exact to 0.12 us. Sizes
/// are in bytes on the link, rates in Mbit/s.
#[pyclass(frozen, module = "paceline._core")]
pub struct ReceiverHalf {
    inner: Mutex<AnyReceiverHalf>,
}

impl ReceiverHalf {
    fn lock(&self) -> MutexGuard<'_, AnyReceiverHalf> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ReceiverHalf {
    /// The receiver half of a controller, made of the same arguments.
    #[new]
    #[pyo3(signature = (kind, *, profile=None, **params))]
    fn new(
        py: Python<'_>,
        kind: &str,
        profile: Option<&str>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<ReceiverHalf> {
        let half = configured(py, params, |settings| {
            AnyReceiverHalf::configured(kind, profile, settings.iter().copied())
        })?;
        Ok(ReceiverHalf { inner: Mutex::new(half) })
    }

    /// A packet arrived that was sent at `sent_s` by the sender's clock, with what `Controller.annotation` said. Answers whether
    /// `report` is to be called at once.
    #[pyo3(signature = (now_s, sequence, size, sent_s, *, annotation=None, stream=0, ecn=0))]
    #[allow(clippy::too_many_arguments, reason = "named in Python")]
    fn on_arrival(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::sequence)] sequence: u64,
        #[pyo3(from_py_with = numbers::size)] size: u64,
        #[pyo3(from_py_with = numbers::sent_s)] sent_s: f64,
        annotation: Option<Put>,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
        #[pyo3(from_py_with = numbers::ecn)] ecn: u8,
    ) -> PyResult<bool> {
        let (now, sent) = (time(py, "now_s", now_s)?, Some(time(py, "sent_s", sent_s)?));
        let annotation = match annotation {
            None => None,
            Some(Put::Rtt(rtt)) => Some(Annotation::Rtt(span(py, "annotation", rtt)?)),
            Some(Put::Counter(value)) => Some(Annotation::Counter(value & 15)),
        };
        let (stream, size, ecn) = (StreamId(stream), Bytes::new(size), Ecn::from_bits(ecn));
        let arrival = Arrival { stream, sequence, size, sent, ecn, annotation };
        Ok(self.lock().on_arrival(now, &arrival))
    }

    /// When `report` is due if nothing arrives, in seconds; `None` if it is not.
    #[getter]
    fn next_timeout_s(&self) -> Option<f64> {
        self.lock().next_timeout().map(seconds)
    }

    /// The message for the controller, if there is something to say: loss event rate, rate at which data arrived in Mbit/s, when the
    /// newest packet that arrived was sent, and how long it has been there, as `Controller.on_message` takes them.
    fn report(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
    ) -> PyResult<Option<(f64, f64, f64, f64)>> {
        let now = time(py, "now_s", now_s)?;
        Ok(match self.lock().report(now) {
            Some(ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent: Some(sent), delay }) => {
                let (sent, delay) = (sent.as_secs_f64(), TimeDelta::as_secs_f64(delay).max(0.0));
                Some((loss_event_rate, receive_rate.as_mbps_f64(), sent, delay))
            }
            // Every arrival says when it was sent, and no registered half says a maximum bitrate.
            Some(_) | None => None,
        })
    }
}
