//! The packet path allocates nothing once warm.

use paceline_link::{
    Link, LinkConfig, LossConfig, MarkConfig, NoiseConfig, QueueConfig, QueueLimit, RateProcess,
    Rfc8868Noise, Trace, Transit,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

#[derive(Clone, Copy)]
struct Packet(Ecn);

impl Transit for Packet {
    fn size(&self) -> Bytes {
        Bytes::new(1212)
    }

    fn ecn(&self) -> Ecn {
        self.0
    }

    fn mark_ce(&mut self) {
        self.0 = Ecn::Ce;
    }

    fn flow(&self) -> u64 {
        u64::from(self.0.bits())
    }
}

/// No allocation by a queue of this kind that is overloaded, once it has seen the most that it will hold.
fn allocates_nothing(queue: QueueConfig) {
    let mut config =
        LinkConfig::new(RateProcess::Constant(Bitrate::from_mbps(50)), TimeDelta::from_millis(10), queue);
    config.mark = Some(MarkConfig::ramp(TimeDelta::ZERO, TimeDelta::from_millis(5)));
    let mut link = Link::new(config, 1, "warm").expect("a valid link");
    let (mut arrived, mut dropped) = (0u64, 0u64);
    let mut offer = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            // A little more than the link has in most seconds, much more in every fourth, and flows of every codepoint.
            let now = Time::from_nanos(
                number * 190_000 - if number / 5000 % 4 == 0 { number % 5000 * 60_000 } else { 0 },
            );
            let packet = Packet([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct][(number % 4) as usize]);
            link.offer(now, packet, &mut |_| arrived += 1);
            while link.take_dropped().is_some() {
                dropped += 1;
            }
            if number % 64 == 0 {
                link.settle(now);
            }
        }
        link.counters()
    };
    let warm = offer(1..100_000);
    let before = crate::counting::allocations();
    let counters = offer(100_000..200_000);
    assert_eq!(crate::counting::allocations() - before, 0);
    assert!(
        counters.dropped > warm.dropped && counters.marked > warm.marked && arrived > 100_000,
        "{counters:?}"
    );
}

#[test]
fn warm_disciplines_allocate_nothing() {
    for kind in QueueConfig::KINDS.iter().skip(1) {
        allocates_nothing(QueueConfig::of(kind).expect("there is one"));
    }
}

#[test]
fn a_warm_link_allocates_nothing() {
    let segments =
        (0..100u64).map(|index| (TimeDelta::from_millis(1), Bitrate::from_mbps(50 + index % 7 * 20)));
    let trace = Trace::from_segments(segments).expect("a trace");
    let rate = RateProcess::Trace { trace, offset: TimeDelta::ZERO, scale: 1.0, repeat: true };
    let limit = QueueLimit::Packets(100);
    let mut config = LinkConfig::new(rate, TimeDelta::from_millis(10), QueueConfig::droptail(limit));
    config.mark = Some(MarkConfig::ramp(TimeDelta::ZERO, TimeDelta::from_millis(5)));
    config.loss = Some(LossConfig::gilbert(0.01, 0.2));
    config.noise = vec![NoiseConfig::Rfc8868(Rfc8868Noise::default())];
    let mut link = Link::new(config, 1, "warm").expect("a valid link");
    let mut arrived = 0u64;
    let mut offer = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            let now = Time::from_nanos(number * 80_000);
            link.offer(now, Packet(Ecn::Ect1), &mut |departure| {
                arrived += u64::from(departure.packet.0.is_ce())
            });
            if number % 64 == 0 {
                link.settle(now);
            }
        }
        link.counters()
    };
    let warm = offer(0..10_000);
    let before = crate::counting::allocations();
    let counters = offer(10_000..200_000);
    assert_eq!(crate::counting::allocations() - before, 0);
    assert!(counters.dropped > warm.dropped && counters.marked > warm.marked && counters.lost > warm.lost);
}
