//! The network world: the same endpoints over real sockets.

use crate::output::RunOutput;
use crate::source::Scenario;
use paceline_net::{
    Control, ExchangeOptions, GroupBy, LiveOptions, LiveOutput, NetError, NetOutput, OpaqueRelay, Progress,
    ReceiveOptions, Relay, RelayOptions, SendOptions, Sender, TunnelOptions, resolve_address,
};
use paceline_scenario::{Loaded, Transport};
use paceline_units::{Time, TimeDelta};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often Python is asked whether to go on, and told how far the run is.
const LOOK_UP: Duration = Duration::from_millis(100);

/// The meaning of Ctrl-C.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// The run is given up.
    Abandons,
    /// The run ends, with its figures so far: for what serves until it is told to stop.
    Ends,
}

/// Listeners to a run while it goes on: to its progress, as a part of it, and to messages for people who wait for it.
#[derive(Default)]
pub(crate) struct Listeners {
    pub progress: Option<Py<PyAny>>,
    pub say: Option<Py<PyAny>>,
}

/// Sends the media of a flow to a receiver or relay.
#[pyfunction]
#[pyo3(signature = (scenario, *, to, flow=None, capture=None, peer="standard", exchange=None, group_by="name", group=None, group_kind=None, progress=None, say=None))]
#[allow(clippy::too_many_arguments, reason = "each has its name in Python")]
pub fn send(
    py: Python<'_>,
    scenario: &Scenario,
    to: &str,
    flow: Option<String>,
    capture: Option<PathBuf>,
    peer: &str,
    exchange: Option<PathBuf>,
    group_by: &str,
    group: Option<String>,
    group_kind: Option<String>,
    progress: Option<Py<PyAny>>,
    say: Option<Py<PyAny>>,
) -> PyResult<RunOutput> {
    let interrupt = what_interrupts(&scenario.loaded, flow.as_deref());
    let exchange = exchange_options(exchange, group_by, group, group_kind)?;
    let remote = peer.parse().map_err(failure)?;
    let options = SendOptions { flow, capture, remote, exchange, ..SendOptions::to(address(py, to, None)?) };
    drive(py, &scenario.loaded, interrupt, Listeners { progress, say }, |loaded, control| {
        Sender::bind(loaded, &options)?.run(control)
    })
}

/// Receives media and sends feedback.
#[pyfunction]
#[pyo3(signature = (scenario, *, listen, duration_s=None, silence_s=None, flow=None, capture=None, peer="standard", progress=None, say=None))]
#[allow(clippy::too_many_arguments, reason = "each has its name in Python")]
pub fn receive(
    py: Python<'_>,
    scenario: &Scenario,
    listen: &str,
    duration_s: Option<f64>,
    silence_s: Option<f64>,
    flow: Option<String>,
    capture: Option<PathBuf>,
    peer: &str,
    progress: Option<Py<PyAny>>,
    say: Option<Py<PyAny>>,
) -> PyResult<RunOutput> {
    let [duration, silence] = [duration_s, silence_s].map(|seconds| seconds.map(TimeDelta::from_secs_f64));
    let (remote, listen) = (peer.parse().map_err(failure)?, address(py, listen, None)?);
    let options = ReceiveOptions { flow, duration, silence, capture, remote, ..ReceiveOptions::on(listen) };
    drive(py, &scenario.loaded, Interrupt::Ends, Listeners { progress, say }, |loaded, control| {
        paceline_net::receive(Some(loaded), &options, control)
    })
}

/// Passes packets on through the links of a flow's path, in real time: the flow's own, or whatever UDP comes.
#[pyfunction]
#[pyo3(signature = (scenario, *, listen, forward, flow=None, opaque=false, progress=None, say=None))]
#[allow(clippy::too_many_arguments, reason = "each has its name in Python")]
pub fn link(
    py: Python<'_>,
    scenario: &Scenario,
    listen: &str,
    forward: &str,
    flow: Option<String>,
    opaque: bool,
    progress: Option<Py<PyAny>>,
    say: Option<Py<PyAny>>,
) -> PyResult<RunOutput> {
    let listen = address(py, listen, None)?;
    let forward = address(py, forward, Some(listen))?;
    let options = RelayOptions { flow, ..RelayOptions::between(listen, forward) };
    drive(
        py,
        &scenario.loaded,
        Interrupt::Ends,
        Listeners { progress, say },
        |loaded, control| match opaque {
            true => OpaqueRelay::bind(loaded, &options)?.run(control),
            false => Relay::bind(loaded, &options)?.run(control),
        },
    )
}

