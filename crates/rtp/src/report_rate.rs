//! How often RFC 8298 section 4.2.2 wants reports: the more, the higher the rate of the media.

use paceline_units::{Bytes, Time, TimeDelta};

/// Over how long the media's rate is measured.
const WINDOW: TimeDelta = TimeDelta::from_secs(1);
/// The rate of reports is at least this, per second.
const FEWEST: f64 = 2.5;
/// And at most this.
const MOST: f64 = 50.0;
/// Bits of media for each report between the two.
const BITS_PER_REPORT: f64 = 10_000.0;

/// `fb_int` of the media that arrives.
#[derive(Clone, Debug)]
pub(super) struct ReportRate {
    since: Option<Time>,
    bytes: Bytes,
    last_report: Option<Time>,
    /// `fb_int`: that of [`MOST`] until a rate is measured.
    interval: TimeDelta,
}

impl ReportRate {
    pub(super) fn new() -> ReportRate {
        let interval = TimeDelta::from_secs_f64(1.0 / MOST);
        ReportRate { since: None, bytes: Bytes::ZERO, last_report: None, interval }
    }

    /// Counts what arrived, headers in.
    pub(super) fn on_packet(&mut self, now: Time, size: Bytes) {
        let since = *self.since.get_or_insert(now);
        let elapsed = now.saturating_since(since);
        if elapsed >= WINDOW {
            let rate = self.bytes.as_bits_f64() / elapsed.as_secs_f64();
            self.interval = TimeDelta::from_secs_f64(1.0 / (rate / BITS_PER_REPORT).clamp(FEWEST, MOST));
            (self.since, self.bytes) = (Some(now), Bytes::ZERO);
        }
        self.bytes += size;
    }

    /// When to report on what arrived at `now`: an interval after the last report.
    pub(super) fn due(&self, now: Time) -> Time {
        self.last_report.map_or(now, |last| last + self.interval).max(now)
    }

    pub(super) fn on_report(&mut self, now: Time) {
        self.last_report = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of `size` bytes each 10 ms, reported as soon as it is due: the mean interval of the reports from 3 s on.
    fn mean_interval_ms(size: u64) -> f64 {
        let (mut rate, mut due, mut reports) = (ReportRate::new(), None, 0u32);
        for n in 0..1300u64 {
            let now = Time::from_nanos(n * 10_000_000);
            rate.on_packet(now, Bytes::new(size));
            if *due.get_or_insert(rate.due(now)) <= now {
                rate.on_report(now);
                reports += u32::from(n >= 300);
                due = None;
            }
        }
        10_000.0 / f64::from(reports)
    }

    #[test]
    fn reports_come_20_to_400_ms_apart_by_the_rate_of_the_media() {
        // 10 Mbit/s, 100 kbit/s and 8 kbit/s; between, 1/(100,000/10,000) s.
        for (size, expected) in [(12_500, 20.0), (125, 100.0), (10, 400.0)] {
            let found = mean_interval_ms(size);
            assert!((found - expected).abs() < 0.06 * expected, "{size} B: {found} ms");
        }
    }
}
