//! The simulator: virtual time in whole nanoseconds, packets as small structs, no bytes.
//!
//! The world is a graph of components (senders, links, receivers) joined by edges that hold packets in order of
//! arrival. A component runs alone up to the time to which all its inputs are known; what makes that far is the delay
//! in every feedback cycle. Where delays are short or most components idle, those go on one by one that have something to
//! do. Nothing here decides about congestion: endpoints and links are the same code that runs on real sockets.

mod any_flow;
mod capture;
mod crowd;
mod edge;
mod engine;
mod flow;
mod graph;
mod hop;
mod host;
mod log;
mod net;
mod packet;
mod probe;
mod run;
mod schedule;
mod team;
mod transports;
mod watch;

pub use capture::CapturePlace;
pub use engine::Pace;
pub use log::{LoggedPacket, MediaLog, MediaUnit};
pub use probe::{CrossTraffic, probe, probe_beside};
pub use run::{Outcome, Simulation};

/// How this was compiled: the build to work with, or one for wheels and benches, with or without a profile of runs. All give the
/// same bits.
pub const BUILD: &str = if cfg!(debug_assertions) {
    "working build, with assertions"
} else if cfg!(profile_guided) {
    "release build, profile-guided"
} else {
    "release build, without a profile"
};
