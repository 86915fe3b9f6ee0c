//! Captures: the same bytes however the run goes, figures that do not move, and packets that are what the run sent.

use paceline_scenario::Loader;
use paceline_sim::{CapturePlace, Outcome, Pace, Simulation};
use paceline_units::TimeDelta;
use paceline_wire::capture::{self, Record};
use paceline_wire::{ccfb, dccp, rtcp, rtp, twcc};

/// A flow of every transport over a link that drops, marks and reorders.
const ALL: &str = r#"
name = "all"
duration = "3s"
[links.l]
rate = "6Mbps"
delay = "15ms"
queue = { packets = 20 }
loss = { kind = "bernoulli", ratio = 0.01 }
mark = { kind = "ramp", low = "5ms", high = "15ms" }
[flows.video]
controller = "scream"
ecn = "l4s"
source = { kind = "trace-encoder", generator = "frames" }
path = ["l"]
[flows.wide]
controller = { kind = "gcc", profile = "draft" }
feedback = { format = "twcc" }
source = { kind = "trace-encoder", generator = "frames" }
path = ["l"]
[flows.friendly]
controller = "tfrc"
source = { kind = "bulk" }
path = ["l"]
[flows.tcp]
transport = "tcp"
controller = "newreno"
source = { kind = "bulk" }
path = ["l"]
[flows.ccid2]
transport = "dccp"
controller = "ccid2"
source = { kind = "bulk" }
path = ["l"]
[flows.ccid3]
transport = "dccp"
controller = "ccid3"
source = { kind = "bulk" }
path = ["l"]
[flows.udp]
transport = "udp"
source = { kind = "cbr", rate = "200kbps" }
controller = "none"
path = ["l"]
"#;

/// The flows in the order of their numbers.
const NAMES: [&str; 7] = ["ccid2", "ccid3", "friendly", "tcp", "udp", "video", "wide"];

fn bits(outcome: &Outcome) -> String {
    format!("{:?}{:?}{:?}", outcome.summary, outcome.flows, outcome.links)
}

/// Runs a scenario in slices on threads; its figures, and what was captured.
fn captured(
    text: &str,
    place: Option<CapturePlace>,
    (slice, threads, pace): (u64, usize, Pace),
) -> (Outcome, Vec<u8>) {
    let loaded = crate::world::loaded(text, &[], &Loader::default());
    let mut simulation = Simulation::new(&loaded, pace).expect("a world");
    simulation.share_rounds(threads, 8);
    if let Some(place) = place {
        simulation.capture(&loaded, place);
    }
    let mut file = Vec::new();
    while {
        let over = simulation.advance(TimeDelta::from_millis(slice as i64));
        simulation.write_capture(&mut file);
        !over
    } {}
    (simulation.finish(), file)
}

const USUAL: (u64, usize, Pace) = (10, 1, Pace::Windowed);

/// The packets of a file: number of the interface, nanoseconds, and the packet.
fn records(file: &[u8]) -> Vec<Record<'_>> {
    capture::records(file).map(|record| record.expect("whole blocks")).collect()
}

fn number(ip: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(ip[at..at + 4].try_into().expect("four"))
}

/// Flow, whether forward, protocol and what is under the IP header.
fn parts(ip: &[u8]) -> (u32, bool, u8, &[u8]) {
    let forward = number(ip, 12) & 0x0080_0000 == 0;
    ((number(ip, 12) & 0x007f_ffff) - 1, forward, ip[9], &ip[20..])
}

#[test]
fn a_capture_moves_no_figure_and_depends_on_nothing_but_the_run() {
    let (plain, nothing) = captured(ALL, None, USUAL);
    assert!(nothing.is_empty());
    let (outcome, file) = captured(ALL, Some(CapturePlace::Both), USUAL);
    assert!(bits(&outcome) == bits(&plain), "captured, other figures");
    for how in [(200, 1, Pace::Windowed), (7, 3, Pace::Windowed), (50, 1, Pace::Stepped)] {
        let (again, same) = captured(ALL, Some(CapturePlace::Both), how);
        assert!(bits(&again) == bits(&plain), "{how:?}: other figures");
        assert!(same == file, "{how:?}: other bytes");
    }
    // One end alone is the same packets as of both.
    for (interface, place) in [(0, CapturePlace::Sender), (1, CapturePlace::Receiver)] {
        let (_, one) = captured(ALL, Some(place), USUAL);
        let both = records(&file).into_iter().filter(|record| record.interface == interface);
        let both: Vec<_> = both.map(|record| Record { interface: 0, ..record }).collect();
        assert_eq!(records(&one), both);
    }
}

