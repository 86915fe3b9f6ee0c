//! The Python module `paceline._core`, in which the peers are controllers like any other.

use paceline_cc::guest::register_guest;
use paceline_guest::{Description, MindMaker, guest};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register(peer_quic::peers())?;
    register(peer_webrtc::peers())?;
    paceline_py::fill(module)
}

fn register<M: MindMaker + 'static, const N: usize>(peers: [(Description, M); N]) -> PyResult<()> {
    for (description, maker) in peers {
        register_guest(guest(&description, maker))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
    }
    Ok(())
}
