//! Reductions by the gradient, and losses that do not count.

use super::*;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, close, lost};
use crate::{Assigned, Controller, FlowSetup, Recovery};
use paceline_units::Bytes;
use paceline_units::param::Profiles;

fn make(profile: &str, packets: u64) -> Flow<Avoidance<CdgRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Cdg::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

/// The part of some thousand rounds in which a gradient of so many ms reduces, where every second one may.
fn reductions(gradient: f64, g: f64) -> f64 {
    let params = Params { g, b: 0, ..Params::default() };
    let mut flow = Flow::new(Cdg::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(20);
    let (mut rtt, mut reduced, mut judged) = (1e5, 0u32, 0u32);
    for round in 0..4000 {
        rtt += gradient * 1e3;
        let _ = flow.sender.assign(flow.now, Assigned::Window(lost(40)));
        let _ = flow.sender.assign(flow.now, Assigned::Window(lost(20)));
        let waited = flow.sender.parts().0.rule().waits;
        let (rule, window) = flow.sender.parts();
        window.next += 20;
        rule.rule().end_round(window, rtt / 1e6, rtt / 1e6);
        if round > 8 && !waited {
            judged += 1;
            reduced += u32::from(rule.rule().waits);
        }
    }
    f64::from(reduced) / f64::from(judged)
}

#[test]
fn a_gradient_reduces_with_the_probability_of_its_exponential() {
    for gradient in [0.3, 1.0, 3.0, 6.0] {
        let expected = 1.0 - (-gradient / 3.0f64).exp();
        let found = reductions(gradient, 3.0);
        assert!((found - expected).abs() < 0.04, "{gradient} ms: {found}, not {expected}");
        let wrong = reductions(gradient, 6.0);
        assert!((wrong - expected).abs() > 0.04, "{gradient} ms: {wrong} by half of the scale's inverse");
    }
    assert_eq!(reductions(0.0, 3.0), 0.0);
    assert_eq!(reductions(-0.1, 3.0), 0.0);
}

#[test]
fn a_reduction_leaves_seven_tenths() {
    for (profile, left) in [("2011", 0.7), ("linux", 724.0 / 1024.0)] {
        let mut flow = make(profile, 20);
        let (rule, window) = flow.sender.parts();
        rule.rule().back_off(window);
        close(flow.cwnd() / 20.0, left);
    }
}

#[test]
fn five_reductions_without_an_effect_are_followed_by_five_that_are_left_out() {
    let mut flow = make("2011", 400);
    let mut windows = alloc::vec::Vec::new();
    for _ in 0..11 {
        let (rule, window) = flow.sender.parts();
        rule.rule().back_off(window);
        windows.push(window.packets());
    }
    let moved: alloc::vec::Vec<bool> = windows.windows(2).map(|pair| pair[1] < pair[0]).collect();
    assert_eq!(moved, [true, true, true, true, false, false, false, false, false, true], "{windows:?}");
}

#[test]
fn a_loss_counts_only_with_a_full_queue_and_takes_the_shadow_s_half() {
    let mut flow = make("2011", 40);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!(flow.cwnd(), 40.0, "no queue");
    flow.tell(Recovery::Left);
    let mut flow = make("2011", 40);
    flow.sender.parts().0.rule().is_full = true;
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!(flow.cwnd(), 20.0);
    let mut flow = make("linux", 40);
    let (rule, window) = flow.sender.parts();
    rule.rule().back_off(window);
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), 20.0);
    let mut flow = make("scavenger", 40);
    let (rule, window) = flow.sender.parts();
    rule.rule().back_off(window);
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), 40.0 * 724.0 / 1024.0 / 2.0);
}

#[test]
fn a_queue_is_full_when_the_largest_round_trip_grows_no_more() {
    let mut flow = make("2011", 20);
    let (rule, window) = flow.sender.parts();
    let rule = rule.rule();
    for round in 0..12 {
        rule.end_round(window, 0.1 + 1e-4 * f64::from(round), 0.15);
    }
    assert!(rule.is_full);
    for round in 0..12 {
        rule.end_round(window, 0.1 - 1e-4 * f64::from(round), 0.15 - 1e-4 * f64::from(round));
    }
    assert!(!rule.is_full);
}
