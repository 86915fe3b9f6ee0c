//! Losses, and how many round trips each way of recovery takes to repair them.

use super::net::{Action, Net, at, ms};
use paceline_cc::{Controller, Recovery};
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd};
use paceline_tcp::{EcnEcho, Flags, RecoveryKind, Segment, TcpConfig, TcpReceiver};
use paceline_units::{Bytes, Ecn, Time};

pub fn config(recovery: RecoveryKind) -> TcpConfig {
    TcpConfig {
        packet_size: Bytes::new(1000),
        recovery,
        ack_every: 1,
        handshake: false,
        timestamps: false,
        min_rto: ms(200),
        ..TcpConfig::default()
    }
}

pub const KINDS: [RecoveryKind; 5] = [
    RecoveryKind::Tahoe,
    RecoveryKind::Reno,
    RecoveryKind::NewReno,
    RecoveryKind::Sack,
    RecoveryKind::RackTlp,
];

#[test]
fn without_loss_the_window_doubles_and_a_file_arrives_whole() {
    for kind in KINDS {
        let mut net = Net::new(&config(kind), Some(300_000)).started();
        net.run(at(10_000));
        assert_eq!((net.received, net.receiver.duplicates()), (300_000, 0), "{kind:?}");
        assert_eq!(net.sender.counters().retransmissions, 0);
        // 313 segments: 10, 20, 40, 80, 160, the rest: six round trips.
        assert_eq!(net.sender.completed_at(), Some(at(600)), "{kind:?}");
    }
}

#[test]
fn one_loss_is_repaired_without_a_timeout_and_halves_once() {
    for kind in KINDS {
        let mut net = Net::new(&config(kind), Some(300_000)).losing(&[40]).started();
        net.run(at(30_000));
        let counters = net.sender.counters();
        assert_eq!((net.received, counters.timeouts, counters.recoveries), (300_000, 0, 1), "{kind:?}");
        assert_eq!(counters.retransmissions, 1, "{kind:?}: {counters:?}");
        let entered = net.recoveries().iter().filter(|r| matches!(r, Recovery::Entered { .. })).count();
        assert_eq!(entered, usize::from(kind != RecoveryKind::Tahoe), "{kind:?}");
    }
}

#[test]
fn three_losses_of_a_window_tell_the_ways_apart() {
    let mut times = Vec::new();
    for kind in KINDS {
        let mut net = Net::new(&config(kind), Some(300_000)).losing(&[40, 44, 48]).started();
        net.run(at(60_000));
        assert_eq!(net.received, 300_000, "{kind:?}");
        times.push((kind, net.sender.counters(), net.sender.completed_at().expect("whole")));
    }
    let of = |kind| times.iter().find(|(other, ..)| *other == kind).expect("ran");
    // Fall and Floyd 1996: NewReno repairs one per round trip, SACK all at once; neither times out, and both halve once.
    for kind in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        assert_eq!((of(kind).1.timeouts, of(kind).1.recoveries), (0, 1), "{times:?}");
    }
    assert_eq!(of(RecoveryKind::Sack).1.retransmissions, 3, "{times:?}");
    assert!(of(RecoveryKind::Sack).2 < of(RecoveryKind::NewReno).2, "{times:?}");
    // Reno leaves at the first partial acknowledgement: it halves again, or waits for its timer.
    let reno = of(RecoveryKind::Reno).1;
    assert!(reno.recoveries + reno.timeouts > 1, "{times:?}");
}

