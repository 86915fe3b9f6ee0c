//! RTP sessions that packets with odd numbers and times do not break, as bytes in virtual time.

use super::*;
use crate::agreed::Agreed;
use crate::choice::ChosenFlow;
use crate::clock::Moment;
use crate::receiver::session::Session;
use crate::socket::tests::datagram;
use crate::transports::Over;
use paceline_metrics::FlowSummary;
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_units::TimeDelta;
use paceline_wire::ccfb::{ArrivalReport, Feedback};
use paceline_wire::rtp::RtpHeaderFields;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Frames of a normal stream, one each 20 ms, of so many packets.
const FRAMES: u64 = 250;
const PACKETS: u64 = 4;
const FRAME_TICKS: u32 = 1800;
/// The last odd packet comes before, in milliseconds.
const ODD_UNTIL: u64 = 2500;
/// A second later all must be well.
const WELL_FROM: u64 = ODD_UNTIL + 1000;

/// A packet: when it arrives in milliseconds, its sequence number, its timestamp, and whether it is its frame's last.
type Packet = (u64, u16, u32, bool);

fn scenario(warmup_ms: u64, feedback: &str) -> Loaded {
    let text = format!(
        "duration = \"5s\"\nwarmup = \"{warmup_ms}ms\"\n[links.l]\nrate = \"10Mbps\"\nqueue = {{ packets = 100 }}\n\
         [flows.f]\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\ncontroller = \"scream\"\n{feedback}\n"
    );
    load(&Origin { text: &text, file: "odd.toml", sets: &[] }, &Loader::default()).expect("right")
}

/// The outcome: figures, counts, and the numbers that reports from [`WELL_FROM`] on said had arrived.
struct Outcome {
    figures: FlowSummary,
    counters: NetCounters,
    reported: BTreeSet<u16>,
    /// When reports were written, in milliseconds.
    reports: Vec<u64>,
}

/// Receives the packets, in order of time.
fn received(packets: &[Packet], warmup_ms: u64) -> Outcome {
    received_with("", packets, warmup_ms)
}

