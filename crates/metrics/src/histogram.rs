//! Distributions of times in fixed memory, exact to 1 %: what every percentile of a summary comes from.

use paceline_units::TimeDelta;

/// Bits of a value that count, after its leading one: buckets are at most 1/128 of their value wide.
const PRECISION: u32 = 7;
/// Bits of a 64-bit float that do not count.
const REST: u32 = f64::MANTISSA_DIGITS - 1 - PRECISION;
/// Buckets of an octave.
const OCTAVE: usize = 1 << PRECISION;

/// A log-linear histogram of times in nanoseconds.
///
/// Values below 256 ns are exact, others fall in buckets 0.8 % wide; count, sum, smallest and largest value are exact. Recording
/// costs a handful of integer instructions. Memory grows with the octaves from the smallest to the largest value: 256 B each, 1.25 KiB
/// once a bucket counts more than 16 bits. So the buckets of many flows stay in the processor's cache.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Apart from the others, since delays that do not occur are recorded for each packet too.
    zeros: u64,
    /// The last 16 bits of each bucket's count, from the octave of the smallest value to that of the largest.
    low: Vec<u16>,
    /// The bits before them, of the buckets up to the last that has any.
    high: Vec<u64>,
    /// Number, by [`bucket`], of the first one.
    first: usize,
    sum: u128,
    /// Of those that are not zero; `u64::MAX` without any.
    min: u64,
    /// By how much the largest exceeds the smallest: both are compared with a value at once.
    range: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { zeros: 0, low: Vec::new(), high: Vec::new(), first: 0, sum: 0, min: u64::MAX, range: 0 }
    }
}

/// The bucket of a value above zero and below 2^63: its exponent, then its seven bits after the leading one, which a float has in its first
/// bits. A value above 104 days is rounded to a float, at most into the next bucket.
#[inline]
fn bucket(value: u64) -> usize {
    ((value as i64 as f64).to_bits() >> REST) as usize
}

/// The smallest value that belongs into a bucket.
fn lowest(bucket: usize) -> u64 {
    f64::from_bits((bucket as u64) << REST).ceil() as u64
}

/// The middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let (low, next) = (lowest(bucket), lowest(bucket + 1));
    low + (next - low).saturating_sub(1) / 2
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
        if span > TimeDelta::ZERO {
            let value = span.as_nanos() as u64;
            self.count_in(bucket(value), weight);
            self.sum += u128::from(value) * u128::from(weight);
            self.cover(value);
        } else {
            self.zeros += weight;
        }
    }

    /// Records a time of so many nanoseconds, below 2^63.
    #[inline(always)]
    pub(crate) fn record_nanos(&mut self, value: u64) {
        if value > 0 {
            self.count_in(bucket(value), 1);
            self.sum += u128::from(value);
            self.cover(value);
        } else {
            self.zeros += 1;
        }
    }

    #[inline(always)]
    fn count_in(&mut self, bucket: usize, weight: u64) {
        let place = bucket.wrapping_sub(self.first);
        let Some(low) = self.low.get_mut(place) else { return self.grow(bucket, weight) };
        let (sum, is_over) = low.overflowing_add(weight as u16);
        *low = sum;
        let carried = (weight >> u16::BITS) + u64::from(is_over);
        if carried > 0 {
            self.carry(place, carried);
        }
    }

    #[cold]
    #[inline(never)]
    fn carry(&mut self, place: usize, carried: u64) {
        if self.high.len() <= place {
            self.high.resize(place + 1, 0);
        }
        self.high[place] += carried;
    }

    /// The buckets in order, and what each of them counted.
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        let high = self.high.iter().copied().chain(std::iter::repeat(0));
        let counts = self.low.iter().zip(high).map(|(low, high)| high << u16::BITS | u64::from(*low));
        (self.first..).zip(counts)
    }

    /// Lets smallest and largest value cover `value`, which is not zero.
    #[inline(always)]
    fn cover(&mut self, value: u64) {
        if value.wrapping_sub(self.min) > self.range {
            self.widen(value);
        }
    }

    /// Makes room for whole octaves, up or down: a run allocates a few times at its beginning and then never again.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, bucket: usize, weight: u64) {
        let octave = bucket / OCTAVE * OCTAVE;
        if self.low.is_empty() {
            self.first = octave;
        }
        let below = self.first.saturating_sub(octave);
        self.low.splice(0..0, std::iter::repeat_n(0, below));
        if !self.high.is_empty() {
            self.high.splice(0..0, std::iter::repeat_n(0, below));
        }
        self.first -= below;
        let wanted = octave + OCTAVE - self.first;
        self.low.resize(self.low.len().max(wanted), 0);
        self.count_in(bucket, weight);
    }

    /// The smallest or largest value is now `value`, or both are.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, value: u64) {
        let max = self.largest().map_or(value, |max| max.max(value));
        self.min = self.min.min(value);
        self.range = max - self.min;
    }

    /// The largest of those that are not zero.
    fn largest(&self) -> Option<u64> {
        (self.min != u64::MAX).then(|| self.min + self.range)
    }

    /// How many were recorded, or their weight.
    pub fn count(&self) -> u64 {
        self.zeros + self.counts().map(|(_, count)| count).sum::<u64>()
    }

    /// The smallest, exactly.
    pub fn min(&self) -> Option<TimeDelta> {
        let smallest = if self.zeros > 0 { 0 } else { self.min };
        (self.count() > 0).then(|| TimeDelta::from_nanos(smallest as i64))
    }

    /// The largest, exactly.
    pub fn max(&self) -> Option<TimeDelta> {
        (self.count() > 0).then(|| TimeDelta::from_nanos(self.largest().unwrap_or(0) as i64))
    }

    /// The mean in nanoseconds, exactly.
    pub fn mean_nanos(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
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
        let max = self.largest()?;
        for (bucket, count) in self.counts() {
            below += count;
            if below >= rank {
                return Some(TimeDelta::from_nanos(middle(bucket).min(max) as i64));
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
