//! When reports stay away (RFC 8888 section 5): after a few intervals without one the pace falls by half per interval; after
//! a longer time what is outstanding is given up.

use super::{Params, window::Window};
use crate::silence::{FIRST_REPORT, ReportTimes, SHORTEST_INTERVAL, Unclear, times};
use crate::{Acked, TargetChange};
use paceline_units::{Bytes, Time, TimeDelta};

/// After a longer silence the path is another one, even if old packets are reported. Each such time halves what is gone back to.
const LATE: TimeDelta = TimeDelta::from_secs(2);

/// Window and target of before reports stayed away.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted {
    /// The window.
    cwnd: f64,
    in_fast_increase: bool,
    /// When contact was lost; absent while the pace alone has fallen.
    lost: Option<Time>,
}

/// Times of the reports.
#[derive(Clone, Debug)]
pub struct Silence {
    reports: ReportTimes,
    /// By how many halves the pace is lower.
    pub halvings: u32,
    /// When the pace fell last.
    slowed: Time,
    /// Window and target of before reports stayed away, until the next one.
    pub interrupted: Option<Interrupted>,
    unclear: Unclear,
    /// Packets sent before were given up: their round trips say nothing of the path.
    pub given_up_before: Time,
    /// The next timeout, while something is in flight, and whether that is giving it up.
    pub next: (Time, bool),
}

impl Silence {
    /// Nothing sent and nothing reported.
    pub fn new() -> Silence {
        Silence {
            reports: ReportTimes::new(),
            halvings: 0,
            slowed: Time::ZERO,
            interrupted: None,
            unclear: Unclear::NONE,
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
        if !self.is_contact_lost() {
            self.reports.on_sent_from_rest(now);
        }
    }

    /// Whether what was outstanding was given up, and no report came since.
    pub fn is_contact_lost(&self) -> bool {
        self.interrupted.is_some_and(|before| before.lost.is_some())
    }

    /// Whether the delay of a packet that left at `sent` is that of the path and its queue.
    #[inline]
    pub fn tells_path(&self, now: Time, sent: Time) -> bool {
        self.unclear.tells_path(now, sent)
    }

    /// A report came. Answers whether the pace changes by that.
    #[inline]
    pub fn on_report(&mut self, now: Time) -> bool {
        let was_slow = core::mem::take(&mut self.halvings) > 0;
        // A gap that was answered may have been an outage, or be the interval of a receiver that reports less often now.
        let longest = match (self.is_contact_lost(), was_slow) {
            (true, _) => TimeDelta::ZERO,
            (false, true) => self.interval() * 2,
            (false, false) => TimeDelta::MAX,
        };
        self.reports.on_report(now, longest);
        was_slow
    }

    /// The interval at which reports are expected.
    #[inline]
    pub fn interval(&self) -> TimeDelta {
        self.reports.interval()
    }

    /// Whether a report should have come, while something is in flight.
    #[inline]
    pub fn is_overdue(&self, now: Time, srtt: TimeDelta) -> bool {
        self.is_contact_lost() || self.reports.any_report && now > self.reports.expected(srtt)
    }

    /// When the pace falls by half the next time.
    #[inline]
    fn slower_at(&self, params: &Params, srtt: TimeDelta) -> Time {
        if !self.reports.any_report || self.is_contact_lost() {
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
            self.keep_what_held();
            self.silence.slow_down(now);
        }
        self.plan_silence();
        self.set_pacing();
        update.then(self.answer())
    }

    /// When the pace falls first, targets have not yet followed what arrives.
    fn keep_what_held(&mut self) {
        if self.silence.interrupted.is_none() {
            let Window { cwnd, in_fast_increase, .. } = self.window;
            self.silence.interrupted = Some(Interrupted { cwnd, in_fast_increase, lost: None });
            for stream in &mut self.streams {
                stream.media.on_silence();
                stream.rates.keep();
            }
        }
    }

    /// Nothing is known of what is outstanding. Window and targets begin anew, and a packet or two are a probe.
    fn lose_contact(&mut self, now: Time) -> TargetChange {
        self.keep_what_held();
        if let Some(before) = &mut self.silence.interrupted {
            before.lost.get_or_insert(now);
        }
        self.silence.given_up_before = now;
        self.forget_flight();
        self.window.restart(&self.params, now, self.mss.as_f64());
        self.streams.iter_mut().for_each(|stream| stream.media.on_contact_lost());
        self.allow_flight();
        TargetChange::Streams(self.all_streams())
    }

    /// Reports come again. If contact was not lost, or they tell soon of what was given up, reports were late: window and targets are
    /// those of before. Else the silence counts as a loss event, and as several if it was long.
    #[cold]
    pub(super) fn resume(&mut self, now: Time, acked: &Acked) {
        let Some(before) = self.silence.interrupted.take() else { return };
        let (late, halves) = match before.lost {
            None => (true, 0),
            Some(lost) => {
                let halves = now.saturating_since(lost).as_nanos() / LATE.as_nanos();
                (halves == 0 && acked.newest.is_some_and(|(sent, _)| sent < lost), halves)
            }
        };
        let part = libm::exp2(-(halves as f64));
        let (window, rate) =
            if late { (1.0, 1.0) } else { (part * self.params.beta_loss, part * self.params.beta_r) };
        self.window.resume(&self.params, window * before.cwnd, self.mss.as_f64());
        if late {
            self.window.in_fast_increase = before.in_fast_increase;
            self.silence.given_up_before = Time::ZERO;
        }
        for stream in &mut self.streams {
            stream.media.on_reports_again(rate, late);
            stream.rates.restore(now, rate);
        }
        // Not so soon again, or a queue would not be seen that makes reports late over and over.
        if now >= self.silence.unclear.until() + LATE {
            let span = self.params.stall_time.max(times(self.srtt(), self.params.stall_round_trips));
            self.silence.unclear = Unclear::after(now, span);
        }
        self.set_pacing();
    }

    /// Forgets what is outstanding.
    pub(super) fn forget_flight(&mut self) {
        self.streams.iter_mut().for_each(|stream| stream.detector.forget());
        self.in_flight = Bytes::ZERO;
    }
}
