//! The real receiver: drives the transport's receiver endpoint by the monotonic clock and a UDP socket.
//!
//! The first sender that is heard twice is the session's: its address and SSRC. Packets of other peers are counted and dropped; of
//! one that goes on for a second all the same the receiver says so. A sender that is silent for a second gives way to one
//! that is heard twice then, whose session begins anew.
//! Reports go to the address that the media comes from. Arrival times are the kernel's, so a receiver that wakes late
//! does not report late arrivals.
//!
//! # Meaning of its figures
//!
//! Figures that [`paceline_metrics::Facts::RECEIVER`] is enough for. A packet counts as lost when its sequence number is missing
//! for a second, sent about when it was missed; that of a probe's padding, too, which nobody can tell apart once it is lost. Padding
//! that arrives is reported on and counted nowhere. Numbers that go on elsewhere are followed when two packets in a row say so (RFC
//! 3550 appendix A.1): from a second before until a second after nothing is held to be lost, since nobody can tell which
//! gaps are the stream's. From the times in the payload, if the sender runs on this machine, follow the
//! delays too; of a frame's delay the links' queues are part of the path.
//!
//! Its zero is that of the sender: when the first packet was captured (or arrived, if it does not say), less the flow's
//! `start`. So `warmup` and `duration` mean the same at both ends.
//!
//! Over DCCP the session is a connection: that of the first who completes a handshake with a cookie, until it ends. Media is
//! RTP in its datagrams, of bulk data no frame is displayed. `loss_ratio` is of numbers that are missing for a second; a few of
//! them were no data. Unknown peers are kept out by [`paceline_dccp::Host`] and its cookies.

pub(crate) mod codec;
pub(crate) mod driver;
mod seen;
pub(crate) mod session;
pub(crate) mod times;

use crate::agreed::Agreed;
use crate::choice::{ChosenFlow, ChosenFlows};
use crate::control::{Progress, in_threads};
use crate::port::Port;
use crate::record::Ended;
use crate::remote::Remote;
use crate::socket::UdpPort;
use crate::{Control, NetError, NetOutput, record};
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_units::TimeDelta;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The silence that ends a flow of which nothing is known.
const UNKNOWN_SILENCE: TimeDelta = TimeDelta::from_secs(10);

/// Options of a receiver beyond the scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct ReceiveOptions {
    /// The flow of the scenario; none: the only one, or all that share by its only coupling.
    pub flow: Option<String>,
    /// Where it listens; port 0 lets the system choose. Of several flows each but the first comes to the port after that of
    /// the one before it.
    pub listen: SocketAddr,
    /// SSRC of the first stream; none: the scenario's, else the first packet tells (of several streams those of a random SSRC).
    pub ssrc: Option<u32>,
    /// The form of RTP packets.
    pub packets: Agreed,
    /// After at least one packet, the run ends when nothing has arrived for so long beyond what the scenario plans; none: it does not. A DCCP
    /// connection that brings no data for so long, or 10 s, is aborted, and the receiver goes on waiting.
    pub silence: Option<TimeDelta>,
    /// If nothing has arrived at all for so long, the run is an error; none: it waits for ever.
    pub patience: Option<TimeDelta>,
    /// The run ends so long after its zero; none: after the scenario's duration. A longer one needs a scenario that lasts as long
    /// ([`Loaded::lasting`]).
    pub duration: Option<TimeDelta>,
    /// The program at the other end.
    pub remote: Remote,
    /// A file for what a DCCP flow sends and receives; none: nothing is written.
    pub capture: Option<PathBuf>,
}

impl ReceiveOptions {
    /// Listens on `listen` until the scenario's duration is over.
    pub fn on(listen: SocketAddr) -> ReceiveOptions {
        ReceiveOptions {
            flow: None,
            listen,
            ssrc: None,
            packets: Agreed::OWN,
            silence: None,
            patience: None,
            duration: None,
            remote: Remote::Standard,
            capture: None,
        }
    }
}

