//! From Python's arguments to a loaded scenario.

use crate::arguments::floats;
use crate::guest::attempt;
use crate::{ScenarioError, video};
use paceline_scenario::{Loaded, Loader, Origin, TypedValue, load};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::path::{Path, PathBuf};

/// A scenario with everything that it names, read and checked: ready to run.
#[pyclass(frozen, module = "paceline._core")]
pub struct Scenario {
    pub loaded: Loaded,
}

#[pymethods]
impl Scenario {
    /// Reads a scenario. `file` is where the text comes from: messages name it, and relative files lie beside it.
    #[new]
    #[pyo3(signature = (text, *, file=None, data=vec![], overrides=vec![], seed=None))]
    fn new(
        py: Python<'_>,
        text: &str,
        file: Option<&str>,
        data: Vec<PathBuf>,
        overrides: Vec<(String, String)>,
        seed: Option<u64>,
    ) -> PyResult<Scenario> {
        let folder = file.and_then(|file| Path::new(file).parent()).unwrap_or(Path::new(""));
        let loader = Loader::new(folder, data);
        let mut sets = overrides;
        sets.extend(seed.map(|seed| ("seed".to_string(), seed.to_string())));
        let origin = Origin { text, file: file.unwrap_or("scenario"), sets: &sets };
        // A first request is asked of a controller before the run.
        let loaded = attempt(py, || load(&origin, &loader))?;
        let loaded = loaded.map_err(|error| ScenarioError::new_err(error.to_string()))?;
        Ok(Scenario { loaded })
    }

    /// The recording or the draws that the first link follows: durations in seconds and rates in Mbit/s, little-endian
    /// float64, before offset and scale; none for a constant rate and for steps.
    #[getter]
    fn link_trace<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let trace = self.loaded.parts.link_trace(0)?;
        let segments = || trace.segments().iter();
        let durations = segments().map(|(duration, _)| duration.as_secs_f64());
        Some((floats(py, durations), floats(py, segments().map(|(_, rate)| rate.as_mbps_f64()))))
    }

    /// The frames that the encoder of a flow's first stream follows: payloads in bytes, and 1 for those that are said to be
    /// key frames, likewise; none for other sources.
    #[pyo3(signature = (flow=0))]
    fn frame_trace<'py>(
        &self,
        py: Python<'py>,
        flow: usize,
    ) -> Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let trace = self.loaded.parts.frame_trace(flow)?;
        let frames = || trace.frames().iter();
        let keys = frames().map(|frame| if frame.key { 1.0 } else { 0.0 });
        Some((floats(py, frames().map(|frame| f64::from(frame.bytes))), floats(py, keys)))
    }

    /// The names of the flows that play connection vectors.
    #[getter]
    fn vector_flows(&self) -> Vec<String> {
        let flows = self.loaded.scenario.flows.iter().enumerate();
        let play = flows.filter(|(index, _)| self.loaded.parts.connection_vectors(*index).is_some());
        play.map(|(_, flow)| flow.name.clone()).collect()
    }

    /// The connections that such a flow plays: a file of Tmix's alternate format, how many they are, and the payload that
    /// their initiators and their acceptors send.
    fn connection_vectors(&self, flow: &str) -> Option<(String, usize, u64, u64)> {
        let index = self.loaded.scenario.flows.iter().position(|known| known.name == flow)?;
        let vectors = self.loaded.parts.connection_vectors(index)?;
        let [initiators, acceptors] = vectors.payload();
        Some((vectors.to_text(), vectors.len(), initiators.as_u64(), acceptors.as_u64()))
    }

    /// The streams of pictures, each as a dictionary of what the scenario says of it.
    #[getter]
    fn codecs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        video::streams(py, &self.loaded)
    }

    /// Oddities of the files.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.loaded.parts.warnings.clone()
    }

    /// As resolved: every default written out, the run can be repeated from it.
    #[getter]
    fn resolved_toml(&self) -> String {
        self.loaded.scenario.to_toml()
    }

    /// Every parameter as resolved: the path that `--set` takes, then the value and its unit (`s`, `bit/s`, `B` or none).
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parameters = PyDict::new(py);
        for parameter in self.loaded.scenario.parameters() {
            let value = match parameter.value {
                TypedValue::Integer(count) => count.into_bound_py_any(py)?,
                TypedValue::Number(number) => number.into_bound_py_any(py)?,
                TypedValue::Flag(flag) => flag.into_bound_py_any(py)?,
                TypedValue::Text(text) => text.into_bound_py_any(py)?,
            };
            parameters.set_item(parameter.path, (value, parameter.unit))?;
        }
        Ok(parameters)
    }
}

/// A text such as "20ms" as a number in base units and the unit: `s`, `bit/s` or `B`; none if it is no quantity.
#[pyfunction]
pub fn quantity(text: &str) -> Option<(f64, &'static str)> {
    paceline_scenario::quantity(text)
}

/// The units that a heading of a table names, such as `rate (kbit/s)` or `time_ms`: of rates in Mbit/s, and of times in seconds; `None` for
/// those that it does not.
#[pyfunction]
pub fn heading_units(heading: &str) -> (Option<f64>, Option<f64>) {
    (paceline_scenario::rate_unit(heading), paceline_scenario::time_unit(heading))
}
