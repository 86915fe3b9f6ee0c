//! The content of a scenario: its schema and defaults, and what there is to choose from.
//!
//! Lives between the parts and the drivers: it reads the text of a scenario and builds links, endpoints and recorders from
//! it. It opens the files that a scenario names, and nothing else.

pub mod assembly;
mod error;
mod files;
mod key_path;
mod networks;
mod nothing_arrived;
mod overrides;
mod params;
mod priorities;
mod rate;
mod reader;
mod recording;
pub mod registry;
mod remarks;
mod schema;
mod source;
mod spec;
#[cfg(test)]
mod tests;
pub mod transports;
mod typed;
mod write;

pub use assembly::{Loaded, Origin, load};
pub use error::{Place, ScenarioError};
pub use files::{FileError, Loader, MAX_FILE};
pub use networks::{Given, NETWORKS, Network};
pub use overrides::{apply, parse_with};
pub use paceline_link::trace::{rate_unit, time_unit};
pub use priorities::*;
pub use rate::*;
pub use schema::parse;
pub use source::*;
pub use spec::*;
pub use transports::{Transport, TransportSpec};
pub use typed::{TypedParameter, TypedValue, quantity};
