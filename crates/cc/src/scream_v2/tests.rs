//! The parts together: what reports do to window, target and pace, by the sections of draft-ietf-ccwg-rfc8298bis-screamv2-01.

use super::*;
use crate::{
    Allowance, Assigned, Controller, Limits, Marking, Offered, PacketResult, PacketsReport, Report,
    SendQueueState, StreamId, StreamSet,
};
use crate::{SentPacket, Status, StreamChange, Update};
use alloc::vec;
use alloc::vec::Vec;
use paceline_units::Ecn;
use paceline_units::param::{ParamSet, Value};

const SIZE: Bytes = Bytes::new(1000);

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn scream(params: &Params) -> ScreamV2 {
    ScreamV2::new(params, &FlowSetup::new(SIZE))
}

fn send(scream: &mut ScreamV2, now: u64, stream: u8, sequence: u64) -> Update {
    let stream = StreamId(stream);
    let queue =
        SendQueueState { stream, bytes: SIZE, packets: 1, newest_frame: SIZE, ..SendQueueState::default() };
    let _ = scream.on_offered(at(now), &Offered { stream, bytes: SIZE, frame_end: true }, &queue);
    let packet = SentPacket { stream, sequence, size: SIZE, probe: None, app_limited: false };
    scream.on_sent(at(now), &packet)
}

/// The packet, sent at `sent` (ms), arrived 20 ms later; the report comes at `now`.
fn report(scream: &mut ScreamV2, now: u64, stream: u8, sequence: u64, sent: u64, ecn: Ecn) -> Update {
    let status = Status::Received { arrived: Some(at(sent + 20)), ecn };
    let packets = [PacketResult { stream: StreamId(stream), sequence, size: SIZE, sent: at(sent), status }];
    let clock_step = TimeDelta::from_micros(977);
    scream.on_report(
        at(now),
        &Report::Packets(PacketsReport { packets: &packets, clock_step, ambiguous: false }),
    )
}

/// A packet every 10 ms over a round trip of 40 ms until `until`, none of them lost; each tenth marked if `marks`.
fn call(params: &Params, until: u64, marks: bool) -> ScreamV2 {
    let mut scream = ScreamV2::new(params, &FlowSetup { l4s: marks, ..FlowSetup::new(SIZE) });
    for n in 0..=until / 10 {
        if n >= 4 {
            let ecn = if marks && n % 10 == 0 { Ecn::Ce } else { Ecn::Ect1 };
            let _ = report(&mut scream, n * 10, 0, n - 4, n * 10 - 40, ecn);
        }
        let _ = send(&mut scream, n * 10, 0, n);
    }
    scream
}

/// Section 4.4: the target is what the window lets through in a smoothed round trip, and a part of that.
#[test]
fn the_target_is_the_window_over_the_round_trip() {
    let scream = call(&Params::draft(), 2000, false);
    assert_eq!(scream.srtt(), TimeDelta::from_millis(40));
    let part = scream.media.target_part(&scream.params, scream.wnd.ratio(scream.mss), scream.mss);
    let expected = part * 8.0 * scream.wnd.ref_wnd / 0.04;
    assert!((scream.target / expected - 1.0).abs() < 1e-4, "{} and {expected}", scream.target);
    assert!((0.5..0.82).contains(&part), "{part}");
}

/// Section 4.2.2.2: 4 kB in flight allow 1000 + 1.5 x 4000 B.
#[test]
fn a_source_that_sends_little_keeps_a_small_window() {
    let scream = call(&Params::draft(), 20_000, false);
    assert!((6000.0..=7000.0).contains(&scream.wnd.ref_wnd), "{}", scream.wnd.ref_wnd);
    let libwebrtc = call(&Params::libwebrtc(), 20_000, false);
    assert!(libwebrtc.wnd.ref_wnd <= 5400.0, "head room of 1.1: {}", libwebrtc.wnd.ref_wnd);
}

