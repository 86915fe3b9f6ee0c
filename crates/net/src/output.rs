//! The results of a run over real sockets: those of a simulated one, and counts of the sockets.

pub use paceline_metrics::NetCounters;
use paceline_metrics::{Summary, TimeSeries};

/// Figures and time series of one end, as that end knows them; what it does not know is absent.
#[derive(Clone, PartialEq, Debug)]
pub struct NetOutput {
    /// The figures of `summary.json`.
    pub summary: Summary,
    /// Time series of the flow.
    pub flows: TimeSeries,
    /// The table of links; without rows but at a relay.
    pub links: TimeSeries,
    /// Counts of the datagrams that the sockets saw.
    pub counters: NetCounters,
    /// Oddities that were no reason to stop.
    pub warnings: Vec<String>,
}
