//! Startup and Drain.

use super::path::Path;
use super::*;
use crate::window::Law;
use paceline_units::{Bitrate, Ecn};

/// Section "Pacing Rate": 2.77 first windows in a millisecond, and then in the round trip.
#[test]
fn the_first_window_leaves_at_2_77_times_itself_per_millisecond() {
    let mut flow = make();
    let (law, window) = flow.sender.parts();
    assert_eq!(law.pacing_rate(window), Some(Bitrate::from_bps(221_600_000)));
    assert_eq!((law.phase, law.pacing_gain(), law.cwnd_gain()), (Phase::Startup, 2.77, 2.0));
    flow.fill();
    flow.now += TimeDelta::from_millis(100);
    flow.ack(0..1, Ecn::NotEct);
    let (law, window) = flow.sender.parts();
    assert_eq!(law.pacing_rate(window), Some(Bitrate::from_bps(2_216_000)), "10 kB x 2.77 in 100 ms");
}

/// "Exiting STARTUP on Bandwidth Plateau", "Exiting DRAIN Based on Inflight".
#[test]
fn startup_ends_on_a_plateau_and_drain_when_the_queue_is_gone() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::Drain);
    let max_bw = path.law().max_bw.get();
    assert!((max_bw / 1e6 - 1.0).abs() < 0.02, "{max_bw}");
    assert!(path.law().full_pipe.now && path.law().full_pipe.reached);
    assert_eq!((path.law().pacing_gain(), path.law().cwnd_gain()), (0.5, 2.0));
    assert!(path.law().rounds.count < 14, "log2 of 100 packets over 10, and three rounds");
    path.wait(0.5, |path| path.phase() != Phase::Drain);
    assert!(path.phase().is_probe_bw());
    assert!((95_000.0..=103_000.0).contains(&path.pipe()), "the BDP: {}", path.pipe());
}

/// "Exiting STARTUP on Loss When Application-Limited".
#[test]
fn startup_ends_on_losses_though_the_application_limits() {
    let mut path = Path::new(1000.0, 10_000);
    path.greedy = false;
    let mut ended = None;
    for tick in 0..1600 {
        path.lose_every = if tick > 400 { 10 } else { u64::MAX };
        // Four packets in 5 ms, each the last there is.
        for _ in 0..4 {
            path.send(true);
        }
        path.run(0.005);
        if tick == 400 {
            assert_eq!(path.phase(), Phase::Startup, "limited by the application, and nothing lost");
        }
        if path.phase() != Phase::Startup {
            ended =
                ended.or(Some((tick, path.phase(), path.law().full_pipe.now, path.law().full_pipe.reached)));
        }
    }
    let (tick, phase, now, reached) = ended.expect("losses end it");
    assert!((420..=500).contains(&tick), "about two round trips after the first loss: {tick}");
    assert_eq!((phase, now, reached), (Phase::Drain, true, true));
    assert!(path.law().long_term.is_set());
}

/// Section "Exiting Startup Based on Packet Loss": fewer than six holes, or fewer than 2 %, are noise.
#[test]
fn a_few_holes_do_not_end_startup() {
    for (every, ends) in [(70, false), (20, true)] {
        let mut path = Path::new(4000.0, 100_000);
        path.lose_every = every;
        path.wait(10.0, |path| path.law().full_pipe.reached);
        assert_eq!(path.law().long_term.is_set(), ends, "one in {every}");
    }
}

/// The same section: without selective acknowledgements any loss in recovery ends it.
#[test]
fn without_selective_acknowledgements_a_loss_ends_startup() {
    let mut path = Path::new(4000.0, 100_000);
    path.flow = with(Params { has_selective_acks: false, ..Params::default() });
    path.lose_every = 100;
    path.wait(10.0, |path| path.law().full_pipe.reached);
    assert!(path.law().long_term.is_set() && path.flow.next < 300, "{} packets", path.flow.next);
}

/// "Exiting DRAIN Based on Time".
#[test]
fn drain_ends_after_three_rounds_in_any_case() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::Drain);
    let began = path.law().rounds.count;
    path.rate = 300.0;
    path.wait(3.0, |path| path.phase() != Phase::Drain);
    assert_eq!((path.phase(), path.law().rounds.count), (Phase::ProbeBwDown, began + 4));
    assert!(path.pipe() > 101_000.0, "not by the flight: {}", path.pipe());
}
