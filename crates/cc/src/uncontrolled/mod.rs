//! No controller at all: what the application gives leaves at once. The controller of plain datagrams: none.

use crate::{
    Assigned, CeResponse, Controller, FlowSetup, Report, SentPacket, Snapshot, TimeoutReason, Update,
};
use paceline_units::{Time, params};

params! {
    /// Nothing can be set.
    pub struct Params {}
    profiles {
        "default": "nothing to set" => Params::default,
    }
}

/// Answers nothing: no window, no pacing, no target. There is nothing that `assign` could overwrite.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uncontrolled;

impl Uncontrolled {
    /// A sender that has sent nothing.
    pub fn new(_params: &Params, _setup: &FlowSetup) -> Uncontrolled {
        Uncontrolled
    }
}

impl Controller for Uncontrolled {
    fn on_sent(&mut self, _now: Time, _packet: &SentPacket) -> Update {
        Update::none()
    }

    fn on_report(&mut self, _now: Time, _report: &Report<'_>) -> Update {
        Update::none()
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Uncontrolled
    }

    fn shares() -> bool {
        false
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
