//! When reports stay away (RFC 8888 section 5): after a few intervals without one the pace falls by half per interval; after
//! a longer time what is outstanding is given up.

use super::window::Window;
use crate::silence::{FIRST_REPORT, ReportTimes, SHORTEST_INTERVAL, Unclear, times};
use crate::{Acked, TargetChange, TimeoutReason};
use paceline_units::{Bytes, Time, TimeDelta};

/// After a longer silence the path is another one, even if old packets are reported. Each such time halves what is gone back to.
const LATE: TimeDelta = TimeDelta::from_secs(2);

/// After which times reports that stay away are answered.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Report intervals after which the pace falls; 0: nothing is answered.
    pub feedback_patience: f64,
    /// Time after which what is outstanding is given up, at least.
    pub stall_time: TimeDelta,
    /// The same in smoothed round trips.
    pub stall_round_trips: f64,
}

impl Patience {
    /// The span of a stall.
    #[inline]
    fn stall(&self, srtt: TimeDelta) -> TimeDelta {
        self.stall_time.max(times(srtt, self.stall_round_trips))
    }
}

/// The state of before reports stayed away.
#[derive(Clone, Copy, Debug)]
struct Interrupted<K> {
    kept: K,
    /// When contact was lost; absent while the pace alone has fallen.
    lost: Option<Time>,
}

/// The end of a silence.
#[derive(Clone, Copy, Debug)]
pub struct Resumed<K> {
    /// The state of before reports stayed away.
    pub kept: K,
    /// Whether reports were late, and nothing else.
    pub late: bool,
    /// The part of window and rate that is gone back to, beside the answer to a loss event.
    pub part: f64,
}

/// Times of the reports, and what was kept (`K`) of before they stayed away.
#[derive(Clone, Debug)]
pub struct Silence<K> {
    patience: Patience,
    reports: ReportTimes,
    /// By how many halves the pace is lower.
    pub halvings: u32,
    /// When the pace fell last.
    slowed: Time,
    interrupted: Option<Interrupted<K>>,
    unclear: Unclear,
    /// Packets sent before were given up: their round trips say nothing of the path.
    pub given_up_before: Time,
    /// The next timeout, while something is in flight, and whether that is giving it up.
    pub next: (Time, bool),
}

impl<K: Copy> Silence<K> {
    /// Nothing sent and nothing reported.
    pub fn new(patience: Patience) -> Silence<K> {
        Silence {
            patience,
            reports: ReportTimes::new(),
            halvings: 0,
            slowed: Time::ZERO,
            interrupted: None,
            unclear: Unclear::NONE,
            given_up_before: Time::ZERO,
            next: (Time::ZERO + FIRST_REPORT, true),
        }
    }

    /// When the next step is due while so much is in flight, and why: the pace falls, or what is outstanding is given up.
    #[inline]
    pub fn due(&self, in_flight: Bytes) -> Option<(Time, TimeoutReason)> {
        let (due, gives_up) = self.next;
        let reason = if gives_up { TimeoutReason::Stalled } else { TimeoutReason::NoFeedback };
        (in_flight > Bytes::ZERO).then_some((due, reason))
    }

    /// Whether silence is answered.
    #[inline]
    pub fn answers(&self) -> bool {
        self.patience.feedback_patience > 0.0
    }

    /// A packet left. Without patience for reports, sending is what is waited for: what is outstanding is given up so long after the
    /// last packet.
    #[inline]
    pub fn on_sent(&mut self, now: Time) {
        if !self.answers() {
            self.next = (now + self.patience.stall_time, true);
        }
    }

    /// A packet left while nothing else was in flight: its report is waited for from now on.
    #[inline]
    pub fn on_sent_from_rest(&mut self, now: Time, srtt: TimeDelta) {
        if !self.is_contact_lost() {
            self.reports.on_sent_from_rest(now);
        }
        self.plan(srtt);
    }

    /// Whether what was outstanding was given up, and no report came since.
    #[inline]
    pub fn is_contact_lost(&self) -> bool {
        self.interrupted.is_some_and(|before| before.lost.is_some())
    }

