use super::*;
use paceline_units::param::Profiles;

fn control(profile: &str, kbps: u64) -> RateControl {
    let params = Params::profile(profile).expect("a profile");
    RateControl::new(&params, Bitrate::from_kbps(kbps), Bitrate::from_kbps(5))
}

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// libwebrtc's unit tests of the rate control, as numbers: near the capacity 4 kbit/s a second at 30 kbit/s, 5 at 90 kbit/s and
/// a round trip of 200 ms, 5 kbit/s at 60 kbit/s and 100 ms.
#[test]
fn near_the_capacity_the_rate_grows_by_what_libwebrtcs_tests_expect() {
    for (kbps, rtt, expected) in [(30, 200, 4000), (90, 200, 5000), (60, 100, 5000)] {
        let mut control = control("libwebrtc", kbps);
        control.set_rtt(TimeDelta::from_millis(rtt));
        assert_eq!(control.additive_slope(), Bitrate::from_bps(expected), "{kbps} kbit/s, {rtt} ms");
    }
}

/// Also from there: with an estimate of 300 kbit/s over-use at 250 kbit/s leaves 0.85 of it, less 5 kbit/s.
#[test]
fn over_use_leaves_a_part_of_what_arrives() {
    for (profile, expected) in [("draft", 212_500), ("libwebrtc", 207_500)] {
        let mut control = control(profile, 300);
        control.on_usage(at(1000), Usage::Over, Some(Bitrate::from_kbps(250)));
        assert_eq!(control.estimate(), Bitrate::from_bps(expected), "{profile}");
        assert_eq!((control.state(), control.capacity()), (State::Hold, Some(Bitrate::from_kbps(250))));
    }
}

/// Section 5.5: 8 % in a second, whatever time an update is late.
#[test]
fn far_from_the_capacity_the_rate_grows_by_a_factor() {
    let mut control = control("draft", 1000);
    let incoming = Some(Bitrate::from_mbps(10));
    control.on_usage(at(0), Usage::Normal, incoming);
    assert_eq!(control.estimate(), Bitrate::from_kbps(1000), "it begins with a hold");
    (1..=10).for_each(|n| control.on_usage(at(n * 100), Usage::Normal, incoming));
    let grown = control.estimate().as_bps_f64() / 1e6;
    assert!((grown - 1.08).abs() < 1e-4, "{grown}");
    control.on_usage(at(60_000), Usage::Normal, incoming);
    assert!((control.estimate().as_bps_f64() / 1e6 / grown - 1.08).abs() < 1e-4, "a second at most");
}

/// Section 5.5: alpha = 0.5 min(dt / response time, 1), at least 1000 bit in an update.
#[test]
fn near_the_capacity_the_rate_grows_by_half_a_packet_in_a_response_time() {
    let mut control = control("draft", 2000);
    control.set_rtt(TimeDelta::from_millis(100));
    control.on_usage(at(0), Usage::Over, Some(Bitrate::from_kbps(2000)));
    let incoming = Some(Bitrate::from_kbps(1900));
    control.on_usage(at(1000), Usage::Normal, incoming);
    let before = control.estimate().as_bps();
    control.on_usage(at(1100), Usage::Normal, incoming);
    // 1.7 Mbit/s are 7083 B a frame in 6 packets of 1180 B: half of one in 200 ms.
    let grown = control.estimate().as_bps() - before;
    assert!((2300..2420).contains(&grown), "0.25 of 9442 bit, {grown}");
    control.on_usage(at(1110), Usage::Normal, incoming);
    assert_eq!(control.estimate().as_bps() - before - grown, 1000, "the least");
}

#[test]
fn the_estimate_does_not_run_away_from_what_arrives() {
    let mut control = control("draft", 1000);
    let incoming = Some(Bitrate::from_kbps(800));
    (0..1000).for_each(|n| control.on_usage(at(n * 100), Usage::Normal, incoming));
    assert_eq!(control.estimate(), Bitrate::from_kbps(1210));
}

