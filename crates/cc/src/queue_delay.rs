//! One-way delay, base delay and filtered queue delay (RFC 8698 section 5.1.1): the smallest delay of late over the smallest one of a
//! longer time, by one clock.

use crate::one_way_delay::{Clocks, DelayMeasure, KeptDelay, LeastDelays, Tilt};
use alloc::collections::VecDeque;
use paceline_units::{Time, TimeDelta};

/// Room for the buckets of a usual history, which grows over minutes and must not allocate then.
const FIRST_BUCKETS: usize = 64;

/// The memory of the base delay: so many buckets of this length, and the present one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct History {
    pub(crate) bucket: TimeDelta,
    pub(crate) buckets: u64,
}

/// A packet of the minimum filter.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Its place among all samples.
    place: u64,
    arrived: Time,
    delay: KeptDelay,
}

/// The delay of a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Measured {
    /// Time of arrival by the sender's clock, counted from an arbitrary zero.
    pub(crate) arrived: Time,
    /// The packet's own `d_fwd - d_base`.
    pub(crate) own: TimeDelta,
    delay: KeptDelay,
}

/// `d_base` and `d_queue` of a flow.
#[derive(Clone, Debug)]
pub(crate) struct QueueDelay {
    clocks: Clocks,
    measure: DelayMeasure,
    history: History,
    /// The smallest delays of the past buckets.
    least: LeastDelays,
    bucket_end: Time,
    /// The samples that may still be the smallest, in order of arrival, with rising delays.
    filter: VecDeque<Sample>,
    samples: u64,
}

impl QueueDelay {
    /// A flow of which nothing arrived. The memory of `samples` in the filter is there at once.
    pub(crate) fn new(skew_compensation: bool, history: History, samples: usize) -> QueueDelay {
        QueueDelay {
            clocks: Clocks::new(skew_compensation),
            measure: DelayMeasure::NEW,
            history,
            least: LeastDelays::with_room(FIRST_BUCKETS),
            bucket_end: Time::ZERO,
            filter: VecDeque::with_capacity(samples + 1),
            samples: 0,
        }
    }

    /// A packet that was sent at `sent` arrived at `arrived` by the receiver's clock, as a report of `now` says. Where reports tell no
    /// arrivals, the round trip is measured in the place of the delay; absent where this packet tells neither.
    #[inline]
    pub(crate) fn on_arrival(&mut self, now: Time, sent: Time, arrived: Option<Time>) -> Option<Measured> {
        let (end, is_new) = self.measure.end(now, arrived)?;
        if is_new {
            self.forget();
        }
        let (delay, tilt) = self.clocks.on_arrival(now, sent, end);
        if let Some(tilt) = tilt {
            self.correct(&tilt);
        }
        if now >= self.bucket_end {
            self.close_bucket(now);
        }
        self.least.note(delay);
        let arrived = sent + TimeDelta::from_nanos(delay.nanos);
        let own = TimeDelta::from_nanos(delay.nanos.saturating_sub(self.least.least()));
        Some(Measured { arrived, own, delay })
    }

    /// A packet comes into the minimum filter: one that waited for the end of an outage does not. A longer delay that arrives within
    /// `spacing` after a shorter one is left out; zero: none is.
    #[inline]
    pub(crate) fn filter(&mut self, measured: &Measured, spacing: TimeDelta) {
        let &Measured { arrived, delay, .. } = measured;
        let mut apart = true;
        while let Some(sample) = self.filter.back() {
            if sample.delay.nanos < delay.nanos {
                apart = spacing == TimeDelta::ZERO || arrived - sample.arrived >= spacing;
                break;
            }
            self.filter.pop_back();
        }
        if apart {
            self.filter.push_back(Sample { place: self.samples, arrived, delay });
        }
        self.samples += 1;
    }

    /// The filter reaches back over so many samples, and to `oldest`: but for the last one, what came before goes.
    #[inline]
    pub(crate) fn reach(&mut self, samples: u64, oldest: Time) {
        let first = self.samples.saturating_sub(samples);
        let too_old = |sample: &Sample| sample.place < first || sample.arrived < oldest;
        while self.filter.len() > 1 && self.filter.front().is_some_and(too_old) {
            self.filter.pop_front();
        }
    }

    /// `d_queue`: the smallest delay in the filter over the base delay; absent before a packet arrived.
    #[inline]
    pub(crate) fn d_queue(&self) -> Option<TimeDelta> {
        let least = self.filter.front()?.delay.nanos;
        Some(TimeDelta::from_nanos(least.saturating_sub(self.least.least()).max(0)))
    }

    /// By how many parts per million the receiver's clock is taken to run faster; absent if it is not looked at.
    pub(crate) fn skew_ppm(&self) -> Option<f64> {
        self.clocks.skew_ppm()
    }

    /// Packets that waited for the end of an outage no longer count.
    pub(crate) fn empty_filter(&mut self) {
        self.filter.clear();
    }

    /// Delays by another measure: nothing that was measured compares.
    #[cold]
    fn forget(&mut self) {
        self.clocks.forget();
        self.least.clear();
        self.filter.clear();
    }

    /// Corrects the delays that are kept by the present knowledge of the clocks.
    #[cold]
    fn correct(&mut self, tilt: &Tilt) {
        self.least.correct(tilt);
        self.filter.iter_mut().for_each(|sample| sample.delay.correct(tilt));
    }

    #[cold]
    fn close_bucket(&mut self, now: Time) {
        self.bucket_end = now + self.history.bucket;
        if !self.least.is_idle() {
            self.least.close(self.history.buckets as usize);
        }
    }
}
