use super::*;
use paceline_units::param::Profiles;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn kbps(kbps: u64) -> Bitrate {
    Bitrate::from_kbps(kbps)
}

fn bandwidth(start: u64, lowest: u64, highest: u64) -> Bandwidth {
    let params = Params::profile("libwebrtc").expect("a profile");
    Bandwidth::new(&params, kbps(start), kbps(lowest), kbps(highest))
}

/// libwebrtc's unit test of the start, as numbers: 200 kbit/s follow a delay-based estimate of 1000 at once in the first two
/// seconds, one of 1500 later not.
#[test]
fn the_start_follows_the_delay_based_estimate() {
    let mut bandwidth = bandwidth(200, 100, 1500);
    bandwidth.on_counts(at(0), 1, 0);
    bandwidth.set_delay_based(kbps(1000));
    bandwidth.update(at(0));
    assert_eq!(bandwidth.target(), kbps(1000));
    bandwidth.set_delay_based(kbps(1500));
    bandwidth.update(at(2001));
    assert_eq!(bandwidth.target(), kbps(1000));
}

/// Another: half of 100 packets lost lowers 1000 kbit/s once, to 0.75, and not again without another verdict.
#[test]
fn losses_lower_the_target_once_for_each_verdict() {
    let mut bandwidth = bandwidth(1000, 100, 1500);
    bandwidth.on_counts(at(10_000), 100, 50);
    assert_eq!((bandwidth.target(), bandwidth.loss_part()), (kbps(750), Some(0.5)));
    bandwidth.update(at(11_000));
    bandwidth.update(at(12_000));
    assert_eq!(bandwidth.target(), kbps(750));
}

/// Another: a round trip of 5 s is above the limit, one of 1 s is not. Then the target falls by 0.8 a second.
#[test]
fn long_round_trips_lower_the_target_step_by_step() {
    let mut bandwidth = bandwidth(300, 10, 10_000);
    bandwidth.on_sent(at(0));
    bandwidth.on_round_trip(at(0), TimeDelta::from_secs(1));
    assert!(!bandwidth.is_rtt_above_limit());
    bandwidth.on_round_trip(at(0), TimeDelta::from_secs(5));
    assert!(bandwidth.is_rtt_above_limit());
    let targets = [0, 500, 1000, 2000].map(|millis| {
        bandwidth.update(at(millis));
        bandwidth.target()
    });
    assert_eq!(targets, [kbps(240), kbps(240), kbps(192), Bitrate::from_bps(153_600)]);
}

#[test]
fn silence_while_packets_are_sent_is_a_long_round_trip() {
    let mut bandwidth = bandwidth(300, 10, 10_000);
    bandwidth.on_sent(at(0));
    bandwidth.on_sent(at(3000));
    assert!(!bandwidth.is_rtt_above_limit());
    bandwidth.on_sent(at(3001));
    assert!(bandwidth.is_rtt_above_limit());
}

#[test]
fn a_probe_replaces_the_delay_based_limit() {
    let mut bandwidth = bandwidth(300, 10, 10_000);
    bandwidth.set_delay_based(kbps(350));
    bandwidth.set_target(kbps(2500));
    assert_eq!(bandwidth.target(), kbps(2500));
    bandwidth.set_bounds(kbps(10), kbps(2000));
    assert_eq!(bandwidth.target(), kbps(2000));
}

/// The target may exceed the lowest of the last second by 8 %, whatever is assigned meanwhile.
#[test]
fn assignments_leave_the_second_of_an_increase_alone() {
    let (mut apart, mut coupled) = (bandwidth(1000, 100, 100_000), bandwidth(1000, 100, 100_000));
    for millis in 0..5000 {
        if millis % 500 == 0 {
            [&mut apart, &mut coupled].into_iter().for_each(|known| known.on_counts(at(millis), 100, 0));
        }
        coupled.assign(coupled.target());
        [&mut apart, &mut coupled].into_iter().for_each(|known| known.update(at(millis)));
        let (apart, coupled) = (apart.target().as_bps_f64(), coupled.target().as_bps_f64());
        assert!((coupled / apart - 1.0).abs() < 1e-4, "{millis} ms: {coupled} and {apart}");
    }
    assert!(apart.target() > kbps(1300), "{:?}", apart.target());
}
