//! The real sender: drives the transport's sender endpoint by the monotonic clock and a UDP socket.
//!
//! The process sleeps until the endpoint wants something, and wakes some tens of microseconds late. The endpoint is told
//! the time at which each thing was due (a frame's capture, a packet's turn in the pacer) or arrived (a report, by the
//! kernel's stamp), not the time at which the process came to it: otherwise the jitter of wake-ups would decide ties, such
//! as whether 200 ms have passed between a frame and the tenth after it, and lower the pacing rate. Lateness is made up
//! for in this way up to [`FORGIVEN_LATENESS`]. Packets that are due when the process wakes leave in one system call, those of
//! equal size that follow each other (UDP segmentation offload), in their order. No packet is held back for a batch.
//!
//! # Meaning of its figures
//!
//! Figures that [`paceline_metrics::Facts::RTP_SENDER`] is enough for. Arrivals are what RFC 8888 reports say, at the time the report came: a
//! packet is lost that is reported missing and still missing a second later, and `queue_delay_ms` is the one-way delay above
//! the smallest so far, noise in, at the reports' resolution of 1/1024 s.
//!
//! TFRC's receiver tells no single packets: its sender has the figures of what it sent alone.
//!
//! Over DCCP arrivals come from Ack Vectors, in the same way; CCID 3 has none unless `ack_vector` asks for them. When the run is over, or is
//! stopped, the connection is closed, for which a second is left.

mod answers;
pub(crate) mod codec;
pub(crate) mod driver;
mod evidence;
mod host;
#[cfg(test)]
mod probe_tests;
pub(crate) mod sent;
mod sharing;

use crate::address::{local_for, require_port};
use crate::agreed::Agreed;
use crate::choice::{ChosenFlow, ChosenFlows};
use crate::control::in_threads;
use crate::exchange::{ExchangeClient, ExchangeOptions};
use crate::port::Port;
use crate::record;
use crate::remote::Remote;
use crate::socket::UdpPort;
use crate::transports::AnySendingDriver;
use crate::{Control, NetError, NetOutput};
use host::SendingHost;
use paceline_scenario::Loaded;
use paceline_units::TimeDelta;
use paceline_units::param::ParamError;
use sharing::Sharing;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How much lateness is made up for: longer than a thread of a busy machine usually waits for its turn, short against
/// the delays that controllers look at. An event that is later than this happens when the process comes to it: a burst after a
/// pause is never longer than this.
pub const FORGIVEN_LATENESS: TimeDelta = TimeDelta::from_millis(2);

/// Options of a sender beyond the scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct SendOptions {
    /// The flow of the scenario; none: the only one, or all that share by its only coupling.
    pub flow: Option<String>,
    /// Where packets go: a receiver or a relay. Of several flows each but the first goes to the port after that of the one
    /// before it.
    pub to: SocketAddr,
    /// SSRC of the first stream; further streams count on from it. None: the scenario's, else a random one.
    pub ssrc: Option<u32>,
    /// The form of RTP packets.
    pub packets: Agreed,
    /// If nothing has come back for so long after the first packet, or by the run's end, the run is an error.
    pub patience: TimeDelta,
    /// A file for what a DCCP flow sends and receives; none: nothing is written.
    pub capture: Option<PathBuf>,
    /// The program at the other end.
    pub remote: Remote,
    /// An exchange of the machine by which the flows share with those of other processes; none: among themselves.
    pub exchange: Option<ExchangeOptions>,
}

impl SendOptions {
    /// Sends the only flow to `to` and waits 10 s for an answer.
    pub fn to(to: SocketAddr) -> SendOptions {
        let patience = TimeDelta::from_secs(10);
        SendOptions {
            flow: None,
            to,
            ssrc: None,
            packets: Agreed::OWN,
            patience,
            capture: None,
            remote: Remote::Standard,
            exchange: None,
        }
    }
}

/// A sender with its socket open.
pub struct Sender<'a> {
    /// Of each flow, the socket and where its packets go.
    ends: Vec<(UdpPort, SocketAddr)>,
    chosen: ChosenFlows<'a>,
    /// To the exchange, if there is to be one.
    link: Option<ExchangeClient>,
    options: SendOptions,
}

impl<'a> Sender<'a> {
    /// Opens a socket for a flow of the scenario, or for each of several.
    ///
    /// # Errors
    /// No such flow, port 0 as the target, a capture of several flows, flows that cannot share over an exchange, or
    /// no socket.
    pub fn bind(loaded: &'a Loaded, options: &SendOptions) -> Result<Sender<'a>, NetError> {
        let no_encoder = |error: ParamError| NetError::Unsupported {
            what: format!("{}: found {}, expected another kind, or a simulation", error.name, error.found),
        };
        loaded.parts.check_encoders().map_err(no_encoder)?;
        let chosen = ChosenFlows::of(loaded, options.flow.as_deref())?;
        chosen.check_capture(options.capture.is_some())?;
        chosen.flows.iter().try_for_each(|flow| options.remote.check(flow))?;
        require_port(options.to)?;
        let targets = chosen.addresses(options.to)?;
        let ends = targets.into_iter().map(|to| Ok((UdpPort::bind(local_for(to))?, to)));
        let ends = ends.collect::<Result<Vec<_>, NetError>>()?;
        let exchange = options.exchange.as_ref();
        let link = exchange.map(|exchange| ExchangeClient::of(&chosen, &ends, exchange)).transpose()?;
        Ok(Sender { ends, chosen, link, options: options.clone() })
    }

    /// The address that packets leave from, of several flows those of the first.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.ends[0].0.address()
    }

    /// Sends for the scenario's duration, or until it is stopped.
    ///
    /// # Errors
    /// If nothing answers any of the flows, the receiver refuses, or the socket fails.
    pub fn run(self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let Sender { ends, chosen, link, options } = self;
        let ChosenFlows { flows, coupling } = chosen;
        let scenario = flows[0].scenario;
        let flows = flows.into_iter().zip(ends);
        let sharing = match (link, coupling) {
            (Some(link), _) => Sharing::Elsewhere(link),
            (None, Some(coupling)) => Sharing::Here(coupling.exchange(&scenario.flows).1),
            (None, None) => return send_apart(flows.collect(), &options, control),
        };
        let drivers = flows.map(|(flow, (port, to))| driver(flow, port, to, &options));
        let drivers = drivers.collect::<Result<Vec<_>, NetError>>()?;
        SendingHost::new(drivers, sharing, scenario.duration).run(control)
    }
}

/// Sends flows that share nothing, each in a thread of its own.
fn send_apart(
    flows: Vec<(ChosenFlow<'_>, (UdpPort, SocketAddr))>,
    options: &SendOptions,
    control: &Control<'_>,
) -> Result<NetOutput, NetError> {
    let ended = in_threads(flows, control, |(flow, (port, to)), control| {
        driver(flow, port, to, options)?.run(control)
    });
    record::joined(ended?, Vec::new())
}

/// The driver of a flow that sends from `port` to `to`.
fn driver<'a>(
    flow: ChosenFlow<'a>,
    port: UdpPort,
    to: SocketAddr,
    options: &SendOptions,
) -> Result<AnySendingDriver<'a>, NetError> {
    let port = Port::new(port, options.capture.as_deref().map(|path| (path, flow.over.spell())))?;
    flow.over.sender(flow, port, to, options)
}
