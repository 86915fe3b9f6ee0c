//! At which rate packets arrive, by their own arrival times.

use alloc::collections::VecDeque;

/// Arrivals that are remembered.
const MARKS: usize = 256;
/// Seconds that they cover, where packets are frequent.
const COVERED: f64 = 2.0;
/// Arrivals closer together than this are remembered as one.
const SPACING: f64 = COVERED / MARKS as f64;

/// Bits that had arrived at remembered times, in seconds by our clock.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    marks: VecDeque<(f64, f64)>,
    bits: f64,
    latest: f64,
}

impl Delivery {
    pub(super) fn new() -> Delivery {
        Delivery { marks: VecDeque::with_capacity(MARKS + 1), bits: 0.0, latest: f64::NEG_INFINITY }
    }

    #[inline]
    pub(super) fn on_arrival(&mut self, at: f64, bits: f64) {
        if at < self.latest - COVERED {
            // Other clocks: nothing compares.
            self.marks.clear();
            self.latest = at;
        }
        self.bits += bits;
        self.latest = self.latest.max(at);
        if self.marks.back().is_none_or(|&(last, _)| at >= last + SPACING) {
            self.marks.push_back((at, self.bits));
            if self.marks.len() > MARKS {
                self.marks.pop_front();
            }
        }
    }

    /// Bit/s over the last `span` seconds, or longer where that holds less than `fewest` bits; absent if not so much is
    /// remembered.
    pub(super) fn rate(&self, span: f64, fewest: f64) -> Option<f64> {
        let is_enough = |&&(at, bits): &&(f64, f64)| self.latest - at >= span && self.bits - bits >= fewest;
        let &(at, bits) = self.marks.iter().rev().find(is_enough)?;
        let elapsed = self.latest - at;
        (elapsed > 0.0).then(|| (self.bits - bits) / elapsed)
    }

    /// The rate that fits the arrivals of the last `span` seconds best, where their times are noisy: least squares of times
    /// over bits.
    pub(super) fn fitted_rate(&self, span: f64) -> Option<f64> {
        let recent = || self.marks.iter().rev().take_while(|(at, _)| self.latest - at <= span);
        let count = recent().count() as f64;
        let (sum_at, sum_bits) = recent().fold((0.0, 0.0), |sum, mark| (sum.0 + mark.0, sum.1 + mark.1));
        let (mean_at, mean_bits) = (sum_at / count, sum_bits / count);
        let (both, squares) = recent().fold((0.0, 0.0), |sum, &(at, bits)| {
            let bits = bits - mean_bits;
            (sum.0 + bits * (at - mean_at), sum.1 + bits * bits)
        });
        (both > 0.0).then(|| squares / both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_whole_gaps() {
        let mut delivery = Delivery::new();
        assert_eq!(delivery.rate(0.1, 0.0), None);
        for packet in 0..100 {
            delivery.on_arrival(f64::from(packet) * 0.01, 1000.0);
        }
        let rate = delivery.rate(0.1, 0.0).expect("enough");
        assert!((rate - 100_000.0).abs() < 1e-3, "{rate}");
        let longer = delivery.rate(0.1, 50_000.0).expect("enough");
        assert!((longer - 100_000.0).abs() < 1e-3, "{longer}");
        assert_eq!(delivery.rate(0.1, 1e6), None);
        assert_eq!(delivery.rate(5.0, 0.0), None);
    }

    #[test]
    fn a_clock_that_goes_back_starts_anew() {
        let mut delivery = Delivery::new();
        (0..50).for_each(|packet| delivery.on_arrival(1000.0 + f64::from(packet) * 0.01, 1000.0));
        (0..50).for_each(|packet| delivery.on_arrival(f64::from(packet) * 0.02, 1000.0));
        let rate = delivery.rate(0.5, 0.0).expect("enough");
        assert!((rate - 50_000.0).abs() < 1.0, "{rate}");
    }
}
