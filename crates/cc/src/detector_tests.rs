//! When a packet counts as lost, and what a late arrival takes back.

use super::*;
use crate::StreamId;
use paceline_units::Ecn;

const CONFIG: DetectorConfig = DetectorConfig {
    packet_threshold: None,
    reorder_window: TimeDelta::from_millis(10),
    reorder_window_max: TimeDelta::from_millis(100),
    unreported_is_lost: true,
};

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn received(sequence: u64) -> PacketResult {
    PacketResult {
        stream: StreamId(0),
        sequence,
        size: Bytes::new(1000),
        sent: Time::ZERO,
        status: Status::Received { arrived: Some(ms(sequence % 100_000)), ecn: Ecn::NotEct },
    }
}

/// One packet of 1000 B a millisecond.
fn sent(count: u64) -> LossDetector {
    let mut detector = LossDetector::new(CONFIG);
    (0..count).for_each(|n| detector.on_sent(ms(n), n, Bytes::new(1000)));
    detector
}

fn report(detector: &mut LossDetector, now: u64, sequences: &[u64]) -> Acked {
    let packets: Vec<_> = sequences.iter().copied().map(received).collect();
    detector.on_report(ms(now), packets.iter())
}

#[test]
fn in_flight_counts_down_to_the_highest_acknowledged() {
    let mut detector = sent(10);
    let acked = report(&mut detector, 20, &[0, 4]);
    // RFC 8298 section 4.1.2: SN-5 acknowledged leaves five packets in flight, lost or not.
    assert_eq!(detector.in_flight(), Bytes::new(5000));
    assert_eq!((acked.newly_acked, acked.delivered), (Bytes::new(5000), Bytes::new(2000)));
    assert_eq!(acked.newest, Some((ms(4), Some(ms(4)))));
}

#[test]
fn a_packet_is_lost_only_beyond_the_window() {
    let mut detector = sent(30);
    assert_eq!(report(&mut detector, 40, &[10]).lost, 0, "packet 0 was sent exactly 10 ms earlier");
    assert_eq!(report(&mut detector, 41, &[11]).lost, 1);
    assert_eq!(report(&mut detector, 42, &[11]).lost, 0, "one verdict a packet");
}

#[test]
fn packet_threshold_decides_before_time() {
    let mut detector = LossDetector::new(DetectorConfig { packet_threshold: Some(3), ..CONFIG });
    (0..5).for_each(|n| detector.on_sent(ms(0), n, Bytes::new(1000)));
    assert_eq!(report(&mut detector, 40, &[2]).lost, 0);
    assert_eq!(report(&mut detector, 40, &[3]).lost, 1);
}

#[test]
fn a_late_packet_takes_the_loss_back_and_widens_the_window() {
    let mut detector = sent(40);
    assert_eq!(report(&mut detector, 50, &[15]).lost, 5);
    let acked = report(&mut detector, 57, &[3]);
    assert_eq!((acked.spurious, acked.delivered), (1, Bytes::new(1000)));
    assert_eq!(detector.reorder_window(), TimeDelta::from_millis(17));
    assert_eq!(report(&mut detector, 60, &[20]).lost, 0, "within the wider window now");
}

#[test]
fn nonsense_changes_nothing() {
    let mut detector = sent(5);
    let before = detector.in_flight();
    assert_eq!(report(&mut detector, 9, &[5, 6, u64::MAX]), Acked::default());
    assert_eq!(detector.in_flight(), before);
    report(&mut detector, 9, &[4]);
    assert_eq!(report(&mut detector, 10, &[4, 4]).delivered, Bytes::ZERO, "duplicates count once");
}

#[test]
fn what_is_forgotten_is_not_in_flight_but_may_still_arrive() {
    let mut detector = sent(5);
    detector.forget();
    assert_eq!(detector.in_flight(), Bytes::ZERO);
    let acked = report(&mut detector, 9, &[2]);
    assert_eq!((acked.delivered, acked.newly_acked, acked.lost), (Bytes::new(1000), Bytes::ZERO, 0));
}

