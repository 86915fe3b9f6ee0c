//! RFC 8312's equations as vectors.

use super::*;
use crate::FlowSetup;
use crate::Recovery;
use crate::window::drive::{Flow, SIZE, lost};
use paceline_units::{Bytes, Ecn, TimeDelta};

fn make(params: &Params, packets: u64) -> Flow<CubicLaw> {
    Flow::new(Cubic::new(params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-3 * expected.abs().max(1e-3), "{found}, not {expected}");
}

#[test]
fn a_plateau_of_100_packets_is_4_217_seconds_away() {
    let curve = Curve::new(&Params::default(), 100.0, 0.7);
    close(curve.k, 4.217);
    close(curve.at(0.0), 70.0);
    close(curve.at(curve.k), 100.0);
    close(curve.at(curve.k + 1.0), 100.4);
    close(curve.reno(0.0, 0.1), 70.0);
    // 3 x 0.3/1.7 packets per round trip.
    close(curve.reno(1.0, 0.1), 70.0 + 5.294);
}

#[test]
fn a_loss_leaves_seven_tenths_and_a_second_one_lowers_the_plateau() {
    let mut flow = make(&Params::default(), 100);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!((flow.cwnd(), flow.ssthresh()), (70.0, 70.0));
    close(flow.sender.parts().0.curve.plateau, 100.0);
    flow.tell(Recovery::Left);
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), 49.0);
    close(flow.sender.parts().0.curve.plateau, 70.0 * 1.7 / 2.0);
    flow.tell(Recovery::Spurious);
    close(flow.cwnd(), 70.0);
    close(flow.sender.parts().0.curve.plateau, 100.0);
    let mut slow = make(&Params { fast_convergence: false, ..Params::default() }, 100);
    slow.tell(Recovery::Entered { lost: lost(1) });
    slow.tell(Recovery::Left);
    slow.tell(Recovery::Entered { lost: lost(1) });
    close(slow.sender.parts().0.curve.plateau, 70.0);
}

#[test]
fn the_window_follows_its_curve_back_to_the_plateau() {
    let mut flow = make(&Params { tcp_friendliness: false, ..Params::default() }, 200);
    flow.tell(Recovery::Entered { lost: lost(0) });
    flow.tell(Recovery::Left);
    let k = flow.sender.parts().0.curve.k;
    for round in 1..70 {
        flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
        let t = f64::from(round) * 0.1 - 0.1;
        let curve = 0.4 * (t - k) * (t - k) * (t - k) + 200.0;
        assert!((flow.cwnd() - curve).abs() < 8.0, "{} at {t}, not {curve}", flow.cwnd());
    }
    assert!(flow.cwnd() > 199.0);
}

#[test]
fn where_reno_is_faster_the_window_is_renos() {
    let mut flow = make(&Params::default(), 10);
    flow.tell(Recovery::Entered { lost: lost(0) });
    flow.tell(Recovery::Left);
    (0..6).for_each(|_| flow.round(TimeDelta::from_millis(10), Ecn::NotEct));
    let (law, window) = flow.sender.parts();
    let expected = law.curve.reno(law.elapsed.unwrap(), window.round_trip.seconds());
    close(window.packets(), expected);
    assert!(expected > 7.5, "{expected}");
}

#[test]
fn a_timeout_leaves_one_packet_and_the_plateau_is_where_avoidance_begins() {
    let mut flow = make(&Params::default(), 10);
    flow.tell(Recovery::TimedOut);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1.0, 7.0));
    for sequence in 0..10 {
        flow.send_one(sequence);
        flow.ack(sequence..sequence + 1, Ecn::NotEct);
    }
    let (law, _) = flow.sender.parts();
    assert_eq!(law.curve.k, 0.0);
    close(law.curve.plateau, 7.0);
}

#[test]
fn a_pause_is_no_time_of_the_curve() {
    let mut flow = make(&Params::default(), 100);
    flow.tell(Recovery::Entered { lost: lost(0) });
    flow.tell(Recovery::Left);
    (0..5).for_each(|_| flow.round(TimeDelta::from_millis(100), Ecn::NotEct));
    let before = flow.sender.parts().0.elapsed.unwrap();
    let (first, next) = (flow.first(), flow.next);
    flow.ack(first..next, Ecn::NotEct);
    flow.now += TimeDelta::from_secs(20);
    flow.fill();
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    let after = flow.sender.parts().0.elapsed.unwrap();
    assert!((before..before + 0.25).contains(&after), "{before} became {after}");
}

#[test]
fn an_acknowledged_packet_adds_its_part_of_the_way_to_the_window_of_the_next_round_trip() {
    let mut flow = make(&Params { tcp_friendliness: false, ..Params::default() }, 100);
    flow.tell(Recovery::Entered { lost: lost(0) });
    flow.tell(Recovery::Left);
    flow.ack(0..1, Ecn::NotEct);
    // t = 0, RTT = 0.1 s, K = 4.2172: W(0.1) = 100 - 0.4 x 4.1172^3 = 72.083.
    close(flow.cwnd() - 70.0, 2.083 / 70.0);
}
