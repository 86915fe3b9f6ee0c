use super::*;
use paceline_units::RandomStream;
use paceline_wire::ccfb::ArrivalReport;

fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

fn transport() -> TransportPackets {
    TransportPackets::new(ReceivedPackets::new(0, TimeDelta::from_millis(200)))
}

/// The content of a report: its first number, and for each from there on when it arrived, in microseconds.
fn reported(transport: &mut TransportPackets) -> (u16, Vec<Option<u64>>) {
    let mut feedback = Feedback::default();
    transport.report(0, &mut feedback);
    let arrived = |arrival: &ArrivalReport| match arrival {
        ArrivalReport::Received { at, .. } => at.map(|at| at.as_nanos() / 1000),
        ArrivalReport::Missing => None,
    };
    let begin = feedback.blocks.first().map_or(0, |block| block.begin as u16);
    (begin, feedback.arrivals.iter().map(arrived).collect())
}

#[test]
fn four_packets_in_a_row_are_believed_and_count() {
    let mut transport = transport();
    transport.note(65_534, at(0));
    let mut believed = Vec::new();
    for (n, number) in [65_535u16, 1, 2, 2, 3, 4].into_iter().enumerate() {
        believed.push(transport.note_unannounced(9, number, at(10 + n as u64)));
    }
    transport.note(0, at(30));
    assert_eq!(believed, [false, false, false, false, true, true], "a copy is no further packet");
    let expected = [Some(0), Some(10), Some(30), Some(11), Some(12), Some(14), Some(15)];
    assert_eq!(reported(&mut transport), (65_534, expected.to_vec()));
}

#[test]
fn a_transport_without_an_announced_stream_has_numbers() {
    let mut transport = transport();
    for n in 0..10u16 {
        transport.note_unannounced(1, 40_000 + 2 * n, at(2 * u64::from(n)));
        transport.note_unannounced(2, 40_001 + 2 * n, at(2 * u64::from(n) + 1));
    }
    assert_eq!(reported(&mut transport), (40_000, (0..20).map(Some).collect()));
    // The numbers go on elsewhere after a silence; with an announced stream at once.
    let later = 2_000_000;
    for n in 0..10u16 {
        transport.note_unannounced(1, 10_000 + n, at(later + u64::from(n)));
    }
    assert_eq!(reported(&mut transport), (10_001, (later + 1..later + 10).map(Some).collect()));
    transport.note(50_000, at(later + 20));
    transport.note(50_001, at(later + 21));
    assert!(!transport.note_unannounced(1, 10_010, at(later + 22)), "not near the announced one's");
    assert!(!(0..3).any(|n| transport.note_unannounced(1, 50_002 + n, at(later + 23))));
    assert!(transport.note_unannounced(1, 50_005, at(later + 24)));
}

/// Of a call with 500 packets a second, what `stranger` hands in for each of them: numbers by which SSRC. Answers how many of the call's
/// packets were reported to have arrived when they did not, and how often a stranger was believed.
fn forged(seconds: u64, mut stranger: impl FnMut(u64, &mut dyn FnMut(u32, u16))) -> (usize, u64) {
    let (mut transport, mut wrong, mut believed) = (transport(), 0, 0);
    let mut sent = 0u64;
    for n in 0..seconds * 500 {
        // One packet in ten is lost.
        if n % 10 != 3 {
            transport.note(n as u16, at(n * 2000));
        }
        stranger(n, &mut |ssrc, number| {
            believed += u64::from(transport.note_unannounced(ssrc, number, at(n * 2000 + 1)));
        });
        let (begin, arrivals) = reported(&mut transport);
        for (number, arrival) in (u64::from(begin)..).zip(arrivals).filter(|_| n > 10) {
            let number = number + (n & !0xffff);
            wrong += usize::from(arrival.is_some() && (number % 10 == 3 || arrival != Some(number * 2000)));
        }
        sent += 1;
    }
    assert!(sent > 0 && transport.unannounced.is_none_or(|other| other.candidates.capacity() == KNOWN));
    (wrong, believed)
}

#[test]
fn numbers_that_are_guessed_are_not_believed() {
    let mut draws = RandomStream::new(1, "stranger");
    let mut draw = move || draws.next_u64();
    // Streams of one packet, of two and of three in a row.
    let guesses = forged(100, |_, hand_in| {
        for row in 1..4 {
            let (ssrc, number) = (draw() as u32, draw() as u16);
            (0..row).for_each(|more| hand_in(ssrc, number.wrapping_add(more)));
        }
    });
    assert_eq!(guesses, (0, 0));
    // One stream, anywhere.
    let mut draws = RandomStream::new(2, "stranger");
    let guesses = forged(100, |_, hand_in| (0..10).for_each(|_| hand_in(7, draws.next_u64() as u16)));
    assert_eq!(guesses, (0, 0));
}

/// A stranger who tries all numbers in order meets those of the call, and uses one of them.
#[test]
fn numbers_that_are_tried_in_order_are_believed_once_a_minute() {
    let mut next = 30_000u16;
    let (wrong, believed) = forged(120, |_, hand_in| {
        for _ in 0..20 {
            hand_in(7, next);
            next = next.wrapping_add(1);
        }
    });
    assert!(wrong < 300 && believed < 300, "{wrong} packets of 60,000, {believed} believed");
}

/// A flood of streams does not keep one out whose packets go on, where nothing is announced.
#[test]
fn a_flood_of_streams_leaves_room_for_one_that_goes_on() {
    let (mut transport, mut draws, mut believed) = (transport(), RandomStream::new(3, "flood"), 0);
    for n in 0..1000u16 {
        believed += u32::from(transport.note_unannounced(1, n, at(u64::from(n) * 2000)));
        for _ in 0..20 {
            transport.note_unannounced(
                draws.next_u64() as u32,
                draws.next_u64() as u16,
                at(u64::from(n) * 2000),
            );
        }
    }
    assert!(believed >= 990, "{believed} of 1000");
}
