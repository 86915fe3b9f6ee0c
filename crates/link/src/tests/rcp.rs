//! The RCP router: its rate by the equation, the mean round trip, quiet intervals, and headers that lie.

use super::xcp::Headed;
use super::*;
use crate::RcpConfig;
use crate::queue::headers::Router as _;
use crate::queue::packet_queue::LinkContext;
use crate::queue::rcp::Router;
use paceline_units::{CongestionHeader, Feedback};

/// A router of 1 MB/s whose flows may send at 50 kB/s, with intervals of 10 ms and a mean round trip of 200 ms.
fn router(config: &RcpConfig) -> Router {
    Router::new(config, &LinkContext { nominal: Bitrate::from_mbps(8), seed: 3, name: "rcp" })
}

/// A router after its first interval, at whose start so many packets of 1000 B came of senders with this round trip, and at whose end so
/// many bytes waited.
fn measured(config: &RcpConfig, packets: usize, rtt: f32, waiting: u64) -> Router {
    let mut router = router(config);
    for _ in 0..packets {
        router.on_arrival(0, 1000, Some(&mut CongestionHeader::asking_rate(rtt)));
    }
    router.reach(router.ends, waiting);
    router
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{found}, expected {expected}");
}

/// R (1 + T/d (alpha (C - y) - beta Q/d) / C), by hand.
#[test]
fn the_rate_follows_the_equation() {
    let usual = RcpConfig::default();
    close(router(&usual).rate, 50_000.0);
    // 4 kB in 10 ms are 400 kB/s: T/d = 0.05, and 0.05 * 0.4 * 0.6 = 0.012.
    close(measured(&usual, 4, 0.2, 0).rate, 50_600.0);
    // The link's own rate, and 10 kB wait: 0.05 * 0.4 * 10 kB / 0.2 s / 1 MB/s = 0.001.
    close(measured(&usual, 10, 0.2, 10_000).rate, 49_950.0);
    close(measured(&usual, 10, 0.2, 0).rate, 50_000.0);
}

/// Constants a fifth off are seen.
#[test]
fn another_constant_gives_another_rate() {
    let usual = RcpConfig::default();
    close(measured(&RcpConfig { alpha: 0.48, ..usual.clone() }, 4, 0.2, 0).rate, 50_720.0);
    close(measured(&RcpConfig { beta: 0.48, ..usual.clone() }, 10, 0.2, 10_000).rate, 49_940.0);
    close(router(&RcpConfig { first_share: 0.06, ..usual.clone() }).rate, 60_000.0);
    // Nine tenths of the capacity are to be filled: (0.9 - 0.4) / 0.9 of 0.02 more.
    close(measured(&RcpConfig { gamma: 0.9, ..usual }, 4, 0.2, 0).rate, 50_000.0 * (1.0 + 0.02 * 0.5 / 0.9));
}

/// A packet whose transmission reaches into the next interval counts there by that part.
#[test]
fn a_packet_across_two_intervals_counts_in_both() {
    let mut router = router(&RcpConfig::default());
    // 0.25 of the millisecond that it takes are left of the interval.
    router.on_arrival(9_750_000, 1000, None);
    router.reach(10_000_000, 0);
    close(router.rate, 50_000.0 * (1.0 + 0.02 * (1.0 - 0.025)));
    let before = router.rate;
    router.reach(20_000_000, 0);
    close(router.rate, before * (1.0 + 0.02 * (1.0 - 0.075)));
}

/// A longer round trip counts by T/d, a shorter one by the part R/C of it.
#[test]
fn the_mean_round_trip_rises_fast_and_falls_slowly() {
    close(measured(&RcpConfig::default(), 5, 0.4, 0).mean_rtt, 0.2 + 0.05 * 0.2);
    close(measured(&RcpConfig::default(), 5, 0.1, 0).mean_rtt, 0.2 - 0.05 * 0.05 * 0.5 * 0.1);
    // Intervals are no longer than the mean round trip.
    let short = RcpConfig { first_rtt: TimeDelta::from_millis(4), ..RcpConfig::default() };
    close(router(&short).interval, 0.004);
}

