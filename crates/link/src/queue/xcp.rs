//! The router of XCP (Katabi, Handley and Rohrs 2002): two controllers of a link over a first-in-first-out queue.
//!
//! Once per mean round trip the efficiency controller says by how much the sum of all rates is to change: a part of the spare capacity
//! less a part of the queue that persists. The fairness controller shares that among the packets of the next interval: increases so that
//! each flow gets alike, decreases in proportion to rates. Shuffling moves some of the load between flows at all times. The paper was not
//! at hand: its equations are here as ns-2.35 and later papers have them (DEVIATIONS.md).

use crate::config::QueueLimit;
use crate::queue::headers::{after, believed_rtt};
use crate::queue::packet_queue::LinkContext;
use crate::queue::{headers, queue_params};
use paceline_units::{Bytes, CongestionHeader, Feedback, TimeDelta};

const PAPER: &str = "Katabi, Handley and Rohrs 2002, section 3.5, no text at hand";
const NS2: &str = "ns-2.35";

queue_params! {
    /// The constants of an XCP router.
    pub struct XcpConfig, limit = QueueLimit::Packets(1000), room = |_| Bytes::new(1), {
        alpha: f64 = 0.4, in 0.0, 1.0,
            PAPER, "Part of the spare capacity that is given away in an interval";
        beta: f64 = 0.226, in 0.0, 1.0,
            PAPER, "Part of the persistent queue that is taken back in an interval";
        gamma: f64 = 0.1, in 0.0, 1.0,
            PAPER, "Part of the load that is shuffled between flows in an interval";
        first_interval: TimeDelta = TimeDelta::from_millis(50), in 1e-3, 10.0,
            NS2, "Interval before a round trip is known, and when no packet says one";
        interval_min: TimeDelta = TimeDelta::from_millis(1), in 1e-6, 10.0,
            NS2, "Shortest interval of both controllers";
        queue_interval_min: TimeDelta = TimeDelta::from_millis(2), in 1e-6, 10.0,
            NS2, "Shortest interval over which a queue must persist";
        rtt_max: TimeDelta = TimeDelta::from_secs(1), in 1e-3, 100.0,
            NS2, "Longer round trips count as this in the mean";
    }
}

/// Packets that fit a round trip, at most: a header may say anything.
const MOST_PACKETS: f64 = 1e9;
/// Intervals that may end between two packets before nothing changes any more in those that follow.
const UNTIL_QUIET: u32 = 8;

/// Round trip and spacing of packets in seconds, as far as a header says what can be.
fn believed(header: &CongestionHeader) -> Option<(f64, f64)> {
    let spacing = f64::from(header.spacing);
    let rtt = believed_rtt(header, Feedback::Change).filter(|_| spacing > 0.0)?;
    Some((rtt, spacing.clamp(rtt / MOST_PACKETS, rtt)))
}

/// The sums of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// Bytes that came.
    traffic: f64,
    /// Sum of the spacings of packets, in seconds.
    spacings: f64,
    /// Sum of the round trips times the spacings.
    rtts: f64,
}

/// Increases or decreases of an interval: bytes per second that are left of them, and how much goes to a unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    pub(crate) left: f64,
    factor: f64,
}

impl Share {
    fn of(left: f64, units: f64) -> Share {
        Share { left, factor: if units > 0.0 { left / units } else { 0.0 } }
    }

    fn take(&mut self, given: f64) {
        self.left = (self.left - given).max(0.0);
        if self.left == 0.0 {
            self.factor = 0.0;
        }
    }
}

/// Both controllers of a link.
#[derive(Clone, Debug)]
pub(crate) struct Router {
    config: XcpConfig,
    /// Bytes per second.
    capacity: f64,
    measured: Measured,
    /// Mean round trip in seconds: d.
    mean_rtt: f64,
    /// Length of the present interval in seconds, and when it ends.
    interval: f64,
    pub(crate) ends: u64,
    /// The same of the interval of the queue.
    queue_interval: f64,
    queue_ends: u64,
    /// Bytes that waited all over the last interval of the queue: Q.
    pub(crate) persistent: f64,
    /// Fewest bytes that waited in the present one.
    least: f64,
    /// Increases that are to be given, to a second of spacing: xi_p.
    pub(crate) up: Share,
    /// Decreases that are to be given, to a byte: xi_n.
    pub(crate) down: Share,
}

