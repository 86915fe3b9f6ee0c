//! A call with a browser over a scenario's links: our sender to it, or it to our receiver, over plain RTP and one port.
//!
//! The browser offers, somebody answers with [`BrowserCall::address`] and [`BrowserCall::credentials`], and [`BrowserCall::run`] is
//! told what both agreed on. Our endpoint is the one of `send` or `receive`; between it and the browser stands the relay of
//! `link`. Connectivity checks are answered by ICE lite: once media is on its way they go over the links
//! like all else, so that the browser's round-trip time is the path's.
//!
//! A stranger without the password of the answer changes nothing: a datagram from another address than the browser's checks is counted and
//! dropped.
//!
//! # Meaning of its figures
//!
//! The endpoint's are those of [`crate::sender`] or [`crate::receiver`], without times in payloads: a receiver knows no delays.
//! The relay's are exact. Both begin with the first packet of media.

mod gate;
mod ice;

use crate::agreed::Agreed;
use crate::choice::ChosenFlow;
use crate::clock::nanos_since_1970;
use crate::control::{Progress, or_stop};
use crate::relay::{Carrier, Limits, both_ways};
use crate::secret::secret;
use crate::socket::UdpPort;
use crate::transports::Over;
use crate::{Control, NetError, NetOutput, ReceiveOptions, Receiver, SendOptions, Sender};
use gate::BrowserGate;
pub use ice::IceCredentials;
use ice::IceLite;
use paceline_scenario::Loaded;
use paceline_units::{Bytes, TimeDelta};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, sync_channel};
use std::sync::{Arc, OnceLock};

/// Memory that packets under way may take.
const MEMORY: Bytes = Bytes::new(256 << 20);
/// Longer than a browser takes to find an address, begin to encode and be heard over any path.
const PATIENCE: TimeDelta = TimeDelta::from_secs(20);

/// All sockets of a call are on this machine.
const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Our endpoint's part in a call with a browser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Media goes to the browser, controlled by the scenario's controller.
    Send,
    /// Media comes from the browser, controlled by its own.
    Receive,
}

/// Our end of a call.
enum Endpoint<'a> {
    Sender(Box<Sender<'a>>),
    Receiver(Box<Receiver<'a>>),
}

/// A call with a browser that has still to come, its sockets open, all on 127.0.0.1.
pub struct BrowserCall<'a> {
    loaded: &'a Loaded,
    flow: ChosenFlow<'a>,
    role: Role,
    browser: UdpPort,
    credentials: IceCredentials,
    ssrc: u32,
}

/// The outcome of a call.
pub struct BrowserOutput {
    /// Figures of our sender or receiver.
    pub endpoint: NetOutput,
    /// Figures of the links between.
    pub link: NetOutput,
    /// Nanoseconds since 1970 at the run's zero, to some milliseconds; none if it ended before its first sample.
    pub zero: Option<u64>,
}

impl<'a> BrowserCall<'a> {
    /// Opens the socket that the browser comes to, for a flow of the scenario.
    ///
    /// # Errors
    /// No such flow, one that is not RTP with one stream, whose controller has a half of its own at the receiver, or that
    /// has a link on both ways; or no socket.
    pub fn bind(loaded: &'a Loaded, flow: Option<&str>, role: Role) -> Result<BrowserCall<'a>, NetError> {
        let flow = ChosenFlow::of(loaded, flow)?;
        both_ways(loaded, Some(&flow.spec.name))?;
        check_flow(&flow)?;
        let browser = UdpPort::bind(ANYWHERE)?;
        let (credentials, [ssrc, _]) = (IceCredentials::draw()?, secret()?);
        Ok(BrowserCall { loaded, flow, role, browser, credentials, ssrc: ssrc as u32 })
    }

    /// The address that the browser sends to: the answer's only candidate.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.browser.address()
    }

    /// The answer's ICE credentials.
    pub fn credentials(&self) -> &IceCredentials {
        &self.credentials
    }

    /// SSRC of our media, where we send it.
    pub fn ssrc(&self) -> u32 {
        self.ssrc
    }