#[test]
fn the_first_window_is_the_smallest_or_that_of_the_first_rate() {
    let first = |params: &Params| {
        let mut scream = scream(params);
        let _ = send(&mut scream, 0, 0, 0);
        let _ = report(&mut scream, 40, 0, 0, 0, Ecn::Ect1);
        scream.wnd.ref_wnd
    };
    assert_eq!(first(&Params::draft()), 3000.0);
    assert_eq!(first(&Params::libwebrtc()), 300e3 * 0.04 / 8.0);
}

#[test]
fn marks_are_answered_in_proportion_under_l4s_and_by_a_factor_else() {
    // A packet in 10 ms is a fraction of 0 or 1: an eighth up for one of ten, a 128th down for each of the others.
    let scream = call(&Params::draft(), 4000, true);
    assert!((0.6..0.7).contains(&scream.alpha.alpha), "{}", scream.alpha.alpha);
    let drop_after_a_mark = |params: &Params, marking: Marking| {
        let mut scream = call(params, 4000, false);
        let _ = scream.on_marking(at(4000), marking);
        // The first mark after long is another matter.
        scream.wnd.ref_wnd = 4000.0;
        let _ = report(&mut scream, 4010, 0, 397, 3970, Ecn::Ce);
        let before = scream.wnd.ref_wnd;
        let _ = report(&mut scream, 4050, 0, 398, 3980, Ecn::Ce);
        scream.wnd.ref_wnd / before
    };
    let draft = Params { l4s_alpha_start: 0.0, min_ref_wnd: Bytes::new(100), ..Params::draft() };
    let [classic, l4s] = [Marking::Classic, Marking::L4s].map(|marking| drop_after_a_mark(&draft, marking));
    assert!((0.75..0.85).contains(&classic) && l4s > 0.85, "{classic} and {l4s}");
    let libwebrtc = Params { min_ref_wnd: Bytes::new(100), ..Params::libwebrtc() };
    let [classic, l4s] =
        [Marking::Classic, Marking::L4s].map(|marking| drop_after_a_mark(&libwebrtc, marking));
    assert_eq!(classic, l4s, "libwebrtc has no classic ECN");
}

/// Reports every 10 ms until 2 s, then none: the pace falls after three intervals of 20 ms, half a second later contact is lost. A report
/// of what was given up brings window and target back, if it comes soon.
#[test]
fn silence_lowers_the_pace_then_window_and_target_and_soon_they_come_back() {
    let mut scream = call(&Params::draft(), 2000, false);
    let (wnd, target, pace) = (scream.wnd.ref_wnd, scream.target, scream.pacing);
    let (first, _) = scream.next_timeout().expect("a report is waited for");
    assert_eq!(first, at(2000 + 3 * 20));
    let _ = scream.on_timeout(first);
    assert_eq!((scream.silence.halvings, scream.silence.is_contact_lost()), (1, false));
    assert_ne!(scream.pacing, pace);
    assert!(scream.share().is_none(), "it shares with nobody");
    let mut now = first;
    while !scream.silence.is_contact_lost() {
        (now, _) = scream.next_timeout().expect("a report is waited for");
        let _ = scream.on_timeout(now);
    }
    assert_eq!(now, at(2500));
    assert_eq!((scream.in_flight, scream.wnd.ref_wnd), (Bytes::ZERO, 3000.0));
    assert!((scream.target - target / 2.0).abs() < 1.0);
    let _ = report(&mut scream, 2600, 0, 199, 1990, Ecn::Ect1);
    assert_eq!((scream.wnd.ref_wnd, scream.silence.halvings), (wnd, 0));
}

#[test]
fn after_a_long_silence_part_of_the_window_is_left() {
    let mut scream = call(&Params { min_ref_wnd: Bytes::new(100), ..Params::draft() }, 2000, false);
    let wnd = scream.wnd.ref_wnd;
    while scream.in_flight > Bytes::ZERO {
        let (due, _) = scream.next_timeout().expect("a report is waited for");
        let _ = scream.on_timeout(due);
    }
    let _ = send(&mut scream, 5000, 0, 201);
    let _ = report(&mut scream, 5040, 0, 201, 5000, Ecn::Ect1);
    let part = scream.wnd.ref_wnd / wnd;
    assert!(
        (0.35..0.45).contains(&part),
        "0.7 for the loss event, half for 2 s, and a packet's growth: {part}"
    );
}

