//! The window laws in closed loops, against what their sources compute: response functions, queues, bandwidths.

use crate::members::members;
use paceline_cc::cubic::{Cubic, Params};
use paceline_cc::{
    AnyController, Assigned, Controller, ControllerParams, FlowSetup, PacketResult, PacketsReport, Recovery,
    Report, SentPacket, Status, Steers, StreamId,
};
use paceline_conformance::world::{LinkConfig, Record, at, run};
use paceline_conformance::{LARGEST, Subject};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::ops::RangeInclusive;

fn alone(name: &str, config: LinkConfig, seconds: f64) -> Record {
    let member = members().iter().find(|member| member.name() == name).expect("a member of that name");
    subject_alone(&member.subject, config, seconds)
}

fn subject_alone(subject: &Subject, config: LinkConfig, seconds: f64) -> Record {
    let record = run(config, &[(subject, 0.0)], seconds).remove(0);
    assert_eq!((&record.beyond, &record.miscounted), (&None, &None), "{}", subject.name());
    record
}

/// As RFC 8312 section 4.6 asks of a flow that knows itself alone.
fn lone_cubic() -> Subject {
    Subject::new("lone cubic", Steers::ByteStream, |setup: &FlowSetup| {
        let Some((ControllerParams::Cubic(params), _)) =
            ControllerParams::with_profile("cubic", Some("rfc8312"))
        else {
            panic!("a profile of CUBIC");
        };
        Cubic::new(&Params { fast_convergence: false, ..params }, setup)
    })
}

/// Equations 1 and 2 alone, in continuous time, with a loss after each `period` packets: the mean window between two
/// times, from a first plateau on.
fn ideal_cubic(period: f64, mut plateau: f64, from: f64, to: f64) -> f64 {
    let (c, beta, rtt) = (0.4, 0.7, 0.1);
    let (mut now, mut packets) = (0.0, 0.0);
    while now < to {
        let k = (plateau * (1.0 - beta) / c).cbrt();
        let sent = |t: f64| (plateau * t + c / 4.0 * ((t - k).powi(4) - k.powi(4))) / rtt;
        let (mut low, mut high) = (0.0, 1000.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if sent(middle) < period { low = middle } else { high = middle }
        }
        if now >= from {
            packets += period;
        }
        now += low;
        plateau += c * (low - k).powi(3);
    }
    packets * rtt / (to - from)
}

#[track_caller]
fn within(what: &str, found: f64, band: RangeInclusive<f64>) {
    assert!(band.contains(&found), "{what}: {found:.4} is outside {band:?}");
}

/// A path without a queue: 100 ms round trip, a loss every so many packets.
fn periodic(lose_every: u64) -> LinkConfig {
    LinkConfig {
        rate: Bitrate::from_mbps(1000),
        delay: TimeDelta::from_millis(50),
        lose_every: Some(lose_every),
        ..LinkConfig::clean(1)
    }
}

/// Rate x RTT x sqrt(p) in packets: sqrt(3/2) = 1.22 where exactly every 1/p-th packet is lost (1.31 is for random
/// losses).
#[test]
fn reno_under_periodic_losses_has_the_rate_of_the_square_root_law() {
    // Of the kinds that share a window law the suite has the first.
    for (name, band) in [("tahoe rfc5681", 1.14..=1.25), ("tahoe ns2", 1.14..=1.25)] {
        for period in [1000, 10_000] {
            let record = alone(name, periodic(period), 600.0);
            let packets = record.rate(60.0, 600.0) * 1e6 / 8.0 / 1212.0 * 0.1;
            let found = packets / (period as f64).sqrt();
            within(&format!("{name}, one of {period}"), found, band.clone());
            assert_eq!(record.timeouts, 0, "{name}, one of {period}");
        }
    }
}

