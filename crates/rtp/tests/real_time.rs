//! A program of its own, for it needs sockets and a clock: the example of a plain UDP program runs, over the loopback interface.

#[allow(dead_code, reason = "the test calls what `main` calls")]
#[path = "../examples/udp.rs"]
mod udp;

use std::time::Duration;

#[test]
fn a_call_over_udp_carries_its_frames() {
    let (target, sent, arrived, frames) = udp::call(Duration::from_secs(2)).expect("loopback has sockets");
    assert!(sent >= 50 && arrived * 10 >= sent * 9, "{arrived} of {sent} packets");
    assert!((20..=100).contains(&frames), "{frames} frames in 2 s of 50 a second");
    assert!(target.as_mbps_f64() > 0.4, "{target:?}: it did not rise from 0.3 Mbit/s");
}