#[test]
fn the_ring_grows_with_the_flight_and_ends_somewhere() {
    let mut detector = sent(LARGEST_CAPACITY as u64 + 1000);
    assert_eq!(detector.ring.len(), LARGEST_CAPACITY);
    assert_eq!(detector.in_flight(), Bytes::new(LARGEST_CAPACITY as u64 * 1000));
    assert_eq!(
        report(&mut detector, 70_000, &[0, LARGEST_CAPACITY as u64 + 999]).delivered,
        Bytes::new(1000)
    );
    assert_eq!(detector.in_flight(), Bytes::ZERO);
}

fn missing(sequence: u64) -> PacketResult {
    PacketResult { status: Status::Missing, ..received(sequence) }
}

/// A detector that waits for a report on each packet, with 40 packets sent.
fn reported() -> LossDetector {
    let mut detector = LossDetector::new(DetectorConfig { unreported_is_lost: false, ..CONFIG });
    (0..40).for_each(|n| detector.on_sent(ms(n), n, Bytes::new(1000)));
    detector
}

#[test]
fn a_lost_report_tells_of_no_losses() {
    let mut detector = reported();
    let told: Vec<_> = (10..20).map(|n| if n == 12 { missing(n) } else { received(n) }).collect();
    let acked = detector.on_report(ms(50), told.iter());
    assert_eq!(
        (acked.lost, acked.newly_acked),
        (0, Bytes::new(20_000)),
        "12 may be late, 0 to 9 are unknown"
    );
    assert_eq!(
        acked.presumed,
        Bytes::new(18_000),
        "nine that arrived, and 0 to 8, sent over 10 ms before 19"
    );
    let acked = report(&mut detector, 60, &[39]);
    assert_eq!((acked.lost, acked.presumed), (1, Bytes::new(11_000)), "12 alone; 39, 9 and 20 to 28");
    assert_eq!(detector.in_flight(), Bytes::ZERO);
    let acked = detector.on_report(ms(70), [received(3), missing(4)].iter());
    assert_eq!(
        (acked.delivered, acked.presumed, acked.lost, acked.spurious),
        (Bytes::new(1000), Bytes::ZERO, 1, 0),
        "the report was only late"
    );
}

#[test]
fn a_tail_that_is_overdue_is_lost_and_not_in_flight() {
    let mut detector = reported();
    report(&mut detector, 50, &[29]);
    assert_eq!((detector.release_tail(ms(60), ms(35)).lost, detector.in_flight()), (5, Bytes::new(5000)));
    assert_eq!(detector.release_tail(ms(61), ms(35)).lost, 0, "one verdict a packet");
    assert_eq!(report(&mut detector, 70, &[31]).spurious, 1);
}

#[test]
fn ce_that_a_later_report_tells_counts_once() {
    let mut detector = sent(5);
    let marked =
        PacketResult { status: Status::Received { arrived: Some(ms(9)), ecn: Ecn::Ce }, ..received(2) };
    assert_eq!(report(&mut detector, 9, &[2]).delivered_ce, Bytes::ZERO);
    let acked = detector.on_report(ms(10), [marked].iter());
    assert_eq!((acked.delivered, acked.delivered_ce), (Bytes::ZERO, Bytes::new(1000)));
    assert_eq!(detector.on_report(ms(11), [marked].iter()).delivered_ce, Bytes::ZERO);
}

#[test]
fn a_report_of_a_number_never_sent_changes_nothing() {
    let mut detector = LossDetector::new(DetectorConfig { packet_threshold: Some(3), ..CONFIG });
    [0, 1, 2, 8].iter().for_each(|n| detector.on_sent(ms(20 + n), *n, Bytes::new(1000)));
    report(&mut detector, 30, &[2]);
    let marked =
        PacketResult { status: Status::Received { arrived: Some(ms(31)), ecn: Ecn::Ce }, ..received(5) };
    assert_eq!(detector.on_report(ms(31), [marked, received(6)].iter()), Acked::default());
    assert_eq!(detector.release_tail(ms(32), ms(10)).lost, 0, "0 is two packets back, not five");
    assert_eq!(detector.in_flight(), Bytes::new(1000));
}
