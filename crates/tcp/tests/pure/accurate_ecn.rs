//! Accurate ECN feedback (RFC 9768) from end to end: what is agreed on, and what the sender learns of marks.

use super::net::{Action, Net, Rule, at, ms};
use super::recovery::config;
use paceline_cc::Marking;
use paceline_ends::SendingEnd;
use paceline_tcp::{EcnEcho, EcnSupport, Flags, RecoveryKind, Segment, TcpConfig};
use paceline_units::Ecn;
use proptest::prelude::*;

fn accurate(ect: Ecn) -> TcpConfig {
    let config = config(RecoveryKind::Sack);
    TcpConfig { ect, ecn_echo: EcnEcho::Accurate, handshake: true, ..config }
}

fn marking(numbers: std::ops::Range<u64>) -> Rule {
    Box::new(
        move |n, segment| {
            if segment.payload > 0 && numbers.contains(&n) { Action::Marked } else { Action::Arrives }
        },
    )
}

/// Section 3.1.1 and table 2: the flags of SYN and SYN/ACK, the field of data after them, and what leaves then.
#[test]
fn both_ends_agree_on_what_both_know() {
    use EcnSupport::{Accurate, Classic, None};
    let table = [
        (Ecn::Ect1, Accurate, [0b111, 0b010, 0b101], Ecn::Ect1, Option::None),
        (Ecn::Ect0, Accurate, [0b111, 0b010, 0b101], Ecn::Ect0, Option::None),
        (Ecn::Ect1, Classic, [0b111, 0b001, 0], Ecn::Ect0, Some(Marking::Classic)),
        (Ecn::Ect0, Classic, [0b111, 0b001, 0], Ecn::Ect0, Option::None),
        (Ecn::Ect1, None, [0b111, 0, 0], Ecn::NotEct, Some(Marking::None)),
        (Ecn::NotEct, Accurate, [0, 0, 0], Ecn::NotEct, Option::None),
    ];
    for (ect, receiver_ecn, flags, left, told) in table {
        for handshake in [true, false] {
            let config = TcpConfig { receiver_ecn, handshake, ..accurate(ect) };
            let mut net = Net::new(&config, Some(100_000)).started();
            net.run(at(5000));
            let case = format!("{ect:?} {receiver_ecn:?} {handshake}");
            assert_eq!(
                (net.received, net.ect, net.sender.controller().marking),
                (100_000, left, told),
                "{case}"
            );
            let data = net.sent.iter().find(|(_, segment)| segment.payload > 0).expect("data").1;
            assert_eq!(data.flags.ace(), flags[2], "{case}");
            if handshake {
                assert_eq!([net.sent[0].1.flags.ace(), net.acks[0].1.flags.ace()], flags[..2], "{case}");
            }
        }
    }
}

/// Section 3.1.1: a SYN that was sent with no ECN field and arrives with one tells of a path that mangles. Then packets are not
/// ECN-capable, and what is told of marks is told on (section 3.2.2.3).
#[test]
fn a_mangled_syn_ends_ecn_and_flags_that_come_back_as_they_were_are_no_agreement() {
    for (ace, left, data) in [
        (0b011, Ecn::NotEct, 0b101),
        (0b110, Ecn::NotEct, 0b101),
        (0b101, Ecn::Ect1, 0b101),
        (0b111, Ecn::NotEct, 0),
    ] {
        let mut net = Net::new(&accurate(Ecn::Ect1), Some(100_000));
        net.ack_rule = Box::new(|_, _| Action::Dropped);
        let mut net = net.started();
        net.run(at(60));
        let flags = Flags::SYN.and(Flags::ACK).and(Flags::of_ace(ace));
        net.inject_ack(&Segment { flags, acknowledgment: 1, window: 1 << 20, ..Segment::default() });
        net.run(at(70));
        let last = net.sent.last().expect("data").1;
        assert_eq!((net.ect, last.flags.ace()), (left, data), "{ace:b}");
        assert_eq!(net.sender.controller().marking, (left == Ecn::NotEct).then_some(Marking::None));
    }
}

