//! GCC's profile `libwebrtc` against the crate `goog_cc`, a Rust port of libwebrtc's controller: calls over twenty different
//! paths are recorded with ours in the loop, then both are told the same, and after each call both name a target.
//!
//! Run with `--nocapture` for the largest difference of each path. The bound of 2 % was set before the first run.

use crate::gcc_path::{Event, PATHS, recorded};
use goog_cc::network_control::{NetworkControllerConfig, NetworkControllerInterface};
use goog_cc::transport::{
    NetworkControlUpdate, PacedPacketInfo, PacketResult, ProcessInterval, SentPacket, TargetRateConstraints,
    TransportPacketsFeedback,
};
use goog_cc::units::{DataRate, DataSize, Timestamp};
use goog_cc::{GoogCcConfig, GoogCcNetworkController};
use paceline_cc::gcc::{Gcc, Params};
use paceline_cc::{Controller, PacketsReport, Report, Status, Update};
use paceline_units::param::Profiles;
use paceline_units::{Time, TimeDelta};
use std::collections::BTreeMap;

/// The largest difference of the two targets, as a part of the oracle's.
const BOUND: f64 = 0.02;

/// The oracle, and what it does not remember itself.
struct Oracle {
    controller: GoogCcNetworkController,
    target: f64,
    /// Packets that were sent, and whether they were reported missing.
    sent: BTreeMap<u64, (SentPacket, bool)>,
    started: bool,
}

fn stamp(time: Time) -> Timestamp {
    Timestamp::from_micros((time.as_nanos() / 1000) as i64)
}

impl Oracle {
    fn new(params: &Params, start: Time) -> Oracle {
        let rate = |rate: paceline_units::Bitrate| Some(DataRate::from_bits_per_sec(rate.as_bps() as i64));
        let constraints = TargetRateConstraints {
            at_time: stamp(start),
            min_data_rate: rate(params.target_bitrate_min),
            max_data_rate: rate(params.target_bitrate_max),
            starting_rate: rate(params.target_bitrate_start),
        };
        let config = NetworkControllerConfig { constraints, ..NetworkControllerConfig::default() };
        let controller = GoogCcNetworkController::new(config, GoogCcConfig { feedback_only: true });
        let target = params.target_bitrate_start.as_bps_f64();
        Oracle { controller, target, sent: BTreeMap::new(), started: false }
    }

    fn hear(&mut self, update: NetworkControlUpdate) {
        if let Some(target) = update.target_rate {
            self.target = target.target_rate.bps_float();
        }
    }

    fn process(&mut self, now: Time) {
        let update =
            self.controller.on_process_interval(ProcessInterval { at_time: stamp(now), pacer_queue: None });
        self.hear(update);
    }

    fn tell(&mut self, event: &Event) {
        if !self.started {
            self.started = true;
            self.process(event.now());
        }
        match event {
            Event::Begun(_) => {}
            Event::Tick(now) => self.process(*now),
            Event::Sent(now, packet, probe_bytes) => {
                let pacing_info = match (packet.probe, probe_bytes) {
                    (Some(id), Some(bytes)) => PacedPacketInfo::new(id as i32, 5, bytes.as_u64() as i64),
                    _ => PacedPacketInfo::default(),
                };
                let sent = SentPacket {
                    send_time: stamp(*now),
                    size: DataSize::from_bytes(packet.size.as_u64() as i64),
                    sequence_number: packet.sequence as i64,
                    pacing_info,
                    ..SentPacket::default()
                };
                self.sent.insert(packet.sequence, (sent, false));
                let update = self.controller.on_sent_packet(sent);
                self.hear(update);
            }
            Event::Reported(now, packets) => self.report(*now, packets),
        }
    }

    /// Each packet is told of as missing at most once, and as received at most once, as ours has it.
    fn report(&mut self, now: Time, packets: &[paceline_cc::PacketResult]) {
        let mut packet_feedbacks = Vec::new();
        for packet in packets {
            let Some((sent_packet, missing)) = self.sent.get_mut(&packet.sequence) else { continue };
            let mut result = PacketResult { sent_packet: *sent_packet, ..PacketResult::default() };
            match packet.status {
                Status::Missing if *missing => continue,
                Status::Missing => *missing = true,
                Status::Received { arrived, .. } => {
                    result.receive_time =
                        stamp(arrived.expect("the receiver of these paths always says when"));
                    self.sent.remove(&packet.sequence);
                }
            }
            packet_feedbacks.push(result);
        }
        if packet_feedbacks.iter().any(PacketResult::is_received) {
            let feedback_time = stamp(now);
            let report = TransportPacketsFeedback { feedback_time, packet_feedbacks, ..Default::default() };
            let update = self.controller.on_transport_packets_feedback(report);
            self.hear(update);
        }
    }
}

