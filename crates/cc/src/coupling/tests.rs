//! RFC 8699's worked example, and shares known from arithmetic.

use super::*;
use alloc::vec;
use alloc::vec::Vec;

mod properties;

const MBIT: f64 = 1e6;

fn update(flow: u32, mbps: f64) -> FlowUpdate {
    FlowUpdate {
        flow: FlowId(flow),
        own: Assigned::Rate(Bitrate::from_bps_f64(mbps * MBIT)),
        taken: None,
        desired: None,
        rtt: None,
        priority: Priority::ONE,
    }
}

fn weighing(weight: f64, update: FlowUpdate) -> FlowUpdate {
    FlowUpdate { priority: Priority::new(weight).expect("a priority"), ..update }
}

fn wishing(mbps: f64, update: FlowUpdate) -> FlowUpdate {
    FlowUpdate { desired: Some(Bitrate::from_bps_f64(mbps * MBIT)), ..update }
}

fn group(kind: &str, profile: &str) -> AnyCoupling {
    AnyCoupling::new(&CouplingParams::with_profile(kind, Some(profile)).expect("known").0)
}

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// The rates of all members in Mbit/s, to a bit/s.
fn rates(group: &AnyCoupling) -> Vec<f64> {
    group.members().iter().map(|member| member.rate().as_mbps_f64()).collect()
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-5
}

#[track_caller]
fn assert_rates(group: &AnyCoupling, expected: &[f64]) {
    let found = rates(group);
    let all = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| near(*a, *b));
    assert!(all, "{found:?} instead of {expected:?}");
}

#[track_caller]
fn assert_sum(group: &AnyCoupling, expected: f64) {
    assert!(near(group.sum().as_mbps_f64(), expected), "S_CR {:?} instead of {expected}", group.sum());
}

/// RFC 8699 appendix C.1, figure by figure.
#[test]
fn the_worked_example_of_the_passive_exchange() {
    let mut group = group("passive", "rfc8699");
    let (one, two) = (|own| update(1, own), |own| weighing(0.5, update(2, own)));
    let third = 1.0 / 3.0;
    group.join(ms(0), &one(1.0));
    for own in 2..=10 {
        group.update(ms(0), &one(f64::from(own)));
        assert_rates(&group, &[f64::from(own)]);
    }
    group.join(ms(0), &two(1.0));
    assert_sum(&group, 11.0);
    assert_eq!(group.update(ms(1), &one(8.0)).len(), 1, "it answers the flow that asks, alone");
    assert_rates(&group, &[6.0, 1.0]);
    assert_sum(&group, 9.0);
    group.update(ms(2), &two(2.0));
    assert_rates(&group, &[6.0, 3.0 + third]);
    assert_sum(&group, 10.0);
    group.update(ms(3), &wishing(2.0, one(7.0)));
    assert_rates(&group, &[2.0, 3.0 + third]);
    assert_sum(&group, 11.0);
    group.update(ms(4), &two(4.0 + third));
    assert_rates(&group, &[2.0, 9.0 + third]);
    assert_sum(&group, 12.0);
    group.leave(ms(5), FlowId(1));
    group.update(ms(6), &two(7.0 + third));
    assert_rates(&group, &[9.0 + third]);
    assert_sum(&group, 9.0 + third);
}

/// Shares of S_CR that follow from section 5.3.1 by hand: (S_CR, priority and desired rate of each, share of each).
#[test]
fn the_active_exchange_shares_by_priority_and_desired_rate() {
    let any = f64::INFINITY;
    let cases = [
        (6.0, vec![(2.0, any), (1.0, any)], vec![4.0, 2.0]),
        (6.0, vec![(2.0, 1.0), (1.0, any)], vec![1.0, 5.0]),
        (6.0, vec![(2.0, 3.0), (1.0, any)], vec![3.0, 3.0]),
        (6.0, vec![(2.0, 1.0), (1.0, 1.0)], vec![1.0, 1.0]),
        (6.0, vec![(1.0, any), (2.0, 1.0)], vec![5.0, 1.0]),
        (9.0, vec![(1.0, any), (1.0, 1.0), (1.0, any)], vec![4.0, 1.0, 4.0]),
        (0.0, vec![(1.0, any), (1.0, 1.0)], vec![0.0, 0.0]),
    ];
    for (sum, flows, expected) in cases {
        let mut group = group("active", "rfc8699");
        let own = sum / flows.len() as f64;
        for turn in 0..2 {
            for (flow, &(weight, wish)) in flows.iter().enumerate() {
                // A flow's own rate is what it was given, so that the sum stays.
                let own = group.members().get(flow).map_or(own, |member| member.rate().as_mbps_f64());
                let plain = weighing(weight, update(flow as u32, own));
                let told = if wish < any { wishing(wish, plain) } else { plain };
                match turn {
                    0 => assert!(group.join(ms(0), &told).is_empty()),
                    _ => assert_eq!(group.update(ms(0), &told).len(), flows.len()),
                }
            }
        }
        assert_sum(&group, sum);
        assert_rates(&group, &expected);
    }
}

