//! Conversations against peers who say anything.

use super::net::{at, ms};
use paceline_cc::FlowSetup;
use paceline_cc::reno::{Params, Reno};
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd};
use paceline_media::ConnectionVectors;
use paceline_media::vectors::Side;
use paceline_tcp::conversations::{
    ConversationsConfig, ConversationsReceiver, ConversationsSender, RttUse, Schedule,
};
use paceline_tcp::{Flags, SackBlocks, Segment, TcpConfig};
use paceline_units::{Bytes, Ecn, Time};
use proptest::prelude::*;

/// Two connections at once, the second concurrent; then one every 200 ms.
const VECTORS: &str = "\
S 0 2 0 1\nw 20000 20000\nr 30000\nI 0 0 400\nA 0 2000 9000\nI 5000 0 1\nA 0 0 30000\n\
C 0 1 2 0 1\nw 9000 9000\nr 1000\nI 0 0 5000\nA 0 0 300\nA 9000 0 5000\n\
S 200000 1 0 1\nw 1 1\nr 30000\nA 0 0 4000\n\
S 400000 1 0 1\nw 1 1\nr 30000\nI 0 0 4000\n";

type Ends = (ConversationsSender<Reno>, ConversationsReceiver<Reno>);

fn ends(handshake: bool) -> Ends {
    let tcp = TcpConfig { handshake, ..TcpConfig::default() };
    let controller = Reno::new(&Params::default(), &FlowSetup::new(tcp.packet_size));
    let config = ConversationsConfig {
        vectors: ConnectionVectors::parse(VECTORS.as_bytes()).expect("right"),
        sending: Side::Acceptor,
        rtt: RttUse::Whole,
        path_rtt: ms(10),
        loss: None,
        schedule: Schedule { start: Time::ZERO, pauses: vec![(at(450), at(500))], stop: at(2_000) },
    };
    (
        ConversationsSender::new(controller.clone(), &tcp, config.clone()),
        ConversationsReceiver::new(controller, &tcp, config),
    )
}

/// A segment that a peer may send: often a connection and numbers that exist.
fn segment() -> impl Strategy<Value = Segment> {
    let number = || prop_oneof![0u32..40_000, any::<u32>(), Just(0u32), Just(1)];
    let connection = prop_oneof![4 => 0u16..9, 1 => any::<u16>()];
    let flags = prop_oneof![3 => Just(Flags::ACK), 1 => Just(Flags::SYN), 2 => any::<u16>().prop_map(Flags)];
    let payload = prop_oneof![Just(0u32), 0u32..3000, any::<u32>()];
    (connection, flags, number(), number(), number(), payload, number(), number()).prop_map(
        |(connection, flags, sequence, acknowledgment, window, payload, begin, end)| {
            let mut sack = SackBlocks::none();
            sack.push(begin, end);
            Segment {
                connection,
                flags,
                sequence,
                acknowledgment,
                window,
                payload,
                sack,
                ..Segment::default()
            }
        },
    )
}

/// Carries everything over at once, every 5 ms up to `until`, but what is `lost`; answers what arrived of the sender's payload.
fn run((sender, receiver): &mut Ends, from: Time, until: Time, mut lost: impl FnMut() -> bool) -> u64 {
    let (mut now, mut payload, mut steps) = (from, 0, 0);
    while now < until {
        steps += 1;
        assert!(steps < 1_000_000, "stuck at {now:?}");
        if let Some(out) = sender.poll_transmit(now) {
            if !lost() {
                payload += receiver.receive(now, out.packet, out.ecn, PathFacts::default()).payload.as_u64();
            }
        } else if let Some(out) = receiver.poll_transmit(now) {
            if !lost() {
                let _ = sender.receive(now, out.packet, out.ecn);
            }
        } else if sender.next_timeout().is_some_and(|(at, _)| at <= now) {
            sender.handle_timeout(now);
        } else if receiver.next_timeout().is_some_and(|(at, _)| at <= now) {
            receiver.handle_timeout(now);
        } else {
            now += ms(5);
        }
    }
    payload
}

/// Bytes that the acceptors of [`VECTORS`] send.
const PAYLOAD: u64 = 9000 + 30_000 + 300 + 5000 + 4000;

#[test]
fn everything_is_said_and_forgotten() {
    for handshake in [true, false] {
        let mut ends = ends(handshake);
        assert_eq!(run(&mut ends, Time::ZERO, at(1_900), || false), PAYLOAD);
        let completed = std::iter::from_fn(|| ends.0.poll_completed());
        assert_eq!(completed.map(|unit| unit.size).sum::<Bytes>(), Bytes::new(PAYLOAD));
        assert_eq!((ends.0.live_connections(), ends.1.live_connections()), (0, 0));
    }
}

#[test]
fn an_end_that_is_done_still_acknowledges_what_comes_again() {
    let mut ends = ends(true);
    run(&mut ends, Time::ZERO, at(1_900), || false);
    let data = Segment { connection: 1, sequence: 1, payload: 1000, flags: Flags::ACK, ..Segment::default() };
    let _ = ends.1.receive(at(1_900), data, Ecn::NotEct, PathFacts::default());
    let (due, _) = ends.1.next_timeout().expect("an answer");
    assert_eq!(due, at(1_910), "half of what the round trip of 30 ms has beyond the path's");
    let answer = ends.1.poll_transmit(due).expect("an answer").packet;
    assert_eq!((answer.connection, answer.acknowledgment, answer.flags), (1, 1001, Flags::ACK));
    assert_eq!(ends.1.ignored(), 1);
    // Nothing is answered of what never was.
    let other = Segment { connection: 9, ..data };
    let _ = ends.1.receive(at(1_900), other, Ecn::NotEct, PathFacts::default());
    assert_eq!((ends.1.ignored(), ends.1.poll_transmit(at(1_999))), (2, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn ends_take_anything(handshake: bool, said in prop::collection::vec((segment(), any::<bool>()), 1..60)) {
        let mut ends = ends(handshake);
        for (number, (segment, to_sender)) in said.into_iter().enumerate() {
            let now = at(number as i64 * 50);
            run(&mut ends, now, now + ms(50), || false);
            if to_sender {
                let _ = ends.0.receive(now + ms(45), segment, Ecn::NotEct);
            } else {
                let _ = ends.1.receive(now + ms(45), segment, Ecn::NotEct, PathFacts::default());
            }
        }
    }

    #[test]
    fn everything_is_said_whatever_is_lost(lost in prop::collection::vec(0u8..10, 200)) {
        let mut ends = ends(true);
        let mut lost = lost.into_iter();
        let payload = run(&mut ends, Time::ZERO, at(1_990), || lost.next() == Some(0));
        // Connections that begin before the stop end behind it only with what was sent.
        prop_assert!(payload <= PAYLOAD);
        run(&mut ends, at(1_990), at(200_000), || false);
        prop_assert_eq!((ends.0.live_connections(), ends.1.live_connections()), (0, 0));
    }
}
