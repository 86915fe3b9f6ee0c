//! Controllers that are written in Python.

use crate::arguments::{self, shown, wrong};
use paceline_cc::guest::{guests, register_guest, withdraw};
use paceline_cc::{Assigned, FlowSetup, PacketsReport, SentPacket as Sent, Status, Steers};
use paceline_guest::program::program;
use paceline_guest::{
    Answer, Burst, Declared, Description, Failure, Fault, Hears, Mind, MindMaker, Setting, caught, guest,
};
use paceline_units::param::Value;
use paceline_units::{Bytes, Time};
use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};

/// A packet that was handed to the network.
#[pyclass(frozen, get_all, module = "paceline._core")]
pub struct SentPacket {
    /// Stream of the packet.
    stream: u8,
    /// Number of the packet in its stream; a transport that retransmits gives the original's again.
    sequence: u64,
    /// Bytes on the link.
    size: u64,
    /// Whether the application, not the controller, limits the sender: nothing more waits.
    app_limited: bool,
    /// Number of the probe that the packet is part of.
    probe: Option<u64>,
}

/// The receiver's word on a packet.
#[pyclass(frozen, get_all, module = "paceline._core")]
pub struct PacketResult {
    /// Stream of the packet.
    stream: u8,
    /// Number of the packet in its stream.
    sequence: u64,
    /// Bytes on the link.
    size: u64,
    /// When it was sent, by the sender's clock.
    sent_s: f64,
    /// When it arrived, by the receiver's clock, which has any zero; `None`: it had not arrived, or the receiver does not say when.
    arrived_s: Option<f64>,
    /// Whether it had arrived.
    arrived: bool,
    /// Whether it arrived marked CE.
    marked: bool,
    /// Whether no round trip follows from the report: it covers a packet that was sent again.
    ambiguous: bool,
}

/// The facts of a flow that its controller is told when it is made.
#[pyclass(frozen, get_all, module = "paceline._core")]
pub struct FlowFacts {
    /// Bytes on the link of the largest packet.
    largest_packet: u64,
    /// Whether packets are sent as ECT(1) and marks are answered in proportion.
    l4s: bool,
    /// Priority of each stream.
    priorities: Vec<f64>,
    /// First window of the window laws, in largest packets.
    initial_window: u64,
}

/// Makes minds of a class.
struct Class(Py<PyAny>);

impl MindMaker for Class {
    fn make(&self, settings: &[Setting], setup: &FlowSetup) -> Result<Box<dyn Mind>, Failure> {
        Python::attach(|py| self.instance(py, settings, setup).map_err(|error| failed(py, error)))
    }
}

impl Class {
    fn instance(&self, py: Python<'_>, settings: &[Setting], setup: &FlowSetup) -> PyResult<Box<dyn Mind>> {
        let named = PyDict::new(py);
        for (name, value) in settings {
            named.set_item(name, of_value(py, value)?)?;
        }
        let facts = FlowFacts {
            largest_packet: setup.largest_packet.as_u64(),
            l4s: setup.l4s,
            priorities: setup.priorities.clone(),
            initial_window: setup.initial_window,
        };
        let instance = self.0.bind(py).call((facts,), Some(&named))?;
        let method = |name: &str| instance.getattr_opt(name).map(|found| found.map(Bound::unbind));
        Ok(Box::new(PythonMind {
            start: method("start")?,
            sent: method("sent")?,
            report: instance.getattr("report")?.unbind(),
            timeout: method("timeout")?,
            recovery: method("recovery")?,
            assigned: method("assigned")?,
        }))
    }
}

/// A value in the units of the interface: seconds, Mbit/s, bytes.
fn of_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Time(span) => span.as_secs_f64().into_bound_py_any(py),
        Value::Rate(rate) | Value::Ramp(rate) => rate.as_mbps_f64().into_bound_py_any(py),
        Value::Size(size) => size.as_u64().into_bound_py_any(py),
        Value::Ratio(ratio) => ratio.into_bound_py_any(py),
        Value::Count(count) => count.into_bound_py_any(py),
        Value::Flag(flag) => flag.into_bound_py_any(py),
        text => text.to_string().into_bound_py_any(py),
    }
}

/// An instance of a class, by its methods.
struct PythonMind {
    start: Option<Py<PyAny>>,
    sent: Option<Py<PyAny>>,
    report: Py<PyAny>,
    timeout: Option<Py<PyAny>>,
    recovery: Option<Py<PyAny>>,
    assigned: Option<Py<PyAny>>,
}

