use super::*;
use crate::FlowSetup;
use crate::ccid::LossInterval;
use crate::ccid::ccid3::Params;
use crate::{Pacing, TargetChange};
use paceline_units::Bytes;
use paceline_units::param::Profiles;

const SIZE: Bytes = Bytes::new(1000);

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn sender() -> Ccid3 {
    let mut params = Params::default();
    params.tfrc.oscillation_reduction = false;
    Ccid3::new(&params, &FlowSetup::new(SIZE))
}

fn send(ccid3: &mut Ccid3, at: u64) -> Option<Annotation> {
    let annotation = ccid3.annotation(ms(at), StreamId(0));
    let packet =
        SentPacket { stream: StreamId(0), sequence: at, size: SIZE, probe: None, app_limited: false };
    let _ = ccid3.on_sent(ms(at), &packet);
    annotation
}

/// Feedback about a packet that was sent 100 ms before: intervals so long, and so many bytes per second.
fn hear(ccid3: &mut Ccid3, at: u64, lengths: &[u32], bytes_per_second: f64) -> Update {
    let interval =
        |data: &u32| LossInterval { lossless_length: data - 1, loss_length: 1, data_length: *data };
    let mut intervals: alloc::vec::Vec<_> = lengths.iter().map(interval).collect();
    if intervals.is_empty() {
        intervals.push(LossInterval { lossless_length: 1000, loss_length: 0, data_length: 0 });
    }
    let report = LossIntervalsReport {
        intervals: &intervals,
        receive_rate: Bitrate::from_bps_f64(bytes_per_second * 8.0),
        newest_sent: ms(at - 110),
        elapsed: TimeDelta::from_millis(10),
    };
    ccid3.on_report(ms(at), &Report::Ccid(CcidReport::LossIntervals(report)))
}

fn x(ccid3: &Ccid3) -> f64 {
    ccid3.allowed_rate().as_bps_f64() / 8.0
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-5, "{found}, expected {expected}");
}

/// In congestion avoidance with R = 100 ms, p = 0.01 and X = 112 kB/s, as of 502 ms; 100 kB/s arrive.
fn avoiding() -> Ccid3 {
    let mut ccid3 = sender();
    send(&mut ccid3, 0);
    let _ = hear(&mut ccid3, 110, &[], 0.0);
    for at in [300, 401, 502] {
        send(&mut ccid3, at - 110);
        let _ = hear(&mut ccid3, at, &[100; 9], 100_000.0);
    }
    near(x(&ccid3), 112_332.2);
    ccid3
}

#[test]
fn the_initial_rate_is_two_to_four_packets_a_round_trip() {
    for (largest, window) in [(500, 2000.0), (1000, 4000.0), (1460, 4380.0), (3000, 6000.0)] {
        let mut ccid3 = Ccid3::new(&Params::default(), &FlowSetup::new(Bytes::new(largest)));
        send(&mut ccid3, 0);
        near(x(&ccid3), largest as f64);
        let update = hear(&mut ccid3, 110, &[], 0.0);
        near(x(&ccid3), window / 0.1);
        assert_eq!(update.target, TargetChange::Total(ccid3.allowed_rate()));
    }
}

#[test]
fn the_elapsed_time_is_not_part_of_the_round_trip() {
    let mut ccid3 = sender();
    send(&mut ccid3, 0);
    let _ = hear(&mut ccid3, 110, &[], 0.0);
    assert_eq!(ccid3.snapshot().srtt, Some(TimeDelta::from_millis(100)));
    // Section 6: t_RTO is 4 R.
    assert_eq!(ccid3.next_timeout(), Some((ms(510), TimeoutReason::NoFeedback)));
}

#[test]
fn the_rate_is_the_equation_s_for_the_intervals_told() {
    for (length, expected) in [(1000, 383_843.6), (100, 112_332.2), (10, 17_701.0)] {
        let mut ccid3 = avoiding();
        let _ = hear(&mut ccid3, 603, &[length; 9], 1e6);
        near(x(&ccid3), expected);
        let p = 1.0 / f64::from(length);
        let report = |receive_rate| {
            Report::Receiver(ReceiverReport::Tfrc {
                loss_event_rate: p,
                receive_rate,
                newest_sent: Some(ms(493)),
                delay: TimeDelta::from_millis(10),
            })
        };
        let mut other = avoiding();
        let _ = other.on_report(ms(603), &report(Bitrate::from_mbps(8)));
        near(x(&other), x(&ccid3));
    }
}

#[test]
fn feedback_that_lacks_something_is_none() {
    let mut ccid3 = avoiding();
    let before = (x(&ccid3), ccid3.next_timeout());
    let report = LossIntervalsReport {
        intervals: &[],
        receive_rate: Bitrate::from_mbps(1),
        newest_sent: ms(500),
        elapsed: TimeDelta::ZERO,
    };
    assert_eq!(ccid3.on_report(ms(603), &Report::Ccid(CcidReport::LossIntervals(report))), Update::none());
    let report = ReceiverReport::Tfrc {
        loss_event_rate: 0.5,
        receive_rate: Bitrate::from_mbps(1),
        newest_sent: None,
        delay: TimeDelta::ZERO,
    };
    assert_eq!(ccid3.on_report(ms(603), &Report::Receiver(report)), Update::none());
    assert_eq!((x(&ccid3), ccid3.next_timeout()), before);
}

