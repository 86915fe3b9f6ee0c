//! A program of its own, for it needs sockets and a clock: the example of a plain UDP program runs, over the loopback interface.

#[allow(dead_code, reason = "the test calls what `main` calls")]
#[path = "../examples/udp.rs"]
mod udp;

use std::time::Duration;

/// On a machine that is late fewer frames leave, and the target rises later: a longer call shows it.
#[test]
fn a_call_over_udp_carries_its_frames() {
    let mut calls = Vec::new();
    for seconds in [2, 6, 20] {
        let call = udp::call(Duration::from_secs(seconds));
        let (target, sent, arrived, frames) = call.expect("loopback has sockets");
        assert!(sent >= frames && arrived * 10 >= sent * 9, "{arrived} of {sent} packets");
        assert!(frames <= 50 * seconds, "{frames} frames in {seconds} s of 50 a second");
        if target.as_mbps_f64() > 0.4 && frames >= (10 * seconds).min(100) {
            return;
        }
        calls.push((target, frames));
    }
    panic!("{calls:?}: fewer than 100 frames, or no rise from 0.3 Mbit/s");
}
