//! `BBR.inflight_longterm` (`inflight_hi` in older texts): the flight beyond which a probe lost too much (section "ProbeBW
//! Algorithm Details").

use super::Params;

/// Rounds after which the slope no longer doubles.
const MOST_DOUBLINGS: u32 = 30;

/// The bound, and how fast a probe raises it. Bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct LongTerm {
    /// Infinite before a probe lost too much.
    pub inflight: f64,
    /// `BBR.bw_probe_up_acked`.
    acked: f64,
    /// `BBR.probe_up_acked_per_inc`.
    acked_per_increase: f64,
    /// `BBR.bw_probe_up_rounds`.
    rounds: u32,
}

impl LongTerm {
    pub fn new() -> LongTerm {
        LongTerm { inflight: f64::INFINITY, acked: 0.0, acked_per_increase: f64::INFINITY, rounds: 0 }
    }

    pub fn is_set(&self) -> bool {
        self.inflight < f64::INFINITY
    }

    /// `InflightWithHeadroom`.
    pub fn with_headroom(&self, params: &Params, mss: f64) -> f64 {
        if !self.is_set() {
            return f64::INFINITY;
        }
        let headroom = mss.max(params.headroom * self.inflight);
        (self.inflight - headroom).max(params.min_pipe_cwnd as f64 * mss)
    }

    /// No probe raises it.
    pub fn stop_growing(&mut self) {
        self.acked_per_increase = f64::INFINITY;
    }

    /// The coming probe raises it slowly at first.
    pub fn begin_probe(&mut self) {
        (self.rounds, self.acked) = (0, 0.0);
    }

    /// `RaiseInflightLongtermSlope`: a packet more in the first round trip, two in the next, then four.
    pub fn raise_slope(&mut self, cwnd: f64, mss: f64) {
        let growth = (1u64 << self.rounds) as f64;
        self.rounds = (self.rounds + 1).min(MOST_DOUBLINGS);
        self.acked_per_increase = (cwnd / growth).max(mss);
    }

    /// Of `ProbeInflightLongtermUpward`, where the bound is used.
    pub fn grow(&mut self, newly_acked: f64, mss: f64) {
        self.acked += newly_acked;
        if self.acked >= self.acked_per_increase {
            let increases = libm::trunc(self.acked / self.acked_per_increase);
            self.acked -= increases * self.acked_per_increase;
            self.inflight += increases * mss;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 100 packets of 1000 B: after n round trips the bound has grown by 2^n - 1 packets.
    #[test]
    fn growth_doubles_each_round() {
        let mut bound = LongTerm { inflight: 100_000.0, ..LongTerm::new() };
        bound.begin_probe();
        for round in 0..7u32 {
            bound.raise_slope(100_000.0, 1000.0);
            for _ in 0..100 {
                bound.grow(1000.0, 1000.0);
            }
            let expected = 100_000.0 + 1000.0 * f64::from((1 << (round + 1)) - 1);
            assert!((bound.inflight - expected).abs() <= 2000.0, "round {round}: {}", bound.inflight);
        }
        bound.raise_slope(100_000.0, 1000.0);
        assert_eq!(bound.acked_per_increase, 1000.0, "never more than a packet for a packet");
    }

    #[test]
    fn headroom_is_15_percent_a_packet_at_least_and_leaves_four() {
        let params = Params::default();
        let headroom = |inflight| LongTerm { inflight, ..LongTerm::new() }.with_headroom(&params, 1000.0);
        assert_eq!(headroom(f64::INFINITY), f64::INFINITY);
        assert_eq!(headroom(100_000.0), 85_000.0);
        assert_eq!(headroom(6000.0), 5000.0);
        assert_eq!(headroom(4500.0), 4000.0);
    }
}
