//! What there is to choose from.

use paceline_scenario::registry;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Everything there is to choose from, by family, with every parameter, default, unit and source, as one JSON document.
#[pyfunction]
pub fn registry_json() -> PyResult<String> {
    let all = serde_json::json!({
        "controllers": registry::controllers(),
        "queues": registry::queues(),
        "sources": registry::sources(),
        "traces": registry::traces(),
        "marks": registry::marks(),
        "losses": registry::losses(),
        "noises": registry::noises(),
        "playouts": registry::playouts(),
        "couplings": registry::couplings(),
        "detections": registry::detections(),
        "transports": registry::transports(),
    });
    serde_json::to_string(&all).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Every figure of a run: its table, name, title, unit, definition and how it is made, as one JSON document.
#[pyfunction]
pub fn figures_json() -> String {
    paceline_metrics::figures_json()
}
