//! FQ-CoDel: shares, sparse flows, and who pays when the limit is reached.

use super::drive::{Log, drive, drive_link, merged, packet, plain, steady};
use super::*;
use crate::FqCoDelConfig;

fn fq(change: impl Fn(&mut FqCoDelConfig)) -> QueueConfig {
    let mut config = FqCoDelConfig::default();
    change(&mut config);
    QueueConfig::FqCoDel(config)
}

/// Bytes per flow of the departures after 100 ms, and Jain's index of them.
fn shares(log: &Log, flows: u64) -> (Vec<f64>, f64) {
    let bytes = |flow| log.of(flow, 100).map(|departure| departure.packet.size as f64).sum::<f64>();
    let shares: Vec<f64> = (0..flows).map(bytes).collect();
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|x| x * x).sum::<f64>());
    let jain = sum * sum / (flows as f64 * squares);
    (shares, jain)
}

/// Four flows of different packets that each ask for more than the link has.
fn greedy(queue: QueueConfig) -> Log {
    let flow = |flow, size, rate| steady(flow, Ecn::NotEct, size, rate, 0, 3000);
    let all = merged([flow(0, 1500, 12.0), flow(1, 1500, 24.0), flow(2, 300, 16.0), flow(3, 700, 48.0)]);
    drive(plain(mbps(8), queue), all, millis(3000))
}

#[test]
fn greedy_flows_get_the_same_in_bytes_whatever_they_ask_for() {
    let (found, jain) = shares(&greedy(fq(|_| ())), 4);
    assert!(jain > 0.9999, "{jain}: {found:?}");
    // One queue for all: each gets by what it sends.
    let (found, jain) = shares(&greedy(fq(|config| config.flows = 1)), 4);
    assert!((0.6..0.9).contains(&jain), "{jain}: {found:?}");
}

#[test]
fn a_sparse_flow_passes_by_those_that_queue() {
    let arrivals = || {
        let greedy = [0, 2, 3, 4, 5].map(|flow| steady(flow, Ecn::NotEct, 1500, 2.4, 0, 3000));
        merged(greedy.into_iter().chain([steady(1, Ecn::NotEct, 200, 0.08, 1, 3000)]))
    };
    let longest = |log: &Log| log.of(1, 100).map(|departure| departure.wait.as_nanos()).max().unwrap_or(0);
    let log = drive(plain(mbps(8), fq(|_| ())), arrivals(), millis(3000));
    // It waits for the packet in service, 1.5 ms, and never for a turn of the others.
    assert!((1_000_000..=1_500_000).contains(&longest(&log)), "{} ns", longest(&log));
    assert_eq!((log.drops(1, 0), log.of(1, 0).count()), (0, 149));
    assert!(log.mean_wait(1000) > 20.0, "the others do wait: {} ms", log.mean_wait(1000));
    let log = drive(plain(mbps(8), fq(|config| config.flows = 1)), arrivals(), millis(3000));
    assert!(longest(&log) > 20_000_000, "{} ns in one queue", longest(&log));
}

#[test]
fn a_packet_that_finds_the_link_idle_is_paid_for_too() {
    let order = |size| {
        let arrivals = [
            (0, packet(0, 0, size, Ecn::NotEct)),
            (0, packet(1, 0, size, Ecn::NotEct)),
            (1, packet(0, 1, size, Ecn::NotEct)),
        ];
        let log = drive(plain(mbps(8), fq(|_| ())), arrivals, millis(10));
        log.departures.iter().map(|departure| departure.packet.flow()).collect::<Vec<_>>()
    };
    assert_eq!(order(1514), [0, 1, 0], "its first packet took the quantum");
    assert_eq!(order(1513), [0, 0, 1], "a byte is left of it");
}

#[test]
fn a_flow_that_always_comes_back_does_not_starve_the_others() {
    // Flow 1 sends a packet whenever one of its own departs: its queue is empty again and again, but for one round old.
    let mut link = Link::new(plain(mbps(12), fq(|_| ())), 1, "test").expect("a valid link");
    let mut departures = Vec::new();
    for n in 0..2000u64 {
        let now = Time::from_nanos(n * 1_000_000);
        let mut sink = |departure: Departure<Packet>| departures.push(departure.packet.flow());
        link.offer(now, packet(n, 0, 1500, Ecn::NotEct), &mut sink);
        link.offer(now, packet(n, 1, 1500, Ecn::NotEct), &mut sink);
    }
    let late = &departures[200..];
    let ones = late.iter().filter(|&&flow| flow == 1).count() as f64 / late.len() as f64;
    assert!((0.49..0.51).contains(&ones), "{ones}");
}

