//! A controller that a notebook steps packet by packet.

use crate::arguments::{configured, limits, numbers, seconds, span, time, wrong};
use crate::guest::{attempt, of_fault};
use crate::half::Put;
use paceline_cc::{
    AnyController, Controller as _, ControllerParams, Offered, PacketResult, Probe, ReceiverReport, Report,
    SendQueueState, SentPacket, Session, Snapshot, Status, StreamId, Update,
};
use paceline_ends::{CoupledSession, Told};
use paceline_guest::caught;
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A congestion controller that is told what happens, packet by packet, and asked what holds.
///
/// Times are in seconds of a clock with any zero, 0 or more: monotonic ones, or those since 1970, of which a float is exact to 0.12 us. Sizes
/// are in bytes on the link, rates in Mbit/s.
#[pyclass(frozen, module = "paceline._core")]
pub struct Controller {
    kind: String,
    inner: CoupledSession,
}

impl Controller {
    /// The controller as its group knows it.
    pub(crate) fn coupled(&self) -> &CoupledSession {
        &self.inner
    }

    fn with<R>(&self, look: impl FnOnce(&mut Session<AnyController>) -> R) -> R {
        self.inner.with(look)
    }

    fn tell(
        &self,
        py: Python<'_>,
        now: Time,
        told: Told,
        call: impl FnOnce(&mut AnyController) -> Update,
    ) -> PyResult<()> {
        self.tell_session(py, now, told, |session| session.tell(call))
    }

    /// Tells the controller of an event, and its group of the consequence. While that is carried out, other threads may run Python, as a
    /// member written in Python has to.
    fn tell_session(
        &self,
        py: Python<'_>,
        now: Time,
        told: Told,
        call: impl FnOnce(&mut Session<AnyController>),
    ) -> PyResult<()> {
        self.inner.tell(now, told, |session| attempt(py, || call(session)))?;
        if self.inner.is_coupled() {
            let shared = py.detach(|| caught(|| self.inner.share(now)));
            shared.map_err(|fault| of_fault(py, *fault))?;
        }
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        self.with(|session| session.controller.snapshot())
    }
}