#[test]
fn packets_carry_the_counter() {
    let mut ccid3 = sender();
    assert_eq!(send(&mut ccid3, 0), Some(Annotation::Counter(0)));
    assert_eq!(send(&mut ccid3, 60), Some(Annotation::Counter(1)), "a step of 50 ms before R is known");
    let _ = hear(&mut ccid3, 175, &[], 0.0);
    assert_eq!(ccid3.annotation(ms(176), StreamId(0)), Some(Annotation::Counter(5)), "4 after that of 60 ms");
    assert_eq!(send(&mut ccid3, 176), Some(Annotation::Counter(5)));
    assert_eq!(send(&mut ccid3, 202), Some(Annotation::Counter(6)), "a step of R/4");
}

/// Section 5.2: min(X_inrecv, X_drop/2), with X_drop = max(X_inrecv - 3 s/R, min(X_inrecv, s/R)).
#[test]
fn packets_without_room_take_one_each_from_the_rate() {
    let code = |sequence, code| DroppedPacket { sequence, code };
    let dropped = [1, 2, 3].map(|n| code(n, DropCode::ReceiveBuffer));
    let mut ccid3 = avoiding();
    let before = x(&ccid3);
    let _ = ccid3.on_report(ms(510), &Report::Ccid(CcidReport::DataDropped(&dropped)));
    near(x(&ccid3), before - 30_000.0);
    let _ = hear(&mut ccid3, 603, &[100; 9], 100_000.0);
    near(x(&ccid3), 70_000.0);
    let _ = hear(&mut ccid3, 704, &[100; 9], 100_000.0);
    near(x(&ccid3), 112_332.2);
    // Not below one packet per round trip.
    let many = [code(1, DropCode::ReceiveBuffer); 50];
    let _ = ccid3.on_report(ms(710), &Report::Ccid(CcidReport::DataDropped(&many)));
    near(x(&ccid3), 10_000.0);
    let _ = hear(&mut ccid3, 805, &[100; 9], 100_000.0);
    near(x(&ccid3), 10_000.0);
    // Other codes say nothing of room, and corrupt packets are the receiver half's marks.
    let mut other = avoiding();
    let others = [code(1, DropCode::ProtocolConstraints), code(2, DropCode::Corrupt)];
    let _ = other.on_report(ms(510), &Report::Ccid(CcidReport::DataDropped(&others)));
    near(x(&other), before);
}

#[test]
fn a_slow_receiver_is_not_sent_more_for_a_round_trip() {
    let mut ccid3 = avoiding();
    assert_eq!(ccid3.on_report(ms(510), &Report::Ccid(CcidReport::SlowReceiver)), Update::none());
    let _ = hear(&mut ccid3, 603, &[1000; 9], 100_000.0);
    near(x(&ccid3), 100_000.0);
    let _ = hear(&mut ccid3, 704, &[1000; 9], 100_000.0);
    near(x(&ccid3), 200_000.0);
}

#[test]
fn to_nobody_nothing_is_sent() {
    let mut ccid3 = avoiding();
    let gone = [DroppedPacket { sequence: 1, code: DropCode::NotListening }];
    let update = ccid3.on_report(ms(510), &Report::Ccid(CcidReport::DataDropped(&gone)));
    assert_eq!(update.allowance, Some(Allowance::Packets(0)));
    assert_eq!(hear(&mut ccid3, 603, &[100; 9], 100_000.0).allowance, Some(Allowance::Packets(0)));
}

/// Section 5.1: an idle period does not take the rate below the initial one.
#[test]
fn silence_halves_the_rate_and_idleness_only_to_the_initial_rate() {
    let expire = |ccid3: &mut Ccid3, sent: bool| {
        let (due, _) = ccid3.next_timeout().expect("the timer always runs");
        if sent {
            send(ccid3, due.as_nanos() / 1_000_000 - 1);
        }
        let _ = ccid3.on_timeout(due);
        x(ccid3)
    };
    let mut ccid3 = avoiding();
    send(&mut ccid3, 505);
    near(expire(&mut ccid3, false), 112_332.2 / 2.0);
    near(expire(&mut ccid3, true), 112_332.2 / 4.0);
    let mut idle = avoiding();
    let lowest = (0..20).map(|_| expire(&mut idle, false)).fold(f64::INFINITY, f64::min);
    assert!((40_000.0..=60_000.0).contains(&lowest), "W_init/R is 40 kB/s: {lowest}");
    let mut never = sender();
    send(&mut never, 0);
    near(expire(&mut never, false), 500.0);
}

#[test]
fn coupling_sets_the_rate_until_the_next_feedback() {
    let mut ccid3 = avoiding();
    let update = ccid3.assign(ms(510), Assigned::Rate(Bitrate::from_mbps(4)));
    assert_eq!(update.pacing, Some(Pacing::Rate(Bitrate::from_mbps(4))));
    let _ = hear(&mut ccid3, 603, &[100; 9], 100_000.0);
    near(x(&ccid3), 112_332.2);
}

#[test]
fn ns2_begins_with_a_packet_a_round_trip_and_counts_with_no_smaller_p() {
    let params = Params::profile("ns2").expect("a profile");
    let mut ccid3 = Ccid3::new(&params, &FlowSetup::new(SIZE));
    send(&mut ccid3, 0);
    let _ = hear(&mut ccid3, 110, &[], 0.0);
    near(x(&ccid3), 10_000.0);
    for at in [300, 401] {
        send(&mut ccid3, at - 110);
        let _ = hear(&mut ccid3, at, &[1_000_000; 9], 1e9);
    }
    // X = s / (R sqrt(2p/3)), but for timeouts, with p = 10^-5.
    let without_timeouts = 1000.0 / (0.1 * libm::sqrt(2e-5 / 3.0));
    assert!((0.999..1.0).contains(&(x(&ccid3) / without_timeouts)), "{}", x(&ccid3) / without_timeouts);
}
