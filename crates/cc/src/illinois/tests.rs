//! The two curves of the paper as vectors.

use super::*;
use crate::FlowSetup;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, close, one_step};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn};

fn make(profile: &str, packets: u64) -> Flow<Avoidance<IllinoisRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Illinois::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn step(profile: &str, packets: u64) -> (f64, f64) {
    one_step(|| make(profile, packets))
}
use paceline_units::TimeDelta;

#[test]
fn growth_falls_and_the_loss_s_part_rises_with_the_queue() {
    let rule = IllinoisRule::new(&Params::default()).0;
    // d_m is 100 ms: growth is kappa_1 / (kappa_2 + d_a) with kappa_1 = 0.03062 s and kappa_2 = 2.06 ms.
    for (d_a, alpha) in [(0.0, 10.0), (0.001, 10.0), (0.002, 7.541), (0.01, 2.538), (0.05, 0.588), (0.1, 0.3)]
    {
        assert!(
            (rule.f1(d_a, 0.1) / alpha - 1.0).abs() < 0.01,
            "f1({d_a}) is {}, not {alpha}",
            rule.f1(d_a, 0.1)
        );
    }
    for (d_a, beta) in [(0.0, 0.125), (0.01, 0.125), (0.045, 0.3125), (0.08, 0.5), (0.1, 0.5)] {
        close(rule.f2(d_a, 0.1), beta);
    }
}

#[test]
fn growth_is_largest_again_after_theta_rounds_with_a_short_queue() {
    let mut flow = make("2008", 40);
    flow.round(TimeDelta::from_millis(200), Ecn::NotEct);
    let alpha = |flow: &mut Flow<Avoidance<IllinoisRule>>| flow.sender.parts().0.rule().alpha;
    // The base is learnt, then a long queue.
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    flow.round(TimeDelta::from_millis(200), Ecn::NotEct);
    flow.round(TimeDelta::from_millis(200), Ecn::NotEct);
    assert!(alpha(&mut flow) < 0.4, "{}", alpha(&mut flow));
    let mut rounds = 0;
    while alpha(&mut flow) < 10.0 && rounds < 20 {
        flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
        rounds += 1;
    }
    assert!((5..=7).contains(&rounds), "{rounds} rounds");
}

#[test]
fn small_windows_are_reno_s() {
    close(step("2008", 9).0, 1.0);
    close(step("2008", 9).1, 0.5);
    close(step("2008", 10).0, 10.0);
}