/// RFC 8312 table 1, RTT 0.1 s, C = 0.4: the first row, where the window is Reno's (section 4.2), and that the others are
/// what the equations come to. They come to it slowly, since the curve is flat at its plateau.
#[test]
fn cubic_under_periodic_losses_has_the_windows_of_its_equations() {
    let record = subject_alone(&lone_cubic(), periodic(1000), 300.0);
    within("one of 1000", record.window(100.0, 300.0) / 38.0, 0.95..=1.05);
    for (period, table) in [(10_000, 187.0), (100_000, 1054.0)] {
        let period_packets = period as f64;
        within("table", ideal_cubic(period_packets, table / 0.925, 1e4, 1e5) / table, 0.99..=1.01);
        let record = subject_alone(&lone_cubic(), periodic(period), 300.0);
        let first = record.samples.iter().find(|(when, _, state)| *when > at(0.0) && state[2].is_some());
        let (when, _, state) = first.expect("it lost something");
        let (from, to) = (100.0 - when.as_secs_f64(), 300.0 - when.as_secs_f64());
        let ideal = ideal_cubic(period_packets, state[2].unwrap(), from, to);
        within(&format!("one of {period}"), record.window(100.0, 300.0) / ideal, 0.93..=1.03);
    }
}

#[test]
fn fast_convergence_leaves_room_under_the_same_losses() {
    let record = alone("cubic rfc8312", periodic(10_000), 300.0);
    within("part of table 1's window", record.window(100.0, 300.0) / 187.0, 0.8..=0.92);
}

#[test]
fn prague_knows_the_part_of_marked_packets_and_its_window_is_twice_its_inverse() {
    let config = LinkConfig { mark_every: Some(50), lose_every: None, ..periodic(1) };
    let record = alone("prague draft l4s", config, 120.0);
    within("alpha of one in fifty", record.state(2, 40.0, 120.0), 0.016..=0.024);
    // A packet more per round trip for each that is not marked, against alpha/2 of the window: W = 2 / p.
    within("window", record.window(40.0, 120.0), 80.0..=120.0);
}

#[test]
fn dctcp_knows_the_part_of_marked_packets_and_reduces_by_half_of_it() {
    let config = LinkConfig { mark_every: Some(5), lose_every: None, ..periodic(1) };
    let record = alone("dctcp rfc8257", config, 60.0);
    within("alpha", record.state(2, 20.0, 60.0), 0.18..=0.22);
    // A packet more per round trip against alpha/2 of the window.
    within("window", record.window(20.0, 60.0), 7.0..=12.0);
    let config = LinkConfig { mark_every: Some(50), ..config };
    within(
        "alpha of one in fifty",
        alone("dctcp rfc8257", config, 120.0).state(2, 40.0, 120.0),
        0.016..=0.024,
    );
}

#[test]
fn vegas_keeps_two_to_four_packets_in_the_queue() {
    let record = alone("vegas 1995", LinkConfig::clean(10), 60.0);
    let packets = record.wait(20.0, 60.0) / Bitrate::from_mbps(10).time_for(LARGEST).as_millis_f64();
    within("packets in the queue", packets, 1.0..=4.0);
    within("use of the link", record.rate(20.0, 60.0) / 10.0, 0.99..=1.0);
    within("its own count", record.state(2, 20.0, 60.0), 2.0..=4.0);
}

#[test]
fn bbr_finds_bandwidth_and_round_trip_and_drains_its_queue() {
    for (mbps, waits) in [(2, 15.0..=40.0), (10, 4.0..=16.0), (50, 4.0..=16.0)] {
        let record = alone("bbr v1", LinkConfig::clean(mbps), 60.0);
        let link = mbps as f64;
        within(&format!("bandwidth of {mbps}"), record.state(0, 5.0, 60.0) / link, 0.97..=1.03);
        within(&format!("round trip at {mbps}, ms"), record.state(1, 11.0, 60.0), 40.0..=47.0);
        within(&format!("use of {mbps}"), record.rate(5.0, 60.0) / link, 0.95..=1.0);
        within(&format!("use of {mbps} in the first second"), record.rate(0.5, 1.5) / link, 0.8..=1.01);
        // Three bursts of the pacer, and the queue of the probes.
        within(&format!("wait at {mbps}, ms"), record.wait(5.0, 60.0), waits);
        let waited = record.arrivals.iter().filter(|(when, ..)| *when > at(15.0)).map(|(_, _, wait)| *wait);
        within(&format!("least wait at {mbps}, ms"), waited.min().unwrap().as_millis_f64(), 0.0..=1.0);
        let probing =
            record.samples.iter().filter(|(when, _, state)| *when > at(5.0) && state[2] == Some(3.0));
        within(&format!("time in ProbeRTT at {mbps}, s"), probing.count() as f64 * 0.01, 0.8..=1.7);
    }
}

