//! The Python module `paceline._core`: the bindings, and no controllers from outside. A build with controllers of its own has a twin of
//! this crate, which registers them first.

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    paceline_py::fill(module)
}
