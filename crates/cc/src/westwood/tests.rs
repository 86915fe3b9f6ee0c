//! The bandwidth that a loss leaves.

use super::*;
use crate::window::Avoidance;
use crate::window::drive::{ACK, Flow, SIZE, close, lost, one_step};
use crate::{FlowSetup, Recovery};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn};

fn make(profile: &str, packets: u64) -> Flow<Avoidance<WestwoodRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Westwood::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn step(profile: &str, packets: u64) -> (f64, f64) {
    one_step(|| make(profile, packets))
}
use paceline_units::TimeDelta;

/// A steady window over a round trip of 100 ms, then waits of `waited` ms more, and what a loss leaves in packets.
fn left(waited: i64) -> f64 {
    let mut flow = make("2004", 100);
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    for _ in 0..60 {
        let _ = crate::Controller::assign(&mut flow.sender, flow.now, crate::Assigned::Window(lost(100)));
        flow.round(TimeDelta::from_millis(100 + waited), Ecn::NotEct);
    }
    flow.tell(Recovery::Entered { lost: lost(1) });
    flow.cwnd()
}

#[test]
fn a_loss_leaves_the_bandwidth_times_the_smallest_round_trip() {
    let without = left(0);
    assert!((92.0..=101.0).contains(&without), "all of it without a queue: {without}");
    let with = left(100);
    assert!((46.0..=54.0).contains(&with), "the path's half of 200 ms: {with}");
}

#[test]
fn before_a_sample_it_is_reno() {
    close(step("2004", 50).0, 1.0);
    close(step("2004", 50).1, 0.5);
}

#[test]
fn a_sample_weighs_an_eighth() {
    let mut rule = WestwoodRule::new(&Params::default()).0;
    rule.bandwidth = Some(8000.0);
    rule.began = Some(Time::ZERO);
    let mut flow = make("2004", 10);
    let ack = Ack { now: Time::from_nanos(1_000_000_000), delivered: 16_000, ..ACK };
    rule.estimate(flow.sender.parts().1, &ack);
    close(rule.bandwidth.unwrap(), 9000.0);
    rule.estimate(flow.sender.parts().1, &Ack { now: Time::from_nanos(1_049_000_000), ..ack });
    close(rule.bandwidth.unwrap(), 9000.0);
}
