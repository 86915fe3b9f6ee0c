//! The histogram against sorted values.

use super::*;
use proptest::prelude::*;

/// Number and middle of the bucket of `value` by integers alone.
fn by_integers(value: u64) -> (usize, u64) {
    let shift = 63 - (value | 1 << PRECISION).leading_zeros() - PRECISION;
    let significant = value >> shift;
    (
        ((shift as usize) << PRECISION) + significant as usize,
        (significant << shift) + ((1u64 << shift) - 1) / 2,
    )
}

#[test]
fn a_float_has_the_buckets_that_integers_give() {
    // Both ends of every bucket of values that floats hold exactly.
    let ends = (0..46u32).flat_map(|shift| (128u64..256).map(move |low| low << shift));
    let mut values: Vec<u64> = ends.flat_map(|end| [end - 1, end, end + 1]).chain(1..1000).collect();
    values.retain(|value| *value < 1 << 53);
    values.sort_unstable();
    values.dedup();
    for pair in values.windows(2) {
        let [one, next] = [pair[0], pair[1]].map(|value| (bucket(value), by_integers(value)));
        assert_eq!(one.0 == next.0, one.1.0 == next.1.0, "{pair:?}");
        assert!(one.0 <= next.0, "{pair:?}");
        assert_eq!(middle(one.0), one.1.1, "{pair:?}");
    }
}

#[test]
fn an_empty_one_has_no_figures() {
    let empty = Histogram::new();
    assert_eq!((empty.quantile(0.5), empty.max(), empty.mean_nanos()), (None, None, None));
    assert_eq!(empty.min(), None);
}

#[test]
fn weights_count_as_repetitions() {
    let (mut weighted, mut repeated) = (Histogram::new(), Histogram::new());
    for (value, weight) in [(5_000, 3), (70_000, 1), (900_000, 2)] {
        weighted.record_weighted(TimeDelta::from_nanos(value), weight);
        (0..weight).for_each(|_| repeated.record(TimeDelta::from_nanos(value)));
    }
    assert_eq!((weighted.count(), weighted.sum), (6, repeated.sum));
    assert!(weighted.counts().eq(repeated.counts()));
}

#[test]
fn what_exceeds_the_smallest_is_never_negative() {
    let mut delays = Histogram::new();
    for micros in [50_100, 50_000, 53_000] {
        delays.record(TimeDelta::from_micros(micros));
    }
    assert_eq!(delays.min(), Some(TimeDelta::from_micros(50_000)));
    // The smallest lies above the middle of its bucket: only quantiles are rounded.
    assert_eq!(delays.above_min(0.0), Some(0.0));
    let most = delays.above_min(1.0).expect("not empty");
    assert!((most - 3.0).abs() < 0.3, "{most}");
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
        prop_assert_eq!(histogram.min().map(|min| min.as_nanos()), values.first().copied());
    }

    #[test]
    fn the_order_of_values_changes_nothing(mut values in proptest::collection::vec(0u32..63, 1..40)) {
        let recorded = |values: &[u32]| {
            let mut histogram = Histogram::new();
            values.iter().for_each(|bits| histogram.record(TimeDelta::from_nanos(1 << bits)));
            let counts: Vec<(usize, u64)> = histogram.counts().collect();
            (counts, histogram.min(), histogram.max(), histogram.sum)
        };
        let before = recorded(&values);
        values.sort_unstable();
        prop_assert_eq!(recorded(&values), before);
    }

    /// Counts around and beyond 16 bits, and values for which there is no room yet between them.
    #[test]
    fn every_bucket_counts_as_far_as_a_wide_number_does(
        records in proptest::collection::vec((0u32..40, prop_oneof![0u64..3, 0xfff0u64..0x1_0010, 0u64..1 << 40]), 1..60),
    ) {
        let (mut histogram, mut wide) = (Histogram::new(), std::collections::BTreeMap::new());
        for (bits, weight) in records {
            let value = 1u64 << bits;
            histogram.record_weighted(TimeDelta::from_nanos(value as i64), weight);
            *wide.entry(bucket(value)).or_insert(0) += weight;
            let known = histogram.counts().filter(|(_, count)| *count > 0);
            prop_assert!(known.eq(wide.iter().map(|(bucket, count)| (*bucket, *count)).filter(|(_, count)| *count > 0)));
            prop_assert_eq!(histogram.count(), wide.values().sum::<u64>());
        }
    }

    #[test]
    fn no_span_panics(nanos in any::<i64>(), weight in 0u64..1 << 40) {
        let mut histogram = Histogram::new();
        histogram.record_weighted(TimeDelta::from_nanos(nanos), weight);
        let _ = (histogram.quantile(0.99), histogram.mean_nanos());
    }
}
