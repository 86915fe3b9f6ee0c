//! The equation of the window, and the end of slow start.

use super::*;
use crate::window::drive::{Flow, SIZE, close, lost, one_step};
use crate::window::{Avoidance, WindowGrowth};
use crate::{Assigned, Controller, FlowSetup, Recovery};
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

#[test]
fn a_round_trip_weighs_three_over_the_window_or_a_quarter() {
    for (packets, weight) in [(6, 0.25), (12, 0.25), (100, 0.03)] {
        let mut flow = make("2004", packets);
        let mut rule = flow.sender.parts().0.rule().clone();
        for millis in [100, 200] {
            rule.average(flow.sender.parts().1, TimeDelta::from_millis(millis));
        }
        close(rule.mean.expect("two round trips"), 0.1 + 0.1 * weight);
    }
}

#[test]
fn slow_start_lasts_below_three_quarters_of_a_millisecond_of_queue() {
    for (micros, lasts) in [(700, true), (900, false)] {
        let mut flow = Flow::new(Fast::new(&Params::default(), &FlowSetup::new(Bytes::new(SIZE))));
        flow.fill();
        flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
        for _ in 0..4 {
            flow.round(TimeDelta::from_micros(100_000 + micros), Ecn::NotEct);
        }
        assert_eq!(flow.sender.parts().1.in_slow_start(), lasts, "{micros} us");
    }
}

#[test]
fn a_window_that_falls_takes_its_threshold_along() {
    let mut flow = make("2004", 100);
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    (0..3).for_each(|_| flow.round(TimeDelta::from_millis(300), Ecn::NotEct));
    assert!(flow.cwnd() < 70.0, "{}", flow.cwnd());
    close(flow.ssthresh(), flow.cwnd());
}

#[test]
fn the_window_stays_while_losses_are_repaired() {
    let mut flow = make("2004", 100);
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    flow.tell(Recovery::Entered { lost: lost(1) });
    let halved = flow.cwnd();
    let queue = |flow: &mut Flow<_>| flow.round(TimeDelta::from_millis(300), Ecn::NotEct);
    (0..3).for_each(|_| queue(&mut flow));
    assert_eq!(flow.cwnd(), halved, "whatever the queue");
    flow.tell(Recovery::Left);
    (0..3).for_each(|_| queue(&mut flow));
    assert!(flow.cwnd() < 0.9 * halved, "{} after {halved}", flow.cwnd());
}

/// Of a window of 40 packets so many are used in each round trip; where the rule is on, it is a step of ten above the largest flight.
#[test]
fn an_unused_window_stays_or_is_a_step_above_the_largest_flight() {
    for (rate_limited_increase, used, expected) in [(false, 10, 40.0), (true, 10, 40.0), (true, 35, 45.0)] {
        let growth = WindowGrowth { rate_limited_increase, ..WindowGrowth::default() };
        let avoidance = AvoidanceParams { growth, ..AvoidanceParams::default() };
        let params = Params { avoidance, ..Params::default() };
        let mut flow = Flow::new(Fast::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(40);
        let all = flow.first()..flow.next;
        flow.ack(all, Ecn::NotEct);
        let _ = flow.sender.assign(flow.now, Assigned::Window(lost(40)));
        for _ in 0..30 {
            flow.send(used);
            flow.now += TimeDelta::from_millis(100);
            let all = flow.first()..flow.next;
            flow.ack(all, Ecn::NotEct);
        }
        close(flow.cwnd(), expected);
    }
}
