//! Marks against arithmetic.

use super::*;
use crate::MarkConfig;
use paceline_units::param::ParamSet;

/// Packets of 1 ms each, all at time 0: packet n waits n ms.
fn marked(mark: MarkConfig, packets: usize, ecn: Ecn) -> (Vec<u64>, u64) {
    let mut config = unlimited(mbps(10));
    config.mark = Some(mark);
    let outcome = run(config, &vec![(0, 1250); packets], ecn, millis(packets as u64));
    let ce = outcome.departures.iter().filter(|departure| departure.packet.ecn.is_ce());
    (ce.map(|departure| departure.packet.id).collect(), outcome.counters.marked)
}

fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

#[test]
fn a_step_marks_ect1_above_the_threshold_only() {
    let step = MarkConfig::step(ms(3));
    assert_eq!(marked(step.clone(), 7, Ecn::Ect1), (vec![4, 5, 6], 3));
    assert_eq!(marked(step.clone(), 7, Ecn::Ect0), (vec![], 0));
    assert_eq!(marked(step.clone(), 7, Ecn::NotEct), (vec![], 0));
    // A packet that is CE already stays CE and is not counted.
    assert_eq!(marked(step, 7, Ecn::Ce), ((0..7).collect(), 0));
}

#[test]
fn a_ramp_marks_by_carry() {
    // Shares 0, 0.25, 0.5, 0.75, 1, 1: the sum passes 1 with packet 3 and 2 with packet 4.
    let ramp = MarkConfig::ramp(ms(0), ms(4));
    assert_eq!(marked(ramp.clone(), 7, Ecn::Ect1), (vec![3, 4, 5, 6], 4));
    assert_eq!(marked(ramp, 7, Ecn::Ect0), (vec![], 0));
    let as_step = MarkConfig::ramp(ms(2), ms(2));
    assert_eq!(marked(as_step, 5, Ecn::Ect1), (vec![3, 4], 2));
}

#[test]
fn a_ramps_long_run_ratio_is_exact() {
    // Pairs, the first of 3 ms: the second waits 3 ms, and low 0, high 7 ms make its share 3/7 exactly.
    let mut config = unlimited(mbps(10));
    config.mark = Some(MarkConfig::ramp(ms(0), ms(7)));
    let pair = |index: u64| [(index * 5_000_000, 3750), (index * 5_000_000, 1250)];
    let arrivals: Vec<Arrival> = (0..35_000).flat_map(pair).collect();
    let outcome = run(config, &arrivals, Ecn::Ect1, millis(175_000));
    assert_eq!(outcome.counters.marked, 15_000);
}

#[test]
fn classic_marks_a_standing_queue_not_a_burst() {
    // Above 2 ms from packet 3 on, which departs at 4 ms; marked once that has lasted 3 ms: from departure 7 ms on.
    let classic = MarkConfig::classic(ms(2), ms(3));
    assert_eq!(marked(classic.clone(), 9, Ecn::Ect0), (vec![6, 7, 8], 3));
    assert_eq!(marked(classic.clone(), 9, Ecn::Ect1), (vec![6, 7, 8], 3));
    assert_eq!(marked(classic.clone(), 9, Ecn::NotEct), (vec![], 0));
    assert_eq!(marked(classic.clone(), 6, Ecn::Ect0), (vec![], 0));
    // A wait at or below the threshold breaks the run: two bursts are no standing queue.
    let mut config = unlimited(mbps(10));
    config.mark = Some(classic);
    let arrivals: Vec<Arrival> = (0..12).map(|index| (index / 6 * 50_000_000, 1250)).collect();
    assert_eq!(run(config, &arrivals, Ecn::Ect0, millis(100)).counters.marked, 0);
}

#[test]
fn a_mark_out_of_range_is_refused() {
    let name = |mark: MarkConfig| mark.check().map_err(|error| error.name).expect_err("it is out of range");
    assert_eq!(name(MarkConfig::step(ms(-1))), "at");
    assert_eq!(name(MarkConfig::ramp(ms(-1), ms(1))), "low");
    assert_eq!(name(MarkConfig::ramp(ms(2), ms(1))), "high");
    assert_eq!(name(MarkConfig::classic(ms(1), ms(-1))), "for");
}
