//! DCCP (RFC 4340), sans I/O: datagrams under congestion control, with connections, negotiation and acknowledgements.
//!
//! Data flows both ways. Congestion control is the controllers' ([`Ccids`] makes them); handshake, numbers, features,
//! Ack Vectors and timers are here. `CONFORMANCE.md` says where each rule of the RFCs is and what tests it, `DEVIATIONS.md`
//! what differs.
//!
//! - [`Connection`]: one end, client or server.
//! - [`Host`]: many connections on one address, listening ports, cookies; answers what belongs to none.
//! - [`paceline_wire::dccp::Packet`]: what both exchange.

mod acknowledge;
mod ccids;
mod config;
mod connection;
mod cookie;
mod feature;
mod flow;
mod host;
mod limit;
mod mtu;
mod negotiation;
mod received;
mod sent;
mod siphash;

pub use ccids::{CCID_2, CCID_3, Ccid, Ccids};
pub use config::DccpConfig;
pub use connection::{Connection, DccpCounters, Ended, Event, SendError, State};
pub use feature::{FeatureId, Rule, SEQUENCE_WINDOW_MAX, SEQUENCE_WINDOW_MIN, reconcile};
pub use flow::{Carried, DccpReceiver, DccpSender, FLOW_PORTS, open_pair};
pub use host::{FlowId, Host, HostConfig, ListenError};
pub use mtu::TooBig;
pub use negotiation::{FeatureChange, Location, NegotiationState};