/// Section 3.2.2: every mark is told, once, however acknowledgements are delayed.
#[test]
fn every_mark_is_told_once() {
    for ack_every in [1, 2, 16] {
        let config = TcpConfig { ack_every, ..accurate(Ecn::Ect1) };
        let mut net = Net::new(&config, Some(300_000));
        net.data_rule = marking(60..97);
        let mut net = net.started();
        net.run(at(20_000));
        let heard = net.sender.controller();
        assert_eq!((net.received, heard.arrivals[1]), (300_000, 37), "{ack_every}");
        assert!(
            net.sent
                .iter()
                .all(|(_, segment)| segment.flags.ace() == if segment.payload > 0 { 5 } else { 7 })
        );
        assert_eq!(net.acks.last().expect("there are some").1.flags.ace(), (5 + 37) % 8);
    }
}

/// The count of a lost acknowledgement is told by the next; one that comes late, or twice, says nothing more.
#[test]
fn acknowledgements_that_are_lost_late_or_doubled_change_no_count() {
    for rule in [Action::Dropped, Action::Late(ms(7)), Action::Doubled] {
        let mut net = Net::new(&accurate(Ecn::Ect1), Some(300_000));
        net.data_rule = marking(60..90);
        net.ack_rule = Box::new(move |n, _| if n % 3 == 1 { rule } else { Action::Arrives });
        let mut net = net.started();
        net.run(at(20_000));
        let heard = net.sender.controller();
        assert_eq!((net.received, heard.arrivals[1]), (300_000, 30), "{rule:?}");
    }
}

/// A counter that goes back is one that went round: up to seven marks, of no more packets than arrived.
#[test]
fn a_forged_counter_marks_no_more_than_it_acknowledges() {
    let mut net = Net::new(&accurate(Ecn::Ect1), None).started();
    net.run(at(120));
    let before = net.sender.controller().arrivals;
    let flags = Flags::ACK.and(Flags::of_ace(4));
    let forged = |acknowledgment| Segment {
        flags,
        acknowledgment,
        sequence: 1,
        window: 1 << 20,
        ..Segment::default()
    };
    net.inject_ack(&forged(1));
    assert_eq!(net.sender.controller().arrivals, before, "it acknowledges nothing");
    net.inject_ack(&forged(1 + 960));
    assert_eq!(net.sender.controller().arrivals, [before[0] + 1, before[1] + 1]);
    net.inject_ack(&forged(1 + 4 * 960));
    assert_eq!(net.sender.controller().arrivals, [before[0] + 4, before[1] + 1], "the same counter again");
}

proptest! {
    /// Over any loss that leaves each fourth packet and acknowledgement, so that the field never goes round, no mark is told
    /// twice.
    #[test]
    fn marks_are_never_invented(losses in prop::collection::vec(0u8..20, 64), marks in prop::collection::vec(any::<bool>(), 64)) {
        let mut net = Net::new(&TcpConfig { ack_every: 1, ..accurate(Ecn::Ect1) }, Some(200_000));
        let (data, acks) = (losses.clone(), losses);
        net.data_rule = Box::new(move |n, segment| match (data[n as usize % 64], marks[n as usize % 64]) {
            _ if segment.payload == 0 => Action::Arrives,
            (0, _) if n % 4 > 0 => Action::Dropped,
            (_, true) => Action::Marked,
            _ => Action::Arrives,
        });
        net.ack_rule = Box::new(move |n, _| if n % 4 > 0 && acks[(n as usize + 7) % 64] < 8 { Action::Dropped } else { Action::Arrives });
        let mut net = net.started();
        net.run(at(50_000_000));
        prop_assert_eq!(net.received, 200_000);
        let told = net.sender.controller().arrivals[1];
        prop_assert!(told <= net.marked, "{} of {}", told, net.marked);
    }
}
