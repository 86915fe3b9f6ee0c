//! Losses, marks, and recoveries that were none.

use super::super::cycle::AckPhase;
use super::path::Path;
use super::*;
use crate::Recovery;
use crate::window::Law;
use crate::window::drive::lost;
use paceline_units::Ecn;

/// "Handling Loss During PROBE_UP After inflight_longterm is Set": HandleLostPacket, worked out by hand.
#[test]
fn a_loss_beyond_two_percent_bounds_the_flight_and_ends_the_probe() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    path.run(0.11);
    let window = *path.flow.sender.parts().1;
    let now = path.flow.now;
    let law = path.law();
    assert_eq!(law.phase, Phase::ProbeBwUp);
    assert!(law.cycle.is_bw_probe_sample);
    law.long_term.inflight = 400_000.0;
    let tx_in_flight = 200_000;
    let lost = |law: &mut Bbr3Law, sequence| {
        let note = note(tx_in_flight);
        law.on_packet_lost(
            &window,
            now,
            sequence,
            &crate::window::Sent { at: now, size: 1000, again: false, note },
        );
    };
    for sequence in 0..4 {
        lost(law, sequence);
        assert_eq!((law.phase, law.long_term.inflight), (Phase::ProbeBwUp, 400_000.0), "2 % are tolerated");
    }
    lost(law, 4);
    // (0.02 x 199,000 - 4000) / 0.98 = -20.4 B: the threshold was crossed with this packet.
    assert!((law.long_term.inflight - (199_000.0 - 20.0 / 0.98)).abs() < 1e-6, "{}", law.long_term.inflight);
    assert_eq!((law.phase, law.undo.phase), (Phase::ProbeBwDown, Some(Phase::ProbeBwUp)));
    assert!(law.cycle.prev_probe_too_high && !law.cycle.is_bw_probe_sample);
    let bound = law.long_term.inflight;
    lost(law, 5);
    assert_eq!(law.long_term.inflight, bound, "once for a probe");
}

/// Beta bounds the answer: not below 0.7 of what is wanted in flight.
#[test]
fn a_loss_takes_no_more_than_three_tenths_of_the_target() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    let window = *path.flow.sender.parts().1;
    let now = path.flow.now;
    let law = path.law();
    let note = note(5000);
    law.on_packet_lost(&window, now, 0, &crate::window::Sent { at: now, size: 1000, again: false, note });
    assert!((law.long_term.inflight - 0.7 * law.bdp()).abs() < 1e-6 && law.bdp() > 90_000.0);
}

/// Section "When not Probing for Bandwidth": losses in cruise lower the short-term model to what is delivered.
#[test]
fn losses_in_cruise_lower_the_short_term_model() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwCruise);
    path.lose_every = 10;
    path.wait(1.0, |path| path.law().short_term.bw < f64::INFINITY);
    let law = path.law();
    assert_eq!(law.phase, Phase::ProbeBwCruise);
    assert!((0.7e6..=0.95e6).contains(&law.short_term.bw), "{}", law.short_term.bw);
    assert!(law.bw == law.short_term.bw && law.max_bw.get() > 0.97e6 && !law.long_term.is_set());
    path.wait(4.0, |path| path.phase() == Phase::ProbeBwRefill);
    assert_eq!(path.law().short_term, ShortTerm::UNLIMITED);
}

/// "Handling Spurious Fast Recovery" and "Handling Spurious RTO Recovery".
#[test]
fn what_a_spurious_recovery_took_comes_back() {
    for timeout in [false, true] {
        let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwCruise);
        let before = path.flow.cwnd();
        if timeout {
            path.flow.tell(Recovery::TimedOut);
            assert_eq!(path.flow.cwnd(), 1.0);
            assert!(path.law().losses.lost >= 80_000, "all in flight counts as lost");
        } else {
            path.flow.tell(Recovery::Entered { lost: lost(20) });
            assert_eq!(path.law().losses.lost, 20_000);
        }
        assert!(path.law().signals.is_loss_in_round);
        path.law().short_term = ShortTerm { bw: 1.0, inflight: 5000.0 };
        path.law().long_term.inflight = 5000.0;
        path.flow.tell(Recovery::Spurious);
        assert_eq!(path.flow.cwnd(), before);
        assert_eq!((path.law().short_term, path.law().long_term.is_set()), (ShortTerm::UNLIMITED, false));
        assert!(!path.law().signals.is_loss_in_round);
    }
}

/// The same: a phase that the losses ended goes on.
#[test]
fn a_spurious_recovery_goes_back_to_startup_or_to_a_probe() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    path.run(0.11);
    path.flow.tell(Recovery::Entered { lost: lost(20) });
    assert_eq!(path.phase(), Phase::ProbeBwDown);
    path.flow.tell(Recovery::Spurious);
    assert_eq!((path.phase(), path.law().cycle.ack_phase), (Phase::ProbeBwRefill, AckPhase::Refilling));
    let mut path = Path::in_phase(1000.0, 10_000, Phase::Startup);
    path.run(0.2);
    path.flow.tell(Recovery::Entered { lost: lost(1) });
    path.law().undo.phase = Some(Phase::Startup);
    (path.law().phase, path.law().full_pipe.reached) = (Phase::Drain, true);
    path.flow.tell(Recovery::Spurious);
    assert_eq!((path.phase(), path.law().full_pipe.reached), (Phase::Startup, false));
}

/// Section "Modulating cwnd in Loss Recovery".
#[test]
fn after_a_recovery_the_window_is_back() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwCruise);
    let before = path.flow.cwnd();
    path.flow.tell(Recovery::Entered { lost: lost(1) });
    path.flow.sender.parts().1.set(10_000.0);
    path.flow.tell(Recovery::Left);
    assert_eq!(path.flow.cwnd(), before);
}

/// Section "ECN": marks are congestion, and count as losses do.
#[test]
fn marks_count_as_losses() {
    let mut path = Path::in_phase(1000.0, 10_000, Phase::ProbeBwUp);
    path.run(0.15);
    let first = path.flow.first();
    path.flow.ack(first..first + 5, Ecn::Ce);
    assert_eq!(path.law().losses.lost, 5000);
    assert_eq!(path.phase(), Phase::ProbeBwDown);
    assert!(path.law().long_term.is_set());
}
