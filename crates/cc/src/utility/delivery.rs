//! At which rate packets arrive, by their own arrival times.

use alloc::collections::VecDeque;

/// Arrivals that are remembered.
const MARKS: usize = 256;
/// Seconds that they cover, where packets are frequent.
const COVERED: f64 = 2.0;
/// Arrivals closer together than this are remembered as one.
const SPACING: f64 = COVERED / MARKS as f64;

/// Seconds that are remembered in any case: 256 marks have 255 gaps.
const REMEMBERED: f64 = COVERED - SPACING;

/// Bits that had arrived at remembered times, in seconds by our clock.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    marks: VecDeque<(f64, f64)>,
    bits: f64,
    latest: f64,
    /// From when on an arrival is remembered.
    next: f64,
    /// How many marks were old enough when the rate was asked for last: spans hardly change from one report to the next.
    old: usize,
}

impl Delivery {
    pub(crate) fn new() -> Delivery {
        let (marks, never) = (VecDeque::with_capacity(MARKS + 1), f64::NEG_INFINITY);
        Delivery { marks, bits: 0.0, latest: never, next: never, old: 0 }
    }

    /// Arrivals are counted anew.
    pub(crate) fn forget(&mut self) {
        self.marks.clear();
        (self.bits, self.latest, self.next) = (0.0, f64::NEG_INFINITY, f64::NEG_INFINITY);
    }

    #[inline]
    pub(crate) fn on_arrival(&mut self, at: f64, bits: f64) {
        if at < self.latest - COVERED {
            // Other clocks: nothing compares.
            self.marks.clear();
            (self.latest, self.next) = (at, f64::NEG_INFINITY);
        }
        self.bits += bits;
        self.latest = self.latest.max(at);
        if at >= self.next {
            self.next = at + SPACING;
            self.marks.push_back((at, self.bits));
            if self.marks.len() > MARKS {
                self.marks.pop_front();
            }
        }
    }

    /// A packet arrived behind others that were sent later.
    pub(crate) fn on_late(&mut self, bits: f64) {
        self.bits += bits;
    }

    /// Bit/s over the last `span` seconds, or over all that is remembered where that is less; longer where that holds less
    /// than `fewest` bits. Absent if not so much has arrived.
    pub(crate) fn rate(&mut self, span: f64, fewest: f64) -> Option<f64> {
        let span = span.min(REMEMBERED);
        // Marks rise in time and in bits.
        let is_old = |&(at, bits): &(f64, f64)| self.latest - at >= span && self.bits - bits >= fewest;
        let mut old = self.old;
        while self.marks.get(old).is_some_and(is_old) {
            old += 1;
        }
        while old > 0 && !self.marks.get(old - 1).is_some_and(is_old) {
            old -= 1;
        }
        self.old = old;
        let &(at, bits) = self.marks.get(old.checked_sub(1)?)?;
        let elapsed = self.latest - at;
        (elapsed > 0.0).then(|| (self.bits - bits) / elapsed)
    }

    /// The rate that fits the arrivals of the last `span` seconds best, where their times are noisy: least squares of times
    /// over bits.
    pub(crate) fn fitted_rate(&self, span: f64) -> Option<f64> {
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

    /// Slow start asks for a round trip: one of 2.5 s had no answer, ever.
    #[test]
    fn a_round_trip_longer_than_the_memory_is_measured_over_the_memory() {
        for gap in [0.001, 0.007, 0.0079, 0.05] {
            let mut delivery = Delivery::new();
            (0..10_000).for_each(|packet| delivery.on_arrival(f64::from(packet) * gap, 1000.0));
            for span in [1.9, 2.5, 20.0] {
                let rate = delivery.rate(span, 4000.0).expect("enough");
                assert!((rate * gap / 1000.0 - 1.0).abs() < 1e-6, "{gap} {span}: {rate}");
            }
        }
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
