//! A rate process laid out for the server: pieces, a period, failures; a cursor that only moves forward.
//!
//! Work and capacity are counted in bit·ns/s: a rate of R bit/s serves R of them in a nanosecond, a byte costs 8e9.

use alloc::vec::Vec;
use paceline_units::{Bitrate, Time, TimeDelta};

/// The end of what never ends, and the time of what never happens.
pub(crate) const NEVER: u64 = u64::MAX;

/// A piecewise-constant rate with failures. Times are nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Start and rate of each piece; the first starts at 0.
    pieces: Vec<(u64, u64)>,
    /// Work served before each piece.
    before: Vec<u128>,
    /// After this the pieces start over; `NEVER` if they do not.
    period: u64,
    /// Work of one period.
    period_work: u128,
    /// Failures, sorted and disjoint.
    down: Vec<(u64, u64)>,
    /// Work lost to all earlier failures, for each failure.
    lost_before: Vec<u128>,
}

/// A stretch of time with one rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// Units of work per nanosecond, which is bit/s.
    pub(crate) rate: u64,
    /// Where it ends, `NEVER` if it does not.
    pub(crate) end: u64,
}

impl Schedule {
    /// `pieces` (start, rate) in order, the first at 0; `repeat` is the period.
    pub(crate) fn new(pieces: Vec<(u64, u64)>, repeat: Option<u64>, down: &[(Time, Time)]) -> Schedule {
        let period = repeat.unwrap_or(NEVER);
        let mut before = Vec::with_capacity(pieces.len());
        let mut work = 0u128;
        for (index, &(start, rate)) in pieces.iter().enumerate() {
            before.push(work);
            let end = pieces.get(index + 1).map_or(period, |next| next.0);
            work += u128::from(rate) * u128::from(end - start);
        }
        let mut schedule = Schedule {
            pieces,
            before,
            period,
            period_work: work,
            down: merged(down),
            lost_before: Vec::with_capacity(down.len()),
        };
        let mut lost = 0;
        for &(from, to) in &schedule.down {
            schedule.lost_before.push(lost);
            lost += schedule.undisturbed_work(to) - schedule.undisturbed_work(from);
        }
        schedule
    }

    /// The rate at `time`, failures included.
    pub(crate) fn rate_at(&self, time: Time) -> Bitrate {
        let time = time.as_nanos();
        let next = self.down.partition_point(|&(from, _)| from <= time);
        if next > 0 && time < self.down[next - 1].1 {
            return Bitrate::ZERO;
        }
        Bitrate::from_bps(self.pieces[self.piece_at(time % self.period)].1)
    }

    /// Work that could be done in [from, to), in bits.
    pub(crate) fn capacity_bits(&self, from: Time, to: Time) -> f64 {
        let work = self.work_until(to.as_nanos()).saturating_sub(self.work_until(from.as_nanos()));
        work as f64 / 1e9
    }

    /// Work that could be done until `time`.
    pub(crate) fn work_until(&self, time: u64) -> u128 {
        let next = self.down.partition_point(|&(from, _)| from < time);
        let lost = match next.checked_sub(1) {
            None => 0,
            Some(last) => {
                let (from, to) = self.down[last];
                self.lost_before[last] + self.undisturbed_work(time.min(to)) - self.undisturbed_work(from)
            }
        };
        self.undisturbed_work(time) - lost
    }

    /// Work from 0 to `time` as if nothing failed.
    fn undisturbed_work(&self, time: u64) -> u128 {
        let (periods, inside) = (time / self.period, time % self.period);
        let index = self.piece_at(inside);
        let (start, rate) = self.pieces[index];
        u128::from(periods) * self.period_work
            + self.before[index]
            + u128::from(rate) * u128::from(inside - start)
    }

    /// Index of the piece that holds at `inside`, within a period.
    fn piece_at(&self, inside: u64) -> usize {
        self.pieces.partition_point(|&(start, _)| start <= inside).saturating_sub(1)
    }
}

