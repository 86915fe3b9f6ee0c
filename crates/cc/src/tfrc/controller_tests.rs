use super::*;
use crate::FlowSetup;
use crate::tfrc::Params;
use crate::{Pacing, TargetChange};
use paceline_units::Bytes;

const SIZE: Bytes = Bytes::new(1000);

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn sender(params: Params) -> Tfrc {
    Tfrc::new(&params, &FlowSetup::new(SIZE))
}

/// Without section 4.5, so that what is paced is X.
fn plain() -> Params {
    Params { oscillation_reduction: false, ..Params::default() }
}

fn send(tfrc: &mut Tfrc, at: u64, app_limited: bool) -> Update {
    let packet = SentPacket { stream: StreamId(0), sequence: at, size: SIZE, probe: None, app_limited };
    tfrc.on_sent(ms(at), &packet)
}

/// Feedback at `at` about a packet that was sent 100 ms before and reported at once.
fn hear(tfrc: &mut Tfrc, at: u64, p: f64, bytes_per_second: f64) -> Update {
    let report = ReceiverReport::Tfrc {
        loss_event_rate: p,
        receive_rate: Bitrate::from_bps_f64(bytes_per_second * 8.0),
        newest_sent: Some(ms(at - 100)),
        delay: TimeDelta::ZERO,
    };
    tfrc.on_report(ms(at), &Report::Receiver(report))
}

fn expire(tfrc: &mut Tfrc) -> f64 {
    let (due, reason) = tfrc.next_timeout().expect("the timer always runs");
    assert_eq!(reason, TimeoutReason::NoFeedback);
    let _ = tfrc.on_timeout(due);
    tfrc.x
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found}, expected {expected}");
}

/// After the first feedback: R = 100 ms, X = W_init/R = 40 kB/s.
fn started(params: Params) -> Tfrc {
    let mut tfrc = sender(params);
    let _ = send(&mut tfrc, 0, false);
    let _ = hear(&mut tfrc, 100, 0.0, 0.0);
    near(tfrc.x, 40_000.0);
    tfrc
}

/// In congestion avoidance with X_Bps = 112 kB/s and the receive rate given, as of 300 ms.
fn avoiding(x_recv: f64) -> Tfrc {
    let mut tfrc = started(plain());
    for at in [200, 301, 502] {
        let _ = send(&mut tfrc, at - 100, false);
        let _ = hear(&mut tfrc, at, 0.01, x_recv);
    }
    tfrc
}

#[test]
fn one_packet_a_second_until_the_round_trip_is_known() {
    let mut tfrc = sender(Params::default());
    let offered = Offered { stream: StreamId(0), bytes: SIZE, frame_end: true };
    let update = tfrc.on_offered(ms(0), &offered, &SendQueueState::default());
    assert_eq!(update.pacing, Some(Pacing::Rate(Bitrate::from_bps(8000))));
    assert_eq!(tfrc.next_timeout(), Some((ms(2000), TimeoutReason::NoFeedback)));
    assert_eq!(tfrc.annotation(ms(0), StreamId(0)), None);
    let _ = send(&mut tfrc, 0, false);
    let update = hear(&mut tfrc, 100, 0.0, 0.0);
    // Section 4.2: four segments of 1000 B a round trip.
    assert_eq!(tfrc.allowed_rate(), Bitrate::from_bps(320_000));
    assert_eq!(update.target, TargetChange::Total(Bitrate::from_bps(304_000)), "95 % of it");
    assert_eq!(tfrc.annotation(ms(100), StreamId(0)), Some(Annotation::Rtt(TimeDelta::from_millis(100))));
    assert_eq!(tfrc.next_timeout().map(|(due, _)| due), Some(ms(500)), "4 R");
}

#[test]
fn the_initial_window_is_between_two_and_four_segments() {
    for (largest, window) in [(500, 2000.0), (1000, 4000.0), (1460, 4380.0), (3000, 6000.0)] {
        let mut tfrc = Tfrc::new(&plain(), &FlowSetup::new(Bytes::new(largest)));
        let _ = send(&mut tfrc, 0, false);
        let _ = hear(&mut tfrc, 100, 0.0, 0.0);
        near(tfrc.x, window / 0.1);
    }
}

