//! The equation of the window, and the end of slow start.

use super::*;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, close, lost, one_step};
use crate::{Assigned, Controller, FlowSetup};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn};

fn make(profile: &str, packets: u64) -> Flow<Avoidance<FastRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Fast::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

/// The window of 100 packets after a round whose packets waited so long, all others before it having waited as long.
fn after(profile: &str, waited: i64) -> f64 {
    let mut flow = make(profile, 100);
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    for _ in 0..3 {
        flow.round(TimeDelta::from_millis(100 + waited), Ecn::NotEct);
        let _ = flow.sender.assign(flow.now, Assigned::Window(lost(200)));
        let _ = flow.sender.assign(flow.now, Assigned::Window(lost(100)));
    }
    let rule = flow.sender.parts().0.rule();
    let mean = rule.mean.expect("a round trip");
    close(mean, 0.1 + waited as f64 / 1e3);
    rule.next(100.0, mean)
}

#[test]
fn the_window_goes_half_of_the_way_to_alpha_packets_in_the_queue() {
    // 100 (100 / (100 + d)) + alpha, and half of the way there.
    for (profile, waited, expected) in [
        ("2004", 0, 110.0),
        ("2004", 25, 100.0),
        ("2004", 100, 85.0),
        ("gigabit", 0, 200.0),
        ("gigabit", 100, 175.0),
    ] {
        close(after(profile, waited), expected);
    }
}

#[test]
fn a_small_window_doubles_at_most() {
    let mut rule = make("2004", 5).sender.parts().0.rule().clone();
    rule.rounds.least = 0.1;
    close(rule.next(5.0, 0.1), 10.0);
}

#[test]
fn a_queue_ends_slow_start_and_a_loss_halves() {
    let params = Params::default();
    let mut flow = Flow::new(Fast::new(&params, &FlowSetup::new(Bytes::new(SIZE))));
    flow.fill();
    for _ in 0..3 {
        flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    }
    assert!(flow.sender.parts().1.in_slow_start() && flow.cwnd() == 80.0, "{}", flow.cwnd());
    for _ in 0..2 {
        flow.round(TimeDelta::from_millis(120), Ecn::NotEct);
    }
    assert!(!flow.sender.parts().1.in_slow_start(), "20 ms are more than 0.75 ms");
    let (grown, left) = one_step(|| make("2004", 40));
    // Of the first acknowledgement, which ends a round: half of 20 packets, whatever it adds to a window.
    close(grown, 400.0);
    close(left, 0.5);
}