/// Tells ours what was recorded.
fn tell(gcc: &mut Gcc, event: &Event) -> Update {
    match event {
        Event::Begun(now) => crate::gcc_path::begin(gcc, *now),
        Event::Tick(now) => gcc.on_timeout(*now),
        Event::Sent(now, packet, _) => gcc.on_sent(*now, packet),
        Event::Reported(now, packets) => {
            let report = PacketsReport { packets, clock_step: TimeDelta::from_micros(977), ambiguous: false };
            gcc.on_report(*now, &Report::Packets(report))
        }
    }
}

/// How far two targets are apart over a recording.
#[derive(Default)]
struct Apart {
    /// The largest difference, as a part of the oracle's target, and its time in seconds.
    most: f64,
    when: f64,
    /// Calls after which they differ by more than the bound.
    beyond: usize,
    /// The oracle's lowest and highest target, bit/s.
    range: (f64, f64),
}

/// The profile as the crate has it: between reports libwebrtc's rules alone, and fractions of kbit/s in the loss model.
fn libwebrtc() -> Params {
    Params {
        feedback_patience: 0.0,
        v2_whole_kbps: false,
        ..Params::profile("libwebrtc").expect("a profile")
    }
}

/// Ours with `params` beside the oracle, whose own constants are in it.
fn apart(params: &Params, events: &[Event]) -> Apart {
    let mut ours = Gcc::new(params, &crate::gcc_path::setup());
    let mut oracle = Oracle::new(params, events[0].now());
    let mut apart = Apart { range: (f64::INFINITY, 0.0), ..Apart::default() };
    for event in events {
        let _ = tell(&mut ours, event);
        oracle.tell(event);
        let target = ours.snapshot().target.map_or(0.0, |target| target.as_bps_f64());
        let difference = (target - oracle.target).abs() / oracle.target;
        apart.beyond += usize::from(difference > BOUND);
        apart.range = (apart.range.0.min(oracle.target), apart.range.1.max(oracle.target));
        if difference > apart.most {
            (apart.most, apart.when) = (difference, event.now().as_secs_f64());
        }
    }
    apart
}