/// One packet in service, `fat` packets of flow 0 and `thin` of flow 1, and then one of flow 2.
fn overflow(limit: u64, fat: u64, thin: u64) -> Log {
    let burst = |flow, count| (1..=count).map(move |n| (0, packet(n, flow, 1000, Ecn::NotEct)));
    let arrivals =
        [(0, packet(0, 6, 1000, Ecn::NotEct))].into_iter().chain(burst(0, fat)).chain(burst(1, thin));
    let queue = fq(|config| config.limit = QueueLimit::Packets(limit));
    drive(plain(mbps(8), queue), arrivals.chain([(1, packet(1, 2, 1000, Ecn::NotEct))]), Time::from_nanos(2))
}

#[test]
fn the_fattest_queue_pays_for_the_limit_half_of_it_and_64_at_most() {
    for (limit, fat, thin, dropped) in [(100, 90, 10, 45), (1000, 990, 10, 64), (6, 4, 2, 2)] {
        let log = overflow(limit, fat, thin);
        let ids: Vec<_> = log.discarded.iter().map(|(_, packet)| (packet.flow(), packet.id / 7)).collect();
        let expected: Vec<_> = (1..=dropped).map(|n| (0, n)).collect();
        assert_eq!(ids, expected, "from its head, first in first out");
        assert!(log.refused.is_empty());
        assert_eq!(log.counters.queue_packets, fat + thin + 1 - dropped);
    }
    // A newcomer that is itself the fattest queue is what goes.
    let big = [
        (0, packet(0, 6, 100, Ecn::NotEct)),
        (0, packet(1, 0, 100, Ecn::NotEct)),
        (1, packet(2, 1, 1500, Ecn::NotEct)),
    ];
    let log =
        drive(plain(mbps(8), fq(|config| config.limit = QueueLimit::Packets(1))), big, Time::from_nanos(2));
    assert_eq!((log.discarded.len(), log.refused.len()), (0, 1));
}

#[test]
fn a_limit_in_bytes_makes_room_for_what_fits_and_refuses_what_never_could() {
    let queue = fq(|config| config.limit = QueueLimit::Bytes(Bytes::new(5000)));
    let small = (0..11u64).map(|n| (0, packet(n, 0, 500, Ecn::NotEct)));
    let large = [(1, packet(20, 1, 4000, Ecn::NotEct)), (2, packet(21, 2, 6000, Ecn::NotEct))];
    let log = drive(plain(mbps(8), queue), small.chain(large), Time::from_nanos(3));
    // Ten of 500 B wait, and 4000 B come: half of the ten go; now the newcomer is the fattest.
    assert_eq!((log.discarded.len(), log.refused.len()), (5, 2));
    assert_eq!(log.counters.queue_bytes, Bytes::new(2500));
}

#[test]
fn beyond_the_ce_threshold_every_packet_that_can_be_is_marked() {
    let queue = || fq(|config| config.ce_threshold = Some(TimeDelta::from_millis(2)));
    // Packet n of a burst waits n ms: below CoDel's concern, and marked from 3 ms on.
    let burst = |ecn| (0..10u64).map(move |n| (0, packet(n, 0, 1000, ecn)));
    let log = drive(plain(mbps(8), queue()), burst(Ecn::Ect1), millis(20));
    let marked: Vec<_> = log.departures.iter().map(|departure| departure.packet.ecn.is_ce()).collect();
    assert_eq!(marked, [false, false, false, true, true, true, true, true, true, true]);
    assert_eq!(log.counters.marked, 7);
    assert_eq!(drive(plain(mbps(8), queue()), burst(Ecn::NotEct), millis(20)).counters.marked, 0);
}

#[test]
fn which_flows_share_a_queue_depends_on_the_seed() {
    let arrivals =
        || merged([steady(0, Ecn::NotEct, 1500, 12.0, 0, 500), steady(1, Ecn::NotEct, 1500, 36.0, 0, 500)]);
    let shared = (0..40u64).filter(|seed| {
        let config = plain(mbps(8), fq(|config| config.flows = 2));
        let mut link = Link::new(config, *seed, "test").expect("a valid link");
        shares(&drive_link(&mut link, arrivals(), millis(500)), 2).1 < 0.95
    });
    // Half of the seeds; four standard deviations.
    assert!((8..=32).contains(&shared.count()));
}
