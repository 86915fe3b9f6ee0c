//! The two modes, and early decongestion.

use super::*;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, close, lost, one_step};
use crate::{FlowSetup, Recovery};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn};

fn make(profile: &str, packets: u64) -> Flow<Avoidance<YeahRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Yeah::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn step(profile: &str, packets: u64) -> (f64, f64) {
    one_step(|| make(profile, packets))
}
use paceline_units::TimeDelta;

fn after(packets: u64, waited: i64, rounds: u32) -> Flow<Avoidance<YeahRule>> {
    let mut flow = make("2007", packets);
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    (0..rounds).for_each(|_| flow.round(TimeDelta::from_millis(100 + waited), Ecn::NotEct));
    flow
}

#[test]
fn a_short_queue_is_the_fast_mode_and_a_long_one_reno_s() {
    close(step("2007", 400).0, 4.0);
    close(step("2007", 50).0, 1.0);
    let mut flow = after(400, 13, 3);
    assert!(flow.sender.parts().0.rule().slow > 0, "13 ms are more than an eighth of 100 ms");
    let mut flow = after(400, 12, 3);
    assert_eq!(flow.sender.parts().0.rule().slow, 0, "12 ms are less, and 43 packets fewer than 80");
}

#[test]
fn more_than_80_packets_in_the_queue_are_taken_out_early() {
    let mut flow = after(1000, 12, 1);
    let before = flow.cwnd();
    flow.round(TimeDelta::from_millis(112), Ecn::NotEct);
    flow.round(TimeDelta::from_millis(112), Ecn::NotEct);
    let left = flow.cwnd() / before;
    assert!((0.77..=0.91).contains(&left), "107 of 1000 packets wait: {left}");
    assert!(!flow.sender.parts().1.in_slow_start());
}

#[test]
fn a_loss_takes_the_queue_an_eighth_at_least_and_half_beside_rivals() {
    close(step("2007", 400).1, 0.875);
    let mut flow = after(100, 50, 2);
    let (before, queue) = (flow.cwnd(), flow.sender.parts().0.rule().queue);
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), before - queue);
    let mut flow = after(100, 50, 20);
    let before = flow.cwnd();
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), before / 2.0);
}

#[test]
fn fifty_rounds_in_fast_mode_forget_the_rivals_window() {
    let mut flow = after(100, 50, 20);
    let rival = flow.sender.parts().0.rule().rival;
    assert!((15.0..=22.0).contains(&rival), "a packet more in each slow round: {rival}");
    let mut rounds = 0;
    while flow.sender.parts().0.rule().rival == rival {
        flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
        rounds += 1;
    }
    assert_eq!((flow.sender.parts().0.rule().rival, rounds), (2.0, 50));
}
