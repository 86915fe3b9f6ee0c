//! DCCP's congestion controls by their identifiers (CCIDs), and what they speak of that no other controller knows.

pub mod ccid2;
pub mod ccid3;
mod quiescence;
mod report;

pub use quiescence::{RTT_UNKNOWN, quiescent_after};
pub use report::{
    AckPathReport, CcidReceiver, CcidReport, DropCode, DroppedPacket, LossInterval, LossIntervals,
    LossIntervalsReport,
};