#[test]
fn the_active_exchange_adds_and_subtracts_changes() {
    let mut group = group("active", "rfc8699");
    group.join(ms(0), &update(0, 4.0));
    group.join(ms(0), &update(1, 2.0));
    assert_rates(&group, &[4.0, 2.0]);
    group.update(ms(1), &update(0, 5.0));
    assert_rates(&group, &[3.5, 3.5]);
    group.update(ms(2), &update(1, 1.5));
    assert_rates(&group, &[2.5, 2.5]);
}

#[test]
fn the_conservative_exchange_reduces_in_proportion_and_then_holds() {
    let mut group = group("conservative", "rfc8699");
    let rtt = Some(TimeDelta::from_millis(100));
    let told = |flow, own| FlowUpdate { rtt, ..update(flow, own) };
    group.join(ms(0), &told(0, 4.0));
    group.join(ms(0), &told(1, 4.0));
    group.update(ms(10), &told(0, 2.0));
    assert_rates(&group, &[2.0, 2.0]);
    group.update(ms(209), &told(1, 1.0));
    assert_rates(&group, &[2.0, 2.0]);
    group.update(ms(209), &told(1, 3.0));
    assert_rates(&group, &[2.0, 2.0]);
    group.update(ms(210), &told(1, 3.0));
    assert_rates(&group, &[2.5, 2.5]);
}

#[test]
fn in_the_paper_a_group_grows_like_one_flow_and_nobody_takes_what_is_left() {
    let mut group = group("conservative", "islam2014");
    group.join(ms(0), &update(0, 4.0));
    group.join(ms(0), &update(1, 4.0));
    group.update(ms(1), &update(0, 5.0));
    assert_rates(&group, &[4.25, 4.25]);
    group.update(ms(2), &wishing(1.0, update(0, 4.25)));
    assert_rates(&group, &[1.0, 4.25]);
}

#[test]
fn who_leaves_leaves_its_rate_or_takes_it_along() {
    for (leaving, expected) in [(Leaving::Keep, 6.0), (Leaving::Subtract, 3.0)] {
        let params = ActiveParams { leaving, ..ActiveParams::default() };
        let mut group = AnyCoupling::new(&CouplingParams::Active(params));
        group.join(ms(0), &update(0, 3.0));
        group.join(ms(0), &update(1, 3.0));
        assert!(group.leave(ms(1), FlowId(0)).is_empty(), "the next update tells");
        group.update(ms(2), &update(1, 3.0));
        assert_rates(&group, &[expected]);
        group.leave(ms(3), FlowId(1));
        assert_sum(&group, 0.0);
    }
}

/// The rate of a flow that goes over to another group counts there: with what `leaving` keeps it would count twice.
#[test]
fn who_goes_over_to_another_group_takes_its_rate_along() {
    for kind in ["active", "conservative"] {
        let mut group = group(kind, "rfc8699");
        group.join(ms(0), &update(0, 3.0));
        group.join(ms(0), &update(1, 3.0));
        group.go_over(ms(1), FlowId(0));
        group.update(ms(2), &update(1, 3.0));
        assert_rates(&group, &[3.0]);
        group.join(ms(3), &update(0, 2.0));
        assert_sum(&group, 5.0);
    }
}

