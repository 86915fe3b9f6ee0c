//! The equations of Leith and Shorten as vectors.

use super::*;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, close, lost};
use crate::{FlowSetup, Recovery};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn};

fn make(profile: &str, packets: u64) -> Flow<Avoidance<HtcpRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Htcp::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

use paceline_units::TimeDelta;

#[test]
fn growth_rises_with_the_time_since_the_last_event() {
    let rule = HtcpRule::new(&Params::default()).0;
    // With beta = 1/2 the factor 2 (1 - beta) is 1.
    for (elapsed, alpha) in [(0.0, 1.0), (1.0, 1.0), (2.0, 11.25), (3.0, 22.0), (11.0, 126.0)] {
        close(rule.alpha(elapsed, 0.1), alpha);
    }
    close(rule.alpha(3.0, 0.2), 44.0);
    close(rule.alpha(3.0, 1.0), 44.0);
    close(rule.alpha(3.0, 0.05), 11.0);
    close(rule.alpha(3.0, 1e-5), 2.2);
}

/// Rounds of 100 ms, of which the last `waits` wait so many ms, and a loss.
fn event(flow: &mut Flow<Avoidance<HtcpRule>>, waited: i64) -> f64 {
    for _ in 0..12 {
        flow.round(TimeDelta::from_millis(100 + waited), Ecn::NotEct);
    }
    flow.tell(Recovery::Entered { lost: lost(1) });
    let beta = flow.sender.parts().0.rule().backoff.beta();
    flow.tell(Recovery::Left);
    // The same window again: the rate does not change.
    let _ = crate::Controller::assign(&mut flow.sender, flow.now, crate::Assigned::Window(lost(100)));
    flow.fill();
    beta
}

#[test]
fn what_a_loss_leaves_is_the_ratio_of_round_trips_where_the_rate_is_steady() {
    let mut flow = make("2004", 100);
    assert_eq!(event(&mut flow, 0), 0.5, "nothing to compare with");
    let betas: [f64; 3] = core::array::from_fn(|_| event(&mut flow, 0));
    close(betas[2], 0.8);
    assert!(betas[0] < 0.81, "no queue, a steady rate, at most beta_max: {betas:?}");
    // Half of the rate.
    close(event(&mut flow, 100), 0.5);
    let betas: [f64; 4] = core::array::from_fn(|_| event(&mut flow, 60));
    assert!((0.55..0.72).contains(&betas[3]), "100 of 160 ms, and of 200 as far as remembered: {betas:?}");
}