#[test]
fn an_assigned_rate_becomes_the_target_and_stays() {
    let mut scream = call(&Params::draft(), 2000, false);
    let _ = scream.assign(at(2000), Assigned::Rate(Bitrate::from_mbps(3)));
    assert_eq!(scream.snapshot().target, Some(Bitrate::from_mbps(3)));
    let _ = report(&mut scream, 2010, 0, 197, 1970, Ecn::Ect1);
    assert!((scream.target / 3e6 - 1.0).abs() < 0.2, "the window fits: {}", scream.target);
    let _ = scream.assign(at(2010), Assigned::Window(Bytes::new(20_000)));
    assert_eq!(scream.wnd.ref_wnd, 20_000.0);
    assert!((scream.target / (0.817 * 8.0 * 20_000.0 / 0.04) - 1.0).abs() < 0.1, "{}", scream.target);
}

#[test]
fn limits_add_up_and_hold() {
    let setup = FlowSetup { priorities: vec![1.0, 1.0], ..FlowSetup::new(SIZE) };
    let mut scream = ScreamV2::new(&Params::draft(), &setup);
    let limits =
        |stream, max| Limits { stream: StreamId(stream), min: Bitrate::ZERO, max: Bitrate::from_kbps(max) };
    let _ = scream.on_limits(at(0), &limits(0, 500));
    let _ = scream.on_limits(at(0), &limits(1, 64));
    assert_eq!((scream.bounds, scream.target), ((128e3, 564e3), 564e3));
    let _ = scream.on_stream(at(0), StreamId(0), StreamChange::Left);
    assert_eq!(scream.bounds, (64e3, 64e3));
    let _ = scream.on_stream(at(0), StreamId(2), StreamChange::Joined(1.0));
    assert_eq!((scream.bounds.1, scream.streams.detectors().len()), (64e3 + 100e6, 3));
    let before = scream.bounds;
    assert_eq!(scream.on_limits(at(0), &limits(3, 500)), Update::none(), "there is no such stream");
    let full = StreamId(StreamSet::CAPACITY);
    assert_eq!(
        scream.on_stream(at(0), full, StreamChange::Joined(1.0)),
        Update::none(),
        "no update names it"
    );
    assert_eq!(scream.on_stream(at(0), StreamId(2), StreamChange::Priority(3.0)), Update::none());
    assert_eq!(scream.bounds, before);
}

#[test]
fn the_flight_of_a_stream_counts_until_it_is_gone() {
    let setup = FlowSetup { priorities: vec![1.0, 1.0], ..FlowSetup::new(SIZE) };
    let mut scream = ScreamV2::new(&Params::draft(), &setup);
    for (stream, sequence) in [(0, 0), (1, 0), (1, 1)] {
        let _ = send(&mut scream, 10, stream, sequence);
    }
    let _ = scream.on_stream(at(20), StreamId(1), StreamChange::Left);
    assert_eq!(scream.in_flight, Bytes::new(3000));
    let update = scream.on_stream(at(20), StreamId(1), StreamChange::Gone);
    assert_eq!((scream.in_flight, update.allowance), (SIZE, Some(Allowance::Bytes(scream.send_window()))));
}

/// A path that becomes longer by 40 ms: the round trip and the delay rise at once, and the base delay follows within a minute.
#[test]
fn a_longer_path_is_a_queue_until_the_base_delay_is_measured_anew() {
    let mut scream = call(&Params::draft(), 2000, false);
    let mut forgotten = None;
    for n in 201..6000u64 {
        let status = Status::Received { arrived: Some(at(n * 10 - 20)), ecn: Ecn::Ect1 };
        let packets = [PacketResult {
            stream: StreamId(0),
            sequence: n - 8,
            size: SIZE,
            sent: at(n * 10 - 80),
            status,
        }];
        let clock_step = TimeDelta::from_micros(977);
        let packets = PacketsReport { packets: &packets, clock_step, ambiguous: false };
        let _ = scream.on_report(at(n * 10), &Report::Packets(packets));
        let _ = send(&mut scream, n * 10, 0, n);
        if n > 220 && scream.delay.qdelay == 0.0 {
            forgotten = forgotten.or(Some(n * 10));
        }
    }
    let when = forgotten.expect("the base delay follows");
    assert!(when < 30_000, "{when} ms");
}

