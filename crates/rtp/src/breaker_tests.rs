use super::*;
use paceline_cc::StreamId;
use paceline_units::Ecn;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn result(sequence: u64, sent: Time, received: bool) -> PacketResult {
    let status =
        if received { Status::Received { arrived: None, ecn: Ecn::NotEct } } else { Status::Missing };
    PacketResult { stream: StreamId(0), sequence, size: Bytes::new(1200), sent, status }
}

/// A packet each `gap` ms, reported 100 ms later as `received` says, until the breaker breaks or `seconds` are over.
fn run(
    gap: u64,
    seconds: u64,
    reported: impl Fn(u64) -> bool,
    received: impl Fn(u64) -> bool,
) -> Option<(f64, Broken)> {
    let mut breaker = CircuitBreaker::new(1, true);
    for sequence in 0..seconds * 1000 / gap {
        let now = at(sequence * gap);
        breaker.on_timeout(now, None);
        breaker.on_sent(now, Bytes::new(1200), now);
        let Some(old) = sequence.checked_sub(100 / gap) else { continue };
        if reported(old * gap) {
            // Each packet is in four reports.
            let results: Vec<_> =
                (old.saturating_sub(3)..=old).map(|old| result(old, at(old * gap), received(old))).collect();
            breaker.on_report(now, &results);
        }
        if let Some((when, why)) = breaker.broken {
            return Some((when.as_secs_f64(), why));
        }
    }
    None
}

#[test]
fn a_call_without_reports_ends_after_three_reporting_intervals_of_five_seconds() {
    assert_eq!(run(10, 60, |_| false, |_| true), Some((15.0, Broken::NoReports)));
    let (when, why) = run(10, 60, |millis| millis < 20_000, |_| true).expect("broken");
    assert_eq!(why, Broken::NoReports);
    assert!((35.0..35.2).contains(&when), "{when}");
}

#[test]
fn a_return_path_that_is_down_for_less_does_not_end_a_call() {
    assert_eq!(run(10, 60, |millis| !(20_000..34_800).contains(&millis), |_| true), None);
}

/// Sends a packet, offered just then.
fn send(breaker: &mut CircuitBreaker, millis: u64) {
    breaker.on_timeout(at(millis), None);
    breaker.on_sent(at(millis), Bytes::new(1200), at(millis));
}

#[test]
fn who_sends_nothing_waits_for_no_report() {
    let mut breaker = CircuitBreaker::new(1, true);
    send(&mut breaker, 0);
    assert_eq!(breaker.due(), at(15_000));
    breaker.on_timeout(at(15_000), None);
    assert_eq!((breaker.broken, breaker.due()), (None, Time::MAX));
    send(&mut breaker, 100_000);
    assert_eq!(breaker.due(), at(115_000));
    breaker.on_timeout(at(115_000), Some(at(101_000)));
    assert_eq!(breaker.broken, Some((at(115_000), Broken::NoReports)), "a packet waits to be sent");
}

/// The report on the last packets before a pause is lost, and the first report behind it is under way when 15 s are over.
#[test]
fn a_pause_is_no_time_without_reports() {
    for (resumed, due) in [(14_950, 29_950), (9_000, 19_000), (4_000, 15_000)] {
        let mut breaker = CircuitBreaker::new(1, true);
        send(&mut breaker, 0);
        send(&mut breaker, resumed);
        assert_eq!(breaker.due(), at(due), "resumed after {resumed} ms");
        breaker.on_timeout(at(15_000), None);
        breaker.on_report(at(resumed + 100), &[result(1, at(resumed), true)]);
        assert_eq!((breaker.broken, breaker.due()), (None, Time::MAX));
    }
}

