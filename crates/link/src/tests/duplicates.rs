//! Copies of packets: how many, when they arrive, and what the link counts.

use super::drive::{drive, packet};
use super::*;
use crate::{Arrival, DuplicateConfig};

fn config(ratio: f64, delay: u64) -> LinkConfig {
    let delay = TimeDelta::from_millis(delay as i64);
    LinkConfig { duplicate: Some(DuplicateConfig { ratio: ratio.into(), delay }), ..unlimited(mbps(100)) }
}

fn spaced(count: u64) -> impl Iterator<Item = (u64, Packet)> {
    (0..count).map(|n| (n * 1_000_000, packet(n, 0, 1000, Ecn::NotEct)))
}

#[test]
fn a_part_of_the_packets_arrives_twice() {
    let log = drive(config(0.1, 5), spaced(10_000), Time::MAX);
    let twice = log.departures.iter().filter(|one| one.arrival == Arrival::Twice).count() as u64;
    assert!((900..1100).contains(&twice), "{twice}");
    let LinkCounters { duplicated, departed, offered, .. } = log.counters;
    assert_eq!((duplicated, departed, offered), (twice, 10_000, 10_000));
    // The first half of the time has the first half of them.
    let early = drive(config(0.1, 5), spaced(10_000), millis(5000));
    assert!((0.4..0.6).contains(&(early.counters.duplicated as f64 / twice as f64)));
}

#[test]
fn a_damaged_packet_is_not_copied() {
    let both = LinkConfig { corrupt: 0.5.into(), ..config(1.0, 0) };
    let log = drive(both, spaced(1000), Time::MAX);
    let twice = log.departures.iter().filter(|one| one.arrival == Arrival::Twice).count() as u64;
    assert_eq!(log.counters.corrupted + twice, 1000);
    assert!(log.departures.iter().all(|one| one.arrival != Arrival::Whole));
}

#[test]
fn copies_that_come_later_break_the_order() {
    let keeps = |config| Link::<Packet>::new(config, 1, "l").expect("a link").keeps_order();
    assert!(keeps(config(0.1, 0)) && !keeps(config(0.1, 5)) && keeps(config(0.0, 5)));
    let link = Link::<Packet>::new(config(0.1, 5), 1, "l").expect("a link");
    assert_eq!((link.copy_delay(), link.is_plain()), (TimeDelta::from_millis(5), false));
}
