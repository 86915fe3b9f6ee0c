//! Packets that leave while the window is closed, so that arrivals tell of the link again (the paper, 3.2).

use super::Params;
use paceline_units::{Time, TimeDelta};

/// Packets that leave at even intervals before the wait doubles.
const EVEN: u32 = 4;
/// No wait is longer.
const LONGEST: TimeDelta = TimeDelta::from_secs(4);

/// When the next packet may leave, whatever the window.
#[derive(Clone, Debug)]
pub(super) struct Heartbeat {
    interval: TimeDelta,
    doublings: u32,
    /// When a packet may leave if nothing is sent or reported before.
    pub(super) due: Option<Time>,
    /// Whether one may leave now.
    pub(super) is_due: bool,
}

impl Heartbeat {
    pub(super) fn new(params: &Params) -> Heartbeat {
        Heartbeat { interval: params.heartbeat, doublings: 0, due: None, is_due: false }
    }

    /// Not earlier than the report of the packet before could come.
    fn plan(&mut self, now: Time, srtt: TimeDelta) {
        let interval = self.interval.max(srtt) * (1i64 << self.doublings.saturating_sub(EVEN).min(8));
        (self.due, self.is_due) = (Some(now + interval.min(LONGEST.max(srtt))), false);
    }

    pub(super) fn on_sent(&mut self, now: Time, srtt: TimeDelta) {
        self.doublings += u32::from(self.is_due);
        self.plan(now, srtt);
    }

    pub(super) fn on_report(&mut self, now: Time, srtt: TimeDelta) {
        self.doublings = 0;
        self.plan(now, srtt);
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        if self.due.is_some_and(|due| now >= due) {
            (self.due, self.is_due) = (None, true);
        }
    }
}
