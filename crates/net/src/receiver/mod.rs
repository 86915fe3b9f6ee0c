//! The real receiver: drives the transport's receiver endpoint by the monotonic clock and a UDP socket.
//!
//! The first sender that is heard twice is the session's: its address and SSRC. Packets of other peers are counted and dropped.
//! Reports go to the address that the media comes from. Arrival times are the kernel's, so a receiver that wakes late
//! does not report late arrivals.
//!
//! # What its figures are
//!
//! Those that [`paceline_metrics::Facts::RECEIVER`] is enough for. A packet counts as lost when its sequence number is missing
//! for a second, sent about when it was missed; that of a probe's padding, too, which nobody can tell apart once it is lost. Padding
//! that arrives is reported on and counted nowhere. From the times in the payload, if the sender runs on this machine, follow the
//! delays too; of a frame's delay the links' queues are part of the path.
//!
//! Its zero is that of the sender: when the first packet was captured (or arrived, if it does not say), less the flow's
//! `start`. So `warmup` and `duration` mean the same at both ends.
//!
//! Over DCCP the session is a connection: that of the first who completes a handshake with a cookie, until it ends. Media is
//! RTP in its datagrams, of bulk data no frame is displayed. `loss_ratio` is of numbers that are missing for a second; a few of
//! them were no data. Unknown peers are kept out by [`paceline_transport::dccp::Host`] and its cookies.

mod codec;
mod dccp;
mod driver;
mod rtp;
mod seen;
mod session;
mod times;

use crate::choice::{ChosenFlow, Over};
use crate::port::Port;
use crate::socket::UdpPort;
use crate::{Control, NetError, NetOutput};
use dccp::DccpReceivingCodec;
use driver::ReceivingDriver;
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_transport::rtp::FeedbackConfig;
use paceline_units::TimeDelta;
use rtp::RtpReceivingCodec;
use session::SessionConfig;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What a receiver is told beyond the scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct ReceiveOptions {
    /// The flow of the scenario; none: the only one.
    pub flow: Option<String>,
    /// Where it listens; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// SSRC of the first stream; none: that of the first packet, or 100 if the flow has several streams.
    pub ssrc: Option<u32>,
    /// After at least one packet, the run ends when nothing has arrived for so long; none: it does not. A DCCP connection that
    /// brings no data for so long is aborted, and the receiver goes on waiting.
    pub silence: Option<TimeDelta>,
    /// If nothing has arrived at all for so long, the run is an error; none: it waits for ever.
    pub patience: Option<TimeDelta>,
    /// The run ends so long after its zero, even if the scenario's duration is longer.
    pub duration: Option<TimeDelta>,
    /// A file for what a DCCP flow sends and receives; none: nothing is written.
    pub capture: Option<PathBuf>,
}

impl ReceiveOptions {
    /// Listens on `listen` until the scenario's duration is over, or 10 s without a packet.
    pub fn on(listen: SocketAddr) -> ReceiveOptions {
        ReceiveOptions {
            flow: None,
            listen,
            ssrc: None,
            silence: Some(TimeDelta::from_secs(10)),
            patience: None,
            duration: None,
            capture: None,
        }
    }
}

/// A receiver with its socket open.
pub struct Receiver<'a> {
    port: UdpPort,
    flow: ChosenFlow<'a>,
    options: ReceiveOptions,
}

impl<'a> Receiver<'a> {
    /// Listens for a flow of the scenario.
    ///
    /// # Errors
    /// No such flow, a capture of a flow that is not DCCP, or an address that cannot be listened on.
    pub fn bind(loaded: &'a Loaded, options: &ReceiveOptions) -> Result<Receiver<'a>, NetError> {
        let flow = ChosenFlow::of(loaded, options.flow.as_deref())?;
        flow.check_capture(options.capture.is_some())?;
        Ok(Receiver { port: UdpPort::bind(options.listen)?, flow, options: options.clone() })
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.port.address()
    }

    /// Receives until the end that the options say, or until it is stopped.
    ///
    /// # Errors
    /// If nothing arrives within the options' patience, or the socket fails.
    pub fn run(self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let Receiver { port, flow, options } = self;
        let port = Port::new(port, options.capture.as_deref())?;
        match flow.over {
            Over::Rtp(parts) => {
                let (streams, feedback, playout) = (parts.streams.len(), parts.feedback, parts.playout);
                let codec = RtpReceivingCodec::new(parts, options.ssrc);
                let config = SessionConfig { streams, feedback, playout };
                ReceivingDriver::new(port, flow, config, codec, options).run(control)
            }
            Over::Dccp(parts) => {
                let codec = DccpReceivingCodec::new(parts, port.socket.address()?, options.silence)?;
                let (feedback, playout) = (FeedbackConfig::default(), parts.playout);
                let config = SessionConfig { streams: 1, feedback, playout };
                ReceivingDriver::new(port, flow, config, codec, options).run(control)
            }
        }
    }
}

/// Receives a flow of the scenario, or one of which nothing is known, on a real socket.
///
/// # Errors
/// Those of [`Receiver::bind`] and [`Receiver::run`].
pub fn receive(
    loaded: Option<&Loaded>,
    options: &ReceiveOptions,
    control: &Control<'_>,
) -> Result<NetOutput, NetError> {
    if let Some(loaded) = loaded {
        return Receiver::bind(loaded, options)?.run(control);
    }
    let unknown = unknown_flow()?;
    let mut output = Receiver::bind(&unknown, options)?.run(control)?;
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
