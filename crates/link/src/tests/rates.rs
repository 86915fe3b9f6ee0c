//! Rate processes: traces with offset, scale and repetition; capacity; what is refused.

use super::*;
use crate::Trace;
use proptest::prelude::*;

/// 2 ms at 1 Mbit/s, 1 ms at 0, 1 ms at 8 Mbit/s.
fn trace() -> Trace {
    let segment = |millis, mbps| (TimeDelta::from_millis(millis), Bitrate::from_mbps(mbps));
    Trace::from_segments([segment(2, 1), segment(1, 0), segment(1, 8)]).expect("a trace")
}

fn played(offset_millis: i64, scale: f64, repeat: bool) -> RateProcess {
    RateProcess::Trace { trace: trace(), offset: TimeDelta::from_millis(offset_millis), scale, repeat }
}

fn rates(process: RateProcess, millis_to: u64) -> Vec<f64> {
    let link = Link::<Packet>::new(unlimited(process), 1, "test").expect("a valid link");
    (0..millis_to).map(|time| link.rate_at(millis(time)).as_mbps_f64()).collect()
}

#[test]
fn a_trace_starts_at_its_offset_and_repeats_or_holds() {
    assert_eq!(rates(played(0, 1.0, true), 9), [1.0, 1.0, 0.0, 8.0, 1.0, 1.0, 0.0, 8.0, 1.0]);
    assert_eq!(rates(played(0, 1.0, false), 6), [1.0, 1.0, 0.0, 8.0, 8.0, 8.0]);
    assert_eq!(rates(played(1, 2.0, true), 6), [2.0, 0.0, 16.0, 2.0, 2.0, 0.0]);
    assert_eq!(rates(played(3, 1.0, false), 3), [8.0, 8.0, 8.0]);
    assert_eq!(rates(played(11, 1.0, true), 3), [8.0, 1.0, 1.0]);
}

#[test]
fn a_nominal_rate_is_the_constant_the_first_step_or_the_traces_mean() {
    assert_eq!(mbps(20).nominal(), Bitrate::from_mbps(20));
    let steps = vec![(Time::ZERO, Bitrate::from_mbps(20)), (millis(1), Bitrate::from_mbps(10))];
    assert_eq!(RateProcess::Steps(steps).nominal(), Bitrate::from_mbps(20));
    assert_eq!(played(0, 1.0, false).nominal(), Bitrate::from_kbps(2500));
    assert_eq!(played(3, 2.0, true).nominal(), Bitrate::from_mbps(5));
}

#[test]
fn a_packet_that_lasts_many_periods_ends_exactly() {
    // 10 000 bits a period of 4 ms: 1 250 000 B last 1000 periods, 1 250 001 B 8 us more.
    let outcome = run(unlimited(played(0, 1.0, true)), &[(0, 1_250_001), (0, 125)], Ecn::NotEct, Time::MAX);
    assert_eq!(departed(&outcome), [4_000_008_000, 4_001_008_000]);
    // Work of whole periods ends with the serving part of the last one, not with the period: 8000 bits, then nothing.
    let segment = |mbps| (TimeDelta::from_millis(1), Bitrate::from_mbps(mbps));
    let half = Trace::from_segments([segment(8), segment(0)]).expect("a trace");
    let process = RateProcess::Trace { trace: half, offset: TimeDelta::ZERO, scale: 1.0, repeat: true };
    let outcome = run(unlimited(process), &[(0, 3000), (0, 50_000)], Ecn::NotEct, Time::MAX);
    assert_eq!(departed(&outcome), [5_000_000, 105_000_000]);
    // A gigabyte at a bit per second and millisecond-long periods: walking them all would never end.
    let one = Trace::from_segments([
        (TimeDelta::from_micros(500), Bitrate::from_bps(1)),
        (TimeDelta::from_micros(500), Bitrate::from_bps(3)),
    ]);
    let process = RateProcess::Trace {
        trace: one.expect("a trace"),
        offset: TimeDelta::ZERO,
        scale: 1.0,
        repeat: true,
    };
    let outcome = run(unlimited(process), &[(0, 1 << 30)], Ecn::NotEct, Time::MAX);
    assert_eq!(departed(&outcome), [(1u64 << 30) * 8 / 2 * 1_000_000_000]);
}

#[test]
fn a_late_failure_does_not_make_a_packet_walk_every_period() {
    // A packet of 2^33 bits at 2 bit/s on the mean and periods of 1 ms, with a failure of 5 s on the way.
    let half = |bps| (TimeDelta::from_micros(500), Bitrate::from_bps(bps));
    let trace = Trace::from_segments([half(1), half(3)]).expect("a trace");
    let process = RateProcess::Trace { trace, offset: TimeDelta::ZERO, scale: 1.0, repeat: true };
    let mut config = unlimited(process);
    config.down = vec![(millis(4_000_000_000), millis(4_000_005_000))];
    let outcome = run(config, &[(0, 1 << 30)], Ecn::NotEct, Time::MAX);
    assert_eq!(departed(&outcome), [((1u64 << 30) * 8 / 2 + 5) * 1_000_000_000]);
}

