//! From what Python hands over to a loaded scenario.

use crate::ScenarioError;
use paceline_scenario::{Loaded, Loader, Origin, load};
use pyo3::prelude::*;
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
        let loaded = load(&origin, &loader).map_err(|error| ScenarioError::new_err(error.to_string()))?;
        Ok(Scenario { loaded })
    }

    /// As resolved: every default written out, the run can be repeated from it.
    #[getter]
    fn resolved_toml(&self) -> String {
        self.loaded.scenario.to_toml()
    }
}
