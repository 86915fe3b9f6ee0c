//! RFC 8312's equations as vectors.

use super::*;
use crate::FlowSetup;
use crate::Recovery;
use crate::window::drive::{Flow, SIZE, lost};
use alloc::vec::Vec;
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn, TimeDelta};

fn make(params: &Params, packets: u64) -> Flow<CubicLaw> {
    Flow::new(Cubic::new(params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-3 * expected.abs().max(1e-3), "{found}, not {expected}");
}

#[test]
fn a_plateau_of_100_packets_is_4_217_seconds_away() {
    let curve = Curve::new(&Params::rfc8312(), 100.0, 0.7);
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
    let mut flow = make(&Params::rfc8312(), 100);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!((flow.cwnd(), flow.ssthresh()), (70.0, 70.0));
    close(flow.sender.parts().0.epoch.curve.plateau, 100.0);
    flow.tell(Recovery::Left);
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), 49.0);
    close(flow.sender.parts().0.epoch.curve.plateau, 70.0 * 1.7 / 2.0);
    flow.tell(Recovery::Spurious);
    close(flow.cwnd(), 70.0);
    close(flow.sender.parts().0.epoch.curve.plateau, 100.0);
    let mut slow = make(&Params { fast_convergence: false, ..Params::rfc8312() }, 100);
    slow.tell(Recovery::Entered { lost: lost(1) });
    slow.tell(Recovery::Left);
    slow.tell(Recovery::Entered { lost: lost(1) });
    close(slow.sender.parts().0.epoch.curve.plateau, 70.0);
}

#[test]
fn the_window_follows_its_curve_back_to_the_plateau() {
    let mut flow = make(&Params { tcp_friendliness: false, ..Params::rfc8312() }, 200);
    flow.tell(Recovery::Entered { lost: lost(0) });
    flow.tell(Recovery::Left);
    let k = flow.sender.parts().0.epoch.curve.k;
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
    let mut flow = make(&Params::rfc8312(), 10);
    flow.tell(Recovery::Entered { lost: lost(0) });
    flow.tell(Recovery::Left);
    (0..6).for_each(|_| flow.round(TimeDelta::from_millis(10), Ecn::NotEct));
    let (law, window) = flow.sender.parts();
    let expected = law.epoch.curve.reno(law.epoch.elapsed.unwrap(), window.round_trip.seconds());
    close(window.packets(), expected);
    assert!(expected > 7.5, "{expected}");
}

#[test]
fn a_timeout_leaves_one_packet_and_the_plateau_is_where_avoidance_begins() {
    let mut flow = make(&Params::rfc8312(), 10);
    flow.tell(Recovery::TimedOut);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1.0, 7.0));
    for sequence in 0..10 {
        flow.send_one(sequence);
        flow.ack(sequence..sequence + 1, Ecn::NotEct);
    }
    let (law, _) = flow.sender.parts();
    assert_eq!(law.epoch.curve.k, 0.0);
    close(law.epoch.curve.plateau, 7.0);
}

#[test]
fn a_pause_is_no_time_of_the_curve() {
    let mut flow = make(&Params::rfc8312(), 100);
    flow.tell(Recovery::Entered { lost: lost(0) });
    flow.tell(Recovery::Left);
    (0..5).for_each(|_| flow.round(TimeDelta::from_millis(100), Ecn::NotEct));
    let before = flow.sender.parts().0.epoch.elapsed.unwrap();
    let (first, next) = (flow.first(), flow.next);
    flow.ack(first..next, Ecn::NotEct);
    flow.now += TimeDelta::from_secs(20);
    flow.fill();
    flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
    let after = flow.sender.parts().0.epoch.elapsed.unwrap();
    assert!((before..before + 0.25).contains(&after), "{before} became {after}");
}

#[test]
fn an_acknowledged_packet_adds_its_part_of_the_way_to_the_window_of_the_next_round_trip() {
    let mut flow = make(&Params { tcp_friendliness: false, ..Params::rfc8312() }, 100);
    flow.tell(Recovery::Entered { lost: lost(0) });
    flow.tell(Recovery::Left);
    flow.ack(0..1, Ecn::NotEct);
    // t = 0, RTT = 0.1 s, K = 4.2172: W(0.1) = 100 - 0.4 x 4.1172^3 = 72.083.
    close(flow.cwnd() - 70.0, 2.083 / 70.0);
}

fn rfc9438(packets: u64) -> Flow<CubicLaw> {
    make(&Params::profile("rfc9438").expect("a profile"), packets)
}

/// A loss of nothing: the reduction and the recovery alone.
fn reduce(flow: &mut Flow<CubicLaw>) {
    flow.tell(Recovery::Entered { lost: lost(0) });
    flow.tell(Recovery::Left);
}

#[test]
fn the_target_of_a_round_trip_is_one_and_a_half_windows_at_most() {
    // RFC 9438 section 4.2. A round trip of four seconds ahead, the curve of ten packets asks for a multiple of the window. As
    // each acknowledgement adds a part of what is then the window, a round of them makes at most e^0.5 = 1.65 times of it.
    for (limit, band) in [(Some(1.5), 1.4..1.66), (None, 2.0..20.0)] {
        let params = Params { target_limit: limit, ..Params::profile("rfc9438").expect("a profile") };
        let mut flow = make(&params, 10);
        reduce(&mut flow);
        let mut largest: f64 = 1.0;
        for _ in 0..5 {
            let before = flow.cwnd();
            flow.round(TimeDelta::from_secs(4), Ecn::NotEct);
            largest = largest.max(flow.cwnd() / before);
        }
        assert!(band.contains(&largest), "{limit:?}: {largest}");
    }
}