    /// Whether reports stayed away and no report ended that.
    #[inline]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.is_some()
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
        self.answers()
            && (self.is_contact_lost() || self.reports.any_report && now > self.reports.expected(srtt))
    }

    /// When the pace falls by half the next time.
    #[inline]
    fn slower_at(&self, srtt: TimeDelta) -> Time {
        if !self.reports.any_report || self.is_contact_lost() {
            Time::MAX
        } else if self.halvings == 0 {
            self.reports.overdue(self.patience.feedback_patience, srtt)
        } else {
            self.slowed + self.interval()
        }
    }

    /// When what is outstanding is given up; not at once after the pace fell, however late that was.
    #[inline]
    fn given_up_at(&self, srtt: TimeDelta) -> Time {
        let since = self.reports.since.max(self.given_up_before);
        if !self.reports.any_report {
            return since + FIRST_REPORT;
        }
        let reports = times(self.interval(), self.patience.feedback_patience);
        let reports = reports + if self.reports.from_rest { srtt } else { TimeDelta::ZERO };
        let due = since + self.patience.stall(srtt).max(reports);
        due.max(self.slowed + SHORTEST_INTERVAL)
    }

    /// Finds what is due next: to be called when a report came and when something was done.
    #[inline]
    pub fn plan(&mut self, srtt: TimeDelta) {
        if self.answers() {
            let (slower, given_up) = (self.slower_at(srtt), self.given_up_at(srtt));
            self.next = (slower.min(given_up), given_up <= slower);
        }
    }

    /// The pace falls.
    pub fn slow_down(&mut self, now: Time) {
        self.halvings = self.halvings.saturating_add(1);
        self.slowed = now;
    }

    /// Keeps what holds as reports stay away. Answers whether it is the first that is done about that.
    pub fn keep(&mut self, kept: K) -> bool {
        let first = self.interrupted.is_none();
        self.interrupted.get_or_insert(Interrupted { kept, lost: None });
        first
    }

    /// Nothing is known any more of what is outstanding.
    pub fn lose_contact(&mut self, now: Time) {
        if let Some(before) = &mut self.interrupted {
            before.lost.get_or_insert(now);
        }
        self.given_up_before = now;
    }

    /// Reports come again, of which the newest tells of a packet that left at `newest`. If contact was not lost, or they tell soon of
    /// what was given up, reports were late. Else the silence counts as a loss event, and as several if it was long.
    pub fn resume(&mut self, now: Time, newest: Option<Time>, srtt: TimeDelta) -> Option<Resumed<K>> {
        let before = self.interrupted.take()?;
        let (late, halves) = match before.lost {
            None => (true, 0),
            Some(lost) => {
                let halves = now.saturating_since(lost).as_nanos() / LATE.as_nanos();
                (halves == 0 && newest.is_some_and(|sent| sent < lost), halves)
            }
        };
        if late {
            self.given_up_before = Time::ZERO;
        }
        // Not so soon again, or a queue would not be seen that makes reports late over and over.
        if now >= self.unclear.until() + LATE {
            self.unclear = Unclear::after(now, self.patience.stall(srtt));
        }
        Some(Resumed { kept: before.kept, late, part: libm::exp2(-(halves as f64)) })
    }
}

/// Window of before reports stayed away, and whether fast increase was on.
pub type Kept = (f64, bool);

impl super::Scream {
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
        self.silence.plan(self.srtt());
        self.set_pacing();
        update.then(self.answer())
    }

    /// When the pace falls first, targets have not yet followed what arrives.
    fn keep_what_held(&mut self) {
        let Window { cwnd, in_fast_increase, .. } = self.window;
        if self.silence.keep((cwnd, in_fast_increase)) {
            for stream in &mut self.streams {
                stream.media.on_silence();
                stream.rates.keep();
            }
        }
    }

    /// Nothing is known of what is outstanding. Window and targets begin anew, and a packet or two are a probe.
    fn lose_contact(&mut self, now: Time) -> TargetChange {
        self.keep_what_held();
        self.silence.lose_contact(now);
        self.forget_flight();
        self.window.restart(&self.params, now, self.mss.as_f64());
        self.streams.iter_mut().for_each(|stream| stream.media.on_contact_lost());
        self.allow_flight();
        TargetChange::Streams(self.all_streams())
    }

    /// Reports come again: window and targets are those of before, or less ([`Silence::resume`]).
    #[cold]
    pub(super) fn resume(&mut self, now: Time, acked: &Acked) {
        let newest = acked.newest.map(|(sent, _)| sent);
        let Some(resumed) = self.silence.resume(now, newest, self.srtt()) else { return };
        let Resumed { kept: (cwnd, in_fast_increase), late, part } = resumed;
        let (window, rate) =
            if late { (1.0, 1.0) } else { (part * self.params.beta_loss, part * self.params.beta_r) };
        self.window.resume(&self.params, window * cwnd, self.mss.as_f64());
        if late {
            self.window.in_fast_increase = in_fast_increase;
        }
        for stream in &mut self.streams {
            stream.media.on_reports_again(rate, late);
            stream.rates.restore(now, rate);
        }
        self.set_pacing();
    }

    /// Forgets what is outstanding.
    pub(super) fn forget_flight(&mut self) {
        self.streams.iter_mut().for_each(|stream| stream.detector.forget());
        self.in_flight = Bytes::ZERO;
    }
}
