//! The flow state exchange of a machine, and how a sender finds it.

use crate::network::{failure, wait};
use paceline_net::{ExchangeLimits, ExchangeServer};
use paceline_units::TimeDelta;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Listens on a local socket for processes whose flows share, until Ctrl-C; answers what it counted. `say` is called with
/// each line for the operator, first of all with where it listens.
#[pyfunction]
#[pyo3(signature = (socket, *, expiry_s=None, say=None))]
pub fn exchange(
    py: Python<'_>,
    socket: PathBuf,
    expiry_s: Option<f64>,
    say: Option<Py<PyAny>>,
) -> PyResult<Vec<(&'static str, u64)>> {
    let usual = ExchangeLimits::default();
    let expiry = expiry_s.map_or(usual.expiry, TimeDelta::from_secs_f64);
    if expiry < TimeDelta::from_millis(100) || expiry > TimeDelta::from_secs(3600) {
        let found = expiry_s.unwrap_or_default();
        return Err(PyValueError::new_err(format!("expiry: found {found} s, expected 0.1 s to 3600 s")));
    }
    let server = ExchangeServer::bind(&socket, &ExchangeLimits { expiry, ..usual }).map_err(failure)?;
    let (stop, lines) =
        (AtomicBool::new(false), Mutex::new(vec![format!("listening at {}", socket.display())]));
    let take = || std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
    let tell = |py: Python<'_>| -> PyResult<()> {
        let lines = take();
        let Some(say) = &say else { return Ok(()) };
        lines.into_iter().try_for_each(|line| say.call1(py, (line,)).map(drop))
    };
    let mut failed = None;
    let counted = std::thread::scope(|threads| {
        let (stop, lines) = (&stop, &lines);
        let worker = threads.spawn(move || {
            server.run(stop, &|line| lines.lock().unwrap_or_else(PoisonError::into_inner).push(line))
        });
        while !worker.is_finished() {
            match py.check_signals() {
                Ok(()) => failed = failed.take().or(tell(py).err()),
                Err(_) => stop.store(true, Ordering::Relaxed),
            }
            if failed.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            py.detach(|| wait(|| worker.is_finished()));
        }
        py.detach(|| worker.join())
    });
    let counted = counted.map_err(|_| PyOSError::new_err("the exchange failed; please report this"))?;
    let counted = counted.map_err(failure)?;
    match failed.or(tell(py).err()) {
        Some(error) => Err(error),
        None => Ok(counted.named().into()),
    }
}
