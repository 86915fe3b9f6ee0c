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
//! Figures that [`Facts::RTP_SENDER`] is enough for. Arrivals are what RFC 8888 reports say, at the time the report came: a
//! packet is lost that is reported missing and still missing a second later, and `queue_delay_ms` is the one-way delay above
//! the smallest so far, noise in, at the reports' resolution of 1/1024 s.
//!
//! TFRC's receiver tells no single packets: its sender has the figures of what it sent alone.
//!
//! Over DCCP arrivals come from Ack Vectors, in the same way; CCID 3 has none unless `ack_vector` asks for them. When the run is over, or is
//! stopped, the connection is closed, for which a second is left.

mod answers;
pub(crate) mod codec;
mod dccp;
mod driver;
mod host;
#[cfg(test)]
mod probe_tests;
mod resending;
pub(crate) mod rtp;
pub(crate) mod sent;
mod sharing;

use crate::address::{local_for, require_port};
use crate::agreed::Agreed;
use crate::choice::{ChosenFlow, ChosenFlows, Over};
use crate::control::in_threads;
use crate::exchange::{ExchangeClient, ExchangeOptions};
use crate::port::Port;
use crate::record;
use crate::remote::Remote;
use crate::secret::secret;
use crate::socket::UdpPort;
use crate::ssrc::rtcp_config;
use crate::{Control, NetError, NetOutput};
use dccp::DccpSendingCodec;
use driver::SendingDriver;
use host::{AnySendingDriver, SendingHost};
use paceline_cc::StreamId;
use paceline_metrics::Facts;
use paceline_scenario::Loaded;
use paceline_scenario::build::SendingWorld;
use paceline_transport::rtp::{RtpIdentity, Ssrcs};
use paceline_units::param::ParamError;
use paceline_units::{Bytes, TimeDelta};
use paceline_wire::tfrc;
use rtp::RtpSendingCodec;
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

/// Where the numbers of so many streams begin: SSRCs, sequence numbers and timestamps (RFC 3550 section 5.1).
fn numbers(
    identity: &RtpIdentity,
    ssrc: Option<u32>,
    streams: usize,
) -> Result<(Ssrcs, Vec<u16>, u32), NetError> {
    let [ssrcs, timestamp] = secret()?;
    let ssrcs = match ssrc.or(identity.ssrc) {
        Some(first) => Ssrcs::new(first, streams),
        None => Ssrcs::with(ssrcs as u32, streams),
    };
    let sequence = |_| match identity.first_sequence {
        Some(first) => Ok(first as u16),
        None => secret().map(|[drawn, _]| drawn as u16),
    };
    let sequences = (0..streams).map(sequence).collect::<Result<_, _>>()?;
    Ok((ssrcs, sequences, identity.first_timestamp.unwrap_or(timestamp as u32)))
}

/// The driver of a flow that sends from `port` to `to`.
fn driver<'a>(
    flow: ChosenFlow<'a>,
    port: UdpPort,
    to: SocketAddr,
    options: &SendOptions,
) -> Result<AnySendingDriver<'a>, NetError> {
    let capture = options.capture.as_deref().map(|path| (path, flow.shown()));
    let (port, patience) = (Port::new(port, capture)?, options.patience);
    Ok(match flow.over {
        Over::Rtp(parts) => {
            let (streams, half) = (parts.streams.len(), parts.receiver_half.is_some());
            let (ssrcs, first_sequences, first_timestamp) = numbers(
                &parts.identity,
                options.ssrc.or(parts.identity.ssrc).or(options.remote.ssrc()),
                streams,
            )?;
            let drawn = secret()?[0];
            let rtcp = parts.identity.rtcp.then(|| rtcp_config(ssrcs.of(StreamId(0)), drawn));
            let codec = RtpSendingCodec::new((ssrcs, first_timestamp), streams, parts.feedback.format, half);
            let codec = codec.with_rtcp(rtcp).with_packets(options.packets).towards(options.remote);
            let controller = flow.parts.controller.clone();
            let facts = if half { Facts::SENDER_ALONE } else { Facts::RTP_SENDER };
            let repairs = options.packets.repair.map(|_| secret().map(|[drawn, _]| drawn as u16));
            let world = SendingWorld {
                first_sequences: &first_sequences,
                guards: Default::default(),
                extension: Bytes::new(if half { tfrc::EXTENSION as u64 } else { 0 }),
                repairs: repairs.transpose()?,
            };
            let end = parts.sending_end(controller, &world);
            AnySendingDriver::Rtp(SendingDriver::new(port, flow, facts, end, codec, to, patience))
        }
        Over::Dccp(parts) => {
            let (codec, end) = DccpSendingCodec::new(flow, parts, to)?;
            let facts = if parts.has_ack_vectors() { Facts::ACK_VECTOR_SENDER } else { Facts::SENDER_ALONE };
            AnySendingDriver::Dccp(SendingDriver::new(port, flow, facts, end, codec, to, patience))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_nobody_says_is_random_and_what_is_said_counts() {
        let of = |identity: RtpIdentity, ssrc| numbers(&identity, ssrc, 1).expect("numbers");
        let drawn = [(); 4].map(|()| of(RtpIdentity::default(), None));
        let ssrcs: BTreeSet<_> = drawn.iter().map(|(ssrcs, ..)| ssrcs.of(StreamId(0))).collect();
        let firsts: BTreeSet<_> =
            drawn.iter().map(|(_, firsts, timestamp)| (firsts.clone(), *timestamp)).collect();
        assert_eq!((ssrcs.len(), firsts.len()), (4, 4), "{drawn:?}");
        let said = RtpIdentity {
            ssrc: Some(7),
            first_sequence: Some(65_535),
            first_timestamp: Some(9),
            circuit_breaker: None,
            ecn_check: None,
            ..RtpIdentity::default()
        };
        assert_eq!(of(said, None), (Ssrcs::new(7, 1), vec![65_535], 9));
        assert_eq!(of(said, Some(8)).0, Ssrcs::new(8, 1), "the caller's word before the scenario's");
    }
}
