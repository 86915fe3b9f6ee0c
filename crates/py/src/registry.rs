//! The registries to choose from.

use paceline_scenario::registry;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// Everything there is to choose from, by family, with every parameter, default, unit and source, as one JSON document.
#[pyfunction]
pub fn registry_json() -> PyResult<String> {
    let all: BTreeMap<_, _> = registry::families().collect();
    serde_json::to_string(&all).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The names of its families, in the document's order.
#[pyfunction]
pub fn registry_families() -> Vec<&'static str> {
    let mut names: Vec<_> = registry::family_names().collect();
    names.sort_unstable();
    names
}

/// Every figure of a run: its table, name, title, unit, definition and how it is made, as one JSON document.
#[pyfunction]
pub fn figures_json() -> String {
    paceline_metrics::figures_json()
}
