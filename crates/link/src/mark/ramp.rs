//! A linear ramp with a deterministic carry (the L4S queue of RFC 9332 appendix A marks this way).

use paceline_units::Ecn;

/// Marks a share (wait - low) / (high - low) of the ECT(1) packets.
#[derive(Clone, Debug)]
pub(crate) struct Ramp {
    low: u64,
    width: u64,
    /// The sum of the shares not yet spent on a mark, in units of 1 / `width`: exact, where a float would drift.
    carry: u64,
}

impl Ramp {
    pub(crate) fn new(low: u64, high: u64) -> Ramp {
        Ramp { low, width: high.saturating_sub(low), carry: 0 }
    }

    #[inline]
    pub(crate) fn decide(&mut self, wait: u64, ecn: Ecn) -> bool {
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
