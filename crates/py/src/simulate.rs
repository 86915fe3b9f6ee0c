//! The simulated world.

use crate::arguments::wrong;
use crate::guest::attempt;
use crate::network::failure;
use crate::output::RunOutput;
use crate::source::Scenario;
use crate::video;
use paceline_net::GrowingFile;
use paceline_sim::{CapturePlace, Pace, Simulation};
use paceline_units::TimeDelta;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often Python is asked whether to go on, and told how far the run is.
const LOOK_UP: Duration = Duration::from_millis(100);
/// How much is simulated before the clock is read.
const SLICE: TimeDelta = TimeDelta::from_millis(200);
/// The same where packets are captured, which are kept meanwhile.
const CAPTURED: TimeDelta = TimeDelta::from_millis(10);

/// Simulates a scenario. Releases the interpreter; Ctrl-C ends it. `encoders` are those of its streams of pictures, in their
/// order; the second value is what became of the packets of each. Large worlds run on `threads`, or on all cores; pictures are
/// encoded by one, and controllers from outside called by one. Packets that pass `capture_at` are written into the file `capture`.
#[pyfunction]
#[pyo3(signature = (scenario, *, encoders=vec![], progress=None, threads=None, capture=None, capture_at="sender"))]
#[allow(clippy::too_many_arguments, reason = "each has its name in Python")]
pub fn run<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    encoders: Vec<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
    threads: Option<NonZero<usize>>,
    capture: Option<PathBuf>,
    capture_at: &str,
) -> PyResult<(RunOutput, Bound<'py, PyList>)> {
    let failed = video::Failure::default();
    let with_encoders = (!encoders.is_empty()).then(|| video::attached(&scenario.loaded, encoders, &failed));
    let loaded = with_encoders.as_ref().unwrap_or(&scenario.loaded);
    let mut simulation = Simulation::new(loaded, Pace::Windowed)
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    if with_encoders.is_none() && !loaded.scenario.has_guests() {
        let threads = threads.or_else(|| std::thread::available_parallelism().ok());
        simulation.set_threads(threads.map_or(1, NonZero::get));
    }
    let mut capture = capture.map(|path| Capture::begin(py, path, capture_at)).transpose()?;
    if let Some(capture) = &capture {
        simulation.capture(loaded, capture.place);
    }
    let mut wall = Duration::ZERO;
    let is_sound = |capture: &Option<Capture>| capture.as_ref().is_none_or(|capture| capture.file.is_sound());
    while !simulation.is_over() && is_sound(&capture) {
        wall += attempt(py, || py.detach(|| run_for_a_while(&mut simulation, capture.as_mut())))?;
        failed.check()?;
        py.check_signals()?;
        if let Some(progress) = &progress {
            progress.call1(py, (simulation.progress(),))?;
        }
    }
    if let Some(failed) = capture.and_then(|mut capture| capture.file.finish()) {
        return Err(PyOSError::new_err(failed));
    }
    let mut outcome = attempt(py, || py.detach(|| simulation.finish()))?;
    outcome.summary.wall_s = wall.as_secs_f64();
    let (resolved, warnings) = (loaded.scenario.clone(), loaded.warnings(&outcome.summary, outcome.warnings));
    let output = RunOutput::new(outcome.summary.to_json(), resolved, warnings, outcome.flows, outcome.links);
    Ok((output, video::packets(py, loaded, &outcome.media)?))
}

/// A capture file of a run.
struct Capture {
    file: GrowingFile,
    place: CapturePlace,
    /// Blocks to be written next.
    blocks: Vec<u8>,
}

impl Capture {
    fn begin(py: Python<'_>, path: PathBuf, place: &str) -> PyResult<Capture> {
        let place = CapturePlace::named(place).ok_or_else(|| {
            let known = CapturePlace::NAMES.join(", ");
            wrong(py, format!("pcap_at: found {place:?}, expected one of {known}"))
        })?;
        let file = GrowingFile::create(&path).map_err(failure)?;
        Ok(Capture { file, place, blocks: Vec::new() })
    }

    /// Writes what was captured since it was last done.
    fn write(&mut self, simulation: &mut Simulation) {
        self.blocks.clear();
        simulation.write_capture(&mut self.blocks);
        self.file.write(&self.blocks);
    }
}

/// Runs until Python should be asked again; answers the time it took.
#[expect(clippy::disallowed_methods, reason = "wall_s is the wall's time")]
fn run_for_a_while(simulation: &mut Simulation, mut capture: Option<&mut Capture>) -> Duration {
    let start = Instant::now();
    let slice = if capture.is_some() { CAPTURED } else { SLICE };
    loop {
        let over = simulation.advance(slice);
        if let Some(capture) = &mut capture {
            capture.write(simulation);
        }
        if over || start.elapsed() >= LOOK_UP {
            return start.elapsed();
        }
    }
}
