//! RED: its average, its chances, and how drops are spread.

use super::drive::{drive, packet, plain};
use super::*;
use crate::RedConfig;
use crate::queue::packet_queue::LinkContext;
use crate::queue::red::Detector;

fn detector(config: &RedConfig) -> Detector {
    Detector::new(config, &LinkContext { nominal: Bitrate::from_mbps(8), seed: 3, name: "red" })
}

#[test]
fn the_chance_rises_from_min_th_to_max_th_and_gently_beyond() {
    let gentle = detector(&RedConfig::default());
    let rough = detector(&RedConfig { gentle: false, ..RedConfig::default() });
    for (avg, expected, without) in [
        (4.999, 0.0, 0.0),
        (5.0, 0.0, 0.0),
        (10.0, 0.05, 0.05),
        (14.0, 0.09, 0.09),
        (15.0, 0.1, 1.0),
        (22.5, 0.55, 1.0),
        (29.9, 0.994, 1.0),
        (30.0, 1.0, 1.0),
    ] {
        assert!((gentle.p_b(avg) - expected).abs() < 1e-12, "{avg}: {}", gentle.p_b(avg));
        assert!((rough.p_b(avg) - without).abs() < 1e-12, "{avg}: {}", rough.p_b(avg));
    }
}

#[test]
fn the_chance_is_corrected_by_the_packets_since_the_last_drop() {
    let wait = detector(&RedConfig::default());
    let hasty = detector(&RedConfig { wait: false, ..RedConfig::default() });
    for (count, with_wait, without) in [
        (0.0, 0.0, 0.05),
        (10.0, 0.0, 0.1),
        (19.0, 0.0, 1.0),
        (20.0, 0.05, 1.0),
        (30.0, 0.1, 1.0),
        (39.0, 1.0, 1.0),
    ] {
        assert!((wait.p_a(0.05, count, 1500) - with_wait).abs() < 1e-9, "{count}");
        assert!((hasty.p_a(0.05, count, 1500) - without).abs() < 1e-9, "{count}");
    }
    let bytes = detector(&RedConfig { in_bytes: true, wait: false, ..RedConfig::default() });
    assert!((bytes.p_a(0.05, 0.0, 250) - 0.025).abs() < 1e-12, "half a packet, half the chance");
    assert!((bytes.p_a(0.05, 0.0, 1500) - 0.15).abs() < 1e-12);
}

/// A queue of `length` packets that never changes: each departure makes room for two arrivals, of which the limit takes one.
fn drops_at(length: u64, change: impl Fn(&mut RedConfig)) -> Vec<u64> {
    let mut config = RedConfig { q_w: 0.1, ..RedConfig::default() };
    change(&mut config);
    let mut red = detector(&config);
    let mut drops = Vec::new();
    for arrival in 0..100_000u64 {
        let mut queued =
            crate::queue::packet_queue::Queued::new(packet(arrival, 0, 500, Ecn::NotEct), arrival, 500, 0);
        if !red.passes(&mut queued, length, length * 500) && arrival > 1000 {
            drops.push(arrival);
        }
    }
    drops
}

#[test]
fn drops_at_a_steady_average_are_as_many_and_as_even_as_the_paper_says() {
    // p_b is 0.06 at an average of 11, 1 / p_b is 16.7: evenly every 17 to 32 packets, sometimes the 33rd; or every 1 to
    // 15, sometimes the 16th.
    for (wait, least, most, mean) in [(true, 17, 33, 24.67), (false, 1, 16, 8.35)] {
        let drops = drops_at(11, |config| config.wait = wait);
        let gaps: Vec<_> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (low, high) = (*gaps.iter().min().expect("drops"), *gaps.iter().max().expect("drops"));
        assert!(
            (least..=least + 2).contains(&low) && (most - 1..=most + 1).contains(&high),
            "{low} to {high}"
        );
        let found = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((found - mean).abs() < 0.015 * mean, "a drop every {found} packets, expected {mean}");
    }
    assert_eq!(drops_at(4, |_| {}), []);
    assert_eq!(drops_at(40, |_| {}).len(), 100_000 - 1001, "everything beyond twice max_th");
    let rough = drops_at(16, |config| config.gentle = false);
    assert_eq!(rough.len(), 100_000 - 1001, "everything beyond max_th");
}

fn queue(change: impl Fn(&mut RedConfig)) -> QueueConfig {
    let mut config = RedConfig { limit: QueueLimit::Unlimited, ..RedConfig::default() };
    change(&mut config);
    QueueConfig::Red(config)
}

#[test]
fn the_average_follows_arrivals_and_ages_while_the_link_is_idle() {
    // With q_w = 0.5, packets find 0 (idle), 0, 1, 2 waiting: 0, 0, 0.5, 1.25. With min_th = 1 the fourth is in range.
    let burst = |at: u64, n: u64| (0..n).map(move |k| (at, packet(at + k, 0, 500, Ecn::NotEct)));
    let config = |min_th: f64| {
        let queue = queue(|c| {
            (c.q_w, c.min_th, c.max_th, c.gentle, c.wait) = (0.5, min_th, min_th + 1e-9, false, false)
        });
        plain(mbps(8), queue)
    };
    let dropped =
        |min_th, arrivals: Vec<(u64, Packet)>| drive(config(min_th), arrivals, millis(100)).refused.len();
    assert_eq!(dropped(1.2, burst(0, 4).collect()), 1);
    assert_eq!(dropped(1.3, burst(0, 4).collect()), 0);
    let again = |gap: u64| burst(0, 4).chain(burst(2_000_000 + gap, 3)).collect::<Vec<_>>();
    // 4 packets take 2 ms; 1 ms of idleness is two packets of 500 B: from 1.25 to 0.3125, 0.156 and 0.578.
    assert_eq!(dropped(1.27, again(1_000_000)), 0);
    // If the fourth is dropped the link is idle for 1.5 ms: from 1.25 to 0.156, 0.078 and 0.539.
    assert_eq!(dropped(0.53, again(1_000_000)), 2);
    assert_eq!(dropped(0.55, again(1_000_000)), 1);
    // Hardly idle: the first finds 0.616, and what is dropped at an idle link leaves it idle.
    assert_eq!(dropped(0.60, again(10_000)), 4);
    assert_eq!(dropped(0.64, again(10_000)), 2, "the third at 0.654");
}

#[test]
fn moderate_congestion_marks_and_heavy_congestion_drops() {
    // The queue grows by a packet every 16: from 5 to 15 of them marks, then drops.
    let arrivals = || (0..1000u64).map(|n| (n * 470_588, packet(n, 0, 500, Ecn::Ect0)));
    let log = drive(plain(mbps(8), queue(|c| c.q_w = 0.5)), arrivals(), millis(480));
    assert!(log.counters.marked > 0 && log.counters.dropped > 20, "{:?}", log.counters);
    let first = log.refused[0].0;
    let marks: Vec<_> = log.departures.iter().filter(|departure| departure.packet.ecn.is_ce()).collect();
    assert!(marks.iter().any(|departure| departure.departed < first), "marks come first");
    let log = drive(plain(mbps(8), queue(|c| (c.q_w, c.ecn) = (0.5, false))), arrivals(), millis(480));
    assert_eq!(log.counters.marked, 0);
}