/// A receiver with its socket open.
pub struct Receiver<'a> {
    /// The socket of each flow.
    ports: Vec<UdpPort>,
    chosen: ChosenFlows<'a>,
    options: ReceiveOptions,
}

impl<'a> Receiver<'a> {
    /// Listens for a flow of the scenario, or for each of several.
    ///
    /// # Errors
    /// No such flow, a capture of several flows, or an address that cannot be listened on.
    pub fn bind(loaded: &'a Loaded, options: &ReceiveOptions) -> Result<Receiver<'a>, NetError> {
        let chosen = ChosenFlows::of(loaded, options.flow.as_deref())?;
        chosen.check_capture(options.capture.is_some())?;
        chosen.flows.iter().try_for_each(|flow| options.remote.check(flow))?;
        Ok(Receiver { ports: chosen.listen(options.listen)?, chosen, options: options.clone() })
    }

    /// The address it listens on, of several flows that of the first.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.ports[0].address()
    }

    /// Receives until the end that the options say, or until it is stopped.
    ///
    /// # Errors
    /// If nothing arrives within the options' patience, or the socket fails.
    pub fn run(self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let Receiver { ports, chosen, options } = self;
        let several = chosen.flows.len() > 1;
        let ends = chosen.flows.into_iter().zip(ports).collect();
        let ended = in_threads(ends, control, |(flow, port), control| {
            let progress = |told: Progress<'_>| {
                told.reworded(|said| record::named(several, &flow.spec.name, said.into()), control.progress);
            };
            receive_flow(flow, port, options.clone(), &Control { stop: control.stop, progress: &progress })
        })?;
        record::joined(ended, Vec::new())
    }
}

/// Receives one flow on `port`.
fn receive_flow<'a>(
    flow: ChosenFlow<'a>,
    port: UdpPort,
    options: ReceiveOptions,
    control: &Control<'_>,
) -> Result<Ended<'a>, NetError> {
    let port = Port::new(port, options.capture.as_deref().map(|path| (path, flow.over.spell())))?;
    flow.over.receive(flow, port, options, control)
}

/// Receives a flow of the scenario, or one of which nothing is known, on a real socket.
///
/// # Errors
/// The errors of [`Receiver::bind`] and [`Receiver::run`].
pub fn receive(
    loaded: Option<&Loaded>,
    options: &ReceiveOptions,
    control: &Control<'_>,
) -> Result<NetOutput, NetError> {
    if let Some(loaded) = loaded {
        let longer = options.duration.filter(|duration| *duration > loaded.scenario.duration);
        let longer = longer.map(|duration| loaded.lasting(duration)).transpose();
        let longer = longer.map_err(|error| NetError::Unsupported { what: error.to_string() })?;
        return Receiver::bind(longer.as_ref().unwrap_or(loaded), options)?.run(control);
    }
    let unknown = unknown_flow()?;
    let options = ReceiveOptions { silence: options.silence.or(Some(UNKNOWN_SILENCE)), ..options.clone() };
    let mut output = Receiver::bind(&unknown, &options)?.run(control)?;
    for figures in output.summary.flows.values_mut() {
        (figures.controller, figures.profile) = ("unknown", String::new());
    }
    Ok(output)
}

/// A scenario for a receiver that was given none: one flow called `received`, for as long as its samples may be kept.
fn unknown_flow() -> Result<Loaded, NetError> {
    const TEXT: &str = "name = \"received\"\nduration = \"250000s\"\n[links.path]\nrate = \"1Gbps\"\n\
                        queue = { packets = 1000 }\n[flows.received]\ncontroller = \"scream\"\n\
                        source = { kind = \"bulk\" }\npath = [\"path\"]\n";
    load(&Origin { text: TEXT, file: "received.toml", sets: &[] }, &Loader::default())
        .map_err(|error| NetError::Unsupported { what: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_needs_no_scenario() {
        let loaded = unknown_flow().expect("a sound scenario");
        assert_eq!(loaded.scenario.flows[0].name, "received");
    }
}
