//! When a component stops to be looked at: samples of the time series, begin and end of the statistics.

use paceline_units::{Time, TimeDelta};

/// What is due at a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A sample at this time; it covers every event up to and including it.
    Sample(Time),
    /// Statistics begin at this time, which is in.
    Begin(Time),
    /// Statistics end at this time, which is out.
    End(Time),
}

/// The marks of one component, in order of time.
#[derive(Clone, Debug)]
pub struct Marks {
    sample: TimeDelta,
    next_sample: Time,
    last_sample: Time,
    begin: Option<Time>,
    end: Option<Time>,
}

const TICK: TimeDelta = TimeDelta::from_nanos(1);

impl Marks {
    /// Samples every `sample` up to and including `duration`, statistics over [begin, end).
    pub fn new(sample: TimeDelta, duration: Time, begin: Time, end: Time) -> Marks {
        Marks {
            sample,
            next_sample: Time::ZERO + sample,
            last_sample: duration,
            begin: Some(begin),
            end: Some(end),
        }
    }

    /// The next mark, and the time before which all must have happened.
    #[inline]
    pub fn next(&self) -> (Time, Option<Mark>) {
        let sample_due = self.next_sample <= self.last_sample;
        let mut next = if sample_due {
            (self.next_sample + TICK, Some(Mark::Sample(self.next_sample)))
        } else {
            (Time::MAX, None)
        };
        if let Some(end) = self.end.filter(|end| *end < next.0) {
            next = (end, Some(Mark::End(end)));
        }
        if let Some(begin) = self.begin.filter(|begin| *begin <= next.0) {
            next = (begin, Some(Mark::Begin(begin)));
        }
        next
    }

    /// The next mark is done.
    pub fn pass(&mut self, mark: Mark) {
        match mark {
            Mark::Sample(_) => self.next_sample += self.sample,
            Mark::Begin(_) => self.begin = None,
            Mark::End(_) => self.end = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_in_order_and_samples_include_their_time() {
        let at = Time::from_nanos;
        let mut marks = Marks::new(TimeDelta::from_nanos(10), at(30), at(10), at(30));
        let mut seen = Vec::new();
        while let (before, Some(mark)) = marks.next() {
            seen.push((before.as_nanos(), mark));
            marks.pass(mark);
        }
        let expected = [
            (10, Mark::Begin(at(10))),
            (11, Mark::Sample(at(10))),
            (21, Mark::Sample(at(20))),
            (30, Mark::End(at(30))),
            (31, Mark::Sample(at(30))),
        ];
        assert_eq!(seen, expected);
        assert_eq!(marks.next(), (Time::MAX, None));
    }
}
