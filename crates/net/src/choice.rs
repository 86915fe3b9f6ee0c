//! Which flow of a scenario, or which flows, a run on real sockets is about.

use crate::NetError;
use crate::capture::Shown;
use crate::socket::UdpPort;
use paceline_scenario::assembly::{DccpParts, EndsParts, FlowParts, RtpParts};
use paceline_scenario::{CouplingSpec, FlowSpec, Loaded, Scenario};
use std::net::SocketAddr;
use std::ops::Deref;

/// How often the system may choose a port after which others are taken.
const TRIES: usize = 64;

/// One flow of a scenario, whatever its transport.
#[derive(Clone, Copy)]
pub(crate) struct ScenarioFlow<'a> {
    pub scenario: &'a Scenario,
    pub spec: &'a FlowSpec,
    pub parts: &'a FlowParts,
}

/// One flow of a scenario whose transport runs over sockets.
#[derive(Clone, Copy)]
pub(crate) struct ChosenFlow<'a> {
    pub flow: ScenarioFlow<'a>,
    pub over: Over<'a>,
}

impl<'a> Deref for ChosenFlow<'a> {
    type Target = ScenarioFlow<'a>;

    fn deref(&self) -> &ScenarioFlow<'a> {
        &self.flow
    }
}

/// A flow's transport, of those that run over sockets.
#[derive(Clone, Copy)]
pub(crate) enum Over<'a> {
    Rtp(&'a RtpParts),
    Dccp(&'a DccpParts),
}

/// The flows of a scenario that one process sends, receives or relays: the one that was named, the only one, those that
/// share by the scenario's only coupling, or all of a scenario without couplings whose flows are RTP and go the same way.
#[derive(Clone)]
pub(crate) struct ChosenFlows<'a> {
    /// In the order of the coupling; there is one at least.
    pub flows: Vec<ChosenFlow<'a>>,
    /// The coupling by which they share, if there are several.
    pub coupling: Option<&'a CouplingSpec>,
}

