//! The router of RCP (Dukkipati 2007): one rate for all flows of a link, over a first-in-first-out queue.
//!
//! Each interval the rate is multiplied by a factor that is above one where capacity is spare and below one where a queue waits, so that
//! flows that share it fill the link within some round trips. The equations and constants are those of ns-2's `Queue/DropTail/RCP` by Zhang
//! and Dukkipati (DEVIATIONS.md).

use crate::config::QueueLimit;
use crate::queue::headers::{after, believed_rtt};
use crate::queue::packet_queue::LinkContext;
use crate::queue::{headers, queue_params};
use paceline_units::{Bytes, CongestionHeader, Feedback, TimeDelta};

const NS2: &str = "ns-2's Queue/DropTail/RCP by Zhang and Dukkipati";

queue_params! {
    /// The constants of an RCP router.
    pub struct RcpConfig, limit = QueueLimit::Packets(1000), room = |_| Bytes::new(1), {
        alpha: f64 = 0.4, in 0.0, 10.0,
            NS2, "Part of the spare capacity that is given away in a round trip";
        beta: f64 = 0.4, in 0.0, 10.0,
            NS2, "Part of the queue that is taken back in a round trip";
        gamma: f64 = 1.0, in 0.01, 1.0,
            NS2, "Part of the capacity that flows may fill";
        first_share: f64 = 0.05, in 1e-6, 1.0,
            NS2, "Part of the capacity that is each flow's rate at first";
        packets_min: f64 = 0.01, in 1e-6, 100.0,
            NS2, "Least rate in packets of 1000 B per mean round trip";
        interval: TimeDelta = TimeDelta::from_millis(10), in 1e-6, 10.0,
            NS2, "Longest interval between changes of the rate; a shorter mean round trip takes its place";
        first_rtt: TimeDelta = TimeDelta::from_millis(200), in 1e-6, 100.0,
            NS2, "Mean round trip before packets say theirs";
    }
}

/// The packet of the least rate in bytes.
const PACKET: f64 = 1000.0;

/// The sums of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// Bytes that came, and of those that came in the last interval the ones whose transmission reaches into this.
    traffic: f64,
    /// Sum of round trips times bytes, and of those bytes.
    rtts: f64,
    bytes: f64,
}

/// The rate of a link.
#[derive(Clone, Debug)]
pub(crate) struct Router {
    config: RcpConfig,
    /// Bytes per second.
    capacity: f64,
    measured: Measured,
    /// Bytes of the next interval that came already.
    spilled: f64,
    /// Mean round trip in seconds: d. The latest interval's is beside it.
    pub(crate) mean_rtt: f64,
    last_rtt: f64,
    /// Length of the present interval in seconds, T, and when it ends in nanoseconds.
    pub(crate) interval: f64,
    pub(crate) ends: u64,
    /// Bytes per second that each flow may send: R.
    pub(crate) rate: f64,
}

impl headers::Router for Router {
    type Config = RcpConfig;

    fn new(config: &RcpConfig, context: &LinkContext<'_>) -> Router {
        let capacity = context.nominal.as_bps_f64() / 8.0;
        let first_rtt = config.first_rtt.as_secs_f64();
        let interval = first_rtt.min(config.interval.as_secs_f64());
        Router {
            capacity,
            measured: Measured::default(),
            spilled: 0.0,
            mean_rtt: first_rtt,
            last_rtt: 0.0,
            interval,
            ends: after(0, interval),
            rate: config.first_share * capacity,
            config: config.clone(),
        }
    }

    fn reach(&mut self, now: u64, waiting: u64) {
        if self.ends > now {
            return;
        }
        self.learn_rtt();
        self.change(self.measured.traffic, waiting as f64, 1.0);
        self.measured = Measured { traffic: core::mem::take(&mut self.spilled), ..Measured::default() };
        self.interval = self.mean_rtt.min(self.config.interval.as_secs_f64());
        self.ends = after(self.ends, self.interval);
        if self.ends <= now {
            self.pass_quiet_intervals(now, waiting as f64);
        }
    }

    fn on_arrival(&mut self, now: u64, size: u64, header: Option<&mut CongestionHeader>) {
        let size = size as f64;
        if let Some(rtt) = header.and_then(|header| believed_rtt(header, Feedback::Rate)) {
            self.measured.rtts += rtt * size;
            self.measured.bytes += size;
        }
        let left = self.ends.saturating_sub(now) as f64 * 1e-9 * self.capacity;
        self.measured.traffic += size.min(left);
        self.spilled += (size - left).max(0.0);
    }

    fn on_departure(&mut self, _size: u64, _waiting: u64, header: Option<&mut CongestionHeader>) {
        if let Some(header) = header.filter(|header| header.kind == Feedback::Rate) {
            // A word that is no number, or a rate below zero, is none.
            let lower = (0.0..=self.rate).contains(&f64::from(header.feedback));
            if !lower {
                header.feedback = self.rate as f32;
            }
        }
    }
}

impl Router {
    /// The mean round trip takes in that of the last interval: fast where it is longer, by the share of one flow where it is shorter.
    fn learn_rtt(&mut self) {
        let Measured { rtts, bytes, .. } = self.measured;
        if bytes > 0.0 {
            self.last_rtt = rtts / bytes;
        }
        if self.last_rtt > 0.0 {
            let gain = self.interval / self.mean_rtt;
            let gain = if self.last_rtt >= self.mean_rtt {
                gain
            } else {
                self.rate / self.capacity.max(1.0) * self.last_rtt / self.mean_rtt * gain
            };
            self.mean_rtt += gain.min(1.0) * (self.last_rtt - self.mean_rtt);
        }
    }

    /// R (1 + T/d (alpha (gamma C - y) - beta Q/d) / (gamma C)), as often as intervals of such traffic and such a queue passed.
    fn change(&mut self, traffic: f64, waiting: f64, intervals: f64) {
        let RcpConfig { alpha, beta, gamma, packets_min, .. } = self.config;
        let (fills, d) = (gamma * self.capacity, self.mean_rtt);
        if fills > 0.0 {
            let spare = alpha * (fills - traffic / self.interval) - beta * waiting / d;
            let factor = (1.0 + self.interval / d * spare / fills).max(0.0);
            self.rate *= libm::pow(factor, intervals);
        }
        let least = (packets_min * PACKET / d).min(fills);
        self.rate = self.rate.clamp(least, fills);
    }

    /// The intervals in which nothing came.
    fn pass_quiet_intervals(&mut self, now: u64, waiting: f64) {
        let length = ((self.interval * 1e9) as u64).max(1);
        let passed = (now - self.ends) / length + 1;
        self.change(self.measured.traffic, waiting, 1.0);
        self.measured.traffic = 0.0;
        self.change(0.0, waiting, (passed - 1) as f64);
        self.ends = self.ends.saturating_add(passed.saturating_mul(length));
    }
}