#[test]
fn a_packet_in_six_seconds_and_a_closed_window_are_no_pause() {
    let mut breaker = CircuitBreaker::new(1, true);
    (0..4).for_each(|n| send(&mut breaker, n * 6000));
    assert_eq!(breaker.due(), at(18_000), "of each gap five seconds count");
    breaker.on_timeout(at(18_000), None);
    assert_eq!(breaker.broken, Some((at(18_000), Broken::NoReports)));
    let mut breaker = CircuitBreaker::new(1, true);
    send(&mut breaker, 0);
    breaker.on_sent(at(12_000), Bytes::new(1200), at(100));
    assert_eq!(breaker.due(), at(15_000), "the packet waited for the window");
    // In a pause media comes that the window does not let go.
    let mut breaker = CircuitBreaker::new(1, true);
    send(&mut breaker, 0);
    breaker.on_timeout(at(15_000), None);
    breaker.on_offered(at(60_000));
    assert_eq!(breaker.due(), at(75_000));
    breaker.on_timeout(at(75_000), Some(at(60_000)));
    assert_eq!(breaker.broken, Some((at(75_000), Broken::NoReports)));
}

/// A program that was suspended reads its socket last: media is offered, and time has passed, before the reports that waited.
#[test]
fn a_suspended_program_has_time_to_read_the_reports_that_waited() {
    for (woken, waits_since) in [(20_000, 20_000), (20_000, 50), (15_500, 15_500)] {
        let mut breaker = CircuitBreaker::new(1, true);
        send(&mut breaker, 0);
        breaker.on_timeout(at(woken), Some(at(waits_since)));
        assert_eq!(breaker.broken, None, "{woken} {waits_since}");
        breaker.on_sent(at(woken), Bytes::new(1200), at(waits_since));
        breaker.on_report(at(woken + 1), &[result(0, at(0), true)]);
        assert_eq!((breaker.broken, breaker.due()), (None, Time::MAX));
    }
    let mut breaker = CircuitBreaker::new(1, true);
    send(&mut breaker, 0);
    breaker.on_timeout(at(300_000), Some(at(50)));
    breaker.on_sent(at(300_000), Bytes::new(1200), at(50));
    assert_eq!(breaker.due(), at(305_000), "nothing waited");
    breaker.on_timeout(at(305_000), Some(at(301_000)));
    assert_eq!(breaker.broken, Some((at(305_000), Broken::NoReports)));
}

/// Section 4.2: k = 5 reports, of 5 s each.
#[test]
fn media_that_does_not_arrive_ends_a_call_after_five_reports() {
    let (when, why) = run(10, 60, |_| true, |sequence| sequence < 1000).expect("broken");
    assert_eq!(why, Broken::NoMedia);
    assert!((35.0..40.1).contains(&when), "{when}");
}

/// 1200 B over 100 ms with a tenth lost: X = 46.5 kB/s, and ten times that are 3.72 Mbit/s.
#[test]
fn ten_times_what_tcp_would_send_ends_a_call() {
    let loses = |sequence: u64| !sequence.is_multiple_of(10);
    assert_eq!(run(4, 60, |_| true, loses), None, "2.4 Mbit/s");
    let (when, why) = run(2, 60, |_| true, loses).expect("4.8 Mbit/s");
    assert_eq!(why, Broken::Congestion);
    assert!((20.0..21.0).contains(&when), "more than CB_INTERVAL = 3 reports: {when}");
}

#[test]
fn what_arrives_late_and_what_no_report_covers_is_not_lost() {
    let mut breaker = CircuitBreaker::new(1, true);
    for sequence in 0..100 {
        breaker.on_report(at(100), &[result(sequence, at(0), false)]);
    }
    for sequence in (0..100).rev() {
        breaker.on_report(at(100), &[result(sequence, at(0), true)]);
    }
    assert_eq!((breaker.present.covered, breaker.present.received), (100, 100));
    breaker.on_report(at(100), &[result(1_000_000, at(0), true), result(5, at(0), true)]);
    assert_eq!((breaker.present.covered, breaker.present.received), (101, 101), "too old to be told apart");
}
