//! How much the delay differs from packet to packet: RFC 3393's variation and RFC 3550's jitter.

use crate::histogram::Histogram;
use paceline_units::TimeDelta;

/// Over how many differences the jitter is smoothed (RFC 3550 section 6.4.1).
const SMOOTHING: i64 = 16;

/// The differences between the delays of packets that arrive one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variation {
    pub(crate) differences: Histogram,
    pub(crate) jitter: Histogram,
    before: Option<TimeDelta>,
    /// The estimate, times [`SMOOTHING`] as in RFC 3550 appendix A.8, so that no remainder is lost.
    scaled: i64,
}

impl Variation {
    /// A packet arrived after `delay`. The first has nothing to differ from.
    #[inline]
    pub(super) fn record(&mut self, delay: TimeDelta) {
        let Some(before) = self.before.replace(delay) else { return };
        let difference = (delay.as_nanos() - before.as_nanos()).saturating_abs();
        self.differences.record(TimeDelta::from_nanos(difference));
        self.scaled += difference - self.scaled / SMOOTHING;
        self.jitter.record(TimeDelta::from_nanos(self.scaled / SMOOTHING));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Distribution;

    fn ms(millis: i64) -> TimeDelta {
        TimeDelta::from_millis(millis)
    }

    #[test]
    fn one_packet_varies_from_nothing() {
        let mut one = Variation::default();
        one.record(ms(10));
        assert_eq!(Distribution::from(&one.differences).mean, None);
        one.record(ms(10));
        assert_eq!(Distribution::from(&one.differences).mean, Some(0.0));
    }

    #[test]
    fn jitter_is_a_sixteenth_of_each_difference_less_a_sixteenth_of_itself() {
        let mut variation = Variation::default();
        for delay in [10, 26, 10, 10] {
            variation.record(ms(delay));
        }
        // 16 ms, 16 ms and 0: J = 1, 1 + 15/16, and 15/16 of that.
        let jitter = Distribution::from(&variation.jitter);
        let expected = [1.0, 1.0 + 15.0 / 16.0, (1.0 + 15.0 / 16.0) * 15.0 / 16.0];
        assert!((jitter.mean.expect("three") - expected.iter().sum::<f64>() / 3.0).abs() < 1e-6);
        assert!((jitter.max.expect("three") - expected[1]).abs() < 1e-6);
        let differences = Distribution::from(&variation.differences);
        assert_eq!((differences.max, differences.mean), (Some(16.0), Some(32.0 / 3.0)));
    }

    #[test]
    fn alternating_delays_settle_at_their_difference() {
        let mut variation = Variation::default();
        for packet in 0..400 {
            variation.record(ms(10 + 4 * (packet % 2)));
        }
        let last = variation.scaled as f64 / SMOOTHING as f64 / 1e6;
        assert!((last - 4.0).abs() < 0.01, "{last} ms");
    }
}
