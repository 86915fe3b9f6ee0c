//! Each figure against arithmetic by hand, groups against section 3.3.1's steps, and hostile input.

use super::*;
use crate::FlowId;
use alloc::vec;
use alloc::vec::Vec;
use paceline_units::param::{ParamSet, Profiles};
use paceline_units::{Time, TimeDelta};
use proptest::prelude::*;

fn ms(millis: f64) -> TimeDelta {
    TimeDelta::from_nanos((millis * 1e6) as i64)
}

/// Few intervals, all alike in weight, so that figures can be added up by hand.
fn small(m: u64) -> Params {
    Params { m, n: m, f: m, ..Params::default() }
}

fn feed(statistics: &mut DelayStatistics, delays: &[f64]) {
    delays.iter().for_each(|&delay| statistics.on_delay(ms(delay)));
    statistics.end_interval();
}

#[test]
fn skewness_counts_delays_below_the_mean_less_those_above() {
    let mut statistics = DelayStatistics::new(&small(4));
    feed(&mut statistics, &[10.0, 20.0]);
    assert_eq!(statistics.summary().skewness, 0.0, "there is no mean to compare with yet");
    // The mean is 15: one below, two above, one neither.
    feed(&mut statistics, &[10.0, 20.0, 30.0, 15.0]);
    assert_eq!(statistics.summary().skewness, -0.25);
    // The mean of 15 and 18.75 is 16.875: all three below.
    feed(&mut statistics, &[10.0, 10.0, 16.8]);
    assert_eq!(statistics.summary().skewness, (-1.0 + 3.0) / 7.0);
}

#[test]
fn variability_is_the_mean_deviation_from_the_mean_of_the_interval_before() {
    let mut statistics = DelayStatistics::new(&small(4));
    feed(&mut statistics, &[10.0, 20.0]);
    feed(&mut statistics, &[30.0, 20.0]);
    // |30 - 15| + |20 - 15| over two, and there is a bottleneck, since both are above the mean.
    assert!(statistics.summary().bottleneck);
    assert_eq!(statistics.summary().variability, ms(10.0));
    feed(&mut statistics, &[29.0, 30.0]);
    assert_eq!(statistics.summary().variability, ms((15.0 + 5.0 + 4.0 + 5.0) / 4.0));
}

#[test]
fn the_newest_weigh_alike_and_the_others_less_and_less() {
    // M 3, F 1: weights 3, 2, 1 from the newest on (section 4.1.1).
    let mut statistics = DelayStatistics::new(&Params { m: 3, n: 3, f: 1, ..Params::default() });
    feed(&mut statistics, &[10.0]);
    feed(&mut statistics, &[9.0]); // below
    feed(&mut statistics, &[9.0, 20.0]); // one below, one above 9.5
    feed(&mut statistics, &[30.0]); // above
    assert_eq!(statistics.summary().skewness, (1.0 - 3.0) / (1.0 + 2.0 * 2.0 + 3.0));
}

#[test]
fn a_crossing_goes_to_the_other_side_by_more_than_the_noise() {
    let params = Params { c_s: 1.0, c_h: 1.0, p_v: 0.25, ..small(10) };
    let mut statistics = DelayStatistics::new(&params);
    let mut crossings = Vec::new();
    for delay in [10.0, 30.0, 10.0, 10.0, 40.0, 21.0, 0.0] {
        feed(&mut statistics, &[delay - 1.0, delay + 1.0]);
        crossings.push((statistics.summary().frequency * 10.0).round());
    }
    // The first excursion crosses nothing; 21 is within a quarter of a variability of the mean.
    assert_eq!(crossings, [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0]);
}

#[test]
fn without_a_bottleneck_no_crossing_and_no_deviation_is_recorded() {
    let params = Params { c_s: -1.0, c_h: -1.0, ..small(10) };
    let mut statistics = DelayStatistics::new(&params);
    for delay in [10.0, 30.0, 10.0, 30.0, 10.0] {
        feed(&mut statistics, &[delay, delay]);
    }
    let summary = *statistics.summary();
    assert!(!summary.bottleneck && summary.frequency == 0.0 && summary.variability == TimeDelta::ZERO);
}

#[test]
fn an_interval_without_a_bottleneck_counts_as_zero_or_not_at_all() {
    for (invalid, expected) in [(Invalid::AsZero, 20.0 / 2.0), (Invalid::LeftOut, 20.0)] {
        // The threshold lies between: the second interval has no bottleneck, the third has.
        let mut statistics = DelayStatistics::new(&Params { c_s: 0.5, c_h: 0.5, invalid, ..small(10) });
        feed(&mut statistics, &[10.0]);
        feed(&mut statistics, &[5.0]);
        assert!(!statistics.summary().bottleneck);
        feed(&mut statistics, &[25.0]);
        assert!(statistics.summary().bottleneck);
        assert_eq!(statistics.summary().variability, ms(expected), "{invalid:?}");
    }
}

