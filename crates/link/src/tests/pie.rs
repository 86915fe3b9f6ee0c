//! PIE against RFC 8033: its chance, its bursts, its dice, and what it makes of a queue.

use super::drive::{drive, plain, steady};
use super::*;
use crate::PieConfig;
use crate::queue::pie::{Controller, DelayEstimate, auto_tune};
use paceline_units::RandomStream;

fn controller(drop_prob: f64, old: f64, current: f64) -> Controller {
    let mut controller = Controller::new(&PieConfig::default());
    (controller.drop_prob, controller.qdelay_old, controller.current_qdelay) = (drop_prob, old, current);
    controller.burst_allowance = TimeDelta::ZERO;
    controller
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-3), "{found}, expected {expected}");
}

#[test]
fn small_chances_take_small_steps() {
    // Section 4.2, both sides of every border.
    for (below, from, divisor, next) in [
        (0.9e-6, 1e-6, 2048.0, 512.0),
        (0.9e-5, 1e-5, 512.0, 128.0),
        (0.9e-4, 1e-4, 128.0, 32.0),
        (0.9e-3, 1e-3, 32.0, 8.0),
        (0.9e-2, 1e-2, 8.0, 2.0),
        (0.09, 0.1, 2.0, 1.0),
    ] {
        assert_eq!((auto_tune(below), auto_tune(from)), (divisor, next), "{from}");
    }
    assert_eq!((auto_tune(0.0), auto_tune(1.0)), (2048.0, 1.0));
}

#[test]
fn an_update_is_the_formula_of_section_4_2() {
    for (prob, old, current, expected) in [
        // 0.125 (30 - 15) ms + 1.25 (30 - 0) ms = 0.039375 / s, by the table.
        (0.0, 0.0, 0.030, 0.039_375 / 2048.0),
        (0.05, 0.0, 0.030, 0.05 + 0.039_375 / 2.0),
        // Section 5.5: at most 0.02 at once from 0.1 on.
        (0.1, 0.0, 0.030, 0.12),
        (0.5, 0.020, 0.025, 0.5 + 0.125 * 0.010 + 1.25 * 0.005),
        // Downwards there is no such limit.
        (0.5, 0.060, 0.010, 0.5 - 0.125 * 0.005 - 1.25 * 0.050),
        // Both delays 0: the integral part, and 2 % less.
        (0.5, 0.0, 0.0, (0.5 - 0.125 * 0.015) * 0.98),
        (0.001, 0.100, 0.0, 0.0),
        (1.0, 0.015, 0.500, 1.0),
    ] {
        let mut pie = controller(prob, old, current);
        pie.update();
        assert_close(pie.drop_prob, expected);
        assert_eq!(pie.qdelay_old, current);
    }
    let mut early = controller(0.5, 0.007, 0.007);
    early.config.decay_below = TimeDelta::from_micros(7500);
    early.update();
    assert_close(early.drop_prob, (0.5 - 0.125 * 0.008) * 0.98);
}

#[test]
fn nothing_is_dropped_while_the_burst_allowance_lasts() {
    let mut random = RandomStream::new(1, "pie");
    let mut pie = Controller::new(&PieConfig::default());
    (pie.qdelay_old, pie.current_qdelay) = (0.1, 0.1);
    for update in 0..10 {
        pie.drop_prob = 1.0;
        assert!(!pie.drop_early(1_000_000, &mut random), "update {update} of 10: 150 ms in steps of 15 ms");
        pie.update();
    }
    pie.drop_prob = 1.0;
    assert!(pie.drop_early(1_000_000, &mut random));
}

#[test]
fn the_burst_allowance_is_renewed_when_congestion_is_over() {
    // Section 4.4: no chance, and both delays below half of 15 ms.
    for (prob, old, current, renewed) in [
        (0.0, 0.0074, 0.0074, true),
        (1e-9, 0.0, 0.0, false),
        (0.0, 0.0076, 0.0, false),
        (0.0, 0.0, 0.0076, false),
    ] {
        let mut pie = controller(prob, old, current);
        pie.on_arrival();
        let expected = if renewed { TimeDelta::from_millis(150) } else { TimeDelta::ZERO };
        assert_eq!(pie.burst_allowance, expected, "{prob} {old} {current}");
    }
}

