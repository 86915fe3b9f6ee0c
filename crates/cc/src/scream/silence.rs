//! When reports stay away (RFC 8888 section 5: one lost report says nothing, several in a row mean a broken path).
//!
//! Reports are expected as often as they came: the longest gap of the last seconds counts as their interval. After a few
//! intervals without one the pace falls by half per interval; after a longer time what is outstanding is given up.

use super::Params;
use crate::{Acked, TargetChange};
use paceline_units::{Bytes, Time, TimeDelta};

/// How long the longest gap between reports is remembered: this long at least, twice as long at most.
const GAPS_SPAN: TimeDelta = TimeDelta::from_secs(5);
/// No receiver is expected to report more often (RFC 8298 section 4.2.2: 20 ms at high rates).
const SHORTEST_INTERVAL: TimeDelta = TimeDelta::from_millis(20);
/// How long the first report is waited for: no round trip is known, and they may take seconds.
const FIRST_REPORT: TimeDelta = TimeDelta::from_secs(3);

/// After a longer silence the path is another one, even if old packets are reported.
const LATE: TimeDelta = TimeDelta::from_secs(2);

/// What is known of the reports' times.
#[derive(Clone, Debug)]
pub struct Silence {
    /// Since when a report is waited for: the last one, or the first packet after nothing was in flight.
    since: Time,
    /// Whether `since` is that of a packet, whose report takes a round trip.
    from_rest: bool,
    any_report: bool,
    longest: TimeDelta,
    longest_before: TimeDelta,
    span_end: Time,
    /// By how many halves the pace is lower.
    pub halvings: u32,
    /// How often what was outstanding was given up since the last report.
    pub given_up: u32,
    last_given_up: Time,
    /// When the pace fell last.
    slowed: Time,
}

impl Silence {
    /// Nothing sent and nothing reported.
    pub fn new() -> Silence {
        Silence {
            since: Time::ZERO,
            from_rest: true,
            any_report: false,
            longest: TimeDelta::ZERO,
            longest_before: TimeDelta::ZERO,
            span_end: Time::ZERO,
            halvings: 0,
            given_up: 0,
            last_given_up: Time::ZERO,
            slowed: Time::ZERO,
        }
    }

    /// A packet left while nothing was in flight.
    #[inline]
    pub fn on_sent_from_rest(&mut self, now: Time) {
        if self.given_up == 0 {
            (self.since, self.from_rest) = (now, true);
        }
    }

    /// A report came. Answers whether the pace changes by that.
    #[inline]
    pub fn on_report(&mut self, now: Time) -> bool {
        if now >= self.span_end {
            (self.longest_before, self.longest) = (self.longest, TimeDelta::ZERO);
            self.span_end = now + GAPS_SPAN;
        }
        if self.any_report && !self.from_rest && self.given_up == 0 {
            self.longest = self.longest.max(now.saturating_since(self.since));
        }
        (self.since, self.from_rest, self.any_report) = (now, false, true);
        let was_slow = self.halvings > 0;
        (self.halvings, self.given_up) = (0, 0);
        was_slow
    }

    /// The interval at which reports are expected.
    #[inline]
    pub fn interval(&self) -> TimeDelta {
        self.longest.max(self.longest_before).max(SHORTEST_INTERVAL)
    }

    /// When the next report is overdue by nothing: what is later is silence.
    fn expected(&self, srtt: TimeDelta) -> Time {
        self.since + self.interval() + if self.from_rest { srtt } else { TimeDelta::ZERO }
    }

    /// Whether a report should have come, while something is in flight.
    #[inline]
    pub fn is_overdue(&self, now: Time, srtt: TimeDelta) -> bool {
        self.given_up > 0 || self.any_report && now > self.expected(srtt)
    }

