use super::*;
use alloc::vec::Vec;
use paceline_units::param::Profiles;

fn estimator() -> LossV2 {
    estimator_of(&params())
}

fn estimator_of(params: &Params) -> LossV2 {
    LossV2::new(params, Bitrate::from_kbps(5), Bitrate::from_mbps(1000))
}

fn params() -> Params {
    Params::profile("libwebrtc").expect("a profile")
}

/// Observations of 100 packets of 1250 B each 250 ms, which are 4 Mbit/s; of each 100 packets so many are lost.
fn observe(estimator: &mut LossV2, from: u64, observations: u64, lost: u64, delay_based: u64) {
    for n in from..from + observations {
        let packet = |k: u64| {
            let sent = Time::from_nanos((n * 100 + k) * 2_500_000);
            Outcome::sent_at(sent, k % 100 >= lost, Bytes::new(1250))
        };
        let packets: Vec<Outcome> = (0..=100).map(packet).collect();
        estimator.on_report(&packets, Some(Bitrate::from_kbps(delay_based)), false);
    }
}

/// libwebrtc's unit tests expect nothing before three observations, and the delay-based estimate without losses.
#[test]
fn without_losses_the_delay_based_estimate_holds() {
    let mut estimator = estimator();
    observe(&mut estimator, 0, 2, 0, 3000);
    assert_eq!(estimator.result(), None);
    observe(&mut estimator, 2, 5, 0, 3000);
    assert_eq!(estimator.result(), Some((Bitrate::from_kbps(3000), LossState::DelayBased)));
}

/// Half of everything is lost: beyond the instant bound of 75 kbit/s over 0.5 - 0.05, as libwebrtc's tests have it.
#[test]
fn heavy_loss_limits_at_once() {
    let mut estimator = estimator();
    observe(&mut estimator, 0, 10, 50, 3000);
    let (estimate, state) = estimator.result().expect("enough observations");
    assert_eq!(state, LossState::Decreasing);
    // 101 packets are reported of each 100 that are sent: the bound is that of 50.5 of 101.
    assert!((160_000..=167_000).contains(&estimate.as_bps()), "{estimate:?}");
}

/// Losses that are there whatever is sent are the path's: they leave the rate alone up to a few per cent.
#[test]
fn inherent_loss_does_not_lower_the_rate() {
    let mut estimator = estimator();
    observe(&mut estimator, 0, 40, 1, 3000);
    assert_eq!(estimator.result().map(|(estimate, _)| estimate), Some(Bitrate::from_kbps(3000)));
}

#[test]
fn after_losses_the_rate_comes_back() {
    let mut estimator = estimator();
    observe(&mut estimator, 0, 20, 20, 3000);
    let low = estimator.result().map_or(0, |(estimate, _)| estimate.as_bps());
    assert!(low < 1_000_000, "{low}");
    observe(&mut estimator, 20, 60, 0, 3000);
    assert_eq!(estimator.result(), Some((Bitrate::from_kbps(3000), LossState::DelayBased)));
}

/// libwebrtc of 2025 and of October 2024.
#[test]
fn a_packet_that_was_only_late_is_not_lost_unless_asked() {
    for (v2_late_packets, lost) in [(true, 0.0), (false, 1.0)] {
        let mut estimator = estimator_of(&Params { v2_late_packets, ..params() });
        let missing = Outcome::sent_at(Time::ZERO, false, Bytes::new(1000));
        let mut late = Outcome::sent_at(Time::ZERO, true, Bytes::new(1000));
        late.missed = Some(estimator.observation());
        let last = Outcome::sent_at(Time::from_nanos(300_000_000), true, Bytes::new(1000));
        for outcome in [missing, late, last] {
            estimator.on_report(&[outcome], None, false);
        }
        assert_eq!((estimator.complete, estimator.observations[0].lost), (1, lost));
    }
}

#[test]
fn the_preference_is_of_whole_kilobits_unless_asked() {
    for (v2_whole_kbps, alike) in [(true, true), (false, false)] {
        let mut estimator = estimator_of(&Params { v2_whole_kbps, ..params() });
        estimator.on_report(&[Outcome::sent_at(Time::ZERO, true, Bytes::new(1000))], None, false);
        estimator.on_report(
            &[Outcome::sent_at(Time::from_nanos(300_000_000), true, Bytes::new(1000))],
            None,
            false,
        );
        let [low, high] = [99_600, 100_400].map(|bps| {
            estimator.objective(&Channel { inherent_loss: 0.01, bandwidth: Bitrate::from_bps(bps) })
        });
        assert_eq!(low == high, alike, "{low} {high}");
    }
}

/// While losses limit the rate it grows by a factor at most in a window of time, whatever is assigned meanwhile.
#[test]
fn assignments_leave_the_window_of_an_increase_alone() {
    let (mut apart, mut coupled) = (estimator(), estimator());
    for estimator in [&mut apart, &mut coupled] {
        observe(estimator, 0, 10, 50, 3000);
    }
    for n in 10..60 {
        let (before, _) = coupled.result().expect("enough observations");
        coupled.assign(before);
        for estimator in [&mut apart, &mut coupled] {
            observe(estimator, n, 1, 0, 3000);
        }
        let [apart, coupled] = [&apart, &coupled].map(|estimator| estimator.result().expect("known"));
        assert!(coupled.0 <= apart.0, "observation {n}: {coupled:?}, apart {apart:?}");
        // Losses limit it no longer where it has reached the delay-based estimate.
        assert!(coupled.1 != LossState::DelayBased || apart.1 == LossState::DelayBased, "observation {n}");
    }
}
