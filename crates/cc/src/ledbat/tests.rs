//! RFC 6817 section 2.4.2 as vectors.

use super::*;
use crate::FlowSetup;
use crate::Recovery;
use crate::window::drive::{Flow, SIZE, lost};
use paceline_units::{Bytes, Ecn};

fn make() -> Flow<LedbatLaw> {
    Flow::new(Ledbat::new(&Params::default(), &FlowSetup::new(Bytes::new(SIZE))))
}

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Growth that an acknowledged packet that waited so long adds to a window of about 20, as a part of 1/cwnd.
fn change(queue_ms: u64) -> f64 {
    let mut flow = make().avoiding(20);
    // Any clock: this one is 1000 s ahead. The first packet tells the base.
    flow.ack_arrived(0..1, Ecn::NotEct, Some(ms(1_000_050)));
    flow.fill();
    // Four of them: the filter takes the smallest of the last four.
    for packet in 1..5 {
        flow.ack_arrived(packet..packet + 1, Ecn::NotEct, Some(ms(1_000_050 + queue_ms)));
        flow.fill();
    }
    let before = flow.cwnd();
    flow.ack_arrived(5..6, Ecn::NotEct, Some(ms(1_000_050 + queue_ms)));
    (flow.cwnd() - before) * before
}

#[test]
fn the_window_moves_in_proportion_to_the_distance_from_the_target() {
    for (queue, expected) in [(0, 1.0), (50, 0.5), (100, 0.0), (150, -0.5), (300, -2.0)] {
        assert!((change(queue) - expected).abs() < 1e-6, "{queue} ms: {}", change(queue));
    }
}

#[test]
fn it_begins_with_two_packets_and_has_no_slow_start() {
    let mut flow = make();
    assert_eq!(flow.cwnd(), 2.0);
    flow.fill();
    flow.ack(0..1, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 2.5, "1 x 1 x 1 / 2");
}

#[test]
fn the_flight_and_a_packet_limit_the_window() {
    let mut flow = make().avoiding(20);
    flow.ack(0..15, Ecn::NotEct);
    flow.ack(15..16, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 6.0, "five in flight before it, and ALLOWED_INCREASE");
}

#[test]
fn a_loss_halves_once_per_round_trip_and_a_timeout_leaves_one_packet() {
    let mut flow = make().avoiding(20);
    flow.ack(0..1, Ecn::NotEct);
    let before = flow.cwnd();
    for (wait, left) in [(0, 2.0), (50, 2.0), (60, 4.0)] {
        flow.now += TimeDelta::from_millis(wait);
        flow.tell(Recovery::Entered { lost: lost(1) });
        assert_eq!(flow.cwnd(), before / left, "{wait} ms later");
        flow.tell(Recovery::Left);
    }
    flow.tell(Recovery::TimedOut);
    assert_eq!(flow.cwnd(), 1.0);
}