#[test]
fn what_leaves_is_what_was_counted_and_arrives_later_or_never() {
    let (outcome, file) = captured(ALL, Some(CapturePlace::Both), USUAL);
    let records = records(&file);
    assert!(records.is_sorted_by_key(|record| record.nanos), "in the order of time");
    for (flow, name) in (0..).zip(NAMES) {
        let of = |interface, forward| {
            let mine = move |record: &&Record| {
                record.interface == interface && {
                    let (number, way, ..) = parts(record.bytes);
                    (number, way) == (flow, forward)
                }
            };
            records.iter().filter(mine).collect::<Vec<_>>()
        };
        let (sent, arrived) = (of(0, true), of(1, true));
        let data = crate::world::count(crate::world::flow(&outcome, name).packets_sent);
        assert!(sent.len() as u64 >= data, "{name}: {} of {data}", sent.len());
        assert!(arrived.len() < sent.len(), "{name}: some were lost");
        // But for the ECN field, its checksum and the time, what arrives is what left.
        let body = |record: &&&Record| record.bytes[12..].to_vec();
        let left: std::collections::BTreeSet<_> = sent.iter().map(|record| body(&record)).collect();
        assert!(arrived.iter().all(|record| left.contains(&body(&record))), "{name}");
        let answers = (of(1, false), of(0, false));
        assert!((name == "udp") == answers.0.is_empty());
        assert!(answers.1.len() <= answers.0.len(), "{name}");
    }
    let marked = records.iter().filter(|record| record.bytes[1] & 3 == 3);
    assert!(marked.clone().count() > 10 && marked.clone().all(|record| record.interface == 1), "by the link");
}

#[test]
fn every_packet_is_read_by_our_own_readers() {
    let (_, file) = captured(ALL, Some(CapturePlace::Both), USUAL);
    let mut seen = [0; 7];
    for record in records(&file) {
        let ip = record.bytes;
        let sum = |bytes: &[u8]| {
            let total: u32 =
                bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum();
            ((total & 0xffff) + (total >> 16)) as u16
        };
        assert_eq!(sum(&ip[..20]), 0xffff);
        let (flow, forward, protocol, rest) = parts(ip);
        let name = NAMES[flow as usize];
        match (name, forward, protocol) {
            ("video" | "wide" | "friendly", true, 17) => {
                let view = rtp::decode(&rest[8..]).expect("RTP");
                assert_eq!(view.header.ssrc >> 8, flow + 1);
                assert_eq!(view.extension.is_some(), name != "video", "numbers of TWCC, times of TFRC");
            }
            ("video" | "wide" | "friendly", false, 17) => {
                for packet in rtcp::packets(&rest[8..]) {
                    let packet = packet.expect("RTCP");
                    assert!(match name {
                        "video" => ccfb::is_ccfb(&packet),
                        "wide" => twcc::is_twcc(&packet),
                        _ => paceline_wire::tfrc::is_report(&packet),
                    });
                }
            }
            ("tcp", _, 6) => assert!(rest.len() >= usize::from(rest[12] >> 4) * 4),
            ("ccid2" | "ccid3", _, 33) => {
                let (source, destination) = (number(ip, 12).into(), number(ip, 16).into());
                let addresses = paceline_wire::ip::Addresses::V4 { source, destination };
                dccp::decode(rest, &addresses).expect("DCCP with a good checksum");
            }
            ("udp", true, 17) => assert!(rest[8..].iter().all(|byte| *byte == 0)),
            other => panic!("{other:?}"),
        }
        seen[flow as usize] += 1;
    }
    assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
}

/// RFC 9768 as bytes: the three flags of SYN and SYN/ACK, and the counter of marked packets in every acknowledgement.
#[test]
fn accurate_ecn_is_agreed_on_and_counts_every_mark_that_arrived() {
    let text = "duration = \"5s\"\n[links.l]\nrate = \"6Mbps\"\ndelay = \"15ms\"\nqueue = { kind = \"dualpi2\" }\n[flows.f]\n\
                transport = \"tcp\"\ncontroller = \"prague\"\nsource = { kind = \"bulk\" }\npath = [\"l\"]\n";
    let (_, file) = captured(text, Some(CapturePlace::Receiver), USUAL);
    let (mut opening, mut marks, mut counted) = (Vec::new(), 0, 0);
    for record in records(&file) {
        let (_, forward, _, segment) = parts(record.bytes);
        let flags = u16::from_be_bytes([segment[12], segment[13]]);
        let (ace, syn, ecn) = (flags >> 6 & 7, flags & 2 != 0, record.bytes[1] & 3);
        match (syn, forward) {
            (true, _) => opening.push((ace, ecn)),
            (false, true) => {
                assert_eq!(ace, 5, "no acknowledgement is marked");
                marks += u16::from(ecn == 3);
            }
            (false, false) => {
                assert_eq!((ace, ecn), ((5 + marks) % 8, 0), "after {marks} marks");
                counted += 1;
            }
        }
    }
    assert_eq!(opening, [(0b111, 0), (0b010, 0)]);
    assert!(marks > 50 && counted > 500, "{marks} marks, {counted} acknowledgements");
}
