//! Freezes of the display, as webrtc-stats counts them.

use paceline_units::{Time, TimeDelta};

/// Gaps that make the mean (webrtc-stats: the last 30 rendered frames).
const GAPS: usize = 30;
/// Gaps to have seen before a freeze can be told (libwebrtc, from memory).
const LEAST_GAPS: usize = 5;
/// webrtc-stats, `freezeCount`.
const LEAST_INCREASE: TimeDelta = TimeDelta::from_millis(150);
const LEAST_FACTOR: i64 = 3;

/// Tells a freeze from a pause between frames.
#[derive(Clone, Debug, Default)]
pub(super) struct FreezeDetector {
    last: Option<Time>,
    gaps: [TimeDelta; GAPS],
    count: usize,
    oldest: usize,
    sum: TimeDelta,
}

impl FreezeDetector {
    /// A frame is displayed; answers the gap before it if that was a freeze.
    pub(super) fn on_display(&mut self, now: Time) -> Option<TimeDelta> {
        let gap = now.saturating_since(self.last.replace(now)?);
        let freeze = self.is_freeze(gap).then_some(gap);
        self.sum += gap - self.gaps[self.oldest];
        self.gaps[self.oldest] = gap;
        self.oldest = (self.oldest + 1) % GAPS;
        self.count = (self.count + 1).min(GAPS);
        freeze
    }

    fn is_freeze(&self, gap: TimeDelta) -> bool {
        if self.count < LEAST_GAPS {
            return false;
        }
        let mean = self.sum / self.count as i64;
        gap >= (mean * LEAST_FACTOR).max(mean + LEAST_INCREASE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freeze_after(interval_ms: u64, gap_ms: u64) -> Option<TimeDelta> {
        let mut detector = FreezeDetector::default();
        let mut now = 0;
        for _ in 0..40 {
            assert_eq!(detector.on_display(Time::from_nanos(now)), None);
            now += interval_ms * 1_000_000;
        }
        now += (gap_ms - interval_ms) * 1_000_000;
        detector.on_display(Time::from_nanos(now))
    }

    #[test]
    fn the_threshold_is_the_larger_of_both() {
        // 20 ms: mean + 150 ms counts; 100 ms: three times the mean.
        for (interval, threshold) in [(20, 170), (100, 300)] {
            assert_eq!(freeze_after(interval, threshold - 1), None);
            assert_eq!(freeze_after(interval, threshold), Some(TimeDelta::from_millis(threshold as i64)));
        }
    }

    #[test]
    fn a_start_is_no_freeze() {
        let mut detector = FreezeDetector::default();
        assert_eq!(detector.on_display(Time::ZERO), None);
        assert_eq!(detector.on_display(Time::from_nanos(u64::MAX)), None);
    }
}
