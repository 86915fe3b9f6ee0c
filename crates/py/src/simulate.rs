//! The simulated world.

use crate::output::RunOutput;
use crate::source::Scenario;
use crate::video;
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::num::NonZero;
use std::time::{Duration, Instant};

/// How often Python is asked whether to go on, and told how far the run is.
const LOOK_UP: Duration = Duration::from_millis(100);
/// How much is simulated before the clock is read.
const SLICE: TimeDelta = TimeDelta::from_millis(200);

/// Simulates a scenario. Releases the interpreter; Ctrl-C ends it. `encoders` are those of its streams of pictures, in their
/// order; the second value is what became of the packets of each. Large worlds run on `threads`, or on all cores; pictures are
/// encoded by one.
#[pyfunction]
#[pyo3(signature = (scenario, *, encoders=vec![], progress=None, threads=None))]
pub fn run<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    encoders: Vec<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
    threads: Option<NonZero<usize>>,
) -> PyResult<(RunOutput, Bound<'py, PyList>)> {
    let failure = video::Failure::default();
    let with_encoders = (!encoders.is_empty()).then(|| video::attached(&scenario.loaded, encoders, &failure));
    let loaded = with_encoders.as_ref().unwrap_or(&scenario.loaded);
    let mut simulation = Simulation::new(loaded, Pace::Windowed)
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    if with_encoders.is_none() {
        let threads = threads.or_else(|| std::thread::available_parallelism().ok());
        simulation.set_threads(threads.map_or(1, NonZero::get));
    }
    let mut wall = Duration::ZERO;
    while !simulation.is_over() {
        wall += py.detach(|| run_for_a_while(&mut simulation));
        failure.check()?;
        py.check_signals()?;
        if let Some(progress) = &progress {
            progress.call1(py, (simulation.progress(),))?;
        }
    }
    let mut outcome = py.detach(|| simulation.finish());
    outcome.summary.wall_s = wall.as_secs_f64();
    let (resolved, warnings) = (loaded.scenario.clone(), loaded.parts.warnings.clone());
    let output = RunOutput::new(outcome.summary.to_json(), resolved, warnings, outcome.flows, outcome.links);
    Ok((output, video::packets(py, loaded, &outcome.media)?))
}

/// Runs until Python should be asked again; answers the time it took.
#[expect(clippy::disallowed_methods, reason = "wall_s is the wall's time")]
fn run_for_a_while(simulation: &mut Simulation) -> Duration {
    let start = Instant::now();
    while !simulation.advance(SLICE) && start.elapsed() < LOOK_UP {}
    start.elapsed()
}
