//! Path probes: of a scenario's link in the simulator, and over sockets.

use crate::arguments::floats;
use crate::network::{address, failure, wait};
use crate::source::Scenario;
use paceline_ends::{Observation, PairPlan, PairProbe, PathProbe, ProbePlan, ProbeRecord, Prober};
use paceline_net::{Control, NetError, PathProber, Progress, Reflector};
use paceline_sim::{CrossTraffic, probe_beside};
use paceline_units::param::{ParamError, ParamSet};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// When packets were sent and when they arrived, in seconds since the first was sent: little-endian float64, NaN where
/// nothing was heard of a packet.
type Times<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// The observations of a probe: the transfer, the packets at a part of its rate, the shortest round trip in seconds, and the transfer's
/// receiving rate in bit/s.
type Seen<'py> = (Times<'py>, Times<'py>, Option<f64>, Option<f64>);

/// Probes a link of a scenario in the simulator.
#[pyfunction]
#[pyo3(signature = (scenario, link, *, packet_size, transfer, hold_s, part, progress=None))]
#[allow(clippy::too_many_arguments, reason = "each has its name in Python")]
pub fn probe_link<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    link: &str,
    packet_size: u64,
    transfer: u64,
    hold_s: f64,
    part: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Seen<'py>> {
    let plan = plan(packet_size, transfer, hold_s, part)?;
    let record = simulated(py, scenario, link, CrossTraffic::NONE, PathProbe::new(plan), &progress)?;
    Ok(seen(py, &record, packet_size))
}

/// Probes a link of a scenario in the simulator by pairs of packets, beside other traffic.
#[pyfunction]
#[pyo3(signature = (scenario, link, *, capacity_bps, packet_size, pairs, cross_bps, seed, progress=None))]
#[allow(clippy::too_many_arguments, reason = "each has its name in Python")]
pub fn pair_link<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    link: &str,
    capacity_bps: f64,
    packet_size: u64,
    pairs: u64,
    cross_bps: f64,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Times<'py>> {
    let probe = pair_probe(capacity_bps, packet_size, pairs, seed)?;
    let traffic = CrossTraffic { rate: Bitrate::from_bps_f64(cross_bps), ..CrossTraffic::NONE };
    Ok(pair_times(py, &simulated(py, scenario, link, traffic, probe, &progress)?))
}

/// Probes the path to a reflector by pairs of packets.
#[pyfunction]
#[pyo3(signature = (to, *, capacity_bps, packet_size, pairs, seed, progress=None))]
pub fn pair_path<'py>(
    py: Python<'py>,
    to: &str,
    capacity_bps: f64,
    packet_size: u64,
    pairs: u64,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Times<'py>> {
    let probe = pair_probe(capacity_bps, packet_size, pairs, seed)?;
    Ok(pair_times(py, &over_path(py, to, probe, progress)?))
}

fn pair_probe(capacity_bps: f64, packet_size: u64, pairs: u64, seed: u64) -> PyResult<PairProbe> {
    let capacity = Bitrate::from_bps_f64(capacity_bps);
    let plan = PairPlan { capacity, packet_size: Bytes::new(packet_size), pairs, ..PairPlan::default() };
    PairProbe::new(plan, seed).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn simulated<P: Prober>(
    py: Python<'_>,
    scenario: &Scenario,
    link: &str,
    traffic: CrossTraffic,
    probe: P,
    progress: &Option<Py<PyAny>>,
) -> PyResult<P::Record> {
    let loaded = &scenario.loaded;
    let index = loaded.scenario.link_index(link).ok_or_else(|| PyValueError::new_err("no such link"))?;
    let config = loaded.parts.links[index].clone();
    let mut signal = None;
    let goes_on = |done: f64| {
        signal = look_up(py, progress, done).err();
        signal.is_none()
    };
    let record = probe_beside(config, loaded.scenario.seed, link, traffic, probe, goes_on);
    if let Some(signal) = signal {
        return Err(signal);
    }
    record.map_err(|error| PyValueError::new_err(error.to_string()))
}

fn over_path<P: Prober + Send>(
    py: Python<'_>,
    to: &str,
    probe: P,
    progress: Option<Py<PyAny>>,
) -> PyResult<P::Record>
where
    P::Record: Send,
{
    let to = address(py, to, None)?;
    beside(py, progress, false, |control| PathProber::bind(to)?.run(probe, control))
}

/// Probes the path to a reflector.
#[pyfunction]
#[pyo3(signature = (to, *, packet_size, transfer, hold_s, part, progress=None))]
pub fn probe_path<'py>(
    py: Python<'py>,
    to: &str,
    packet_size: u64,
    transfer: u64,
    hold_s: f64,
    part: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Seen<'py>> {
    let plan = plan(packet_size, transfer, hold_s, part)?;
    Ok(seen(py, &over_path(py, to, PathProbe::new(plan), progress)?, packet_size))
}