fn merged(down: &[(Time, Time)]) -> Vec<(u64, u64)> {
    let mut sorted: Vec<(u64, u64)> =
        down.iter().map(|&(from, to)| (from.as_nanos(), to.as_nanos())).collect();
    sorted.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(sorted.len());
    for (from, to) in sorted {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// A place in a schedule that moves forward only: O(1) amortised.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    schedule: Schedule,
    /// Start of the present period.
    base: u64,
    index: usize,
    /// The first failure that is not over.
    down: usize,
}

/// How many pieces a cursor walks before it searches.
const WALK: usize = 8;

impl Cursor {
    pub(crate) fn new(schedule: Schedule) -> Cursor {
        Cursor { schedule, base: 0, index: 0, down: 0 }
    }

    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The stretch that holds from `time` on; `time` must not run backwards.
    pub(crate) fn seek(&mut self, time: u64) -> Stretch {
        let mut walked = 0;
        while self.piece_end() <= time && time != NEVER {
            if walked == WALK {
                self.jump(time);
                break;
            }
            self.step();
            walked += 1;
        }
        while self.schedule.down.get(self.down).is_some_and(|&(_, to)| to <= time) {
            self.down += 1;
        }
        let (rate, end) = (self.schedule.pieces[self.index].1, self.piece_end());
        match self.schedule.down.get(self.down) {
            Some(&(from, to)) if from <= time => Stretch { rate: 0, end: to },
            Some(&(from, _)) => Stretch { rate, end: end.min(from) },
            None => Stretch { rate, end },
        }
    }

    /// Skips whole periods that serve at most `work`, as far as nothing fails; answers how long they last and what they
    /// served. Keeps a packet that lasts many periods from walking each of them.
    pub(crate) fn skip_periods(&mut self, work: u64) -> (u64, u64) {
        let schedule = &self.schedule;
        if schedule.period == NEVER || u128::from(work) <= schedule.period_work {
            return (0, 0);
        }
        // More than one period of work is left, so the work of a period fits 64 bits; it is not 0 (validated).
        let per_period = schedule.period_work as u64;
        // The cursor stands before the end of its piece, which is thus to be before the failure too.
        let undisturbed = schedule
            .down
            .get(self.down)
            .map_or(u64::MAX, |&(from, _)| from.saturating_sub(self.piece_end()) / schedule.period);
        let periods = ((work - 1) / per_period).min(undisturbed);
        let span = periods.saturating_mul(schedule.period);
        self.base = self.base.saturating_add(span);
        (span, periods * per_period)
    }

    fn piece_end(&self) -> u64 {
        let end = self.schedule.pieces.get(self.index + 1).map_or(self.schedule.period, |next| next.0);
        self.base.saturating_add(end)
    }

    fn step(&mut self) {
        self.index += 1;
        if self.index == self.schedule.pieces.len() {
            self.index = 0;
            self.base = self.base.saturating_add(self.schedule.period);
        }
    }

    fn jump(&mut self, time: u64) {
        let inside = time % self.schedule.period;
        self.base = time - inside;
        self.index = self.schedule.piece_at(inside);
    }
}

/// The pieces of a recording that is played from `offset` on, with the start and the value of each, and the period after which
/// they start over.
pub(crate) fn played<V: Copy>(
    segments: impl Iterator<Item = (TimeDelta, V)>,
    length: u64,
    offset: TimeDelta,
    repeat: bool,
) -> (Vec<(u64, V)>, Option<u64>) {
    let offset = nanos(offset) % length;
    let mut pieces = Vec::with_capacity(segments.size_hint().0 + 1);
    let (mut before, mut start) = (Vec::new(), 0);
    for (duration, value) in segments {
        let end = start + nanos(duration);
        if start < offset {
            // Played at the end of each period.
            before.push((start + length - offset, value));
        }
        if end > offset {
            pieces.push((start.saturating_sub(offset), value));
        }
        start = end;
    }
    if repeat {
        pieces.append(&mut before);
    }
    (pieces, repeat.then_some(length))
}

/// A span in nanoseconds; one below 0 counts as 0.
#[inline]
pub(crate) fn nanos(span: TimeDelta) -> u64 {
    span.as_nanos().max(0) as u64
}

/// Nanoseconds as a span.
#[inline]
pub(crate) fn span(nanos: u64) -> TimeDelta {
    TimeDelta::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
