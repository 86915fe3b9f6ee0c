//! When reports stay away (RFC 8888 section 5: one lost report says nothing, several in a row mean a broken path).
//!
//! Reports are expected as often as they came: the longest gap of the last seconds counts as their interval.

use crate::SentRun;
use paceline_units::{Time, TimeDelta};

/// How long the longest gap between reports is remembered: this long at least, twice as long at most.
const GAPS_SPAN: TimeDelta = TimeDelta::from_secs(5);
/// No receiver is expected to report more often (RFC 8298 section 4.2.2: 20 ms at high rates).
pub(crate) const SHORTEST_INTERVAL: TimeDelta = TimeDelta::from_millis(20);
/// How long the first report is waited for: no round trip is known, and they may take seconds.
pub(crate) const FIRST_REPORT: TimeDelta = TimeDelta::from_secs(3);
/// Time between two halvings while no report has ever come (RFC 8085 section 3.1.1: the first timeout is a second).
const FIRST_INTERVAL: TimeDelta = TimeDelta::from_secs(1);
/// The report interval while reports have come for less than [`GAPS_SPAN`]: RFC 8298 section 4.2.2's longest, 400 ms.
const UNKNOWN_INTERVAL: TimeDelta = TimeDelta::from_millis(400);
/// The report of a packet that left while nothing was in flight may take so many round trips (RFC 8085 section 3.1).
const REST_ROUND_TRIPS: i64 = 4;

/// When reports came, and when the next is expected.
#[derive(Clone, Debug)]
pub(crate) struct ReportTimes {
    /// Since when a report is waited for: the last one, or the first packet after nothing was in flight.
    pub since: Time,
    /// Whether `since` is that of a packet, whose report takes a round trip.
    pub from_rest: bool,
    /// Whether a report ever came.
    pub any_report: bool,
    longest: TimeDelta,
    longest_before: TimeDelta,
    span_end: Time,
}

impl ReportTimes {
    /// Nothing sent and nothing reported.
    pub fn new() -> ReportTimes {
        ReportTimes {
            since: Time::ZERO,
            from_rest: true,
            any_report: false,
            longest: TimeDelta::ZERO,
            longest_before: TimeDelta::ZERO,
            span_end: Time::ZERO,
        }
    }

    /// A packet left while nothing was in flight.
    #[inline]
    pub fn on_sent_from_rest(&mut self, now: Time) {
        (self.since, self.from_rest) = (now, true);
    }

    /// A report came. The time since the last one counts as a gap, of this length at most, if something was in flight.
    #[inline]
    pub fn on_report(&mut self, now: Time, longest: TimeDelta) {
        if now >= self.span_end {
            (self.longest_before, self.longest) = (self.longest, TimeDelta::ZERO);
            self.span_end = now + GAPS_SPAN;
        }
        if self.any_report && !self.from_rest {
            self.on_gap(now.saturating_since(self.since).min(longest));
        }
        (self.since, self.from_rest, self.any_report) = (now, false, true);
    }

    /// The interval at which reports are expected.
    #[inline]
    pub fn interval(&self) -> TimeDelta {
        self.longest.max(self.longest_before).max(SHORTEST_INTERVAL)
    }

    /// When the next report is overdue by nothing: what is later is silence.
    #[inline]
    pub fn expected(&self, srtt: TimeDelta) -> Time {
        self.since + self.interval() + if self.from_rest { srtt } else { TimeDelta::ZERO }
    }

    /// A time without packets or reports that is no silence.
    #[inline]
    fn on_gap(&mut self, gap: TimeDelta) {
        self.longest = self.longest.max(gap);
    }

    /// When `patience` report intervals have passed without a report.
    #[inline]
    pub fn overdue(&self, patience: f64, srtt: TimeDelta) -> Time {
        self.expected(srtt) + times(self.interval(), (patience - 1.0).max(0.0))
    }
}

/// The span after an outage in which packets that left before its end tell nothing of the path: they waited for that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unclear {
    /// When the outage ended.
    resumed: Time,
    until: Time,
}

impl Unclear {
    /// Everything tells of the path.
    pub const NONE: Unclear = Unclear { resumed: Time::ZERO, until: Time::ZERO };

    /// The span that begins with the end of an outage at `now`.
    pub fn after(now: Time, span: TimeDelta) -> Unclear {
        Unclear { resumed: now, until: now + span }
    }

    /// When it ends.
    pub fn until(&self) -> Time {
        self.until
    }

    /// Whether the fate of a packet that left at `sent` tells something of the path.
    #[inline]
    pub fn tells_path(&self, now: Time, sent: Time) -> bool {
        now >= self.until || sent >= self.resumed
    }
}

/// Halvings that are an outage, and not a report or two that were lost.
const OUTAGE: u32 = 3;
/// When reports come again the rate is lower by no more halves than these, before it doubles.
const KEPT_HALVINGS: u32 = 3;
/// How long packets sent before an outage was over may tell nothing of the path, at least.
const UNCLEAR: TimeDelta = TimeDelta::from_millis(500);