/// The fate of the n-th packet, of which there are 200 in a second: queue in ms, whether it is lost, whether it is marked.
type Path = fn(u64) -> (u64, bool, bool);

/// Queues that vary, stand and go, losses few and many, marks; the round trip in ms, and packets in a report.
const PATHS: [(Path, u64, u64); 10] = [
    (|n| (0, false, n % 7 == 0 && n > 300), 10, 2),
    (|n| (n % 40, false, n % 23 == 0), 40, 8),
    (|n| (if n > 300 { 70 } else { 0 }, false, false), 40, 8),
    (|n| (n / 40 % 30, n % 300 == 299, false), 40, 8),
    (|n| (0, n % 4 == 0 && n > 300, false), 40, 8),
    (|n| (if n > 200 { 20 } else { 0 }, false, n % 400 == 0), 40, 8),
    (|n| (0, false, n > 800 && n % 9 == 0), 40, 2),
    (|n| (n / 300 * 40, n > 600 && n % 50 == 0, n % 101 == 0), 40, 8),
    (|n| (n % 4 * 3, false, n == 160), 40, 8),
    (|n| (if n < 800 { 100 } else { 0 }, false, false), 40, 8),
];
/// Packets of a run: frames of 4, 3 ms apart, each 20 ms.
const PACKETS: u64 = 1100;

fn sent_at(packet: u64) -> u64 {
    packet / 4 * 20 + packet % 4 * 3
}

/// Windows, targets and paces along a path: sums that any of them changes. For 0.75 s no
/// report comes.
fn fingerprint(params: &Params, (path, round_trip, each): (Path, u64, u64), l4s: bool) -> [f64; 3] {
    let mut scream = ScreamV2::new(params, &FlowSetup { l4s, ..FlowSetup::new(SIZE) });
    let (mut sums, mut reported) = ([0.0; 3], 0);
    for n in 0..PACKETS {
        let now = sent_at(n);
        let waits = n % 480 < 100;
        let queue = SendQueueState {
            bytes: Bytes::new(if waits { 6000 } else { 1000 }),
            packets: 1,
            oldest: Some(TimeDelta::from_millis(if waits { 30 } else { 0 })),
            newest_frame: SIZE,
            ..SendQueueState::default()
        };
        let offered = Offered { stream: StreamId(0), bytes: SIZE, frame_end: n % 4 == 3 };
        let _ = scream.on_offered(at(now), &offered, &queue);
        let packet =
            SentPacket { stream: StreamId(0), sequence: n, size: SIZE, probe: None, app_limited: false };
        let _ = scream.on_sent(at(now), &packet);
        while let Some((due, _)) = scream.next_timeout().filter(|(due, _)| *due <= at(now)) {
            let _ = scream.on_timeout(due);
        }
        if n % each == each - 1 && !(500..650).contains(&n) {
            let due = |packet: &u64| sent_at(*packet) + round_trip + path(*packet).0 <= now;
            let end = (reported..n).take_while(due).last().map_or(reported, |last| last + 1);
            let result = |packet: u64| {
                let (queue, lost, marked) = path(packet);
                let ecn = if marked { Ecn::Ce } else { Ecn::Ect1 };
                let arrived = Some(at(sent_at(packet) + round_trip / 2 + queue));
                let status = if lost { Status::Missing } else { Status::Received { arrived, ecn } };
                PacketResult {
                    stream: StreamId(0),
                    sequence: packet,
                    size: SIZE,
                    sent: at(sent_at(packet)),
                    status,
                }
            };
            let packets: Vec<_> = (reported..end).map(result).collect();
            reported = end;
            let clock_step = TimeDelta::from_micros(977);
            let report = PacketsReport { packets: &packets, clock_step, ambiguous: false };
            let _ = scream.on_report(at(now), &Report::Packets(report));
        }
        let pace = match scream.pacing {
            Pacing::Rate(rate) => rate.as_bps_f64(),
            Pacing::Burst { rate, at_once, .. } => rate.as_bps_f64() + 1e3 * at_once.as_secs_f64(),
            Pacing::Off | Pacing::Gap(_) => 0.0,
        };
        sums[0] += scream.wnd.ref_wnd + scream.flight_allowed.as_f64();
        sums[1] += scream.target + scream.delay_target;
        sums[2] += pace + scream.next_timeout().map_or(0.0, |(due, _)| (due - Time::ZERO).as_secs_f64());
    }
    sums
}