#[test]
fn slow_start_doubles_once_a_round_trip_up_to_twice_what_arrives() {
    let mut tfrc = started(plain());
    for (at, x_recv, expected) in [
        (150, 20_000.0, 40_000.0),
        (200, 40_000.0, 80_000.0),
        // Three values are kept, and Infinity is no longer among them.
        (300, 60_000.0, 120_000.0),
        (450, 70_000.0, 140_000.0),
        (750, 1000.0, 40_000.0),
    ] {
        let _ = send(&mut tfrc, at - 120, false);
        let _ = hear(&mut tfrc, at, 0.0, x_recv);
        near(tfrc.x, expected);
    }
}

#[test]
fn with_losses_the_equation_rules_up_to_twice_what_arrives() {
    let equation = 112_332.2;
    for (x_recv, expected) in [(100_000.0, equation), (30_000.0, 60_000.0), (1.0, 1000.0 / 64.0)] {
        let x = avoiding(x_recv).x;
        assert!((x / expected - 1.0).abs() < 1e-4, "X_recv {x_recv}: {x}, expected {expected}");
    }
}

#[test]
fn a_longer_round_trip_than_the_mean_slows_the_packets_not_the_encoder() {
    let mut tfrc = started(Params::default());
    let report = ReceiverReport::Tfrc {
        loss_event_rate: 0.01,
        receive_rate: Bitrate::from_mbps(100),
        newest_sent: Some(ms(0)),
        delay: TimeDelta::from_millis(20),
    };
    // A sample of 420 - 20 ms, four times the mean.
    let update = tfrc.on_report(ms(420), &Report::Receiver(report));
    let r = 0.9 * 0.1 + 0.1 * 0.4;
    let expected = tfrc.equation.throughput(1000.0, r, 0.01);
    near(tfrc.x, expected);
    let factor = (0.9 * libm::sqrt(0.1) + 0.1 * libm::sqrt(0.4)) / libm::sqrt(0.4);
    assert_eq!(update.pacing, Some(Pacing::Rate(Bitrate::from_bps_f64(expected * factor * 8.0))));
    assert_eq!(update.target, TargetChange::Total(Bitrate::from_bps_f64(expected * 8.0)));
}

#[test]
fn what_arrived_in_a_data_limited_period_does_not_limit_the_rate_after_it() {
    for (app_limited, p, expected) in [
        // Section 4.3: 2 max of all; max of (80 k / 2, 0.85 x 10 k); 2 X_recv.
        (true, 0.01, 112_332.2),
        (true, 0.012, 40_000.0),
        (false, 0.01, 20_000.0),
    ] {
        let mut tfrc = started(plain());
        for at in [200, 301, 502] {
            let _ = send(&mut tfrc, at - 100, false);
            let _ = hear(&mut tfrc, at, 0.01, 80_000.0);
        }
        for at in (600..720).step_by(10) {
            let _ = send(&mut tfrc, at, app_limited);
        }
        let _ = hear(&mut tfrc, 720, p, 10_000.0);
        assert!((tfrc.x / expected - 1.0).abs() < 1e-4, "{app_limited} {p}: {}", tfrc.x);
    }
}

#[test]
fn without_any_feedback_the_rate_halves_while_something_is_sent() {
    let mut tfrc = sender(plain());
    let _ = send(&mut tfrc, 0, false);
    near(expire(&mut tfrc), 500.0);
    assert_eq!(tfrc.next_timeout().map(|(due, _)| due), Some(ms(6000)), "2 s/X");
    near(expire(&mut tfrc), 500.0);
    for _ in 0..20 {
        let _ = send(&mut tfrc, 7000, false);
        expire(&mut tfrc);
    }
    near(tfrc.x, 1000.0 / 64.0);
}

#[test]
fn in_slow_start_silence_halves_the_rate_and_idleness_does_not_below_twice_the_initial() {
    let mut tfrc = started(plain());
    near(expire(&mut tfrc), 40_000.0);
    tfrc.x = 90_000.0;
    near(expire(&mut tfrc), 45_000.0);
    near(expire(&mut tfrc), 45_000.0);
    let _ = send(&mut tfrc, 5000, false);
    near(expire(&mut tfrc), 22_500.0);
}

