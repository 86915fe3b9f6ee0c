//! Limits, occupancy and queueing theory.

use super::*;
use crate::FactorChanges;
use paceline_units::RandomStream;
use paceline_units::param::{self, ParamSet};

#[test]
fn a_limit_in_bytes_is_exact_and_leaves_the_packet_in_service_out() {
    // One in service, two of 1250 B fit in 2500 B, the next does not, a small one after it neither.
    let config = limited(mbps(10), QueueLimit::Bytes(Bytes::new(2500)));
    let arrivals = [(0, 1250), (0, 1250), (0, 1250), (0, 1250), (0, 1)];
    let outcome = run(config, &arrivals, Ecn::NotEct, Time::ZERO);
    let (taken, dropped) = (Offered::Accepted, Offered::Dropped);
    assert_eq!(outcome.offered, [taken, taken, taken, dropped, dropped]);
    assert_eq!((outcome.counters.queue_packets, outcome.counters.queue_bytes), (2, Bytes::new(2500)));
}

#[test]
fn a_limit_in_packets_is_exact() {
    let outcome = run(limited(mbps(10), QueueLimit::Packets(3)), &[(0, 1250); 6], Ecn::NotEct, Time::ZERO);
    assert_eq!((outcome.counters.dropped, outcome.counters.queue_packets), (2, 3));
}

#[test]
fn a_limit_in_time_is_bytes_at_the_nominal_rate() {
    // 20 Mbit/s for 3 ms are 7500 B, although the rate falls at once.
    let steps = vec![(Time::ZERO, Bitrate::from_mbps(20)), (Time::from_nanos(1), Bitrate::from_mbps(1))];
    let config = limited(RateProcess::Steps(steps), QueueLimit::Time(TimeDelta::from_millis(3)));
    let outcome = run(config, &[(10, 1500); 10], Ecn::NotEct, Time::from_nanos(10));
    assert_eq!((outcome.counters.queue_packets, outcome.counters.dropped), (5, 4));
}

#[test]
fn overhead_counts_in_the_limit() {
    let mut config = limited(mbps(10), QueueLimit::Bytes(Bytes::new(2500)));
    config.overhead = Bytes::new(1);
    let outcome = run(config, &[(0, 1250); 4], Ecn::NotEct, Time::ZERO);
    assert_eq!(outcome.counters.dropped, 2);
}

#[test]
fn an_idle_server_takes_a_packet_whatever_the_limit() {
    for limit in [QueueLimit::Packets(0), QueueLimit::Bytes(Bytes::ZERO), QueueLimit::Time(TimeDelta::ZERO)] {
        let outcome =
            run(limited(mbps(10), limit), &[(0, 1250), (1, 1250), (1_000_000, 1250)], Ecn::NotEct, Time::MAX);
        assert_eq!(outcome.offered, [Offered::Accepted, Offered::Dropped, Offered::Accepted]);
    }
}

#[test]
fn a_packet_whose_service_starts_now_no_longer_waits() {
    let arrivals = [(0, 1250), (0, 1250), (0, 1250)];
    let waiting = |nanos| run(unlimited(mbps(10)), &arrivals, Ecn::NotEct, Time::from_nanos(nanos)).counters;
    assert_eq!((waiting(999_999).queue_packets, waiting(999_999).departed), (2, 0));
    assert_eq!((waiting(1_000_000).queue_packets, waiting(1_000_000).departed), (1, 1));
    assert_eq!((waiting(3_000_000).in_service, waiting(3_000_000).departed), (0, 3));
}

#[test]
fn occupancy_is_the_sum_of_the_waits() {
    let mut random = RandomStream::new(5, "arrivals");
    let mut now = 0.0;
    let arrivals: Vec<Arrival> = (0..10_000)
        .map(|_| {
            now += random.exponential(900_000.0);
            (now as u64, 100 + random.next_u64() % 1900)
        })
        .collect();
    let outcome = run(limited(mbps(10), QueueLimit::Packets(20)), &arrivals, Ecn::NotEct, millis(60_000));
    let waits: i64 = outcome.departures.iter().map(|departure| departure.wait.as_nanos()).sum();
    assert_eq!(outcome.counters.queue_packets + outcome.counters.in_service, 0);
    assert!(outcome.counters.dropped > 0);
    assert_eq!(outcome.counters.queue_packet_ns, waits as u128);
}

