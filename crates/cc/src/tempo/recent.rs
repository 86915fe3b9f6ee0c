//! The largest of late: gaps between what comes again and again, and rates.

use paceline_units::{Time, TimeDelta};

/// Pauses are no gap.
const LONGEST_GAP: TimeDelta = TimeDelta::from_secs(1);
/// The longest gap is that of the present span of this length and the one before.
const GAPS_SPAN: TimeDelta = TimeDelta::from_secs(2);

/// The largest value of the present span of time and the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peak {
    span: TimeDelta,
    present: f64,
    before: f64,
    /// When the present span began; none before the first value.
    since: Option<Time>,
}

impl Peak {
    /// Nothing was noted, in spans of this length.
    pub(super) const fn new(span: TimeDelta) -> Peak {
        Peak { span, present: 0.0, before: 0.0, since: None }
    }

    #[inline]
    pub(super) fn note(&mut self, now: Time, value: f64) {
        if now.saturating_since(*self.since.get_or_insert(now)) >= self.span {
            (self.before, self.present, self.since) = (self.present, 0.0, Some(now));
        }
        self.present = self.present.max(value);
    }

    /// The largest value; 0 if there is none.
    #[inline]
    pub(super) fn most(&self) -> f64 {
        self.present.max(self.before)
    }
}

/// The longest gap of late between frames, or between reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    last: Option<Time>,
    longest: Peak,
}

impl Gaps {
    /// No frame or report came.
    pub(super) const NONE: Gaps = Gaps { last: None, longest: Peak::new(GAPS_SPAN) };

    /// A frame or a report came.
    #[inline]
    pub(super) fn note(&mut self, now: Time) {
        let gap = self.last.replace(now).map(|last| now.saturating_since(last));
        let gap = gap.filter(|&gap| gap < LONGEST_GAP);
        self.longest.note(now, gap.map_or(0.0, TimeDelta::as_secs_f64));
    }

    /// The longest gap in seconds; 0 if there is none.
    #[inline]
    pub(super) fn longest(&self) -> f64 {
        self.longest.most()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_longest_gap_is_forgotten_after_two_spans_and_a_pause_is_none() {
        let mut gaps = Gaps::NONE;
        [0, 200, 240, 3000, 3040].into_iter().for_each(|millis| gaps.note(at(millis)));
        assert_eq!(gaps.longest(), 0.2, "the pause of 2.76 s does not count");
        (1..=60).for_each(|n| gaps.note(at(3040 + 40 * n)));
        assert_eq!(gaps.longest(), 0.04);
    }
}
