//! How much the delay differs from packet to packet: RFC 3393's variation and RFC 3550's jitter.

use crate::histogram::Histogram;
use paceline_units::TimeDelta;

/// Over how many differences the jitter is smoothed (RFC 3550 section 6.4.1).
const SMOOTHING: u64 = 16;

/// The differences between the delays of packets that arrive one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variation {
    pub(crate) differences: Histogram,
    pub(crate) jitter: Histogram,
    /// Nanoseconds of the delay of the packet before.
    before: Option<i64>,
    /// The estimate, times [`SMOOTHING`] as in RFC 3550 appendix A.8, so that no remainder is lost.
    scaled: u64,
}

impl Variation {
    /// A packet arrived after `delay`. The first has nothing to differ from.
    #[inline(always)]
    pub(super) fn record(&mut self, delay: TimeDelta) {
        let delay = delay.as_nanos();
        let Some(before) = self.before.replace(delay) else { return };
        let difference = delay.abs_diff(before);
        self.differences.record_nanos(difference);
        self.scaled = self.scaled - self.scaled / SMOOTHING + difference;
        self.jitter.record_nanos(self.scaled / SMOOTHING);
    }
}

#[cfg(test)]
mod tests;