fn failed(py: Python<'_>, error: PyErr) -> Failure {
    Failure { text: error.value(py).to_string(), cause: Some(Box::new(error)) }
}

/// The answer of a method that is called with these arguments; nothing changes where there is no such method.
fn ask<'py, A>(
    py: Python<'py>,
    method: Option<&Py<PyAny>>,
    arguments: impl FnOnce() -> PyResult<A>,
) -> Result<Answer, Failure>
where
    A: pyo3::call::PyCallArgs<'py>,
{
    let Some(method) = method else { return Ok(Answer::default()) };
    let called = arguments().and_then(|arguments| method.bind(py).call1(arguments));
    read(&called.map_err(|error| failed(py, error))?)
}

/// The names of an answer.
const NAMES: &str = "target_mbps, pacing_mbps, window_bytes, next_timeout_s, probe";

fn read(answer: &Bound<'_, PyAny>) -> Result<Answer, Failure> {
    let Ok(answer) = answer.cast::<PyDict>() else {
        const EXPECTED: &str = "a dict such as {\"target_mbps\": 2.5}, or {} where nothing changes";
        return Err(Failure::new(format!("found {}, expected {EXPECTED}", shown(answer))));
    };
    let mut read = Answer::default();
    for (name, value) in answer.iter() {
        let unknown = || Failure::new(format!("found the key {}, expected one of {NAMES}", shown(&name)));
        let text = name.cast::<PyString>().ok().and_then(|name| name.to_str().ok());
        if text == Some("probe") {
            read.probe = Some(burst(&value)?);
            continue;
        }
        let (place, takes_none) = match text {
            Some("target_mbps") => (&mut read.target_mbps, false),
            Some("pacing_mbps") => (&mut read.pacing_mbps, true),
            Some("window_bytes") => (&mut read.window_bytes, true),
            Some("next_timeout_s") => (&mut read.next_timeout_s, true),
            _ => return Err(unknown()),
        };
        if takes_none && value.is_none() {
            *place = Some(f64::INFINITY);
            continue;
        }
        let number = value.extract::<f64>().ok().filter(|_| !value.is_instance_of::<PyBool>());
        let wrong = || Failure::new(format!("{name}: found {}, expected a number", shown(&value)));
        *place = Some(number.ok_or_else(wrong)?);
    }
    Ok(read)
}

/// A probe that an answer asks for.
fn burst(value: &Bound<'_, PyAny>) -> Result<Burst, Failure> {
    let field = |name: &str| value.cast::<PyDict>().ok()?.get_item(name).ok()??.extract::<f64>().ok();
    let is_whole = value.cast::<PyDict>().is_ok_and(|table| table.len() == 2);
    let (Some(mbps), Some(bytes), true) = (field("mbps"), field("bytes"), is_whole) else {
        const EXPECTED: &str = "a dict such as {\"mbps\": 5.0, \"bytes\": 20000}";
        return Err(Failure::new(format!("probe: found {}, expected {EXPECTED}", shown(value))));
    };
    Ok(Burst { mbps, bytes })
}

impl Mind for PythonMind {
    fn start(&mut self, now: Time) -> Result<Answer, Failure> {
        Python::attach(|py| ask(py, self.start.as_ref(), || Ok((now.as_secs_f64(),))))
    }

    fn sent(&mut self, now: Time, packet: &Sent) -> Result<Answer, Failure> {
        let Sent { stream, sequence, size, app_limited, probe } = *packet;
        let packet = SentPacket { stream: stream.0, sequence, size: size.as_u64(), app_limited, probe };
        Python::attach(|py| ask(py, self.sent.as_ref(), || Ok((now.as_secs_f64(), Py::new(py, packet)?))))
    }

