//! The average loss interval (RFC 5348 sections 5.4 and 5.5): weights, discounts, and p. CCID 3's sender and NADA use the same.

use super::Params;

/// Which loss intervals count, and with what weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Averager {
    /// `n`, the intervals that are averaged.
    pub(crate) n: usize,
    /// The smallest discount factor; absent without discounting.
    pub(crate) threshold: Option<f64>,
    /// Intervals that have not been count as zero, as in ns-2.35's DCCP, instead of not at all.
    pub(crate) absent_are_zero: bool,
}

impl Averager {
    /// By these parameters; intervals that have not been do not count.
    pub(crate) fn new(params: &Params) -> Averager {
        let threshold = params.history_discounting.then_some(params.threshold);
        Averager { n: params.n as usize, threshold, absent_are_zero: false }
    }

    /// `w_i` (section 5.4).
    fn weight(&self, i: usize) -> f64 {
        if 2 * i < self.n { 1.0 } else { 2.0 * (self.n - i) as f64 / (self.n + 2) as f64 }
    }

    /// `I_tot1` and `W_tot1` (section 5.5), of the closed intervals with their discounts, the newest first, at most `n`.
    fn closed_sums(&self, closed: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
        closed.enumerate().fold((0.0, 0.0), |(total, weights), (i, (length, discount))| {
            let weight = self.weight(i) * discount;
            (total + length * weight, weights + weight)
        })
    }

    /// The mean of the closed intervals with their discounts, the newest first, at most `n`; absent where there are none.
    pub(crate) fn mean(&self, closed: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
        let (total, weights) = self.closed_sums(closed);
        (weights > 0.0).then(|| total / weights)
    }

    /// DF, when the present interval has `length` packets (section 5.5).
    pub(crate) fn discount(&self, length: u64, closed: impl Iterator<Item = (f64, f64)>) -> f64 {
        let Some(threshold) = self.threshold else { return 1.0 };
        let Some(mean) = self.mean(closed) else { return 1.0 };
        let length = length as f64;
        if length > 2.0 * mean { (2.0 * mean / length).max(threshold) } else { 1.0 }
    }

    /// p, when the present interval has `length` packets, and `closed` are those before it.
    pub(crate) fn loss_event_rate(
        &self,
        length: u64,
        closed: impl Iterator<Item = (f64, f64)> + Clone,
    ) -> f64 {
        let factor = self.discount(length, closed.clone());
        let count = if self.absent_are_zero { self.n } else { closed.clone().count() };
        let (mut total, mut weights) = (length as f64 * self.weight(0), self.weight(0));
        // I_tot0 leaves out the oldest: section 5.4 adds I_0 to I_(k-1).
        for (i, (length, discount)) in closed.clone().take(count.saturating_sub(1)).enumerate() {
            let weight = self.weight(i + 1) * discount * factor;
            total += length * weight;
            weights += weight;
        }
        let (total_1, weights_1) = self.closed_sums(closed);
        if self.absent_are_zero {
            let all: f64 = (0..self.n).map(|i| self.weight(i)).sum();
            return (all / total.max(total_1)).clamp(0.0, 1.0);
        }
        let with_present = weights / total;
        let without_present = if total_1 > 0.0 { weights_1 / total_1 } else { 1.0 };
        with_present.min(without_present).clamp(0.0, 1.0)
    }
}
