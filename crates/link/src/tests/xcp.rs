//! The XCP router: its two controllers by the paper's equations, shuffling, other routers, and headers that lie.

use super::*;
use crate::XcpConfig;
use crate::queue::headers::Router as _;
use crate::queue::packet_queue::LinkContext;
use crate::queue::xcp::Router;
use paceline_units::{CongestionHeader, Feedback};

/// A router of 1 MB/s, whose first interval is 50 ms.
fn router(config: &XcpConfig) -> Router {
    Router::new(config, &LinkContext { nominal: Bitrate::from_mbps(8), seed: 3, name: "xcp" })
}

/// A router after an interval in which as many packets of 1000 B came, of senders with windows of so many packets and 100 ms in turn,
/// and so many bytes waited all the time.
fn measured(config: &XcpConfig, packets: usize, windows: &[f32], waiting: f64) -> Router {
    let mut router = router(config);
    router.persistent = waiting;
    for window in windows.iter().cycle().take(packets) {
        router.on_arrival(0, 1000, Some(&mut CongestionHeader::asking(0.1, 0.1 / window)));
    }
    router.reach(router.ends, 0);
    router
}

/// The router's answer to a packet of a sender with a window of so many packets.
fn given(router: &mut Router, window: f32, asked: f32) -> f64 {
    let mut header = CongestionHeader { feedback: asked, ..CongestionHeader::asking(0.1, 0.1 / window) };
    router.on_departure(1000, 1000, Some(&mut header));
    header.feedback.into()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-4 * expected.abs().max(1.0), "{found}, expected {expected}");
}

/// Section 3.5: phi = alpha d S - beta Q, here as rates; and gamma y is shuffled where phi is less.
#[test]
fn an_interval_gives_a_part_of_what_is_spare_and_takes_a_part_of_what_waits() {
    let config = XcpConfig::default();
    // 20 kB in 50 ms are 400 kB/s: 0.4 of the spare 600 kB/s, 12 kB/s for each packet.
    let mut spare = measured(&config, 20, &[10.0], 0.0);
    close(spare.up.left, 240_000.0);
    close(spare.down.left, 0.0);
    close(given(&mut spare, 10.0, f32::INFINITY), 12_000.0);
    // The link's own rate: a tenth of it is shuffled, of which equals have nothing.
    let mut full = measured(&config, 50, &[10.0], 0.0);
    close(full.up.left, 100_000.0);
    close(full.down.left, 100_000.0);
    close(given(&mut full, 10.0, f32::INFINITY), 0.0);
    // 10 kB that wait for a round trip of 100 ms: 0.226 of 100 kB/s less, shared by 50 packets.
    let mut waits = measured(&config, 50, &[10.0], 10_000.0);
    close(waits.down.left - waits.up.left, 22_600.0);
    close(given(&mut waits, 10.0, f32::INFINITY), -452.0);
}

/// Constants a fifth off are seen.
#[test]
fn another_constant_gives_something_else() {
    let usual = XcpConfig::default();
    let alpha = measured(&XcpConfig { alpha: 0.48, ..usual.clone() }, 20, &[10.0], 0.0).up.left;
    let beta = measured(&XcpConfig { beta: 0.27, ..usual.clone() }, 50, &[10.0], 10_000.0);
    let gamma = measured(&XcpConfig { gamma: 0.12, ..usual }, 50, &[10.0], 0.0).up.left;
    close(alpha, 288_000.0);
    close(beta.down.left - beta.up.left, 27_000.0);
    close(gamma, 120_000.0);
}

/// Increases are alike for each flow, decreases in proportion to rates.
#[test]
fn shuffling_moves_rate_from_the_larger_window_to_the_smaller() {
    let mut router = measured(&XcpConfig::default(), 48, &[30.0, 30.0, 30.0, 10.0], 0.0);
    // 960 kB/s: 16 kB/s are spare, and the rest of a tenth is shuffled.
    close(router.up.left, 96_000.0);
    close(router.down.left, 80_000.0);
    let (larger, smaller) =
        (given(&mut router, 30.0, f32::INFINITY), given(&mut router, 10.0, f32::INFINITY));
    let taken = 80_000.0 / 48.0;
    // 36 packets of the larger window and 12 of the smaller: each flow is given half.
    close(36.0 * (larger + taken), 48_000.0);
    close(12.0 * (smaller + taken), 48_000.0);
}

#[test]
fn another_router_s_lower_word_stays_and_leaves_more_for_others() {
    let mut router = measured(&XcpConfig::default(), 20, &[10.0], 0.0);
    close(given(&mut router, 10.0, 1_000.0), 1_000.0);
    close(router.up.left, 239_000.0);
    close(given(&mut router, 10.0, 20_000.0), 12_000.0);
    close(router.up.left, 227_000.0);
}