    fn report(&mut self, now: Time, report: &PacketsReport<'_>) -> Result<Answer, Failure> {
        let result = |packet: &paceline_cc::PacketResult| {
            let (is_here, arrived, ecn) = match packet.status {
                Status::Missing => (false, None, None),
                Status::Received { arrived, ecn } => (true, arrived, Some(ecn)),
            };
            PacketResult {
                stream: packet.stream.0,
                sequence: packet.sequence,
                size: packet.size.as_u64(),
                sent_s: packet.sent.as_secs_f64(),
                arrived_s: arrived.map(Time::as_secs_f64),
                arrived: is_here,
                marked: ecn.is_some_and(|ecn| ecn.is_ce()),
                ambiguous: report.ambiguous,
            }
        };
        Python::attach(|py| {
            let packets = || {
                let all = report.packets.iter().map(|packet| Py::new(py, result(packet)));
                Ok((now.as_secs_f64(), PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)?))
            };
            ask(py, Some(&self.report), packets)
        })
    }

    fn timeout(&mut self, now: Time) -> Result<Answer, Failure> {
        Python::attach(|py| ask(py, self.timeout.as_ref(), || Ok((now.as_secs_f64(),))))
    }

    fn recovery(&mut self, now: Time, event: &'static str, bytes: Bytes) -> Result<Answer, Failure> {
        Python::attach(|py| {
            ask(py, self.recovery.as_ref(), || Ok((now.as_secs_f64(), event, bytes.as_u64())))
        })
    }

    fn assigned(&mut self, now: Time, assigned: Assigned) -> Result<Answer, Failure> {
        let (target, window) = match assigned {
            Assigned::Rate(rate) => (Some(rate.as_mbps_f64()), None),
            Assigned::Window(window) => (None, Some(window.as_u64())),
        };
        Python::attach(|py| ask(py, self.assigned.as_ref(), || Ok((now.as_secs_f64(), target, window))))
    }
}

/// Registers a class of controllers. `hears` are the names of its methods, `parameters` name, usual value and help of each.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "each has its name in Python")]
pub fn register_class(
    py: Python<'_>,
    kind: &str,
    class_: Py<PyAny>,
    help: &str,
    version: &str,
    steers: &str,
    hears: Vec<String>,
    parameters: Vec<(String, String, String)>,
) -> PyResult<()> {
    let steers = match steers {
        "media" => Steers::Media,
        "datagrams" => Steers::Datagrams,
        "byte_stream" => Steers::ByteStream,
        other => {
            let expected = "media, datagrams or byte_stream";
            return Err(wrong(
                py,
                format!("controller {kind:?}: steers: found {other:?}, expected {expected}"),
            ));
        }
    };
    let hear = |name: &str| hears.iter().any(|known| known == name);
    let hears = Hears {
        sent: hear("sent"),
        timeout: hear("timeout"),
        recovery: hear("recovery"),
        assigned: hear("assigned"),
        unanswered: false,
    };
    let declared = |(name, value, help)| Declared { name, value, help };
    let parameters = parameters.into_iter().map(declared).collect();
    let (kind, help, version) = (kind.into(), help.into(), version.into());
    let description = Description { kind, help, version, steers, hears, parameters };
    register_guest(guest(&description, Class(class_))).map_err(|error| wrong(py, error.to_string()))
}

/// Registers a program as a controller, by its own description.
#[pyfunction]
pub fn register_program(py: Python<'_>, kind: &str, command: Vec<String>, version: &str) -> PyResult<()> {
    let described = py.detach(|| program(kind, &command, version));
    let described = described.map_err(|text| arguments::error(py, "ControllerError", text))?;
    register_guest(described).map_err(|error| wrong(py, error.to_string()))
}

/// Takes a guest out of the list.
#[pyfunction]
pub fn withdraw_guest(kind: &str) {
    withdraw(kind);
}

/// The guests that are registered, each with its version.
#[pyfunction]
pub fn registered_guests() -> Vec<(&'static str, String)> {
    guests().iter().map(|guest| (guest.kind(), guest.version())).collect()
}

/// The outcome of a call that may end in a controller from outside, and its failure as Python's.
pub(crate) fn attempt<T>(py: Python<'_>, call: impl FnOnce() -> T) -> PyResult<T> {
    caught(call).map_err(|fault| of_fault(py, *fault))
}

/// The error of a run that a controller from outside ended: the exception of its own, where it is one in Python, with a note of who and when.
pub(crate) fn of_fault(py: Python<'_>, mut fault: Fault) -> PyErr {
    let cause = fault.failure.cause.take().and_then(|cause| cause.downcast::<PyErr>().ok());
    let Some(error) = cause else { return arguments::error(py, "ControllerError", fault.to_string()) };
    let note =
        format!("controller {:?} at {:.6} s of the run, {}", fault.kind, fault.at.as_secs_f64(), fault.call);
    // By this the package tells it from an error of its own. Notes are there from Python 3.11 on.
    let _ = error.value(py).setattr(intern!(py, "of_controller"), &note);
    let _ = error.value(py).call_method1(intern!(py, "add_note"), (note,));
    *error
}
