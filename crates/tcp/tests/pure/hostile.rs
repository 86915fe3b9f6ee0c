//! Whatever the network does, and whatever unknown peers send: everything arrives once and in order, nothing panics.

use super::net::{Action, Net, at, ms};
use super::recovery::{KINDS, config};
use paceline_ends::{Follows, PathFacts, ReceivingEnd};
use paceline_tcp::{EcnEcho, Flags, SackBlocks, Segment, TcpConfig, TcpReceiver};
use paceline_units::{Bytes, Ecn, Time};
use proptest::prelude::*;

fn segment() -> impl Strategy<Value = Segment> {
    let number = || prop_oneof![0u32..400_000, any::<u32>(), Just(u32::MAX), Just(1)];
    let blocks = prop::collection::vec((number(), number()), 0..4);
    (any::<u16>(), number(), number(), number(), prop_oneof![Just(0u32), 0u32..3000, any::<u32>()], blocks)
        .prop_map(|(flags, sequence, acknowledgment, window, payload, blocks)| {
            let mut sack = SackBlocks::none();
            blocks.into_iter().for_each(|(begin, end)| sack.push(begin, end));
            let (timestamp, flags) = (window % 1000, Flags(flags).and(Flags::ACK));
            Segment {
                flags,
                sequence,
                acknowledgment,
                window,
                payload,
                timestamp,
                sack,
                ..Segment::default()
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn everything_arrives_whatever_is_lost_doubled_or_late(
        kind in 0usize..5,
        actions in prop::collection::vec(0u8..20, 400),
        acks in prop::collection::vec(0u8..20, 400),
        ack_every in 1u32..4,
        (handshake, timestamps) in any::<(bool, bool)>(),
        start: u32,
    ) {
        let config = TcpConfig { ack_every, handshake, timestamps, initial_sequence: start, ..config(KINDS[kind]) };
        let mut net = Net::new(&config, Some(200_000));
        let action = |code: u8| match code {
            0 | 1 => Action::Dropped,
            2 => Action::Doubled,
            3 => Action::Late(ms(7)),
            4 => Action::Late(ms(130)),
            5 => Action::Marked,
            _ => Action::Arrives,
        };
        // After the actions are used up the network is well again.
        let mut actions = actions.into_iter();
        net.data_rule = Box::new(move |_, _| actions.next().map_or(Action::Arrives, action));
        net.ack_rule = Box::new(move |n, _| acks.get(n as usize).map_or(Action::Arrives, |code| action(*code)));
        let mut net = net.started();
        net.run(at(3_600_000));
        prop_assert_eq!(net.received, 200_000);
        prop_assert!(net.sender.completed_at().is_some());
    }

    #[test]
    fn a_sender_takes_anything(
        kind in 0usize..5,
        timestamps: bool,
        segments in prop::collection::vec(segment(), 1..60),
    ) {
        let config = TcpConfig { timestamps, ..config(KINDS[kind]) };
        let mut net = Net::new(&config, Some(2_000_000)).started();
        for (index, segment) in segments.iter().enumerate() {
            net.run(at(index as i64 * 40));
            net.inject_ack(segment);
            // The controller's flight is the scoreboard's whatever was said: `inject_ack` checks it.
        }
        net.run(at(10_000));
    }

    #[test]
    fn a_receiver_takes_anything_and_counts_no_byte_twice(segments in prop::collection::vec(segment(), 1..200)) {
        let mut receiver = TcpReceiver::new(&config(KINDS[3]), 0);
        let mut there = 0;
        for (index, segment) in segments.iter().enumerate() {
            let now = at(index as i64);
            there += receiver.receive(now, *segment, Ecn::NotEct, PathFacts::default()).payload.as_u64();
            while let Some(ack) = receiver.poll_transmit(now).map(|ack| ack.packet) {
                prop_assert!(ack.payload == 0);
            }
        }
        // No more than the window beyond what is in order, and the window moves with that alone.
        prop_assert!(there <= segments.iter().map(|segment| u64::from(segment.payload)).sum());
    }

    /// Mostly in order, some again, some after a hole, and whatever else there is.
    #[test]
    fn what_follows_from_a_segment_is_what_is_polled(
        segments in prop::collection::vec((segment(), 0u8..12, any::<bool>()), 1..200),
        ack_every in 1u32..4,
        ecn_echo in prop_oneof![Just(EcnEcho::Exact), Just(EcnEcho::Rfc3168), Just(EcnEcho::Accurate)],
    ) {
        let config = TcpConfig { ack_every, ecn_echo, ect: Ecn::Ect0, ..config(KINDS[3]) };
        let mut told = TcpReceiver::new(&config, 0);
        let mut polled = told.clone();
        for (index, (random, kind, marked)) in segments.into_iter().enumerate() {
            let (now, next) = (at(index as i64 * 30), told.readable() as u32 + 1);
            let data = |sequence| Segment { flags: Flags::ACK, sequence, payload: 960, sack: SackBlocks::none(), ..random };
            let segment = match kind {
                0 => random,
                1 => data(next.wrapping_sub(960)),
                2 => data(next.wrapping_add(1920)),
                _ => data(next),
            };
            let ecn = if marked { Ecn::Ce } else { Ecn::Ect0 };
            let due = told.next_timeout().map_or(Time::MAX, |(due, _)| due);
            let follows = told.receive(now, segment, ecn, PathFacts::default()).follows;
            let mut answers: Vec<_> = match follows {
                Follows::Answer(_) => told.answer(now).into_iter().collect(),
                Follows::Nothing | Follows::Timeout(_) => Vec::new(),
                Follows::Unknown => std::iter::from_fn(|| told.poll_transmit(now)).collect(),
            };
            let next = told.next_timeout().map_or(Time::MAX, |(due, _)| due);
            match follows {
                Follows::Unknown => {}
                Follows::Nothing => prop_assert_eq!(next, due),
                Follows::Timeout(said) | Follows::Answer(said) => prop_assert_eq!(next, said),
            }
            polled.receive(now, segment, ecn, PathFacts::default());
            while let Some(answer) = polled.poll_transmit(now) {
                prop_assert_eq!(answers.remove(0), answer);
            }
            prop_assert!(answers.is_empty());
            prop_assert_eq!(format!("{told:?}"), format!("{polled:?}"));
        }
    }

    /// The fuzz target `tcp_segments`, without coverage.
    #[test]
    fn a_connection_keeps_its_promises_whatever_happens_to_it(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(super::segments::drive(&bytes), Ok(()));
    }
}

#[test]
fn each_segment_in_order_is_answered_where_each_is_acknowledged() {
    let mut receiver = TcpReceiver::new(&TcpConfig { ack_every: 1, ..config(KINDS[3]) }, 0);
    for number in 0..5 {
        let (flags, sequence) = (Flags::ACK, 1 + number * 960);
        let segment = Segment { flags, sequence, payload: 960, ..Segment::default() };
        let received = receiver.receive(at(0), segment, Ecn::NotEct, PathFacts::default());
        assert_eq!(received.follows, Follows::Answer(Time::MAX));
        let answer = receiver.answer(at(0)).expect("one").packet;
        assert_eq!(answer.acknowledgment, sequence + 960);
    }
}

/// RFC 6675 section 4: what may be lost leaves again before it is (NextSeg rule 3) and is in flight twice (SetPipe), so
/// that more may be in flight than is outstanding. Segments carry one byte here, so that a count of bytes sees it.
#[test]
fn what_left_again_in_doubt_is_in_flight_twice() {
    let bytes = b"\0\x14\x46\0\x7a\0\x91\0\0\x0c\0\xe7\0\0\0\x4dHx\xb4\x82";
    assert_eq!(super::segments::drive(bytes), Ok(()));
}

/// RFC 2018 section 8: a receiver may take back what it told. The controller counts what it was told to have arrived no
/// more, so that the window must hold by the connection's own count.
#[test]
fn a_receiver_that_takes_everything_back_gets_it_again_one_window_at_a_time() {
    let mut net = Net::new(&config(KINDS[3]), Some(2_000_000));
    net.data_rule = Box::new(|_, _| Action::Dropped);
    let mut net = net.started();
    net.run(at(100));
    let mut sack = SackBlocks::none();
    sack.push(1, 1 + 10 * 960);
    let flags = Flags::ACK;
    let told = Segment { flags, sequence: 1, acknowledgment: 1, window: 1 << 30, sack, ..Segment::default() };
    net.inject_ack(&told);
    let sent = net.sent.len();
    assert_eq!(sent, 21, "ten, and when they were told to have arrived a window more");
    net.run(at(1_200));
    let again: Vec<_> = net.sent[sent..].iter().map(|(when, segment)| (*when, segment.sequence)).collect();
    let first = again[0].0;
    assert_eq!(again.iter().filter(|(when, _)| *when == first).count(), 1, "{again:?}");
    assert!(again.iter().all(|(_, sequence)| *sequence == 1), "nothing arrives: {again:?}");
    assert_eq!((net.window(), net.sender.in_flight()), (1, Bytes::new(1000)));
}

#[test]
fn a_connection_may_be_refused() {
    let config = TcpConfig { handshake: true, ..config(KINDS[3]) };
    let flags = [Flags::RST.and(Flags::ACK), Flags::RST.and(Flags::ACK).and(Flags::SYN)];
    for (flags, acknowledgment, refused) in
        [(flags[0], 1, true), (flags[1], 1, true), (flags[0], 2, false), (Flags::RST, 1, false)]
    {
        let mut net = Net::new(&config, Some(2_000));
        // The answers of the true receiver do not arrive, until the unknown peer's has.
        net.ack_rule = Box::new(|n, _| if n == 0 { Action::Dropped } else { Action::Arrives });
        let mut net = net.started();
        net.run(at(60));
        net.inject_ack(&Segment { flags, acknowledgment, ..Segment::default() });
        net.run(at(60_000));
        assert_eq!(net.received, if refused { 0 } else { 2_000 }, "{flags:?} {acknowledgment}");
    }
}

#[test]
fn what_was_never_sent_cannot_be_acknowledged() {
    let mut net = Net::new(&config(KINDS[3]), Some(2_000_000)).started();
    net.run(at(210));
    let before = (net.window(), net.sender.in_flight());
    let told = |acknowledgment: u32, flags: Flags, blocks: &[(u32, u32)]| {
        let mut sack = SackBlocks::none();
        blocks.iter().for_each(|(begin, end)| sack.push(*begin, *end));
        Segment { flags, sequence: 1, acknowledgment, window: 1 << 30, sack, ..Segment::default() }
    };
    let first = net.acks.last().expect("some").1.acknowledgment;
    // Far ahead; half the number space behind; a SYN; another connection; blocks reversed, empty, beyond, below.
    net.inject_ack(&told(first + 10_000_000, Flags::ACK, &[]));
    net.inject_ack(&told(first.wrapping_sub(1 << 30), Flags::ACK, &[]));
    net.inject_ack(&told(first, Flags::ACK.and(Flags::SYN), &[]));
    net.inject_ack(&Segment { connection: 9, ..told(first + 960, Flags::ACK, &[]) });
    assert_eq!(net.sender.counters().ignored, 4);
    for blocks in [(first + 960, first), (first, first), (first + 960, first + 90_000_000)] {
        net.inject_ack(&told(first, Flags::ACK, &[blocks]));
    }
    assert_eq!(net.sender.counters().impossible_blocks, 3);
    // A reset with a number that is not the one expected is nothing; with it the connection is over.
    net.inject_ack(&Segment { sequence: 77, ..told(first, Flags::ACK.and(Flags::RST), &[]) });
    assert_eq!((net.window(), net.sender.in_flight()), before);
    net.inject_ack(&told(first, Flags::ACK.and(Flags::RST), &[]));
    let sent = net.sent.len();
    net.run(at(60_000));
    assert_eq!(net.sent.len(), sent, "reset");
}

#[test]
fn a_receiver_answers_what_is_out_of_the_window_and_stores_nothing_of_it() {
    let config = TcpConfig { max_window: Some(Bytes::new(10_000)), ..config(KINDS[3]) };
    let mut receiver = TcpReceiver::new(&config, 0);
    let data = |sequence: u32, payload: u32, flags: Flags| Segment {
        flags,
        sequence,
        payload,
        ..Segment::default()
    };
    // In order, beyond the window, the same again, overlapping, and a hole.
    type Case = (u32, u32, u64, u32, &'static [(u32, u32)]);
    let cases: [Case; 5] = [
        (1, 960, 960, 961, &[]),
        (1 + 960 + 9700, 960, 0, 961, &[]),
        (1, 960, 0, 961, &[(1, 961)]),
        (481, 960, 480, 1441, &[(481, 961)]),
        (2401, 960, 960, 1441, &[(2401, 3361)]),
    ];
    for (sequence, payload, new, acknowledged, blocks) in cases {
        let arrival =
            receiver.receive(at(0), data(sequence, payload, Flags::ACK), Ecn::NotEct, PathFacts::default());
        let ack = receiver.poll_transmit(at(0)).expect("at once: an acknowledgement per segment").packet;
        assert_eq!((arrival.payload.as_u64(), ack.acknowledgment), (new, acknowledged), "{sequence}");
        assert_eq!(ack.sack.iter().collect::<Vec<_>>(), blocks, "{sequence}");
        assert_eq!(receiver.poll_transmit(at(0)), None);
    }
    assert_eq!(receiver.ignored(), 1);
    // A SYN in the middle, and a reset beside the expected number, are answered and change nothing.
    for flags in [Flags::SYN, Flags::RST] {
        receiver.receive(at(0), data(5000, 0, flags), Ecn::NotEct, PathFacts::default());
        assert_eq!(receiver.poll_transmit(at(0)).expect("an answer").packet.acknowledgment, 1441);
    }
}
