//! Which flow of a scenario a run on real sockets is about.

use crate::NetError;
use paceline_scenario::build::{DccpParts, EndsParts, FlowParts, RtpParts};
use paceline_scenario::{FlowSpec, Loaded, Scenario};
use std::net::SocketAddr;

/// One flow of a scenario.
#[derive(Clone, Copy)]
pub(crate) struct ChosenFlow<'a> {
    pub scenario: &'a Scenario,
    pub spec: &'a FlowSpec,
    pub parts: &'a FlowParts,
    pub over: Over<'a>,
}

/// A flow's transport, of those that run over sockets.
#[derive(Clone, Copy)]
pub(crate) enum Over<'a> {
    Rtp(&'a RtpParts),
    Dccp(&'a DccpParts),
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
        let over = match &parts.ends {
            EndsParts::Rtp(rtp) if rtp.receiver_half.is_some() => {
                let kind = spec.controller.params.kind();
                return Err(NetError::Unsupported {
                    what: format!(
                        "flow {}: controller \"{kind}\" needs reports of its own from the receiver, which have no \
                         format on the wire yet; `paceline run` simulates it",
                        spec.name
                    ),
                });
            }
            EndsParts::Rtp(rtp) => Over::Rtp(rtp),
            EndsParts::Dccp(dccp) => Over::Dccp(dccp),
            EndsParts::Tcp { .. } | EndsParts::Transfers { .. } | EndsParts::Udp { .. } => {
                let (name, found) = (&spec.name, spec.transport.name());
                let what = format!("flow {name} has transport {found}, expected rtp or dccp");
                return Err(NetError::Unsupported { what });
            }
        };
        Ok(ChosenFlow { scenario, spec, parts, over })
    }

    /// An error if a capture is `wanted` of a flow that has none.
    pub fn check_capture(&self, wanted: bool) -> Result<(), NetError> {
        if !wanted || matches!(self.over, Over::Dccp(_)) {
            return Ok(());
        }
        let (name, found) = (&self.spec.name, self.spec.transport.name());
        let what = format!(
            "a capture is of DCCP as it would be without UDP; flow {name} has transport {found}, whose datagrams \
             tcpdump shows as they are"
        );
        Err(NetError::Unsupported { what })
    }
}

/// The warning that `address` can be reached from other machines, if it can.
pub(crate) fn reachable_from_outside(address: SocketAddr) -> Option<String> {
    let outside = !address.ip().is_loopback();
    outside.then(|| format!("listening on {address}: whoever reaches this machine can send to it"))
}