#[pymethods]
impl Controller {
    /// A controller that has seen nothing. `params` are parameters of the controller and of its flow, as `paceline list
    /// controllers` names them: `target_bitrate_max="5Mbps"`, `largest_packet="1212B"`, `priorities=[2, 1]`.
    #[new]
    #[pyo3(signature = (kind=AnyController::USUAL, *, profile=None, **params))]
    fn new(
        py: Python<'_>,
        kind: &str,
        profile: Option<&str>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Controller> {
        let controller = configured(py, params, |settings| {
            AnyController::configured(kind, profile, settings.iter().copied())
        })?;
        Ok(Controller { kind: kind.into(), inner: CoupledSession::new(controller) })
    }

    /// `size` bytes of media entered the send queue of a stream, which now holds `queued` bytes (without it: just these), the
    /// oldest of them for `oldest_s`.
    #[pyo3(signature = (now_s, size, *, stream=0, frame_end=true, queued=None, oldest_s=0.0))]
    #[allow(clippy::too_many_arguments, reason = "named in Python")]
    fn on_offered(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::size)] size: u64,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
        frame_end: bool,
        #[pyo3(from_py_with = numbers::optional_queued)] queued: Option<u64>,
        #[pyo3(from_py_with = numbers::oldest_s)] oldest_s: f64,
    ) -> PyResult<()> {
        let (now, oldest) = (time(py, "now_s", now_s)?, span(py, "oldest_s", oldest_s)?);
        let queue = queue(stream, queued.unwrap_or(size).max(size), Some(oldest), size);
        let offered = Offered { stream: queue.stream, bytes: Bytes::new(size), frame_end };
        self.tell(py, now, Told::Other, |controller| controller.on_offered(now, &offered, &queue))
    }

    /// The send queue of a stream holds `queued` bytes, the oldest of them for `oldest_s`; told before a timeout is, and after a
    /// discard.
    #[pyo3(signature = (now_s, queued, *, stream=0, oldest_s=0.0, newest_frame=0))]
    fn on_send_queue(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::queued)] queued: u64,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
        #[pyo3(from_py_with = numbers::oldest_s)] oldest_s: f64,
        #[pyo3(from_py_with = numbers::newest_frame)] newest_frame: u64,
    ) -> PyResult<()> {
        let (now, oldest) = (time(py, "now_s", now_s)?, span(py, "oldest_s", oldest_s)?);
        let queue = queue(stream, queued, (queued > 0).then_some(oldest), newest_frame);
        self.tell(py, now, Told::Other, |controller| controller.on_send_queue(now, &queue))
    }

    /// A packet was handed to the network. `app_limited`: nothing more waits.
    #[pyo3(signature = (now_s, sequence, size, *, stream=0, app_limited=false, probe=None))]
    #[allow(clippy::too_many_arguments, reason = "named in Python")]
    fn on_sent(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::sequence)] sequence: u64,
        #[pyo3(from_py_with = numbers::size)] size: u64,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
        app_limited: bool,
        #[pyo3(from_py_with = numbers::optional_probe)] probe: Option<u64>,
    ) -> PyResult<()> {
        let now = time(py, "now_s", now_s)?;
        let size = Bytes::new(size);
        let packet = SentPacket { stream: StreamId(stream), sequence, size, probe, app_limited };
        self.tell_session(py, now, Told::Sent, |session| session.on_sent_remembered(now, &packet))
    }

    /// The receiver reported on packets of a stream that were sent: sequence number, and time of arrival by its own clock or
    /// `None` for a packet that had not arrived, in order of sequence. `marked` are those that arrived marked CE.
    #[pyo3(signature = (now_s, packets, *, stream=0, marked=vec![], clock_step_s=1.0 / 1024.0))]
    fn on_feedback(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::packets)] packets: Vec<(u64, Option<f64>)>,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
        #[pyo3(from_py_with = numbers::marked)] marked: Vec<u64>,
        #[pyo3(from_py_with = numbers::clock_step_s)] clock_step_s: f64,
    ) -> PyResult<()> {
        let (now, clock_step) = (time(py, "now_s", now_s)?, span(py, "clock_step_s", clock_step_s)?);
        let result = |session: &Session<AnyController>, (sequence, arrived_s): (u64, Option<f64>)| {
            let known = session.sent(StreamId(stream), sequence);
            let (size, sent) = known.ok_or_else(|| {
                wrong(py, format!("packets: found {sequence}, expected one of stream {stream} that was sent"))
            })?;
            let ecn = if marked.contains(&sequence) { Ecn::Ce } else { Ecn::Ect1 };
            let received = |arrived| Status::Received { arrived: Some(arrived), ecn };
            let arrived = arrived_s.map(|arrived| time(py, "arrived_s", arrived)).transpose()?;
            let status = arrived.map_or(Status::Missing, received);
            Ok(PacketResult { stream: StreamId(stream), sequence, size, sent, status })
        };
        let results = self.with(|session| {
            packets.into_iter().map(|packet| result(session, packet)).collect::<PyResult<Vec<_>>>()
        })?;
        self.tell_session(py, now, Told::Heard, |session| session.on_packets(now, results, clock_step))
    }

    /// A timeout is due.
    fn on_timeout(&self, py: Python<'_>, #[pyo3(from_py_with = numbers::now_s)] now_s: f64) -> PyResult<()> {
        let now = time(py, "now_s", now_s)?;
        self.tell(py, now, Told::Timeout, |controller| controller.on_timeout(now))
    }

    /// The application allows a stream targets from `min_mbps` to `max_mbps`.
    #[pyo3(signature = (now_s, min_mbps, max_mbps, *, stream=0))]
    fn set_limits(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::min_mbps)] min_mbps: f64,
        #[pyo3(from_py_with = numbers::max_mbps)] max_mbps: f64,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
    ) -> PyResult<()> {
        let now = time(py, "now_s", now_s)?;
        let limits = limits(py, stream, (min_mbps, max_mbps))?;
        self.tell(py, now, Told::Other, |controller| controller.on_limits(now, &limits))
    }

    /// The controller's annotation of the packet of a stream that leaves now, for its receiver half: its round-trip time in seconds
    /// (tfrc), a counter (ccid3), or `None`.
    #[pyo3(signature = (now_s, *, stream=0))]
    fn annotation(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
    ) -> PyResult<Option<Put>> {
        let now = time(py, "now_s", now_s)?;
        Ok(self.with(|session| session.controller.annotation(now, StreamId(stream))).map(Put::from))
    }

    /// The controller's receiver half sent this message: loss event rate (0 to 1), the rate at which data arrived, when the newest
    /// packet that arrived was sent, and how long it had been there.
    fn on_message(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::loss_event_rate)] loss_event_rate: f64,
        #[pyo3(from_py_with = numbers::receive_mbps)] receive_mbps: f64,
        #[pyo3(from_py_with = numbers::newest_sent_s)] newest_sent_s: f64,
        #[pyo3(from_py_with = numbers::delay_s)] delay_s: f64,
    ) -> PyResult<()> {
        let (now, newest_sent) = (time(py, "now_s", now_s)?, time(py, "newest_sent_s", newest_sent_s)?);
        let delay = span(py, "delay_s", delay_s)?;
        let within = |name: &str, found: f64, most: f64| match (0.0..=most).contains(&found) {
            true => Ok(found),
            false => Err(wrong(py, format!("{name}: found {found}, expected a number from 0 to {most}"))),
        };
        let message = ReceiverReport::Tfrc {
            loss_event_rate: within("loss_event_rate", loss_event_rate, 1.0)?,
            receive_rate: Bitrate::from_bps_f64(within("receive_mbps", receive_mbps, 1e9)? * 1e6),
            newest_sent: Some(newest_sent),
            delay,
        };
        self.tell(py, now, Told::Heard, |controller| controller.on_report(now, &Report::Receiver(message)))
    }

    /// The discard that the controller asks for, once: the stream, the wait in seconds above which frames are dropped
    /// (`None`: all are), and whether a key frame should follow.
    fn take_discard(&self) -> Option<(u8, Option<f64>, bool)> {
        let discard = self.with(|session| session.answers.discard.take())?;
        Some((discard.stream.0, discard.older_than.map(TimeDelta::as_secs_f64), discard.key_frame))
    }

    /// The probe that the controller asks for, once: its number, its rate in Mbit/s and its bytes.
    fn take_probe(&self) -> Option<(u64, f64, u64)> {
        let Probe { id, rate, bytes } = self.with(|session| session.answers.probe.take())?;
        Some((id, rate.as_mbps_f64(), bytes.as_u64()))
    }

    /// The controller's kind.
    #[getter]
    fn kind(&self) -> &str {
        &self.kind
    }

    /// When `on_timeout` is due, in seconds; `None` if it is not.
    #[getter]
    fn next_timeout_s(&self) -> Option<f64> {
        self.with(|session| session.controller.next_timeout()).map(|(due, _why)| seconds(due))
    }

    /// Bytes that may be sent now; `None`: no limit in bytes.
    #[getter]
    fn allowed_bytes(&self) -> Option<u64> {
        self.with(|session| session.allowed_bytes()).map(Bytes::as_u64)
    }

    /// Packets that may be sent now; `None`: no limit in packets.
    #[getter]
    fn allowed_packets(&self) -> Option<u64> {
        self.with(|session| session.allowed_packets())
    }

    /// The gap after a packet is its size over this rate; `None`: packets are not spaced by a rate.
    #[getter]
    fn pacing_mbps(&self) -> Option<f64> {
        self.with(|session| session.pacing_rate()).map(Bitrate::as_mbps_f64)
    }

    /// The gap after a packet in seconds, whatever its size; `None`: packets are not spaced by a time.
    #[getter]
    fn pacing_gap_s(&self) -> Option<f64> {
        self.with(|session| session.pacing_gap()).map(TimeDelta::as_secs_f64)
    }

    /// Packets leave at once while what left before takes less than so long at that rate, in seconds; 0: one by one.
    #[getter]
    fn pacing_burst_s(&self) -> f64 {
        self.with(|session| session.pacing_burst()).as_secs_f64()
    }

    /// Sum of the target bitrates of all streams, headers in; `None`: the controller sets none.
    #[getter]
    fn target_mbps(&self) -> Option<f64> {
        self.snapshot().target.map(Bitrate::as_mbps_f64)
    }

    /// Congestion window in bytes on the link; `None`: the controller has none.
    #[getter]
    fn window_bytes(&self) -> Option<u64> {
        self.snapshot().window.map(Bytes::as_u64)
    }

    /// Bytes in flight as the controller counts them; `None`: it does not.
    #[getter]
    fn in_flight_bytes(&self) -> Option<u64> {
        self.snapshot().in_flight.map(Bytes::as_u64)
    }

    /// Smoothed round-trip time; `None` before it is measured.
    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        self.snapshot().srtt.map(TimeDelta::as_secs_f64)
    }

    /// Queue delay as the controller estimates it; `None` where it does not.
    #[getter]
    fn queue_delay_s(&self) -> Option<f64> {
        self.snapshot().queue_delay.map(TimeDelta::as_secs_f64)
    }

    /// The inner state by name, as the columns `state.NAME` of a run.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (variables, values) = self.with(|session| {
            let variables = session.controller.state_variables();
            let mut values = vec![None; variables.len()];
            session.controller.state(&mut values);
            (variables, values)
        });
        let named = PyDict::new(py);
        for (variable, value) in variables.iter().zip(values) {
            named.set_item(variable.name, value)?;
        }
        Ok(named)
    }
}

fn queue(stream: u8, bytes: u64, oldest: Option<TimeDelta>, newest_frame: u64) -> SendQueueState {
    let (stream, newest_frame) = (StreamId(stream), Bytes::new(newest_frame));
    // The number of packets is no reason for any controller to do other things.
    let packets = u64::from(bytes > 0);
    SendQueueState { stream, bytes: Bytes::new(bytes), packets, oldest, newest_frame, greedy: false }
}

/// The parameters of controllers of a kind for the least, the first and the highest bitrate of media; `None` for those that they have no
/// parameter for, or where there is no such kind.
#[pyfunction]
pub fn bitrate_names(kind: &str) -> [Option<&'static str>; 3] {
    ControllerParams::with_profile(kind, None).map_or([None; 3], |(params, _)| params.bitrate_names())
}
