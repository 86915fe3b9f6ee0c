//! Limits in rate on what unknown peers can make an endpoint send (RFC 4340 sections 7.5.4 and 8.1.3).

use paceline_units::{Time, TimeDelta};

/// A limit of events per second of the driver's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateLimit {
    per_second: u32,
    since: Option<Time>,
    count: u32,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32) -> RateLimit {
        RateLimit { per_second, since: None, count: 0 }
    }

    /// Whether one more may go now; counts it, in `limited` too if it may not.
    pub(crate) fn allows(&mut self, now: Time, limited: &mut u64) -> bool {
        if self.since.is_none_or(|since| now.saturating_since(since) >= TimeDelta::from_secs(1)) {
            (self.since, self.count) = (Some(now), 0);
        }
        self.count += 1;
        let allowed = self.count <= self.per_second;
        *limited += u64::from(!allowed);
        allowed
    }
}
