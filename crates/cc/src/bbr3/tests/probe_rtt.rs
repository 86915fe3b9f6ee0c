//! ProbeRTT, and pauses.

use super::path::Path;
use super::*;

/// "Entering and Exiting PROBE_RTT".
#[test]
fn probe_rtt_comes_after_five_seconds_and_halves_the_flight_for_200_ms() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeRtt);
    let (entered, before) = (path.flow.now, path.law().bdp());
    assert_eq!((path.law().pacing_gain(), path.law().cwnd_gain()), (1.0, 0.5));
    assert!((5.0..=5.6).contains(&entered.as_secs_f64()), "{entered:?}");
    path.wait(1.0, |path| path.law().probe_rtt != ProbeRtt::default());
    assert!(path.law().rate.is_app_limited(), "the small flight says nothing of the bandwidth");
    assert!((path.pipe() / before - 0.5).abs() < 0.02, "{} of {before}", path.pipe());
    path.wait(1.0, |path| path.phase() != Phase::ProbeRtt);
    assert_eq!(path.phase(), Phase::ProbeBwCruise);
    let lasted = path.flow.now.saturating_since(entered).as_millis_f64();
    assert!((250.0..=420.0).contains(&lasted), "half a flight, and 200 ms with a round trip: {lasted}");
    let left = path.flow.now;
    path.wait(7.0, |path| path.phase() == Phase::ProbeRtt);
    let period = path.flow.now.saturating_since(left).as_secs_f64();
    assert!((5.0..=5.2).contains(&period), "{period}");
}

/// "Entering and Exiting PROBE_RTT During STARTUP".
#[test]
fn probe_rtt_in_startup_goes_back_there() {
    let mut path = Path::new(1000.0, 10_000);
    path.greedy = false;
    for _ in 0..560 {
        path.send(true);
        path.run(0.01);
        if path.phase() == Phase::ProbeRtt {
            break;
        }
        assert_eq!(path.phase(), Phase::Startup);
    }
    assert_eq!(path.phase(), Phase::ProbeRtt);
    path.greedy = true;
    path.wait(1.0, |path| path.phase() != Phase::ProbeRtt);
    assert_eq!(path.phase(), Phase::Startup);
    path.wait(3.0, |path| path.phase() == Phase::Drain);
}

/// "Skipping PROBE_RTT Due to Application-Limited Sending", and section "Restarting From Idle".
#[test]
fn a_pause_is_no_reason_for_probe_rtt() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwCruise);
    path.greedy = false;
    path.send(true);
    path.run(6.0);
    assert_eq!(path.pipe(), 0.0);
    path.greedy = true;
    path.fill();
    assert!(path.law().idle_restart);
    let (pace, bw) = (path.law().pacing_rate.unwrap(), path.law().bw);
    assert!((pace / bw - 0.99).abs() < 1e-9, "exactly the bandwidth, less the margin: {pace} of {bw}");
    assert!(!path.until(3.0, |path| path.phase() == Phase::ProbeRtt));
    assert!(!path.law().idle_restart);
}
