//! The user-space link: a relay between a sender and a receiver that applies a scenario's links in real time.
//!
//! Datagrams that come to `listen` pass the links of the flow's path and leave for `forward`, with the ECN bits they came
//! with or the CE that a link set. A packet that comes back from `forward` goes to the sender after `return_delay`, over a way
//! without limits. Link time is when the kernel received a datagram; the process only has to wake in time to let it go.
//! Its zero is the arrival of the first packet less the flow's `start`, so that steps of the rate come when the scenario
//! says.
//!
//! Of an RTP flow only RTP of the payload type of Paceline's own ends and its sender's RTCP pass, from one sender at a time: the first address
//! and SSRC that are heard twice, until they have been silent for a second and others are heard twice. Of a DCCP flow it is the packets of one connection,
//! known by address and ports, and besides Requests and their answers while there is none or it is silent: the connection is
//! whose handshake the relay has seen whole. After the scenario's end the relay stays for a moment, so that
//! the connection can be closed. A packet that was alone before the sender's does not count: the run
//! begins anew with the next.
//! The memory of packets under way is bounded by [`RelayOptions::memory`]; beyond, datagrams are dropped and counted apart from the
//! links' own drops.
//!
//! # Meaning of its figures
//!
//! All of `links` and their time series are exact, as in the simulator. Of the flow it knows what
//! [`paceline_metrics::Facts::RELAY`] is enough for, at the time packets are at the far end; `packets_sent` are those that came in.

mod carrier;
mod driver;
mod filter;
pub(crate) mod gate;
mod ip;
mod opaque;
pub(crate) mod packet;
mod path;
mod program;
mod tunnel;
mod way;

use crate::address::require_port;
use crate::choice::{ChosenFlows, ScenarioFlow};
use crate::{Control, NetError, NetOutput};
pub(crate) use carrier::{Carrier, Limits};
use driver::RelayDriver;
pub(crate) use filter::{Admitted, RelayFilter};
use opaque::OpaqueGate;
use paceline_scenario::Loaded;
use paceline_units::{Bytes, TimeDelta};
use std::net::SocketAddr;
use tunnel::TunGate;

/// Options of a relay beyond the scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct RelayOptions {
    /// The flow whose path is applied; none: the only one, or all that share by its only coupling, side by side on one path.
    pub flow: Option<String>,
    /// Where the sender sends to; port 0 lets the system choose. Of several flows each but the first comes to the port after
    /// that of the one before it.
    pub listen: SocketAddr,
    /// Address on which the receiver listens; of several flows each but the first leaves for the port after that of the one
    /// before it.
    pub forward: SocketAddr,
    /// SSRC of the first stream; none: the scenario's, else the first packet tells (of several streams those of a random SSRC).
    pub ssrc: Option<u32>,
    /// The most that may be under way.
    pub memory: Bytes,
    /// If nothing has arrived at all for so long, the run is an error; none: it waits for ever.
    pub patience: Option<TimeDelta>,
}

impl RelayOptions {
    /// From `listen` to `forward`, with 256 MiB.
    pub fn between(listen: SocketAddr, forward: SocketAddr) -> RelayOptions {
        RelayOptions {
            flow: None,
            listen,
            forward,
            ssrc: None,
            memory: Bytes::new(256 << 20),
            patience: None,
        }
    }
}

/// A relay with its sockets open.
pub struct Relay<'a> {
    driver: RelayDriver<'a>,
}

impl<'a> Relay<'a> {
    /// Opens the sockets and builds the links of a flow's path.
    ///
    /// # Errors
    /// No such flow, a return path with links, port 0 to forward to, or an address that cannot be listened on.
    pub fn bind(loaded: &'a Loaded, options: &RelayOptions) -> Result<Relay<'a>, NetError> {
        let chosen = ChosenFlows::of(loaded, options.flow.as_deref())?;
        if let Some(flow) = chosen.flows.iter().find(|flow| !flow.parts.return_path.is_empty()) {
            let name = &flow.spec.name;
            let what =
                format!("flow {name} has a return_path; a relay offers only an empty one, with return_delay");
            return Err(NetError::Unsupported { what });
        }
        Ok(Relay { driver: RelayDriver::bind(chosen, &loaded.parts.links, options)? })
    }

    /// The address that the sender is to send to, of several flows that of the first.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.driver.address()
    }