/// A flow that pauses leaves its rate to the others, and brings the same rate along when it comes back: it counts once. So does the rate
/// of another flow that joins soon.
#[test]
fn a_rate_that_a_flow_left_counts_once() {
    for kind in ["active", "conservative"] {
        for (back, after, sum, shares) in [
            (0, 4_000, 6.0, vec![3.0, 3.0]),
            (0, 60_000, 6.0, vec![3.0, 3.0]),
            (7, 9_999, 6.0, vec![3.0, 3.0]),
            (7, 10_000, 9.0, vec![3.0, 3.0]),
        ] {
            let mut group = group(kind, "rfc8699");
            group.join(ms(0), &update(0, 3.0));
            group.join(ms(0), &update(1, 3.0));
            group.leave(ms(0), FlowId(0));
            group.join(ms(after), &update(back, 3.0));
            assert_sum(&group, sum);
            let mut found = rates(&group);
            found.sort_by(f64::total_cmp);
            assert!(found.iter().zip(&shares).all(|(a, b)| near(*a, *b)), "{kind} {back} {after}: {found:?}");
        }
    }
}

/// A flow that was forgotten, or left before the last 256 that did, brings its rate along as one that was never there.
#[test]
fn the_rate_of_a_flow_that_was_forgotten_counts_anew() {
    for kind in ["active", "conservative"] {
        for (forgotten, sum) in [(false, 6.0), (true, 9.0)] {
            let mut group = group(kind, "rfc8699");
            group.join(ms(0), &update(0, 3.0));
            group.join(ms(0), &update(1, 3.0));
            group.leave(ms(0), FlowId(0));
            if forgotten {
                group.forget(FlowId(0));
            }
            group.join(ms(60_000), &update(0, 3.0));
            assert_sum(&group, sum);
        }
    }
    let mut group = group("active", "rfc8699");
    for flow in 0..258 {
        group.join(ms(0), &update(flow, 1.0));
    }
    (0..257).for_each(|flow| drop(group.leave(ms(0), FlowId(flow)).to_vec()));
    for (flow, sum) in [(1, 258.0), (0, 259.0)] {
        group.join(ms(60_000), &update(flow, 1.0));
        assert_sum(&group, sum);
    }
}

#[test]
fn a_group_of_one_at_its_own_rate_or_window_is_alone() {
    let (rate, window) = (update(0, 3.0), windowed(0, 30, 80));
    let untimed = FlowUpdate { rtt: None, ..window };
    for (told, members, sum, alone) in [
        (rate, 1, 3_000_000, true),
        (rate, 1, 2_999_997, true),
        (rate, 1, 3_000_004, false),
        (rate, 2, 3_000_000, false),
        (window, 1, 3_000_000, true),
        (window, 1, 6_000_000, false),
        (untimed, 1, 6_000_000, true),
    ] {
        assert_eq!(told.is_alone(members, Bitrate::from_bps(sum)), alone, "{told:?}, {members}, {sum}");
    }
}

/// Also where the other one, which had the rates of both, was away meanwhile: a path that is silent for a moment takes all out of the group.
#[test]
fn a_rate_that_a_flow_left_counts_once_when_all_come_back() {
    for kind in ["active", "conservative"] {
        for (back, sum) in [([1, 0], 6.0), ([0, 1], 6.0)] {
            let mut group = group(kind, "rfc8699");
            group.join(ms(0), &update(0, 3.0));
            group.join(ms(0), &update(1, 3.0));
            group.leave(ms(0), FlowId(0));
            group.update(ms(10), &update(1, 3.0));
            assert_rates(&group, &[6.0]);
            group.leave(ms(20), FlowId(1));
            assert_sum(&group, 0.0);
            for flow in back {
                group.join(ms(100), &update(flow, if flow == 0 { 3.0 } else { 6.0 }));
            }
            assert_sum(&group, sum);
        }
    }
}

/// It may come back with less, and its controller leads it back to what it left: no growth of the group.
#[test]
fn growth_back_to_what_a_flow_left_counts_once() {
    let mut group = group("active", "rfc8699");
    group.join(ms(0), &update(0, 3.0));
    group.join(ms(0), &update(1, 3.0));
    group.leave(ms(0), FlowId(0));
    assert_eq!(group.join(ms(1000), &update(0, 0.5)).len(), 2, "both are told at once");
    assert_rates(&group, &[3.0, 3.0]);
    // Its controller takes nothing that is assigned while it recovers.
    let led = |own, taken| FlowUpdate { taken: Some(update(0, taken).own), ..update(0, own) };
    group.update(ms(1100), &led(1.5, 0.5));
    assert_sum(&group, 6.0);
    group.update(ms(1200), &led(3.5, 1.5));
    assert_sum(&group, 6.5);
    group.update(ms(1300), &led(3.75, 3.5));
    assert_sum(&group, 6.75);
}

