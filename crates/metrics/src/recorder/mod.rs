//! The events of a run that a driver tells, turned into a summary and time series.
//!
//! Per packet a recorder costs a few additions and histogram buckets; memory grows with recorded samples only. The
//! statistics' window is known from the beginning, so nothing is reset: what lies outside is not counted.

mod coupling;
mod flow;
mod link;
mod measures;
mod pairs;
mod receiver;
mod rows;
mod sender;
mod ticks;
mod transfers;
mod variation;

#[cfg(test)]
mod tests;

pub(crate) use coupling::CouplingRecord;
pub use flow::{FlowConfig, FlowRecorder, ReceivedPacket};
pub use link::LinkRecorder;
pub(crate) use link::LinkSample;
pub(crate) use measures::{per_time, ratio};
pub(crate) use pairs::PairRecord;
pub use pairs::{PairsRecorder, Sharing};
pub(crate) use receiver::ReceiverSample;
pub use rows::{flow_series, link_series};
pub(crate) use sender::SenderSample;
pub use ticks::{Tick, Ticker};
pub(crate) use transfers::TransferRecord;

use paceline_units::{Time, TimeDelta};

/// The times of a run that every recorder of it shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunTimes {
    /// Length of the run.
    pub duration: TimeDelta,
    /// Time at the beginning that is left out of every statistic.
    pub warmup: TimeDelta,
    /// Interval of the time series.
    pub sample: TimeDelta,
}

impl RunTimes {
    /// The window of the statistics of what is there from the beginning to the end.
    pub fn window(&self) -> Window {
        Window::new(self.warmup, self.duration)
    }

    /// When a recorder with statistics over `window` is to look at what it records.
    pub(crate) fn ticker(&self, window: &Window) -> Ticker {
        Ticker::new(self.sample, Time::ZERO + self.duration, window.from, window.until)
    }
}

/// The times [from, until) that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    from: Time,
    until: Time,
    nanos: u64,
}

impl Window {
    /// The window [from, until); empty if `until` is not after `from`.
    pub fn new(from: TimeDelta, until: TimeDelta) -> Window {
        let (from, until) = (Time::ZERO + from, Time::ZERO + until);
        Window { from, until, nanos: until.as_nanos().saturating_sub(from.as_nanos()) }
    }

    /// Whether a flow that is there in this window has a state to be seen at `at`, its first and last moment in.
    fn shows(&self, at: Time) -> bool {
        self.from <= at && at <= self.until
    }

    /// Whether `at` is in it.
    #[inline]
    fn contains(&self, at: Time) -> bool {
        at.as_nanos().wrapping_sub(self.from.as_nanos()) < self.nanos
    }

    /// Things in the order of their times: those before it, in it, and after it.
    fn parts<'a, T>(&self, things: &'a [T], time: fn(&T) -> Time) -> [&'a [T]; 3] {
        let before = |limit: Time| things.partition_point(|thing| time(thing) < limit);
        let from = before(self.from);
        let (to_end, after) = things.split_at(before(self.until).max(from));
        let (before, within) = to_end.split_at(from);
        [before, within, after]
    }

    /// How many nanoseconds of [from, to) lie in it.
    #[inline]
    fn overlap(&self, from: Time, to: Time) -> u64 {
        to.min(self.until).as_nanos().saturating_sub(from.max(self.from).as_nanos())
    }

    /// Whether a sample at the end of an interval at `at` belongs to it.
    fn covers_sample(&self, at: Time) -> bool {
        self.from < at && at <= self.until
    }
}
