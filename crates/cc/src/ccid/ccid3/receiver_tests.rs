use super::*;
use crate::StreamId;
use alloc::vec;
use paceline_units::Ecn;

const SIZE: Bytes = Bytes::new(1000);

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Packet n is sent at 10 n ms and arrives 50 ms later; ten packets are a round trip, and the counter's step is 25 ms.
fn packet(n: u64) -> Arrival {
    let annotation = Some(Annotation::Counter((n * 10 / 25 % 16) as u8));
    let sent = Some(ms(n * 10));
    Arrival { stream: StreamId(0), sequence: n, size: SIZE, sent, ecn: Ecn::Ect0, annotation }
}

fn plain() -> Params {
    let tfrc = crate::tfrc::Params { history_discounting: false, ..crate::tfrc::Params::default() };
    Params { tfrc, ..Params::default() }
}

fn arrive(receiver: &mut Ccid3Receiver, arrival: &Arrival) -> Option<ReceiverReport> {
    let now = ms(arrival.sequence * 10 + 50);
    receiver.on_arrival(now, arrival).then(|| receiver.report(now)).flatten()
}

/// Takes in those of `count` packets that `lost` does not name, and those that `marked` names marked.
fn hear(count: u64, lost: impl Fn(u64) -> bool, marked: impl Fn(u64) -> bool) -> Ccid3Receiver {
    let mut receiver = Ccid3Receiver::new(&plain());
    for n in (0..count).filter(|n| !lost(*n)) {
        let ecn = if marked(n) { Ecn::Ce } else { Ecn::Ect0 };
        arrive(&mut receiver, &Arrival { ecn, ..packet(n) });
    }
    receiver
}

/// Lossless, lossy and data length.
fn told(receiver: &Ccid3Receiver) -> (u8, Vec<(u32, u32, u32)>) {
    let LossIntervals { skip_length, intervals } = receiver.loss_intervals();
    let lengths = |i: &LossInterval| (i.lossless_length, i.loss_length, i.data_length);
    (skip_length, intervals.iter().map(lengths).collect())
}

fn now_told(receiver: &mut Ccid3Receiver, at: u64) -> (u8, Vec<(u32, u32, u32)>) {
    let _ = receiver.report(ms(at));
    told(receiver)
}

#[test]
fn the_rate_of_events_not_of_losses() {
    for (lost, expected) in [
        ((|_| false) as fn(u64) -> bool, 0.0),
        (|n| n % 100 == 99, 0.01),
        (|n| (90..95).contains(&(n % 100)), 0.01),
        (|n| n % 50 == 49, 0.02),
    ] {
        assert!((hear(3000, lost, |_| false).loss_event_rate() - expected).abs() < 1e-9);
        assert!(
            (hear(3000, |_| false, lost).loss_event_rate() - expected).abs() < 1e-9,
            "marks count as much"
        );
    }
}

/// Section 10.2: of two losses, the counters of the packets before them differ by more than four.
#[test]
fn a_distance_above_four_steps_is_another_event() {
    for (first, second, events) in [(100, 105, 1), (100, 110, 1), (100, 111, 2), (101, 113, 1), (101, 114, 2)]
    {
        let counter = |n: u64| (n - 1) * 10 / 25;
        assert_eq!(events == 2, counter(second) - counter(first) > 4, "the case is as it says");
        let receiver = hear(200, |n| n == first || n == second, |_| false);
        assert_eq!(receiver.history.events().count(), events, "{first} and {second}");
        let receiver = hear(200, |_| false, |n| n == first || n == second);
        assert_eq!(receiver.history.events().count(), events, "{first} and {second} marked");
    }
    // The counter wraps between them: a packet in between tells.
    assert_eq!(hear(300, |n| n == 100 || n == 140, |_| false).history.events().count(), 2);
}

#[test]
fn a_series_of_losses_is_one_event_however_long() {
    let mut receiver = hear(400, |n| (100..200).contains(&n), |_| false);
    assert_eq!(receiver.history.events().count(), 1);
    let (_, intervals) = now_told(&mut receiver, 4050);
    assert_eq!(intervals[0], (200, 100, 300));
}

#[test]
fn feedback_comes_every_four_steps_and_at_once_for_a_new_event() {
    let mut receiver = Ccid3Receiver::new(&Params::default());
    let reports: Vec<_> =
        (0..60).filter(|n| *n != 35).filter(|n| arrive(&mut receiver, &packet(*n)).is_some()).collect();
    // The third packet after 35 tells its loss. Its counter is 15: the next report is due at 19, with packet 48.
    assert_eq!(reports, [0, 10, 20, 30, 38, 48, 58]);
    assert_eq!(receiver.next_timeout(), None, "there is no feedback timer");
}

