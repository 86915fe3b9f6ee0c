use super::*;
use crate::StreamId;
use paceline_units::Ecn;

const SIZE: Bytes = Bytes::new(1000);
const RTT: TimeDelta = TimeDelta::from_millis(100);

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Packet n is sent at 10 n ms and arrives 50 ms later.
fn packet(n: u64) -> Arrival {
    let annotation = Some(Annotation::Rtt(RTT));
    let sent = Some(ms(n * 10));
    Arrival { stream: StreamId(0), sequence: n, size: SIZE, sent, ecn: Ecn::Ect0, annotation }
}

fn arrive(receiver: &mut TfrcReceiver, arrival: &Arrival) -> Option<ReceiverReport> {
    let now = ms(arrival.sequence * 10 + 50);
    let due = receiver.next_timeout().is_some_and(|due| due <= now);
    (receiver.on_arrival(now, arrival) || due).then(|| receiver.report(now)).flatten()
}

/// Takes in those of `count` packets that `lost` does not name, and those that `marked` names marked.
fn hear(count: u64, lost: impl Fn(u64) -> bool, marked: impl Fn(u64) -> bool) -> TfrcReceiver {
    let mut receiver = TfrcReceiver::new(&Params { history_discounting: false, ..Params::default() });
    for n in (0..count).filter(|n| !lost(*n)) {
        let ecn = if marked(n) { Ecn::Ce } else { Ecn::Ect0 };
        arrive(&mut receiver, &Arrival { ecn, ..packet(n) });
    }
    receiver
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

#[test]
fn a_report_a_round_trip_and_one_at_once_for_a_loss_event() {
    let mut receiver = TfrcReceiver::new(&Params::default());
    let first = arrive(&mut receiver, &packet(0));
    assert!(matches!(
        first,
        Some(ReceiverReport::Tfrc { loss_event_rate: 0.0, receive_rate: Bitrate::ZERO, .. })
    ));
    let reports: alloc::vec::Vec<_> =
        (1..60).filter(|n| *n != 35).filter(|n| arrive(&mut receiver, &packet(*n)).is_some()).collect();
    assert_eq!(reports, [10, 20, 30, 38, 48, 58], "the third packet after 35 tells its loss");
}

#[test]
fn before_the_round_trip_time_is_known_each_packet_is_reported() {
    let mut receiver = TfrcReceiver::new(&Params::default());
    let silent = |n| Arrival { annotation: None, ..packet(n) };
    assert!(arrive(&mut receiver, &silent(0)).is_some());
    assert!(arrive(&mut receiver, &silent(1)).is_some());
    assert!(arrive(&mut receiver, &packet(2)).is_some());
    assert!(arrive(&mut receiver, &packet(3)).is_none());
    assert_eq!(receiver.next_timeout(), Some(ms(2 * 10 + 50 + 100)));
}

#[test]
fn nothing_new_is_nothing_to_say_and_the_next_packet_is_told_at_once() {
    let mut receiver = hear(12, |_| false, |_| false);
    assert!(receiver.report(ms(200)).is_some());
    assert_eq!(receiver.next_timeout(), None);
    assert_eq!(receiver.report(ms(300)), None);
    assert!(arrive(&mut receiver, &packet(40)).is_some(), "the timer had expired for nothing");
}

#[test]
fn a_report_says_what_arrived_in_the_last_round_trip() {
    let mut receiver = hear(20, |_| false, |_| false);
    let Some(ReceiverReport::Tfrc { newest_sent, delay, receive_rate, .. }) = receiver.report(ms(260)) else {
        panic!("there is something to say");
    };
    assert_eq!((newest_sent, delay), (Some(ms(190)), TimeDelta::from_millis(20)));
    assert_eq!(receive_rate.as_bps(), 9 * 8000 * 1000 / 110, "9 packets since the report at 150 ms");
}

#[test]
fn the_first_interval_gives_the_rate_that_was_received() {
    let receiver = hear(105, |n| n == 100, |_| false);
    // 1000 B every 10 ms are 100 kB/s.
    let rate = Equation::new(&Params::default()).throughput(1000.0, 0.1, receiver.loss_event_rate());
    assert!((rate / 100_000.0 - 1.0).abs() < 0.05, "{rate} B/s");
    let nothing = hear(1, |_| false, |_| true);
    let rate = Equation::new(&Params::default()).throughput(1000.0, 0.1, nothing.loss_event_rate());
    assert!((rate / 5000.0 - 1.0).abs() < 0.05, "half a packet a round trip: {rate} B/s");
}

#[test]
fn a_late_packet_takes_its_loss_event_back_and_is_told_at_once() {
    let mut receiver = hear(60, |n| n == 50, |_| false);
    let before = receiver.loss_event_rate();
    assert!(before > 0.0);
    let late = Arrival { sequence: 50, ..packet(50) };
    assert!(receiver.on_arrival(ms(651), &late));
    assert_eq!(receiver.loss_event_rate(), 0.0);
    assert!(!receiver.on_arrival(ms(652), &late), "a duplicate");
}

#[test]
fn of_a_mark_after_a_hole_the_event_begins_with_the_hole() {
    // Packet 199 is missing, 201 is marked: one event, and it begins with 199.
    let receiver = hear(202, |n| n == 100 || n == 199, |n| n == 201);
    let other = hear(202, |n| n == 100, |n| n == 199);
    assert!((receiver.loss_event_rate() - other.loss_event_rate()).abs() < 1e-12);
    let later = hear(202, |n| n == 100, |n| n == 201);
    assert!(receiver.loss_event_rate() > later.loss_event_rate() * 1.001, "its interval is shorter");
}

#[test]
fn losses_of_several_streams_are_one_flow_s() {
    let mut receiver = TfrcReceiver::new(&Params { history_discounting: false, ..Params::default() });
    // Streams take turns; every hundredth packet of all is lost.
    for n in (0..4000).filter(|n| n % 100 != 99) {
        let arrival = Arrival { stream: StreamId((n % 2) as u8), sequence: n / 2 + 7, ..packet(n) };
        let now = ms(n * 10 + 50);
        if receiver.on_arrival(now, &arrival) {
            let _ = receiver.report(now);
        }
    }
    let p = receiver.loss_event_rate();
    assert!((0.0098..0.0102).contains(&p), "{p}");
}
