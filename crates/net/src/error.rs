//! Errors of the network, for the person at the terminal.

use paceline_units::param::{ParamError, hint};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Why a run on real sockets could not start or go on. Every `source` is what the system says.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields that the messages name")]
pub enum NetError {
    /// An address that cannot be read.
    #[error(
        "address: found \"{found}\", expected HOST:PORT, such as 127.0.0.1:5000, [::1]:5000 or \
         receiver.example.net:5000"
    )]
    Address { found: String },
    /// A host whose address cannot be found.
    #[error("cannot find the host {name}: {source}")]
    Host { name: String, source: io::Error },
    /// Port 0, which nobody listens on, as a target.
    #[error("address: found {address} to send to, expected the port that a receiver or relay listens on")]
    NoPort { address: SocketAddr },
    /// A local address that cannot be listened on.
    #[error("cannot listen on {address}: {}", unusable(source))]
    Bind { address: SocketAddr, source: io::Error },
    /// The scenario has no flow of this name.
    #[error("flow: found \"{found}\", expected one of {}{}", known.join(", "), hint(found, known.iter().map(String::as_str)))]
    NoSuchFlow { found: String, known: Vec<String> },
    /// The scenario has several flows and none was named.
    #[error("flow: found {} flows and none named, expected one of {}", known.len(), known.join(", "))]
    WhichFlow { known: Vec<String> },
    /// The scenario asks for something that real sockets do not offer.
    #[error("over real sockets: {what}")]
    Unsupported { what: String },
    /// The scenario's link cannot be built.
    #[error("link: {0}")]
    Link(#[source] ParamError),
    /// The system allows no network of one's own.
    #[error("cannot {doing}: {source}{}", if denied(source) { "; programs in networks of their own need root, or `unshare --user --map-root-user` before the command, and /dev/net/tun" } else { "" })]
    Network { doing: &'static str, source: io::Error },
    /// A program cannot be started.
    #[error("cannot start the {side} program: unshare of util-linux: {source}: {command}")]
    Program { side: &'static str, command: String, source: io::Error },
    /// A socket fails.
    #[error("cannot {doing}: {source}")]
    Socket { doing: &'static str, source: io::Error },
    /// No feedback came back. `refused` is what the system said of the last packet that it refused to send.
    #[error(
        "nothing answered at {address} within {seconds:.1} s: is a receiver running there?{}",
        refused.as_ref().map_or(String::new(), |refused| format!(" (last packet: {refused})"))
    )]
    NothingAnswered { address: SocketAddr, seconds: f64, refused: Option<String> },
    /// Nobody came to a call, or brought no media.
    #[error("no browser came, or sent no media, within {seconds:.0} s")]
    NoBrowser { seconds: f64 },
    /// The handshake of a connection failed.
    #[error("{said}")]
    NoConnection { said: String },
    /// A capture file cannot be written.
    #[error("capture {}: cannot be written: {source}", path.display())]
    Capture { path: PathBuf, source: io::Error },
    /// A local socket that cannot be listened on.
    #[error("exchange {}: cannot be listened on: {source}", path.display())]
    LocalSocket { path: PathBuf, source: io::Error },
    /// Something else than a socket where an exchange is to listen.
    #[error("exchange {}: found a file that is no socket of an exchange, expected a path that is free", path.display())]
    NoSocket { path: PathBuf },
    /// Another exchange listens already where this one is to.
    #[error("exchange {}: found another exchange that listens there, expected a path that is free", path.display())]
    ExchangeThere { path: PathBuf },
    /// An end of a call on this machine failed, and the others were stopped.
    #[error("the {end} failed, so the others were stopped: {source}")]
    End { end: &'static str, source: Box<NetError> },
    /// An end of a call on this machine broke down by a mistake of this program.
    #[error("the {end} broke down, so the others were stopped; please report this")]
    BrokeDown { end: &'static str },
    /// No packet came within the time given.
    #[error("nothing arrived at {address} within {seconds} s: is a sender running?")]
    NothingArrived { address: SocketAddr, seconds: f64 },
}

fn denied(source: &io::Error) -> bool {
    matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound)
}

fn unusable(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AddrInUse => "another program uses it; try another port, or port 0".into(),
        _ => source.to_string(),
    }
}
