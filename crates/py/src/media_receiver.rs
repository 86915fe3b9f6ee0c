//! A receiver of media in RTP that a notebook steps datagram by datagram.

use crate::arguments::{configured, data_of, numbers, seconds, time, wrong};
use crate::media_sender::MediaEvent;
use paceline_endpoint as endpoint;
use paceline_rtp::rtcp::Picture;
use paceline_units::{Ecn, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A receiver of media in RTP that is handed datagrams, delivers payloads, and gives datagrams that go back.
///
/// Times are in seconds of a clock with any zero, 0 or more, its own.
#[pyclass(frozen, module = "paceline._core")]
pub struct MediaReceiver {
    inner: Mutex<endpoint::MediaReceiver>,
}

/// A packet of media that came, or was restored.
#[pyclass(frozen, get_all, module = "paceline._core")]
pub struct MediaArrival {
    ssrc: u32,
    /// Extended sequence number; of a retransmission that of what it restores.
    sequence: u64,
    timestamp: u32,
    payload_type: u8,
    marker: bool,
    /// Empty of padding alone.
    payload: Py<PyBytes>,
    /// Whether it is here for the first time.
    first: bool,
    /// Whether a retransmission restored it.
    repaired: bool,
}

impl MediaReceiver {
    fn lock(&self) -> MutexGuard<'_, endpoint::MediaReceiver> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Error if no stream of this SSRC is expected.
fn expected(py: Python<'_>, known: bool, ssrc: u32) -> PyResult<()> {
    let unknown = || wrong(py, format!("ssrc: found {ssrc}, expected that of a stream that was added"));
    known.then_some(()).ok_or_else(unknown)
}

#[pymethods]
impl MediaReceiver {
    /// A receiver that expects no stream yet. `settings`: `format="twcc"`, `reduced_size=True`, `time="20ms"` and others.
    #[new]
    #[pyo3(signature = (**settings))]
    fn new(py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<MediaReceiver> {
        let receiver = configured(py, settings, |settings| {
            endpoint::MediaReceiver::configured(settings.iter().copied())
        })?;
        Ok(MediaReceiver { inner: Mutex::new(receiver) })
    }

    /// A stream is expected: `ssrc=500`, `rtx_ssrc=501` and others.
    #[pyo3(signature = (**settings))]
    fn add_stream(&self, py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        configured(py, settings, |settings| {
            let added = self.lock().add_configured(settings.iter().copied());
            added.map(drop)
        })
    }

    /// A stream is expected no more, nor its retransmissions.
    fn remove_stream(&self, py: Python<'_>, #[pyo3(from_py_with = numbers::ssrc)] ssrc: u32) -> PyResult<()> {
        let removed = self.lock().remove_stream(ssrc);
        expected(py, removed, ssrc)
    }

    /// A datagram came from the sender, RTP or RTCP. Answers the packet to deliver; `None` if it is none.
    #[pyo3(signature = (now_s, data, *, ecn=0))]
    fn receive(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = data_of)] data: Bound<'_, PyBytes>,
        #[pyo3(from_py_with = numbers::ecn)] ecn: u8,
    ) -> PyResult<Option<MediaArrival>> {
        let now = time(py, "now_s", now_s)?;
        let mut receiver = self.lock();
        let Some(came) = receiver.receive(now, data.as_bytes(), Ecn::from_bits(ecn)) else { return Ok(None) };
        let header = came.packet.header;
        Ok(Some(MediaArrival {
            ssrc: header.ssrc,
            sequence: came.number,
            timestamp: header.timestamp,
            payload_type: header.payload_type,
            marker: header.marker,
            payload: PyBytes::new(py, came.packet.payload).unbind(),
            first: came.first,
            repaired: came.repaired,
        }))
    }

    /// The next datagram that goes back to the sender now; `None` if there is none.
    fn poll<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let now = time(py, "now_s", now_s)?;
        let mut datagram = Vec::new();
        let any = self.lock().poll_transmit(now, &mut datagram);
        Ok(any.then(|| PyBytes::new(py, &datagram)))
    }

    /// Asks for a picture of a stream: one that mends what was lost (PLI), or a `full` one that needs no other (FIR). Answers whether
    /// it is asked for: less than 300 ms after the last request it is not.
    #[pyo3(signature = (now_s, ssrc, *, full=false))]
    fn ask_for_picture(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::ssrc)] ssrc: u32,
        full: bool,
    ) -> PyResult<bool> {
        let now = time(py, "now_s", now_s)?;
        let mut receiver = self.lock();
        expected(py, receiver.reception(ssrc).is_some(), ssrc)?;
        Ok(receiver.ask_for_picture(now, ssrc, if full { Picture::Full } else { Picture::Lost }))
    }

    /// The receiver ends: it says goodbye, and reports no more.
    fn leave(&self) {
        self.lock().leave();
    }

    /// The next event; `None` if there is none.
    fn poll_event(&self) -> Option<MediaEvent> {
        self.lock().poll_event().map(MediaEvent::from)
    }

    /// When `poll` is to be called, in seconds; `None` if not until something comes.
    #[getter]
    fn next_timeout_s(&self) -> Option<f64> {
        self.lock().next_timeout().map(|(due, _why)| seconds(due))
    }

    /// SSRC of the receiver.
    #[getter]
    fn ssrc(&self) -> u32 {
        self.lock().ssrc()
    }

    /// Interarrival jitter of a stream in seconds, and packets expected less packets received, as its reports say them; `None` of a
    /// stream that is not expected.
    fn reception(&self, #[pyo3(from_py_with = numbers::ssrc)] ssrc: u32) -> Option<(f64, i32)> {
        let receiver = self.lock();
        let reception = receiver.reception(ssrc)?;
        Some((TimeDelta::as_secs_f64(reception.jitter()), reception.cumulative_lost()))
    }

    /// Counts by name.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let receiver = self.lock();
        let (counters, rtcp) = (receiver.counters(), receiver.rtcp_counters());
        let named = PyDict::new(py);
        let counts = [
            ("packets", counters.packets),
            ("bytes", counters.bytes),
            ("malformed", counters.malformed + rtcp.malformed),
            ("unknown_ssrc", rtcp.unknown_ssrc),
            ("unreported", counters.unreported),
            ("reports", counters.reports),
            ("asked", rtcp.asked),
            ("restored", rtcp.restored),
            ("gave_up", rtcp.gave_up),
        ];
        for (name, count) in counts {
            named.set_item(name, count)?;
        }
        Ok(named)
    }
}
