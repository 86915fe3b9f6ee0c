//! Shapers: rate and burst against arithmetic, their queue and its limit, and the link's own queue behind them.

use super::drive::{drive, packet, steady};
use super::*;
use crate::{NoiseConfig, PolicerAction, PolicerConfig, ShaperConfig, UniformNoise};
use paceline_units::param::{ParamSet, Value};

/// 8 Mbit/s, which is a packet of 1000 B in a millisecond, and room for 5 of them.
fn shaper(burst: u64, packets: u64) -> ShaperConfig {
    let (rate, burst, packets) = (Bitrate::from_mbps(8), Bytes::new(burst), Some(packets));
    ShaperConfig { rate, burst, packets, ..ShaperConfig::default() }
}

fn shaped(shaper: ShaperConfig, queue: QueueConfig, rate: u64) -> LinkConfig {
    LinkConfig { shaper: Some(shaper), ..LinkConfig::new(mbps(rate), TimeDelta::ZERO, queue) }
}

fn at_once(count: u64) -> impl Iterator<Item = (u64, Packet)> {
    (0..count).map(|number| (0, packet(number, 0, 1000, Ecn::NotEct)))
}

#[test]
fn a_burst_passes_at_once_and_the_rest_as_tokens_come() {
    for kind in ["droptail", "codel", "fq-codel", "dualpi2"] {
        let mut queue = QueueConfig::of(kind).expect("there is one");
        queue.set_limit(QueueLimit::Packets(1000));
        // 8 Gbit/s: a microsecond a packet.
        let log = drive(shaped(shaper(3000, 5), queue, 8000), at_once(10), millis(100));
        let departed: Vec<_> = log.departures.iter().map(|one| one.departed.as_nanos()).collect();
        let after = |packets: u64| 1_000_000 * packets + 1_000;
        assert_eq!(
            departed,
            [1_000, 2_000, 3_000, after(1), after(2), after(3), after(4), after(5)],
            "{kind}"
        );
        let waits: Vec<_> = log.departures.iter().map(|one| one.wait.as_nanos()).collect();
        assert_eq!(waits[..4], [0, 1_000, 2_000, 1_000_000], "{kind}: the wait for tokens counts");
        let counters = log.counters;
        assert_eq!((counters.shaped, counters.dropped, counters.departed), (5, 2, 8), "{kind}");
        assert_eq!(log.refused.len(), 2, "{kind}: those that found no room");
        // 1 + ... + 5 ms for tokens, 1 + 2 us behind the packets of the burst.
        assert_eq!(counters.queue_packet_ns, 15_000_000 + 3_000, "{kind}");
        assert_eq!(counters.queue_packets_max, 5 + 2, "{kind}: 2 of the burst wait for the server");
    }
}

#[test]
fn over_a_second_the_rate_is_the_shapers_to_the_packet() {
    let queue = QueueConfig::droptail(QueueLimit::Packets(9));
    let log = drive(
        shaped(shaper(10_000, 50), queue, 100),
        steady(0, Ecn::NotEct, 1000, 16.0, 0, 2000),
        millis(2000),
    );
    // 2000 packets of tokens and the burst of 10, of which the last is still on its way.
    assert!((2008..=2010).contains(&log.counters.departed), "{}", log.counters.departed);
    assert!(is_conserved(&log.counters) && (49..=50).contains(&log.counters.queue_packets));
    // Never more in any 10 ms than their tokens and the burst.
    for first in &log.departures {
        let end = first.departed + TimeDelta::from_millis(10);
        let within = log.departures.iter().filter(|one| one.departed >= first.departed && one.departed < end);
        assert!(within.count() <= 10 + 10 + 1);
    }
}

#[test]
fn the_links_queue_stands_behind_the_shaper() {
    // The link is half as fast as the shaper: its queue of two fills, and drops what the shaper lets through.
    let queue = QueueConfig::droptail(QueueLimit::Packets(2));
    let log = drive(shaped(shaper(1000, 100), queue, 4), at_once(20), millis(100));
    assert_eq!(log.discarded.len() as u64, log.counters.dropped);
    assert!(log.refused.is_empty() && is_conserved(&log.counters));
    let when: Vec<_> = log.discarded.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    // Every second packet, as soon as both places are taken.
    assert_eq!(when, [5, 7, 9, 11, 13, 15, 17, 19]);
}

#[test]
fn a_packet_larger_than_the_bucket_never_passes() {
    let queue = QueueConfig::droptail(QueueLimit::Unlimited);
    let arrivals = [(0, packet(0, 0, 1001, Ecn::NotEct)), (1, packet(1, 0, 1000, Ecn::NotEct))];
    let log = drive(shaped(shaper(1000, 5), queue, 100), arrivals, millis(10));
    assert_eq!((log.refused.len(), log.departures.len()), (1, 1));
    assert_eq!(log.departures[0].packet.size, 1000);
}

#[test]
fn limits_in_time_and_bytes_are_at_the_shapers_rate() {
    let queue = || QueueConfig::droptail(QueueLimit::Unlimited);
    for limited in [
        ShaperConfig { packets: None, limit: Some(TimeDelta::from_millis(4)), ..shaper(1000, 1) },
        ShaperConfig { packets: None, bytes: Some(Bytes::new(4999)), ..shaper(1000, 1) },
        shaper(1000, 4),
    ] {
        let log = drive(shaped(limited, queue(), 1000), at_once(9), millis(50));
        assert_eq!((log.counters.departed, log.counters.dropped), (5, 4));
    }
}

#[test]
fn a_policer_and_losses_come_before_it_and_noise_behind() {
    let policer =
        PolicerConfig { rate: Bitrate::from_mbps(4), burst: Bytes::new(5000), action: PolicerAction::Drop };
    let noise = UniformNoise { max: TimeDelta::from_millis(2), ..UniformNoise::default() };
    let config = LinkConfig {
        policer: Some(policer),
        noise: vec![NoiseConfig::Uniform(noise)],
        ..shaped(shaper(1000, 3), QueueConfig::droptail(QueueLimit::Unlimited), 1000)
    };
    let log = drive(config, at_once(9), millis(50));
    let LinkCounters { policed, shaped, dropped, departed, .. } = log.counters;
    assert_eq!((policed, shaped, dropped, departed), (4, 3, 5, 4));
    assert!(log.departures.iter().all(|one| one.arrives >= one.departed && one.wait >= TimeDelta::ZERO));
}

#[test]
fn a_shaper_needs_a_burst_and_one_limit() {
    let error = |shaper: ShaperConfig| {
        let config = shaped(shaper, QueueConfig::droptail(QueueLimit::Unlimited), 10);
        Link::<Packet>::new(config, 1, "l").expect_err("wrong").to_string()
    };
    let none = ShaperConfig { packets: None, ..shaper(1000, 1) };
    assert!(error(none.clone()).contains("exactly one of limit (a time), packets or bytes"));
    let two = ShaperConfig { bytes: Some(Bytes::new(1)), ..shaper(1000, 1) };
    assert!(error(two).starts_with("shaper: found"));
    assert!(error(ShaperConfig { burst: Bytes::ZERO, ..shaper(1000, 1) }).starts_with("shaper.burst: found"));
    assert!(none.clone().set("rate", Value::Rate(Bitrate::ZERO)).is_err());
}