/// A rate that was not used for a while is low by that alone (RFC 5348 section 4.3 limits it to what was received).
#[test]
fn a_flow_that_comes_back_reduces_nobody_for_two_round_trips() {
    for (kind, after) in [("active", 3.0), ("conservative", 2.0)] {
        let mut group = group(kind, "rfc8699");
        let told = |flow, own| FlowUpdate { rtt: Some(TimeDelta::from_millis(100)), ..update(flow, own) };
        group.join(ms(0), &told(0, 2.0));
        group.join(ms(0), &told(1, 2.0));
        group.leave(ms(0), FlowId(0));
        group.join(ms(1000), &told(0, 0.1));
        group.update(ms(1199), &told(0, 0.5));
        assert_rates(&group, &[2.0, 2.0]);
        group.update(ms(1200), &told(0, 1.0));
        assert_sum(&group, after);
    }
}

#[test]
fn updates_of_others_are_counted_and_change_nothing() {
    let update = |flow, own| FlowUpdate { rtt: Some(TimeDelta::from_millis(50)), ..update(flow, own) };
    for kind in CouplingParams::KINDS {
        let mut group = AnyCoupling::new(&CouplingParams::of(kind).expect("known"));
        group.join(ms(0), &update(0, 3.0));
        assert!(group.update(ms(1), &update(7, 100.0)).is_empty());
        assert!(group.leave(ms(1), FlowId(7)).is_empty());
        group.leave(ms(2), FlowId(0));
        assert!(group.update(ms(3), &update(0, 100.0)).is_empty());
        assert!(group.leave(ms(3), FlowId(0)).is_empty());
        assert_eq!(group.ignored(), 4, "{kind}");
        group.join(ms(4), &update(0, 2.0));
        assert_eq!(group.join(ms(4), &update(0, 5.0)).len(), 1, "{kind}: who joins twice has updated");
    }
}

/// A flow whose round trip is another, and whose controller has done nothing since it was given its window.
fn unchanged(group: &AnyCoupling, flow: u32, millis: i64) -> FlowUpdate {
    let given = group.members()[flow as usize].assignment().assigned;
    FlowUpdate { own: given, taken: Some(given), ..windowed(flow, 0, millis) }
}

#[test]
fn a_window_goes_by_the_present_round_trip() {
    let mut group = group("active", "rfc8699");
    group.join(ms(0), &windowed(0, 10, 10));
    group.join(ms(0), &windowed(1, 10, 20));
    assert_rates(&group, &[8.0, 4.0]);
    // Equal rates are windows in the ratio of the round trips.
    assert_windows(group.update(ms(1), &windowed(0, 10, 10)), &[7_500, 15_000]);
    // A queue of 20 ms comes and goes, told by one flow after the other: windows do not grow with it.
    for (longer, expected) in [(20, [9_185, 12_247]), (0, [7_500, 15_000])] {
        for (flow, millis) in [(0, 10 + longer), (1, 20 + longer)] {
            let told = unchanged(&group, flow, millis);
            group.update(ms(2), &told);
        }
        let lines: Vec<_> = group.members().iter().map(Member::assignment).collect();
        assert_windows(&lines, &expected);
    }
}

/// Round trips that swing by a third, each flow's against the other's: the sum of windows neither drifts up nor down.
#[test]
fn noise_on_round_trips_does_not_add_up() {
    for kind in ["active", "conservative"] {
        let mut group = group(kind, "rfc8699");
        group.join(ms(0), &windowed(0, 10_000, 30));
        group.join(ms(0), &windowed(1, 10_000, 30));
        for at in 0..20_000 {
            let flow = at % 2;
            let told = unchanged(&group, flow, if at / 2 % 2 == flow { 30 } else { 20 });
            group.update(ms(1), &told);
        }
        for flow in 0..2 {
            let told = unchanged(&group, flow, 30);
            group.update(ms(1), &told);
        }
        for window in windows(&group.members().iter().map(Member::assignment).collect::<Vec<_>>()) {
            assert!(window.abs_diff(10_000_000) < 10_000, "{kind}: {window}");
        }
    }
}

#[test]
fn an_application_needs_a_larger_window_while_the_queue_is_long() {
    let mut group = group("active", "rfc8699");
    group.join(ms(0), &windowed(0, 10, 10));
    group.join(ms(0), &windowed(1, 10, 10));
    assert_windows(group.update(ms(1), &wishing(4.0, windowed(0, 10, 10))), &[5_000, 15_000]);
    let taken = Some(Assigned::Window(Bytes::new(5_000)));
    let later = FlowUpdate { taken, ..wishing(4.0, windowed(0, 5, 15)) };
    assert_windows(group.update(ms(1), &later), &[7_500, 15_000]);
}