#[test]
fn under_use_holds_and_another_level_of_congestion_is_learned_anew() {
    let mut control = control("libwebrtc", 1000);
    control.on_usage(at(0), Usage::Over, Some(Bitrate::from_kbps(1000)));
    let held = control.estimate();
    control.on_usage(at(500), Usage::Under, Some(Bitrate::from_kbps(1000)));
    assert_eq!(control.estimate(), held);
    control.on_usage(at(1000), Usage::Normal, Some(Bitrate::from_kbps(1000)));
    assert!(control.capacity().is_some());
    control.on_usage(at(1500), Usage::Normal, Some(Bitrate::from_kbps(1200)));
    assert_eq!(control.capacity(), None, "three deviations are 60 kbit/s");
}

/// The rules of 2012: a step a second, of the factor and 1 kbit/s; after a decrease half as fast.
#[test]
fn in_2012_the_rate_grows_once_a_second_and_half_as_fast_near_the_capacity() {
    let mut control = control("libwebrtc-2012", 500);
    let incoming = Some(Bitrate::from_kbps(1000));
    let rtt = TimeDelta::from_millis(100);
    control.set_rtt(rtt);
    let steps = |control: &mut RateControl, from: u64| {
        (0..=10).for_each(|n| control.on_usage(at(from + n * 100), Usage::Normal, incoming));
        control.estimate().as_bps_f64()
    };
    let second = TimeDelta::from_secs(1);
    let factor = |region| super::response::factor(second, second, rtt, 1.0, region);
    let first = steps(&mut control, 0);
    assert!((first - (501e3 * factor(Region::Unknown) + 1e3)).abs() < 2.0, "{first}");
    control.on_usage(at(2000), Usage::Over, incoming);
    // Beta of the unknown region would leave more than there was.
    let reduced = control.estimate().as_bps_f64();
    assert!((reduced - first).abs() < 1.0, "{reduced}");
    let near = steps(&mut control, 3000);
    assert!((near - ((reduced + 1e3) * factor(Region::Near) + 1e3)).abs() < 3.0, "{near}");
    control.on_usage(at(5000), Usage::Over, Some(Bitrate::from_kbps(400)));
    assert_eq!(control.estimate(), Bitrate::from_kbps(380), "near the capacity 0.95 stays");
}

/// And after a queue has drained it is at once a part of what arrived meanwhile.
#[test]
fn in_2012_a_hold_ends_at_what_arrived_during_it() {
    let mut control = control("libwebrtc-2012", 500);
    control.on_usage(at(0), Usage::Over, Some(Bitrate::from_kbps(300)));
    assert_eq!(control.estimate(), Bitrate::from_kbps(270));
    control.on_usage(at(500), Usage::Under, Some(Bitrate::from_kbps(400)));
    assert_eq!(control.estimate(), Bitrate::from_kbps(270));
    control.on_usage(at(600), Usage::Normal, Some(Bitrate::from_kbps(310)));
    assert_eq!(control.estimate(), Bitrate::from_kbps(380));
}

/// The flows of a group are assigned something whenever one of them has news. Each assignment here is the present estimate.
#[test]
fn assignments_leave_the_times_of_increase_and_decrease_alone() {
    for profile in ["draft", "libwebrtc", "libwebrtc-2012"] {
        let (mut apart, mut coupled) = (control(profile, 1000), control(profile, 1000));
        let incoming = |control: &RateControl| Some(times(0.9, control.estimate()));
        for millis in 1..5000 {
            coupled.assign(coupled.estimate());
            if millis % 50 != 0 {
                continue;
            }
            let usage = if (1500..1700).contains(&millis) { Usage::Over } else { Usage::Normal };
            for control in [&mut apart, &mut coupled] {
                let incoming = incoming(control);
                if usage == Usage::Normal || control.may_reduce(at(millis), incoming) {
                    control.on_usage(at(millis), usage, incoming);
                }
            }
            assert_eq!(coupled.estimate(), apart.estimate(), "{profile}, {millis} ms");
        }
        assert!(apart.capacity().is_some(), "{profile}: there was over-use");
    }
}