/// Many intervals without a packet are as many steps of the equation.
#[test]
fn quiet_intervals_are_counted() {
    let (mut at_once, mut one_by_one) = (router(&RcpConfig::default()), router(&RcpConfig::default()));
    at_once.reach(1_000_000_000, 3_000);
    (1..=100).for_each(|step| one_by_one.reach(step * 10_000_000, 3_000));
    close(at_once.rate, one_by_one.rate);
    assert_eq!(at_once.ends, one_by_one.ends);
    for now in [1_u64 << 40, 1 << 60, u64::MAX - 1] {
        at_once.reach(now, 0);
        assert!(at_once.ends > now);
    }
    close(at_once.rate, 1e6);
    // A queue that never drains takes the rate to a hundredth of a packet in a round trip.
    let mut stalled = router(&RcpConfig::default());
    stalled.reach(1 << 50, 10_000_000);
    close(stalled.rate, 0.01 * 1000.0 / 0.2);
}

#[test]
fn a_lower_word_stays_and_headers_that_ask_for_changes_do() {
    let mut router = router(&RcpConfig::default());
    let mut told = |feedback, kind| {
        let mut header = CongestionHeader { feedback, kind, ..CongestionHeader::asking_rate(0.1) };
        router.on_departure(1000, 1000, Some(&mut header));
        header.feedback
    };
    for (asked, given) in
        [(f32::INFINITY, 50_000.0), (60_000.0, 50_000.0), (40_000.0, 40_000.0), (0.0, 0.0), (-1.0, 50_000.0)]
    {
        assert_eq!(told(asked, Feedback::Rate), given);
    }
    assert_eq!(told(f32::NAN, Feedback::Rate), 50_000.0);
    assert_eq!(told(f32::INFINITY, Feedback::Change), f32::INFINITY);
}

#[test]
fn headers_that_lie_leave_the_rate_between_its_bounds() {
    const ODD: [f32; 9] =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 0.0, 1e-38, 1e-5, 10.0, f32::MAX];
    let mut router = router(&RcpConfig::default());
    let mut now = 0;
    for rtt in ODD {
        for feedback in ODD {
            for kind in [Feedback::Change, Feedback::Rate] {
                let mut header = CongestionHeader { rtt, spacing: rtt, feedback, kind };
                router.on_arrival(now, 1500, Some(&mut header));
                router.on_departure(1500, 3000, Some(&mut header));
                now += 7_000_000;
                router.reach(now, 3000);
                assert!(router.ends > now, "intervals go on");
                let (rate, rtt) = (router.rate, router.mean_rtt);
                assert!(
                    rate > 0.0 && rate <= 1e6 && (1e-6..=100.0).contains(&rtt),
                    "{rate} {rtt} after {header:?}"
                );
            }
        }
    }
}

/// A router writes into headers that it was lent as into those that packets carry; a queue without a router keeps none.
#[test]
fn a_lent_header_is_written_into() {
    for (queue, rate) in [
        (QueueConfig::Rcp(RcpConfig::default()), Some(50_000.0)),
        (QueueConfig::of("red").expect("a queue"), None),
    ] {
        let mut queue = queue;
        queue.set_limit(QueueLimit::Packets(100));
        let config = LinkConfig::new(RateProcess::Constant(Bitrate::from_mbps(8)), TimeDelta::ZERO, queue);
        let mut link = Link::new(config, 1, "l").expect("a link");
        let mut left = Vec::new();
        for key in [7, 2, 0] {
            link.lend(key, CongestionHeader::asking_rate(0.2));
            link.offer(Time::ZERO, Headed::Lent(key), &mut |departure| left.push(departure.packet));
        }
        assert!(link.lent(7).is_none_or(|header| header.feedback == 50_000.0), "it found the link idle");
        link.advance(Time::from_nanos(5_000_000), &mut |departure| left.push(departure.packet));
        let left: Vec<_> = left.iter().map(|packet| packet.lent_key().expect("it is lent one")).collect();
        assert_eq!(left, [7, 2, 0]);
        for key in left {
            assert_eq!(link.lent(key).map(|header| header.feedback), rate);
        }
        assert_eq!(link.lent(99), None);
    }
}
