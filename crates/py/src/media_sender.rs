//! A sender of media in RTP that a notebook steps datagram by datagram.

use crate::arguments::{configured, data_of, limits, numbers, seconds, time, wrong};
use crate::guest::attempt;
use paceline_cc::{AnyController, Controller as _, StreamId};
use paceline_endpoint::{
    self as endpoint, BufferPool, DiscardReason, MediaPacket, PacketBuffer, SenderEvent, SentDatagram,
    StreamError,
};
use paceline_ends::SendingEnd as _;
use paceline_rtp::Broken;
use paceline_rtp::rtcp::{ReceiverEvent, RtcpEvent};
use paceline_units::{Bitrate, Bytes, Ecn, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most bytes of a packet.
const LONGEST: usize = 65_535;

/// A sender, the buffers of what it sends, and the datagram that leaves.
struct Stepped {
    sender: endpoint::MediaSender<AnyController, PacketBuffer>,
    pool: BufferPool,
    datagram: Vec<u8>,
}

/// A sender of media in RTP that is handed payloads, or whole packets, and gives datagrams.
///
/// Times are in seconds of a clock with any zero, 0 or more, rates in Mbit/s.
#[pyclass(frozen, module = "paceline._core")]
pub struct MediaSender {
    inner: Mutex<Stepped>,
}

/// A datagram that leaves now.
#[pyclass(frozen, module = "paceline._core")]
pub struct MediaDatagram {
    #[pyo3(get)]
    data: Py<PyBytes>,
    /// Stream and extended sequence number of an RTP packet; `None` of RTCP.
    #[pyo3(get)]
    stream: Option<u8>,
    #[pyo3(get)]
    sequence: Option<u64>,
    /// The ECN field to send it with: 0 Not-ECT, 1 ECT(1), 2 ECT(0).
    #[pyo3(get)]
    ecn: u8,
}

/// An event: `kind` is `discarded`, `key_frame`, `ended`, `ssrc_changed` or `broken`; what it does not speak of is `None`.
#[pyclass(frozen, get_all, module = "paceline._core")]
#[derive(Default)]
pub struct MediaEvent {
    kind: &'static str,
    stream: Option<u8>,
    frame: Option<u64>,
    offset: Option<u64>,
    reason: Option<&'static str>,
    ssrc: Option<u32>,
    new_ssrc: Option<u32>,
}

impl From<ReceiverEvent> for MediaEvent {
    fn from(event: ReceiverEvent) -> MediaEvent {
        let none = MediaEvent::default();
        match event {
            ReceiverEvent::Ended { ssrc } => MediaEvent { kind: "ended", ssrc: Some(ssrc), ..none },
            ReceiverEvent::SsrcChanged { from, to } => {
                MediaEvent { kind: "ssrc_changed", ssrc: Some(from), new_ssrc: Some(to), ..none }
            }
        }
    }
}

fn discard_reason(reason: DiscardReason) -> &'static str {
    match reason {
        DiscardReason::TooOld => "too_old",
        DiscardReason::Removed => "removed",
        DiscardReason::QueueFull => "queue_full",
        DiscardReason::TooLarge => "too_large",
        DiscardReason::Empty => "empty",
        DiscardReason::Extension => "extension",
        DiscardReason::Stopped => "stopped",
    }
}

impl Stepped {
    fn event(&mut self, event: SenderEvent<PacketBuffer>) -> MediaEvent {
        let none = MediaEvent::default();
        match event {
            SenderEvent::Discarded(discarded) => {
                self.pool.take_back(discarded.packet.into_buffer());
                MediaEvent {
                    kind: "discarded",
                    stream: Some(discarded.stream.0),
                    frame: Some(discarded.frame),
                    offset: Some(discarded.offset),
                    reason: Some(discard_reason(discarded.reason)),
                    ..none
                }
            }
            SenderEvent::KeyFrame(stream) => MediaEvent { kind: "key_frame", stream: Some(stream.0), ..none },
            SenderEvent::Session(RtcpEvent::Ended { ssrc }) => ReceiverEvent::Ended { ssrc }.into(),
            SenderEvent::Session(RtcpEvent::SsrcChanged { stream, from, to }) => {
                MediaEvent { stream: Some(stream.0), ..ReceiverEvent::SsrcChanged { from, to }.into() }
            }
            SenderEvent::Broken(broken) => {
                let reason = match broken {
                    Broken::NoReports => "no_reports",
                    Broken::NoMedia => "no_media",
                    Broken::Congestion => "congestion",
                };
                MediaEvent { kind: "broken", reason: Some(reason), ..none }
            }
        }
    }
}