#[test]
fn a_flow_that_had_a_bottleneck_keeps_it_until_the_higher_threshold() {
    let mut statistics = DelayStatistics::new(&Params { c_s: 0.1, c_h: 0.3, ..small(2) });
    feed(&mut statistics, &[10.0; 10]);
    let skewed = |below: usize| {
        let mut delays = vec![1.0; below];
        delays.resize(10, 1000.0);
        delays
    };
    // Of two intervals, the first compares nothing: the skewness is that of the second.
    feed(&mut statistics, &skewed(6));
    assert_eq!((statistics.summary().skewness, statistics.summary().bottleneck), (0.2, false));
    let mut statistics = DelayStatistics::new(&Params { c_s: 0.1, c_h: 0.3, ..small(1) });
    feed(&mut statistics, &[10.0; 10]);
    feed(&mut statistics, &skewed(5));
    assert!(statistics.summary().bottleneck);
    feed(&mut statistics, &skewed(6));
    assert_eq!((statistics.summary().skewness, statistics.summary().bottleneck), (0.2, true));
    feed(&mut statistics, &skewed(7));
    assert_eq!((statistics.summary().skewness, statistics.summary().bottleneck), (0.4, false));
}

#[test]
fn losses_make_a_bottleneck() {
    let mut statistics = DelayStatistics::new(&Params { c_s: -1.0, c_h: -1.0, p_l: 0.1, ..small(10) });
    for (lost, expected) in [(0, false), (1, false), (2, false), (2, true)] {
        statistics.on_lost(lost);
        feed(&mut statistics, &[10.0; 9]);
        assert_eq!(statistics.summary().bottleneck, expected, "{}", statistics.summary().loss);
    }
    // 3 of 30 was the threshold, not above it.
    assert_eq!(statistics.summary().loss, 5.0 / 41.0);
}

fn summary(frequency: f64, variability: f64, skewness: f64, loss: f64) -> DelaySummary {
    DelaySummary { intervals: 60, skewness, variability: ms(variability), frequency, loss, bottleneck: true }
}

fn groups_of(params: &Params, flows: &[DelaySummary]) -> Vec<Vec<u32>> {
    let named: Vec<_> = flows.iter().enumerate().map(|(n, flow)| (FlowId(n as u32), *flow)).collect();
    let mut groups: Vec<Vec<u32>> = group(params, &named)
        .iter()
        .map(|group| {
            let mut flows: Vec<u32> = group.iter().map(|flow| flow.0).collect();
            flows.sort_unstable();
            flows
        })
        .collect();
    groups.sort();
    groups
}

#[test]
fn flows_are_parted_by_one_figure_after_the_other() {
    let params = Params::default();
    let like = summary(0.4, 10.0, -0.2, 0.0);
    let cases = [
        (vec![like, like, like], vec![vec![0, 1, 2]]),
        (vec![like, DelaySummary { frequency: 0.31, ..like }], vec![vec![0, 1]]),
        (vec![like, DelaySummary { frequency: 0.29, ..like }], vec![vec![0], vec![1]]),
        // A chain of small differences stays together.
        (
            vec![like, DelaySummary { frequency: 0.32, ..like }, DelaySummary { frequency: 0.24, ..like }],
            vec![vec![0, 1, 2]],
        ),
        (vec![like, DelaySummary { variability: ms(9.1), ..like }], vec![vec![0, 1]]),
        (vec![like, DelaySummary { variability: ms(8.9), ..like }], vec![vec![0], vec![1]]),
        (vec![like, DelaySummary { skewness: -0.06, ..like }], vec![vec![0, 1]]),
        (vec![like, DelaySummary { skewness: -0.04, ..like }], vec![vec![0], vec![1]]),
        // Losses below the threshold part nobody, above it they do.
        (vec![like, DelaySummary { loss: 0.04, ..like }], vec![vec![0, 1]]),
        (vec![DelaySummary { loss: 0.2, ..like }, DelaySummary { loss: 0.19, ..like }], vec![vec![0, 1]]),
        (
            vec![DelaySummary { loss: 0.2, ..like }, DelaySummary { loss: 0.17, ..like }],
            vec![vec![0], vec![1]],
        ),
        // A flow that passes no bottleneck, or is not known long enough, is in no group.
        (vec![like, DelaySummary { bottleneck: false, ..like }], vec![vec![0]]),
        (vec![like, DelaySummary { intervals: 59, ..like }], vec![vec![0]]),
        (vec![], vec![]),
    ];
    for (flows, expected) in cases {
        assert_eq!(groups_of(&params, &flows), expected, "{flows:?}");
    }
}