impl headers::Router for Router {
    type Config = XcpConfig;

    fn new(config: &XcpConfig, context: &LinkContext<'_>) -> Router {
        let first = config.first_interval.as_secs_f64();
        Router {
            capacity: context.nominal.as_bps_f64() / 8.0,
            measured: Measured::default(),
            mean_rtt: first,
            interval: first,
            ends: after(0, first),
            queue_interval: first,
            queue_ends: after(0, first),
            persistent: 0.0,
            least: 0.0,
            up: Share::default(),
            down: Share::default(),
            config: config.clone(),
        }
    }

    /// Ends the intervals that are over at `now`, up to which `waiting` bytes were in the queue.
    fn reach(&mut self, now: u64, waiting: u64) {
        let mut ended = 0;
        while self.ends.min(self.queue_ends) <= now && ended < UNTIL_QUIET {
            if self.ends <= self.queue_ends {
                self.end_interval();
            } else {
                self.end_queue_interval(waiting as f64);
            }
            ended += 1;
        }
        self.ends = self.ends.max(skipped(self.ends, self.interval, now));
        self.queue_ends = self.queue_ends.max(skipped(self.queue_ends, self.queue_interval, now));
    }

    fn on_arrival(&mut self, _now: u64, size: u64, header: Option<&mut CongestionHeader>) {
        self.measured.traffic += size as f64;
        if let Some((rtt, spacing)) = header.and_then(|header| believed(header)) {
            self.measured.spacings += spacing;
            self.measured.rtts += rtt.min(self.config.rtt_max.as_secs_f64()) * spacing;
        }
    }

    fn on_departure(&mut self, size: u64, waiting: u64, header: Option<&mut CongestionHeader>) {
        self.least = self.least.min(waiting as f64);
        let Some(header) = header.filter(|header| header.kind == Feedback::Change) else { return };
        let Some((_, spacing)) = believed(header) else {
            header.feedback = 0.0;
            return;
        };
        let mut up = (self.up.factor * spacing).min(self.up.left);
        let mut down = (self.down.factor * size as f64).min(self.down.left);
        let feedback = up - down;
        let asked = f64::from(header.feedback);
        if asked < feedback {
            // Another router, or the sender, wants less: the rest is for others.
            down = (down + feedback - asked).min(self.down.left);
            up = (asked + down).max(0.0);
        } else {
            header.feedback = feedback as f32;
        }
        self.up.take(up);
        self.down.take(down);
    }
}

impl Router {
    /// The efficiency controller, and the factors of the fairness controller for the next interval.
    fn end_interval(&mut self) {
        let Measured { traffic, spacings, rtts } = core::mem::take(&mut self.measured);
        let XcpConfig { alpha, beta, gamma, .. } = self.config;
        self.mean_rtt =
            if spacings > 0.0 { rtts / spacings } else { self.config.first_interval.as_secs_f64() };
        let load = traffic / self.interval;
        let (mut change, mut shuffled) = (0.0, 0.0);
        if traffic > 0.0 {
            change = alpha * (self.capacity - load) - beta * self.persistent / self.mean_rtt;
            shuffled = (gamma * load - libm::fabs(change)).max(0.0);
        }
        self.up = Share::of(change.max(0.0) + shuffled, spacings);
        self.down = Share::of((-change).max(0.0) + shuffled, traffic);
        self.interval = self.mean_rtt.max(self.config.interval_min.as_secs_f64());
        self.ends = after(self.ends, self.interval);
    }

    /// The queue that did not drain over half of a round trip.
    fn end_queue_interval(&mut self, waiting: f64) {
        (self.persistent, self.least) = (self.least, waiting);
        let empty = self.mean_rtt - waiting / self.capacity.max(1.0);
        self.queue_interval = (empty / 2.0).max(self.config.queue_interval_min.as_secs_f64());
        self.queue_ends = after(self.queue_ends, self.queue_interval);
    }
}

/// The first end after `now` of intervals of equal length.
fn skipped(ends: u64, interval: f64, now: u64) -> u64 {
    if ends > now {
        return ends;
    }
    let length = ((interval * 1e9) as u64).max(1);
    ends.saturating_add(((now - ends) / length + 1).saturating_mul(length))
}