    /// Relays for the scenario's duration from the first packet on, or until it is stopped.
    ///
    /// # Errors
    /// If nothing arrives within the options' patience, or a socket fails.
    pub fn run(self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        self.driver.run(control)
    }
}

/// A relay that forwards whatever UDP it gets over the path of a flow, and what comes back over its return path. Each address
/// that sends has a socket of its own behind the relay; there are 64 at most, and one that is silent for 10 s gives way to another.
pub struct OpaqueRelay<'a> {
    carrier: Carrier<'a, OpaqueGate>,
}

impl<'a> OpaqueRelay<'a> {
    /// Opens the socket and builds the links. `ssrc` of the options does not matter.
    ///
    /// # Errors
    /// No such flow, a link on both ways, port 0 to forward to, or an address that cannot be listened on.
    pub fn bind(loaded: &'a Loaded, options: &RelayOptions) -> Result<OpaqueRelay<'a>, NetError> {
        require_port(options.forward)?;
        let flow = both_ways(loaded, options.flow.as_deref())?;
        let gate = OpaqueGate::bind(options.listen, options.forward)?;
        let limits = Limits { memory: options.memory, patience: options.patience };
        Ok(OpaqueRelay { carrier: Carrier::new(gate, flow, &loaded.parts.links, limits)? })
    }

    /// The address that programs send to.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.carrier.gate().address()
    }

    /// Relays for the scenario's duration from the first packet on, or until it is stopped.
    ///
    /// # Errors
    /// If nothing arrives within the options' patience, or a socket fails.
    pub fn run(self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        self.carrier.run(control)
    }
}

/// Options of a tunnel beyond the scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct TunnelOptions {
    /// The flow whose path is applied; none: the only one.
    pub flow: Option<String>,
    /// The command of the shell at the beginning of the path.
    pub left: String,
    /// The command at its end, which is started first.
    pub right: String,
    /// The most that may be under way.
    pub memory: Bytes,
}

impl TunnelOptions {
    /// Between two programs, with 256 MiB.
    pub fn between(left: &str, right: &str) -> TunnelOptions {
        TunnelOptions { flow: None, left: left.into(), right: right.into(), memory: Bytes::new(256 << 20) }
    }
}

/// Runs two unmodified programs in networks of their own, 198.18.0.1 and 198.18.0.2, whose IP packets go over the path of a flow
/// from left to right and over its return path back. In their environment are `PACELINE_SIDE`, `PACELINE_ADDRESS` and
/// `PACELINE_PEER`. The run ends with the scenario's duration, a second after one of both programs has ended, or at once when
/// one fails, which is a warning; then whatever is left of them is ended.
///
/// # Errors
/// No such flow, a link on both ways, or a system that allows no networks of one's own.
pub fn tunnel(
    loaded: &Loaded,
    options: &TunnelOptions,
    control: &Control<'_>,
) -> Result<NetOutput, NetError> {
    let flow = both_ways(loaded, options.flow.as_deref())?;
    let limits = Limits { memory: options.memory, patience: None };
    let gate = TunGate::open(&options.left, &options.right)?;
    Carrier::new(gate, flow, &loaded.parts.links, limits)?.run(control)
}

/// A flow whose path and return path have no link in common: each direction has its own queues here.
pub(crate) fn both_ways<'a>(loaded: &'a Loaded, name: Option<&str>) -> Result<ScenarioFlow<'a>, NetError> {
    let flow = ScenarioFlow::of(loaded, name)?;
    match flow.parts.path.iter().find(|place| flow.parts.return_path.contains(place)) {
        None => Ok(flow),
        Some(place) => {
            let (name, link) = (&flow.spec.name, &flow.scenario.links[*place].name);
            let what = format!(
                "flow {name} has link {link} in path and return_path, expected a link for each direction, with a queue of its own"
            );
            Err(NetError::Unsupported { what })
        }
    }
}
