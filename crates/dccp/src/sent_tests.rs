//! A sender's memory of packets, and the ones that an acknowledgement settles.

use super::*;
use proptest::collection;
use proptest::prelude::*;

/// Every tenth packet is without data.
fn kind(n: i64) -> PacketType {
    if n % 10 == 0 { PacketType::Ack } else { PacketType::Data }
}

fn sent(count: i64) -> Sent {
    let mut sent = Sent::default();
    (0..count).for_each(|n| sent.push(n, Time::from_nanos(n as u64), Bytes::new(100), kind(n)));
    sent
}

fn vector(bytes: &[u8]) -> DccpOption {
    DccpOption::AckVector { nonce: false, vector: bytes.to_vec().into() }
}

fn acknowledge(sent: &mut Sent, acknowledgment: i64, options: &[DccpOption]) -> AckSummary {
    let mut told = AckOptions::NONE;
    for option in options {
        match option {
            DccpOption::AckVector { vector, .. } => told.add_vector(vector),
            DccpOption::DataDropped(blocks) => told.add_dropped(blocks),
            _ => {}
        }
    }
    sent.on_acknowledged(acknowledgment, options, &told)
}

fn summary(sent: &Sent) -> Vec<(u64, Option<bool>)> {
    let acked = |result: &PacketResult| match result.status {
        Status::Missing => (result.sequence, None),
        Status::Received { ecn, .. } => (result.sequence, Some(ecn.is_ce())),
    };
    sent.results.iter().map(acked).collect()
}

#[test]
fn section_11_4_the_example_is_read() {
    let mut sent = sent(101);
    let acked = acknowledge(&mut sent, 100, &[vector(&[0, 192, 3, 64]), vector(&[5])]);
    let expected = [
        (88, Some(false)),
        (89, Some(false)),
        (90, Some(false)),
        (91, Some(false)),
        (92, Some(false)),
        (93, Some(false)),
        (94, Some(true)),
        (95, Some(false)),
        (96, Some(false)),
        (97, Some(false)),
        (98, Some(false)),
        (99, None),
        (100, Some(false)),
    ];
    assert_eq!(summary(&sent), expected);
    assert_eq!(acked.newest_sent, Some(Time::from_nanos(100)));
}

#[test]
fn section_11_4_1_states_follow_the_senders_table() {
    let mut sent = sent(4);
    acknowledge(&mut sent, 3, &[vector(&[0, 192, 0])]);
    acknowledge(&mut sent, 3, &[vector(&[192, 0, 64])]);
    assert_eq!(summary(&sent), [(1, Some(true)), (2, Some(false))], "0 and 1: 1; 3 and 0: 0; 0 and 3: stays");
    acknowledge(&mut sent, 3, &[vector(&[192, 192, 0])]);
    assert_eq!(summary(&sent), [], "nothing is taken back, nothing is reported twice");
}

#[test]
fn section_11_4_a_vector_beyond_the_first_packet_is_ignored() {
    let mut sent = sent(4);
    acknowledge(&mut sent, 3, &[vector(&[68])]);
    assert_eq!(summary(&sent), [(3, Some(false))], "the acknowledgement number alone counts");
}

#[test]
fn section_11_7_corrupt_is_as_bad_as_marked_and_each_drop_is_told_once() {
    let mut sent = sent(9);
    let blocks = DccpOption::DataDropped(vec![0, 0x80, 0xa0, 0xb0, 0xf0]);
    let acked = acknowledge(&mut sent, 8, &[vector(&[7]), blocks.clone()]);
    let marked: Vec<u64> =
        summary(&sent).into_iter().filter(|(_, ecn)| *ecn == Some(true)).map(|(n, _)| n).collect();
    assert_eq!(marked, [4, 5]);
    let dropped: Vec<_> = sent.dropped.iter().map(|drop| (drop.sequence, drop.code)).collect();
    let expected = [
        (4, DropCode::DeliveredCorrupt),
        (5, DropCode::Corrupt),
        (6, DropCode::ReceiveBuffer),
        (7, DropCode::ProtocolConstraints),
    ];
    assert_eq!((dropped.as_slice(), acked.not_listening), (expected.as_slice(), false));
    assert_eq!(summary(&sent).len(), 8, "each packet once, in order");
    assert!(summary(&sent).is_sorted());
    acknowledge(&mut sent, 8, &[vector(&[7]), blocks]);
    assert_eq!(sent.dropped, [], "each drop counts once");
}

