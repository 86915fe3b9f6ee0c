//! The cost of a sender: instructions of endpoint and controller per packet, counted by callgrind.
//!
//! One call at 100 Mbit/s over a path that only delays (RTT 20 ms). Only [`sender_side`] is counted: frames, packets,
//! pacing, reports, controller. Path and receiver are this file's own and not counted.

use paceline_cc::FlowSetup;
use paceline_cc::StreamId;
use paceline_cc::scream::{Params, Scream};
use paceline_ends::{SendingEnd, Transmit};
use paceline_media::{FrameSizeParams, Source, TraceEncoder, TraceEncoderParams, frame_sizes};
use paceline_rtp::{ReceiverClock, RtpFeedback, RtpPacket, RtpSender, SenderConfig, StreamConfig};
use paceline_units::param::Profiles;
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use std::collections::VecDeque;
use std::process::Command;

/// Packets that warm the sender up, and packets that are counted after them.
const WARM: u64 = 400_000;
const COUNTED: u64 = 100_000;
const ONE_WAY: TimeDelta = TimeDelta::from_millis(10);

/// Prints instructions per packet, with a report per 16 packets and per packet.
pub fn print() {
    println!(
        "\nsender instructions per packet (aims: 250 with a report per 16, 450 with one each; Ericsson's reference v1: 3000)"
    );
    for per_report in [16, 1] {
        let count = |packets: u64| instructions(per_report, packets);
        match (count(WARM), count(WARM + COUNTED)) {
            (Some(few), Some(many)) => {
                println!("  a report per {per_report:>2}: {:.0}", (many - few) as f64 / COUNTED as f64);
            }
            _ => println!("  not counted: valgrind is missing (apt install valgrind)"),
        }
    }
}

/// Instructions in [`sender_side`] of a run of this program, if valgrind is there.
fn instructions(per_report: usize, packets: u64) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*sender_side*"])
        .arg(program)
        .args(["--sender", &per_report.to_string(), &packets.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split("Collected :").nth(1))?;
    line.trim().parse().ok()
}

/// The run that is counted: `packets` packets, a report per `per_report`.
pub fn run(per_report: usize, packets: u64) {
    let mut sender = sender();
    sender.start(Time::ZERO);
    let mut path: VecDeque<(Time, u64)> = VecDeque::new();
    let mut reports: VecDeque<(Time, RtpFeedback)> = VecDeque::new();
    let (mut out, mut sent) = (Vec::new(), 0);
    while sent < packets {
        let due = sender.next_timeout().map_or(Time::MAX, |(due, _)| due);
        let arrival = path.get(per_report - 1).map_or(Time::MAX, |(at, _)| *at);
        let back = reports.front().map_or(Time::MAX, |(at, _)| *at);
        let now = due.min(arrival).min(back);
        if arrival == now {
            reports.push_back((
                now + ONE_WAY,
                RtpFeedback::Packets(Box::new(report(now, path.drain(..per_report)))),
            ));
            continue;
        }
        let report = if back == now { reports.pop_front().map(|(_, report)| report) } else { None };
        drop(sender_side(&mut sender, now, report, &mut out));
        sent += out.len() as u64;
        path.extend(out.drain(..).map(|transmit| (now + ONE_WAY, transmit.packet.sequence)));
    }
}

/// All that a sender does at a point in time. The report is given back, since freeing it is not the sender's.
#[inline(never)]
fn sender_side(
    sender: &mut RtpSender<Scream>,
    now: Time,
    report: Option<RtpFeedback>,
    out: &mut Vec<Transmit<RtpPacket>>,
) -> Option<RtpFeedback> {
    let used = match report {
        Some(report) => sender.receive(now, report, Ecn::NotEct),
        None => {
            sender.handle_timeout(now);
            None
        }
    };
    while let Some(outgoing) = sender.poll_transmit(now) {
        out.push(outgoing);
    }
    used
}

fn report(now: Time, packets: impl Iterator<Item = (Time, u64)>) -> Feedback {
    let mut feedback = Feedback { written: now, ..Feedback::default() };
    let mut begin = None;
    for (arrived, sequence) in packets {
        begin.get_or_insert(sequence);
        let at = Some(ReceiverClock::RFC8888.read(arrived));
        feedback.arrivals.push(ArrivalReport::Received { at, ecn: Ecn::NotEct });
    }
    let count = feedback.arrivals.len() as u32;
    feedback.blocks.push(FeedbackBlock { stream: StreamId(0), begin: begin.unwrap_or(0), count });
    feedback
}

fn sender() -> RtpSender<Scream> {
    let rate = Bitrate::from_mbps(100);
    let params = Params::profile("reference-2022").expect("it is one of the profiles");
    let params = Params { target_bitrate_start: rate, initial_cwnd: Bytes::new(400_000), ..params };
    let controller = Scream::new(&params, &FlowSetup::new(Bytes::new(1212)));
    let frames = frame_sizes(1, 3000, &FrameSizeParams::default()).expect("defaults are in range");
    let encoder = TraceEncoder::new(frames, TraceEncoderParams { target_start: rate, ..Default::default() });
    let source = Source::TraceEncoder(encoder.expect("defaults are in range"));
    let config = SenderConfig::new(Bytes::new(1200));
    RtpSender::new(controller, &config, vec![StreamConfig::new(source, rate)])
}
