use super::*;
use alloc::vec::Vec;

fn probe() -> Probe {
    Probe { id: 3, rate: Bitrate::from_kbps(800), bytes: Bytes::new(5000) }
}

/// The rate that `packets` of 1000 B find: the estimate after the last, in kbit/s.
fn found(packets: &[(u64, u64)]) -> Option<f64> {
    let mut estimate = ProbeEstimate::new();
    estimate.expect(probe());
    let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
    let outcomes: Vec<Outcome> = packets
        .iter()
        .map(|(sent, arrived)| Outcome::of_probe(at(*sent), at(*arrived), Bytes::new(1000), 3))
        .collect();
    outcomes
        .iter()
        .filter_map(|outcome| estimate.on_arrivals(core::slice::from_ref(outcome)))
        .last()
        .map(|found| found.as_bps_f64() / 1e3)
}

/// libwebrtc's unit tests of the estimator, as numbers: packets of 1000 B each 10 ms are 800 kbit/s; too few say nothing;
/// arrivals faster than sent count as sent, twice as fast is invalid, and slower ones count with 0.95.
#[test]
fn the_rate_of_a_probe_is_that_of_libwebrtcs_tests() {
    assert_eq!(found(&[(0, 10), (10, 20), (20, 30), (30, 40)]), Some(800.0));
    assert_eq!(found(&[(0, 10), (10, 20), (20, 30)]), None, "less than 0.8 of five packets");
    assert_eq!(
        found(&[(0, 15), (10, 30), (20, 40), (30, 45)]),
        Some(800.0),
        "lower at first, as sent in the end"
    );
    assert_eq!(found(&[(0, 10), (10, 11), (20, 12), (40, 13)]), None, "too fast");
    let slower = found(&[(0, 15), (10, 30), (20, 45), (30, 60), (40, 75)]).unwrap_or(0.0);
    assert!((slower - 533.3 * 0.95).abs() < 0.1, "{slower}");
    assert_eq!(found(&[(0, 10), (0, 20), (0, 30), (0, 40)]), None, "sent at once");
}

#[test]
fn packets_of_a_probe_that_nobody_asked_for_say_nothing() {
    let mut estimate = ProbeEstimate::new();
    let outcome = Outcome::of_probe(Time::ZERO, Time::ZERO, Bytes::new(1000), u64::MAX);
    assert_eq!(estimate.on_arrivals(&[outcome; 10]), None);
}

#[test]
fn after_a_second_without_arrivals_a_probe_begins_anew() {
    let late = |after: u64| [0, 10, 20, 30].map(|sent| (after + sent, after + sent + 10));
    let with = |after: u64| [&[(0, 10)], &late(after)[..]].concat();
    assert_eq!(found(&with(1010)), Some(800.0));
    assert_eq!(found(&with(1000)), None, "a second is no pause, and too long for a probe");
}