#[test]
fn what_is_wrong_names_its_key() {
    let name = |config: LinkConfig| {
        Link::<Packet>::new(config, 1, "test").map(drop).map_or_else(|error| error.name, |()| String::new())
    };
    let steps = |times: &[u64]| {
        RateProcess::Steps(times.iter().map(|&time| (millis(time), Bitrate::from_mbps(1))).collect())
    };
    assert_eq!(name(unlimited(steps(&[]))), "rate.steps");
    assert_eq!(name(unlimited(steps(&[1]))), "rate.steps");
    assert_eq!(name(unlimited(steps(&[0, 2, 2]))), "rate.steps");
    assert_eq!(name(unlimited(steps(&[0, 2]))), "");
    assert_eq!(name(unlimited(RateProcess::Constant(Bitrate::MAX))), "rate");
    assert_eq!(name(unlimited(played(0, 0.0, true))), "rate.scale");
    assert_eq!(name(unlimited(played(0, f64::NAN, true))), "rate.scale");
    assert_eq!(name(unlimited(played(0, 1e-9, true))), "rate.scale");
    assert_eq!(name(unlimited(played(0, 1e12, true))), "rate.scale");
    assert_eq!(name(unlimited(played(4, 1.0, false))), "rate.offset");
    assert_eq!(name(unlimited(played(-1, 1.0, true))), "rate.offset");
    assert_eq!(name(limited(mbps(1), QueueLimit::Time(TimeDelta::from_nanos(-1)))), "queue.limit");
    assert_eq!(name(LinkConfig { delay: TimeDelta::from_nanos(-1).into(), ..unlimited(mbps(1)) }), "delay");
    assert_eq!(name(LinkConfig { down: vec![(millis(1), millis(1))], ..unlimited(mbps(1)) }), "down");
    let error = Link::<Packet>::new(unlimited(played(0, -1.0, true)), 1, "test").map(drop).unwrap_err();
    assert_eq!(error.to_string(), "rate.scale: found -1, expected a number above 0");
}

proptest! {
    #[test]
    fn capacity_is_the_sum_of_the_rates(
        offset in 0i64..20, repeat in any::<bool>(), downs in prop::collection::vec((0u64..30, 1u64..5), 0..5),
        from in 0u64..40, length in 0u64..40,
    ) {
        prop_assume!(repeat || offset < 4);
        let mut config = unlimited(played(offset, 1.0, repeat));
        config.down = downs.iter().map(|&(from, length)| (millis(from), millis(from + length))).collect();
        let link = Link::<Packet>::new(config, 1, "test").expect("a valid link");
        let sum: f64 = (from..from + length).map(|time| link.rate_at(millis(time)).as_bps_f64() / 1000.0).sum();
        prop_assert_eq!(link.capacity_bits(millis(from), millis(from + length)), sum);
        prop_assert_eq!(link.capacity_bits(millis(from + length), millis(from)), 0.0);
    }
}

proptest! {
    #[test]
    fn whole_periods_are_skipped_as_if_walked(
        offset in 0i64..8, downs in prop::collection::vec((0u64..3_000_000_000, 1u64..100_000_000), 0..4),
        arrivals in prop::collection::vec((0u64..500_000_000, 1u64..250_000), 1..5),
    ) {
        // The same rates as steps, which have no period.
        let rates = rates(played(offset, 1.0, true), 4).into_iter().cycle().take(6000);
        let steps = rates.enumerate().map(|(at, rate)| (millis(at as u64), Bitrate::from_mbps(rate as u64)));
        let walked = RateProcess::Steps(steps.collect());
        let mut arrivals = arrivals;
        arrivals.sort_unstable();
        let departures = |process| {
            let mut config = unlimited(process);
            config.down =
                downs.iter().map(|&(from, length)| (Time::from_nanos(from), Time::from_nanos(from + length))).collect();
            departed(&run(config, &arrivals, Ecn::NotEct, Time::MAX))
        };
        prop_assert_eq!(departures(played(offset, 1.0, true)), departures(walked));
    }
}

#[test]
fn a_sequence_too_long_to_lay_out_is_refused() {
    let second = Time::from_secs_f64;
    let short = Trace::from_segments([(TimeDelta::from_micros(1), Bitrate::from_mbps(8))]).expect("a trace");
    let process = |end| {
        let trace = short.clone();
        let part = RateProcess::Trace { trace, offset: TimeDelta::ZERO, scale: 1.0, repeat: true };
        RateProcess::Sequence(vec![(Time::ZERO, part), (second(end), mbps(5))])
    };
    assert_eq!(process(1.0).validate(), Ok(()));
    let error = process(5000.0).validate().unwrap_err();
    assert_eq!(error.name, "rate.steps");
    assert!(error.found.starts_with("traces that repeat to 10000000001 values"), "{error}");
    assert!(error.expected.contains("10 million"), "{error}");
}

#[test]
fn a_sequence_plays_each_part_from_its_own_start() {
    let parts = vec![(Time::ZERO, mbps(20)), (millis(2), played(1, 1.0, true)), (millis(9), mbps(3))];
    let sequence = RateProcess::Sequence(parts);
    assert_eq!(sequence.nominal(), Bitrate::from_mbps(20));
    assert_eq!(rates(sequence.clone(), 11), [20.0, 20.0, 1.0, 0.0, 8.0, 1.0, 1.0, 0.0, 8.0, 3.0, 3.0]);
    let link = Link::<Packet>::new(unlimited(sequence), 1, "test").expect("a valid link");
    assert!((link.capacity_bits(Time::ZERO, millis(10)) - (40e3 + 19e3 + 3e3)).abs() < 1e-6);
}

#[test]
fn a_sequence_that_never_ends_repeating_or_nests_is_refused() {
    let refused = |parts| RateProcess::Sequence(parts).validate().unwrap_err().expected;
    assert!(refused(vec![(Time::ZERO, played(0, 1.0, true))]).contains("no repeating trace"));
    assert!(refused(vec![(Time::ZERO, RateProcess::Sequence(vec![]))]).contains("a rate or a trace"));
    assert!(refused(vec![(millis(1), mbps(1))]).contains("0 s"));
    assert!(refused(vec![]).contains("at least one"));
    assert!(refused(vec![(Time::ZERO, mbps(1)), (Time::ZERO, mbps(2))]).contains("increasing"));
}