#[test]
fn below_a_packet_per_round_trip_each_is_reported() {
    let mut receiver = Ccid3Receiver::new(&Params::default());
    for n in 0..50 {
        let annotation = Some(Annotation::Counter((n * 5 % 16) as u8));
        let arrival = Arrival { annotation, ..packet(n) };
        assert!(receiver.on_arrival(ms(n * 300), &arrival), "{n}");
        assert!(receiver.report(ms(n * 300)).is_some());
    }
}

#[test]
fn the_timer_is_a_choice() {
    let params = Params { feedback_timer: true, ..Params::default() };
    let mut receiver = Ccid3Receiver::new(&params);
    (0..=20).for_each(|n| {
        arrive(&mut receiver, &packet(n));
    });
    assert_eq!(receiver.next_timeout(), None, "nothing new");
    arrive(&mut receiver, &packet(21));
    // The round trip that the counter tells: K + 4 came 100 ms after K.
    assert_eq!(receiver.next_timeout(), Some(ms(250 + 100)));
}

#[test]
fn a_report_says_what_arrived_in_the_last_round_trip() {
    let mut receiver = hear(25, |_| false, |_| false);
    let Some(ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay }) =
        receiver.report(ms(310))
    else {
        panic!("there is something to say");
    };
    assert_eq!((loss_event_rate, newest_sent, delay), (0.0, Some(ms(240)), TimeDelta::from_millis(20)));
    // The last report that is a round trip ago was at 150 ms, with packet 10: 14 packets since in 160 ms.
    let since = receive_rate.as_bps() as f64 / 8000.0;
    assert!(
        (since / (14.0 / 0.16) - 1.0).abs() < 1e-6 || (since / (4.0 / 0.06) - 1.0).abs() < 1e-6,
        "{since}"
    );
    assert_eq!(receiver.report(ms(320)), None, "nothing new");
}

/// The example of section 8.6.2: 0 to 44, lost or marked 10, 19 to 21, 23, 32 and 43; of L3 one packet carried no data.
#[test]
fn the_option_of_the_rfc_s_example() {
    let counters = |n: u64| match n {
        0..=13 => 0,
        14..=26 => 5,
        27..=34 => 10,
        _ => 14,
    };
    let lost = [10, 19, 20, 21, 23, 32, 43];
    let mut receiver = Ccid3Receiver::new(&plain());
    for n in (0..=44).filter(|n| !lost.contains(n)) {
        if n == 38 {
            receiver.on_non_data(ms(n * 10), n);
            continue;
        }
        let annotation = Some(Annotation::Counter(counters(n)));
        receiver.on_arrival(ms(n * 10), &Arrival { annotation, ..packet(n) });
    }
    let (skip, intervals) = now_told(&mut receiver, 450);
    assert_eq!(skip, 2, "43 may still come");
    assert_eq!(
        intervals[..3],
        [(10, 1, 10), (8, 5, 13), (8, 1, 9)],
        "the example has 3 and 1 packets without data more"
    );
    let (lossless, loss, _) = intervals[3];
    assert_eq!((intervals.len(), lossless, loss), (4, 10, 0), "the first has no lossy part");
}

#[test]
fn before_a_loss_there_is_one_interval_without_data_length() {
    let mut receiver = hear(60, |_| false, |_| false);
    assert_eq!(now_told(&mut receiver, 700), (0, vec![(60, 0, 0)]));
    assert_eq!(receiver.loss_event_rate(), 0.0);
}

#[test]
fn the_first_interval_gives_the_rate_that_was_received() {
    let mut receiver = hear(105, |n| n == 100, |_| false);
    // 1000 B every 10 ms are 100 kB/s; the counter's round trip is 100 ms.
    let rate = |p| Equation::new(&crate::tfrc::Params::default()).throughput(1000.0, 0.1, p);
    let found = rate(receiver.loss_event_rate());
    assert!((found / 100_000.0 - 1.0).abs() < 0.05, "{found} B/s");
    let (_, intervals) = now_told(&mut receiver, 1100);
    assert_eq!(intervals[0], (4, 1, 5));
    assert_eq!((intervals[1].0, intervals[1].1), (100, 0));
    assert!((f64::from(intervals[1].2) * receiver.loss_event_rate() - 1.0).abs() < 0.05, "{intervals:?}");
}