#[test]
fn flows_are_coupled_while_most_decisions_put_them_together() {
    let mut groups = BottleneckGroups::new(&Params { stable: 0.9, decisions: 10, ..Params::default() });
    let (like, other) = (summary(0.4, 10.0, -0.2, 0.0), summary(0.8, 10.0, -0.2, 0.0));
    let coupled = |groups: &mut BottleneckGroups, second: DelaySummary| {
        groups.on_summary(FlowId(3), &like);
        groups.on_summary(FlowId(1), &second);
        groups.decide()[1].1 == FlowId(1)
    };
    for decision in 1..=12 {
        assert_eq!(coupled(&mut groups, like), decision >= 10, "decision {decision}");
    }
    assert!(coupled(&mut groups, other), "one of ten is forgiven");
    assert!(!coupled(&mut groups, other), "two are not");
    groups.remove(FlowId(1));
    assert_eq!(groups.decide(), [(FlowId(3), FlowId(3))]);
    assert!(!coupled(&mut groups, like), "who comes back is new");
}

/// Coupled flows keep their queue short: then no skewness tells that they pass it.
#[test]
fn a_pair_of_which_a_flow_passes_no_bottleneck_keeps_its_verdict() {
    let like = summary(0.4, 10.0, -0.2, 0.0);
    let none = DelaySummary { bottleneck: false, ..summary(0.4, 10.0, 0.5, 0.0) };
    let apart = summary(0.8, 10.0, -0.2, 0.0);
    for (no_bottleneck, kept) in [(NoBottleneck::Keeps, true), (NoBottleneck::Parts, false)] {
        let mut groups = BottleneckGroups::new(&Params { no_bottleneck, ..Params::default() });
        let mut decide = |first: DelaySummary, second: DelaySummary| {
            groups.on_summary(FlowId(1), &first);
            groups.on_summary(FlowId(2), &second);
            groups.decide()[1].1 == FlowId(1)
        };
        (0..100).for_each(|_| assert!(!decide(like, none), "nothing ever put them together"));
        (0..10).for_each(|_| _ = decide(like, like));
        (0..100).for_each(|_| _ = decide(none, like));
        assert_eq!(decide(none, none), kept);
        (0..2).for_each(|_| _ = decide(like, apart));
        assert!(!decide(like, apart), "two decisions of ten part them in either case");
    }
}