impl MediaSender {
    fn lock(&self) -> MutexGuard<'_, Stepped> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(py: Python<'_>, result: Result<(), StreamError>) -> PyResult<()> {
        result.map_err(|error| wrong(py, error.to_string()))
    }
}

#[pymethods]
impl MediaSender {
    /// A sender without streams under a controller. `settings` are parameters of the controller, of its flow and of the sender:
    /// `format="twcc"`, `reduced_size=True`, `target_bitrate_max="5Mbps"`.
    #[new]
    #[pyo3(signature = (kind=AnyController::USUAL, *, profile=None, **settings))]
    fn new(
        py: Python<'_>,
        kind: &str,
        profile: Option<&str>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<MediaSender> {
        let sender = configured(py, settings, |settings| {
            endpoint::MediaSender::configured(kind, profile, settings.iter().copied())
        })?;
        let stepped = Stepped { sender, pool: BufferPool::default(), datagram: Vec::new() };
        Ok(MediaSender { inner: Mutex::new(stepped) })
    }

    /// A stream joins: `ssrc=500`, `priority=2`, `rtx_ssrc=501` and others. Answers its identifier.
    #[pyo3(signature = (now_s, **settings))]
    fn add_stream(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u8> {
        let now = time(py, "now_s", now_s)?;
        configured(py, settings, |settings| {
            let added = self.lock().sender.add_configured(now, settings.iter().copied());
            added.map(|id| id.0)
        })
    }

    /// A stream leaves: what waits of it is discarded, and it says goodbye.
    fn remove_stream(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
    ) -> PyResult<()> {
        let now = time(py, "now_s", now_s)?;
        MediaSender::done(py, self.lock().sender.remove_stream(now, StreamId(stream)))
    }

    /// The weight of a stream's share is this from now on.
    fn set_priority(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
        #[pyo3(from_py_with = numbers::priority)] priority: f64,
    ) -> PyResult<()> {
        let now = time(py, "now_s", now_s)?;
        MediaSender::done(py, self.lock().sender.set_priority(now, StreamId(stream), priority))
    }

    /// The application allows a stream targets from `min_mbps` to `max_mbps`.
    fn set_limits(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
        #[pyo3(from_py_with = numbers::min_mbps)] min_mbps: f64,
        #[pyo3(from_py_with = numbers::max_mbps)] max_mbps: f64,
    ) -> PyResult<()> {
        let now = time(py, "now_s", now_s)?;
        let limits = limits(py, stream, (min_mbps, max_mbps))?;
        MediaSender::done(py, self.lock().sender.set_limits(now, &limits))
    }

    /// Begins to send.
    fn start(&self, py: Python<'_>, #[pyo3(from_py_with = numbers::now_s)] now_s: f64) -> PyResult<()> {
        let now = time(py, "now_s", now_s)?;
        attempt(py, || self.lock().sender.start(now))
    }

    /// Ends: what waits is discarded, and the streams say goodbye.
    fn stop(&self, py: Python<'_>, #[pyo3(from_py_with = numbers::now_s)] now_s: f64) -> PyResult<()> {
        let now = time(py, "now_s", now_s)?;
        attempt(py, || self.lock().sender.stop(now))
    }

    /// Takes a payload into the send queue of a stream, or a `whole` RTP packet, of which payload type, timestamp, marker and header
    /// extension are kept. Without `frame_end` the marker says whether it is the last packet of its frame.
    #[pyo3(signature = (now_s, stream, data, *, frame, timestamp=0, payload_type=96, marker=false, frame_end=None, whole=false))]
    #[allow(clippy::too_many_arguments, reason = "named in Python")]
    fn push(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = numbers::stream)] stream: u8,
        #[pyo3(from_py_with = data_of)] data: Bound<'_, PyBytes>,
        #[pyo3(from_py_with = numbers::frame)] frame: u64,
        #[pyo3(from_py_with = numbers::timestamp)] timestamp: u32,
        #[pyo3(from_py_with = numbers::payload_type)] payload_type: u8,
        marker: bool,
        frame_end: Option<bool>,
        whole: bool,
    ) -> PyResult<()> {
        let now = time(py, "now_s", now_s)?;
        let data = data.as_bytes();
        if data.len() > LONGEST {
            let text = format!("data: found {} bytes, expected at most {LONGEST}", data.len());
            return Err(wrong(py, text));
        }
        let mut stepped = self.lock();
        let buffer = stepped.pool.fill(data);
        let made = match whole {
            true => MediaPacket::whole(frame, buffer),
            false => MediaPacket::payload(frame, (payload_type, timestamp, marker), buffer),
        };
        let mut packet = made.map_err(|error| wrong(py, format!("data: {error}")))?;
        packet.ends_frame = frame_end.unwrap_or(packet.ends_frame);
        attempt(py, || stepped.sender.offer(now, StreamId(stream), packet))
    }

