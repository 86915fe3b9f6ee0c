//! The simulator: virtual time in whole nanoseconds, packets as small structs, no bytes.
//!
//! The world is a graph of components (senders, links, receivers) joined by edges that hold packets in order of
//! arrival. A component runs alone up to the time to which all its inputs are known; what makes that far is the delay
//! in every feedback cycle. Only a cycle without any delay falls back to single steps. Nothing here decides about
//! congestion: endpoints and links are the same code that runs on real sockets.

mod edge;
mod ends;
mod engine;
mod flow;
mod hop;
mod host;
mod log;
mod net;
mod packet;
mod probe;
mod run;

pub use engine::Pace;
pub use log::{LoggedPacket, MediaLog, MediaUnit};
pub use probe::probe;
pub use run::{Outcome, Simulation};
