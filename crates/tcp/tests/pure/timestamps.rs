//! Timestamps (RFC 7323): what is old is not let in, and what was sent again for nothing is taken back (RFC 3522).

use super::net::{Action, Net, at, ms};
use super::recovery::config;
use paceline_cc::{Controller, Recovery};
use paceline_ends::{Follows, PathFacts, ReceivingEnd, SendingEnd};
use paceline_tcp::{Flags, RecoveryKind, Segment, TcpConfig, TcpReceiver, stamp};
use paceline_units::{Bytes, Ecn};

fn stamped(timestamps: bool) -> TcpConfig {
    TcpConfig { timestamps, ..config(RecoveryKind::RackTlp) }
}

/// The path stands still for 600 ms: nothing is lost, and the timer expires.
fn standstill(config: &TcpConfig) -> Net {
    let mut net = Net::new(config, Some(400_000));
    let mut until = None;
    net.data_rule = Box::new(move |n, segment| {
        // All that leaves within the standstill arrives at its end.
        let left = i64::from(segment.timestamp.max(1));
        match (n, until) {
            (100, None) => {
                until = Some(left + 600);
                Action::Late(ms(600))
            }
            (_, Some(until)) if segment.timestamp > 0 && left < until => Action::Late(ms(until - left)),
            (101..200, _) if segment.timestamp == 0 => Action::Late(ms(600)),
            _ => Action::Arrives,
        }
    });
    let mut net = net.started();
    net.run(at(20_000));
    assert_eq!(net.received, 400_000);
    net
}

#[test]
fn a_timeout_for_nothing_is_taken_back_by_the_answer_to_the_first_copy() {
    let (with, without) = (standstill(&stamped(true)), standstill(&stamped(false)));
    let counters = with.sender.counters();
    assert!(counters.timeouts >= 1 && counters.spurious >= 1, "{counters:?}");
    // The probe, and the first segment once for each time that the timer expired.
    assert!(counters.retransmissions <= 1 + counters.timeouts, "{counters:?}");
    assert!(without.sender.counters().retransmissions > 10, "{:?}", without.sender.counters());
    let told = |net: &Net| net.recoveries().iter().any(|told| matches!(told, Recovery::Spurious));
    assert!(told(&with));
    let window = |net: &Net| net.sender.controller().snapshot().window.expect("it has one");
    assert!(window(&with) > window(&without), "the reduction was undone");
    assert!(with.sender.completed_at() < without.sender.completed_at());
}

/// A loss that was one stays one: its retransmission is what is answered.
#[test]
fn a_repaired_loss_is_not_taken_back() {
    for lost in 20..60 {
        let mut net = Net::new(&stamped(true), Some(100_000));
        let mut dropped = false;
        net.data_rule = Box::new(move |n, _| {
            let drop = n == lost && !core::mem::replace(&mut dropped, n == lost);
            if drop { Action::Dropped } else { Action::Arrives }
        });
        let mut net = net.started();
        net.run(at(20_000));
        let counters = net.sender.counters();
        assert_eq!((net.received, counters.spurious, counters.retransmissions), (100_000, 0, 1), "{lost}");
    }
}

#[test]
fn what_is_older_than_what_was_heard_is_acknowledged_and_not_taken() {
    let mut receiver = TcpReceiver::new(&stamped(true), 0);
    let mut arrives = |sequence, timestamp, now| {
        let segment = Segment { flags: Flags::ACK, sequence, payload: 960, timestamp, ..Segment::default() };
        let taken = receiver.receive(at(now), segment, Ecn::NotEct, PathFacts::default());
        (
            taken.payload,
            receiver.answer(at(now)).map(|out| out.packet).filter(|_| taken.follows != Follows::Unknown),
        )
    };
    let (first, answer) = arrives(1, 700, 0);
    assert_eq!(
        (first, answer.map(|answer| (answer.acknowledgment, answer.timestamp))),
        (Bytes::new(960), Some((961, 700)))
    );
    // The clock went back: dropped, with an acknowledgement of what is there.
    let (old, answer) = arrives(961, 650, 1);
    assert_eq!(
        (old, answer.map(|answer| (answer.acknowledgment, answer.timestamp))),
        (Bytes::ZERO, Some((961, 700)))
    );
    let (bare, _) = arrives(961, 0, 2);
    assert_eq!(bare, Bytes::ZERO, "no timestamp, though the connection has them");
    assert_eq!(arrives(961, 700, 3).0, Bytes::new(960));
    assert_eq!(receiver.ignored(), 2);
}

/// A peer that knows no timestamps is talked to without: a SYN that has none, and an answer that has none.
#[test]
fn they_are_agreed_on_in_the_handshake() {
    for (ours, theirs) in [(true, true), (true, false), (false, true)] {
        let config = |timestamps| TcpConfig { handshake: true, ..stamped(timestamps) };
        let mut net = Net::new(&config(ours), Some(50_000));
        net.receiver = TcpReceiver::new(&config(theirs), 0);
        let mut net = net.started();
        net.run(at(20_000));
        assert_eq!((net.received, net.receiver.ignored()), (50_000, 0), "{ours}, {theirs}");
        let both = ours && theirs;
        let data = net.sent.iter().filter(|(_, segment)| segment.payload > 0);
        assert!(data.clone().all(|(left, segment)| segment.timestamp == if both { stamp(*left) } else { 0 }));
        assert!(net.acks.iter().skip(1).all(|(_, ack)| (ack.timestamp > 0) == both), "{ours}, {theirs}");
    }
}
