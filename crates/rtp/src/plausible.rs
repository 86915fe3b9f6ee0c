//! The plausibility of times in a receiver's reports, judged by cause and effect.
//!
//! A packet arrives after it was sent, and a report comes after it was written. Let the receiver's clock be ahead of the sender's
//! by c. Then `arrived - sent >= c` for each packet, and `written - now <= c` for each report. So every report that is believed
//! bounds c from both sides. A report that contradicts the bounds has impossible times. Since clocks run apart, the bounds widen
//! with time, by [`DRIFT`].
//!
//! A report of impossible times still tells arrivals, losses and marks, and the time from each arrival to the report's writing.
//! Only its clock is corrected: its way here is taken to have lasted as long as the shortest way seen before.
//!
//! A receiver whose clock was set, or that started again, contradicts the old bounds for ever. Its new clock is believed once two
//! of its reports agree on new bounds and no report has kept to the old ones for [`SILENCE`]. Its times are then moved so that the
//! shortest way of a report lasts as long as before. No controller sees the step, apart from an error as large as the extra wait
//! of the reports in between.

use paceline_cc::{PacketResult, Status};
use paceline_units::{Time, TimeDelta};

/// Two clocks run apart by one part in this many at most: 0.2 %, ten times the error of an oscillator.
const DRIFT: i64 = 500;
/// Error of a time beside its clock's step: how exactly drivers on a busy machine stamp what they send and
/// receive.
const DOUBT: TimeDelta = TimeDelta::from_millis(10);
/// Interval at which the bounds give way: by 0.1 ms each time.
const RENEWAL: TimeDelta = TimeDelta::from_millis(50);
/// A clock of which nothing has come for so long gives way to another: a clock that is set costs a second of its own times.
const SILENCE: TimeDelta = TimeDelta::from_secs(1);

/// No arrival's time is known: longer than any way.
const UNTOLD: TimeDelta = TimeDelta::MAX;

/// By how much the receiver's clock is ahead of the sender's: not less than `least`, not more than `most`, at `at`.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    least: TimeDelta,
    most: TimeDelta,
    at: Time,
}

/// The times of a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    now: Time,
    /// From its coming to its writing, by the two clocks.
    written: TimeDelta,
    /// From the sending of the newest packet that it says to have arrived to its writing.
    newest: TimeDelta,
    /// The shortest time from sending to arrival; [`UNTOLD`] if it tells no arrival's time.
    shortest: TimeDelta,
}

impl Bounds {
    /// The bounds that a report sets by itself.
    fn of(told: &Told) -> Bounds {
        let soonest = if told.shortest == UNTOLD { told.newest } else { told.shortest };
        let most = soonest.max(told.written);
        Bounds { least: told.written, most, at: told.now }
    }

    /// The bounds at a later time.
    fn later(&self, now: Time) -> Bounds {
        let drift = now.saturating_since(self.at) / DRIFT;
        Bounds { least: self.least - drift, most: self.most + drift, at: self.at.max(now) }
    }

    /// Whether a report can be of this clock, but for `doubt`.
    fn admit(&self, told: &Told, doubt: TimeDelta) -> bool {
        told.written <= self.most + doubt && told.newest + doubt >= self.least
    }

    /// Whether a report keeps to the bounds and tightens neither.
    #[inline]
    fn tells_nothing(&self, told: &Told, doubt: TimeDelta) -> bool {
        told.written <= self.least && told.newest + doubt >= self.least && told.shortest >= self.most
    }

    /// The bounds once a report is believed, of which no packet arrived sooner than it can have.
    fn tightened(&self, told: &Told, shortest: TimeDelta) -> Bounds {
        let least = self.least.max(told.written).min(self.most);
        let most = self.most.min(shortest).max(least);
        Bounds { least, most, at: self.at }
    }
}

/// A clock that contradicts the one that is believed.
#[derive(Clone, Copy, Debug)]
struct OtherClock {
    bounds: Bounds,
    /// By how much it is ahead of the other, if one of its reports was on its way no longer than the shortest before.
    step: TimeDelta,
    /// Whether a second report keeps to its bounds.
    confirmed: bool,
}

/// Tells times that can be from those that cannot.
#[derive(Clone, Debug)]
pub(super) struct PlausibleTimes {
    doubt: TimeDelta,
    bounds: Option<Bounds>,
    /// Until when a report within the bounds leaves them as they are.
    renewed: Time,
    /// When a report was believed last.
    believed: Time,
    /// The clock of the last report that was not believed.
    other: Option<OtherClock>,
    /// The lead that is taken off the receiver's times.
    ahead: TimeDelta,
}

impl PlausibleTimes {
    /// Of a receiver whose clock has this step; nothing is known of it yet.
    pub(super) fn new(clock_step: TimeDelta) -> PlausibleTimes {
        let doubt = DOUBT + clock_step;
        let (renewed, believed) = (Time::ZERO, Time::ZERO);
        PlausibleTimes { doubt, bounds: None, renewed, believed, other: None, ahead: TimeDelta::ZERO }
    }

    /// The receiver's clock at `now`, as far as is known.
    pub(super) fn receiver_time(&self, now: Time) -> Option<Time> {
        self.bounds.map(|bounds| now + bounds.later(now).most)
    }

