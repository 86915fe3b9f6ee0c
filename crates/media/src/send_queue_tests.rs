//! Frames into packets, discards, and what is told of a send queue.

use super::*;
use proptest::prelude::*;

const HEADER: Bytes = Bytes::new(12);

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn frame(id: u64, payload: u64) -> Frame {
    Frame { id, captured: at(id), payload: Bytes::new(payload), key: id == 0 }
}

#[test]
fn a_frame_becomes_full_packets_and_the_rest() {
    let mut queue = SendQueue::new(Bytes::new(1200), HEADER);
    queue.push(at(5), &frame(0, 2500));
    assert_eq!((queue.packets(), queue.bytes()), (3, Bytes::new(2536)));
    let mut packets = Vec::new();
    while let Some(size) = queue.next_size() {
        let packet = queue.pop(at(6)).expect("a size says there is one");
        assert_eq!(packet.payload + HEADER, size);
        packets.push((packet.payload.as_u64(), packet.first, packet.marker));
        assert_eq!((packet.queued, packet.captured, packet.key), (at(5), at(0), true));
    }
    assert_eq!(packets, [(1200, true, false), (1200, false, false), (100, false, true)]);
    assert_eq!(queue.pop(at(7)), None);
    assert!(queue.is_empty());
}

#[test]
fn a_multiple_of_the_payload_has_no_empty_packet() {
    let mut queue = SendQueue::new(Bytes::new(1200), HEADER);
    queue.push(at(0), &frame(0, 2400));
    queue.push(at(0), &frame(1, 0));
    assert_eq!(queue.packets(), 2);
    queue.pop(at(0));
    assert!(queue.pop(at(0)).expect("second").marker && queue.is_empty());
}

#[test]
fn age_and_newest_frame_follow_what_is_left() {
    let mut queue = SendQueue::new(Bytes::new(1000), HEADER);
    assert_eq!(
        (queue.oldest(), queue.age(at(9)), queue.newest_frame()),
        (None, TimeDelta::ZERO, Bytes::ZERO)
    );
    queue.push(at(10), &frame(0, 3000));
    queue.pop(at(12));
    assert_eq!(queue.newest_frame(), Bytes::new(2 * 1012));
    queue.push(at(30), &frame(1, 500));
    assert_eq!(queue.newest_frame(), Bytes::new(512));
    assert_eq!((queue.oldest(), queue.age(at(35))), (Some(at(10)), TimeDelta::from_millis(25)));
}

#[test]
fn what_is_older_goes_and_what_is_as_old_stays() {
    let mut queue = SendQueue::new(Bytes::new(1000), HEADER);
    for id in 0..3 {
        queue.push(at(id * 20), &frame(id, 2000));
    }
    queue.pop(at(40));
    let discarded = queue.discard_older_than(at(60), TimeDelta::from_millis(40));
    assert_eq!(discarded, Discarded { frames: 0, packets: 1, bytes: Bytes::new(1012) });
    let next = queue.pop(at(60)).expect("frame 1");
    assert_eq!((next.frame, next.first), (1, true));
    let discarded = queue.discard_all();
    assert_eq!(discarded, Discarded { frames: 1, packets: 3, bytes: Bytes::new(3036) });
    assert_eq!(queue.discard_all(), Discarded::default());
    assert_eq!((queue.next_size(), queue.bytes(), queue.packets()), (None, Bytes::ZERO, 0));
}

#[test]
fn ready_made_packets_keep_their_sizes_and_a_frame_counts_where_it_begins() {
    let mut queue = SendQueue::new(Bytes::new(1000), Bytes::new(12));
    for (size, ends) in [(900, false), (30, false), (500, true), (40, true)] {
        let id = u64::from(size == 40);
        assert!(queue.push_packet(Time::ZERO, &frame(id, size), ends));
    }
    assert!(!queue.push_packet(Time::ZERO, &frame(2, 1001), true), "larger than a packet may be");
    assert_eq!((queue.packets(), queue.bytes(), queue.newest_frame()), (4, Bytes::new(1518), Bytes::new(52)));
    let popped: Vec<_> = std::iter::from_fn(|| queue.pop(Time::ZERO))
        .map(|packet| (packet.frame, packet.payload.as_u64(), packet.first, packet.marker))
        .take(2)
        .collect();
    assert_eq!(popped, [(0, 900, true, false), (0, 30, false, false)]);
    assert_eq!(queue.discard_all(), Discarded { frames: 1, packets: 2, bytes: Bytes::new(564) });
}

