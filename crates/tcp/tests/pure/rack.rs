//! RACK-TLP (RFC 8985): losses by time, probes of the tail, beside RFC 6675 on the same paths.

use super::net::{Action, Net, at, ms};
use super::recovery::config;
use paceline_cc::Recovery;
use paceline_ends::SendingEnd;
use paceline_tcp::{Flags, RecoveryKind, SackBlocks, Segment, TcpConfig};
use paceline_units::Time;

fn rack() -> TcpConfig {
    TcpConfig { handshake: true, ..config(RecoveryKind::RackTlp) }
}

fn with(recovery: RecoveryKind) -> TcpConfig {
    TcpConfig { handshake: true, min_rto: ms(1000), ..config(recovery) }
}

/// A connection whose SYN arrives, and of whose segments these are lost the first time.
fn losing(config: &TcpConfig, length: Option<u64>, lost: &[u64]) -> Net {
    let mut net = Net::new(config, length);
    let lost = lost.to_vec();
    net.data_rule =
        Box::new(
            move |n, segment| {
                if segment.payload > 0 && lost.contains(&n) { Action::Dropped } else { Action::Arrives }
            },
        );
    net.started()
}

/// Ten segments of which these are lost, the SYN being none: when the sender knows that all arrived, and its timeouts.
fn ten(recovery: RecoveryKind, lost: &[u64]) -> (Time, u64) {
    let mut net = losing(&with(recovery), Some(10 * 960), lost);
    net.run(at(20_000));
    assert_eq!(net.received, 10 * 960, "{recovery:?}, {lost:?}");
    (net.sender.completed_at().expect("all arrived"), net.sender.counters().timeouts)
}

/// Section 9.1 example 1 and section 7: whatever of a short flight is lost, acknowledgements or a probe tell it; a round
/// trip is 100 ms, so that the probe leaves 200 ms after the flight did.
#[test]
fn any_two_losses_of_ten_are_repaired_within_round_trips() {
    let pairs = (0..10u64).flat_map(|one| (one..10).map(move |other| [one, other]));
    let mut waited = 0;
    for lost in pairs {
        let (completed, timeouts) = ten(RecoveryKind::RackTlp, &lost);
        assert_eq!(timeouts, 0, "{lost:?}");
        // Handshake, flight, patience with a single packet, probe.
        assert!(completed <= at(100 + 100 + 200 + 200 + 100), "{lost:?}: {completed:?}");
        waited += ten(RecoveryKind::Sack, &lost).1;
    }
    assert!(waited > 5, "with the counting of RFC 6675 the timer repairs tails: {waited}");
}

/// Section 9.3's example: all of a flight is lost. The probe, then fast recovery by PRR.
#[test]
fn a_flight_that_is_lost_whole_begins_with_the_probe() {
    let all: Vec<_> = (0..10).collect();
    let (completed, timeouts) = ten(RecoveryKind::RackTlp, &all);
    assert_eq!(timeouts, 0);
    // 2 round trips for the probe, 4 or 5 for the repair, as the RFC counts them, after the handshake.
    assert!((at(600)..=at(900)).contains(&completed), "{completed:?}");
    assert!(ten(RecoveryKind::Sack, &all).0 >= at(1100));
}

/// Section 7.4.2: the probe repaired the only loss, and the window is halved for it.
#[test]
fn a_loss_that_a_probe_repairs_is_answered_all_the_same() {
    for (lost, entered) in [(&[9][..], 1), (&[][..], 0)] {
        let mut net = losing(&with(RecoveryKind::RackTlp), None, lost);
        net.run(at(100));
        assert_eq!(net.sent.len(), 11, "a SYN and a flight");
        net.sender.hold();
        net.run(at(1000));
        let counters = net.sender.counters();
        assert_eq!((counters.retransmissions, counters.timeouts), (entered, 0));
        if entered > 0 {
            // Two round trips behind the last acknowledgement, and the delay that one for a single packet may have.
            assert_eq!(net.sent.last().map(|(time, _)| *time), Some(at(200 + 200 + 200)));
        }
        assert_eq!(
            net.recoveries().len() as u64,
            entered,
            "what left is told as lost: {:?}",
            net.recoveries()
        );
        // The next acknowledgement tells that nothing else was heard of the probe.
        net.sender.release(net.now);
        net.run(at(1100));
        let told = net.recoveries().iter().filter(|told| matches!(told, Recovery::Entered { .. })).count();
        assert_eq!(told as u64, entered, "{:?}", net.recoveries());
        assert_eq!(net.sender.counters().timeouts, 0);
    }
}

/// Section 6.2 step 5 and section 9.1 example 2: a retransmission that is lost too, and once more.
#[test]
fn a_retransmission_that_is_lost_again_is_found_without_a_timeout() {
    for (recovery, copies, timeouts) in
        [(RecoveryKind::Sack, 2, 1), (RecoveryKind::RackTlp, 2, 0), (RecoveryKind::RackTlp, 3, 0)]
    {
        for prr in [true, false] {
            let mut net = Net::new(&TcpConfig { prr, ..with(recovery) }, Some(300_000));
            let mut seen = 0;
            net.data_rule = Box::new(move |_, segment| {
                seen += u64::from(segment.sequence == 1 + 40 * 960);
                let lost = segment.sequence == 1 + 40 * 960 && seen <= copies;
                if lost { Action::Dropped } else { Action::Arrives }
            });
            let mut net = net.started();
            net.run(at(30_000));
            let counters = net.sender.counters();
            assert_eq!((net.received, counters.timeouts), (300_000, timeouts), "{recovery:?}: {counters:?}");
            // RFC 5681 section 4.3 by section 9.3: without PRR each is an indication of congestion.
            let entered =
                net.recoveries().iter().filter(|told| matches!(told, Recovery::Entered { .. })).count();
            if recovery == RecoveryKind::RackTlp {
                assert_eq!(entered as u64, if prr { 1 } else { copies }, "{copies}, {prr}");
                assert_eq!(counters.retransmissions, copies, "{counters:?}");
            }
        }
    }
}

