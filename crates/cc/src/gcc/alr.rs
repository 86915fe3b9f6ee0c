//! The detector of application-limited regions: a budget that fills at a part of the target and that packets empty.

use super::Params;
use super::rates::times;
use paceline_units::{Bitrate, Bytes, Time};

/// The detector of one flow.
#[derive(Clone, Debug)]
pub(super) struct AppLimited {
    usage: f64,
    start_level: f64,
    stop_level: f64,
    /// Rate at which the budget fills, kbit/s.
    rate: i64,
    /// Bytes left; negative when more was sent than the rate allows.
    budget: i64,
    /// Time of the last packet, ms.
    last: Option<i64>,
    since: Option<Time>,
}

/// The budget holds what the rate fills in so many ms, and owes as much.
const WINDOW: i64 = 500;

impl AppLimited {
    pub(super) fn new(params: &Params) -> AppLimited {
        AppLimited {
            usage: params.alr_usage,
            start_level: params.alr_start_level,
            stop_level: params.alr_stop_level,
            rate: 0,
            budget: 0,
            last: None,
            since: None,
        }
    }

    /// When the present region began, if the application limits the sender.
    pub(super) fn since(&self) -> Option<Time> {
        self.since
    }

    pub(super) fn set_target(&mut self, target: Bitrate) {
        self.rate = (times(self.usage, target).as_bps() / 1000).min(i64::MAX as u64 / 1_000_000) as i64;
        self.budget = self.budget.clamp(-self.most(), self.most());
    }

    pub(super) fn on_sent(&mut self, now: Time, size: Bytes) {
        let millis = ((now.as_nanos() / 1000 + 500) / 1000) as i64;
        let Some(last) = self.last.replace(millis) else { return };
        let used = size.as_u64().min(i64::MAX as u64 / 2) as i64;
        self.budget = (self.budget - used).max(-self.most());
        let filled = self.rate.saturating_mul(millis.saturating_sub(last)) / 8;
        self.budget = self.budget.saturating_add(filled).clamp(-self.most(), self.most());
        let level = if self.rate == 0 { 0.0 } else { self.budget as f64 / self.most() as f64 };
        if level > self.start_level {
            self.since = self.since.or(Some(now));
        } else if level < self.stop_level {
            self.since = None;
        }
    }

    /// Bytes that the budget holds at most.
    fn most(&self) -> i64 {
        self.rate * WINDOW / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A region begins when less than the part is used for some time, and ends when more is; the rates of libwebrtc's unit
    /// tests: at 300 kbit/s 20 % and 100 % in packets of 1000 B.
    #[test]
    fn it_sees_an_application_that_uses_little_and_one_that_uses_all() {
        let mut detector = AppLimited::new(&Params::default());
        detector.set_target(Bitrate::from_kbps(300));
        let mut now = Time::from_nanos(0);
        let mut send = |detector: &mut AppLimited, part: f64, seconds: f64| {
            let gap = Bitrate::from_bps_f64(300e3 * part).time_for(Bytes::new(1000));
            let end = now + paceline_units::TimeDelta::from_secs_f64(seconds);
            while now < end {
                detector.on_sent(now, Bytes::new(1000));
                now += gap;
            }
        };
        send(&mut detector, 0.9, 3.0);
        assert_eq!(detector.since(), None);
        send(&mut detector, 0.2, 2.0);
        assert!(detector.since().is_some());
        send(&mut detector, 1.5, 3.0);
        assert_eq!(detector.since(), None);
    }

    #[test]
    fn a_budget_of_nothing_says_nothing() {
        let mut detector = AppLimited::new(&Params::default());
        (0..100).for_each(|n| detector.on_sent(Time::from_nanos(n * 100_000_000), Bytes::new(100)));
        assert_eq!(detector.since(), None);
    }
}
