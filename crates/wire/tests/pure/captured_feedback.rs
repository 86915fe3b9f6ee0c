//! Reports that other implementations wrote, captured from their sockets: Chromium and Ericsson's SCReAM in the format of RFC
//! 8888, pion in that of TWCC. Each is read, means what the capture's notes say, and is written back bit by bit where the format
//! leaves its writer no choice; then each is bent into what was not captured.
//!
//! The captures are not part of the repository: they are in `oracles/feedback` beside the folder that `PACELINE_DATA` names, or
//! the tests say that they saw nothing.

use paceline_cc::StreamId;
use paceline_units::Time;
use paceline_wire::ccfb::{self, ArrivalOffset, CountForm, RawBlock, RawEntry, RawFeedback};
use paceline_wire::ccfb::{ArrivalReport, Feedback, RtsUnwrapper};
use paceline_wire::twcc::{self, DELTA_STEP_NANOS, REFERENCE_STEP_NANOS, TransportFeedback};
use paceline_wire::{WireError, rtcp, unwrap_sequence};
use serde_json::{Value, json};
use std::path::PathBuf;

const CHROMIUM: &str = "chromium-rfc8888-ecn";
const ERICSSON: &str = "ericsson-rfc8888";
const PION: &str = "pion-twcc";

fn content(file: &str) -> Option<String> {
    let Some(data) = std::env::var_os("PACELINE_DATA").map(PathBuf::from) else {
        eprintln!("skipped: PACELINE_DATA is not set, {file} not read");
        return None;
    };
    let path = data.join("../oracles/feedback").join(file);
    if !path.exists() {
        eprintln!("skipped: {} is not here", path.display());
        return None;
    }
    Some(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn bytes_of(digits: &str) -> Vec<u8> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.as_bytes().chunks(2).map(pair).collect()
}

/// The packets of a capture; none where it is not here.
fn packets(capture: &str) -> Vec<Vec<u8>> {
    let packets: Vec<_> =
        content(&format!("{capture}.hex")).iter().flat_map(|text| text.lines()).map(bytes_of).collect();
    assert!(packets.is_empty() || packets.len() >= 40, "{capture}: {} packets", packets.len());
    packets
}

/// Chosen packets of a capture with what they mean, and what about them was chosen.
fn chosen(capture: &str) -> Vec<(String, Vec<u8>, Value)> {
    let Some(text) = content(&format!("{capture}.json")) else { return vec![] };
    let list: Vec<Value> = serde_json::from_str(&text).unwrap();
    let word = |item: &Value, key: &str| item[key].as_str().unwrap().to_string();
    list.iter()
        .map(|item| (word(item, "what"), bytes_of(&word(item, "hex")), item["decoded"].clone()))
        .collect()
}

fn read_twcc(bytes: &[u8]) -> Result<TransportFeedback, WireError> {
    let mut report = TransportFeedback::default();
    twcc::decode_packet(&rtcp::first(bytes)?, &mut report)?;
    Ok(report)
}

fn written(raw: &RawFeedback) -> Vec<u8> {
    let mut out = vec![];
    ccfb::encode_raw(raw, &mut out).unwrap();
    out
}

#[test]
fn rfc_8888_comes_back_bit_by_bit() {
    for (capture, form) in [(CHROMIUM, CountForm::Count), (ERICSSON, CountForm::LessOne)] {
        for packet in packets(capture) {
            let raw =
                ccfb::decode(&packet).unwrap_or_else(|error| panic!("{capture}: {packet:02x?}: {error}"));
            assert_eq!((raw.form, raw.blocks.len(), raw.blocks[0].ssrc), (form, 1, 100), "{packet:02x?}");
            assert!(capture == CHROMIUM || raw.entries.len() == 64);
            assert_eq!(written(&raw), packet);
        }
    }
}

#[test]
fn twcc_comes_back_but_for_the_choice_of_chunks() {
    let (mut alike, packets) = (0, packets(PION));
    for packet in &packets {
        let report = read_twcc(packet).unwrap_or_else(|error| panic!("{packet:02x?}: {error}"));
        let mut again = vec![];
        twcc::encode(&report, &mut again).unwrap();
        assert_eq!(read_twcc(&again), Ok(report.clone()));
        // SSRCs, base number, status count, reference time and feedback packet count, and the deltas with their padding.
        assert_eq!(again[4..20], packet[4..20]);
        let sizes = report.deltas.iter().flatten().map(|delta| if (0..256).contains(delta) { 1 } else { 2 });
        let deltas: usize = sizes.sum();
        let tail = |bytes: &[u8]| {
            let padding = if bytes[0] & 0x20 == 0 { 0 } else { usize::from(bytes[bytes.len() - 1]) };
            bytes[bytes.len() - padding - deltas..bytes.len() - padding].to_vec()
        };
        assert_eq!(tail(&again), tail(packet));
        alike += usize::from(again == *packet);
    }
    assert!(packets.is_empty() || alike >= packets.len() / 2, "{alike} of {} chunks alike", packets.len());
}

#[test]
fn rfc_8888_means_what_the_notes_say() {
    for (what, packet, decoded) in chosen(CHROMIUM) {
        let raw = ccfb::decode(&packet).unwrap();
        let entry = |entry: &RawEntry| match *entry {
            RawEntry::Missing => "lost".to_string(),
            RawEntry::Received { ato: ArrivalOffset::Known(ticks), ecn } => {
                format!("ecn{}/ato{ticks}", ecn.bits())
            }
            RawEntry::Received { ato, .. } => format!("{ato:?}"),
        };
        let block = |block: &RawBlock| {
            let reports: Vec<_> = raw.entries_of(block).iter().map(entry).collect();
            json!({ "ssrc": block.ssrc, "begin": block.begin, "num_reports": reports.len(), "reports": reports })
        };
        let rts_hex = format!("{:08x}", raw.rts);
        let rts = format!("{:.6} s", f64::from(raw.rts) / 65536.0);
        let blocks: Vec<_> = raw.blocks.iter().map(block).collect();
        let sender_ssrc = raw.sender_ssrc;
        let ours = json!({ "sender_ssrc": sender_ssrc, "rts": rts, "rts_hex": rts_hex, "blocks": blocks, "fits": true });
        assert_eq!(ours, decoded, "{what}");
    }
}

#[test]
fn twcc_means_what_the_notes_say() {
    for (what, packet, decoded) in chosen(PION) {
        let report = read_twcc(&packet).unwrap();
        let micros =
            |delta: &Option<i16>| delta.map(|delta| i64::from(delta) * DELTA_STEP_NANOS as i64 / 1000);
        let ours = [
            ("sender_ssrc", json!(report.sender_ssrc)),
            ("media_ssrc", json!(report.ssrc)),
            ("base", json!(report.base)),
            ("count", json!(report.deltas.len())),
            ("reference_ms", json!(u64::from(report.reference) * REFERENCE_STEP_NANOS / 1_000_000)),
            ("fb_count", json!(report.feedback_count)),
            ("deltas_us", json!(report.deltas.iter().map(micros).collect::<Vec<_>>())),
        ];
        for (name, value) in ours {
            assert_eq!(value, decoded[name], "{what}: {name}");
        }
    }
}

/// Takes the numbers of a report's packets as they are extended by somebody who sent `highest` last.
fn completed(raw: &RawFeedback, highest: u64) -> Feedback {
    let mut out = Feedback::default();
    let extend = |_, begin| unwrap_sequence(highest, begin);
    raw.to_feedback(&mut RtsUnwrapper::default(), |ssrc| Some(StreamId(ssrc as u8)), extend, &mut out)
        .unwrap();
    out
}

#[test]
fn a_block_whose_numbers_wrap_goes_on_behind_the_wrap() {
    for capture in [CHROMIUM, ERICSSON] {
        for mut packet in packets(capture) {
            packet[12..14].copy_from_slice(&0xfffe_u16.to_be_bytes());
            let raw = ccfb::decode(&packet).unwrap();
            assert_eq!(written(&raw), packet);
            let report = completed(&raw, 0x2_0010);
            assert_eq!(
                (report.blocks[0].begin, report.blocks[0].count as usize),
                (0x1_fffe, raw.entries.len())
            );
        }
    }
    for mut packet in packets(PION) {
        packet[12..14].copy_from_slice(&0xfffe_u16.to_be_bytes());
        let count = read_twcc(&packet).unwrap().deltas.len();
        assert_eq!(read_twcc(&packet).map(|report| (report.base, report.deltas.len())), Ok((0xfffe, count)));
    }
}

/// The captures' blocks, several to a packet; and one that reports on nothing, where the form can say so.
#[test]
fn several_blocks_are_as_many_reports() {
    for capture in [CHROMIUM, ERICSSON] {
        for three in packets(capture).chunks(3) {
            let parts: Vec<_> = three.iter().map(|packet| ccfb::decode(packet).unwrap()).collect();
            let form = parts[0].form;
            let mut whole = RawFeedback { sender_ssrc: 9, rts: 0x0a00_0000, form, ..RawFeedback::default() };
            for (ssrc, part) in (1..).zip(&parts) {
                let first = whole.entries.len();
                whole.entries.extend(&part.entries);
                let entries = first..whole.entries.len();
                whole.blocks.push(RawBlock { ssrc, begin: part.blocks[0].begin, entries });
                if form == CountForm::Count {
                    let end = whole.entries.len();
                    whole.blocks.push(RawBlock { ssrc: 100 + ssrc, begin: 7, entries: end..end });
                }
            }
            assert_eq!(ccfb::decode(&written(&whole)), Ok(whole));
        }
    }
}

/// Each capture as the other peer would have written it: a count less one in place of a count, and the other way round.
#[test]
fn either_count_is_read_where_the_packet_proves_it() {
    let mut undecided = 0;
    for capture in [CHROMIUM, ERICSSON] {
        for packet in packets(capture) {
            let mut raw = ccfb::decode(&packet).unwrap();
            raw.form = match raw.form {
                CountForm::Count => CountForm::LessOne,
                CountForm::LessOne => CountForm::Count,
            };
            let read = ccfb::decode(&written(&raw)).unwrap();
            // Of an even number, the last not received, nothing tells the last from padding.
            if raw.form == CountForm::LessOne && raw.entries.last() == Some(&RawEntry::Missing) {
                undecided += usize::from(read.form == CountForm::Count);
                continue;
            }
            assert_eq!(read, raw);
        }
    }
    assert_eq!(undecided, 0, "a report ends with a packet that arrived");
    // Beyond what either form says: one more, and one less than a count.
    for packet in packets(CHROMIUM) {
        for change in [1u16, 2, 3, 0x4000, 0xfffe] {
            let mut bent = packet.clone();
            let told = u16::from_be_bytes([packet[14], packet[15]]).wrapping_add(change);
            bent[14..16].copy_from_slice(&told.to_be_bytes());
            if let Ok(read) = ccfb::decode(&bent) {
                assert_eq!(
                    read.entries.len(),
                    usize::from(told) + usize::from(read.form == CountForm::LessOne)
                );
                assert_eq!(written(&read)[..16], bent[..16]);
            }
        }
    }
}

#[test]
fn a_time_that_runs_back_is_a_negative_delta() {
    for packet in packets(PION) {
        let mut report = read_twcc(&packet).unwrap();
        for (place, delta) in report.deltas.iter_mut().flatten().enumerate() {
            *delta = [-1, i16::MIN, 255, 256, *delta, -*delta][place % 6];
        }
        let mut bytes = vec![];
        twcc::encode(&report, &mut bytes).unwrap();
        assert_eq!(read_twcc(&bytes), Ok(report.clone()));
        let steps =
            |deltas: &[Option<i16>]| deltas.iter().flatten().map(|delta| i64::from(*delta)).sum::<i64>();
        let (first, last) = (i64::from(report.reference) * 256, report.arrivals().flatten().last().unwrap());
        assert_eq!(last, first + steps(&report.deltas));
    }
}

/// Cut anywhere, and with any bit another: what is refused is refused, what is read comes back as it was read.
#[test]
fn what_the_network_broke_is_refused_or_read_alike_twice() {
    for capture in [CHROMIUM, ERICSSON, PION] {
        for packet in packets(capture).iter().step_by(7) {
            for cut in 0..packet.len() {
                assert!(rtcp::first(&packet[..cut]).is_err());
                let mut short = packet[..cut / 4 * 4].to_vec();
                if let Some(words) = (short.len() / 4).checked_sub(1) {
                    short[2..4].copy_from_slice(&(words as u16).to_be_bytes());
                }
                read_twice(&short);
            }
            for bit in 0..packet.len() * 8 {
                let mut bent = packet.clone();
                bent[bit / 8] ^= 1 << (bit % 8);
                read_twice(&bent);
            }
        }
    }
}

fn read_twice(bytes: &[u8]) {
    if let Ok(raw) = ccfb::decode(bytes) {
        let again = ccfb::decode(&written(&raw)).unwrap();
        // Without its padding, or the bits of a packet not received, an old form may prove itself no longer.
        assert!(again == raw || raw.form == CountForm::LessOne, "{bytes:02x?}");
        let arrived =
            |arrival: &&ArrivalReport| matches!(arrival, ArrivalReport::Received { at: Some(_), .. });
        let report = completed(&raw, 70_000);
        assert!(report.arrivals.iter().filter(arrived).count() <= raw.entries.len());
        assert!(report.written >= Time::ZERO);
    }
    if let Ok(report) = read_twcc(bytes) {
        let mut again = vec![];
        twcc::encode(&report, &mut again).unwrap();
        assert_eq!(read_twcc(&again), Ok(report));
    }
}