#[test]
fn the_group_goes_by_the_change_from_what_a_controller_took() {
    let mut group = group("conservative", "rfc8699");
    group.join(ms(0), &update(0, 4.0));
    let rounded = Some(Assigned::Rate(Bitrate::from_bps_f64(3.9 * MBIT)));
    group.update(ms(1), &FlowUpdate { taken: rounded, ..update(0, 3.9) });
    assert_rates(&group, &[4.0]);
    group.update(ms(2), &FlowUpdate { taken: rounded, ..update(0, 1.95) });
    assert_rates(&group, &[2.0]);
}

/// A controller keeps to a floor above what the group gives it: its floor is no growth.
#[test]
fn a_floor_above_the_given_rate_is_no_growth() {
    for kind in ["active", "conservative"] {
        let mut group = group(kind, "rfc8699");
        group.join(ms(0), &update(0, 3.0));
        group.join(ms(0), &update(1, 3.0));
        let floor = Some(Assigned::Rate(Bitrate::from_bps_f64(MBIT)));
        let silent = |own| FlowUpdate { taken: floor, ..wishing(0.0, update(1, own)) };
        group.update(ms(1), &FlowUpdate { taken: None, ..silent(3.0) });
        (2..10).for_each(|at| {
            group.update(ms(at), &silent(1.0));
        });
        assert_sum(&group, 6.0);
        group.update(ms(11), &silent(1.5));
        assert_sum(&group, 6.5);
    }
}

#[test]
fn growth_is_what_the_controller_added_however_little_it_was_given() {
    let mut group = group("active", "rfc8699");
    group.join(ms(0), &update(0, 0.001));
    let floor = Some(Assigned::Rate(Bitrate::from_bps_f64(MBIT)));
    group.update(ms(1), &FlowUpdate { taken: floor, ..update(0, 1.5) });
    assert_rates(&group, &[0.501]);
}

#[test]
fn what_no_application_can_use_grows_as_printed_or_not_at_all() {
    for kind in ["active", "conservative"] {
        for (profile, expected) in [("rfc8699", 104.0), ("bounded", 4.0)] {
            let mut group = group(kind, profile);
            let all = |own| wishing(1.0, update(0, own));
            group.join(ms(0), &all(1.0));
            group.join(ms(0), &wishing(5.0, update(1, 3.0)));
            (0..1000).for_each(|at| {
                group.update(ms(at), &all(1.1));
            });
            assert_sum(&group, expected);
            // A flow's usable rate still counts, and so does a reduction.
            group.update(
                ms(2000),
                &FlowUpdate { taken: Some(update(1, 3.0).own), ..wishing(5.0, update(1, 3.5)) },
            );
            assert_sum(&group, expected + 0.5);
            group.update(ms(3000), &all(0.5));
            let reduced = if kind == "active" { expected } else { (expected + 0.5) / 2.0 };
            assert_sum(&group, reduced);
        }
    }
}

#[test]
fn shares_never_add_up_to_more_whatever_the_priorities() {
    let mut group = group("active", "rfc8699");
    group.join(ms(0), &weighing(1e6, wishing(1.0, update(0, 1000.0))));
    (1..4).for_each(|flow| {
        group.join(ms(0), &weighing(1e-6, update(flow, 1000.0)));
    });
    group.update(ms(1), &weighing(1e-6, update(3, 1000.0)));
    assert_rates(&group, &[1.0, 1333.0, 1333.0, 1333.0]);
}

#[test]
fn a_passive_group_whose_flows_have_all_ended_has_no_rate() {
    let mut group = group("passive", "rfc8699");
    group.join(ms(0), &update(0, 50.0));
    group.leave(ms(1), FlowId(0));
    assert_sum(&group, 0.0);
    group.join(ms(2), &update(1, 1.0));
    group.update(ms(3), &update(1, 2.0));
    assert_rates(&group, &[2.0]);
}

