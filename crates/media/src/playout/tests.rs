//! Playout as a whole: frames that are cut, delayed, lost, reordered and doubled.

use super::*;
use proptest::prelude::*;

const INTERVAL: u64 = 20;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn millis(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

/// Packet `part` of `parts` of frame `frame`, which starts at `sequence`. Frames are captured every 20 ms.
fn packet(sequence: u64, frame: u64, part: u64, parts: u64) -> ArrivedPacket {
    ArrivedPacket {
        sequence: sequence + part,
        captured: at(frame * INTERVAL),
        payload: Bytes::new(1000 + part),
        first: Some(part == 0),
        marker: part + 1 == parts,
        key: Some(frame == 0),
        sent: Some(at(frame * INTERVAL + 3)),
        wait: Some(millis(4)),
    }
}

/// `frames` frames of three packets each.
fn packets(frames: u64) -> Vec<ArrivedPacket> {
    (0..frames).flat_map(|frame| (0..3).map(move |part| packet(frame * 3, frame, part, 3))).collect()
}

fn without_first(mut packets: Vec<ArrivedPacket>) -> Vec<ArrivedPacket> {
    for packet in &mut packets {
        packet.first = None;
    }
    packets
}

/// Numbers of the frames shown when the packets arrive 10 ms after their capture, in this order.
fn shown(playout: &mut Playout, packets: &[ArrivedPacket]) -> Vec<u64> {
    for packet in packets {
        playout.on_packet(packet.captured + millis(10), packet);
    }
    let frames = core::iter::from_fn(|| playout.poll());
    frames.map(|frame| frame.captured.as_nanos() / 1_000_000 / INTERVAL).collect()
}

fn run_until(playout: &mut Playout, end: Time) {
    while let Some(timeout) = playout.next_timeout().filter(|&timeout| timeout <= end) {
        playout.handle_timeout(timeout);
        assert!(playout.next_timeout() > Some(timeout) || playout.next_timeout().is_none());
    }
}

#[test]
fn a_frame_is_shown_with_its_last_packet_and_its_delay_is_explained() {
    let mut playout = Playout::new(PlayoutConfig::default());
    for part in 0..3 {
        assert_eq!(playout.poll(), None);
        playout.on_packet(at(10 + part), &packet(0, 0, part, 3));
    }
    let parts = FrameDelayParts {
        send_queue: Some(millis(3)),
        link_queue: Some(millis(4)),
        path: millis(5),
        dejitter: TimeDelta::ZERO,
    };
    let bytes = Bytes::new(3003);
    let expected = DisplayedFrame {
        captured: at(0),
        displayed: at(12),
        bytes,
        key: Some(true),
        packets: 3,
        in_time: 3,
        late: false,
        parts,
    };
    assert_eq!((playout.poll(), playout.poll()), (Some(expected), None));
    assert_eq!(parts.total(), millis(12));
    assert_eq!((playout.next_timeout(), playout.counters().displayed), (None, 1));
}

#[test]
fn what_is_unknown_is_part_of_the_path() {
    let mut playout = Playout::new(PlayoutConfig::fixed(millis(30)));
    playout.on_packet(at(10), &ArrivedPacket { sent: None, wait: None, ..packet(0, 0, 0, 1) });
    assert_eq!(playout.next_timeout(), Some(at(30)));
    playout.handle_timeout(at(29));
    assert_eq!(playout.poll(), None);
    playout.handle_timeout(at(30));
    let parts = playout.poll().expect("due").parts;
    let expected =
        FrameDelayParts { send_queue: None, link_queue: None, path: millis(10), dejitter: millis(20) };
    assert_eq!(parts, expected);
}

#[test]
fn a_lost_packet_costs_its_frame_and_no_other() {
    for lost in 3..6 {
        for packets in [packets(4), without_first(packets(4))] {
            let mut packets = packets;
            packets.remove(lost);
            let mut playout = Playout::new(PlayoutConfig::IMMEDIATE);
            assert_eq!(shown(&mut playout, &packets), [0, 2, 3], "lost {lost}");
            assert_eq!(playout.counters().incomplete, 1);
        }
    }
}

#[test]
fn frames_given_up_say_what_arrived_of_them_in_the_order_of_capture() {
    let mut packets = packets(6);
    // The middle packet of frame 1, two of frame 3, all of frame 4, and the last one of frame 5.
    for lost in [17, 14, 13, 12, 11, 9, 4] {
        packets.remove(lost);
    }
    let mut playout = Playout::new(PlayoutConfig::fixed(millis(15)));
    for packet in &packets {
        // The middle packet of frame 3 is too late.
        let late = if packet.captured == at(60) { 10 } else { 0 };
        playout.on_packet(packet.captured + millis(10 + late), packet);
        run_until(&mut playout, packet.captured + millis(16));
    }
    let given_up = |captured, in_time, late, gaps, behind, bytes| IncompleteFrame {
        captured: at(captured),
        key: Some(false),
        bytes: Bytes::new(bytes),
        in_time,
        late,
        gaps,
        behind,
    };
    let mut seen = Vec::new();
    loop {
        while let Some(frame) = playout.poll_given_up() {
            seen.push((frame.captured, Some(frame)));
        }
        let Some(frame) = playout.poll() else { break };
        seen.push((frame.captured, None));
    }
    let one = given_up(20, 2, 0, 1, None, 2002);
    assert_eq!(seen, [(at(0), None), (at(20), Some(one)), (at(40), None)]);
    // Behind frame 3 its own last packet is missing, and frame 4.
    let waiting: Vec<_> = playout.waiting().collect();
    assert_eq!(waiting, [given_up(60, 0, 1, 1, Some(4), 1001), given_up(100, 2, 0, 0, Some(0), 2001)]);
    assert_eq!(playout.counters().incomplete, 1);
}

/// Two packets are missing between frames: without `first` nobody knows whose they were.
#[test]
fn without_the_first_packet_known_an_unclear_start_costs_both_frames() {
    for (known, expected) in [(true, vec![0, 2, 3]), (false, vec![0, 3])] {
        let mut packets = if known { packets(4) } else { without_first(packets(4)) };
        packets.drain(4..6);
        let mut playout = Playout::new(PlayoutConfig::IMMEDIATE);
        assert_eq!(shown(&mut playout, &packets), expected);
    }
}

/// The sender threw away the rest of frame 1: its marker never comes, and no sequence number is missing.
#[test]
fn a_frame_cut_short_by_the_sender_is_given_up() {
    for first in [true, false] {
        let cut = [packet(0, 0, 0, 1), packet(1, 1, 0, 3), packet(1, 1, 1, 3), packet(3, 2, 0, 1)];
        let packets = if first { cut.to_vec() } else { without_first(cut.to_vec()) };
        let mut playout = Playout::new(PlayoutConfig::IMMEDIATE);
        assert_eq!(shown(&mut playout, &packets), [0, 2]);
        assert_eq!(playout.counters().incomplete, 1);
    }
}

#[test]
fn reordered_and_doubled_packets_change_nothing() {
    for packets in [packets(3), without_first(packets(3))] {
        // Frame 0 is known to be the first when packet 0 arrives.
        let order = [0, 0, 2, 1, 1, 5, 3, 4, 4, 7, 8, 6, 8];
        let packets: Vec<_> = order.iter().map(|&index| packets[index]).collect();
        let mut playout = Playout::new(PlayoutConfig::IMMEDIATE);
        assert_eq!(shown(&mut playout, &packets), [0, 1, 2]);
        assert_eq!((playout.counters().ignored_packets, playout.counters().incomplete), (4, 0));
    }
}

/// Frame 1 is all there before frame 0, which alone tells where frame 1 starts.
#[test]
fn the_start_of_a_frame_may_be_known_only_after_its_end() {
    for order in [[0, 1, 5, 3, 4, 2], [0, 3, 4, 5, 1, 2], [0, 3, 4, 5, 2, 1]] {
        let packets: Vec<_> = order.iter().map(|&index| without_first(packets(2))[index]).collect();
        let mut playout = Playout::new(PlayoutConfig::fixed(millis(100)));
        assert_eq!(shown(&mut playout, &packets), [0; 0]);
        run_until(&mut playout, at(200));
        assert_eq!(playout.counters().displayed, 2, "{order:?}");
    }
}

#[test]
fn an_overtaken_frame_is_lost_at_once_and_kept_with_a_delay() {
    let order = [0, 1, 3, 4, 5, 2];
    let packets: Vec<_> = order.iter().map(|&index| packets(2)[index]).collect();
    let mut playout = Playout::new(PlayoutConfig::IMMEDIATE);
    assert_eq!(shown(&mut playout, &packets), [1]);
    assert_eq!((playout.counters().incomplete, playout.counters().late_packets), (1, 1));
    let mut playout = Playout::new(PlayoutConfig::fixed(millis(60)));
    assert_eq!(shown(&mut playout, &packets), [0; 0]);
    run_until(&mut playout, at(79));
    assert_eq!(playout.counters().displayed, 1);
    run_until(&mut playout, at(80));
    assert_eq!((playout.counters().displayed, playout.counters().late), (2, 0));
}

#[test]
fn a_late_frame_is_shown_unless_a_later_one_was() {
    let [a, b, c] = [0, 1, 2].map(|frame| packet(frame, frame, 0, 1));
    let mut playout = Playout::new(PlayoutConfig::fixed(millis(30)));
    playout.on_packet(at(35), &a);
    let frame = playout.poll().expect("late, but in order");
    assert_eq!((frame.displayed, frame.late), (at(35), true));
    playout.on_packet(at(60), &c);
    run_until(&mut playout, at(70));
    playout.on_packet(at(75), &b);
    let counters = playout.counters();
    assert_eq!((counters.displayed, counters.late, counters.late_packets), (2, 1, 1));
}

#[test]
fn a_driver_that_wakes_late_makes_no_frame_late() {
    let mut playout = Playout::new(PlayoutConfig::fixed(millis(30)));
    playout.on_packet(at(10), &packet(0, 0, 0, 1));
    playout.handle_timeout(at(33));
    let frame = playout.poll().expect("due");
    assert_eq!((frame.displayed, frame.late, frame.parts.total()), (at(33), false, millis(33)));
}

#[test]
fn an_adaptive_playout_settles_on_the_delay_and_evens_out_jitter() {
    let mut playout = Playout::new(PlayoutConfig::Adaptive(AdaptiveParams::default()));
    for frame in 0..500 {
        let arrival = at(frame * INTERVAL + if frame % 2 == 0 { 30 } else { 40 });
        run_until(&mut playout, arrival);
        playout.on_packet(arrival, &packet(frame, frame, 0, 1));
    }
    run_until(&mut playout, at(20_000));
    let frames: Vec<_> = core::iter::from_fn(|| playout.poll()).skip(400).collect();
    // Mean delay 35 ms and four times the mean deviation of 5 ms.
    for frame in &frames {
        let delay = (frame.displayed - frame.captured).as_millis_f64();
        assert!((53.0..57.0).contains(&delay) && !frame.late, "{frame:?}");
    }
    assert_eq!(frames.len(), 100);
}

#[test]
fn an_interruption_of_the_display_is_a_freeze() {
    let mut playout = Playout::new(PlayoutConfig::IMMEDIATE);
    let lost = 50..60;
    let packets: Vec<_> = (0..100).filter(|n| !lost.contains(n)).map(|n| packet(n, n, 0, 1)).collect();
    assert_eq!(shown(&mut playout, &packets).len(), 90);
    let counters = playout.counters();
    assert_eq!((counters.freezes, counters.freeze_time), (1, millis(11 * INTERVAL as i64)));
}

#[test]
fn a_restart_of_the_sender_is_followed() {
    let mut playout = Playout::new(PlayoutConfig::IMMEDIATE);
    let before: Vec<_> = (0..10).map(|n| packet(1 << 40, 1 << 20, n, 20)).collect();
    assert_eq!(shown(&mut playout, &before), [0; 0]);
    let after: Vec<_> = (0..10).map(|n| packet(n, n, 0, 1)).collect();
    // The first packet is not believed yet.
    assert_eq!(shown(&mut playout, &after), (1..10).collect::<Vec<_>>());
    assert_eq!(playout.counters().incomplete, 1);
}

#[test]
fn numbers_that_go_on_elsewhere_cost_the_frame_they_cut() {
    let mut playout = Playout::new(PlayoutConfig::IMMEDIATE);
    let before = without_first((0..2).map(|n| packet(1000 + n, 50 + n, 0, 1)).collect());
    assert_eq!(shown(&mut playout, &before), [50, 51]);
    playout.resynchronise(at(2000), 7);
    // The rest of a frame, and two whole ones that are older than what was shown.
    let after = vec![packet(6, 1, 1, 2), packet(8, 2, 0, 1), packet(9, 3, 0, 1)];
    assert_eq!(shown(&mut playout, &without_first(after)), [2, 3]);
    assert_eq!(playout.counters().incomplete, 1);
}

#[test]
fn memory_is_bounded() {
    let mut playout = Playout::new(PlayoutConfig::fixed(TimeDelta::MAX));
    for n in 0..10_000 {
        playout.on_packet(at(n), &packet(n, n, 0, 1 + n % 2));
    }
    assert_eq!(playout.pending.len(), Playout::MAX_PENDING);
    assert_eq!(playout.shown.len(), Playout::MAX_SHOWN);
    let counters = *playout.counters();
    assert_eq!(counters.displayed + counters.incomplete, 10_000 - Playout::MAX_PENDING as u64);
}

/// The network's treatment of a packet: lost, or arrives this much later, perhaps twice.
fn fate() -> impl Strategy<Value = (bool, u64, bool)> {
    (prop::bool::weighted(0.9), 0u64..60, prop::bool::weighted(0.05))
}

fn config() -> impl Strategy<Value = PlayoutConfig> {
    prop_oneof![
        Just(PlayoutConfig::IMMEDIATE),
        (0i64..100).prop_map(|delay| PlayoutConfig::fixed(millis(delay))),
        Just(PlayoutConfig::Adaptive(AdaptiveParams::default())),
    ]
}

#[test]
fn padding_between_frames_is_no_gap_and_no_frame() {
    for late in [false, true] {
        let mut playout = Playout::new(PlayoutConfig::default());
        let bare = |sequence, frame| ArrivedPacket { first: None, ..packet(sequence, frame, 0, 1) };
        playout.on_packet(at(0), &bare(0, 0));
        assert!(playout.poll().is_some());
        if late {
            playout.on_packet(at(1), &bare(3, 1));
            assert!(playout.poll().is_none(), "what is missing before it may belong to it");
        }
        playout.on_padding(at(2), 1);
        playout.on_padding(at(2), 2);
        if !late {
            playout.on_packet(at(2), &bare(3, 1));
        }
        assert_eq!(playout.poll().map(|frame| frame.displayed), Some(at(2)));
        playout.on_padding(at(3), 2);
        let counters = playout.counters();
        assert_eq!((counters.displayed, counters.incomplete, counters.ignored_packets), (2, 0, 1));
    }
}

proptest! {
    #[test]
    fn only_whole_frames_are_shown_once_in_order_and_explained(
        frames in prop::collection::vec(prop::collection::vec(fate(), 1..6), 1..30),
        config in config(),
        first_known in any::<bool>(),
    ) {
        let (mut arrivals, mut sequence, mut touched) = (Vec::new(), 0, 0);
        for (frame, fates) in frames.iter().enumerate() {
            let parts = fates.len() as u64;
            touched += u64::from(fates.iter().any(|fate| fate.0));
            for (part, &(arrives, delay, twice)) in fates.iter().enumerate() {
                let mut packet = packet(sequence, frame as u64, part as u64, parts);
                packet.first = packet.first.filter(|_| first_known);
                let arrival = packet.captured + millis(8 + delay as i64);
                let copies = usize::from(arrives) * (1 + usize::from(twice));
                arrivals.extend(core::iter::repeat_n((arrival, packet), copies));
            }
            sequence += parts;
        }
        arrivals.sort_by_key(|arrival| arrival.0);
        let mut playout = Playout::new(config);
        for (now, packet) in &arrivals {
            run_until(&mut playout, *now);
            playout.on_packet(*now, packet);
        }
        run_until(&mut playout, at(1_000_000));
        let shown: Vec<_> = core::iter::from_fn(|| playout.poll()).collect();
        prop_assert!(shown.windows(2).all(|pair| pair[0].captured < pair[1].captured));
        prop_assert!(shown.windows(2).all(|pair| pair[0].displayed <= pair[1].displayed));
        for frame in &shown {
            prop_assert_eq!(frame.parts.total(), frame.displayed - frame.captured);
            let index = (frame.captured.as_nanos() / 1_000_000 / INTERVAL) as usize;
            let parts = frames[index].len() as u64;
            // Without `first` a stream whose very first packets are missing starts where it is first seen.
            if first_known {
                prop_assert_eq!(frame.bytes, Bytes::new((0..parts).map(|part| 1000 + part).sum()));
                prop_assert!(frames[index].iter().all(|fate| fate.0));
            }
        }
        let counters = playout.counters();
        prop_assert_eq!(counters.displayed, shown.len() as u64);
        prop_assert!(counters.displayed + counters.incomplete <= touched);
    }

    #[test]
    fn in_order_exactly_the_whole_frames_are_shown(
        frames in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.9), 1..6), 1..40),
    ) {
        let (mut playout, mut sequence) = (Playout::new(PlayoutConfig::IMMEDIATE), 0);
        let mut arrived = Vec::new();
        for (frame, fates) in frames.iter().enumerate() {
            let parts = fates.len() as u64;
            let packets = (0..parts).map(|part| packet(sequence, frame as u64, part, parts));
            arrived.extend(packets.zip(fates).filter(|(_, arrives)| **arrives).map(|(packet, _)| packet));
            sequence += parts;
        }
        let expected: Vec<_> =
            (0u64..).zip(&frames).filter(|(_, fates)| fates.iter().all(|&arrives| arrives)).map(|(n, _)| n).collect();
        prop_assert_eq!(shown(&mut playout, &arrived), expected);
    }

    #[test]
    fn nothing_panics(
        packets in prop::collection::vec(
            (any::<u64>(), prop_oneof![0u64..5, any::<u64>()], prop_oneof![0u64..5, any::<u64>()], any::<[bool; 3]>()),
            0..200,
        ),
        config in prop_oneof![config(), any::<i64>().prop_map(|d| PlayoutConfig::fixed(TimeDelta::from_nanos(d)))],
    ) {
        let mut playout = Playout::new(config);
        for (now, sequence, captured, [marker, known, first]) in packets {
            let (now, captured) = (Time::from_nanos(now), Time::from_nanos(captured));
            let sent = known.then_some(captured);
            let wait = known.then_some(TimeDelta::from_nanos(sequence as i64));
            let first = known.then_some(first);
            let payload = Bytes::new(sequence);
            let key = known.then_some(marker);
            playout.on_packet(now, &ArrivedPacket { sequence, captured, payload, first, marker, key, sent, wait });
            playout.handle_timeout(now);
            prop_assert!(playout.pending.len() <= Playout::MAX_PENDING);
        }
        while playout.poll().is_some() {}
    }
}