/// The delays of packets over a queue that fills and empties: shape, not size, is what counts.
fn delays(seed: u64, base: f64, mean: f64, packets: usize) -> Vec<f64> {
    let mut state = seed;
    let mut uniform = || {
        // Knuth's multiplier: any shape will do.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let mut queue = 0.0f64;
    let mut delays = Vec::new();
    for _ in 0..packets {
        queue = (queue + uniform() * 2.0 - 0.98).clamp(0.0, mean * 2.0);
        delays.push(base + queue);
    }
    delays
}

#[test]
fn neither_offset_nor_base_delay_changes_a_figure() {
    let feed_all = |base: f64| {
        let mut statistics = DelayStatistics::new(&Params::default());
        for interval in delays(1, 0.0, 20.0, 35 * 80).chunks(35) {
            let shifted: Vec<f64> =
                interval.iter().map(|delay| (delay * 64.0).round() / 64.0 + base).collect();
            feed(&mut statistics, &shifted);
        }
        *statistics.summary()
    };
    let plain = feed_all(0.0);
    assert!(plain.variability > TimeDelta::ZERO && plain.frequency > 0.0, "{plain:?}");
    for base in [-1e9, 64.0, 1e9] {
        assert_eq!(feed_all(base), plain, "{base}");
    }
}

#[test]
fn a_clock_that_runs_apart_by_100_ppm_changes_little() {
    let feed_all = |drift: f64| {
        let mut statistics = DelayStatistics::new(&Params::default());
        for (interval, all) in delays(2, 0.0, 40.0, 35 * 200).chunks(35).enumerate() {
            let drifting = |(n, delay): (usize, &f64)| delay + (interval * 35 + n) as f64 * 10.0 * drift;
            feed(&mut statistics, &all.iter().enumerate().map(drifting).collect::<Vec<_>>());
        }
        *statistics.summary()
    };
    let (still, drifting) = (feed_all(0.0), feed_all(1e-4));
    assert!((still.skewness - drifting.skewness).abs() < 0.15, "{still:?}, {drifting:?}");
    assert!((still.frequency - drifting.frequency).abs() < 0.1, "{still:?}, {drifting:?}");
}

#[test]
fn time_that_leaps_ends_intervals_and_forgets() {
    let mut statistics = DelayStatistics::new(&small(3));
    assert_eq!(statistics.next_timeout(), None);
    assert!(statistics.pass(Time::ZERO).is_none());
    let end = statistics.next_timeout().expect("an interval runs");
    statistics.on_delay(ms(5.0));
    assert!(statistics.pass(end).is_some_and(|summary| summary.intervals == 1));
    assert!(statistics.pass(end).is_none());
    assert!(statistics.pass(Time::MAX).is_some_and(|summary| summary.loss == 0.0 && summary.intervals <= 5));
}

#[test]
fn parameters_that_contradict_each_other_are_refused() {
    for (wrong, name) in [
        (Params { m: 60, ..Params::default() }, "M"),
        (Params { f: 31, ..Params::default() }, "F"),
        (Params { c_s: 0.4, ..Params::default() }, "c_s"),
    ] {
        assert_eq!(wrong.check().expect_err("refused").name, name);
    }
    for (profile, _) in Params::PROFILES {
        assert_eq!(Params::profile(profile).expect("a profile").check(), Ok(()), "{profile}");
    }
}

#[test]
fn more_losses_than_can_be_counted_are_all() {
    let mut statistics = DelayStatistics::new(&small(3));
    statistics.on_lost(u64::MAX);
    feed(&mut statistics, &[10.0]);
    assert_eq!(statistics.summary().loss, 1.0);
}

#[test]
fn summaries_that_cannot_be_change_nothing() {
    let like = summary(0.4, 10.0, -0.2, 0.0);
    let wrong = [
        DelaySummary { skewness: f64::NAN, ..like },
        DelaySummary { skewness: -1.1, ..like },
        DelaySummary { frequency: f64::INFINITY, ..like },
        DelaySummary { frequency: f64::NAN, ..like },
        DelaySummary { loss: -0.1, ..like },
        DelaySummary { loss: f64::NAN, ..like },
        DelaySummary { variability: ms(-1.0), ..like },
    ];
    for wrong in wrong {
        let mut groups = BottleneckGroups::new(&Params { decisions: 1, ..Params::default() });
        groups.on_summary(FlowId(1), &like);
        groups.on_summary(FlowId(2), &wrong);
        assert_eq!(groups.decide(), [(FlowId(1), FlowId(1))], "{wrong:?} is no flow");
        groups.on_summary(FlowId(2), &like);
        groups.on_summary(FlowId(2), &wrong);
        assert_eq!(groups.decide()[1], (FlowId(2), FlowId(1)), "{wrong:?} replaces nothing");
    }
}

proptest! {
    #[test]
    fn figures_stay_in_their_ranges_whatever_comes(
        intervals in proptest::collection::vec((proptest::collection::vec(any::<i64>(), 0..20), any::<u64>()), 0..80),
    ) {
        let mut statistics = DelayStatistics::new(&Params::default());
        for (delays, lost) in intervals {
            delays.iter().for_each(|&delay| statistics.on_delay(TimeDelta::from_nanos(delay)));
            statistics.on_lost(lost);
            statistics.end_interval();
            let summary = statistics.summary();
            prop_assert!((-1.0..=1.0).contains(&summary.skewness));
            prop_assert!((0.0..=1.0).contains(&summary.frequency));
            prop_assert!((0.0..=1.0).contains(&summary.loss));
            prop_assert!(summary.variability >= TimeDelta::ZERO);
        }
    }

    #[test]
    fn every_flow_is_in_one_group_at_most(
        flows in proptest::collection::vec((any::<f64>(), any::<i64>(), any::<f64>(), any::<f64>(), any::<bool>()), 0..30),
    ) {
        let flows: Vec<_> = flows.into_iter().map(|(frequency, variability, skewness, loss, bottleneck)| {
            let variability = TimeDelta::from_nanos(variability);
            DelaySummary { intervals: 60, skewness, variability, frequency, loss, bottleneck }
        }).collect();
        let mut all: Vec<u32> = groups_of(&Params::default(), &flows).concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), count);
        prop_assert_eq!(count, flows.iter().filter(|flow| flow.bottleneck).count());
    }
}