/// The answer of a controller that is steered by a rate and whose source says nothing of silence: after a few intervals
/// without a report the rate falls by half, and again in each interval that follows. When reports come again it is a quarter at least,
/// and doubles once a round trip, up to what the controller allows.
///
/// Packets that waited for the end of an outage, and those that left at less than the controller's rate, tell nothing of the path: by
/// them alone delays were long, and little arrived.
#[derive(Clone, Debug)]
pub(crate) struct Silence {
    times: ReportTimes,
    /// Report intervals without a report after which the rate falls; 0: never.
    patience: f64,
    /// By how many halves the rate is lower.
    halvings: u32,
    /// When the rate was halved or doubled last.
    moved: Time,
    /// Whether no report has come since the rate was halved last.
    silent: bool,
    /// Whether what was sent waits for a report.
    waits: bool,
    /// When the newest packet was sent, and when the first report came.
    sent: Time,
    first: Option<Time>,
    /// When the rate falls next.
    due: Option<Time>,
    /// Whether there was an outage since the whole rate was used last.
    outage: bool,
    /// When the first report came after the last silence.
    heard_again: Time,
    /// Begins when the whole rate is used again after an outage.
    unclear: Unclear,
}

impl Silence {
    /// Nothing sent and nothing reported.
    pub fn new(patience: f64) -> Silence {
        Silence {
            times: ReportTimes::new(),
            patience,
            halvings: 0,
            moved: Time::ZERO,
            silent: false,
            waits: false,
            sent: Time::ZERO,
            first: None,
            due: None,
            outage: false,
            heard_again: Time::ZERO,
            unclear: Unclear::NONE,
        }
    }

    /// When a packet was sent last.
    #[inline]
    pub fn sent(&self) -> Time {
        self.sent
    }

    /// Whether there was an outage, and the whole rate is not used again.
    #[inline]
    pub fn is_outage(&self) -> bool {
        self.outage
    }

    /// Whether the fate of a packet that left at `sent` tells something of the path.
    #[inline]
    pub fn tells_path(&self, now: Time, sent: Time) -> bool {
        !self.outage && self.unclear.tells_path(now, sent)
    }

    /// Whether the fate of each packet does.
    #[inline]
    pub fn is_clear(&self, now: Time) -> bool {
        !self.outage && now >= self.unclear.until()
    }

    /// The interval at which reports are expected.
    #[inline]
    pub fn interval(&self) -> TimeDelta {
        self.times.interval()
    }

    /// The part of the controller's rate that may be used.
    #[inline]
    pub fn factor(&self) -> f64 {
        if self.halvings == 0 { 1.0 } else { libm::exp2(-f64::from(self.halvings)) }
    }

    /// Whether less than the controller's rate is used.
    #[inline]
    pub fn is_answered(&self) -> bool {
        self.halvings > 0
    }

    /// When the rate falls, if no report comes until then.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// A packet was sent.
    #[inline]
    pub fn on_sent(&mut self, now: Time, srtt: TimeDelta) {
        let before = core::mem::replace(&mut self.sent, now);
        if !self.waits {
            self.waits = true;
            self.times.on_sent_from_rest(now);
            self.wait(now, srtt);
        } else if !self.silent && before >= self.heard_again {
            // A sender that has become slow is reported as seldom.
            self.times.on_gap(now.saturating_since(before));
        }
    }

    /// Packets were sent one after another: each, but for the first, after the same gap.
    #[inline]
    pub fn on_run(&mut self, run: &SentRun, srtt: TimeDelta) {
        self.on_sent(run.first, srtt);
        if run.count > 1 {
            self.on_sent(run.first + run.gap, srtt);
            self.sent = run.last();
        }
    }

    /// A report came; `in_flight`: packets were sent behind the newest that it tells of. `drained`: what waited for the end of an outage
    /// has arrived, as far as the controller can tell. Answers whether the factor changes.
    #[inline]
    pub fn on_report(&mut self, now: Time, srtt: TimeDelta, in_flight: bool, drained: bool) -> bool {
        if self.silent {
            self.halvings = self.halvings.min(KEPT_HALVINGS);
            self.heard_again = now;
        }
        let first = self.heard_again == now;
        let drained = first || drained || !self.outage || now >= self.heard_again + UNCLEAR;
        let doubles = self.halvings > 0 && now.saturating_since(self.moved) >= srtt && drained;
        self.times.on_report(now, if self.silent { TimeDelta::ZERO } else { TimeDelta::MAX });
        self.first.get_or_insert(now);
        (self.waits, self.silent) = (in_flight, false);
        if doubles {
            self.halvings -= 1;
            self.moved = now;
        }
        if self.outage && self.halvings == 0 {
            self.outage = false;
            self.unclear = Unclear::after(now, UNCLEAR.max(srtt * 2));
        }
        self.wait(now, srtt);
        doubles
    }

