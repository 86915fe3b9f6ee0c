//! When reports stay away (RFC 8888 section 5): after a few intervals without one the pace falls by half per interval; after
//! a longer time what is outstanding is given up.

use super::Params;
use crate::silence::{FIRST_REPORT, ReportTimes, SHORTEST_INTERVAL, times};
use crate::{Acked, TargetChange};
use paceline_units::{Bytes, Time, TimeDelta};

/// After a longer silence the path is another one, even if old packets are reported.
const LATE: TimeDelta = TimeDelta::from_secs(2);

/// What is known of the reports' times.
#[derive(Clone, Debug)]
pub struct Silence {
    reports: ReportTimes,
    /// By how many halves the pace is lower.
    pub halvings: u32,
    /// When the pace fell last.
    slowed: Time,
    /// When contact was lost, and the window then; until the next report.
    pub contact_lost: Option<(Time, f64)>,
    /// Packets sent before were given up: their round trips say nothing of the path.
    pub given_up_before: Time,
    /// What is due next, while something is in flight, and whether that is giving it up.
    pub next: (Time, bool),
}

impl Silence {
    /// Nothing sent and nothing reported.
    pub fn new() -> Silence {
        Silence {
            reports: ReportTimes::new(),
            halvings: 0,
            slowed: Time::ZERO,
            contact_lost: None,
            given_up_before: Time::ZERO,
            next: (Time::ZERO + FIRST_REPORT, true),
        }
    }

    /// A packet left. Without patience for reports, sending is what is waited for: what is outstanding is given up so long after the
    /// last packet.
    #[inline]
    pub fn on_sent(&mut self, params: &Params, now: Time) {
        if params.feedback_patience == 0.0 {
            self.next = (now + params.stall_time, true);
        }
    }

    /// A packet left while nothing was in flight.
    #[inline]
    fn on_sent_from_rest(&mut self, now: Time) {
        if self.contact_lost.is_none() {
            self.reports.on_sent_from_rest(now);
        }
    }

    /// A report came. Answers whether the pace changes by that.
    #[inline]
    pub fn on_report(&mut self, now: Time) -> bool {
        self.reports.on_report(now, self.contact_lost.is_none());
        core::mem::take(&mut self.halvings) > 0
    }

    /// The interval at which reports are expected.
    #[inline]
    pub fn interval(&self) -> TimeDelta {
        self.reports.interval()
    }

    /// Whether a report should have come, while something is in flight.
    #[inline]
    pub fn is_overdue(&self, now: Time, srtt: TimeDelta) -> bool {
        self.contact_lost.is_some() || self.reports.any_report && now > self.reports.expected(srtt)
    }

    /// When the pace falls by half the next time.
    #[inline]
    fn slower_at(&self, params: &Params, srtt: TimeDelta) -> Time {
        if !self.reports.any_report || self.contact_lost.is_some() {
            Time::MAX
        } else if self.halvings == 0 {
            self.reports.overdue(params.feedback_patience, srtt)
        } else {
            self.slowed + self.interval()
        }
    }

    /// When what is outstanding is given up; not at once after the pace fell, however late that was.
    #[inline]
    fn given_up_at(&self, params: &Params, srtt: TimeDelta) -> Time {
        let since = self.reports.since.max(self.given_up_before);
        if !self.reports.any_report {
            return since + FIRST_REPORT;
        }
        let reports = times(self.interval(), params.feedback_patience);
        let reports = reports + if self.reports.from_rest { srtt } else { TimeDelta::ZERO };
        let due = since + params.stall_time.max(times(srtt, params.stall_round_trips)).max(reports);
        due.max(self.slowed + SHORTEST_INTERVAL)
    }

    /// Finds what is due next: to be called when a report came, when something is sent from rest and when something was done.
    #[inline]
    fn plan(&mut self, params: &Params, srtt: TimeDelta) {
        let (slower, given_up) = (self.slower_at(params, srtt), self.given_up_at(params, srtt));
        self.next = (slower.min(given_up), given_up <= slower);
    }

    /// The pace falls.
    fn slow_down(&mut self, now: Time) {
        self.halvings = self.halvings.saturating_add(1);
        self.slowed = now;
    }
}

impl super::Scream {
    /// A packet left while nothing else was in flight: its report is waited for from now on.
    #[inline]
    pub(super) fn wait_for_report(&mut self, now: Time) {
        self.silence.on_sent_from_rest(now);
        self.plan_silence();
    }

    /// Finds when a report that stays away is answered.
    #[inline]
    pub(super) fn plan_silence(&mut self) {
        if self.params.feedback_patience > 0.0 {
            let srtt = self.srtt();
            self.silence.plan(&self.params, srtt);
        }
    }

    /// A report is overdue: the pace falls, or what is outstanding is given up.
    #[cold]
    pub(super) fn on_silence(&mut self, now: Time) -> crate::Update {
        let mut update = crate::Update::none();
        if self.silence.next.1 {
            update.target = self.lose_contact(now);
        } else {
            self.silence.slow_down(now);
        }
        self.plan_silence();
        self.set_pacing();
        update.then(self.answer())
    }

    /// Nothing is known of what is outstanding. Window and targets begin anew, and a packet or two are a probe.
    fn lose_contact(&mut self, now: Time) -> TargetChange {
        let first = self.silence.contact_lost.is_none();
        if first {
            self.silence.contact_lost = Some((now, self.window.cwnd));
        }
        self.silence.given_up_before = now;
        self.forget_flight();
        self.window.restart(&self.params, now, self.mss.as_f64());
        self.streams.iter_mut().for_each(|stream| stream.media.on_contact_lost(first));
        self.allow_flight();
        TargetChange::Streams(self.all_streams())
    }

    /// Reports come again. If they tell soon of what was given up, it was late and not lost: window and targets are those
    /// of before.
    #[cold]
    pub(super) fn regain_contact(&mut self, now: Time, acked: &Acked) {
        let Some((lost_at, cwnd)) = self.silence.contact_lost.take() else { return };
        let was_late = acked.newest.is_some_and(|(sent, _)| sent < lost_at);
        if was_late && now.saturating_since(lost_at) < LATE {
            self.window.assign(&self.params, cwnd, self.mss.as_f64());
            self.streams.iter_mut().for_each(|stream| stream.media.on_contact_regained());
            self.silence.given_up_before = Time::ZERO;
        }
        self.set_pacing();
    }

    /// Forgets what is outstanding.
    pub(super) fn forget_flight(&mut self) {
        self.streams.iter_mut().for_each(|stream| stream.detector.forget());
        self.in_flight = Bytes::ZERO;
    }
}