/// The same with a line that says when to report.
fn received_with(feedback: &str, packets: &[Packet], warmup_ms: u64) -> Outcome {
    let loaded = scenario(warmup_ms, feedback);
    let flow = ChosenFlow::of(&loaded, None).expect("the only one");
    let Over::Rtp(parts) = flow.over else { panic!("RTP") };
    let config = parts.receiving(None, false);
    let (mut codec, mut session) = (RtpReceivingCodec::new(parts, None), None::<Session<'_>>);
    let (mut counters, mut reported) = (NetCounters::default(), BTreeSet::new());
    let moment = |millis: u64| Moment::from_nanos(1_000_000_000 + millis * 1_000_000);
    let (mut bytes, mut reports) = (Vec::new(), Vec::new());
    for &(millis, sequence, timestamp, marker) in packets {
        let header =
            RtpHeaderFields { payload_type: Agreed::OWN.payload_type, ssrc: 7, sequence, timestamp, marker };
        bytes.clear();
        rtp::encode(&header, 1000, 0, &mut bytes).expect("a header");
        let datagram = Datagram { arrived: moment(millis), read: moment(millis), ..datagram(&bytes) };
        let mut taken = NetCounters::default();
        codec.receive(Time::from_nanos(millis * 1_000_000), &datagram, &mut counters, |packet| {
            if session.is_none() {
                session = Some(Session::open(flow, config.clone(), &[], &datagram));
            }
            session.iter_mut().for_each(|session| session.take(&datagram, &packet, &mut taken));
        });
        counters.add(taken);
        let Some(session) = &mut session else { continue };
        let now = session.clock.time_of(moment(millis));
        let report = |report: &RtpFeedback| {
            let mut single = Feedback::default();
            let Some(report) = report.on_packets(&mut single) else { return };
            reports.push(millis);
            let numbers = report.blocks.iter().flat_map(|block| (block.begin..).take(block.count as usize));
            let arrived = numbers.zip(&report.arrivals).filter(|(_, said)| **said != ArrivalReport::Missing);
            reported.extend(arrived.map(|(number, _)| number as u16).filter(|_| millis >= WELL_FROM));
        };
        session.handle_timeout(now, report);
        session.tick(now, &|_| ());
    }
    let record = session.expect("packets").finish(Time::ZERO + TimeDelta::from_secs(5)).0;
    let output =
        crate::record::finish(vec![record], Time::ZERO + TimeDelta::from_secs(5), &[], counters, Vec::new());
    let figures = output.summary.flows.into_values().next().expect("a flow");
    Outcome { figures, counters, reported, reports }
}

/// A stream whose first packet has these numbers.
fn normal(sequence: u16, timestamp: u32) -> Vec<Packet> {
    let packet = |n: u64| {
        let (frame, place) = (n / PACKETS, n % PACKETS);
        let timestamp = timestamp.wrapping_add(frame as u32 * FRAME_TICKS);
        (frame * 20 + place, sequence.wrapping_add(n as u16), timestamp, place == PACKETS - 1)
    };
    (0..FRAMES * PACKETS).map(packet).collect()
}

/// RFC 8298 section 4.2.2: 1.6 Mbit/s are reported every 20 ms. At 162 kbit/s it is every 62 ms, here with the next packet.
#[test]
fn reports_by_rate_follow_the_media() {
    let slow: Vec<Packet> = (0..100).map(|n| (n * 50, n as u16, n as u32 * 4500, true)).collect();
    for (packets, expected) in [(normal(0, 0), 20), (slow, 100)] {
        let reports = received_with("feedback = { by_rate = true }", &packets, 0).reports;
        let settled: Vec<_> = reports.into_iter().filter(|millis| *millis >= 2000).collect();
        assert!(settled.windows(2).all(|pair| pair[1] - pair[0] == expected), "{settled:?}");
        assert!(settled.len() > 20);
    }
}

/// Odd packets among those of a stream: when, how far from its number at that time, how many in a row, and their time.
fn odd() -> impl Strategy<Value = Vec<(u64, u16, u16, u32)>> {
    let ahead = prop_oneof![2 => 100u16..=u16::MAX - 100, 1 => Just(20_000), 1 => Just(2900), 1 => Just(u16::MAX - 3000)];
    let run = prop_oneof![4 => 1u16..4, 1 => 4u16..60];
    prop::collection::vec((1..ODD_UNTIL - 60, ahead, run, any::<u32>()), 1..40)
}

fn mixed(normal: &[Packet], odd: &[(u64, u16, u16, u32)]) -> Vec<Packet> {
    let mut packets = normal.to_vec();
    for &(millis, ahead, run, timestamp) in odd {
        let at = normal.iter().rfind(|packet| packet.0 <= millis).map_or(0, |packet| packet.1);
        let first = at.wrapping_add(ahead);
        packets
            .extend((0..run).map(|n| (millis + u64::from(n), first.wrapping_add(n), timestamp, n % 2 == 0)));
    }
    packets.sort_by_key(|packet| packet.0);
    packets
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever numbers odd packets have, a second after the last of them every packet is reported, every frame is shown,
    /// and nothing counts as lost but what was refused itself.
    #[test]
    fn after_any_odd_packets_a_normal_stream_is_reported_in_full(sequence: u16, timestamp: u32, odd in odd()) {
        let normal = normal(sequence, timestamp);
        let packets = mixed(&normal, &odd);
        let late = received(&packets, WELL_FROM);
        // The report of the last frame is due after it.
        let due = normal.iter().filter(|packet| packet.0 >= WELL_FROM && packet.0 < 4900);
        let missed: Vec<_> = due.filter(|packet| !late.reported.contains(&packet.1)).collect();
        prop_assert!(missed.is_empty(), "not reported: {missed:?} {:?}", late.counters);
        prop_assert_eq!(late.figures.loss_ratio, Some(0.0), "{:?}", late.counters);
        let frames = (5000 - WELL_FROM) / 20;
        prop_assert!(late.figures.frames.displayed >= Some(frames - 2), "{:?}", late.figures.frames);
        let all = received(&packets, 0);
        let sent = all.figures.packets_sent.unwrap_or(0) as f64;
        let lost = (all.figures.loss_ratio.unwrap_or(0.0) * sent).round() as u64;
        prop_assert!(lost <= all.counters.out_of_sequence, "{lost} lost, {:?}", all.counters);
    }
}

#[test]
fn two_packets_far_ahead_cost_two_frames_and_are_said() {
    let normal = normal(100, 0);
    for (ahead, run) in [(20_000, 2), (2900, 1), (62_000, 2), (30_000, 40)] {
        let outcome = received(&mixed(&normal, &[(1005, ahead, run, 5)]), 0);
        assert!(outcome.figures.frames.displayed >= Some(FRAMES - 14), "{:?}", outcome.figures.frames);
        assert!(outcome.counters.resynchronised >= 1, "{:?}", outcome.counters);
        assert_eq!(outcome.figures.loss_ratio.map(|ratio| ratio < 0.02), Some(true), "{ahead}");
    }
    let plain = received(&normal, 0);
    assert_eq!((plain.counters.resynchronised, plain.counters.out_of_sequence), (0, 0));
    assert_eq!((plain.figures.frames.displayed, plain.figures.loss_ratio), (Some(FRAMES), Some(0.0)));
}

#[test]
fn a_sender_that_starts_anew_at_other_numbers_and_times_goes_on() {
    let mut packets = normal(40_000, 7);
    for packet in packets.iter_mut().filter(|packet| packet.0 >= 1000) {
        (packet.1, packet.2) = (packet.1.wrapping_add(37_000), packet.2.wrapping_sub(3_000_000_000));
    }
    let outcome = received(&packets, 0);
    assert!(outcome.figures.frames.displayed >= Some(FRAMES - 3), "{:?}", outcome.figures.frames);
    assert_eq!((outcome.counters.resynchronised, outcome.counters.out_of_time), (1, 1));
    assert_eq!(outcome.figures.loss_ratio, Some(0.0));
}

#[test]
fn timestamps_that_go_back_cost_a_packet() {
    let mut packets = normal(1, 900_000);
    for packet in packets.iter_mut().filter(|packet| packet.0 >= 3000) {
        packet.2 -= 200_000;
    }
    let outcome = received(&packets, 0);
    assert_eq!((outcome.counters.out_of_time, outcome.counters.out_of_sequence), (1, 0));
    assert!(outcome.figures.frames.displayed >= Some(FRAMES - 2), "{:?}", outcome.figures.frames);
}