    /// Does what is due, and answers the next datagram that leaves now; `None` if there is none.
    fn poll(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
    ) -> PyResult<Option<MediaDatagram>> {
        let now = time(py, "now_s", now_s)?;
        let mut stepped = self.lock();
        let Stepped { sender, pool, datagram } = &mut *stepped;
        datagram.clear();
        let Some(sent) = attempt(py, || sender.poll_datagram(now, datagram))? else { return Ok(None) };
        let data = PyBytes::new(py, datagram).unbind();
        Ok(Some(match sent {
            SentDatagram::Rtcp => MediaDatagram { data, stream: None, sequence: None, ecn: 0 },
            SentDatagram::Rtp(sent) => {
                let (stream, sequence, ecn) = (Some(sent.stream.0), Some(sent.sequence), sent.ecn as u8);
                if let Some(buffer) = sent.into_buffer() {
                    pool.take_back(buffer);
                }
                MediaDatagram { data, stream, sequence, ecn }
            }
        }))
    }

    /// A datagram of RTCP came from the receiver. A datagram that cannot be read is counted.
    #[pyo3(name = "receive", signature = (now_s, data, *, ecn=0))]
    fn receive(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        #[pyo3(from_py_with = data_of)] data: Bound<'_, PyBytes>,
        #[pyo3(from_py_with = numbers::ecn)] ecn: u8,
    ) -> PyResult<()> {
        let now = time(py, "now_s", now_s)?;
        attempt(py, || self.lock().sender.receive_rtcp(now, data.as_bytes(), Ecn::from_bits(ecn)))
    }

    /// The next event; `None` if there is none.
    fn poll_event(&self) -> Option<MediaEvent> {
        let mut stepped = self.lock();
        let event = stepped.sender.poll_event()?;
        Some(stepped.event(event))
    }

    /// Bitrate that the encoder of a stream is to make, headers in; `None` of a stream that is not there.
    fn target_mbps(&self, #[pyo3(from_py_with = numbers::stream)] stream: u8) -> Option<f64> {
        self.lock().sender.target(StreamId(stream)).map(Bitrate::as_mbps_f64)
    }

    /// When `poll` is to be called, in seconds; `None` if not until something happens.
    #[getter]
    fn next_timeout_s(&self) -> Option<f64> {
        self.lock().sender.next_timeout().map(|(due, _why)| seconds(due))
    }

    /// Counts and figures by name; `None` where there is no such thing, or not yet.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stepped = self.lock();
        let sender = &stepped.sender;
        let (counters, rtcp, repairs) = (sender.counters(), sender.rtcp_counters(), sender.repair_counters());
        let snapshot = sender.end().controller().snapshot();
        let named = PyDict::new(py);
        let counts = [
            ("pushed", counters.offered),
            ("sent", counters.sent),
            ("discarded", counters.discarded.total()),
            ("resent", repairs.resent),
            ("rtcp_received", rtcp.received),
            ("rtcp_malformed", rtcp.malformed),
            ("rtcp_unknown_ssrc", rtcp.unknown_ssrc),
            ("unknown_reports", sender.sender_counters().unknown_reports),
        ];
        for (name, count) in counts {
            named.set_item(name, count)?;
        }
        named.set_item("target_mbps", snapshot.target.map(Bitrate::as_mbps_f64))?;
        named.set_item("window_bytes", snapshot.window.map(Bytes::as_u64))?;
        named.set_item("in_flight_bytes", snapshot.in_flight.map(Bytes::as_u64))?;
        named.set_item("srtt_s", snapshot.srtt.map(TimeDelta::as_secs_f64))?;
        named.set_item("queue_delay_s", snapshot.queue_delay.map(TimeDelta::as_secs_f64))?;
        Ok(named)
    }
}