#[test]
fn a_hold_ends_with_the_last_flow() {
    for (kind, changed, expected) in [("conservative", 3.0, 2.5), ("etcp", 1.0, 1.0)] {
        for goes_over in [false, true] {
            let mut group = AnyCoupling::new(&CouplingParams::of(kind).expect("known"));
            let slow = |own| FlowUpdate { rtt: Some(TimeDelta::from_secs(3600)), ..update(0, own) };
            group.join(ms(0), &slow(4.0));
            group.join(ms(0), &FlowUpdate { flow: FlowId(1), ..slow(4.0) });
            group.update(ms(1), &slow(2.0));
            group.leave(ms(2), FlowId(1));
            if goes_over {
                group.go_over(ms(2), FlowId(0))
            } else {
                group.leave(ms(2), FlowId(0))
            };
            group.join(ms(60_000), &slow(2.0));
            group.join(ms(60_000), &FlowUpdate { flow: FlowId(2), ..slow(2.0) });
            group.update(ms(60_001), &slow(changed));
            assert_rates(&group, &[expected; 2]);
        }
    }
}

fn windowed(flow: u32, packets: u64, millis: i64) -> FlowUpdate {
    let own = Assigned::Window(Bytes::new(1000 * packets));
    FlowUpdate { own, rtt: Some(TimeDelta::from_millis(millis)), ..update(flow, 0.0) }
}

fn windows(answer: &[Assignment]) -> Vec<u64> {
    let window = |line: &Assignment| match line.assigned {
        Assigned::Window(window) => window.as_u64(),
        Assigned::Rate(rate) => rate.as_bps(),
    };
    answer.iter().map(window).collect()
}

#[track_caller]
fn assert_windows(answer: &[Assignment], expected: &[u64]) {
    let found = windows(answer);
    let near = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a.abs_diff(*b) <= 1);
    assert!(near, "{found:?} instead of {expected:?}");
}

#[test]
fn an_ensemble_grows_and_is_reduced_like_one_connection() {
    let mut group = group("etcp", "eggert2000");
    assert_windows(group.join(ms(0), &windowed(0, 20, 100)), &[20_000]);
    assert_windows(group.join(ms(1), &windowed(1, 10, 200)), &[10_000, 10_000]);
    assert_windows(group.update(ms(2), &windowed(0, 12, 100)), &[10_500, 10_500]);
    let taken = Some(Assigned::Window(Bytes::new(10_000)));
    // Cut to whole packets it is no reduction, and half of them is half of all.
    assert_windows(group.update(ms(3), &FlowUpdate { taken, ..windowed(1, 10, 200) }), &[10_500, 10_500]);
    assert_windows(group.update(ms(4), &FlowUpdate { taken, ..windowed(1, 5, 200) }), &[5_250, 5_250]);
    let again = FlowUpdate { taken, ..windowed(0, 5, 100) };
    assert_windows(group.update(ms(203), &again), &[5_250, 5_250]);
    assert_windows(group.update(ms(204), &again), &[2_625, 2_625]);
    let weighed = weighing(3.0, FlowUpdate { taken, ..windowed(1, 10, 200) });
    assert_windows(group.update(ms(205), &weighed), &[1_312, 3_937]);
    group.leave(ms(206), FlowId(0));
    assert_windows(group.update(ms(207), &weighed), &[5_250]);
    group.leave(ms(208), FlowId(1));
    assert_sum(&group, 0.0);
}

#[test]
fn every_flow_has_the_average_of_all_windows() {
    let mut group = group("efcm", "savoric2005");
    assert_windows(group.join(ms(0), &windowed(0, 20, 100)), &[20_000]);
    assert_windows(group.join(ms(1), &windowed(1, 10, 200)), &[10_000, 10_000]);
    assert_windows(group.update(ms(2), &windowed(0, 12, 100)), &[11_000, 11_000]);
    let taken = Some(Assigned::Window(Bytes::new(10_000)));
    assert_windows(group.update(ms(3), &FlowUpdate { taken, ..windowed(1, 5, 200) }), &[8_250, 8_250]);
    let params = EfcmParams { leaving: Leaving::Subtract };
    let mut group = AnyCoupling::new(&CouplingParams::Efcm(params));
    group.join(ms(0), &windowed(0, 20, 100));
    group.join(ms(0), &windowed(1, 20, 100));
    group.leave(ms(1), FlowId(0));
    assert_windows(group.update(ms(2), &windowed(1, 11, 100)), &[11_000]);
}