#[test]
fn no_more_is_given_than_there_is() {
    let mut router = measured(&XcpConfig::default(), 20, &[10.0], 0.0);
    let sum: f64 = (0..100).map(|_| given(&mut router, 10.0, f32::INFINITY)).sum();
    close(sum, 240_000.0);
}

/// A sender without a round trip is given nothing, and one without a header is load.
#[test]
fn packets_without_a_round_trip_or_a_header_count_as_load() {
    let mut router = router(&XcpConfig::default());
    let mut unknown = CongestionHeader::asking(0.0, 0.0);
    (0..10).for_each(|_| router.on_arrival(0, 1000, Some(&mut unknown)));
    (0..10).for_each(|_| router.on_arrival(0, 1000, None));
    router.reach(router.ends, 0);
    router.on_departure(1000, 1000, Some(&mut unknown));
    router.on_departure(1000, 1000, None);
    close(unknown.feedback.into(), 0.0);
    close(router.up.left, 240_000.0);
}

#[test]
fn headers_that_lie_give_no_router_a_number_that_is_none() {
    const ODD: [f32; 9] =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 0.0, 1e-38, 1e-5, 10.0, f32::MAX];
    let mut router = router(&XcpConfig::default());
    let mut now = 0;
    for rtt in ODD {
        for spacing in ODD {
            for feedback in ODD {
                let mut header = CongestionHeader { rtt, spacing, feedback, kind: Feedback::Change };
                router.on_arrival(0, 1500, Some(&mut header));
                router.on_departure(1500, 3000, Some(&mut header));
                now += 7_000_000;
                router.reach(now, 3000);
                assert!(router.ends > now, "intervals go on");
                let (up, down) = (router.up.left, router.down.left);
                assert!(
                    (0.0..1e8).contains(&up) && (0.0..1e10).contains(&down),
                    "{up} {down} after {header:?}"
                );
            }
        }
    }
    // An honest packet is served after all of it.
    let mut header = CongestionHeader::asking(0.1, 0.01);
    router.on_arrival(0, 1500, Some(&mut header));
    router.on_departure(1500, 1500, Some(&mut header));
    assert!(header.feedback.is_finite());
}

#[test]
fn a_pause_of_centuries_takes_no_time() {
    let mut router = measured(&XcpConfig::default(), 20, &[10.0], 0.0);
    for now in [1_u64 << 40, 1 << 60, u64::MAX - 1] {
        router.reach(now, 0);
        assert!(router.ends > now && router.up.left == 0.0);
    }
}

/// A link's router writes into packets that wait and into those that find it idle.
#[test]
fn a_link_writes_into_the_headers_of_what_waits_and_of_what_finds_it_idle() {
    let queue = QueueConfig::Xcp(XcpConfig::default());
    let config = LinkConfig::new(RateProcess::Constant(Bitrate::from_mbps(8)), TimeDelta::ZERO, queue);
    let mut link = Link::new(config, 1, "l").expect("a link");
    let mut seen = Vec::new();
    for at in 0..400_u64 {
        // Two packets at a time, of which one finds the link idle and the other waits.
        for _ in 0..2 {
            let header = CongestionHeader::asking(0.1, 0.01);
            link.offer(Time::from_nanos(at * 4_000_000), Headed::Carried(header), &mut |departure| {
                seen.push(departure.packet);
            });
        }
    }
    link.advance(Time::from_nanos(2_000_000_000), &mut |departure| seen.push(departure.packet));
    let feedback = |packet: &mut Headed| packet.congestion().expect("it carries one").feedback;
    let seen: Vec<_> = seen.iter_mut().map(feedback).collect();
    assert_eq!(seen.len(), 800);
    assert!(seen.iter().all(|feedback| feedback.is_finite()));
    assert!(seen[700] > 0.0, "half of the link is spare: {}", seen[700]);
}

/// A packet of 1000 B whose congestion header it carries, or the link is lent by this key.
pub(super) enum Headed {
    Carried(CongestionHeader),
    Lent(u32),
}

impl Transit for Headed {
    fn size(&self) -> Bytes {
        Bytes::new(1000)
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}

    fn flow(&self) -> u64 {
        0
    }

    fn congestion(&mut self) -> Option<&mut CongestionHeader> {
        match self {
            Headed::Carried(header) => Some(header),
            Headed::Lent(_) => None,
        }
    }

    fn lent_key(&self) -> Option<u32> {
        match self {
            Headed::Carried(_) => None,
            Headed::Lent(key) => Some(*key),
        }
    }
}
