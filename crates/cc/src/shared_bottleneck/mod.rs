//! Detection of flows that share a bottleneck by the shape of their one-way delays (RFC 8382).
//!
//! [`DelayStatistics`] summarises the delays of one flow, at the receiver or wherever each packet's delay is known.
//! [`BottleneckGroups`] compares the summaries of several flows and says which of them to couple.

mod groups;
mod params;
mod statistics;
#[cfg(test)]
mod tests;

pub use groups::{BottleneckGroups, group};
pub use params::{Invalid, NoBottleneck, Params, SummaryEnd};
pub use statistics::{DelayStatistics, DelaySummary};
