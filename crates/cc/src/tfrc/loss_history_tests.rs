use super::*;
use alloc::vec::Vec;

/// A lost packet; packet n arrives at 10 n.
fn lost(first: u64, last: u64) -> LostRun {
    LostRun {
        stream: 0,
        first,
        last,
        before: (first - 1, (first - 1) * 10),
        after: (last + 1, (last + 1) * 10),
        offset: 0,
    }
}

fn plain() -> Params {
    Params { history_discounting: false, ..Params::default() }
}

/// Losses at these numbers, with a round trip of ten packets.
fn history(params: &Params, losses: &[u64], first: f64) -> LossHistory {
    let mut history = LossHistory::new(params);
    losses.iter().for_each(|&n| {
        history.add(lost(n, n), 100, first);
    });
    history
}

fn starts(history: &LossHistory) -> Vec<u64> {
    history.events.iter().rev().map(|event| event.start).collect()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-12, "{found}, expected {expected}");
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    let history = history(&plain(), &[100, 105, 110, 111, 130, 141], 50.0);
    assert_eq!(starts(&history), [100, 111, 130, 141], "at T_old + R it still belongs to the old one");
}

#[test]
fn a_long_hole_has_an_event_a_round_trip() {
    let mut history = history(&plain(), &[100], 50.0);
    history.add(lost(200, 249), 100, 50.0);
    assert_eq!(starts(&history), [100, 200, 211, 222, 233, 244]);
    history.add(lost(300, 1_000_000_000), 100, 50.0);
    let starts = starts(&history);
    assert_eq!(starts.len(), 17);
    assert!(starts.windows(2).skip(1).all(|pair| pair[1] - pair[0] == 11), "{starts:?}");
    assert!(starts[16] > 999_999_980, "{starts:?}");
}

#[test]
fn the_mean_of_eight_weighted_intervals() {
    // Intervals 100, 200, ... 800, the newest largest.
    let ends = [100, 200, 400, 700, 1100, 1600, 2200, 2900, 3700];
    let history = history(&plain(), &ends, 1e9);
    let total = 800.0 + 700.0 + 600.0 + 500.0 + 0.8 * 400.0 + 0.6 * 300.0 + 0.4 * 200.0 + 0.2 * 100.0;
    near(history.loss_event_rate(3701), 6.0 / total);
    // The present interval counts from where it makes the mean longer.
    let with = 2000.0 + 800.0 + 700.0 + 600.0 + 0.8 * 500.0 + 0.6 * 400.0 + 0.4 * 300.0 + 0.2 * 200.0;
    near(history.loss_event_rate(5700), 6.0 / with);
}

#[test]
fn before_the_first_event_there_was_an_interval() {
    let history = history(&plain(), &[100, 150], 400.0);
    near(history.loss_event_rate(151), 2.0 / 450.0);
    near(history.loss_event_rate(750), 2.0 / 650.0);
    assert_eq!(LossHistory::new(&plain()).loss_event_rate(1000), 0.0);
}

#[test]
fn a_long_interval_discounts_those_before_it() {
    let ends = [100, 200, 300, 400, 500, 600, 700, 800, 900];
    let history = history(&Params::default(), &ends, 100.0);
    near(history.loss_event_rate(1000), 0.01);
    // I_0 of 400 is four times the mean: DF = 0.5, all but I_0 at half weight.
    let (total, weights) = (400.0 + 0.5 * 100.0 * 5.0, 1.0 + 0.5 * 5.0);
    near(history.loss_event_rate(1300), weights / total);
    // Not below the threshold of 0.25.
    let (total, weights) = (100_000.0 + 0.25 * 500.0, 1.0 + 0.25 * 5.0);
    near(history.loss_event_rate(100_900), weights / total);
}

#[test]
fn discounts_stay_when_the_interval_ends() {
    let ends = [100, 200, 300, 400, 500, 600, 700, 800, 900];
    let mut history = history(&Params::default(), &ends, 100.0);
    history.add(lost(1300, 1300), 100, 0.0);
    // I_1 = 400 with DF 1, I_2 to I_8 with 0.5.
    let (total, weights) = (400.0 + 0.5 * 100.0 * 5.0, 1.0 + 0.5 * 5.0);
    near(history.loss_event_rate(1301), weights / total);
}

#[test]
fn a_packet_that_turns_up_takes_its_event_along() {
    let mut history = history(&plain(), &[100, 200, 300], 50.0);
    assert_eq!(history.take_back(0, 250, 100), None, "never lost: a duplicate");
    assert_eq!(history.take_back(0, 200, 100), Some(true));
    assert_eq!(starts(&history), [100, 300]);
    assert_eq!(history.take_back(0, 200, 100), None);
    assert_eq!(history.take_back(0, 100, 100), Some(true));
    assert_eq!(starts(&history), [300]);
    near(history.loss_event_rate(301), 1.0 / 50.0);
    assert_eq!(history.take_back(0, 300, 100), Some(true));
    assert_eq!(history.loss_event_rate(400), 0.0);
}

#[test]
fn an_event_whose_first_packet_turns_up_begins_later() {
    let mut history = history(&plain(), &[100], 50.0);
    history.add(lost(200, 204), 100, 50.0);
    history.add(lost(211, 211), 100, 50.0);
    assert_eq!(starts(&history), [100, 200, 211]);
    assert_eq!(history.take_back(0, 202, 100), Some(false), "the event loses nothing but a packet");
    assert_eq!(history.take_back(0, 200, 100), Some(true));
    assert_eq!(starts(&history), [100, 201], "211 is within a round trip of 201");
}

#[test]
fn a_mark_that_comes_late_is_put_in_its_place() {
    let mut history = history(&plain(), &[100, 300], 50.0);
    assert!(history.add(LostRun::marked(0, 200, 2000, 0), 100, 0.0));
    assert_eq!(starts(&history), [100, 200, 300]);
    assert_eq!(history.take_back(0, 200, 100), None, "it arrived: another copy is a duplicate");
}