/// Runs sender, links and receiver of a flow on this machine, in real time; what each of them knows, in this order.
#[pyfunction]
#[pyo3(signature = (scenario, *, flow=None, sender_capture=None, receiver_capture=None, progress=None, say=None))]
pub fn live(
    py: Python<'_>,
    scenario: &Scenario,
    flow: Option<String>,
    sender_capture: Option<PathBuf>,
    receiver_capture: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    say: Option<Py<PyAny>>,
) -> PyResult<(RunOutput, RunOutput, RunOutput)> {
    let (loaded, interrupt) = (&scenario.loaded, what_interrupts(&scenario.loaded, flow.as_deref()));
    let options = LiveOptions { flow, sender_capture, receiver_capture };
    let ended = attend(py, loaded, interrupt, Listeners { progress, say }, |loaded, control| {
        paceline_net::live(loaded, &options, control)
    })?;
    let LiveOutput { sender, link, receiver } = ended;
    Ok((output(loaded, sender), output(loaded, link), output(loaded, receiver)))
}

/// Runs two programs in networks of their own that a flow's path joins.
#[pyfunction]
#[pyo3(signature = (scenario, *, left, right, flow=None, progress=None))]
pub fn tunnel(
    py: Python<'_>,
    scenario: &Scenario,
    left: &str,
    right: &str,
    flow: Option<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunOutput> {
    let options = TunnelOptions { flow, ..TunnelOptions::between(left, right) };
    let told = Listeners { progress, say: None };
    drive(py, &scenario.loaded, Interrupt::Ends, told, |loaded, control| {
        paceline_net::tunnel(loaded, &options, control)
    })
}

/// A DCCP connection that is closed has whole figures at both ends, so that a sender of one may be told to stop.
fn what_interrupts(loaded: &Loaded, flow: Option<&str>) -> Interrupt {
    let flows = &loaded.scenario.flows;
    let chosen = flows.iter().find(|spec| flow.is_none_or(|name| spec.name == name));
    match chosen.map(|spec| spec.transport) {
        Some(Transport::Dccp) => Interrupt::Ends,
        _ => Interrupt::Abandons,
    }
}

pub(crate) fn address(py: Python<'_>, text: &str, beside: Option<SocketAddr>) -> PyResult<SocketAddr> {
    py.detach(|| resolve_address(text, beside)).map_err(failure)
}

/// The facts of an exchange for a sender: the socket, the rule by which its flows find their group, its name, and the kind of coupling.
fn exchange_options(
    socket: Option<PathBuf>,
    group_by: &str,
    group: Option<String>,
    kind: Option<String>,
) -> PyResult<Option<ExchangeOptions>> {
    let by = GroupBy::named(group_by).ok_or_else(|| {
        let known = GroupBy::NAMES.join(", ");
        PyValueError::new_err(format!("group_by: found {group_by}, expected one of {known}"))
    })?;
    for (what, found) in [("group", &group), ("kind of group", &kind)] {
        if let (None, Some(found)) = (&socket, found) {
            return Err(PyValueError::new_err(format!(
                "{what}: found {found} without an exchange, expected both"
            )));
        }
    }
    Ok(socket.map(|path| ExchangeOptions { path, by, group, kind }))
}

/// A wrong argument is a ValueError, a refusal of the system an OSError.
pub(crate) fn failure(error: NetError) -> PyErr {
    match error {
        NetError::Address { .. }
        | NetError::NoPort { .. }
        | NetError::NoSuchFlow { .. }
        | NetError::WhichFlow { .. }
        | NetError::Unsupported { .. } => PyValueError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Runs `work` beside the interpreter until it ends or Python has a signal.
pub(crate) fn attend<T: Send>(
    py: Python<'_>,
    loaded: &Loaded,
    interrupt: Interrupt,
    told: Listeners,
    work: impl FnOnce(&Loaded, &Control<'_>) -> Result<T, NetError> + Send,
) -> PyResult<T> {
    let (stop, heard) = (AtomicBool::new(false), Heard::default());
    let duration = loaded.scenario.duration.as_secs_f64();
    let mut interrupted = None;
    let output = std::thread::scope(|threads| {
        let (stop, heard) = (&stop, &heard);
        let worker = threads
            .spawn(move || work(loaded, &Control { stop, progress: &|progress| heard.hear(progress) }));
        while !worker.is_finished() {
            py.detach(|| wait(|| worker.is_finished()));
            if let Err(signal) = look_up(py, &told, heard, duration) {
                stop.store(true, Ordering::Relaxed);
                interrupted = interrupted.take().or(Some(signal));
            }
        }
        py.detach(|| worker.join())
    });
    if let Some(signal) = interrupted.filter(|_| interrupt == Interrupt::Abandons) {
        return Err(signal);
    }
    let output = output.map_err(|_| PyOSError::new_err("the network driver failed; please report this"))?;
    output.map_err(failure)
}

/// The same for one end, with what Python sees of it.
fn drive(
    py: Python<'_>,
    loaded: &Loaded,
    interrupt: Interrupt,
    told: Listeners,
    work: impl FnOnce(&Loaded, &Control<'_>) -> Result<NetOutput, NetError> + Send,
) -> PyResult<RunOutput> {
    Ok(output(loaded, attend(py, loaded, interrupt, told, work)?))
}

/// The results of one end for Python.
pub(crate) fn output(loaded: &Loaded, ended: NetOutput) -> RunOutput {
    let NetOutput { summary, flows, links, counters, mut warnings } = ended;
    warnings.extend(loaded.parts.warnings.iter().cloned());
    if links.rows() > 0 {
        warnings.extend(loaded.nothing_arrived(&summary));
    }
    warnings.extend(resynchronised(&counters));
    warnings.extend(refused(&counters));
    RunOutput::new(summary.to_json(), loaded.scenario.clone(), warnings, flows, links)
}

/// Waits a moment, or until `done`.
pub(crate) fn wait(done: impl Fn() -> bool) {
    let steps = 20;
    for _ in 0..steps {
        if done() {
            return;
        }
        pause(LOOK_UP / steps);
    }
}

#[expect(clippy::disallowed_methods, reason = "the interpreter waits while sockets work")]
fn pause(span: Duration) {
    std::thread::sleep(span);
}

/// Messages of a run that Python has still to be told.
#[derive(Default)]
struct Heard {
    reached: AtomicU64,
    said: Mutex<Vec<String>>,
}

impl Heard {
    fn hear(&self, progress: Progress<'_>) {
        match progress {
            Progress::Reached(now) => self.reached.store(now.as_nanos(), Ordering::Relaxed),
            Progress::Warned(said) => self.say(format!("warning: {said}")),
            Progress::Waits(said) => self.say(said.into()),
        }
    }

    fn say(&self, line: String) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

fn look_up(py: Python<'_>, told: &Listeners, heard: &Heard, duration: f64) -> PyResult<()> {
    py.check_signals()?;
    let said = std::mem::take(&mut *heard.said.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(say) = &told.say {
        said.into_iter().try_for_each(|said| say.call1(py, (said,)).map(drop))?;
    }
    if let Some(progress) = &told.progress {
        let now = Time::from_nanos(heard.reached.load(Ordering::Relaxed)).as_secs_f64();
        progress.call1(py, ((now / duration).min(1.0),))?;
    }
    Ok(())
}

/// Message that streams did not go on as they began; none if they did.
fn resynchronised(counters: &paceline_net::NetCounters) -> Option<String> {
    let times = counters.resynchronised;
    (times > 0).then(|| {
        format!("sequence numbers went on elsewhere {times} times: the sender began anew, or packets were not its own")
    })
}

/// Message on the datagrams that the sockets refused; none if there were none.
fn refused(counters: &paceline_net::NetCounters) -> Option<String> {
    let counts = [
        ("malformed", counters.malformed),
        ("from unknown peers", counters.unknown_peers),
        ("of an unknown SSRC", counters.unknown_ssrc),
        ("out of sequence", counters.out_of_sequence),
        ("out of time", counters.out_of_time),
        ("about packets never sent", counters.unknown_reports),
        ("of impossible times", counters.impossible_times),
        ("of nobody and without an answer", counters.unanswered),
        ("not sendable", counters.unsendable),
        ("beyond the relay's memory", counters.overflowed),
    ];
    let said: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    (!said.is_empty()).then(|| format!("refused and counted: {}", said.join(", ")))
}