/// Values near that of a parameter, or the other one.
fn others(value: &Value) -> [Value; 2] {
    match *value {
        Value::Time(span) => [0.4, 3.0].map(|by| {
            let other = if span == TimeDelta::ZERO { 0.01 } else { span.as_secs_f64() * by };
            Value::Time(TimeDelta::from_secs_f64(other))
        }),
        Value::Rate(rate) => [0.4, 3.0].map(|by| Value::Rate(Bitrate::from_bps_f64(rate.as_bps_f64() * by))),
        Value::Size(size) => [0.4, 3.0].map(|by| Value::Size(Bytes::new((size.as_f64() * by) as u64))),
        Value::Ratio(ratio) => [0.4, 3.0].map(|by| Value::Ratio(if ratio == 0.0 { by } else { ratio * by })),
        Value::Count(count) => {
            [1, 2].map(|other| Value::Count(if other == count { 3 - other } else { other }))
        }
        Value::Flag(flag) => [Value::Flag(!flag), Value::Flag(!flag)],
        ref other => panic!("{other:?}"),
    }
}

/// Every constant, at two fifths or three times its value or the other way round, changes a run over one of these paths. Its value itself
/// is held by the tests of its section.
#[test]
fn each_constant_is_used() {
    // Optional rules are on, and what takes long or is far away comes soon.
    let with_options = |params: Params| Params {
        reduce_jitter: true,
        rate_policer: true,
        limit_undershoot: true,
        competing_flow_compensation: true,
        min_ref_wnd: Bytes::new(500),
        target_bitrate_max: Bitrate::from_mbps(2),
        qdelay_drain_period: TimeDelta::from_secs(1),
        qdelay_min_avg_alpha: 1.0 / 64.0,
        pacing_rest: TimeDelta::from_secs(2),
        ..params
    };
    let usual = [Params::draft(), Params::libwebrtc(), Params::ericsson()].map(with_options);
    let classic = [(PATHS[1], false)];
    let runs: Vec<_> = PATHS.iter().map(|path| (*path, true)).chain(classic).collect();
    let before = usual
        .each_ref()
        .map(|params| runs.iter().map(|(path, l4s)| fingerprint(params, *path, *l4s)).collect::<Vec<_>>());
    let is_used = |name: &str| {
        usual.iter().zip(&before).any(|(params, before)| {
            others(&params.value(name).expect("a value")).into_iter().any(|other| {
                let mut params = params.clone();
                let known = params.set(name, other).is_ok();
                let mut each = runs.iter().zip(before);
                known && each.any(|((path, l4s), before)| fingerprint(&params, *path, *l4s) != *before)
            })
        })
    };
    let idle: Vec<_> = usual[0].specs().iter().map(|spec| spec.name).filter(|name| !is_used(name)).collect();
    assert_eq!(idle, IDLE);
}

/// The scenario reads the first. A single loss already raises the loss event rate above its threshold; the buckets outlast the run; clocks
/// agree; no packet is reported late.
const IDLE: [&str; 6] = [
    "mss",
    "loss_event_weight",
    "base_delay_bucket",
    "base_delay_buckets",
    "skew_compensation",
    "reorder_window_max",
];
