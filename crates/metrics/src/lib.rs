//! The measurement of a run: recorders that the drivers tell what happens, and the summary and time series that come of it.
//!
//! Lives below the drivers and beside the scenario: it knows no scenario, no clock and no file. A recorder looks at the ends
//! of a transport through their traits, and at a link through its counters.

#[macro_use]
mod figure;
mod histogram;
mod page;
mod recorder;
mod series;
mod summary;
mod table;
mod version;

pub use figure::{Aggregate, Facts, Figure};
pub use histogram::Histogram;
pub use page::{figures_json, page};
pub use recorder::{
    FlowConfig, FlowRecorder, LinkRecorder, PairsRecorder, ReceivedPacket, RunTimes, Sharing, Tick, Ticker,
    Window, flow_series, link_series,
};
pub use series::{Column, ColumnData, FloatColumn, TextColumn, TimeSeries};
pub use table::{
    AboveMinimum, CouplingSummary, Distribution, EcnSummary, Fairness, FlowSummary, FrameCounts,
    FrameDelayMeans, LinkSummary, NetCounters, PairSummary, QueuePackets, Summary, TABLES, TransferSummary,
    VideoSummary,
};
pub use version::{set_version, version};
