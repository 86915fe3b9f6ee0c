//! Kelly's two constants as vectors, and where Linux's differ.

use super::*;
use crate::FlowSetup;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, close, one_step};
use paceline_units::Bytes;
use paceline_units::param::Profiles;

fn make(profile: &str, packets: u64) -> Flow<Avoidance<ScalableRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Scalable::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn step(profile: &str, packets: u64) -> (f64, f64) {
    one_step(|| make(profile, packets))
}

#[test]
fn a_hundredth_more_and_an_eighth_less_at_any_window_above_the_legacy_one() {
    for packets in [17, 100, 10_000] {
        let (grown, left) = step("kelly2003", packets);
        close(grown, 0.01 * packets as f64);
        close(left, 0.875);
    }
    close(step("kelly2003", 16).0, 1.0);
    close(step("kelly2003", 16).1, 0.5);
}

#[test]
fn linux_adds_a_fiftieth_from_fifty_packets_on() {
    let (grown, left) = step("linux", 200);
    close(grown, 4.0);
    close(left, 0.875);
    let (grown, left) = step("linux", 40);
    close(grown, 1.0);
    close(left, 0.875);
}

/// Windows of ns-2.35 (`Agent/TCP/Linux`, `scalable`) and their growth in a round trip, means of traces at 20 and 100 ms: less than ours by the
/// growth in a round trip, since acknowledgements come from a window before.
#[test]
fn linux_grows_as_ns2_was_traced_to() {
    let traced = [
        (263, 5.155),
        (371, 7.284),
        (509, 9.98),
        (523, 10.242),
        (689, 13.508),
        (758, 14.847),
        (1031, 20.25),
        (1061, 20.809),
        (1441, 28.267),
        (1949, 38.216),
        (2634, 51.625),
    ];
    for (packets, growth) in traced {
        let grown = step("linux", packets).0;
        assert!((grown / growth - 1.0).abs() < 0.04, "{packets}: {grown}, ns-2 {growth}");
    }
}
