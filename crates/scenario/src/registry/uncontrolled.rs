//! No controller at all: what the application gives leaves at once. What plain datagrams have.

use paceline_cc::params::{ParamError, ParamSet, ParamSpec, ParamValue};
use paceline_cc::{Assigned, Controller, Report, SentPacket, Snapshot, TimeoutReason, Update};
use paceline_units::Time;

/// Nothing can be set.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UncontrolledParams;

/// The named sets of parameters.
pub const PROFILES: &[(&str, &str)] = &[("default", "nothing to set")];

impl UncontrolledParams {
    /// The named set, if there is one of that name.
    pub fn profile(name: &str) -> Option<UncontrolledParams> {
        (name == "default").then_some(UncontrolledParams)
    }

    /// Whether the parameters fit each other: always.
    pub(super) fn validate(&self) -> Result<(), ParamError> {
        Ok(())
    }
}

impl ParamSet for UncontrolledParams {
    fn specs(&self) -> &'static [ParamSpec] {
        &[]
    }

    fn value(&self, _name: &str) -> Option<ParamValue> {
        None
    }

    fn set(&mut self, _name: &str, _value: ParamValue) -> Result<(), ParamError> {
        Err(ParamError::Unknown { known: Vec::new() })
    }
}

/// Answers nothing: no window, no pacing, no target. There is nothing that `assign` could overwrite.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uncontrolled;

impl Controller for Uncontrolled {
    fn on_sent(&mut self, _now: Time, _packet: &SentPacket) -> Update {
        Update::none()
    }

    fn on_report(&mut self, _now: Time, _report: &Report<'_>) -> Update {
        Update::none()
    }

    fn assign(&mut self, _now: Time, _assigned: Assigned) -> Update {
        Update::none()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        None
    }

    fn on_timeout(&mut self, _now: Time) -> Update {
        Update::none()
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::default()
    }
}
