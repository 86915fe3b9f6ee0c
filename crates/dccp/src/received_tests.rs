//! A receiver's memory of packets, as Ack Vectors say it.

use super::*;
use proptest::prelude::*;

fn vectors(received: &Received) -> Vec<u8> {
    let mut options = Options::new();
    received.ack_vectors(1000, &mut options);
    options.iter().flat_map(DccpOption::data).collect()
}

fn dropped(received: &Received) -> Vec<u8> {
    let mut options = Options::new();
    received.data_dropped(1000, &mut options);
    options.iter().flat_map(DccpOption::data).collect()
}

/// Packets 88 to 100 as in section 11.4: 99 is lost, 94 is marked.
fn example() -> Received {
    let mut received = Received::new();
    (0..=100).filter(|n| *n != 99).for_each(|n| received.mark(n, n == 94));
    received.tail = 88;
    received
}

#[test]
fn section_11_4_the_example_vector() {
    assert_eq!(vectors(&example()), [0, 192, 3, 64, 5]);
}

#[test]
fn section_11_4_1_states_follow_the_receivers_table() {
    let mut received = example();
    received.mark(99, true);
    assert_eq!(vectors(&received), [0, 64, 3, 64, 5], "3 and 1: 1");
    received.mark(99, false);
    assert_eq!(vectors(&received), [0, 64, 3, 64, 5], "1 and 0: stays");
    received.mark(100, true);
    assert_eq!(vectors(&received), [65, 3, 64, 5], "0 and 1: 1");
}

#[test]
fn section_11_4_runs_of_more_than_64_take_more_bytes_and_more_options() {
    let mut received = Received::new();
    (0..130).for_each(|n| received.mark(n, false));
    assert_eq!(vectors(&received), [63, 63, 1]);
    // Every other packet lost: a byte for each.
    (130..1130).filter(|n| n % 2 == 0).for_each(|n| received.mark(n, false));
    let mut options = Options::new();
    received.ack_vectors(510, &mut options);
    assert_eq!(options.iter().map(DccpOption::encoded_len).collect::<Vec<_>>(), [255, 255]);
}

#[test]
fn appendix_a_3_what_was_acknowledged_is_told_no_more() {
    let mut received = Received::new();
    (0..=10).filter(|n| !(7..=9).contains(n)).for_each(|n| received.mark(n, n == 1));
    received.records.push_back((59, 3));
    received.records.push_back((60, 10));
    received.on_acknowledged(58);
    assert_eq!(vectors(&received), [0, 194, 4, 64, 0], "no such acknowledgement");
    received.on_acknowledged(59);
    assert_eq!(vectors(&received), [0, 194, 2], "packets 0 to 3 are known");
    assert!(received.is_confirmed(3) && !received.is_confirmed(4));
    assert_eq!(received.look(2), Arrived::Duplicate, "and still known as received");
}

#[test]
fn appendix_a_3_a_late_packet_is_told_before_its_place_is_given_up() {
    let mut received = Received::new();
    (0..=10).filter(|n| *n != 9).for_each(|n| received.mark(n, false));
    received.told_in(60);
    assert_eq!(received.look(9), Arrived::Late);
    received.mark(9, false);
    received.on_acknowledged(60);
    assert_eq!(vectors(&received), [1], "9 and 10 are told again");
    assert!(received.is_confirmed(8) && !received.is_confirmed(9));
}

#[test]
fn section_11_7_the_example_blocks() {
    let mut received = example();
    // The text's blocks overlap by one; 98 to 95 are four packets, 94 to 92 three.
    [94, 93, 92].iter().for_each(|n| received.set_dropped(*n, DropCode::ReceiveBuffer));
    received.mark(99, false);
    received.set_dropped(99, DropCode::ReceiveBuffer);
    assert_eq!(dropped(&received), [0, 160, 3, 162]);
    received.set_dropped(99, DropCode::ProtocolConstraints);
    received.set_dropped(98, DropCode::DeliveredCorrupt);
    assert_eq!(dropped(&received), [0, 160, 0xf0, 2, 162], "a code stays");
}

#[test]
fn section_11_7_what_was_dropped_is_told_until_that_is_acknowledged() {
    let mut received = Received::new();
    for n in 0..100 {
        received.mark(n, false);
        if n == 10 {
            received.set_dropped(n, DropCode::ReceiveBuffer);
        }
        received.keep(26);
    }
    assert_eq!(dropped(&received), [88, 160], "99 to 11 and 10");
    received.told_in(5);
    received.on_acknowledged(5);
    assert_eq!((dropped(&received), received.window()), (vec![], 1));
    received.mark(100, false);
    received.keep(26);
    assert_eq!(received.window(), 2);
}

#[test]
fn section_11_7_without_drops_there_is_no_option() {
    assert_eq!(dropped(&example()), []);
    let mut received = example();
    received.set_dropped(99, DropCode::ReceiveBuffer);
    assert_eq!(dropped(&received), [], "what did not arrive was not dropped");
}

#[test]
fn memory_is_bounded_whatever_arrives() {
    let mut received = Received::new();
    for n in 0..200_000 {
        received.mark(n * 3, false);
        received.told_in(n);
    }
    assert!(received.runs.len() as i64 <= 2 * MOST_PACKETS && received.known() == MOST_PACKETS);
    received.mark(1 << 50, false);
    received.mark((1 << 50) + MOST_PACKETS + 5, false);
    assert_eq!((received.window(), received.records.len()), (1, MOST_RECORDS));
}

proptest! {
    /// Against a byte for each packet.
    #[test]
    fn runs_are_what_each_packet_is(
        events in prop::collection::vec((0i64..60, any::<bool>(), 0u8..8, 0i64..4), 0..300),
    ) {
        const CODES: [DropCode; 2] = [DropCode::ReceiveBuffer, DropCode::Corrupt];
        let mut received = Received::new();
        let mut model: Vec<u8> = Vec::new();
        for (back, marked, what, missing) in events {
            let newest = model.len() as i64 - 1;
            let sequence = if back < 30 { newest + 1 + missing } else { (newest - back + 30).max(0) };
            let place = sequence as usize;
            if what >= 6 {
                let code = CODES[usize::from(what - 6)];
                received.set_dropped(sequence, code);
                if let Some(state) = model.get_mut(place)
                    && *state & 3 != NOT_RECEIVED
                    && *state >> 2 == 0
                {
                    *state |= (code as u8 + 1) << 2;
                }
                continue;
            }
            received.mark(sequence, marked);
            model.resize(model.len().max(place + 1), NOT_RECEIVED);
            let state = &mut model[place];
            *state = if *state == NOT_RECEIVED { u8::from(marked) } else { *state | u8::from(marked) };
        }
        let told = |received: &Received| -> Vec<u8> {
            received.told().flat_map(|run| (0..run.length).map(move |_| run.state)).collect()
        };
        let newest_first: Vec<u8> = model.iter().rev().copied().collect();
        prop_assert_eq!(told(&received), newest_first);
        let runs: Vec<Run> = received.runs.iter().copied().collect();
        prop_assert!(runs.windows(2).all(|pair| pair[0].state != pair[1].state));
        prop_assert!(runs.iter().all(|run| run.length > 0));
        let read: Vec<u8> = vectors(&received).iter().flat_map(|byte| vec![byte >> 6; usize::from(byte & 63) + 1]).collect();
        prop_assert_eq!(read, model.iter().rev().map(|state| state & 3).collect::<Vec<_>>());
    }
}