    /// When the pace falls by half the next time.
    #[inline]
    pub fn slower_at(&self, params: &Params, srtt: TimeDelta) -> Time {
        if !self.any_report || self.given_up > 0 {
            return Time::MAX;
        }
        let patience = self.interval().as_secs_f64() * (params.feedback_patience - 1.0).max(0.0);
        let first = self.expected(srtt) + TimeDelta::from_secs_f64(patience);
        if self.halvings == 0 { first } else { self.slowed + self.interval() }
    }

    /// When what is outstanding is given up; not at once after the pace fell, however late that was.
    #[inline]
    pub fn given_up_at(&self, params: &Params, srtt: TimeDelta) -> Time {
        if !self.any_report {
            return self.since.max(self.last_given_up) + FIRST_REPORT;
        }
        let round_trips = TimeDelta::from_secs_f64(srtt.as_secs_f64() * params.stall_round_trips);
        let reports = TimeDelta::from_secs_f64(self.interval().as_secs_f64() * params.feedback_patience);
        let reports = reports + if self.from_rest { srtt } else { TimeDelta::ZERO };
        let due = self.since.max(self.last_given_up) + params.stall_time.max(round_trips).max(reports);
        due.max(self.slowed + SHORTEST_INTERVAL)
    }

    /// What is due next, and whether that is giving up.
    #[inline]
    pub fn next(&self, params: &Params, srtt: TimeDelta) -> (Time, bool) {
        let (slower, given_up) = (self.slower_at(params, srtt), self.given_up_at(params, srtt));
        (slower.min(given_up), given_up <= slower)
    }

    /// The pace falls.
    pub fn slow_down(&mut self, now: Time) {
        self.halvings = self.halvings.saturating_add(1);
        self.slowed = now;
    }

    /// What was outstanding is given up.
    pub fn give_up(&mut self, now: Time) {
        self.given_up += 1;
        self.last_given_up = now;
    }
}

impl super::Scream {
    /// A report is overdue: the pace falls, or what is outstanding is given up.
    #[cold]
    pub(super) fn on_silence(&mut self, now: Time) -> crate::Update {
        let srtt = self.round_trip.smoothed().unwrap_or(TimeDelta::ZERO);
        let mut update = crate::Update::none();
        match self.silence.next(&self.params, srtt) {
            (_, true) => update.target = self.lose_contact(now),
            (_, false) => self.silence.slow_down(now),
        }
        self.set_pacing();
        update.then(self.answer())
    }

    /// Nothing is known of what is outstanding. Window and targets begin anew, and a packet or two are a probe.
    fn lose_contact(&mut self, now: Time) -> TargetChange {
        let first = self.contact_lost.is_none();
        if first {
            self.contact_lost = Some((now, self.window.cwnd));
        }
        self.forget_flight();
        self.silence.give_up(now);
        self.given_up_before = now;
        self.window.restart(&self.params, now, self.mss.as_f64());
        self.streams.iter_mut().for_each(|stream| stream.media.on_contact_lost(first));
        self.allow_flight();
        TargetChange::Streams(self.all_streams())
    }

    /// Reports come again. If they tell soon of what was given up, it was late and not lost: window and targets are those
    /// of before.
    #[cold]
    pub(super) fn regain_contact(&mut self, now: Time, acked: &Acked) {
        let Some((lost_at, cwnd)) = self.contact_lost.take() else { return };
        let was_late = acked.newest.is_some_and(|(sent, _)| sent < lost_at);
        if was_late && now.saturating_since(lost_at) < LATE {
            self.window.assign(&self.params, cwnd, self.mss.as_f64());
            self.streams.iter_mut().for_each(|stream| stream.media.on_contact_regained());
            self.given_up_before = Time::ZERO;
        }
        self.set_pacing();
    }

    /// Forgets what is outstanding.
    pub(super) fn forget_flight(&mut self) {
        self.streams.iter_mut().for_each(|stream| stream.detector.forget());
        self.in_flight = Bytes::ZERO;
    }
}
