//! CoDel against RFC 8289: when it drops, how often, and when it does not.

use super::drive::{Log, drive, packet, plain, steady};
use super::*;
use crate::CoDelConfig;

fn codel(ecn: bool) -> QueueConfig {
    QueueConfig::CoDel(CoDelConfig { limit: QueueLimit::Unlimited, ecn, ..CoDelConfig::default() })
}

/// 8 Mbit/s: a packet of 1000 B takes 1 ms.
fn overload(ecn: Ecn, mbps: f64, until: u64) -> Log {
    drive(plain(self::mbps(8), codel(true)), steady(0, ecn, 1000, mbps, 0, until), millis(until))
}

/// When signals are due by the control law of section 5.6, after a first one at `first`, in milliseconds.
fn law(first: f64, count: u32) -> Vec<f64> {
    let mut due = vec![first];
    for n in 1..count {
        due.push(due[due.len() - 1] + 100.0 / f64::from(n).sqrt());
    }
    due
}

fn assert_follows(signals: &[f64], due: &[f64]) {
    for (n, (signal, due)) in signals.iter().zip(due).enumerate() {
        // A signal is given to the first packet that leaves when it is due.
        assert!((*due..due + 1.0 + 1e-6).contains(signal), "signal {n} at {signal} ms, due at {due} ms");
    }
}

#[test]
fn drops_are_spaced_by_the_interval_over_the_root_of_their_count() {
    let log = overload(Ecn::NotEct, 12.0, 2000);
    let drops: Vec<_> = log.discarded.iter().map(|(at, _)| at.as_secs_f64() * 1e3).collect();
    // Arrivals every 2/3 ms: packet n waits n/3 ms; the first to wait 5 ms leaves at 15 ms; 100 ms later it is too long.
    assert!((115.0..=116.0).contains(&drops[0]), "{}", drops[0]);
    assert!(drops.len() > 50 && log.refused.is_empty(), "{} drops", drops.len());
    assert_follows(&drops, &law(drops[0], drops.len() as u32));
}

#[test]
fn marks_come_when_drops_would_and_nothing_is_lost() {
    let log = overload(Ecn::Ect0, 12.0, 2000);
    // A packet is marked when it leaves the queue, 1 ms before it departs.
    let marked = log.departures.iter().filter(|departure| departure.packet.ecn.is_ce());
    let marks: Vec<_> = marked.map(|departure| departure.departed.as_secs_f64() * 1e3 - 1.0).collect();
    assert!((115.0..=116.0).contains(&marks[0]) && marks.len() > 50);
    assert_follows(&marks, &law(marks[0], marks.len() as u32));
    assert_eq!((log.counters.dropped, log.counters.marked), (0, marks.len() as u64));
}

#[test]
fn without_ecn_packets_that_could_be_marked_are_dropped() {
    let config = plain(mbps(8), codel(false));
    let log = drive(config, steady(0, Ecn::Ect0, 1000, 12.0, 0, 1000), millis(1000));
    assert!(log.counters.marked == 0 && log.counters.dropped > 15, "{:?}", log.counters);
}

#[test]
fn a_queue_below_target_or_for_less_than_an_interval_is_left_alone() {
    // 40 packets at once drain in 40 ms; waits are up to 40 ms, but never above 5 ms for 100 ms on end.
    let bursts = (0..20u64).flat_map(|burst| {
        (0..40).map(move |n| (burst * 50_000_000, packet(burst * 40 + n, 0, 1000, Ecn::NotEct)))
    });
    let log = drive(plain(mbps(8), codel(true)), bursts, millis(1000));
    assert_eq!(log.counters.dropped, 0);
    // The same bursts without the gap that lets the queue drain.
    let bursts = (0..20u64).flat_map(|burst| {
        (0..40).map(move |n| (burst * 38_000_000, packet(burst * 40 + n, 0, 1000, Ecn::NotEct)))
    });
    assert!(drive(plain(mbps(8), codel(true)), bursts, millis(760)).counters.dropped > 3);
}

#[test]
fn one_packet_below_target_begins_the_interval_anew() {
    // 50 packets every 50 ms and one ahead of them: the queue is never empty, and the first of each 50 waits 1 ms.
    let ahead = std::iter::once((0, packet(1000, 0, 1000, Ecn::NotEct)));
    let bursts = (0..1000u64).map(|n| (n / 50 * 50_000_000, packet(n, 0, 1000, Ecn::NotEct)));
    let log = drive(plain(mbps(8), codel(true)), ahead.chain(bursts), millis(1000));
    assert_eq!((log.counters.dropped, log.counters.departed), (0, 1000));
    assert!(log.mean_wait(100) > 20.0, "{} ms", log.mean_wait(100));
}

/// Overload until `first`, nothing for `pause`, and overload again; times of the drops of the second, in milliseconds.
fn second_cycle(pause: u64) -> (usize, Vec<f64>) {
    let again = 1300 + pause;
    let arrivals = steady(0, Ecn::NotEct, 1000, 8.8, 0, 1000).chain(steady(
        0,
        Ecn::NotEct,
        1000,
        12.0,
        again,
        again + 800,
    ));
    let log = drive(plain(mbps(8), codel(true)), arrivals, millis(again + 800));
    let second = millis(again);
    let (first, later): (Vec<_>, Vec<_>) =
        log.discarded.iter().map(|(at, _)| *at).partition(|at| *at < second);
    (first.len(), later.iter().map(|at| at.as_secs_f64() * 1e3).collect())
}

#[test]
fn a_new_cycle_begins_at_the_rate_of_the_last_if_that_was_within_16_intervals() {
    let (first, soon) = second_cycle(0);
    assert!(first > 10, "{first}");
    // The first cycle began at count 1 and each of its drops after the first added 1.
    let delta = (first - 1) as f64;
    let spacing = soon[1] - soon[0];
    let expected = 100.0 / delta.sqrt();
    assert!((expected - 1.0..expected + 1.0).contains(&spacing), "{spacing} ms, expected {expected} ms");
    let (_, late) = second_cycle(1600);
    let spacing = late[1] - late[0];
    assert!((99.0..101.0).contains(&spacing), "{spacing} ms after a long calm");
}

/// 500 kbit/s: a packet of 1500 B takes 24 ms. `more` packets wait all the time.
fn slow(more: u64) -> LinkCounters {
    let first = (0..=more).map(|n| (0, packet(n, 0, 1500, Ecn::NotEct)));
    let rest = (1..100u64).map(|n| (n * 24_000_000 - 1, packet(100 + n, 0, 1500, Ecn::NotEct)));
    let rate = RateProcess::Constant(Bitrate::from_kbps(500));
    drive(plain(rate, codel(true)), first.chain(rest), millis(2400)).counters
}

#[test]
fn an_mtu_left_in_the_queue_is_no_queue() {
    assert_eq!(slow(1).dropped, 0, "one packet is left: waits of 24 ms are the link's, not the queue's");
    assert!(slow(3).dropped > 0, "three are left");
}