/// Answers probes until Ctrl-C, or until nothing has come for some seconds after the first packet. How many packets it
/// answered.
#[pyfunction]
#[pyo3(signature = (listen, *, patience_s=None))]
pub fn reflect(py: Python<'_>, listen: &str, patience_s: Option<f64>) -> PyResult<u64> {
    let listen = address(py, listen, None)?;
    let patience = patience_s.map(TimeDelta::from_secs_f64);
    beside(py, None, true, |control| Reflector::bind(listen)?.run(patience, control))
}

fn plan(packet_size: u64, transfer: u64, hold_s: f64, part: f64) -> PyResult<ProbePlan> {
    let plan = ProbePlan {
        packet_size: Bytes::new(packet_size),
        transfer: Bytes::new(transfer),
        hold: TimeDelta::from_secs_f64(hold_s),
        part,
    };
    let wrong = |error: ParamError| PyValueError::new_err(error.to_string());
    plan.check().map_err(wrong)?;
    Ok(plan)
}

fn look_up(py: Python<'_>, progress: &Option<Py<PyAny>>, done: f64) -> PyResult<()> {
    py.check_signals()?;
    progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done,)).map(drop))
}

/// Runs `work` beside the interpreter until it ends or Python has a signal, which some work takes as its end.
fn beside<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    signal_ends: bool,
    work: impl FnOnce(&Control<'_>) -> Result<T, NetError> + Send,
) -> PyResult<T> {
    let (stop, reached) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut interrupted = None;
    let output = std::thread::scope(|threads| {
        let (stop, reached) = (&stop, &reached);
        let worker = threads.spawn(move || {
            let note = |told: Progress<'_>| {
                reached.store(told.reached().map_or(0, Time::as_nanos), Ordering::Relaxed);
            };
            work(&Control { stop, progress: &note })
        });
        while !worker.is_finished() {
            py.detach(|| wait(|| worker.is_finished()));
            let done = Time::from_nanos(reached.load(Ordering::Relaxed)).as_secs_f64();
            if let Err(signal) = look_up(py, &progress, done) {
                stop.store(true, Ordering::Relaxed);
                interrupted = interrupted.take().or(Some(signal));
            }
        }
        py.detach(|| worker.join())
    });
    if let Some(signal) = interrupted.filter(|_| !signal_ends) {
        return Err(signal);
    }
    output.map_err(|_| PyOSError::new_err("the probe failed; please report this"))?.map_err(failure)
}

/// Times of packets, in seconds since `zero`.
fn times<'py>(py: Python<'py>, packets: &[Observation], zero: Time) -> Times<'py> {
    let since = |time: Time| (time - zero).as_secs_f64();
    let sent = packets.iter().map(|packet| since(packet.sent));
    let arrived = packets.iter().map(|packet| packet.arrived.map_or(f64::NAN, since));
    (floats(py, sent), floats(py, arrived))
}

fn pair_times<'py>(py: Python<'py>, packets: &[Observation]) -> Times<'py> {
    times(py, packets, packets.first().map_or(Time::ZERO, |packet| packet.sent))
}

fn seen<'py>(py: Python<'py>, record: &ProbeRecord, packet_size: u64) -> Seen<'py> {
    let zero = record.transfer.first().map_or(Time::ZERO, |packet| packet.sent);
    let rate = record.receiving_rate(Bytes::new(packet_size)).map(|rate| rate.as_bps_f64());
    let min_rtt_s = record.min_rtt.map(|rtt| rtt.as_secs_f64());
    (times(py, &record.transfer, zero), times(py, &record.hold, zero), min_rtt_s, rate)
}