#[test]
fn k_is_the_way_from_the_window_to_the_plateau() {
    // RFC 9438 equation 2 after fast convergence: 70 becomes 49, the plateau 59.5, K the cube root of 10.5/0.4.
    let mut flow = rfc9438(100);
    reduce(&mut flow);
    reduce_again(&mut flow);
    let curve = flow.sender.parts().0.epoch.curve;
    close(curve.k, libm::cbrt(10.5 / 0.4));
    close(curve.at(0.0), 49.0);
    // RFC 8312 begins its curve at beta of the plateau, below the window.
    let mut old = make(&Params::rfc8312(), 100);
    reduce(&mut old);
    reduce_again(&mut old);
    close(old.sender.parts().0.epoch.curve.at(0.0), 59.5 * 0.7);
}

/// The second reduction, of 70 packets, and the first acknowledgement after it.
fn reduce_again(flow: &mut Flow<CubicLaw>) {
    reduce(flow);
    let first = flow.first();
    flow.ack(first..first + 1, Ecn::NotEct);
}

#[test]
fn what_reno_would_have_grows_with_acknowledgements_and_like_reno_above_the_last_window() {
    // RFC 9438 section 4.3: alpha is 3 x 0.3/1.7 until W_est is cwnd_prior, then 1.
    let mut flow = rfc9438(10);
    reduce(&mut flow);
    flow.round(TimeDelta::from_millis(10), Ecn::NotEct);
    let mut steps = Vec::new();
    for _ in 0..14 {
        let before = flow.sender.parts().0.epoch.reno;
        flow.round(TimeDelta::from_millis(10), Ecn::NotEct);
        let after = flow.sender.parts().0.epoch.reno;
        steps.push((before, after - before));
        close(flow.cwnd(), after.max(7.0));
    }
    let (below, above): (Vec<_>, Vec<_>) = steps.iter().partition(|(reno, _)| *reno < 10.0);
    assert!(below.len() > 4 && above.len() > 4, "{steps:?}");
    let within = |steps: &[&(f64, f64)], band: core::ops::RangeInclusive<f64>| {
        steps.iter().all(|(_, step)| band.contains(step))
    };
    let below: Vec<_> = below.iter().take(below.len() - 1).collect();
    assert!(within(&below.iter().map(|step| **step).collect::<Vec<_>>(), 0.45..=0.56), "{below:?}");
    assert!(within(&above.to_vec(), 0.85..=1.0), "{above:?}");
}

#[test]
fn a_reduction_leaves_a_part_of_the_flight_and_two_packets_or_one() {
    // RFC 9438 section 4.6.
    let mut flow = rfc9438(20);
    let (first, next) = (flow.first(), flow.next);
    flow.ack(first..next, Ecn::NotEct);
    flow.send(10);
    reduce(&mut flow);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (7.0, 7.0), "of ten in flight");
    for (cause, expected) in [(Cause::Loss, 2.0), (Cause::Mark, 1.0)] {
        let mut flow = rfc9438(2);
        let (law, window) = flow.sender.parts();
        window.flight_size = SIZE;
        law.on_congestion(window, Time::ZERO, cause);
        assert_eq!((window.packets(), window.threshold()), (expected, Some(2.0)), "{cause:?}");
    }
}

#[test]
fn a_spurious_reduction_is_undone_only_below_the_window_before_it() {
    // RFC 9438 section 4.9.2.
    let mut flow = rfc9438(100);
    reduce(&mut flow);
    assert_eq!(flow.cwnd(), 70.0);
    flow.tell(Recovery::Spurious);
    close(flow.cwnd(), 100.0);
    assert_eq!(flow.sender.parts().0.epoch.prior, 0.0, "cwnd_prior is back as well");
    let mut flow = rfc9438(100);
    reduce(&mut flow);
    let window = flow.sender.parts().1;
    window.set(110.0 * SIZE as f64);
    flow.tell(Recovery::Spurious);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (110.0, 70.0), "what is there stays");
}

#[test]
fn where_hystart_ends_slow_start_the_curve_begins_on_its_plateau() {
    // RFC 9438 section 4.10.
    let mut flow = Flow::new(Cubic::new(
        &Params::profile("rfc9438").expect("a profile"),
        &FlowSetup::new(Bytes::new(SIZE)),
    ));
    flow.fill();
    (0..2).for_each(|_| flow.round(TimeDelta::from_millis(100), Ecn::NotEct));
    while flow.ssthresh().is_infinite() {
        flow.round(TimeDelta::from_millis(150), Ecn::NotEct);
        assert!(flow.cwnd() < 1000.0);
    }
    let end = flow.ssthresh();
    flow.round(TimeDelta::from_millis(150), Ecn::NotEct);
    let curve = flow.sender.parts().0.epoch.curve;
    assert_eq!(curve.k, 0.0);
    assert!((end..end + 1.0).contains(&curve.plateau), "{} after {end}", curve.plateau);
}

#[test]
fn linux_looks_the_smallest_round_trip_ahead() {
    let least = Params::profile("linux").expect("a profile");
    let targets = [Params { ahead_by_least: false, ..least.clone() }, least].map(|params| {
        let mut flow = make(&params, 200);
        flow.round(TimeDelta::from_millis(100), Ecn::NotEct);
        (0..10).for_each(|_| flow.round(TimeDelta::from_millis(1000), Ecn::NotEct));
        reduce(&mut flow);
        let (law, window) = flow.sender.parts();
        let (rtt, cwnd) = (window.round_trip.seconds(), window.packets());
        assert!(rtt > 0.9, "{rtt}");
        (law.target(0.0, rtt, cwnd), law.epoch.curve)
    });
    let [(smoothed, its), (ahead, least)] = targets;
    close(ahead, least.at(0.1));
    assert!((its.at(0.9)..its.at(1.1)).contains(&smoothed), "{smoothed}");
}
