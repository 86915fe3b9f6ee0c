//! Groups of controllers that a notebook steps.

use crate::arguments::{configured, numbers, time, wrong};
use crate::controller::Controller;
use crate::guest::of_fault;
use paceline_cc::CouplingParams;
use paceline_ends::{GroupError, SessionGroup, priority};
use paceline_guest::caught;
use paceline_units::{Bitrate, Time};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A group of controllers that share their rates (RFC 8699), as flows of a `[coupling.NAME]` do in a run.
///
/// Whenever a member was told of an event that changed its rate or window, every member takes what the group assigns to it. A member of which
/// nothing comes back leaves until it is heard again.
#[pyclass(frozen, module = "paceline._core")]
pub struct Coupling {
    kind: String,
    group: SessionGroup,
}

impl Coupling {
    /// Carries a call out, while other threads may run Python, as a member written in Python has to.
    fn at<R: Send>(
        &self,
        py: Python<'_>,
        now_s: f64,
        call: impl FnOnce(&SessionGroup, Time) -> Result<R, GroupError> + Send,
    ) -> PyResult<R> {
        let now = time(py, "now_s", now_s)?;
        let done = py.detach(|| caught(|| call(&self.group, now))).map_err(|fault| of_fault(py, *fault))?;
        done.map_err(|error| wrong(py, error.to_string()))
    }
}

#[pymethods]
impl Coupling {
    /// A group that nobody has joined. `params` are parameters of the kind, as `paceline list couplings` names them: `leaving="subtract"`.
    #[new]
    #[pyo3(signature = (kind="active", *, profile=None, **params))]
    fn new(
        py: Python<'_>,
        kind: &str,
        profile: Option<&str>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Coupling> {
        let params = configured(py, params, |settings| {
            CouplingParams::configured(kind, profile, settings.iter().copied())
        })?;
        Ok(Coupling { kind: kind.into(), group: SessionGroup::new(&params) })
    }

    /// A controller begins to share, with its rate or window of now; after a pause it comes back so. It is in one group at most.
    #[pyo3(signature = (now_s, controller, *, priority=1.0))]
    fn join(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        controller: &Controller,
        #[pyo3(from_py_with = numbers::priority)] priority: f64,
    ) -> PyResult<()> {
        let weight = self::priority(priority).map_err(|text| wrong(py, text))?;
        self.at(py, now_s, |group, now| group.join(now, controller.coupled(), weight))
    }

    /// A controller shares no more: its flow has ended, or pauses.
    fn leave(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        controller: &Controller,
    ) -> PyResult<()> {
        self.at(py, now_s, |group, now| group.leave(now, controller.coupled()))
    }

    /// The weight of a member's part is this from now on.
    fn set_priority(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        controller: &Controller,
        #[pyo3(from_py_with = numbers::priority)] priority: f64,
    ) -> PyResult<()> {
        let weight = self::priority(priority).map_err(|text| wrong(py, text))?;
        self.at(py, now_s, |group, now| group.set_priority(now, controller.coupled(), weight))
    }

    /// The application of a member could use this rate from now on, and the others take the rest; `None`: any, as at first.
    fn set_desired(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::now_s)] now_s: f64,
        controller: &Controller,
        #[pyo3(from_py_with = numbers::optional_desired_mbps)] desired_mbps: Option<f64>,
    ) -> PyResult<()> {
        let desired = match desired_mbps {
            Some(mbps) if !(0.0..=1e9).contains(&mbps) => {
                let text =
                    format!("desired_mbps: found {mbps}, expected a number from 0 to 1000000000, or None");
                return Err(wrong(py, text));
            }
            desired => desired.map(|mbps| Bitrate::from_bps_f64(mbps * 1e6)),
        };
        self.at(py, now_s, |group, now| group.set_desired(now, controller.coupled(), desired))
    }

    /// A member's share: `sum_mbps` of the group, `rate_mbps` that it was given last, `desired_mbps` (`None`: any), `priority`, and
    /// `assignments` to it. All but the last are `None` while it does not share: as a window before its first round trip, or while nothing
    /// comes back.
    fn share<'py>(&self, py: Python<'py>, controller: &Controller) -> PyResult<Bound<'py, PyDict>> {
        let coupled = py.detach(|| self.group.coupled(controller.coupled()));
        let coupled = coupled.map_err(|error| wrong(py, error.to_string()))?;
        let share = coupled.share;
        let named = PyDict::new(py);
        named.set_item("sum_mbps", share.map(|share| share.sum.as_mbps_f64()))?;
        named.set_item("rate_mbps", share.map(|share| share.rate.as_mbps_f64()))?;
        let desired = share.and_then(|share| share.desired);
        named.set_item("desired_mbps", desired.map(Bitrate::as_mbps_f64))?;
        named.set_item("priority", share.map(|share| share.priority.weight()))?;
        named.set_item("assignments", coupled.assignments)?;
        Ok(named)
    }

    /// The group's kind.
    #[getter]
    fn kind(&self) -> &str {
        &self.kind
    }
}
