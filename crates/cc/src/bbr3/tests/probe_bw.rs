//! The cycle of ProbeBW.

use super::path::Path;
use super::*;

/// The cycle and its gains (section "Summary of Control Behavior in the State Machine").
#[test]
fn the_cycle_goes_down_cruises_refills_and_goes_up() {
    let mut path = Path::undisturbed(1000.0, 10_000, Phase::ProbeBwCruise);
    for (phase, pacing, cwnd) in [
        (Phase::ProbeBwCruise, 1.0, 2.0),
        (Phase::ProbeBwRefill, 1.0, 2.0),
        (Phase::ProbeBwUp, 1.25, 2.25),
        (Phase::ProbeBwDown, 0.9, 2.0),
        (Phase::ProbeBwCruise, 1.0, 2.0),
    ] {
        assert_eq!((path.phase(), path.law().pacing_gain(), path.law().cwnd_gain()), (phase, pacing, cwnd));
        path.wait(4.0, |path| path.phase() != phase);
    }
}

/// The volume caps of the same table, with the bounds' own window of 400 packets.
#[test]
fn each_phase_has_its_volume_cap() {
    use Phase::{Drain, ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp, ProbeRtt, Startup};
    let mut path = Path::in_phase(1000.0, 10_000, ProbeBwCruise);
    let (law, window) = path.flow.sender.parts();
    law.max_bw.assign(1e7);
    law.bw = 1e7;
    for (phase, cap) in [
        (Startup, 400_000.0),
        (Drain, 400_000.0),
        (ProbeBwDown, 100_000.0),
        (ProbeBwCruise, 85_000.0),
        (ProbeBwRefill, 100_000.0),
        (ProbeBwUp, 100_000.0),
        (ProbeRtt, 85_000.0),
    ] {
        for (short_term, cap) in [(f64::INFINITY, cap), (60_000.0, 60_000.0), (1.0, 4000.0)] {
            law.phase = phase;
            (law.long_term.inflight, law.short_term.inflight) = (100_000.0, short_term);
            window.set(400_000.0);
            law.set_cwnd(window, 0.0);
            assert_eq!(window.cwnd, cap, "{phase:?} at {short_term}");
        }
    }
}

/// "Exiting PROBE_UP on Bandwidth Plateau".
#[test]
fn a_probe_without_losses_ends_after_three_flat_rounds() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    let began = path.law().rounds.count;
    path.wait(2.0, |path| path.phase() != Phase::ProbeBwUp);
    assert_eq!(path.phase(), Phase::ProbeBwDown);
    assert_eq!(path.law().rounds.count, began + 3);
    assert!(path.law().full_pipe.now && !path.law().long_term.is_set());
}

/// "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss".
#[test]
fn what_the_application_limits_ends_neither_probe_nor_startup() {
    for phase in [Phase::Startup, Phase::ProbeBwUp] {
        let mut path = Path::undisturbed(1000.0, 10_000, phase);
        path.greedy = false;
        for _ in 0..400 {
            path.send(true);
            path.run(0.01);
            assert_eq!(path.phase(), phase);
        }
    }
}

/// "Exiting PROBE_UP on Loss When Application-Limited", and that such a loss sets no bound ("HandleInflightTooHigh").
#[test]
fn losses_end_a_probe_though_the_application_limits() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    path.greedy = false;
    for _ in 0..40 {
        path.send(true);
        path.run(0.01);
    }
    assert_eq!(path.phase(), Phase::ProbeBwUp);
    path.lose_every = 10;
    for _ in 0..60 {
        path.send(true);
        path.run(0.01);
    }
    assert_ne!(path.phase(), Phase::ProbeBwUp);
    assert!(path.law().cycle.prev_probe_too_high && !path.law().long_term.is_set());
}

/// Section "Precautionary Bandwidth Probing": after a probe that lost too much the next ends at the bound, and one that is safe
/// is followed by another at once.
#[test]
fn after_a_loss_the_next_probe_is_brief_and_then_goes_on() {
    let mut path = Path::undisturbed(1000.0, 40, Phase::ProbeBwUp);
    path.wait(1.0, |path| path.phase() == Phase::ProbeBwDown);
    assert!(path.law().cycle.prev_probe_too_high && path.law().long_term.is_set());
    path.queue = 10_000;
    path.wait(4.0, |path| path.phase() == Phase::ProbeBwUp);
    path.wait(1.0, |path| path.phase() != Phase::ProbeBwUp);
    assert_eq!(path.phase(), Phase::ProbeBwDown);
    assert!(path.law().cycle.prev_probe_precautionary && !path.law().cycle.prev_probe_too_high);
    assert!(path.pipe() > path.law().long_term.inflight - 3000.0);
    let bound = path.law().long_term.inflight;
    path.wait(0.5, |path| path.phase() == Phase::ProbeBwRefill);
    path.wait(0.5, |path| path.phase() == Phase::ProbeBwUp);
    path.wait(2.0, |path| path.phase() != Phase::ProbeBwUp);
    assert!(path.law().long_term.inflight > bound, "it raised the bound");
}

/// "Exiting PROBE_DOWN on Inflight".
#[test]
fn down_ends_with_headroom_and_without_a_queue() {
    let mut path = Path::in_phase(1000.0, 40, Phase::ProbeBwUp);
    path.wait(1.0, |path| path.phase() == Phase::ProbeBwDown);
    path.wait(2.0, |path| path.phase() != Phase::ProbeBwDown);
    assert_eq!(path.phase(), Phase::ProbeBwCruise);
    let (law, window) = path.flow.sender.parts();
    let headroom = law.long_term.with_headroom(&law.params, window.mss);
    assert!(headroom < law.long_term.inflight && window.pipe as f64 <= headroom + 1000.0);
    assert!(window.pipe as f64 <= law.inflight(window, law.max_bw.get(), 1.0) + 1000.0);
}

/// "Exiting PROBE_DOWN After Max Time".
#[test]
fn down_ends_in_a_probe_when_the_flight_does_not_fall() {
    let mut path = Path::undisturbed(1000.0, 10_000, Phase::ProbeBwDown);
    path.rate = 400.0;
    let began = path.flow.now;
    path.wait(4.0, |path| path.phase() != Phase::ProbeBwDown);
    assert_eq!(path.phase(), Phase::ProbeBwRefill);
    let waited = path.flow.now.saturating_since(began).as_secs_f64();
    assert!((2.0..=3.3).contains(&waited), "{waited}");
}

/// "Handling Application-Limited Sending During PROBE_REFILL".
#[test]
fn a_pause_while_refilling_leaves_the_bandwidth() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwRefill);
    let before = path.law().max_bw.get();
    path.greedy = false;
    for _ in 0..30 {
        path.send(true);
        path.run(0.02);
    }
    assert_eq!((path.phase(), path.law().max_bw.get()), (Phase::ProbeBwUp, before));
}
