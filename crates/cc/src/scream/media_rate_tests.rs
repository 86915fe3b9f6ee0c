//! How the target bitrate follows throughput, send queue, loss and marks.

use super::*;
use paceline_units::param::Profiles;

const CALM: Congestion = Congestion {
    response: 0.05,
    mss: 9600.0,
    overdue: false,
    share: None,
    trend: 0.0,
    trend_memory: 0.0,
    in_fast_increase: false,
    post: 1.0,
    alpha: None,
    window_use: 0.5,
};

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Rates that all measure `mbps`.
fn measured(params: &Params, mbps: f64) -> Rates {
    let mut rates = Rates::new(Time::ZERO);
    let bytes = Bytes::new((mbps * 1e6 / 8.0 * params.rate_interval.as_secs_f64()) as u64);
    for interval in 1..=16 {
        rates.on_sent(bytes);
        rates.on_delivered(bytes);
        rates.on_offered(bytes);
        rates.update(params, Time::ZERO + params.rate_interval * interval);
    }
    rates
}

fn rate(params: &Params, mbps: f64) -> MediaRate {
    let mut rate = MediaRate::new(params, 1.0);
    rate.assign(mbps * 1e6);
    rate
}

#[test]
fn fast_increase_ramps_at_its_speed() {
    let (rfc, reference) = (Params::rfc8298(), Params::profile("reference-2022").unwrap());
    for (params, mbps, expected) in
        [(rfc.clone(), 10.0, 40_000.0), (rfc, 0.32, 32_000.0), (reference, 20.0, 200_000.0)]
    {
        let mut rate = rate(&params, mbps);
        let rates = measured(&params, mbps);
        assert!(rate.update(&params, at(1000), &Congestion { in_fast_increase: true, ..CALM }, &rates));
        assert!((rate.target - mbps * 1e6 - expected).abs() < 1.0, "{} after {mbps} Mbit/s", rate.target);
        assert!(!rate.update(&params, at(1010), &CALM, &rates), "not yet due");
    }
}

#[test]
fn as_printed_the_rate_grows_until_the_send_queue_fills() {
    let params = Params::rfc8298();
    let (mut rate, rates) = (rate(&params, 10.0), measured(&params, 10.0));
    rate.update(&params, at(1000), &CALM, &rates);
    assert!((rate.target - 10.04e6).abs() < 1.0);
    let queue = SendQueueState {
        bytes: Bytes::new(37_500),
        packets: 30,
        oldest: Some(TimeDelta::from_millis(30)),
        ..Default::default()
    };
    rate.set_queue(at(1200), &queue);
    rate.update(&params, at(1200), &CALM, &rates);
    assert!((rate.target - (10.04e6 + 40_000.0) * 0.95).abs() < 1.0, "30 ms of queue: {}", rate.target);
}

#[test]
fn a_frame_that_was_only_just_queued_is_no_queue_that_builds_up() {
    let params = Params::rfc8298();
    let (mut rate, rates) = (rate(&params, 10.0), measured(&params, 10.0));
    let frame = Bytes::new(83_333);
    rate.set_queue(
        at(1000),
        &SendQueueState { bytes: frame, packets: 84, newest_frame: frame, ..Default::default() },
    );
    rate.update(&params, at(1000), &CALM, &rates);
    assert!((rate.target - 10.04e6).abs() < 1.0, "67 ms of one frame, at 15 fps: {}", rate.target);
}

#[test]
fn in_the_reference_the_rate_follows_the_throughput() {
    let params = Params::profile("reference-2022").unwrap();
    let (mut rate, rates) = (rate(&params, 12.0), measured(&params, 10.0));
    rate.update(&params, at(1000), &CALM, &rates);
    // d = 10 - 12 Mbit/s, slowed by the idle factor 1 + 2 (10/12 - 1).
    assert!((rate.target - (12e6 - 2e6 * (1.0 - 2.0 / 6.0))).abs() < 1.0, "{}", rate.target);
}

#[test]
fn events_act_at_once_and_keep_the_last_highest_rate() {
    let (rfc, reference) = (Params::rfc8298(), Params::profile("reference-2022").unwrap());
    let marked = Congestion { alpha: Some(0.5), window_use: 0.8, ..CALM };
    for (params, event, congestion, factor) in [
        (&rfc, Event::Loss, CALM, 0.9),
        (&rfc, Event::Ce, CALM, 0.9),
        (&reference, Event::Ce, CALM, 0.95),
        (&reference, Event::Ce, marked, 1.0 - 0.8 * 0.5 / 3.125),
    ] {
        let mut rate = rate(params, 10.0);
        let (now, rates) = (at(1000), measured(params, 9.0));
        let at_once = rate.on_event(params, now, event, &congestion, &rates);
        assert!(at_once || (rate.target == 10e6 && rate.update(params, now, &congestion, &rates)));
        assert!((rate.target - factor * 10e6).abs() < 1.0, "{event:?} {}", rate.target);
        let kept = if params.inflection_measured { 9e6 } else { 10e6 };
        assert!(rate.last_max.is_some_and(|last_max| (last_max - kept).abs() < 10.0));
    }
}