#[test]
fn the_maximum_is_of_the_waiting_and_can_be_reset() {
    let mut link = Link::new(unlimited(mbps(10)), 1, "test").expect("a valid link");
    let packet = Packet { id: 0, size: 1250, ecn: Ecn::NotEct };
    for _ in 0..5 {
        link.offer(Time::ZERO, packet, &mut |_| {});
    }
    assert_eq!(link.counters().queue_packets_max, 4);
    link.settle(millis(3));
    link.reset_max();
    assert_eq!(link.counters().queue_packets_max, 1);
    link.settle(millis(9));
    link.reset_max();
    assert_eq!(link.counters().queue_packets_max, 0);
}

#[test]
fn an_m_d_1_queue_waits_as_pollaczek_and_khinchine_say() {
    // Service 1 ms, load rho: mean wait = rho / (2 (1 - rho)) ms.
    for (rho, packets, tolerance) in [(0.3, 400_000, 0.02), (0.5, 400_000, 0.02), (0.8, 1_000_000, 0.04)] {
        let mut random = RandomStream::new(11, "poisson");
        let mut link = Link::new(unlimited(mbps(10)), 1, "test").expect("a valid link");
        let (mut now, mut waits) = (0.0, 0.0);
        for id in 0..packets {
            now += random.exponential(1e6 / rho);
            let packet = Packet { id, size: 1250, ecn: Ecn::NotEct };
            link.offer(Time::from_nanos(now as u64), packet, &mut |departure| {
                waits += departure.wait.as_millis_f64()
            });
        }
        let (mean, expected) = (waits / packets as f64, rho / (2.0 * (1.0 - rho)));
        assert!(
            (mean / expected - 1.0).abs() < tolerance,
            "rho {rho}: mean wait {mean} ms, expected {expected} ms"
        );
        // Little: the time average of those waiting is the arrival rate times the mean wait.
        link.settle(Time::from_nanos(now as u64));
        let average = link.counters().queue_packet_ns as f64 / now;
        assert!((average / (rho * mean) - 1.0).abs() < 0.01, "rho {rho}: {average} waiting");
    }
}

/// Packets that wait when a limit shrinks stay and are served; one that comes then finds no room until fewer wait than it allows.
#[test]
fn a_limit_that_shrinks_keeps_what_waits() {
    for kind in ["droptail", "fifo", "codel", "pie"] {
        let mut queue = QueueConfig::of(kind).expect("there is one");
        queue.set_limit(QueueLimit::Packets(10));
        let steps = vec![
            (TimeDelta::ZERO, 1.0),
            (TimeDelta::from_micros(500), 0.2),
            (TimeDelta::from_millis(20), 0.5),
        ];
        let changes = FactorChanges { steps, ..FactorChanges::default() };
        let table = param::table([("steps", changes.value("steps").expect("some"))]);
        queue.set("scale", table).expect("a factor");
        // 1 ms a packet: one in service and 8 that wait, then one each half of a millisecond.
        let first = (0..9).map(|_| (0, 1000));
        let then = (0..60).map(|half| (600_000 + half * 500_000, 1000));
        let arrivals: Vec<_> = first.chain(then).collect();
        let outcome =
            run(LinkConfig::new(mbps(8), TimeDelta::ZERO, queue), &arrivals, Ecn::NotEct, millis(60));
        let refused = |offered: &[Offered]| offered.iter().filter(|&&one| one == Offered::Dropped).count();
        // Until 7 ms two or more wait: 13 come and are refused.
        assert!(refused(&outcome.offered[..9]) == 0 && refused(&outcome.offered[9..22]) == 13, "{kind}");
        let departed = departed(&outcome);
        assert_eq!(departed[..9], [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|time| time * 1_000_000), "{kind}");
        // With room for two, and from 20 ms on for five, every second one is refused once that is full.
        let waits = |from: u64, until: u64| {
            let within =
                outcome.departures.iter().filter(|one| (millis(from)..millis(until)).contains(&one.departed));
            within.map(|one| one.wait.as_nanos() / 500_000).max()
        };
        assert_eq!((waits(12, 20), waits(28, 31)), (Some(3), Some(9)), "{kind}");
    }
}