impl<'a> ChosenFlows<'a> {
    /// The flow called `name`; without, the only one, those of the only coupling, or all that share their links and nothing else.
    pub fn of(loaded: &'a Loaded, name: Option<&str>) -> Result<ChosenFlows<'a>, NetError> {
        let coupling = match loaded.scenario.couplings.as_slice() {
            [coupling] if name.is_none() && coupling.groups.iter().flatten().count() > 1 => coupling,
            [] if name.is_none() => match ChosenFlows::side_by_side(loaded) {
                Some(flows) => return Ok(ChosenFlows { flows, coupling: None }),
                None => return ChosenFlows::one(loaded, name),
            },
            _ => return ChosenFlows::one(loaded, name),
        };
        let names = coupling.groups.iter().flatten().filter_map(|&flow| loaded.scenario.flows.get(flow));
        let flows = names.map(|flow| ChosenFlow::of(loaded, Some(&flow.name)));
        let flows = flows.collect::<Result<Vec<_>, _>>()?;
        if let Some(other) = flows.iter().find(|flow| flow.spec.path != flows[0].spec.path) {
            let (one, other, name) = (&flows[0].spec.name, &other.spec.name, &coupling.name);
            let what = format!(
                "the flows {one} and {other} of coupling {name} have different paths; flows of one process go the same \
                 way"
            );
            return Err(NetError::Unsupported { what });
        }
        Ok(ChosenFlows { flows, coupling: Some(coupling) })
    }

    fn one(loaded: &'a Loaded, name: Option<&str>) -> Result<ChosenFlows<'a>, NetError> {
        Ok(ChosenFlows { flows: vec![ChosenFlow::of(loaded, name)?], coupling: None })
    }

    /// All flows of a scenario, if all of them are RTP and take the same way. Of connections one is to be named.
    fn side_by_side(loaded: &'a Loaded) -> Option<Vec<ChosenFlow<'a>>> {
        let flows = loaded.scenario.flows.iter().map(|flow| ChosenFlow::of(loaded, Some(&flow.name)).ok());
        let flows = flows.collect::<Option<Vec<_>>>()?;
        let first = flows.first()?.spec;
        let same = |flow: &ChosenFlow<'_>| {
            (&flow.spec.path, &flow.spec.return_path) == (&first.path, &first.return_path)
        };
        let rtp = |flow: &ChosenFlow<'_>| matches!(flow.over, Over::Rtp(_));
        flows.iter().all(|flow| same(flow) && rtp(flow)).then_some(flows)
    }

    /// An error if a capture is `wanted` of several flows.
    pub fn check_capture(&self, wanted: bool) -> Result<(), NetError> {
        if wanted && self.flows.len() > 1 {
            let what = "a capture is of one flow: name it".to_string();
            return Err(NetError::Unsupported { what });
        }
        Ok(())
    }

    /// A socket for each flow, that listen on `first` and the ports after it. Of port 0 the system chooses the first port.
    pub fn listen(&self, first: SocketAddr) -> Result<Vec<UdpPort>, NetError> {
        let mut tries = if first.port() == 0 { TRIES } else { 1 };
        loop {
            tries -= 1;
            match self.listen_from(first) {
                Err(NetError::Bind { .. }) if tries > 0 => {}
                Err(NetError::Unsupported { .. }) if tries > 0 => {}
                bound => return bound,
            }
        }
    }

    fn listen_from(&self, first: SocketAddr) -> Result<Vec<UdpPort>, NetError> {
        let mut ports = vec![UdpPort::bind(first)?];
        for address in &self.addresses(ports[0].address()?)?[1..] {
            ports.push(UdpPort::bind(*address)?);
        }
        Ok(ports)
    }

    /// An address for each flow: `first`, and the ports after it.
    pub fn addresses(&self, first: SocketAddr) -> Result<Vec<SocketAddr>, NetError> {
        let address = |place: usize| {
            let what = || format!("{} flows need as many ports from {first} on", self.flows.len());
            let port = u16::try_from(place).ok().and_then(|place| first.port().checked_add(place));
            let port = port.ok_or_else(|| NetError::Unsupported { what: what() })?;
            Ok(SocketAddr::new(first.ip(), port))
        };
        (0..self.flows.len()).map(address).collect()
    }
}

impl<'a> ScenarioFlow<'a> {
    /// The flow called `name`, or the only one.
    pub fn of(loaded: &'a Loaded, name: Option<&str>) -> Result<ScenarioFlow<'a>, NetError> {
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
        Ok(ScenarioFlow { scenario, spec, parts })
    }
}

impl<'a> ChosenFlow<'a> {
    /// The flow called `name`, or the only one.
    pub fn of(loaded: &'a Loaded, name: Option<&str>) -> Result<ChosenFlow<'a>, NetError> {
        let flow = ScenarioFlow::of(loaded, name)?;
        let over = match &flow.parts.ends {
            EndsParts::Rtp(rtp) => Over::Rtp(rtp),
            EndsParts::Dccp(dccp) => Over::Dccp(dccp),
            EndsParts::Tcp { .. }
            | EndsParts::Transfers { .. }
            | EndsParts::Conversations { .. }
            | EndsParts::Udp { .. } => {
                let (name, found) = (&flow.spec.name, flow.spec.transport.name());
                let what = format!("flow {name} has transport {found}, expected rtp or dccp");
                return Err(NetError::Unsupported { what });
            }
        };
        Ok(ChosenFlow { flow, over })
    }

    /// The coupling of the scenario that it is in, if it is in one.
    pub fn coupling(&self) -> Option<&'a CouplingSpec> {
        let Scenario { flows, couplings, .. } = self.scenario;
        let is_in = |group: &Vec<usize>| group.iter().any(|&flow| flows[flow].name == self.spec.name);
        couplings.iter().find(|coupling| coupling.groups.iter().any(is_in))
    }

    /// How a capture shows the flow's datagrams.
    pub fn shown(&self) -> Shown {
        match self.over {
            Over::Rtp(_) => Shown::Udp,
            Over::Dccp(_) => Shown::Dccp,
        }
    }
}

/// The warning that `address` can be reached from other machines, if it can.
pub(crate) fn reachable_from_outside(address: SocketAddr) -> Option<String> {
    let outside = !address.ip().is_loopback();
    outside.then(|| format!("listening on {address}: whoever reaches this machine can send to it"))
}
