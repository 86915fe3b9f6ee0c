//! The path as reports tell it: the standing queue, arrivals, losses and marks.

use super::Params;
use super::frames::Frames;
use super::recent::Gaps;
use super::trains::Trains;
use crate::queue_delay::{History, Measured, QueueDelay};
use crate::silence::Silence;
use crate::utility::delivery::Delivery;
use crate::{Acked, PacketResult, Status};
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

/// Packets that arrived within the spacing of samples: they tell of the path as one.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// When the first arrived, and the last.
    first: Time,
    last: Time,
    /// The smallest delay, and when its packet left.
    least: TimeDelta,
    sent: Time,
    bytes: Bytes,
}

impl Group {
    /// No packet.
    const NONE: Group = Group {
        first: Time::ZERO,
        last: Time::ZERO,
        least: TimeDelta::MAX,
        sent: Time::ZERO,
        bytes: Bytes::ZERO,
    };

    /// Another packet arrived.
    #[inline]
    fn join(&mut self, sent: Time, arrived: Time, bytes: Bytes) {
        let delay = arrived.wrapping_since(sent);
        if delay < self.least {
            (self.least, self.sent) = (delay, sent);
        }
        self.last = arrived;
        self.bytes += bytes;
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
    /// When the newest packet left that was told of, and the number behind its own.
    told: (Time, u64),
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
            told: (Time::ZERO, 0),
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

    /// Packets that arrived, as a report of `now` tells. A packet counts that was sent behind all before; answers their bytes. Before the first of
    /// them `unreported` bytes arrived.
    #[inline(always)]
    pub(super) fn on_arrivals(
        &mut self,
        now: Time,
        packets: &[PacketResult],
        unreported: Bytes,
        silence: &Silence,
    ) -> Bytes {
        let (is_clear, spacing) = (silence.is_clear(now), self.spacing.as_nanos() as u64);
        let (mut newest, mut behind) = self.told;
        let (mut told, mut before, mut group) = (Bytes::ZERO, unreported, Group::NONE);
        // Nothing joins the group of no packet.
        let mut reach = 0;
        let mut packets = packets.iter();
        // Packets that join the group, the common case, in a loop of its own that keeps its state in registers.
        while let Some(&PacketResult { sequence, sent, size, status, .. }) = packets.find(|packet| {
            let Status::Received { arrived: Some(arrived), .. } = packet.status else { return true };
            let joins =
                packet.sent > newest && (arrived.wrapping_since(group.first).as_nanos() as u64) < reach;
            if joins {
                (newest, behind) = (packet.sent, packet.sequence.wrapping_add(1));
                group.join(packet.sent, arrived, packet.size);
            }
            !joins
        }) {
            let Status::Received { arrived, .. } = status else { continue };
            if sent < newest || sent == newest && sequence < behind {
                continue;
            }
            let left = core::mem::replace(&mut newest, sent);
            behind = sequence.wrapping_add(1);
            let (Some(arrived), true) = (arrived, is_clear) else {
                told += self.take(now, left, group);
                (group, reach) = (Group::NONE, 0);
                let bytes = size + core::mem::take(&mut before);
                self.take_alone(now, (sent, arrived), bytes, silence);
                told += bytes;
                continue;
            };
            if (arrived.wrapping_since(group.first).as_nanos() as u64) < reach {
                group.join(sent, arrived, size);
            } else {
                told += self.take(now, left, group);
                (group, reach) =
                    (Group { first: arrived, bytes: core::mem::take(&mut before), ..Group::NONE }, spacing);
                group.join(sent, arrived, size);
            }
        }
        told += self.take(now, newest, group);
        self.told = (newest, behind);
        self.delay.reach(u64::MAX, self.newest - self.span);
        told
    }

    /// A packet that waited for the end of an outage tells of the clocks alone; of one whose arrival is not told the round trip counts.
    #[cold]
    fn take_alone(
        &mut self,
        now: Time,
        (sent, arrived): (Time, Option<Time>),
        bytes: Bytes,
        silence: &Silence,
    ) {
        let measured = self.delay.on_arrival(now, sent, arrived);
        if let Some(measured) = measured.filter(|_| silence.tells_path(now, sent)) {
            self.on_delay(&measured, measured.arrived, bytes);
        }
    }

    /// A group is complete, of which the last packet left at `left`; answers its bytes.
    fn take(&mut self, now: Time, left: Time, group: Group) -> Bytes {
        let Group { last, least, sent, bytes, .. } = group;
        if bytes == Bytes::ZERO {
            return bytes;
        }
        let arrived = sent + least;
        self.trains.on_arrival(left, last, bytes.as_bits_f64());
        if let Some(measured) = self.delay.on_arrival(now, sent, Some(arrived)) {
            self.on_delay(&measured, measured.arrived + (last - arrived), bytes);
        }
        bytes
    }

    /// The delay of packets of which the last arrived at `last`, by our clock.
    #[inline]
    fn on_delay(&mut self, measured: &Measured, last: Time, bytes: Bytes) {
        let arrived = measured.arrived;
        let zero = *self.zero.get_or_insert(arrived);
        self.delivery.on_arrival((last - zero).as_secs_f64(), bytes.as_bits_f64());
        if self.newest - arrived > ONE_CLOCK {
            self.delay.empty_filter();
            self.newest = arrived;
        }
        self.newest = self.newest.max(arrived);
        self.delay.filter(measured, self.spacing);
    }

    /// The fate of packets, as the loss detector took a report; so many bytes were told as arrivals.
    #[inline]
    pub(super) fn on_acked(&mut self, acked: &Acked, told: Bytes, tells_path: bool) {
        self.delivery.on_late((acked.presumed - told).as_bits_f64());
        if !tells_path {
            return;
        }
        self.counts.delivered += f64::from(acked.delivered_packets);
        self.counts.marked += f64::from(acked.delivered_ce_packets);
        self.counts.lost += f64::from(acked.lost) - f64::from(acked.spurious);
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
    pub(super) fn arrives(&mut self, span: f64) -> Option<f64> {
        self.delivery.rate(span, 0.0)
    }

    /// Bit/s that arrived while a queue stood, over no less than so many bits.
    pub(super) fn carries(&mut self, fewest: f64) -> Option<f64> {
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
