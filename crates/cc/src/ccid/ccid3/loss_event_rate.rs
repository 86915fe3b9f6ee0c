//! The loss event rate as the sender computes it from Loss Intervals (RFC 4342 section 6.1.1, RFC 5348 sections 5.4, 5.5).

use crate::ccid::LossInterval;
use crate::tfrc::average::Averager;

/// p from the intervals, the newest first; absent if there is none. Discounts are those that the intervals themselves
/// imply: each interval discounts those before it when it ends, from the oldest that is told on.
pub(super) fn loss_event_rate(averager: &Averager, intervals: &[LossInterval]) -> Option<f64> {
    let intervals = &intervals[..intervals.len().min(LossInterval::MOST)];
    let (present, before) = intervals.split_first()?;
    if before.is_empty() && present.loss_length == 0 {
        return Some(0.0);
    }
    let length = |interval: &LossInterval| u64::from(interval.data_length.max(1));
    let mut closed = [(0.0, 1.0); LossInterval::MOST];
    let closed = &mut closed[..before.len()];
    for (slot, interval) in closed.iter_mut().zip(before) {
        slot.0 = length(interval) as f64;
    }
    for ended in (0..before.len().saturating_sub(1)).rev() {
        let (_, older) = closed.split_at_mut(ended + 1);
        let counted = older.iter().copied().take(averager.n);
        let factor = averager.discount(length(&before[ended]), counted);
        older.iter_mut().for_each(|(_, discount)| *discount *= factor);
    }
    Some(averager.loss_event_rate(length(present), closed.iter().copied().take(averager.n)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const PLAIN: Averager = Averager { n: 8, threshold: None, absent_are_zero: false };

    fn intervals(data: &[u32]) -> Vec<LossInterval> {
        let interval =
            |data: &u32| LossInterval { lossless_length: data - 1, loss_length: 1, data_length: *data };
        data.iter().map(interval).collect()
    }

    #[track_caller]
    fn near(found: Option<f64>, expected: f64) {
        assert!(
            found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-12),
            "{found:?}, not {expected}"
        );
    }

    #[test]
    fn none_before_the_first_loss() {
        assert_eq!(loss_event_rate(&PLAIN, &[]), None);
        let first = LossInterval { lossless_length: 1000, loss_length: 0, data_length: 0 };
        assert_eq!(loss_event_rate(&PLAIN, &[first]), Some(0.0));
        near(loss_event_rate(&PLAIN, &intervals(&[50])), 1.0 / 50.0);
        near(loss_event_rate(&PLAIN, &intervals(&[1, 200])), 1.0 / 200.0);
    }

    #[test]
    fn the_weighted_mean_with_or_without_the_present_interval() {
        let lengths = [1, 800, 700, 600, 500, 400, 300, 200, 100];
        let total = 800.0 + 700.0 + 600.0 + 500.0 + 0.8 * 400.0 + 0.6 * 300.0 + 0.4 * 200.0 + 0.2 * 100.0;
        near(loss_event_rate(&PLAIN, &intervals(&lengths)), 6.0 / total);
        let with = 2000.0 + 800.0 + 700.0 + 600.0 + 0.8 * 500.0 + 0.6 * 400.0 + 0.4 * 300.0 + 0.2 * 200.0;
        near(
            loss_event_rate(&PLAIN, &intervals(&[2000, 800, 700, 600, 500, 400, 300, 200, 100])),
            6.0 / with,
        );
    }

    #[test]
    fn discounts_are_found_again() {
        let averager = Averager { n: 8, threshold: Some(0.25), absent_are_zero: false };
        // As in the loss history's own test: I_1 = 400 keeps its weight, those before have half.
        let (total, weights) = (400.0 + 0.5 * 100.0 * 5.0, 1.0 + 0.5 * 5.0);
        let lengths = [1, 400, 100, 100, 100, 100, 100, 100, 100, 100];
        near(loss_event_rate(&averager, &intervals(&lengths)), weights / total);
    }

    #[test]
    fn more_than_fit_into_an_option_are_left_out() {
        let p = loss_event_rate(&PLAIN, &intervals(&[100; 100]));
        near(p, 0.01);
        let worst = [LossInterval { lossless_length: 0, loss_length: 0, data_length: 0 }; 60];
        assert_eq!(loss_event_rate(&PLAIN, &worst), Some(1.0));
    }

    #[test]
    fn ns2_counts_intervals_that_have_not_been_as_zero() {
        let ns2 = Averager { absent_are_zero: true, ..PLAIN };
        // One interval of 600 packets closed: 1/600 by the RFC, six times that with eight weights of sum 6.
        near(loss_event_rate(&PLAIN, &intervals(&[1, 600])), 1.0 / 600.0);
        near(loss_event_rate(&ns2, &intervals(&[1, 600])), 6.0 / 601.0);
        let full = [50, 100, 100, 100, 100, 100, 100, 100, 100];
        near(loss_event_rate(&ns2, &intervals(&full)), 0.01);
    }
}