#[test]
fn bbr_pays_no_heed_to_a_hundredth_of_losses() {
    let config = LinkConfig { lose_every: Some(100), ..LinkConfig::clean(10) };
    within("use of the link", alone("bbr v1", config, 60.0).rate(10.0, 60.0) / 10.0, 0.9..=1.0);
}

#[test]
fn ledbat_settles_at_its_target() {
    for name in ["ledbat rfc6817", "ledbat rfc6817 one-way"] {
        let record = alone(name, LinkConfig::clean(10), 120.0);
        within(&format!("{name}, wait in ms"), record.wait(80.0, 120.0), 90.0..=105.0);
        within(&format!("{name}, its own estimate"), record.state(1, 80.0, 120.0), 90.0..=105.0);
        within(&format!("{name}, use of the link"), record.rate(80.0, 120.0) / 10.0, 0.99..=1.0);
    }
}

/// One law over one round trip, from a window of so many packets: rounds in which all arrives, losses, a mark and a timeout.
fn survives(params: &ControllerParams, name: &str, rtt: TimeDelta, packets: u64) {
    let setup = FlowSetup { initial_window: packets.min(100_000), ..FlowSetup::new(LARGEST) };
    let mut controller = AnyController::new(params, &setup).expect("a profile");
    let (mut now, mut next) = (at(1.0), 0);
    let check = |controller: &AnyController, now: Time| {
        let window = controller.snapshot().window.expect("a window").as_u64();
        assert!(
            (LARGEST.as_u64()..=1 << 53).contains(&window),
            "{name}, {rtt:?}, {packets}: {window} B at {now:?}"
        );
        let mut state = vec![None; controller.state_variables().len()];
        controller.state(&mut state);
        assert!(
            state.iter().flatten().all(|value| value.is_finite()),
            "{name}, {rtt:?}, {packets}: {state:?}"
        );
    };
    let _ = controller.assign(now, Assigned::Window(Bytes::new(packets * LARGEST.as_u64())));
    for round in 0..40u64 {
        let first = next;
        for _ in 0..64 {
            let packet = SentPacket {
                stream: StreamId(0),
                sequence: next,
                size: LARGEST,
                probe: None,
                app_limited: false,
            };
            let _ = controller.on_sent(now, &packet);
            next += 1;
        }
        let sent = now;
        now += rtt;
        let ecn = if round % 10 == 7 { Ecn::Ce } else { Ecn::Ect0 };
        let status = Status::Received { arrived: Some(now), ecn };
        let result = |sequence| PacketResult { stream: StreamId(0), sequence, size: LARGEST, sent, status };
        let results: Vec<_> = (first..next).map(result).collect();
        for results in results.chunks(8) {
            let report =
                PacketsReport { packets: results, clock_step: TimeDelta::from_nanos(1), ambiguous: false };
            let _ = controller.on_report(now, &Report::Packets(report));
            check(&controller, now);
        }
        let news = match round % 10 {
            3 => &[Recovery::Entered { lost: Bytes::ZERO }, Recovery::Left][..],
            5 => &[Recovery::Entered { lost: Bytes::ZERO }, Recovery::Spurious],
            9 => &[Recovery::TimedOut],
            _ => &[],
        };
        for recovery in news {
            let _ = controller.on_recovery(now, *recovery);
            check(&controller, now);
        }
    }
}

/// A million packets, and round trips of 10 us and of 10 s: every window stays a number, and none is below a packet.
#[test]
fn every_law_survives_a_million_packets_and_round_trips_of_10_us_and_10_s() {
    let laws = ControllerParams::all().filter(|(params, _)| params.steers() == Steers::ByteStream);
    for (params, profile) in laws {
        let name = format!("{} {profile}", params.kind());
        for rtt in [TimeDelta::from_micros(10), TimeDelta::from_millis(100), TimeDelta::from_secs(10)] {
            for packets in [1, 40, 1_000_000, 4_000_000_000] {
                survives(&params, &name, rtt, packets);
            }
        }
    }
}