    /// Holds the call with the browser whose user name fragment is `ufrag`, for the scenario's duration or until it is stopped.
    ///
    /// # Errors
    /// Packets that cannot be like `agreed`, a browser that does not come or sends no media within 20 s or that answers
    /// none of ours, or a socket that fails.
    pub fn run(self, ufrag: &str, agreed: Agreed, control: &Control<'_>) -> Result<BrowserOutput, NetError> {
        let agreed = agreed.checked()?;
        let inner = UdpPort::bind(ANYWHERE)?;
        let endpoint = self.endpoint(inner.address()?, agreed)?;
        let at = endpoint.address()?;
        let (came, coming) = sync_channel(1);
        let over = Arc::new(AtomicBool::new(false));
        let ice = IceLite::new(&self.credentials, ufrag);
        let gate = BrowserGate::new(self.role, ice, self.browser, (inner, at), came, over.clone())?;
        let limits = Limits { memory: MEMORY, patience: Some(PATIENCE) };
        let carrier = Carrier::new(gate, self.flow.flow, &self.loaded.parts.links, limits)?;
        let over = &*over;
        std::thread::scope(|threads| {
            let end = threads.spawn(move || {
                let ended = or_stop(over, || endpoint.run(&coming, over));
                over.store(true, Ordering::Relaxed);
                ended
            });
            let zero = OnceLock::new();
            let progress = |told: Progress<'_>| {
                if let Progress::Reached(now) = told {
                    zero.get_or_init(|| nanos_since_1970().saturating_sub(now.as_nanos()));
                }
                (control.progress)(told);
            };
            let link = carrier.run(&Control { stop: control.stop, progress: &progress });
            // Else it ends by itself, as the links did.
            if link.is_err() || control.stopped() {
                over.store(true, Ordering::Relaxed);
            }
            let ended = end.join().unwrap_or_else(|panic| resume_unwind(panic));
            let link = link?;
            let endpoint = ended?.ok_or(NetError::NoBrowser { seconds: PATIENCE.as_secs_f64() })?;
            Ok(BrowserOutput { endpoint, link, zero: zero.into_inner() })
        })
    }

    /// Our end, which talks to the relay at `relay`.
    fn endpoint(&self, relay: SocketAddr, packets: Agreed) -> Result<Endpoint<'a>, NetError> {
        let (loaded, flow) = (self.loaded, Some(self.flow.spec.name.clone()));
        Ok(match self.role {
            Role::Send => {
                let ssrc = Some(self.ssrc);
                let options =
                    SendOptions { flow, ssrc, packets, patience: PATIENCE, ..SendOptions::to(relay) };
                Endpoint::Sender(Box::new(Sender::bind(loaded, &options)?))
            }
            Role::Receive => {
                let options = ReceiveOptions { flow, packets, ..ReceiveOptions::on(ANYWHERE) };
                Endpoint::Receiver(Box::new(Receiver::bind(loaded, &options)?))
            }
        })
    }
}

impl Endpoint<'_> {
    fn address(&self) -> Result<SocketAddr, NetError> {
        match self {
            Endpoint::Sender(sender) => sender.address(),
            Endpoint::Receiver(receiver) => receiver.address(),
        }
    }

    /// A sender waits until the browser came; none if it did not.
    fn run(self, coming: &mpsc::Receiver<()>, over: &AtomicBool) -> Result<Option<NetOutput>, NetError> {
        let control = Control { stop: over, progress: &|_| () };
        match self {
            Endpoint::Receiver(receiver) => receiver.run(&control).map(Some),
            // The gate is gone if the browser does not come.
            Endpoint::Sender(sender) => coming.recv().ok().map(|()| sender.run(&control)).transpose(),
        }
    }
}

/// An error if a flow is not one that a browser can have an end of.
fn check_flow(flow: &ChosenFlow<'_>) -> Result<(), NetError> {
    let Over::Rtp(parts) = flow.over else {
        return Err(unsupported(flow, format!("transport {}", flow.spec.transport.name()), "rtp"));
    };
    match parts {
        _ if parts.streams.len() != 1 => Err(unsupported(
            flow,
            format!("{} streams", parts.streams.len()),
            "one for a call with a browser",
        )),
        _ if parts.receiver_half.is_some() => {
            let found = format!("controller {}", flow.spec.controller.params.kind());
            Err(unsupported(
                flow,
                found,
                "one that needs no more of its receiver than reports on packets: a browser",
            ))
        }
        _ => Ok(()),
    }
}

fn unsupported(flow: &ChosenFlow<'_>, found: String, expected: &str) -> NetError {
    NetError::Unsupported { what: format!("flow {} has {found}, expected {expected}", flow.spec.name) }
}

#[cfg(test)]
mod tests;
