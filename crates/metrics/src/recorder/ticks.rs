//! When a driver looks at what it drives: samples of the time series, begin and end of the statistics.

use paceline_units::{Time, TimeDelta};

/// The event that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tick {
    /// The statistics begin.
    Begin(Time),
    /// A sample at this time.
    Sample(Time),
    /// The statistics end.
    End(Time),
}

impl Tick {
    /// Time at which the tick is due.
    #[inline]
    pub fn at(self) -> Time {
        match self {
            Tick::Begin(at) | Tick::Sample(at) | Tick::End(at) => at,
        }
    }

    /// Everything before this has happened when it is done: a sample covers what happens at its time, the statistics
    /// begin and end before it.
    #[inline]
    pub fn covers(self) -> Time {
        match self {
            Tick::Begin(at) | Tick::End(at) => at,
            Tick::Sample(at) => at + TimeDelta::from_nanos(1),
        }
    }
}

/// The ticks of a run, in order of time.
#[derive(Clone, Debug)]
pub struct Ticker {
    sample: TimeDelta,
    next_sample: Time,
    last_sample: Time,
    begin: Option<Time>,
    end: Option<Time>,
}

impl Ticker {
    /// Samples every `sample` up to and including `duration`; statistics over [begin, end).
    pub(crate) fn new(sample: TimeDelta, duration: Time, begin: Time, end: Time) -> Ticker {
        Ticker {
            sample,
            next_sample: Time::ZERO + sample,
            last_sample: duration,
            begin: Some(begin),
            end: Some(end.min(duration)),
        }
    }

    /// When the next tick is due; none if all are done.
    pub fn next(&self) -> Option<Time> {
        self.pending().map(|tick| tick.at())
    }

    /// The next tick that is due at `now`.
    pub fn due(&mut self, now: Time) -> Option<Tick> {
        let tick = self.pending().filter(|tick| tick.at() <= now)?;
        self.pass(tick);
        Some(tick)
    }

    /// The next tick that covers nothing at or after `until`.
    #[inline]
    pub fn before(&self, until: Time) -> Option<Tick> {
        self.pending().filter(|tick| tick.covers() <= until)
    }

    /// The pending tick is done.
    pub fn pass(&mut self, tick: Tick) {
        match tick {
            Tick::Begin(_) => self.begin = None,
            Tick::Sample(_) => self.next_sample += self.sample,
            Tick::End(_) => self.end = None,
        }
    }

    /// The next tick. At equal times statistics begin and end before the sample.
    #[inline]
    pub fn pending(&self) -> Option<Tick> {
        let sample = Some(self.next_sample).filter(|at| *at <= self.last_sample);
        let ticks = [self.begin.map(Tick::Begin), self.end.map(Tick::End), sample.map(Tick::Sample)];
        ticks.into_iter().flatten().min_by_key(|tick| tick.at())
    }

    /// The end of the statistics, if it has not been due: a run that is stopped ends now.
    pub fn cut(&mut self) -> bool {
        self.end.take().is_some()
    }
}

#[cfg(test)]
mod tests;
