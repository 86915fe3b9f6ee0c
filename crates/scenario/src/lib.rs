//! What a scenario says: its schema and defaults, what there is to choose from, and what a run records.
//!
//! Lives between the parts and the drivers: it reads the text of a scenario, builds links and endpoints from it, and turns
//! what happened into time series and a summary. It opens the files that a scenario names, and nothing else.

pub mod build;
mod error;
mod files;
mod histogram;
mod overrides;
mod parameter;
pub mod quantity;
mod reader;
pub mod recorder;
pub mod registry;
mod schema;
pub mod series;
mod spec;
pub mod summary;
#[cfg(test)]
mod tests;
mod typed;
mod write;

pub use build::{Loaded, Origin, load};
pub use error::{Place, ScenarioError, nearest};
pub use files::{FileError, Loader, MAX_FILE};
pub use histogram::Histogram;
pub use overrides::{apply, parse_with};
pub use recorder::{FlowRecorder, LinkRecorder, ReceivedPacket, Window};
pub use schema::parse;
pub use spec::*;
pub use typed::{TypedParameter, TypedValue, quantity};
