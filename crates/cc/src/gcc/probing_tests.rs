use super::*;
use crate::FlowSetup;
use paceline_units::param::Profiles;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn kbps(kbps: u64) -> Bitrate {
    Bitrate::from_kbps(kbps)
}

/// The probes that wait, as their rates in kbit/s.
fn asked(probing: &mut Probing) -> alloc::vec::Vec<u64> {
    core::iter::from_fn(|| probing.take()).map(|probe| probe.rate.as_bps() / 1000).collect()
}

fn started(start: u64, highest: u64) -> Probing {
    let params = Params::profile("libwebrtc").expect("a profile");
    let largest = FlowSetup::new(Bytes::new(1212)).largest_packet;
    let mut probing = Probing::new(&params, kbps(start), kbps(highest), largest);
    probing.start(at(0));
    probing
}

/// libwebrtc's unit tests of the probe controller, as numbers: 300 kbit/s start probes at 900 and 1800; 1800 found leads to
/// 3600; 0.7 of a probe is not enough.
#[test]
fn the_start_probes_at_three_and_six_times_and_goes_on_while_it_finds_enough() {
    let mut probing = started(300, 5000);
    assert_eq!(asked(&mut probing), [900, 1800]);
    probing.on_estimate(at(100), kbps(1000), Limit::Delay);
    assert_eq!(asked(&mut probing), [0; 0], "1260 would be enough");
    probing.on_estimate(at(200), kbps(1800), Limit::Delay);
    assert_eq!(asked(&mut probing), [3600]);
    probing.on_estimate(at(300), kbps(2600), Limit::Delay);
    assert_eq!(asked(&mut probing), [5000], "the highest; it is the last");
    probing.on_estimate(at(400), kbps(4900), Limit::Delay);
    assert_eq!(asked(&mut probing), [0; 0]);
}

#[test]
fn a_result_that_does_not_come_is_waited_for_a_second() {
    let mut probing = started(300, 5000);
    asked(&mut probing);
    probing.on_tick(at(1001));
    probing.on_estimate(at(1002), kbps(1800), Limit::Delay);
    assert_eq!(asked(&mut probing), [0; 0]);
}

#[test]
fn an_application_limited_sender_probes_every_five_seconds() {
    let mut probing = started(300, 5000);
    asked(&mut probing);
    probing.on_tick(at(1001));
    probing.on_estimate(at(1002), kbps(500), Limit::Delay);
    probing.set_alr(Some(at(2000)));
    probing.on_tick(at(6999));
    assert_eq!(asked(&mut probing), [0; 0]);
    probing.on_tick(at(7000));
    assert_eq!(asked(&mut probing), [1000]);
    probing.on_tick(at(8001));
    probing.on_tick(at(12_000));
    assert_eq!(asked(&mut probing), [1000]);
}

#[test]
fn after_a_large_drop_the_old_rate_is_tried_again() {
    let mut probing = started(300, 5000);
    asked(&mut probing);
    probing.on_tick(at(1001));
    probing.on_estimate(at(6000), kbps(500), Limit::Delay);
    probing.on_estimate(at(7000), kbps(200), Limit::Delay);
    probing.on_recovery(at(7500));
    assert_eq!(asked(&mut probing), [0; 0], "the application does not limit the sender");
    probing.set_alr(Some(at(7000)));
    probing.on_recovery(at(7500));
    assert_eq!(asked(&mut probing), [425], "0.85 of 500");
    probing.on_recovery(at(8000));
    assert_eq!(asked(&mut probing), [0; 0], "5 s between two");
}

#[test]
fn nothing_is_probed_while_something_limits_the_rate() {
    for (limit, expected) in [
        (Limit::Loss, None),
        (Limit::DelayChanging, None),
        (Limit::Rtt, None),
        (Limit::LossIncreasing, Some(1500)),
        (Limit::Delay, Some(9000)),
    ] {
        let mut probing = started(300, 2000);
        asked(&mut probing);
        probing.on_tick(at(1001));
        probing.on_estimate(at(2000), kbps(1000), limit);
        probing.set_highest(at(3000), kbps(9000), false);
        assert_eq!(asked(&mut probing).first().copied(), expected, "{limit:?}");
    }
}

#[test]
fn a_stream_that_joins_is_no_reason_to_probe_above_twice_the_estimate() {
    for (highest, expected) in [(9000, 2000), (1500, 1500)] {
        let mut probing = started(300, 1200);
        asked(&mut probing);
        probing.on_tick(at(1001));
        probing.on_estimate(at(2000), kbps(1000), Limit::Delay);
        probing.set_highest(at(3000), kbps(highest), true);
        assert_eq!(asked(&mut probing), [expected]);
    }
}

#[test]
fn a_probe_lasts_15_ms_and_has_five_packets_and_4_mb_at_most() {
    let mut probing = started(300, 100_000);
    assert_eq!(probing.take().map(|probe| probe.bytes), Some(Bytes::new(5 * 1212)));
    let mut probing = started(10_000, 100_000);
    assert_eq!(probing.take().map(|probe| probe.bytes), Some(Bytes::new(56_250)));
    let mut absurd = started(10_000, u64::MAX / 1000);
    absurd.on_tick(at(2000));
    absurd.set_highest(at(3000), Bitrate::MAX, false);
    let probe = absurd.take().expect("there is more to win");
    assert_eq!((probe.rate, probe.bytes), (Bitrate::MAX, Bytes::new(4_000_000)));
}