/// RFC 3124 section 4.1, by the rule of RFC 5681: a packet of 1500 B in a round trip of 100 ms is 0.12 Mbit/s, whoever reports; a report of
/// congestion halves the joint window once in a round trip, whatever part the reporting controller gave up.
#[test]
fn a_congestion_manager_grows_and_is_reduced_by_its_own_rule() {
    let told = |flow, own| FlowUpdate { rtt: Some(TimeDelta::from_millis(100)), ..update(flow, own) };
    let mut group = group("cm", "rfc3124");
    group.join(ms(0), &told(0, 4.0));
    assert_rates(&group, &[4.0]);
    // A flow by itself goes by its own controller; its reduction ends slow start.
    group.update(ms(50), &told(0, 3.0));
    assert_rates(&group, &[3.0]);
    group.join(ms(100), &told(1, 1.0));
    assert_rates(&group, &[1.5, 1.5]);
    group.update(ms(200), &told(0, 9.0));
    assert_rates(&group, &[1.56, 1.56]);
    // A flow that does not grow says nothing of what arrives.
    group.update(ms(225), &told(1, 1.56));
    assert_rates(&group, &[1.56, 1.56]);
    group.update(ms(225), &told(1, 1.6));
    assert_rates(&group, &[1.575, 1.575]);
    // Less than a tenth is no report, and what both give up together is one.
    group.update(ms(225), &told(1, 1.575 * 0.93));
    assert_rates(&group, &[1.575, 1.575]);
    group.update(ms(225), &told(0, 1.575 * 0.93));
    assert_rates(&group, &[0.7875, 0.7875]);
    group.update(ms(324), &told(1, 0.1));
    assert_rates(&group, &[0.7875, 0.7875]);
    group.update(ms(325), &told(1, 0.1));
    assert_rates(&group, &[0.39375, 0.39375]);
}

#[test]
fn the_scheduler_of_a_congestion_manager_gives_by_weight_and_keeps_nothing_back() {
    let told = |flow, own| FlowUpdate { rtt: Some(TimeDelta::from_millis(100)), ..update(flow, own) };
    let mut group = group("cm", "rfc3124");
    group.join(ms(0), &told(0, 6.0));
    group.update(ms(0), &told(0, 3.5));
    group.join(ms(0), &weighing(2.0, told(1, 1.0)));
    group.join(ms(0), &weighing(4.0, told(2, 1.0)));
    assert_rates(&group, &[0.5, 1.0, 2.0]);
    group.update(ms(0), &weighing(4.0, wishing(0.5, told(2, 2.0))));
    assert_rates(&group, &[1.0, 2.0, 0.5]);
    // While nobody uses its part, the window stays; a flow that leaves leaves it to the others.
    group.update(ms(0), &wishing(1.0, told(0, 1.0)));
    group.update(ms(0), &weighing(2.0, wishing(1.0, told(1, 2.0))));
    group.update(ms(500), &wishing(1.0, told(0, 1.5)));
    assert_sum(&group, 3.5);
    group.leave(ms(500), FlowId(2));
    group.leave(ms(500), FlowId(1));
    group.update(ms(500), &told(0, 1.0));
    assert_sum(&group, 1.0);
    let params = CmParams { leaving: Leaving::Subtract, ..CmParams::default() };
    let mut group = AnyCoupling::new(&CouplingParams::Cm(params));
    for flow in 0..3 {
        group.join(ms(0), &told(flow, 3.0));
    }
    group.leave(ms(0), FlowId(0));
    group.update(ms(0), &told(1, 1.0));
    assert_sum(&group, 2.0);
}

/// A rate is a window over its round trip, and a flow without one waits.
#[test]
fn an_ensemble_takes_rates_by_their_round_trips() {
    for kind in ["etcp", "efcm"] {
        let mut group = AnyCoupling::new(&CouplingParams::of(kind).expect("known"));
        group.join(ms(0), &windowed(0, 20, 100));
        let rate = update(1, 3.0);
        assert_windows(group.join(ms(1), &rate), &[10_000]);
        let rate = FlowUpdate { rtt: Some(TimeDelta::from_millis(50)), taken: Some(rate.own), ..rate };
        assert_windows(group.update(ms(2), &rate), &[10_000, 1_600_000]);
        assert_eq!(group.update(ms(2), &FlowUpdate { taken: None, ..rate }).len(), 2);
    }
}

#[test]
fn priorities_are_finite_and_above_zero() {
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-7, 1e7] {
        assert_eq!(Priority::new(wrong), None, "{wrong}");
    }
    assert_eq!(Priority::new(0.11).map(Priority::weight), Some(0.11));
}
