//! Variation and jitter against arithmetic.

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