/// RFC 6582 section 3.2 step 2: duplicates for what comes right after a recovery may be echoes of it.
#[test]
fn the_first_segment_after_a_recovery_is_repaired_by_the_timer_without_selective_acknowledgements() {
    for (kind, after, timeouts, recoveries) in [
        (RecoveryKind::NewReno, 0, 1, 1),
        (RecoveryKind::NewReno, 1, 0, 2),
        (RecoveryKind::Reno, 0, 1, 1),
        (RecoveryKind::Sack, 0, 0, 2),
    ] {
        let mut one = Net::new(&config(kind), Some(300_000)).losing(&[40]).started();
        one.run(at(30_000));
        let again =
            one.sent.iter().skip(41).position(|(_, segment)| segment.sequence == one.sent[40].1.sequence);
        // Recovery lasts until all that was sent before is acknowledged; this comes next.
        let first_new = 41 + again.expect("sent again") as u64 + 1;
        let mut net = Net::new(&config(kind), Some(300_000)).losing(&[40, first_new + after]).started();
        net.run(at(30_000));
        let counters = net.sender.counters();
        assert_eq!(
            (counters.timeouts, counters.recoveries),
            (timeouts, recoveries),
            "{kind:?}, {after}: {counters:?}"
        );
        assert_eq!(net.received, 300_000, "{kind:?}");
    }
}

/// Which pairs of a transfer of ten segments, all sent at once, take a timeout if they are lost.
fn pairs_that_time_out(config: &TcpConfig) -> Vec<(u64, u64)> {
    let pairs = (0..10).flat_map(|one| (one + 1..10).map(move |other| (one, other)));
    let timed_out = |&(one, other): &(u64, u64)| {
        let mut net = Net::new(config, Some(10 * 960)).losing(&[one, other]).started();
        net.run(at(10_000));
        assert_eq!(net.received, 10 * 960, "{one}, {other}");
        net.sender.counters().timeouts > 0
    };
    pairs.filter(timed_out).collect()
}

/// RFC 6675 section 4, NextSeg: where three segments above the first hole arrive, rules 1, 3 and 4 repair both.
#[test]
fn two_losses_of_ten_take_a_timeout_only_where_too_few_arrive_behind_them() {
    let too_few = [(6, 7), (6, 8), (6, 9), (7, 8), (7, 9), (8, 9)];
    for prr in [true, false] {
        for ack_every in [1, 2] {
            let config = TcpConfig { prr, ack_every, ..config(RecoveryKind::Sack) };
            assert_eq!(pairs_that_time_out(&config), too_few, "prr: {prr}, {ack_every}");
        }
    }
}

/// When the n-th segment of ten left again, by the loss of `lost`; the window of five lets all go that may.
fn sent_again(lost: &[u64]) -> Vec<(u64, Time)> {
    let config = TcpConfig { prr: false, ..config(RecoveryKind::Sack) };
    let mut net = Net::new(&config, Some(10 * 960)).losing(lost).started();
    net.run(at(400));
    assert_eq!(net.sender.counters().timeouts, 0);
    net.sent.iter().skip(10).map(|(time, segment)| (u64::from((segment.sequence - 1) / 960), *time)).collect()
}

