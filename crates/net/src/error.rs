//! What can go wrong on the network, for the person at the terminal.

use paceline_link::LinkError;
use paceline_scenario::nearest;
use paceline_transport::dccp::{Ended, FLOW_PORTS};
use paceline_wire::dccp::{ResetCode, ServiceCode};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a run on real sockets could not start or go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum NetError {
    /// An address that cannot be read.
    Address {
        /// What was given.
        found: String,
    },
    /// A host whose address cannot be found.
    Host {
        /// Its name.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// Port 0, which nobody listens on, as a target.
    NoPort {
        /// The address.
        address: SocketAddr,
    },
    /// A local address that cannot be listened on.
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The scenario has no flow of this name.
    NoSuchFlow {
        /// The name.
        found: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// The scenario has several flows and none was named.
    WhichFlow {
        /// Those there are.
        known: Vec<String>,
    },
    /// The scenario asks for something that real sockets do not offer.
    Unsupported {
        /// What.
        what: String,
    },
    /// The scenario's link cannot be built.
    Link(LinkError),
    /// A socket fails.
    Socket {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// No report came back.
    NothingAnswered {
        /// Where packets were sent.
        address: SocketAddr,
        /// How long, in seconds.
        seconds: f64,
        /// What the system said of the last packet that it refused to send.
        refused: Option<String>,
    },
    /// The handshake of a DCCP connection ended in a reset.
    NoConnection {
        /// Where the receiver is.
        address: SocketAddr,
        /// How it ended.
        ended: Ended,
        /// The service that was asked for.
        service: ServiceCode,
    },
    /// A capture file cannot be written.
    Capture {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// No packet came within the time given.
    NothingArrived {
        /// Where it was waited.
        address: SocketAddr,
        /// How long, in seconds.
        seconds: f64,
    },
}

impl fmt::Display for NetError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetError::Address { found } => {
                let expected = "HOST:PORT, such as 127.0.0.1:5000, [::1]:5000 or receiver.example.net:5000";
                write!(out, "address: found \"{found}\", expected {expected}")
            }
            NetError::Host { name, source } => write!(out, "cannot find the host {name}: {source}"),
            NetError::NoPort { address } => {
                write!(
                    out,
                    "address: found {address} to send to, expected the port that a receiver or relay listens on"
                )
            }
            NetError::Bind { address, source } if source.kind() == io::ErrorKind::AddrInUse => {
                write!(
                    out,
                    "cannot listen on {address}: another program uses it; try another port, or port 0"
                )
            }
            NetError::Bind { address, source } => write!(out, "cannot listen on {address}: {source}"),
            NetError::NoSuchFlow { found, known } => {
                write!(out, "flow: found \"{found}\", expected one of {}", known.join(", "))?;
                match nearest(found, known.iter().map(String::as_str)) {
                    Some(name) => write!(out, "; did you mean {name}?"),
                    None => Ok(()),
                }
            }
            NetError::WhichFlow { known } => {
                write!(
                    out,
                    "flow: found {} flows and none named, expected one of {}",
                    known.len(),
                    known.join(", ")
                )
            }
            NetError::Unsupported { what } => write!(out, "over real sockets: {what}"),
            NetError::Link(error) => write!(out, "link: {error}"),
            NetError::Socket { doing, source } => write!(out, "cannot {doing}: {source}"),
            NetError::NothingAnswered { address, seconds, refused } => {
                write!(
                    out,
                    "nothing answered at {address} within {seconds:.1} s: is a receiver running there?"
                )?;
                refused.as_ref().map_or(Ok(()), |refused| write!(out, " (last packet: {refused})"))
            }
            NetError::NoConnection { address, ended, service } => {
                no_connection(out, *address, *ended, *service)
            }
            NetError::Capture { path, source } => {
                write!(out, "capture {}: cannot be written: {source}", path.display())
            }
            NetError::NothingArrived { address, seconds } => {
                write!(out, "nothing arrived at {address} within {seconds} s: is a sender running?")
            }
        }
    }
}

/// What a reset in a handshake means to who wanted the connection.
fn no_connection(
    out: &mut fmt::Formatter<'_>,
    address: SocketAddr,
    ended: Ended,
    service: ServiceCode,
) -> fmt::Result {
    let reason = ended.reason;
    match reason.code {
        ResetCode::BAD_SERVICE_CODE => write!(
            out,
            "{address} does not offer the service {service} ({reason}): both ends need the same dccp.service"
        ),
        ResetCode::TOO_BUSY => {
            write!(out, "{address} has a sender already ({reason}): it takes one at a time")
        }
        ResetCode::CONNECTION_REFUSED => {
            write!(out, "nobody at {address} listens on DCCP port {} ({reason})", FLOW_PORTS.destination)
        }
        ResetCode::OPTION_ERROR | ResetCode::MANDATORY_ERROR => write!(
            out,
            "no agreement with {address} ({reason}): both ends need the same controller and dccp settings"
        ),
        _ if ended.by_peer => write!(out, "{address} refused the connection: {reason}"),
        _ => write!(out, "the connection to {address} failed before it began: {reason}"),
    }
}

impl std::error::Error for NetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            NetError::Bind { source, .. }
            | NetError::Socket { source, .. }
            | NetError::Capture { source, .. }
            | NetError::Host { source, .. } => Some(source),
            NetError::Link(error) => Some(error),
            _ => None,
        }
    }
}
