//! One-way delay, base delay and filtered queue delay (RFC 8698 section 5.1.1).

use super::Params;
use crate::one_way_delay::{Clocks, DelayMeasure, KeptDelay, LeastDelays, Tilt};
use alloc::collections::VecDeque;
use paceline_units::{Time, TimeDelta};

/// Room for the buckets of the usual history, which grows over minutes and must not allocate then.
const FIRST_BUCKETS: usize = 64;

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
pub(super) struct Measured {
    /// Time of arrival by the sender's clock, counted from an arbitrary zero.
    pub(super) arrived: Time,
    /// The packet's own `d_fwd - d_base`.
    pub(super) own: TimeDelta,
}

/// `d_base` and `d_queue` of a flow.
#[derive(Clone, Debug)]
pub(super) struct QueueDelay {
    clocks: Clocks,
    measure: DelayMeasure,
    /// The smallest delays of the past buckets.
    least: LeastDelays,
    bucket_end: Time,
    /// The samples that may still be the smallest, in order of arrival, with rising delays.
    filter: VecDeque<Sample>,
    samples: u64,
}

impl QueueDelay {
    pub(super) fn new(params: &Params) -> QueueDelay {
        QueueDelay {
            clocks: Clocks::new(params.skew_compensation),
            measure: DelayMeasure::NEW,
            least: LeastDelays::with_room(FIRST_BUCKETS),
            bucket_end: Time::ZERO,
            filter: VecDeque::with_capacity(params.filter_samples as usize + 1),
            samples: 0,
        }
    }

    /// A packet that was sent at `sent` arrived at `arrived` by the receiver's clock, as a report of `now` says. Where reports tell no
    /// arrivals, the round trip is measured in the place of the delay; absent where this packet tells neither. A packet that waited for
    /// the end of an outage does not count (`tells_path`).
    #[inline]
    pub(super) fn on_arrival(
        &mut self,
        params: &Params,
        now: Time,
        (sent, arrived): (Time, Option<Time>),
        tells_path: bool,
    ) -> Option<Measured> {
        let (end, is_new) = self.measure.end(now, arrived)?;
        if is_new {
            self.forget();
        }
        let (delay, tilt) = self.clocks.on_arrival(now, sent, end);
        if let Some(tilt) = tilt {
            self.correct(&tilt);
        }
        if now >= self.bucket_end {
            self.close_bucket(params, now);
        }
        self.least.note(delay);
        let arrived = sent + TimeDelta::from_nanos(delay.nanos);
        let own = TimeDelta::from_nanos(delay.nanos.saturating_sub(self.least.least()));
        if tells_path {
            self.filter(params, arrived, delay);
        }
        Some(Measured { arrived, own })
    }

    /// The minimum filter: the last `filter_samples`, none older than DFILT.
    #[inline]
    fn filter(&mut self, params: &Params, arrived: Time, delay: KeptDelay) {
        while self.filter.back().is_some_and(|sample| sample.delay.nanos >= delay.nanos) {
            self.filter.pop_back();
        }
        self.filter.push_back(Sample { place: self.samples, arrived, delay });
        self.samples += 1;
        let (first, oldest) = (self.samples.saturating_sub(params.filter_samples), arrived - params.dfilt);
        while self.filter.front().is_some_and(|sample| sample.place < first || sample.arrived < oldest) {
            self.filter.pop_front();
        }
    }

    /// `d_queue`: the smallest delay in the filter over the base delay; absent before a packet arrived.
    #[inline]
    pub(super) fn d_queue(&self) -> Option<TimeDelta> {
        let least = self.filter.front()?.delay.nanos;
        Some(TimeDelta::from_nanos(least.saturating_sub(self.least.least()).max(0)))
    }

    /// By how many parts per million the receiver's clock is taken to run faster; absent if it is not looked at.
    pub(super) fn skew_ppm(&self) -> Option<f64> {
        self.clocks.skew_ppm()
    }

    /// Packets that waited for the end of an outage no longer count.
    pub(super) fn empty_filter(&mut self) {
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
    fn close_bucket(&mut self, params: &Params, now: Time) {
        self.bucket_end = now + params.base_delay_bucket;
        if !self.least.is_idle() {
            self.least.close(params.base_delay_buckets as usize);
        }
    }
}
