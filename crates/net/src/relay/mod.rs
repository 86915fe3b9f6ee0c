//! The user-space link: a relay between a sender and a receiver that applies a scenario's links in real time.
//!
//! Datagrams that come to `listen` pass the links of the flow's path and leave for `forward`, with the ECN bits they came
//! with or the CE that a link set. What comes back from `forward` goes to the sender after `return_delay`, over a way
//! without limits. Link time is when the kernel received a datagram; the process only has to wake in time to let it go.
//! Its zero is the arrival of the first packet less the flow's `start`, so that steps of the rate come when the scenario
//! says.
//!
//! Of an RTP flow only RTP of our payload type and its sender's RTCP pass, from one sender at a time: the first address
//! and SSRC that are heard twice, until they have been silent for a second and others are heard twice. Of a DCCP flow it is the packets of one connection,
//! known by address and ports, and besides Requests and their answers while there is none or it is silent: the connection is
//! whose handshake the relay has seen whole. After the scenario's end the relay stays for a moment, so that
//! the connection can be closed. A packet that was alone before the sender's does not count: the run
//! begins anew with the next.
//! What is under way is bounded by [`RelayOptions::memory`]; beyond, datagrams are dropped and counted apart from the
//! links' own drops.
//!
//! # What its figures are
//!
//! All of `links` and their time series are exact, as in the simulator. Of the flow it knows what
//! [`paceline_metrics::Facts::RELAY`] is enough for, at the time packets are at the far end; `packets_sent` are those that came in.

mod connection;
mod driver;
pub(crate) mod filter;
mod packet;
mod path;

use crate::choice::ChosenFlows;
use crate::{Control, NetError, NetOutput};
use driver::RelayDriver;
use paceline_scenario::Loaded;
use paceline_units::{Bytes, TimeDelta};
use std::net::SocketAddr;

/// What a relay is told beyond the scenario.
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
