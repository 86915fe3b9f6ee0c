//! A linear ramp with a deterministic carry (the L4S queue of RFC 9332 appendix A marks this way).

use crate::schedule::nanos;
use paceline_units::{Ecn, TimeDelta, params};

params! {
    /// The parameters of the ramp.
    pub struct RampConfig {
        low: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "RFC 9332 A.1", "Wait up to which no ECT(1) packet is marked";
        high: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "RFC 9332 A.1", "Wait from which every ECT(1) packet is marked";
    }
    ordered low <= high;
}

/// Marks a share (wait - low) / (high - low) of the ECT(1) packets.
#[derive(Clone, Debug)]
pub(crate) struct Ramp {
    low: u64,
    width: u64,
    /// The sum of the shares not yet spent on a mark, in units of 1 / `width`: exact, where a float would drift.
    carry: u64,
}

impl Ramp {
    pub(super) fn new(config: &RampConfig) -> Ramp {
        let (low, high) = (nanos(config.low), nanos(config.high));
        Ramp { low, width: high.saturating_sub(low), carry: 0 }
    }

    #[inline]
    pub(super) fn decide(&mut self, _departs: u64, wait: u64, ecn: Ecn) -> bool {
        if wait <= self.low || ecn != Ecn::Ect1 {
            return false;
        }
        // Carry and share are at most `width`, which a TimeDelta bounds to 63 bits.
        self.carry += (wait - self.low).min(self.width);
        let mark = self.carry >= self.width;
        if mark {
            self.carry -= self.width;
        }
        mark
    }
}