    /// A report came at `now` that was written at `written` by the receiver's clock and says this of packets. Puts right or makes
    /// unknown the arrival times that cannot be, and answers how many, where those of a report that cannot be count as one.
    #[inline]
    pub(super) fn judge(&mut self, now: Time, written: Time, results: &mut [PacketResult]) -> u64 {
        match told(now, written, results) {
            Some(told) if !self.expects(&told) => self.weigh(told, results),
            _ => 0,
        }
    }

    /// As [`PlausibleTimes::judge`] of a report on one packet. The times of a report, where that is to be weighed.
    #[inline]
    pub(super) fn doubts(&mut self, now: Time, written: Time, result: &PacketResult) -> Option<Told> {
        let mut arrivals = Arrivals::default();
        arrivals.take(result);
        arrivals.told(now, written).filter(|told| !self.expects(told))
    }

    /// Whether a report says nothing new of the clock, which then is believed.
    #[inline]
    fn expects(&mut self, told: &Told) -> bool {
        let known = self.bounds.is_some_and(|bounds| bounds.tells_nothing(told, self.doubt));
        let expected = told.now < self.renewed && known;
        if expected {
            (self.believed, self.other) = (told.now, None);
        }
        expected
    }

    /// A report that says something new of the clock. As [`PlausibleTimes::judge`].
    #[inline(never)]
    pub(super) fn weigh(&mut self, told: Told, results: &mut [PacketResult]) -> u64 {
        let (now, told) = (told.now, &told);
        let known = self.bounds.unwrap_or_else(|| Bounds::of(told));
        let mut bounds = known.later(now);
        if !bounds.admit(told, self.doubt) {
            let other = self.other_clock(&known, told);
            if now.saturating_since(self.believed) < SILENCE || !other.confirmed {
                let least = bounds.least - self.doubt;
                self.other = Some(other);
                return 1 + self.correct(told, other.step, least, results).1;
            }
            self.ahead += other.step;
            bounds = other.bounds;
        }
        (self.believed, self.other) = (now, None);
        let least = bounds.least - self.doubt;
        let (mut shortest, mut impossible) = (told.shortest, 0);
        if told.shortest < least || self.ahead != TimeDelta::ZERO {
            (shortest, impossible) = self.correct(told, TimeDelta::ZERO, least, results);
        }
        self.bounds = Some(bounds.tightened(told, shortest));
        // Arrivals that have to be moved are moved with each report.
        self.renewed = if self.ahead == TimeDelta::ZERO { now + RENEWAL } else { Time::ZERO };
        impossible
    }

    /// The clock of a report that contradicts the one that is known.
    #[cold]
    fn other_clock(&self, known: &Bounds, told: &Told) -> OtherClock {
        let step = told.written - known.least;
        let new = OtherClock { bounds: Bounds::of(told), step, confirmed: false };
        self.other.map_or(new, |other| {
            let bounds = other.bounds.later(told.now);
            if !bounds.admit(told, self.doubt) {
                return new;
            }
            let bounds = bounds.tightened(told, told.shortest);
            OtherClock { bounds, step: step.max(other.step), confirmed: true }
        })
    }

    /// Moves arrivals to the clock that came first, once they are moved by `step` to the one that is believed. Arrivals that then are
    /// before `least` after their sending cannot be, nor can arrivals after the writing of their report. Answers the shortest time from
    /// sending to arrival of the others, and how many cannot be.
    #[cold]
    fn correct(
        &self,
        told: &Told,
        step: TimeDelta,
        least: TimeDelta,
        results: &mut [PacketResult],
    ) -> (TimeDelta, u64) {
        let (mut shortest, mut impossible) = (UNTOLD, 0);
        for result in results {
            let Status::Received { arrived: Some(at), ecn } = result.status else { continue };
            let took = at - result.sent - step;
            let arrived = if took < least || at - told.now > told.written {
                impossible += 1;
                None
            } else {
                shortest = shortest.min(took);
                Some(at - step - self.ahead)
            };
            result.status = Status::Received { arrived, ecn };
        }
        (shortest, impossible)
    }
}

/// The times of a report; none if no packet of it arrived.
#[inline]
fn told(now: Time, written: Time, results: &[PacketResult]) -> Option<Told> {
    let mut arrivals = Arrivals::default();
    for result in results {
        arrivals.take(result);
    }
    arrivals.told(now, written)
}

/// The times of the packets that arrived.
struct Arrivals {
    /// When the newest was sent.
    newest: Time,
    /// The shortest time from sending to arrival.
    shortest: TimeDelta,
    any: bool,
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        Arrivals { newest: Time::ZERO, shortest: UNTOLD, any: false }
    }
}

impl Arrivals {
    /// A packet that a report tells of.
    #[inline(always)]
    fn take(&mut self, result: &PacketResult) {
        let Status::Received { arrived, .. } = result.status else { return };
        (self.newest, self.any) = (self.newest.max(result.sent), true);
        if let Some(arrived) = arrived {
            self.shortest = self.shortest.min(arrived.wrapping_since(result.sent));
        }
    }

    /// The times of a report on these arrivals.
    #[inline]
    fn told(self, now: Time, written: Time) -> Option<Told> {
        let (since_now, newest) = (written.wrapping_since(now), written.wrapping_since(self.newest));
        self.any.then_some(Told { now, written: since_now, newest, shortest: self.shortest })
    }
}

#[cfg(test)]
#[path = "plausible_tests.rs"]
mod tests;