    /// Time has passed; `lowest`: the rate is as low as it may be. Answers whether the factor changes.
    #[inline]
    pub fn on_timeout(&mut self, now: Time, lowest: bool) -> bool {
        if self.due.is_none_or(|due| now < due) {
            return false;
        }
        self.halve(now, lowest)
    }

    fn halve(&mut self, now: Time, lowest: bool) -> bool {
        if lowest {
            self.due = None;
            return false;
        }
        self.halvings += 1;
        (self.moved, self.silent) = (now, true);
        self.outage |= self.halvings >= OUTAGE;
        let least = if self.first.is_some() { TimeDelta::ZERO } else { FIRST_INTERVAL };
        self.due = Some(now + self.times.interval().max(least));
        true
    }

    /// The next report is waited for anew.
    #[inline]
    fn wait(&mut self, now: Time, srtt: TimeDelta) {
        self.due = if self.waits && self.patience > 0.0 { Some(self.overdue(now, srtt)) } else { None };
    }

    fn overdue(&self, now: Time, srtt: TimeDelta) -> Time {
        let since = self.times.since;
        let Some(first) = self.first else { return since + FIRST_REPORT };
        let known = now.saturating_since(first) >= GAPS_SPAN;
        let unknown = if known { TimeDelta::ZERO } else { times(UNKNOWN_INTERVAL, self.patience) };
        let from_rest = if self.times.from_rest { srtt * REST_ROUND_TRIPS } else { TimeDelta::ZERO };
        self.times.overdue(self.patience, srtt).max(since + unknown.max(from_rest))
    }
}

/// A span times a factor.
#[inline]
pub(crate) fn times(span: TimeDelta, factor: f64) -> TimeDelta {
    TimeDelta::from_secs_f64(span.as_secs_f64() * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: TimeDelta = TimeDelta::from_millis(100);

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Reports each 40 ms until 6000 ms while packets are sent on.
    fn reported() -> Silence {
        let mut silence = Silence::new(3.0);
        silence.on_sent(at(0), SRTT);
        (1..=150).for_each(|n| assert!(!silence.on_report(at(40 * n), SRTT, true, true)));
        silence
    }

    #[test]
    fn the_rate_halves_after_three_intervals_and_in_each_that_follows() {
        let mut silence = reported();
        for (millis, factor) in [(6120, 0.5), (6160, 0.25), (6200, 0.125)] {
            assert_eq!(silence.due(), Some(at(millis)));
            assert!(!silence.on_timeout(at(millis - 1), false));
            assert!(silence.on_timeout(at(millis), false));
            assert_eq!(silence.factor(), factor);
        }
        assert!(!silence.on_timeout(at(6240), true), "it is as low as it may be");
        assert_eq!((silence.factor(), silence.due()), (0.125, None));
    }

    #[test]
    fn it_doubles_once_a_round_trip_when_reports_come_again() {
        let mut silence = reported();
        (0..3).for_each(|n| assert!(silence.on_timeout(at(6120 + 40 * n), false)));
        let factors = [7000, 7040, 7080, 7100, 7140, 7200].map(|millis| {
            silence.on_report(at(millis), SRTT, true, true);
            silence.factor()
        });
        assert_eq!(factors, [0.25, 0.25, 0.25, 0.5, 0.5, 1.0]);
        assert_eq!(
            silence.due(),
            Some(at(7200 + 3 * 60)),
            "the silence itself counts as no interval of reports"
        );
    }

    #[test]
    fn nothing_is_expected_while_nothing_waits_and_a_packet_from_rest_has_four_round_trips() {
        let mut silence = reported();
        silence.on_report(at(6040), SRTT, false, true);
        assert_eq!(silence.due(), None);
        silence.on_sent(at(8000), SRTT);
        assert_eq!(silence.due(), Some(at(8400)));
    }

    #[test]
    fn a_sender_that_slows_down_is_reported_as_seldom() {
        let mut silence = reported();
        silence.sent = at(5990);
        silence.on_sent(at(6090), SRTT);
        silence.on_report(at(6100), SRTT, true, true);
        assert_eq!(silence.due(), Some(at(6100 + 3 * 100)));
    }

    #[test]
    fn an_interval_is_known_after_seconds_of_reports() {
        let mut silence = Silence::new(3.0);
        silence.on_sent(at(10), TimeDelta::ZERO);
        assert_eq!(silence.due(), Some(at(3010)), "no report ever");
        assert!(silence.on_timeout(at(3010), false));
        assert_eq!(silence.due(), Some(at(4010)));
        silence.on_report(at(3500), SRTT, true, true);
        silence.on_report(at(3540), SRTT, true, true);
        assert_eq!(silence.due(), Some(at(3540 + 1200)), "few reports");
    }

    #[test]
    fn without_patience_nothing_happens() {
        let mut silence = Silence::new(0.0);
        silence.on_sent(at(0), SRTT);
        assert_eq!(silence.due(), None);
        assert!(!silence.on_timeout(at(100_000), false));
    }
}
