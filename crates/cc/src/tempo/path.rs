//! The path as reports tell it: the standing queue, arrivals, losses and marks.

use super::Params;
use super::recent::Gaps;
use crate::Acked;
use crate::one_way_delay::{Clocks, DelayMeasure, KeptDelay, LeastDelays, Tilt};
use crate::utility::delivery::Delivery;
use alloc::collections::VecDeque;
use paceline_units::{Bytes, Time, TimeDelta};

/// The span of the standing queue has so many samples at most.
const SAMPLES: i64 = 64;
/// Packets that arrived, were lost, and arrived marked, since they were last asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) delivered: f64,
    pub(super) lost: f64,
    pub(super) marked: f64,
}

impl Counts {
    pub(super) const NONE: Counts = Counts { delivered: 0.0, lost: 0.0, marked: 0.0 };
}

#[derive(Clone, Debug)]
pub(super) struct Path {
    clocks: Clocks,
    measure: DelayMeasure,
    base: LeastDelays,
    bucket_end: Time,
    /// Delays of the last span that may still be the smallest, by time of arrival, rising.
    recent: VecDeque<(Time, KeptDelay)>,
    newest: Time,
    pub(super) span: TimeDelta,
    delivery: Delivery,
    zero: Option<Time>,
    counts: Counts,
    pub(super) frames: Gaps,
    pub(super) reports: Gaps,
}

impl Path {
    pub(super) fn new(params: &Params) -> Path {
        Path {
            clocks: Clocks::new(params.skew_compensation),
            measure: DelayMeasure::NEW,
            base: LeastDelays::with_room(params.base_buckets as usize + 1),
            bucket_end: Time::ZERO,
            recent: VecDeque::with_capacity(SAMPLES as usize + 8),
            newest: Time::ZERO,
            span: params.standing_span,
            delivery: Delivery::new(),
            zero: None,
            counts: Counts::NONE,
            frames: Gaps::NONE,
            reports: Gaps::NONE,
        }
    }

    /// A packet of a report that came at `now`, as the loss detector took it.
    #[inline]
    pub(super) fn on_packet(&mut self, params: &Params, now: Time, acked: &Acked, tells_path: bool) {
        if let Some((sent, arrived)) = acked.newest {
            self.on_arrival(params, now, sent, arrived, tells_path, acked.presumed);
        } else if acked.presumed > Bytes::ZERO {
            self.delivery.on_late(acked.presumed.as_bits_f64());
        }
        if tells_path {
            self.counts.delivered += if acked.presumed > Bytes::ZERO { 1.0 } else { 0.0 };
            self.counts.marked += if acked.delivered_ce > Bytes::ZERO { 1.0 } else { 0.0 };
            self.counts.lost += f64::from(acked.lost) - f64::from(acked.spurious);
        }
    }

    fn on_arrival(
        &mut self,
        params: &Params,
        now: Time,
        sent: Time,
        arrived: Option<Time>,
        tells: bool,
        size: Bytes,
    ) {
        let Some((end, is_new)) = self.measure.end(now, arrived) else { return };
        if is_new {
            self.clocks.forget();
            self.base.clear();
            self.recent.clear();
        }
        let (delay, tilt) = self.clocks.on_arrival(now, sent, end);
        if let Some(tilt) = tilt {
            self.correct(&tilt);
        }
        if now >= self.bucket_end {
            self.bucket_end = now + params.base_bucket;
            if !self.base.is_idle() {
                self.base.close(params.base_buckets as usize);
            }
        }
        self.base.note(delay);
        if !tells {
            return;
        }
        let arrived = sent + TimeDelta::from_nanos(delay.nanos);
        let zero = *self.zero.get_or_insert(arrived);
        self.delivery.on_arrival((arrived - zero).as_secs_f64(), size.as_bits_f64());
        if self.newest - arrived > TimeDelta::from_secs(2) {
            self.recent.clear();
            self.newest = arrived;
        }
        self.newest = self.newest.max(arrived);
        self.note(arrived, delay);
    }

    fn note(&mut self, arrived: Time, delay: KeptDelay) {
        while self.recent.back().is_some_and(|(_, back)| back.nanos >= delay.nanos) {
            self.recent.pop_back();
        }
        let spacing = TimeDelta::from_nanos(self.span.as_nanos() / SAMPLES);
        if self.recent.back().is_none_or(|&(at, _)| arrived - at >= spacing) {
            self.recent.push_back((arrived, delay));
        }
        let oldest = self.newest - self.span;
        while self.recent.len() > 1 && self.recent.front().is_some_and(|&(at, _)| at < oldest) {
            self.recent.pop_front();
        }
    }

    #[cold]
    fn correct(&mut self, tilt: &Tilt) {
        self.base.correct(tilt);
        self.recent.iter_mut().for_each(|(_, delay)| delay.correct(tilt));
    }

    /// The smallest delay of the span over the base delay, in seconds.
    pub(super) fn standing(&self) -> Option<f64> {
        let (_, least) = self.recent.front()?;
        Some((least.nanos.saturating_sub(self.base.least())).max(0) as f64 * 1e-9)
    }

    /// The counts since they were last taken.
    pub(super) fn take_counts(&mut self) -> Counts {
        core::mem::replace(&mut self.counts, Counts::NONE)
    }

    /// Bit/s that arrived over the last `span` seconds.
    pub(super) fn arrives(&self, span: f64) -> Option<f64> {
        self.delivery.rate(span, 0.0)
    }

    /// An outage is over: what arrived before it, and in it, says nothing of the path.
    pub(super) fn forget_recent(&mut self) {
        self.recent.clear();
        self.delivery.forget();
        self.counts = Counts::NONE;
    }

    pub(super) fn skew_ppm(&self) -> Option<f64> {
        self.clocks.skew_ppm()
    }
}
