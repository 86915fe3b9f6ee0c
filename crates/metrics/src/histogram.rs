//! Distributions of times in fixed memory, exact to 1 %: what every percentile of a summary comes from.

use paceline_units::TimeDelta;

/// Bits of a value that count, after its leading one: buckets are at most 1/128 of their value wide.
const PRECISION: u32 = 7;

/// A log-linear histogram of times in nanoseconds.
///
/// Values below 256 ns are exact, others fall in buckets 0.8 % wide; count, sum, smallest and largest value are exact. Recording
/// costs a handful of integer instructions. Memory grows to at most 58 KiB, for times up to 292 years.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Apart from the others, since delays that do not occur are recorded for each packet too.
    zeros: u64,
    buckets: Vec<u64>,
    /// How many are not zero.
    count: u64,
    sum: u128,
    /// Of those that are not zero; `u64::MAX` without any.
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { zeros: 0, buckets: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
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
        if span <= TimeDelta::ZERO {
            self.zeros += weight;
            return;
        }
        let value = span.as_nanos() as u64;
        let index = bucket(value);
        match self.buckets.get_mut(index) {
            Some(count) => *count += weight,
            None => self.grow(index, weight),
        }
        self.count += weight;
        self.sum += u128::from(value) * u128::from(weight);
        self.min = self.min.min(value);
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
        self.zeros + self.count
    }

    /// The smallest, exactly.
    pub fn min(&self) -> Option<TimeDelta> {
        let smallest = if self.zeros > 0 { 0 } else { self.min };
        (self.count() > 0).then(|| TimeDelta::from_nanos(smallest as i64))
    }

    /// The largest, exactly.
    pub fn max(&self) -> Option<TimeDelta> {
        (self.count() > 0).then(|| TimeDelta::from_nanos(self.max as i64))
    }

    /// The mean in nanoseconds, exactly.
    pub fn mean_nanos(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum as f64 / self.count() as f64)
    }

    /// The smallest value that at least the ratio `q` of all do not exceed (nearest rank), to 1 %.
    pub fn quantile(&self, q: f64) -> Option<TimeDelta> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).clamp(1, count);
        let mut below = self.zeros;
        if below >= rank {
            return Some(TimeDelta::ZERO);
        }
        for (index, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                return Some(TimeDelta::from_nanos(middle(index).min(self.max) as i64));
            }
        }
        self.max()
    }

    /// By how many milliseconds the `q` quantile exceeds the smallest; it is never below zero.
    pub(crate) fn above_min(&self, q: f64) -> Option<f64> {
        let (value, min) = (self.quantile(q)?, self.min()?);
        Some((value - min).max(TimeDelta::ZERO).as_millis_f64())
    }
}

#[cfg(test)]
mod tests;
