//! The Python module `paceline._core`, in which `aimd` is a controller like any other.

use own_controller::Aimd;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    paceline_cc::guest::register::<Aimd>().map_err(|error| PyValueError::new_err(error.to_string()))?;
    paceline_py::fill(module)
}