#[test]
fn section_11_7_without_vectors_no_block_contradicts() {
    let mut sent = sent(9);
    acknowledge(&mut sent, 8, &[DccpOption::DataDropped(vec![0, 0xa0, 0, 0xa0])]);
    let dropped: Vec<u64> = sent.dropped.iter().map(|drop| drop.sequence).collect();
    assert_eq!(dropped, [5, 7], "under CCID 3 only the newest is acknowledged by number");
}

#[test]
fn section_11_7_blocks_that_contradict_the_vector_are_ignored() {
    let mut sent = sent(9);
    acknowledge(&mut sent, 8, &[vector(&[0, 192, 5]), DccpOption::DataDropped(vec![0, 0xa0])]);
    assert_eq!(sent.dropped, [], "7 did not arrive: it was not dropped");
    acknowledge(&mut sent, 8, &[vector(&[0, 0, 5]), DccpOption::DataDropped(vec![0xa0, 127])]);
    assert_eq!(sent.dropped, [], "more than was sent");
}

#[test]
fn memory_is_bounded_whatever_is_sent_and_said() {
    let mut sent = sent(MOST_PACKETS as i64 + 10);
    assert_eq!((sent.len(), sent.first()), (MOST_PACKETS, 10));
    let all: Vec<DccpOption> = (0..4).map(|_| DccpOption::DataDropped(vec![127; 253])).collect();
    acknowledge(&mut sent, MOST_PACKETS as i64 + 5, &all);
    assert!(sent.drops.len() as u64 <= MOST_PACKETS);
    sent.forget_before(20);
    assert_eq!(sent.first(), 20);
    assert_eq!(sent.sent_at(19), None);
}

/// One state for each packet, looked at one by one.
#[derive(Default)]
struct Plain(Vec<State>);

impl Plain {
    fn on_acknowledged(&mut self, acknowledgment: i64, bytes: &[u8]) -> Vec<(u64, Option<bool>)> {
        let covered: i64 = bytes.iter().map(|byte| i64::from(byte & 63) + 1).sum();
        let bytes = if covered == 0 || covered > acknowledgment + 1 { &[0] } else { bytes };
        let states =
            bytes.iter().flat_map(|byte| core::iter::repeat_n(byte >> 6, usize::from(byte & 63) + 1));
        let mut acked = Vec::new();
        for (sequence, said) in (0..=acknowledgment as usize).rev().zip(states) {
            let state = [State::Received, State::Marked, State::Unknown, State::Unknown][usize::from(said)];
            let data = sequence % 10 != 0;
            if state > self.0[sequence] || said == 3 && data && self.0[sequence] == State::Unknown {
                self.0[sequence] = state.max(self.0[sequence]);
                let ce = self.0[sequence] == State::Marked;
                acked.push((sequence as u64, (state != State::Unknown).then_some(ce)));
            }
        }
        acked.reverse();
        acked
    }
}

proptest! {
    #[test]
    fn what_vectors_tell_is_what_they_say_of_each_packet(
        acks in collection::vec((0..40i64, 0..30i64, collection::vec(any::<u8>(), 0..6)), 1..60),
    ) {
        let (mut sent, mut plain) = (Sent::default(), Plain::default());
        for (count, back, bytes) in acks {
            for _ in 0..count {
                let n = plain.0.len() as i64;
                sent.push(n, Time::from_nanos(n as u64), Bytes::new(100), kind(n));
                plain.0.push(State::Unknown);
            }
            let acknowledgment = plain.0.len() as i64 - 1 - back;
            if acknowledgment >= 0 {
                // Mostly short runs, so that they fit.
                let bytes: Vec<u8> = bytes.iter().map(|byte| byte & 0xc7).collect();
                acknowledge(&mut sent, acknowledgment, &[vector(&bytes)]);
                prop_assert_eq!(summary(&sent), plain.on_acknowledged(acknowledgment, &bytes));
            }
        }
    }
}
