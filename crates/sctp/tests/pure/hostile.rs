//! Whatever the network does, and whatever unknown peers send: everything arrives once and in order, nothing panics, nothing grows without
//! bound.

use super::net::{Action, Net, at, bulk, config, messages, ms};
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd};
use paceline_sctp::{Backward, DataChunk, Forward, ForwardTsn, Order, Sack, SctpConfig, SctpReceiver};
use paceline_units::{Bytes, Ecn, Time};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..200, any::<u32>(), Just(u32::MAX), Just(1 << 31)]
}

fn backward() -> impl Strategy<Value = Backward> {
    let gaps = prop::collection::vec(prop_oneof![(0u16..40, 0u16..40), any::<(u16, u16)>()], 0..6);
    prop_oneof![
        8 => (number(), any::<u32>(), gaps, any::<u16>()).prop_map(|(cumulative, a_rwnd, gaps, duplicates)| {
            Backward::Sack(Sack { cumulative, a_rwnd, gaps, duplicates })
        }),
        1 => any::<u64>().prop_map(|sent| Backward::HeartbeatAck(Time::from_nanos(sent))),
    ]
}

fn forward() -> impl Strategy<Value = Forward> {
    let flags = any::<(bool, bool, bool)>();
    let skipped = prop::collection::vec(any::<(u8, u16)>(), 0..5);
    let chunk = (number(), prop_oneof![0u32..2000, any::<u32>()], any::<u16>(), any::<u8>(), 0u8..4, flags);
    prop_oneof![
        8 => chunk.prop_map(|(tsn, payload, ssn, stream, source, (begins, ends, unordered))| {
            let captured = Time::from_nanos(u64::from(tsn) << 20);
            Forward::Data(DataChunk { captured, tsn, payload, ssn, stream, source, begins, ends, unordered })
        }),
        1 => any::<u64>().prop_map(|sent| Forward::Heartbeat(Time::from_nanos(sent))),
        2 => (number(), skipped).prop_map(|(cumulative, skipped)| Forward::ForwardTsn(ForwardTsn { cumulative, skipped })),
    ]
}