/// Section 6.2 steps 3 and 4: segments that are overtaken within a quarter round trip are not lost.
#[test]
fn what_is_overtaken_within_the_window_is_not_sent_again() {
    for (recovery, late, least, most) in [
        (RecoveryKind::Sack, 20, 3, 100),
        // Before any was overtaken three that arrive tell a loss.
        (RecoveryKind::RackTlp, 20, 0, 2),
        // More than the window: duplicates widen it (RFC 2883), by a quarter in a round trip.
        (RecoveryKind::RackTlp, 40, 1, 4),
    ] {
        let mut net = Net::new(&with(recovery), Some(1_000_000));
        net.data_rule =
            Box::new(move |n, _| if n % 50 == 49 { Action::Late(ms(late)) } else { Action::Arrives });
        let mut net = net.started();
        net.run(at(60_000));
        let counters = net.sender.counters();
        assert_eq!((net.received, counters.timeouts), (1_000_000, 0), "{recovery:?}");
        let again = counters.retransmissions;
        assert!((least..=most).contains(&again), "{recovery:?}, {late} ms: {counters:?}");
        assert!(
            counters.spurious + 1 >= counters.recoveries,
            "but for the last each is taken back: {counters:?}"
        );
    }
}

/// Section 6.3: of the flight only what had its time is lost with the timer.
#[test]
fn a_timeout_loses_the_first_segment_and_what_is_as_old() {
    // Without a round trip no probe may leave (section 7.3).
    let config = TcpConfig { initial_window: 4, ..config(RecoveryKind::RackTlp) };
    let mut net = Net::new(&config, Some(4 * 960));
    net.data_rule = Box::new(|n, _| if n < 4 { Action::Dropped } else { Action::Arrives });
    let mut net = net.started();
    net.run(at(20_000));
    assert_eq!((net.received, net.sender.counters().timeouts), (4 * 960, 1));
}

/// RFC 2018 section 8: the receiver took back what it had told. The timer forgets it, and everything arrives.
#[test]
fn a_receiver_that_reneges_is_believed_after_the_timer() {
    let mut net = losing(&rack(), Some(20 * 960), &[0]);
    net.run(at(150));
    let mut sack = SackBlocks::none();
    sack.push(1, 1 + 5 * 960);
    let lie = Segment {
        flags: Flags::ACK,
        sequence: 1,
        acknowledgment: 1,
        window: 1 << 30,
        sack,
        ..Segment::default()
    };
    net.inject_ack(&lie);
    net.run(at(60_000));
    assert_eq!(net.received, 20 * 960);
    assert!(net.sender.completed_at().is_some());
    assert!(net.sender.counters().timeouts >= 1, "{:?}", net.sender.counters());
}

/// Linux acknowledges each packet at the beginning; with it the first flights are clocked by each packet.
#[test]
fn the_first_acknowledgements_do_not_wait() {
    let acks = |quick_acks| {
        let config = TcpConfig { ack_every: 2, quick_acks, initial_window: 1, min_rto: ms(200), ..rack() };
        let mut net = Net::new(&config, Some(64 * 960)).started();
        net.run(at(20_000));
        assert_eq!((net.received, net.sender.counters().timeouts), (64 * 960, 0));
        (net.acks.len(), net.sender.completed_at().expect("all arrived"))
    };
    let (few, later) = acks(0);
    let (many, sooner) = acks(16);
    assert!(many >= few + 7 && sooner < later, "{few} by {later:?}, {many} by {sooner:?}");
}

/// Section 7.2: two segments are not one, whose acknowledgement may be delayed: a probe leaves two round trips behind them.
#[test]
fn a_probe_behind_two_segments_does_not_wait_for_a_delayed_acknowledgement() {
    for (segments, probe) in [(1, 400), (2, 300), (3, 300)] {
        let config = TcpConfig { initial_window: segments, min_rto: ms(300), ..rack() };
        let mut net = losing(&config, Some(segments * 960), &[0, 1, 2]);
        net.run(at(20_000));
        let again = net.sent.iter().filter(|(_, segment)| segment.payload > 0).nth(segments as usize);
        // Behind one the retransmission timer is first, 300 ms after it left.
        assert_eq!(again.map(|(at, _)| *at), Some(at(probe)), "{segments}");
        assert_eq!(net.received, segments * 960);
    }
}

/// An acknowledgement that tells nothing has the timer looked at again: a probe that would have been due is due now. A timer that lay
/// before the present would let a driver go back in time.
#[test]
fn a_probe_that_is_overdue_is_due_now() {
    let mut net = losing(&TcpConfig { initial_window: 1, ..rack() }, Some(960), &[0]);
    net.run(at(350));
    assert_eq!(net.sent.len(), 2, "the SYN, and a segment at 100 ms");
    let (flags, window) = (Flags::ACK, 1 << 20);
    net.inject_ack(&Segment { flags, sequence: 1, acknowledgment: 1, window, ..Segment::default() });
    assert_eq!(net.sender.next_timeout().map(|(due, _)| due), Some(at(350)));
    net.run(at(20_000));
    assert_eq!(net.received, 960);
}