#[test]
fn a_tolerance_ends_the_search_for_it_early() {
    let equation = Equation::new(&crate::tfrc::Params::default());
    for rate in [3000.0, 50_000.0, 2e6] {
        let p = equation.loss_event_rate_within(1000.0, 0.1, rate, 0.05);
        let found = equation.throughput(1000.0, 0.1, p);
        assert!((found / rate - 1.0).abs() <= 0.05, "{rate}: {found}");
    }
}

#[test]
fn packets_without_data_count_for_order_and_not_for_the_rate() {
    // Every other packet carries none; of 100 numbers one is lost.
    let mut receiver = Ccid3Receiver::new(&plain());
    for n in (0..3000).filter(|n| n % 100 != 98) {
        let now = ms(n * 10 + 50);
        if n % 2 == 1 {
            receiver.on_non_data(now, n);
        } else if receiver.on_arrival(now, &packet(n)) {
            let _ = receiver.report(now);
        }
    }
    let p = receiver.loss_event_rate();
    assert!((p * 50.0 - 1.0).abs() < 0.01, "{p}");
    let (_, intervals) = now_told(&mut receiver, 31_000);
    assert_eq!(intervals[1], (99, 1, 50), "{intervals:?}");
}

#[test]
fn a_late_packet_takes_its_loss_event_back_and_is_told_at_once() {
    let mut receiver = hear(60, |n| n == 50, |_| false);
    assert!(receiver.loss_event_rate() > 0.0);
    assert!(receiver.on_arrival(ms(651), &packet(50)));
    assert_eq!(receiver.loss_event_rate(), 0.0);
    assert_eq!(now_told(&mut receiver, 651), (0, vec![(60, 0, 0)]));
    assert!(!receiver.on_arrival(ms(652), &packet(50)), "a duplicate");
}

#[test]
fn the_lossy_part_ends_with_the_last_that_is_missing() {
    let mut receiver = hear(160, |n| [100, 103, 106].contains(&n), |n| n == 104);
    assert_eq!(now_told(&mut receiver, 1700).1[0], (53, 7, 60));
    receiver.on_arrival(ms(1701), &packet(106));
    assert_eq!(now_told(&mut receiver, 1701).1[0], (55, 5, 60), "106 came; 104 is the last marked");
    receiver.on_arrival(ms(1702), &packet(103));
    assert_eq!(now_told(&mut receiver, 1702).1[0], (55, 5, 60));
}

#[test]
fn no_more_than_three_numbers_are_left_out_and_28_intervals_told() {
    let mut receiver = hear(100, |n| (80..99).contains(&n), |_| false);
    assert_eq!(now_told(&mut receiver, 1100), (3, vec![(97, 0, 0)]), "19 are missing, none is lost yet");
    let params = Params { tfrc: crate::tfrc::Params { n: 27, ..plain().tfrc }, ..plain() };
    let mut receiver = Ccid3Receiver::new(&params);
    for n in (0..10_000).filter(|n| n % 50 != 20) {
        arrive(&mut receiver, &packet(n));
    }
    let (_, intervals) = now_told(&mut receiver, 100_100);
    assert_eq!(intervals.len(), 28);
    assert!(intervals[1..].iter().all(|interval| *interval == (49, 1, 50)));
}

#[test]
fn a_sender_that_is_silent_for_two_round_trips_is_quiescent() {
    let receiver = hear(40, |_| false, |_| false);
    // The last packet came at 440 ms; two round trips are 200 ms.
    assert!(!receiver.is_quiescent(ms(639)) && receiver.is_quiescent(ms(640)));
    assert!(!Ccid3Receiver::new(&Params::default()).is_quiescent(ms(10_000)), "it has not begun");
}

/// A step 16 further is the same in four bits.
#[test]
fn by_modulus_a_loss_16_to_20_steps_after_an_event_is_part_of_it() {
    // Counters of the packets before: 39, and 15, 16, 20, 21 and 32 more.
    for (second, modulo) in [(138, 2), (139, 1), (150, 1), (151, 2), (180, 1)] {
        for (counter_modulo, events) in [(false, 2), (true, modulo)] {
            let mut receiver = Ccid3Receiver::new(&Params { counter_modulo, ..plain() });
            for n in (0..300).filter(|n| *n != 100 && *n != second) {
                arrive(&mut receiver, &packet(n));
            }
            assert_eq!(receiver.history.events().count(), events, "{second}, by modulus: {counter_modulo}");
        }
    }
}
