//! `X_recv`: the rate at which data arrived (RFC 5348 section 6.2, step 2).

use alloc::collections::VecDeque;
use paceline_units::{Bytes, Time};

/// Reports that are remembered: more within a round trip do not happen, and are left out.
const MARKS: usize = 32;

/// Bytes that arrived, in all and at the time of the last reports.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveRate {
    bytes: u64,
    /// When the feedback timer expired, and what had arrived by then.
    marks: VecDeque<(Time, u64)>,
}

impl ReceiveRate {
    pub(crate) fn new() -> ReceiveRate {
        ReceiveRate { bytes: 0, marks: VecDeque::with_capacity(MARKS) }
    }

    #[inline]
    pub(crate) fn on_packet(&mut self, size: Bytes) {
        self.bytes = self.bytes.saturating_add(size.as_u64());
    }

    /// Bytes per second since the most recent expiration that was at least `r` seconds ago; over `r` if there is none.
    /// 0 before the first report (section 6.3).
    pub(crate) fn rate(&self, now: Time, r: f64) -> f64 {
        let age = |mark: &(Time, u64)| now.saturating_since(mark.0).as_secs_f64();
        let long_ago = self.marks.iter().rev().find(|mark| age(mark) >= r);
        let Some(mark) = long_ago.or(self.marks.front()) else { return 0.0 };
        let arrived = self.bytes.saturating_sub(mark.1) as f64;
        arrived / age(mark).max(r).max(1e-6)
    }

    /// Begins to measure anew: the feedback timer expired.
    pub(crate) fn expire(&mut self, now: Time, r: f64) {
        let old = |mark: &(Time, u64)| now.saturating_since(mark.0).as_secs_f64() >= r;
        while self.marks.get(1).is_some_and(old) {
            self.marks.pop_front();
        }
        if self.marks.len() < MARKS {
            self.marks.push_back((now, self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn an_early_report_looks_back_a_round_trip_at_least() {
        let mut received = ReceiveRate::new();
        received.on_packet(Bytes::new(1000));
        assert_eq!(received.rate(ms(0), 0.1), 0.0, "the first report");
        received.expire(ms(0), 0.1);
        received.on_packet(Bytes::new(500));
        assert_eq!(received.rate(ms(10), 0.1), 5000.0, "500 B in the last 0.1 s");
        received.on_packet(Bytes::new(1500));
        assert_eq!(received.rate(ms(100), 0.1), 20_000.0);
        received.expire(ms(100), 0.1);
        received.on_packet(Bytes::new(1000));
        assert_eq!(received.rate(ms(150), 0.1), 20_000.0, "3000 B since the report 150 ms ago");
        received.expire(ms(150), 0.1);
        received.on_packet(Bytes::new(1000));
        assert_eq!(received.rate(ms(250), 0.1), 10_000.0, "since the one at 150 ms");
    }

    #[test]
    fn memory_is_bounded() {
        let mut received = ReceiveRate::new();
        (0..1000).for_each(|n| received.expire(ms(n), 10.0));
        assert_eq!(received.marks.len(), MARKS);
        received.expire(ms(60_000), 10.0);
        assert!(received.marks.len() <= MARKS);
    }
}
