//! Service times against rational arithmetic.

use super::*;

/// ceil(`packets` · `size` · 8e9 / `bps`), in u128.
fn exact_end(packets: u64, size: u64, bps: u64) -> u64 {
    let work = u128::from(packets) * u128::from(size) * 8_000_000_000;
    work.div_ceil(u128::from(bps)) as u64
}

#[test]
fn back_to_back_packets_end_where_the_rational_number_says() {
    for (size, bps) in
        [(1212, 20_000_000), (1212, 3_000_000_007), (997, 7), (1, 999_999_999_999_989), (1500, 3_333_333)]
    {
        let config = unlimited(RateProcess::Constant(Bitrate::from_bps(bps)));
        let outcome = run(config, &vec![(0, size); 1000], Ecn::NotEct, Time::MAX);
        for (index, &end) in departed(&outcome).iter().enumerate() {
            assert_eq!(
                end,
                exact_end(index as u64 + 1, size, bps),
                "packet {index} of {size} B at {bps} bit/s"
            );
        }
        assert_eq!(outcome.departures.len(), 1000);
    }
}

#[test]
fn mixed_sizes_carry_their_remainders_too() {
    let sizes: Vec<u64> = (0..5000).map(|index| 40 + index * index % 1461).collect();
    let arrivals: Vec<Arrival> = sizes.iter().map(|&size| (0, size)).collect();
    let outcome = run(
        unlimited(RateProcess::Constant(Bitrate::from_bps(12_345_677))),
        &arrivals,
        Ecn::NotEct,
        Time::MAX,
    );
    assert_eq!(departed(&outcome).last(), Some(&exact_end(1, sizes.iter().sum(), 12_345_677)));
}

#[test]
fn an_idle_server_starts_at_the_arrival() {
    // 1250 B at 10 Mbit/s take 1 ms; the second finds an idle server at the very end of the first.
    let outcome =
        run(unlimited(mbps(10)), &[(0, 1250), (1_000_000, 1250), (5_000_000, 1250)], Ecn::NotEct, Time::MAX);
    assert_eq!(departed(&outcome), [1_000_000, 2_000_000, 6_000_000]);
    assert!(outcome.departures.iter().all(|departure| departure.wait == TimeDelta::ZERO));
    assert_eq!(outcome.counters.queue_packets_max, 0);
}

#[test]
fn propagation_and_overhead_are_added() {
    let mut config = unlimited(mbps(10));
    config.delay = TimeDelta::from_millis(10).into();
    config.overhead = Bytes::new(250);
    let outcome = run(config, &[(0, 1000), (0, 1000)], Ecn::NotEct, millis(50));
    let second = outcome.departures[1];
    assert_eq!((second.departed, second.arrives), (millis(2), millis(12)));
    assert_eq!((second.wait, second.noise), (TimeDelta::from_millis(1), TimeDelta::ZERO));
    assert_eq!(outcome.counters.departed_bytes, Bytes::new(2500));
}

#[test]
fn a_packet_in_service_is_served_at_the_new_rate_from_the_change_on() {
    // 10 000 bits: 5 ms at 1 Mbit/s serve half, 0.5 ms at 10 Mbit/s the rest.
    let steps = vec![(Time::ZERO, Bitrate::from_mbps(1)), (millis(5), Bitrate::from_mbps(10))];
    let outcome = run(unlimited(RateProcess::Steps(steps)), &[(0, 1250), (0, 1250)], Ecn::NotEct, Time::MAX);
    assert_eq!(departed(&outcome), [5_500_000, 6_500_000]);
}

#[test]
fn the_carry_survives_a_change_of_rate() {
    // Three packets of 1000 B at 3 Gbit/s, where each takes 2666.67 ns; the change comes in the middle of the third.
    let steps =
        vec![(Time::ZERO, Bitrate::from_bps(3_000_000_000)), (Time::from_nanos(6000), Bitrate::from_bps(7))];
    let outcome = run(unlimited(RateProcess::Steps(steps)), &[(0, 1000); 3], Ecn::NotEct, Time::MAX);
    // 24 000 bits less 18 000 by 6 us, the other 6 000 at 7 bit/s.
    assert_eq!(departed(&outcome), [2667, 5334, 6000 + 6_000_000_000_000u64.div_ceil(7)]);
}