#[derive(Clone, Debug)]
enum Operation {
    Push(u64),
    /// A ready-made packet, and whether it ends its frame.
    Packet(u64, bool),
    Pop,
    DiscardOlder(i64),
    DiscardAll,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => prop_oneof![0u64..10_000, Just(u64::MAX)].prop_map(Operation::Push),
        4 => (0u64..2100, any::<bool>()).prop_map(|(size, ends)| Operation::Packet(size, ends)),
        8 => Just(Operation::Pop),
        1 => prop_oneof![-5i64..100, Just(i64::MIN)].prop_map(Operation::DiscardOlder),
        1 => Just(Operation::DiscardAll),
    ]
}

proptest! {
    /// Against a queue that holds every packet; huge frames are kept out of that model.
    #[test]
    fn every_packet_leaves_once_or_is_discarded(
        max_payload in 1u64..2000,
        header in 0u64..60,
        operations in prop::collection::vec(operation(), 0..200),
    ) {
        let mut queue = SendQueue::new(Bytes::new(max_payload), Bytes::new(header));
        let mut model: VecDeque<(u64, Time, u64, bool)> = VecDeque::new();
        let mut open = None;
        for (step, operation) in operations.into_iter().enumerate() {
            let now = at(step as u64);
            let (packets, bytes) = (queue.packets(), queue.bytes());
            match operation {
                Operation::Push(u64::MAX) => {}
                Operation::Packet(size, ends) => {
                    let id = open.unwrap_or(step as u64);
                    let taken = queue.push_packet(now, &frame(id, size), ends);
                    prop_assert_eq!(taken, 0 < size && size <= max_payload);
                    if taken {
                        model.push_back((id, now, size, ends));
                        open = (!ends).then_some(id);
                    }
                }
                Operation::Push(payload) => {
                    if payload > 0 {
                        open = None;
                    }
                    queue.push(now, &frame(step as u64, payload));
                    let mut left = payload;
                    while left > 0 {
                        let cut = left.min(max_payload);
                        left -= cut;
                        model.push_back((step as u64, now, cut, left == 0));
                    }
                }
                Operation::Pop => {
                    let popped = queue.pop(now).map(|p| (p.frame, p.queued, p.payload.as_u64(), p.marker));
                    prop_assert_eq!(popped, model.pop_front());
                }
                Operation::DiscardOlder(millis) => {
                    let age = TimeDelta::from_millis(millis);
                    let discarded = queue.discard_older_than(now, age);
                    model.retain(|packet| now - packet.1 <= age);
                    prop_assert_eq!(queue.packets() + discarded.packets, packets);
                    prop_assert_eq!(queue.bytes() + discarded.bytes, bytes);
                }
                Operation::DiscardAll => {
                    let discarded = queue.discard_all();
                    prop_assert_eq!((discarded.packets, discarded.bytes), (packets, bytes));
                    model.clear();
                }
            }
            let sizes: u64 = model.iter().map(|packet| packet.2 + header).sum();
            let newest = model.back().map(|packet| packet.0);
            let newest_frame: u64 =
                model.iter().filter(|packet| Some(packet.0) == newest).map(|packet| packet.2 + header).sum();
            prop_assert_eq!(queue.packets(), model.len() as u64);
            prop_assert_eq!(queue.bytes(), Bytes::new(sizes));
            prop_assert_eq!(queue.newest_frame(), Bytes::new(newest_frame));
            prop_assert_eq!(queue.oldest(), model.front().map(|packet| packet.1));
            prop_assert_eq!(queue.next_size(), model.front().map(|packet| Bytes::new(packet.2 + header)));
        }
    }

    #[test]
    fn nothing_panics(
        max_payload in any::<u64>(),
        header in any::<u64>(),
        operations in prop::collection::vec((operation(), any::<u64>()), 0..100),
    ) {
        let mut queue = SendQueue::new(Bytes::new(max_payload), Bytes::new(header));
        for (operation, now) in operations {
            let now = Time::from_nanos(now);
            match operation {
                Operation::Push(payload) => queue.push(now, &frame(0, payload)),
                Operation::Packet(size, ends) => drop(queue.push_packet(now, &frame(0, size), ends)),
                Operation::Pop => drop(queue.pop(now)),
                Operation::DiscardOlder(age) => drop(queue.discard_older_than(now, TimeDelta::from_nanos(age))),
                Operation::DiscardAll => drop(queue.discard_all()),
            }
            let _ = (queue.age(now), queue.newest_frame(), queue.next_size(), queue.bytes());
        }
    }
}