/// RFC 6675 section 4, NextSeg rules 3 and 4, and step 4.3 of section 5.
#[test]
fn what_may_be_lost_leaves_again_when_there_is_nothing_else_to_send() {
    // Rule 3: with the third duplicate 1 is lost, and 7 may be: what arrived above it is less than three segments. The
    // rescue of rule 4 asks only whether anything is outstanding, so it sends 7 once more.
    assert_eq!(sent_again(&[1, 7]), [(1, at(100)), (7, at(100)), (7, at(200))]);
    // Rule 4: nothing arrived above 9, and it leaves when more is acknowledged than what left again first.
    assert_eq!(sent_again(&[1, 9]), [(1, at(100)), (9, at(200))]);
    // Not when just that is acknowledged: 2 is lost too, and is repaired before.
    assert_eq!(sent_again(&[1, 2, 9]), [(1, at(100)), (2, at(100)), (9, at(200))]);
    // One rescue for a recovery, of the highest: with 8 and 9 lost the answer to 9 makes 8 one that may be lost.
    assert_eq!(sent_again(&[1, 8, 9]), [(1, at(100)), (9, at(200)), (8, at(300))]);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer_and_backs_off_to_the_millisecond() {
    for kind in KINDS {
        // The first segment is lost, and so are its next three copies; everything else arrives.
        let mut net =
            Net::new(&TcpConfig { initial_window: 1, min_rto: ms(1000), ..config(kind) }, Some(960));
        net.data_rule = Box::new(|n, _| if n < 4 { Action::Dropped } else { Action::Arrives });
        let mut net = net.started();
        net.run(at(60_000));
        let times: Vec<_> = net.sent.iter().map(|(time, ..)| *time).collect();
        // RFC 6298 rules 2.1 and 5.5: 1 s, then twice as long each time.
        assert_eq!(times, [at(0), at(1000), at(3000), at(7000), at(15_000)], "{kind:?}");
        assert_eq!(net.sender.completed_at(), Some(at(15_100)), "{kind:?}");
    }
}

#[test]
fn a_round_trip_of_a_segment_sent_twice_is_not_measured() {
    let mut net = Net::new(&TcpConfig { initial_window: 1, ..config(RecoveryKind::Sack) }, Some(96_000));
    net.data_rule = Box::new(|n, _| if n == 0 { Action::Late(ms(2000)) } else { Action::Arrives });
    let mut net = net.started();
    net.run(at(30_000));
    // The first copy arrives after the second: had its 1.1 s or the second's 100 ms been taken for the round trip of the
    // first, the timer would be off for the next segments; nothing else is ever sent again.
    assert_eq!((net.received, net.sender.counters().timeouts), (96_000, 1));
    assert!(net.receiver.duplicates() >= 1, "the late copy");
}

/// RFC 6298 section 3. Every round trip of this network takes 100 ms, whatever waits behind a hole meanwhile.
#[test]
fn what_waited_behind_a_hole_is_not_measured() {
    for kind in KINDS {
        for one_sample in [false, true] {
            let config = TcpConfig { one_sample, min_rto: ms(1), ..config(kind) };
            let mut net = Net::new(&config, None).losing(&[40, 44, 48, 70, 95]).started();
            net.run(at(2000));
            let counters = net.sender.counters();
            assert!(counters.retransmissions >= 5, "{kind:?}: {counters:?}");
            let srtt = net.sender.controller().snapshot().srtt;
            assert_eq!(srtt, Some(ms(100)), "{kind:?}, {one_sample}");
            // The timer's own estimate: 100 ms, and a variation that began at 50 ms.
            let (due, _) = net.sender.next_timeout().expect("something is under way");
            assert!(due <= net.now + ms(300), "{kind:?}, {one_sample}: {:?} from now", due - net.now);
        }
    }
}

/// ns-2 times one segment, and what it waits behind a hole counts: with its choices the timer then waits longer.
#[test]
fn what_waited_behind_a_hole_is_measured_as_ns2_does_it() {
    let longest = |lost: u64, sample_behind_holes| {
        let config = TcpConfig {
            one_sample: true,
            sample_behind_holes,
            min_rto: ms(1),
            ..config(RecoveryKind::NewReno)
        };
        let mut net = Net::new(&config, None).losing(&[lost, lost + 1]).started();
        let waits = (6..20).map(|tenths| {
            net.run(at(tenths * 100));
            let (due, _) = net.sender.next_timeout().expect("something is under way");
            due - net.now
        });
        waits.max()
    };
    let waits: Vec<_> = (40..60).map(|lost| (longest(lost, true), longest(lost, false))).collect();
    assert!(waits.iter().any(|(as_ns2, by_rfc)| as_ns2 > by_rfc), "{waits:?}");
}

/// A segment that is overtaken by two is no loss, and they have waited for it: of the three none is measured.
#[test]
fn what_waited_for_a_late_segment_is_not_measured() {
    for kind in KINDS {
        let mut net = Net::new(&TcpConfig { initial_window: 3, ..config(kind) }, Some(3 * 960));
        net.data_rule = Box::new(|n, _| if n == 0 { Action::Late(ms(60)) } else { Action::Arrives });
        let mut net = net.started();
        net.run(at(1000));
        // 60 ms are more than a quarter round trip (RFC 8985 section 6.2 step 4).
        let again = u64::from(kind == RecoveryKind::RackTlp);
        assert_eq!((net.received, net.sender.counters().retransmissions), (3 * 960, again), "{kind:?}");
        let srtt = net.sender.controller().snapshot().srtt;
        let told_apart = kind.is_selective();
        assert_eq!(srtt.is_some(), told_apart, "{kind:?}: {srtt:?}");
    }
}

#[test]
fn small_windows_live_by_limited_transmit() {
    for (limited_transmit, timeouts) in [(true, 0), (false, 1)] {
        // A window of three with the first lost: two duplicates alone are not enough.
        let config = TcpConfig {
            initial_window: 3,
            limited_transmit,
            max_window: Some(Bytes::new(3000)),
            ..config(RecoveryKind::NewReno)
        };
        let mut net = Net::new(&config, Some(40 * 960)).losing(&[6]).started();
        net.run(at(30_000));
        assert_eq!(net.received, 40 * 960);
        // The window is the receiver's: limited transmit cannot exceed it, so it is widened by what left the network.
        assert_eq!(
            net.sender.counters().timeouts,
            1,
            "the receiver's window has no room: {limited_transmit}"
        );
        let config = TcpConfig { max_window: None, ..config };
        let mut net = Net::new(&config, Some(6 * 960)).losing(&[0]).started();
        net.run(at(30_000));
        assert_eq!(net.sender.counters().timeouts, timeouts, "{limited_transmit}");
    }
}

#[test]
fn delayed_acknowledgements_come_every_second_segment_or_after_the_delay() {
    let config = TcpConfig { ack_every: 2, ..config(RecoveryKind::Sack) };
    let mut net = Net::new(&config, Some(5 * 960)).started();
    net.run(at(5000));
    let acks: Vec<_> = net.acks.iter().map(|(time, ack)| (*time, (ack.acknowledgment - 1) / 960)).collect();
    // Two and two; the last comes with the end of the stream, which does not wait.
    assert_eq!(acks, [(at(50), 2), (at(50), 4), (at(50), 5)]);
    let mut net = Net::new(&TcpConfig { initial_window: 1, ..config }, Some(2 * 960)).started();
    net.run(at(5000));
    assert_eq!(net.acks[0].0, at(50 + 200), "one segment alone is acknowledged after the delay");
}

/// RFC 5681 section 4.2: a segment that fills a hole, or a part of it, is acknowledged at once.
#[test]
fn what_fills_a_hole_is_acknowledged_at_once() {
    let config = TcpConfig { ack_every: 2, ..config(RecoveryKind::NewReno) };
    let mut receiver = TcpReceiver::new(&config, 0);
    let mut due = |number: u32| {
        let segment =
            Segment { flags: Flags::ACK, sequence: 1 + number * 960, payload: 960, ..Segment::default() };
        receiver.receive(at(0), segment, Ecn::NotEct, PathFacts::default());
        let due = receiver.next_timeout().map(|(due, _)| due);
        receiver.poll_transmit(due.expect("something to acknowledge"));
        due
    };
    for (number, expected, why) in [
        (0, 200, "in order: another may follow"),
        (3, 0, "out of order"),
        (1, 0, "a part of the hole"),
        (2, 0, "the rest of it"),
        (4, 200, "in order again"),
    ] {
        assert_eq!(due(number), Some(at(expected)), "{number}: {why}");
    }
}

#[test]
fn the_handshake_takes_a_round_trip_and_survives_its_losses() {
    let config = TcpConfig { handshake: true, ..config(RecoveryKind::Sack) };
    let mut net = Net::new(&config, Some(960)).started();
    net.run(at(5000));
    assert_eq!((net.sent.len(), net.sent[1].0, net.received), (2, at(100), 960));
    let mut net = Net::new(&config, Some(960));
    let mut syns = 0;
    net.data_rule = Box::new(move |_, segment| {
        syns += u64::from(segment.flags.has(Flags::SYN));
        if segment.flags.has(Flags::SYN) && syns <= 2 { Action::Dropped } else { Action::Arrives }
    });
    let mut net = net.started();
    net.run(at(30_000));
    let times: Vec<_> = net.sent.iter().map(|(time, ..)| *time).collect();
    assert_eq!(times, [at(0), at(1000), at(3000), at(3100)], "a second, then two");
}

/// RFC 5681 section 3.1: the initial window after a lost SYN, or a lost answer to it, is one segment.
#[test]
fn a_connection_whose_syn_was_lost_begins_with_one_segment() {
    let config = TcpConfig { handshake: true, ..config(RecoveryKind::Sack) };
    let flights = |syn_lost: bool, answer_lost: bool| {
        let mut net = Net::new(&config, None);
        let mut lose = syn_lost;
        net.data_rule =
            Box::new(move |_, _| if std::mem::take(&mut lose) { Action::Dropped } else { Action::Arrives });
        net.ack_rule =
            Box::new(move |n, _| if answer_lost && n == 0 { Action::Dropped } else { Action::Arrives });
        let mut net = net.started();
        net.run(at(1350));
        let opened = net.sent.iter().find(|(_, segment)| segment.payload > 0).expect("data").0;
        let of = |round: i64| net.sent.iter().filter(|(time, _)| *time == opened + ms(100 * round)).count();
        (opened, of(0), of(1))
    };
    assert_eq!(flights(false, false), (at(100), 10, 20));
    assert_eq!(flights(true, false), (at(1100), 1, 2), "and slow start goes on from there");
    assert_eq!(flights(false, true), (at(1100), 1, 2));
}

#[test]
fn sequence_numbers_wrap() {
    for kind in KINDS {
        let config = TcpConfig { initial_sequence: u32::MAX - 100_000, handshake: true, ..config(kind) };
        let mut net = Net::new(&config, Some(300_000)).losing(&[40, 104, 150]).started();
        net.run(at(60_000));
        assert_eq!((net.received, net.sender.counters().ignored), (300_000, 0), "{kind:?}");
        assert!(net.sender.completed_at().is_some(), "{kind:?}");
    }
}

#[test]
fn marks_are_answered_once_per_window_and_cwr_ends_the_echo() {
    let config = TcpConfig { ect: Ecn::Ect0, ..config(RecoveryKind::Sack) };
    let mut net = Net::new(&config, Some(300_000));
    net.data_rule = Box::new(|n, _| if (60..64).contains(&n) { Action::Marked } else { Action::Arrives });
    let mut net = net.started();
    net.run(at(20_000));
    let echoes = net.acks.iter().filter(|(_, ack)| ack.flags.has(Flags::ECE)).count();
    let reduced = net.sent.iter().filter(|(_, segment)| segment.flags.has(Flags::CWR)).count();
    assert_eq!((net.received, reduced, net.sender.counters().retransmissions), (300_000, 1, 0));
    assert!(echoes > 4, "from the mark on until the reduction is known: {echoes}");
    let last = net.acks.last().expect("there are many").1;
    assert!(!last.flags.has(Flags::ECE));
    // Exactly: as many echoes as marks.
    let mut net = Net::new(&TcpConfig { ecn_echo: EcnEcho::Exact, ..config }, Some(300_000));
    net.data_rule = Box::new(|n, _| if (60..64).contains(&n) { Action::Marked } else { Action::Arrives });
    let mut net = net.started();
    net.run(at(20_000));
    assert_eq!(net.acks.iter().filter(|(_, ack)| ack.flags.has(Flags::ECE)).count(), 4);
}

#[test]
fn a_reduction_for_nothing_is_taken_back() {
    // One segment is overtaken by many: declared lost, sent again, and then it arrives as well.
    let mut net = Net::new(&config(RecoveryKind::Sack), Some(300_000));
    net.data_rule = Box::new(|n, _| if n == 40 { Action::Late(ms(60)) } else { Action::Arrives });
    let mut net = net.started();
    net.run(at(20_000));
    let counters = net.sender.counters();
    assert_eq!((net.received, counters.recoveries, counters.spurious), (300_000, 1, 1), "{counters:?}");
}
