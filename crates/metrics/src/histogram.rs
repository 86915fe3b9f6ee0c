//! Distributions of times in fixed memory, exact to 1 %: what every percentile of a summary comes from.

use paceline_units::TimeDelta;

/// Bits of a value that count, after its leading one: buckets are at most 1/128 of their value wide.
const PRECISION: u32 = 7;

/// A log-linear histogram of times in nanoseconds.
///
/// Values below 256 ns are exact, others fall in buckets 0.8 % wide; count, sum, and largest value are exact. Recording
/// costs a handful of integer instructions. Memory grows to at most 58 KiB, for times up to 292 years.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

/// The bucket of `value`: its exponent, then its seven bits after the leading one.
#[inline]
const fn bucket(value: u64) -> usize {
    let exponent = 63 - (value | 1 << PRECISION).leading_zeros();
    let shift = exponent - PRECISION;
    ((shift as usize) << PRECISION) + (value >> shift) as usize
}

/// The middle of a bucket.
const fn middle(bucket: usize) -> u64 {
    let shift = (bucket >> PRECISION).saturating_sub(1) as u32;
    let low = (bucket as u64 - ((shift as u64) << PRECISION)) << shift;
    low + ((1u64 << shift) - 1) / 2
}

impl Histogram {
    /// An empty one.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Records `span`; a negative one as zero.
    #[inline]
    pub fn record(&mut self, span: TimeDelta) {
        self.record_weighted(span, 1);
    }

    /// Records `span` as if it had come `weight` times: for averages over time the weight is how long it held.
    #[inline]
    pub fn record_weighted(&mut self, span: TimeDelta, weight: u64) {
        let value = span.as_nanos().max(0) as u64;
        let index = bucket(value);
        match self.buckets.get_mut(index) {
            Some(count) => *count += weight,
            None => self.grow(index, weight),
        }
        self.count += weight;
        self.sum += u128::from(value) * u128::from(weight);
        self.max = self.max.max(value);
    }

    #[cold]
    fn grow(&mut self, index: usize, weight: u64) {
        // A whole octave at once: a run allocates a few times at its beginning and then never again.
        self.buckets.resize((index >> PRECISION).saturating_add(1) << PRECISION, 0);
        self.buckets[index] += weight;
    }

    /// How many were recorded, or their weight.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest, exactly.
    pub fn max(&self) -> Option<TimeDelta> {
        (self.count > 0).then(|| TimeDelta::from_nanos(self.max as i64))
    }

    /// The mean in nanoseconds, exactly.
    pub fn mean_nanos(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest value that at least the ratio `q` of all do not exceed (nearest rank), to 1 %.
    pub fn quantile(&self, q: f64) -> Option<TimeDelta> {
        if self.count == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut below = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                return Some(TimeDelta::from_nanos(middle(index).min(self.max) as i64));
            }
        }
        self.max()
    }

    /// Adds everything that `other` recorded.
    pub fn merge(&mut self, other: &Histogram) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (count, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += more;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_consecutive() {
        let mut last = 0;
        for value in 0..100_000u64 {
            let index = bucket(value);
            assert!(index == last || index == last + 1, "{value}");
            last = index;
        }
        assert_eq!(bucket(u64::MAX), 7423);
        assert_eq!((0..256).map(|v| middle(bucket(v))).collect::<Vec<_>>(), (0..256).collect::<Vec<_>>());
    }

    #[test]
    fn an_empty_one_has_no_figures() {
        let empty = Histogram::new();
        assert_eq!((empty.quantile(0.5), empty.max(), empty.mean_nanos()), (None, None, None));
    }

    #[test]
    fn weights_count_as_repetitions() {
        let (mut weighted, mut repeated) = (Histogram::new(), Histogram::new());
        for (value, weight) in [(5_000, 3), (70_000, 1), (900_000, 2)] {
            weighted.record_weighted(TimeDelta::from_nanos(value), weight);
            (0..weight).for_each(|_| repeated.record(TimeDelta::from_nanos(value)));
        }
        assert_eq!((weighted.count, weighted.sum, &weighted.buckets), (6, repeated.sum, &repeated.buckets));
        let mut merged = Histogram::new();
        merged.record(TimeDelta::from_nanos(12));
        merged.merge(&weighted);
        assert_eq!((merged.count(), merged.max), (7, 900_000));
        assert_eq!(merged.quantile(0.1), Some(TimeDelta::from_nanos(12)));
    }

    proptest! {
        #[test]
        fn quantiles_are_exact_to_one_percent(
            mut values in proptest::collection::vec(0i64..3_000_000_000_000, 1..400),
            q in 0.0f64..=1.0,
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|value| histogram.record(TimeDelta::from_nanos(*value)));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let found = histogram.quantile(q).expect("not empty").as_nanos() as f64;
            prop_assert!((found - exact).abs() <= 0.005 * exact, "{found} for {exact}");
            let mean = values.iter().map(|v| *v as f64).sum::<f64>() / values.len() as f64;
            prop_assert!((histogram.mean_nanos().expect("not empty") - mean).abs() <= 1e-9 * mean.max(1.0));
            prop_assert_eq!(histogram.max().map(|max| max.as_nanos()), values.last().copied());
        }

        #[test]
        fn no_span_panics(nanos in any::<i64>(), weight in 0u64..1 << 40) {
            let mut histogram = Histogram::new();
            histogram.record_weighted(TimeDelta::from_nanos(nanos), weight);
            let _ = (histogram.quantile(0.99), histogram.mean_nanos());
        }
    }
}
