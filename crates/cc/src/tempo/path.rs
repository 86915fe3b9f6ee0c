//! The path as reports tell it: the standing queue, arrivals, losses and marks.

use super::Params;
use super::frames::Frames;
use super::recent::Gaps;
use super::trains::Trains;
use crate::Acked;
use crate::queue_delay::{History, QueueDelay};
use crate::utility::delivery::Delivery;
use paceline_units::{Bytes, Time, TimeDelta};

/// The span of the standing queue has so many samples at most.
const SAMPLES: i64 = 64;
/// Arrivals so much before the newest are by another clock.
const ONE_CLOCK: TimeDelta = TimeDelta::from_secs(2);

/// Packets that arrived, were lost, and arrived marked, since they were last asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) delivered: f64,
    pub(super) lost: f64,
    pub(super) marked: f64,
}

impl Counts {
    pub(super) const NONE: Counts = Counts { delivered: 0.0, lost: 0.0, marked: 0.0 };

    /// These come as well.
    pub(super) fn add(&mut self, counts: &Counts) {
        self.delivered += counts.delivered;
        self.lost += counts.lost;
        self.marked += counts.marked;
    }

    /// Packets that arrived or were lost.
    pub(super) fn total(&self) -> f64 {
        self.delivered + self.lost
    }

    /// Of these, the part that was lost.
    pub(super) fn lost_part(&self) -> f64 {
        (self.lost / self.total()).clamp(0.0, 1.0)
    }
}

/// The path of a flow, as far as reports have told of it.
#[derive(Clone, Debug)]
pub(super) struct Path {
    delay: QueueDelay,
    /// The newest arrival.
    newest: Time,
    /// How long a queue stands that counts, and how far samples of it are apart.
    span: TimeDelta,
    spacing: TimeDelta,
    delivery: Delivery,
    /// The first arrival, from which seconds count.
    zero: Option<Time>,
    counts: Counts,
    pub(super) trains: Trains,
    pub(super) frames: Frames,
    pub(super) reports: Gaps,
}

impl Path {
    /// A flow of which nothing arrived.
    pub(super) fn new(params: &Params) -> Path {
        let history = History { bucket: params.base_bucket, buckets: params.base_buckets };
        let mut path = Path {
            delay: QueueDelay::new(params.skew_compensation, history, SAMPLES as usize + 8),
            newest: Time::ZERO,
            span: TimeDelta::ZERO,
            spacing: TimeDelta::ZERO,
            delivery: Delivery::new(),
            zero: None,
            counts: Counts::NONE,
            trains: Trains::NONE,
            frames: Frames::new(),
            reports: Gaps::NONE,
        };
        path.set_span(params.standing_span);
        path
    }

    /// A packet of a report that came at `now`, as the loss detector took it.
    #[inline]
    pub(super) fn on_packet(&mut self, now: Time, acked: &Acked, tells_path: bool) {
        if let Some((sent, arrived)) = acked.newest {
            self.on_arrival(now, sent, arrived, tells_path, acked.presumed);
        } else if acked.presumed > Bytes::ZERO {
            self.delivery.on_late(acked.presumed.as_bits_f64());
        }
        if tells_path {
            self.counts.delivered += if acked.presumed > Bytes::ZERO { 1.0 } else { 0.0 };
            self.counts.marked += if acked.delivered_ce > Bytes::ZERO { 1.0 } else { 0.0 };
            self.counts.lost += f64::from(acked.lost) - f64::from(acked.spurious);
        }
    }

    #[inline]
    fn on_arrival(&mut self, now: Time, sent: Time, arrived: Option<Time>, tells_path: bool, size: Bytes) {
        let Some(measured) = self.delay.on_arrival(now, sent, arrived) else { return };
        if !tells_path {
            return;
        }
        if let Some(arrived) = arrived {
            self.trains.on_arrival(sent, arrived, size.as_bits_f64());
        }
        let arrived = measured.arrived;
        let zero = *self.zero.get_or_insert(arrived);
        self.delivery.on_arrival((arrived - zero).as_secs_f64(), size.as_bits_f64());
        if self.newest - arrived > ONE_CLOCK {
            self.delay.empty_filter();
            self.newest = arrived;
        }
        self.newest = self.newest.max(arrived);
        self.delay.filter(&measured, self.spacing);
    }

    /// All packets of a report were taken.
    pub(super) fn settle(&mut self) {
        self.delay.reach(u64::MAX, self.newest - self.span);
    }

    /// A queue counts that stands for so long.
    pub(super) fn set_span(&mut self, span: TimeDelta) {
        (self.span, self.spacing) = (span, TimeDelta::from_nanos(span.as_nanos() / SAMPLES));
    }

    pub(super) fn span(&self) -> TimeDelta {
        self.span
    }

    /// The smallest delay of the span over the base delay, in seconds.
    pub(super) fn standing(&self) -> Option<f64> {
        Some(self.delay.d_queue()?.as_nanos() as f64 * 1e-9)
    }

    /// The part of its usual time and length from which on a queue counts.
    pub(super) fn stretched(&self, params: &Params) -> f64 {
        if self.trains.stretched { params.stretched_part } else { 1.0 }
    }

    /// The counts since they were last taken.
    pub(super) fn take_counts(&mut self) -> Counts {
        core::mem::replace(&mut self.counts, Counts::NONE)
    }

    /// Bit/s that arrived over the last `span` seconds.
    pub(super) fn arrives(&self, span: f64) -> Option<f64> {
        self.delivery.rate(span, 0.0)
    }

    /// Bit/s that arrived while a queue stood, over no less than so many bits.
    pub(super) fn carries(&self, fewest: f64) -> Option<f64> {
        self.delivery.rate(self.span.as_secs_f64(), fewest)
    }

    /// An outage is over: what arrived before it, and in it, says nothing of the path.
    pub(super) fn forget_recent(&mut self) {
        self.delay.empty_filter();
        self.delivery.forget();
        self.trains.forget();
        self.counts = Counts::NONE;
    }

    pub(super) fn skew_ppm(&self) -> Option<f64> {
        self.delay.skew_ppm()
    }
}