#[test]
fn an_outage_holds_queue_and_service() {
    let mut config = unlimited(mbps(10));
    // Overlapping, nested and out of order: together [2.5, 7) ms.
    config.down =
        vec![(millis(4), millis(7)), (Time::from_nanos(2_500_000), millis(5)), (millis(5), millis(6))];
    let outcome = run(config.clone(), &[(0, 1250); 4], Ecn::NotEct, Time::MAX);
    assert_eq!(departed(&outcome), [1_000_000, 2_000_000, 7_500_000, 8_500_000]);
    let link = Link::<Packet>::new(config, 1, "test").expect("a valid link");
    assert_eq!(link.rate_at(millis(3)), Bitrate::ZERO);
    assert_eq!(link.rate_at(millis(7)), Bitrate::from_mbps(10));
    assert_eq!(link.capacity_bits(Time::ZERO, millis(10)), 55_000.0);
    assert_eq!(link.capacity_bits(millis(3), millis(6)), 0.0);
    assert_eq!(link.capacity_bits(millis(6), millis(8)), 10_000.0);
}

#[test]
fn a_departure_that_never_comes_is_not_announced() {
    let steps = vec![(Time::ZERO, Bitrate::from_mbps(10)), (Time::from_nanos(1_500_000), Bitrate::ZERO)];
    let config = limited(RateProcess::Steps(steps), QueueLimit::Packets(2));
    let arrivals = [(0, 1250), (0, 1250), (0, 1250), (2_000_000, 1250), (3_000_000, 1250), (u64::MAX, 1250)];
    let outcome = run(config, &arrivals, Ecn::NotEct, Time::MAX);
    let counters = outcome.counters;
    assert_eq!(departed(&outcome), [1_000_000]);
    assert_eq!((counters.departed, counters.dropped), (1, 2));
    assert_eq!((counters.in_service, counters.queue_packets, counters.queue_packets_max), (1, 2, 2));
    assert!(is_conserved(&counters));
}

#[test]
fn a_link_that_is_always_busy_is_fully_used() {
    let outcome = run(unlimited(mbps(8)), &vec![(0, 1000); 2000], Ecn::NotEct, millis(1000));
    let link = Link::<Packet>::new(unlimited(mbps(8)), 1, "test").expect("a valid link");
    let capacity = link.capacity_bits(Time::ZERO, millis(1000));
    assert_eq!(outcome.counters.departed_bytes.as_bits_f64() / capacity, 1.0);
    assert_eq!(outcome.counters.departed, 1000);
}

#[test]
fn a_packet_larger_than_any_link_is_dropped() {
    let outcome =
        run(unlimited(mbps(8)), &[(0, u64::MAX), (0, 1 << 30), (0, (1 << 30) + 1)], Ecn::NotEct, Time::ZERO);
    assert_eq!(outcome.offered, [Offered::Dropped, Offered::Accepted, Offered::Dropped]);
}

/// Bits that the server has served until `nanos`, of a link that was offered `packets` of 1250 B at time 0.
fn served_until(config: &LinkConfig, packets: usize, nanos: u64) -> f64 {
    let mut link = Link::new(config.clone(), 1, "test").expect("a valid link");
    for id in 0..packets as u64 {
        let _ = link.offer(Time::ZERO, Packet { id, size: 1250, ecn: Ecn::NotEct }, &mut |_| {});
    }
    link.settle(Time::from_nanos(nanos));
    link.service(Time::from_nanos(nanos)).served as f64 / 1e9
}

#[test]
fn of_a_packet_in_service_the_part_counts_that_has_left() {
    let slow = unlimited(RateProcess::Constant(Bitrate::from_bps(10_000)));
    for (packets, nanos, bits) in [
        (1, 0, 0.0),
        (1, 250_000_000, 2500.0),
        (1, 1_000_000_000, 10e3),
        (3, 1_750_000_000, 17.5e3),
        (1, 3_000_000_000, 10e3),
    ] {
        assert_eq!(served_until(&slow, packets, nanos), bits, "{packets} packets until {nanos} ns");
    }
}

#[test]
fn a_packet_that_never_leaves_is_served_as_far_as_it_came() {
    let mut config = unlimited(mbps(10));
    config.down = vec![(Time::from_nanos(1_500_000), Time::MAX)];
    for queue in [QueueConfig::droptail(QueueLimit::Unlimited), QueueConfig::of("codel").expect("there")] {
        let config = LinkConfig { queue, ..config.clone() };
        for (nanos, bits) in [(1_000_000, 10e3), (1_250_000, 12.5e3), (1_500_000, 15e3), (9_000_000, 15e3)] {
            assert_eq!(served_until(&config, 4, nanos), bits, "until {nanos} ns");
        }
    }
}
