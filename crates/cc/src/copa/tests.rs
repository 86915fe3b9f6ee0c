//! The target rate, the velocity and the modes.

use super::*;
use crate::window::drive::{ACK, Flow, SIZE, close, lost};
use crate::{FlowSetup, Recovery};
use paceline_units::{Bytes, Ecn};

const RTT: TimeDelta = TimeDelta::from_millis(100);

fn flow(params: &Params) -> Flow<CopaLaw> {
    Flow::new(Copa::new(params, &FlowSetup::new(Bytes::new(SIZE))))
}

/// By how many packets in a round trip a window of `packets` moves whose packets wait so long.
fn moved(delta: f64, packets: u64, wait: TimeDelta) -> f64 {
    let mut flow = flow(&Params { delta, ..Params::default() }).avoiding(packets);
    let (law, window) = flow.sender.parts();
    let before = window.packets();
    let standing = (RTT + wait).as_secs_f64();
    law.velocity.rises = before * wait.as_secs_f64() <= standing / delta;
    law.steer(window, &ACK, standing, wait.as_secs_f64());
    (window.packets() - before) * before
}

#[test]
fn the_window_rises_while_its_rate_is_below_one_over_delta_times_the_queue_delay() {
    // 50 packets in 102 ms are 490 a second; 1/(0.5 d) is 1000 for 2 ms, 400 for 5 ms.
    for (delta, ms, expected) in
        [(0.5, 0, 2.0), (0.5, 2, 2.0), (0.5, 5, -2.0), (0.1, 5, 10.0), (0.1, 30, -10.0), (2.0, 2, -0.5)]
    {
        close(moved(delta, 50, TimeDelta::from_millis(ms)), expected);
    }
}

#[test]
fn the_velocity_doubles_after_three_round_trips_in_one_direction() {
    let mut flow = flow(&Params::default()).avoiding(100);
    let mut velocities = alloc::vec::Vec::new();
    for _ in 0..8 {
        flow.round(RTT, Ecn::NotEct);
        velocities.push(flow.sender.parts().0.velocity.v);
    }
    assert!(
        velocities.starts_with(&[1.0, 1.0, 1.0]) && velocities.ends_with(&[2.0, 4.0, 8.0, 16.0]),
        "{velocities:?}"
    );
    // A queue turns it: the velocity begins anew at once.
    (0..2).for_each(|_| flow.round(RTT * 2, Ecn::NotEct));
    assert!(flow.sender.parts().0.velocity.v <= 2.0);
}

#[test]
fn slow_start_doubles_until_the_rate_exceeds_the_target() {
    let mut flow = flow(&Params::default());
    flow.fill();
    (0..3).for_each(|_| flow.round(RTT, Ecn::NotEct));
    assert_eq!(flow.cwnd(), 80.0);
    (0..2).for_each(|_| flow.round(RTT + TimeDelta::from_millis(20), Ecn::NotEct));
    assert!(!flow.sender.parts().1.in_slow_start());
}

#[test]
fn a_queue_that_never_empties_makes_it_compete_and_a_loss_then_counts() {
    for (competitive, competes) in [(true, true), (false, false)] {
        let mut flow = flow(&Params { competitive, ..Params::default() }).avoiding(40);
        flow.round(RTT, Ecn::NotEct);
        (0..20).for_each(|round| flow.round(RTT + TimeDelta::from_millis(50 + round % 2), Ecn::NotEct));
        let law = flow.sender.parts().0;
        assert_eq!(law.competing.is_some(), competes, "{law:?}");
        let packets = law.packets();
        let cwnd = flow.cwnd();
        flow.tell(Recovery::Entered { lost: lost(1) });
        assert_eq!(flow.cwnd(), cwnd, "a loss leaves the window");
        let expected = if competes { (packets / 2.0).max(2.0) } else { 2.0 };
        close(flow.sender.parts().0.packets(), expected);
        for _ in 0..6 {
            flow.tell(Recovery::Left);
            flow.tell(Recovery::Entered { lost: lost(1) });
        }
        assert_eq!(flow.sender.parts().0.packets(), 2.0, "1/delta of the default mode at least");
    }
}

#[test]
fn packets_are_paced_at_two_windows_a_round_trip() {
    let mut flow = flow(&Params::default()).avoiding(40);
    flow.round(RTT, Ecn::NotEct);
    let (law, window) = flow.sender.parts();
    let rate = law.pacing_rate(window).expect("a pace").as_bps_f64();
    close(rate, 2.0 * window.cwnd * 8.0 / 0.1);
}

#[test]
fn the_window_at_most_doubles_in_a_round_trip() {
    let mut flow = flow(&Params::default()).avoiding(100);
    for _ in 0..16 {
        let before = flow.cwnd();
        flow.round(RTT, Ecn::NotEct);
        let (v, grown) = (flow.sender.parts().0.velocity.v, flow.cwnd() / before);
        assert!(grown <= 2.1, "by {grown} at a velocity of {v}");
    }
    assert!(flow.sender.parts().0.velocity.v > 64.0);
}

#[test]
fn a_timeout_leaves_a_packet_and_a_queue_no_more() {
    let mut flow = flow(&Params { delta: 2.0, ..Params::default() }).avoiding(100);
    (0..8).for_each(|_| flow.round(RTT, Ecn::NotEct));
    assert!(flow.sender.parts().0.velocity.v > 4.0);
    flow.tell(Recovery::TimedOut);
    let (law, window) = flow.sender.parts();
    assert_eq!((law.velocity.v, window.packets()), (1.0, 1.0));
    // Half a packet may wait: of a window of one in 150 ms, 100 ms of which are a queue, more does.
    (0..2).for_each(|_| law.steer(window, &ACK, 0.15, 0.1));
    assert!(!window.in_slow_start() && window.packets() <= 1.0, "{}", window.packets());
}

#[test]
fn an_unused_window_does_not_rise() {
    let mut flow = flow(&Params::default()).avoiding(40);
    for _ in 0..20 {
        let all = flow.first()..flow.next;
        flow.now += RTT;
        flow.ack(all, Ecn::NotEct);
        flow.send(10);
    }
    assert!(flow.cwnd() < 43.0, "{}", flow.cwnd());
}

#[test]
fn a_packet_more_may_wait_in_each_competitive_round() {
    let mut flow = flow(&Params::default()).avoiding(40);
    flow.round(RTT, Ecn::NotEct);
    let mut packets = alloc::vec::Vec::new();
    for round in 0..24 {
        flow.round(RTT + TimeDelta::from_millis(50 + round % 2), Ecn::NotEct);
        packets.push(flow.sender.parts().0.packets());
    }
    assert!(packets[18..].windows(2).all(|pair| pair[1] - pair[0] == 1.0), "{packets:?}");
}
