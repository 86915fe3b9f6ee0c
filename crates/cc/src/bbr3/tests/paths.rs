//! Paths that are far from usual, and coupling.

use super::path::Path;
use super::*;
use crate::{Assigned, Controller};
use paceline_units::{Bitrate, Ecn};

/// "Achieving Expected STARTUP Bandwidth on a Link With Aggregation", and the same in cruise.
#[test]
fn gathered_acknowledgements_widen_the_window() {
    let mut path = Path::new(1000.0, 10_000);
    path.gather = TimeDelta::from_millis(60);
    path.wait(5.0, |path| path.phase() == Phase::Drain);
    let max_bw = path.law().max_bw.get();
    assert!(
        (0.95..=1.1).contains(&(max_bw / 1e6)),
        "the bandwidth is found, capped by the send rate: {max_bw}"
    );
    path.wait(5.0, |path| path.phase() == Phase::ProbeBwCruise);
    path.run(1.0);
    let (law, window) = path.flow.sender.parts();
    let extra = law.extra_acked.get();
    assert!((45_000.0..=75_000.0).contains(&extra), "60 ms at the bandwidth: {extra}");
    let without = law.params.default_cwnd_gain * law.bdp();
    assert!((law.max_inflight(window) - without - extra).abs() < 1.0, "beyond two BDPs by as much");
}

/// "Correctly Managing Sub-Packet BDPs".
#[test]
fn a_tiny_path_keeps_the_least_window() {
    // Three bursts of two packets are more than MinPipeCwnd.
    for (offload_quanta, packets) in [(3, 6.0), (0, 4.0)] {
        let mut flow = with(Params { offload_quanta, ..Params::default() });
        flow.send(1);
        flow.ack(0..1, Ecn::NotEct);
        let (law, window) = flow.sender.parts();
        (law.bw, law.pacing_rate) = (5000.0, Some(5000.0));
        law.min_rtt.min_rtt = Some(TimeDelta::from_millis(10));
        assert_eq!((law.bdp(), law.max_inflight(window)), (50.0, 1000.0 * packets));
        law.phase = Phase::ProbeBwUp;
        assert_eq!(law.max_inflight(window), 1000.0 * (packets + 2.0), "room for a probe");
    }
    let mut path = Path::new(5.0, 100);
    path.wait(60.0, |path| path.phase() == Phase::ProbeBwCruise);
    path.run(60.0);
    let (max_bw, pace) = (path.law().max_bw.get(), path.law().pacing_rate.unwrap());
    assert!((max_bw / 5000.0 - 1.0).abs() < 0.05 && pace < 1.3 * 5000.0, "{max_bw}, {pace}");
    assert!(path.flow.cwnd() >= 4.0, "{}", path.flow.cwnd());
}

/// "Handling Token Bucket Policers": 10 Mbit/s of a link of 80, with a bucket of 50 packets.
#[test]
fn behind_a_policer_the_rate_is_the_tokens() {
    let mut path = Path { police: Some(1250.0), ..Path::new(10_000.0, 10_000) };
    path.run(5.0);
    let mut lowered = false;
    let (sent, dropped) = (path.flow.next, path.all_dropped);
    path.until(20.0, |path| {
        lowered |= path.law().short_term.bw < f64::INFINITY;
        false
    });
    let sent = (path.flow.next - sent) as f64;
    let (lost, rate) = ((path.all_dropped - dropped) as f64 / sent, sent / 20.0);
    assert!(lowered && lost < 0.03 && (800.0..1300.0).contains(&rate), "{lost} of {rate} in a second");
}

/// "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached", and 10x less again.
#[test]
fn ten_times_more_and_ten_times_less_are_found() {
    let mut path = Path::in_phase(1000.0, 40, Phase::ProbeBwUp);
    path.wait(1.0, |path| path.phase() == Phase::ProbeBwDown);
    assert!(path.law().long_term.is_set());
    (path.rate, path.queue) = (10_000.0, 400);
    path.wait(12.0, |path| path.law().max_bw.get() > 9.8e6);
    path.run(1.0);
    (path.rate, path.queue) = (1000.0, 40);
    path.wait(1.0, |path| path.law().short_term.bw < 5e6);
    path.wait(12.0, |path| path.law().max_bw.get() < 1.3e6);
}

#[test]
fn an_assignment_is_the_bandwidth() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwCruise);
    let min_rtt = path.law().min_rtt.min_rtt.unwrap().as_secs_f64();
    let _ = path.flow.sender.assign(path.flow.now, Assigned::Rate(Bitrate::from_mbps(4)));
    let (law, window) = path.flow.sender.parts();
    assert_eq!(law.max_bw.get(), 500_000.0);
    let expected = 2.0 * 500_000.0 * min_rtt;
    assert!((window.cwnd - expected).abs() < 1.0, "no room for aggregation: {}", window.cwnd);
}