#[test]
fn the_targets_agree_step_for_step_on_twenty_paths() {
    let params = libwebrtc();
    let mut wrong = Vec::new();
    for path in PATHS {
        let events = recorded(path, &params);
        let reports = events.iter().filter(|event| matches!(event, Event::Reported(..))).count();
        let Apart { most, when, beyond, range: (lowest, highest) } = apart(&params, &events);
        println!(
            "{:<34} {reports:>5} reports, {:>6} calls, targets {:>5.0} to {:>6.0} kbit/s: at most {:.4} % apart, at {when:.2} s",
            path.name,
            events.len(),
            lowest / 1e3,
            highest / 1e3,
            most * 100.0
        );
        assert!(reports > 100, "{}: {reports} reports are no run", path.name);
        assert!(highest > 1.5 * lowest, "{}: from {lowest} to {highest} bit/s is no run", path.name);
        if most > BOUND {
            wrong.push(format!("{}: {:.2} % at {when:.2} s, {beyond} calls beyond", path.name, most * 100.0));
        }
    }
    assert_eq!(PATHS.len(), 20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Seconds after `from` until a target first reaches `level` and does not leave it until the end.
fn returns(targets: &[(f64, f64)], from: f64, level: f64) -> f64 {
    let below = targets.iter().rev().find(|(time, target)| *time >= from && *target < level);
    below.map_or(0.0, |(time, _)| time - from)
}

/// How long the target takes to come back when an application that offered little sends all it may: the port of libwebrtc's
/// controller takes as long, so the time is the algorithm's. Both see the same calls, with ours in the loop.
#[test]
fn after_an_application_limited_phase_the_oracle_takes_as_long() {
    let params = libwebrtc();
    for (offered, fps) in [(&[(0.0, 200.0), (30.0, 1e9)], 30.0), (&[(0.0, 40.0), (30.0, 1e9)], 15.0)] {
        let rates = &[(0.0, 5000.0)];
        let path = crate::gcc_path::Path {
            name: "limited",
            seconds: 60,
            rates,
            offered,
            fps,
            ..crate::gcc_path::PATH
        };
        let events = recorded(&path, &params);
        let mut ours = Gcc::new(&params, &crate::gcc_path::setup());
        let mut oracle = Oracle::new(&params, events[0].now());
        let (mut of_ours, mut of_oracle) = (Vec::new(), Vec::new());
        for event in &events {
            let _ = tell(&mut ours, event);
            oracle.tell(event);
            let now = event.now().as_secs_f64();
            of_ours.push((now, ours.snapshot().target.map_or(0.0, |target| target.as_bps_f64())));
            of_oracle.push((now, oracle.target));
        }
        for level in [2.5e6, 4e6] {
            let (ours, oracle) = (returns(&of_ours, 30.0, level), returns(&of_oracle, 30.0, level));
            println!(
                "{:.0} kbit/s, then all: above {:.1} Mbit/s after {ours:.1} s, the oracle after {oracle:.1} s",
                offered[0].1,
                level / 1e6
            );
            assert!((ours - oracle).abs() <= 0.1, "{ours} and {oracle} s");
        }
        let apart = apart(&params, &events);
        assert!(apart.most <= BOUND, "{} at {} s", apart.most, apart.when);
    }
}

/// A file, whose packets are evenly spaced, fills the queue of 5 Mbit/s without a trend that could be seen: the port of
/// libwebrtc's controller wants the same.
#[test]
fn the_oracle_does_not_see_either_that_a_file_fills_the_queue() {
    let params = libwebrtc();
    let path = crate::gcc_path::Path {
        name: "file",
        seconds: 120,
        rates: &[(0.0, 5000.0)],
        one_way_ms: 25.0,
        file: true,
        ..crate::gcc_path::PATH
    };
    let events = recorded(&path, &params);
    let arrived = |event: &Event| match event {
        Event::Reported(now, packets) if now.as_secs_f64() > 60.0 => {
            packets.iter().rev().find_map(|packet| {
                let Status::Received { arrived, .. } = packet.status else { return None };
                Some((arrived? - packet.sent).as_millis_f64() - 25.0)
            })
        }
        _ => None,
    };
    let waits: Vec<f64> = events.iter().filter_map(arrived).collect();
    let wait = waits.iter().sum::<f64>() / waits.len() as f64;
    let Apart { most, when, range: (_, highest), .. } = apart(&params, &events);
    println!(
        "mean wait {wait:.1} ms, highest target {:.0} kbit/s, {:.4} % apart",
        highest / 1e3,
        most * 100.0
    );
    assert!(most <= BOUND && wait > 19.0, "{most} at {when} s, {wait} ms");
}

/// The comparison sees each constant that is wrong by a little, on one of six paths.
#[test]
fn a_wrong_constant_is_seen() {
    let params = libwebrtc();
    let recordings = [2, 3, 6, 10, 11, 16].map(|path| recorded(&PATHS[path], &params));
    let wrong = [
        Params { beta: 0.8, ..params.clone() },
        Params { del_var_th_min: TimeDelta::from_millis(8), ..params.clone() },
        Params { trendline_window: 18, ..params.clone() },
        Params { robust_window: TimeDelta::from_millis(1500), ..params.clone() },
        Params { incoming_limit: 1.3, ..params.clone() },
        Params { eta: 1.12, ..params.clone() },
        Params { v2_instant_balance: paceline_units::Bitrate::from_kbps(60), ..params.clone() },
        Params { v2_temporal_weight: 0.8, ..params.clone() },
    ];
    for (n, wrong) in wrong.iter().enumerate() {
        let most = recordings.iter().map(|events| apart(wrong, events).most).fold(0.0, f64::max);
        println!("wrong constant {n}: at most {:.1} % apart", most * 100.0);
        assert!(most > BOUND, "wrong constant {n} is not seen");
    }
}