#[test]
fn growth_is_slow_near_the_last_highest_rate() {
    let params = Params::profile("reference-2022").unwrap();
    let (mut rate, rates) = (rate(&params, 10.0), measured(&params, 30.0));
    rate.last_max = Some(10e6);
    rate.update(&params, at(1000), &Congestion { in_fast_increase: true, ..CALM }, &rates);
    assert!((rate.target - 10e6 - 0.2 * 200_000.0).abs() < 1.0, "{}", rate.target);
}

#[test]
fn an_old_send_queue_is_discarded_whole_but_not_twice_in_a_row() {
    let params = Params::profile("reference-2022").unwrap();
    let mut rate = rate(&params, 10.0);
    let queue = SendQueueState {
        bytes: Bytes::new(100_000),
        packets: 80,
        oldest: Some(TimeDelta::from_millis(90)),
        ..Default::default()
    };
    rate.set_queue(at(1000), &queue);
    assert_eq!(rate.check_discard(&params, at(1010)), None, "100 ms is not older than 100 ms");
    let discard = rate.check_discard(&params, at(1011)).expect("101 ms");
    assert!(discard.key_frame && discard.older_than.is_none());
    assert_eq!(rate.check_discard(&params, at(1200)), None, "nothing waits any more");
    rate.set_queue(at(1150), &queue);
    assert_eq!(rate.check_discard(&params, at(1260)), None);
    assert!(rate.check_discard(&params, at(1261)).is_some());
}

#[test]
fn the_target_stays_within_its_limits_and_the_measured_rate() {
    let params = Params::rfc8298();
    let mut rate = rate(&params, 50.0);
    rate.update(&params, at(1000), &CALM, &measured(&params, 10.0));
    assert!((rate.target - 20e6).abs() < 1.0, "twice the measured rate: {}", rate.target);
    rate.set_limits(Bitrate::from_mbps(1), Bitrate::from_mbps(5));
    assert_eq!(rate.target, 5e6);
}

/// A second of growth from 2 Mbit/s in fast increase, at so many frames a second.
#[test]
fn in_robust_growth_is_the_same_at_any_frame_rate() {
    let params = Params::default();
    let fast = Congestion { in_fast_increase: true, ..CALM };
    let grown = [5, 10, 25].map(|fps| {
        let (mut rate, rates) = (rate(&params, 2.0), measured(&params, 8.0));
        for frame in 0..=fps {
            rate.update(&params, at(1000 + frame * 1000 / fps), &fast, &rates);
        }
        rate.target / 2e6
    });
    // 0.6 of the target per second; with 5 frames that is compounded five times.
    assert!(grown.iter().all(|grown| (1.7..1.85).contains(grown)), "{grown:?}");
}

/// Under L4S at 10 Mbit/s with a round trip of 50 ms: half of alpha goes, and a packet of 1200 B per 25 ms and round trip comes.
#[test]
fn in_robust_the_target_follows_marks_as_pragues_window_does() {
    let params = Params::default();
    let marked = Congestion { alpha: Some(0.1), post: 0.0, ..CALM };
    let (mut rate, rates) = (rate(&params, 10.0), measured(&params, 10.0));
    rate.update(&params, at(1000), &marked, &rates);
    let before = rate.target;
    rate.update(&params, at(1100), &marked, &rates);
    assert!((rate.target - before - 0.1 * 9600.0 / (0.025 * 0.05)).abs() < 1.0, "{}", rate.target - before);
    rate.assign(10e6);
    rate.on_event(&params, at(1100), Event::Ce, &marked, &rates);
    rate.update(&params, at(1101), &marked, &rates);
    assert!((rate.target - 9.5e6).abs() < 1.0, "{}", rate.target);
}

/// A frame of twelve times the mean size takes 0.4 s at the target; the queue may be older than 100 ms by as much.
#[test]
fn in_robust_a_large_frame_has_its_time() {
    let params = Params::default();
    let mut rate = rate(&params, 2.4);
    let frame = Bytes::new(120_000);
    let offered = SendQueueState {
        bytes: frame,
        packets: 100,
        newest_frame: frame,
        oldest: None,
        ..Default::default()
    };
    rate.on_offered(at(1000), &offered);
    let waits = SendQueueState { oldest: Some(TimeDelta::from_millis(400)), ..offered };
    rate.set_queue(at(1400), &waits);
    assert_eq!(rate.check_discard(&params, at(1400)), None);
    assert!(rate.check_discard(&params, at(1501)).is_some());
}

/// Of several streams one sends more than its target: those that do not are held up by nothing that it causes.
#[test]
fn congestion_that_others_cause_takes_nothing_of_a_share() {
    let params = Params::profile("robust").expect("a profile");
    let after_loss = |share: Option<Share>| {
        let mut media = rate(&params, 1.0);
        let congestion = Congestion { share, ..CALM };
        media.reduce(&params, at(1000), Event::Loss, &congestion, &Rates::new(at(0)));
        media.target / 1e3
    };
    let reduced = after_loss(None);
    assert!(reduced < 950.0, "{reduced}");
    assert_eq!(after_loss(Some(Share { rate: 2e6, others_exceed: false })), reduced);
    assert_eq!(
        after_loss(Some(Share { rate: 2e6, others_exceed: true })),
        1000.0,
        "it has less than its share"
    );
    assert_eq!(after_loss(Some(Share { rate: 950e3, others_exceed: true })), 950.0, "down to its share");
}