#[test]
fn short_queues_are_safe() {
    let mut random = RandomStream::new(1, "pie");
    let drops = |old: f64, prob: f64, bytes: u64, random: &mut RandomStream| {
        let mut pie = controller(prob, old, old);
        (0..1000).filter(|_| pie.drop_early(bytes, random)).count()
    };
    assert_eq!(drops(0.02, 0.5, 3000, &mut random), 0, "two packets");
    assert!(drops(0.02, 0.5, 3001, &mut random) > 300);
    assert_eq!(drops(0.0074, 0.199, 100_000, &mut random), 0, "below half of the reference");
    assert!(drops(0.0076, 0.199, 100_000, &mut random) > 50);
    assert!(drops(0.0074, 0.2, 100_000, &mut random) > 50);
}

#[test]
fn derandomized_drops_are_neither_too_close_nor_too_far_apart() {
    let gaps = |derandomize: bool| {
        let mut random = RandomStream::new(1, "pie");
        let mut pie = controller(0.05, 0.02, 0.02);
        pie.config.derandomize = derandomize;
        let drops: Vec<usize> = (0..200_000).filter(|_| pie.drop_early(100_000, &mut random)).collect();
        let gaps: Vec<_> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        (*gaps.iter().min().expect("some"), *gaps.iter().max().expect("some"), mean)
    };
    // 0.85 / 0.05 and 8.5 / 0.05 packets; in between 1 in 20: 17 + 19 packets on average.
    let (least, most, mean) = gaps(true);
    assert!(
        least == 17 && (120..=171).contains(&most) && (34.5..37.0).contains(&mean),
        "{least} {most} {mean}"
    );
    let (least, most, mean) = gaps(false);
    assert!(least == 1 && most > 150 && (19.0..21.0).contains(&mean), "{least} {most} {mean}");
}

fn pie(change: impl Fn(&mut PieConfig)) -> LinkConfig {
    let mut config = PieConfig { limit: QueueLimit::Unlimited, ..PieConfig::default() };
    change(&mut config);
    plain(mbps(8), QueueConfig::Pie(config))
}

#[test]
fn an_overload_that_does_not_answer_is_held_at_the_reference() {
    for estimate in [DelayEstimate::Timestamp, DelayEstimate::DequeueRate] {
        for derandomize in [false, true] {
            let config = pie(|config| (config.estimate, config.derandomize) = (estimate, derandomize));
            let log = drive(config, steady(0, Ecn::NotEct, 1000, 10.0, 0, 40_000), millis(40_000));
            let first = log.refused[0].0;
            assert!(first > millis(150) && first < millis(400), "{estimate:?}: first drop at {first:?}");
            // A fifth must go, and what remains waits as long as it should.
            let share = log.drops(0, 20_000) as f64 / 25_000.0;
            assert!((0.19..0.21).contains(&share), "{estimate:?}: {share} dropped");
            let wait = log.mean_wait(20_000);
            assert!((13.5..16.5).contains(&wait), "{estimate:?}: {wait} ms");
        }
    }
}

#[test]
fn marks_up_to_mark_ecnth_and_drops_beyond() {
    let run = |ecn, mark_ecnth| {
        let config = pie(|config| (config.ecn, config.mark_ecnth) = (ecn, mark_ecnth));
        drive(config, steady(0, Ecn::Ect0, 1000, 10.0, 0, 20_000), millis(20_000))
    };
    let log = run(true, 0.1);
    assert!(log.counters.marked > 3 && log.counters.dropped > 2000, "{:?}", log.counters);
    let first = log.refused[0].0;
    let late = log.departures.iter().filter(|departure| {
        departure.packet.ecn.is_ce() && departure.departed > first + TimeDelta::from_secs(2)
    });
    assert_eq!(late.count(), 0, "at a chance of 0.2 nothing is marked");
    // Nothing answers to marks: the chance goes up to 1, and then there are drops all the same.
    let all = run(true, 1.0).counters;
    assert!(all.marked > 10 * log.counters.marked && all.dropped > 1000, "{all:?}");
    assert_eq!(run(false, 0.1).counters.marked, 0);
}

#[test]
fn inactive_pie_waits_for_a_part_of_its_limit() {
    let run = |threshold: f64| {
        let config =
            pie(|config| (config.active_threshold, config.limit) = (threshold, QueueLimit::Packets(3000)));
        drive(config, steady(0, Ecn::NotEct, 1000, 10.0, 0, 10_000), millis(10_000)).refused[0].0
    };
    // The queue grows by 250 packets a second: 1000 are there after 4 s.
    assert!(run(0.0) < millis(400));
    let first = run(1.0 / 3.0);
    assert!(first > millis(4140) && first < millis(4400), "{first:?}");
}