#[test]
fn in_congestion_avoidance_silence_halves_what_limited_the_rate() {
    // Limited by X_recv: 60 kB/s become 30.
    let mut tfrc = avoiding(30_000.0);
    let _ = send(&mut tfrc, 510, false);
    near(expire(&mut tfrc), 30_000.0);
    // Limited by the equation: 112 kB/s become 56.
    let mut tfrc = avoiding(100_000.0);
    let before = tfrc.x;
    let _ = send(&mut tfrc, 510, false);
    near(expire(&mut tfrc), before / 2.0);
    let _ = send(&mut tfrc, 2000, false);
    near(expire(&mut tfrc), before / 4.0);
    // Idle with X_recv below the initial rate of 40 kB/s: nothing; above: as otherwise.
    near(expire(&mut avoiding(30_000.0)), 60_000.0);
    near(expire(&mut avoiding(100_000.0)), before / 2.0);
}

#[test]
fn impossible_feedback_changes_nothing() {
    let mut tfrc = avoiding(100_000.0);
    let before = (tfrc.x, tfrc.next_timeout());
    for (p, at, newest_sent, delay) in [
        (f64::NAN, 600, ms(500), 0),
        (-0.1, 600, ms(500), 0),
        (1.5, 600, ms(500), 0),
        (0.5, 600, ms(601), 0),
        (0.5, 600, ms(500), 101),
        (0.5, 600, ms(500), -1),
    ] {
        let delay = TimeDelta::from_millis(delay);
        let receive_rate = Bitrate::from_mbps(1);
        let report =
            ReceiverReport::Tfrc { loss_event_rate: p, receive_rate, newest_sent: Some(newest_sent), delay };
        assert_eq!(tfrc.on_report(ms(at), &Report::Receiver(report)), Update::none());
    }
    assert_eq!((tfrc.x, tfrc.next_timeout()), before);
    let mut silent = sender(plain());
    assert_eq!(hear(&mut silent, 200, 0.5, 1.0), Update::none(), "nothing was sent");
}

#[test]
fn coupling_sets_the_rate_until_the_next_feedback() {
    let mut tfrc = avoiding(100_000.0);
    let own = tfrc.x;
    let update = tfrc.assign(ms(510), Assigned::Rate(Bitrate::from_mbps(4)));
    assert_eq!(update.pacing, Some(Pacing::Rate(Bitrate::from_mbps(4))));
    let _ = tfrc.assign(ms(510), Assigned::Window(Bytes::new(10_000)));
    near(tfrc.x, 10_000.0 / tfrc.round_trip.r().expect("known"));
    let _ = tfrc.assign(ms(510), Assigned::Rate(Bitrate::ZERO));
    near(tfrc.x, 1000.0 / 64.0);
    let _ = hear(&mut tfrc, 602, 0.01, 100_000.0);
    near(tfrc.x, own);
}

#[test]
fn unused_send_time_of_a_round_trip_may_be_made_up_for() {
    for (burst_credit, at_once) in [(0.0, 1), (0.5, 2), (1.0, 4)] {
        let mut tfrc = started(Params { burst_credit, ..plain() });
        let mut packets = 1;
        // 40 kB/s: a packet every 25 ms; after a pause of 1 s.
        while send(&mut tfrc, 1100, false).pacing == Some(Pacing::Off) && packets < 100 {
            packets += 1;
        }
        assert_eq!(packets, at_once, "credit of {burst_credit} round trips");
    }
}

#[test]
fn slow_start_may_be_left_undamped() {
    for (damped_slow_start, damped) in [(true, true), (false, false)] {
        let mut tfrc = started(Params { damped_slow_start, ..Params::default() });
        let report = |loss_event_rate| ReceiverReport::Tfrc {
            loss_event_rate,
            receive_rate: Bitrate::from_mbps(100),
            newest_sent: Some(ms(0)),
            delay: TimeDelta::ZERO,
        };
        let _ = tfrc.on_report(ms(400), &Report::Receiver(report(0.0)));
        assert_eq!(tfrc.x_inst() < tfrc.x, damped);
        let _ = tfrc.on_report(ms(401), &Report::Receiver(report(0.01)));
        assert!(tfrc.x_inst() < tfrc.x, "with losses in any case");
    }
}

#[test]
fn the_initial_window_may_be_a_single_segment() {
    let mut tfrc = sender(Params { w_init_segments: 1, ..plain() });
    let _ = send(&mut tfrc, 0, false);
    let _ = hear(&mut tfrc, 100, 0.0, 0.0);
    near(tfrc.x, 10_000.0);
}