fn action(code: u8) -> Action {
    match code {
        0 | 1 => Action::Dropped,
        2 => Action::Doubled,
        3 => Action::Late(ms(7)),
        4 => Action::Late(ms(130)),
        _ => Action::Arrives,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn everything_arrives_whatever_is_lost_doubled_or_late(
        actions in prop::collection::vec(0u8..20, 400),
        backs in prop::collection::vec(0u8..20, 400),
        sack_every in 1u32..4,
        order in prop_oneof![Just(Order::Streams), Just(Order::Association), Just(Order::None)],
        initial_tsn: u32,
    ) {
        let config = SctpConfig { sack_every, order, initial_tsn, ..config() };
        let mut net = Net::new(&config, vec![bulk(Some(100_000)), bulk(Some(50_500))]);
        // After the actions are used up the network is well again.
        let mut actions = actions.into_iter();
        net.data_rule = Box::new(move |_, _| actions.next().map_or(Action::Arrives, action));
        net.back_rule = Box::new(move |n, _| backs.get(n as usize).map_or(Action::Arrives, |code| action(*code)));
        let mut net = net.started();
        net.run(at(1_000_000));
        prop_assert_eq!(net.received, 150_500);
        prop_assert_eq!((net.receiver.held(), net.sender.in_flight()), (Bytes::ZERO, Bytes::ZERO));
    }

    #[test]
    fn messages_with_a_lifetime_are_shown_or_given_up(
        actions in prop::collection::vec(0u8..12, 300),
        order in prop_oneof![Just(Order::Streams), Just(Order::Association), Just(Order::None)],
        lifetime in 1i64..300,
        size in 100u64..6000,
    ) {
        let config = SctpConfig { order, lifetime: Some(ms(lifetime)), ..config() };
        let mut net = Net::new(&config, vec![messages(size), messages(700)]);
        net.counts = false;
        let mut actions = actions.into_iter();
        net.data_rule = Box::new(move |_, _| actions.next().map_or(Action::Arrives, action));
        let mut net = net.started();
        net.run(at(5_000));
        net.sender.stop(net.now);
        net.run(at(1_000_000));
        prop_assert_eq!((net.receiver.held(), net.sender.in_flight()), (Bytes::ZERO, Bytes::ZERO));
        let shown = net.displayed.len() as u64;
        // The queue is dropped when a flow is stopped; a copy may arrive of what was given up.
        let frames = net.sender.frames();
        prop_assert!(shown <= frames.captured);
        prop_assert!(net.displayed.iter().all(|(_, _, frame)| [size, 700].contains(&frame.bytes.as_u64())));
    }

    #[test]
    fn a_sender_takes_anything(packets in prop::collection::vec(backward(), 1..80), lives: bool) {
        let receive_window = Bytes::new(50_000);
        let config = SctpConfig { receive_window, lifetime: lives.then_some(ms(300)), ..config() };
        let mut net = Net::new(&config, vec![bulk(None), messages(2500)]);
        net.counts = false;
        let mut net = net.started();
        for (index, packet) in packets.into_iter().enumerate() {
            net.run(at(index as i64 * 40));
            net.tell(packet);
        }
        net.run(at(5_000));
    }

    #[test]
    fn a_receiver_takes_anything_and_counts_no_byte_twice(packets in prop::collection::vec(forward(), 1..300)) {
        let config = SctpConfig { receive_window: Bytes::new(50_000), ..config() };
        let mut receiver = SctpReceiver::new(&config, [true, false, true]);
        let (mut there, mut sent) = (0, 0);
        for (index, packet) in packets.into_iter().enumerate() {
            let now = at(index as i64);
            if let Forward::Data(chunk) = &packet {
                sent += u64::from(chunk.payload);
            }
            there += receiver.receive(now, packet, Ecn::NotEct, PathFacts::default()).payload.as_u64();
            while let Some(back) = receiver.poll_transmit(now) {
                receiver.recycle(back.packet);
            }
            while receiver.poll_displayed().is_some() {}
        }
        prop_assert!(there <= sent);
    }
}

/// SACKs of what was never sent, of the past, and gap blocks that lie change nothing.
#[test]
fn what_was_never_sent_cannot_be_acknowledged() {
    let mut net = Net::new(&config(), vec![bulk(None)]).started();
    net.run(at(320));
    let window = net.window();
    let last = match net.back.last() {
        Some((_, Backward::Sack(sack))) => sack.cumulative,
        other => panic!("{other:?}"),
    };
    net.tell_sack(last + 100_000, &[]);
    net.tell_sack(last.wrapping_sub(1 << 30), &[]);
    assert_eq!(net.sender.counters().ignored, 2);
    // Reversed, at the hole itself, nothing, beyond what was sent.
    net.tell_sack(last, &[(5, 3), (1, 2), (0, 0), (2, 60_000)]);
    assert_eq!(net.sender.counters().impossible_blocks, 4);
    assert_eq!(net.window(), window);
}

/// A receiver that takes back what it told gets it again, and the association goes on.
#[test]
fn a_receiver_may_take_back_what_it_told() {
    let mut net = Net::new(&config(), vec![bulk(Some(40_000))]);
    net.counts = false;
    net.data_rule = Box::new(|n, _| if (1..4).contains(&n) { Action::Dropped } else { Action::Arrives });
    let mut net = net.started();
    net.run(at(10));
    net.tell_sack(u32::MAX, &[(2, 4)]);
    net.run(at(120_000));
    assert_eq!(net.received, 40_000);
    assert!(!net.sender.has_failed());
}

/// Windows of a million packets: the scoreboard is bounded, and gap blocks reach as far as 16 bits do.
#[test]
fn a_window_of_a_million_packets() {
    let config = SctpConfig { max_burst: 1_000_000_000, ..config() };
    let mut net = Net::new(&config, vec![bulk(None)]);
    net.data_rule = Box::new(|n, _| if n == 10 { Action::Dropped } else { Action::Arrives });
    net.counts = false;
    let window = paceline_cc::Assigned::Window(Bytes::new(1048 * 1_000_000));
    net.sender.assign(at(0), window);
    let mut net = net.started();
    assert_eq!(net.sent.len(), 1 << 18, "of a million the scoreboard takes so many");
    net.run(at(400));
    let longest = net.back.iter().map(|(_, packet)| match packet {
        Backward::Sack(sack) => sack.gaps.iter().map(|(_, end)| *end).max().unwrap_or(0),
        Backward::HeartbeatAck(_) => 0,
    });
    assert_eq!(longest.max(), Some(u16::MAX));
    assert_eq!(net.sender.counters().recoveries, 1);
    assert!(net.received > 1000 * (1 << 18));
}

/// A receiver holds no more than its window, however many chunks come behind a hole.
#[test]
fn a_receiver_holds_no_more_than_its_window() {
    let config = SctpConfig { receive_window: Bytes::new(20_000), ..config() };
    let mut receiver = SctpReceiver::new(&config, [true]);
    for tsn in 1..100_000 {
        let chunk = DataChunk {
            tsn,
            payload: 1000,
            ssn: tsn as u16,
            begins: true,
            ends: true,
            ..DataChunk::default()
        };
        receiver.receive(at(0), Forward::Data(chunk), Ecn::NotEct, PathFacts::default());
    }
    assert_eq!((receiver.held(), receiver.ignored()), (Bytes::new(20_000), 99_999 - 20));
    let Some(Backward::Sack(sack)) = receiver.poll_transmit(at(0)).map(|back| back.packet) else {
        panic!("none")
    };
    assert_eq!((sack.a_rwnd, &sack.gaps[..]), (0, &[(2, 21)][..]));
}
