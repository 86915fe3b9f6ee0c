//! Stages two and three of the adaptation (Table I), for one congestion signal: delay, loss or marks.

use libm::sqrt;

/// The rate controller of one congestion signal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Signal {
    /// Part of the signal above `min` that k0 follows.
    beta: f64,
    /// The signal that there is without congestion: delta_MIN in seconds, or a part of packets.
    pub(super) min: f64,
    /// The rate that this signal allows, in bit/s.
    pub(super) rate: f64,
    /// The rate times the signal at which the rate stays.
    pub(super) k0: f64,
    /// How fast the rate moves, in 1/s per unit of the signal.
    pub(super) k2: f64,
}

/// The values that the signals of a flow share at a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Common {
    /// R_MAX in bit/s.
    pub(super) r_max: f64,
    /// R_AVE in bit/s.
    pub(super) r_ave: f64,
    /// RTT_min in seconds.
    pub(super) rtt_min: f64,
    /// Delta T in seconds.
    pub(super) elapsed: f64,
    /// No signal raises the rate above this, in bit/s.
    pub(super) ceiling: f64,
    /// No signal lowers it below this.
    pub(super) floor: f64,
}

impl Signal {
    pub(super) fn new(beta: f64, min: f64) -> Signal {
        Signal { beta, min, rate: 0.0, k0: 0.0, k2: 0.0 }
    }

    /// Equations 16 to 18: `average` is the signal's mean over the window, `now` the signal at this packet.
    #[inline]
    pub(super) fn adapt(&mut self, m: f64, common: &Common, average: f64, now: f64) {
        let Common { r_max, r_ave, rtt_min, elapsed, ceiling, floor } = *common;
        // Before the window is full, its mean may lie below the minimum.
        let above = (average - self.min).max(0.0);
        self.k0 = (sqrt(r_max / r_ave) * self.min + self.beta * above) * r_ave;
        self.k2 = r_max / (self.k0 * m * sqrt(self.rate.max(floor) / r_max) * rtt_min);
        let change = self.k2 * (self.k0 - now * self.rate) * elapsed;
        let most = ceiling.max(self.rate);
        self.rate = (self.rate + change).max(0.0).min(most).max(floor);
    }
}
