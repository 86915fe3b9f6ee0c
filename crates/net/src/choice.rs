//! Which flow of a scenario a run on real sockets is about.

use crate::NetError;
use paceline_scenario::build::{EndsParts, FlowParts, RtpParts};
use paceline_scenario::{FlowSpec, Loaded, Scenario};
use std::net::SocketAddr;

/// One flow of a scenario.
#[derive(Clone, Copy)]
pub(crate) struct ChosenFlow<'a> {
    pub scenario: &'a Scenario,
    pub spec: &'a FlowSpec,
    pub parts: &'a FlowParts,
    pub rtp: &'a RtpParts,
}

impl<'a> ChosenFlow<'a> {
    /// The flow called `name`, or the only one.
    pub fn of(loaded: &'a Loaded, name: Option<&str>) -> Result<ChosenFlow<'a>, NetError> {
        let scenario = &loaded.scenario;
        let known = || scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        let index = match name {
            Some(name) => scenario
                .flows
                .iter()
                .position(|flow| flow.name == name)
                .ok_or_else(|| NetError::NoSuchFlow { found: name.into(), known: known() })?,
            None if scenario.flows.len() == 1 => 0,
            None => return Err(NetError::WhichFlow { known: known() }),
        };
        let parts = loaded.parts.flows.get(index);
        let (Some(spec), Some(parts)) = (scenario.flows.get(index), parts) else {
            return Err(NetError::WhichFlow { known: known() });
        };
        let EndsParts::Rtp(rtp) = &parts.ends else {
            let what = format!("flow {} has transport {}, expected rtp", spec.name, spec.transport.name());
            return Err(NetError::Unsupported { what });
        };
        if rtp.receiver_half.is_some() {
            let kind = spec.controller.params.kind();
            return Err(NetError::Unsupported {
                what: format!(
                    "flow {}: controller \"{kind}\" needs reports of its own from the receiver, which have no format \
                     on the wire yet; `paceline run` simulates it",
                    spec.name
                ),
            });
        }
        Ok(ChosenFlow { scenario, spec, parts, rtp })
    }
}

/// The warning that `address` can be reached from other machines, if it can.
pub(crate) fn reachable_from_outside(address: SocketAddr) -> Option<String> {
    let outside = !address.ip().is_loopback();
    outside.then(|| format!("listening on {address}: whoever reaches this machine can send to it"))
}
