//! Reports of pion/interceptor 0.1.45 on packets of Chromium over 2 % of loss, reports by hand, and any bytes.

use super::*;
use crate::{rtcp, rtp};
use alloc::string::ToString;
use alloc::vec;
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

fn read(bytes: &[u8]) -> Result<TransportFeedback, WireError> {
    let mut out = TransportFeedback::default();
    decode_packet(&rtcp::first(bytes)?, &mut out)?;
    Ok(out)
}

fn written(report: &TransportFeedback) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(report, &mut bytes).expect("it fits");
    bytes
}

/// Base, reference time in ms, count of the report, and the deltas in microseconds.
type Captured<'a> = (&'a str, u16, u32, u8, &'a [Option<i64>]);

#[test]
fn captured_reports_are_read_as_their_writer_means_them() {
    let all = |deltas: &[i64]| deltas.iter().copied().map(Some).collect::<Vec<_>>();
    let mut first = all(&[33_500, 10_250, 3750, 2500, 3250, 3750, 2500, 2250, 0, 2750]);
    first[8] = None;
    first.extend([Some(2500); 7]);
    let mut loss = all(&[37_250, 0, 8250, 8250, 8250, 8500]);
    loss[1] = None;
    let captures: [Captured<'_>; 4] = [
        (
            "8fcd0009839fdd26dbda2b600001001100000300bfdf200386290f0a0d0f0a090b0a0a0a0a0a0a0a",
            1,
            192,
            0,
            &first,
        ),
        ("afcd0006839fdd26dbda2b60002d000600001208d154952121212201", 45, 1152, 8, &loss),
        (
            "afcd0006839fdd26dbda2b600022000400000b05d6405a1f01281601",
            34,
            704,
            5,
            &all(&[22_500, 7750, 74_000, 5500]),
        ),
        (
            "afcd0006839fdd26dbda2b600028000500000e0720058e23a61c1c01",
            40,
            896,
            7,
            &all(&[35_500, 8750, 41_500, 7000, 7000]),
        ),
    ];
    for (hex, base, reference_ms, feedback_count, deltas) in captures {
        let report = read(&bytes(hex)).expect("sound");
        assert_eq!((report.sender_ssrc, report.ssrc), (2_208_292_134, 3_688_508_256));
        assert_eq!((report.base, report.reference * 64), (base, reference_ms));
        assert_eq!(report.feedback_count, feedback_count);
        let micros: Vec<_> =
            report.deltas.iter().map(|delta| delta.map(|delta| i64::from(delta) * 250)).collect();
        assert_eq!(micros, deltas, "{hex}");
        assert_eq!(read(&written(&report)), Ok(report), "written again");
    }
}

#[test]
fn arrivals_add_up_from_the_reference_time() {
    let report = TransportFeedback {
        reference: 2,
        deltas: vec![Some(4), None, Some(-6), Some(300)],
        ..TransportFeedback::default()
    };
    let arrivals: Vec<_> = report.arrivals().collect();
    assert_eq!(arrivals, [Some(516), None, Some(510), Some(810)]);
    assert_eq!(read(&written(&report)), Ok(report));
}

#[test]
fn lies_are_refused_with_their_place() {
    let sound = bytes("8fcd0006839fdd26dbda2b6000120006000005012006df19181f5d1b");
    assert!(read(&sound).is_ok());
    let with = |at: usize, values: &[u8]| {
        let mut bytes = sound.clone();
        bytes[at..at + values.len()].copy_from_slice(values);
        read(&bytes).expect_err("a lie").to_string()
    };
    for (at, values, expected) in [
        (14, &[0, 0][..], "status count"),
        (14, &[0xff, 0xff], "packet status"),
        (14, &[0, 2], "found 4, expected 0 to 3"),
        (20, &[0x60, 6], "packet status symbol at byte 20"),
        (20, &[0x40, 6], "receive delta"),
        (0, &[0x8b], "205 with FMT 15"),
    ] {
        let error = with(at, values);
        assert!(error.contains(expected), "{error} for {expected}");
    }
    let mut out = TransportFeedback { deltas: vec![None; 9], ..TransportFeedback::default() };
    let other = rtcp::first(&[0x80, 200, 0, 0]).expect("RTCP");
    assert!(decode_packet(&other, &mut out).is_err() && out.deltas.is_empty());
    let none = TransportFeedback::default();
    assert!(encode(&none, &mut Vec::new()).is_err());
    let most = TransportFeedback { deltas: vec![Some(-1); 65_535], ..none.clone() };
    assert_eq!(read(&written(&most)), Ok(most));
    assert!(encode(&TransportFeedback { deltas: vec![None; 65_536], ..none }, &mut Vec::new()).is_err());
}

#[test]
fn a_packet_carries_its_number_beside_other_extensions() {
    let extension = extension(5, 0x1234);
    let (header, mut bytes) = (rtp::RtpHeaderFields { payload_type: 98, ..Default::default() }, Vec::new());
    rtp::encode_extended(&header, &extension, 10, 0, &mut bytes).expect("a header");
    let view = rtp::decode(&bytes).expect("sound").extension.expect("one");
    assert_eq!((number_of(&view, 5), number_of(&view, 4)), (Some(0x1234), None));
    let among = RtpExtension { profile: 0xbede, data: &[0, 0x20, 9, 0, 0x51, 0x12, 0x34, 0x10, 7] };
    assert_eq!(number_of(&among, 5), Some(0x1234));
    let longer = RtpExtension { profile: 0xbede, data: &[0x52, 1, 2, 3] };
    let other = RtpExtension { profile: 0x1000, data: &[0x51, 1, 2] };
    assert_eq!((number_of(&longer, 5), number_of(&other, 5)), (None, None));
}

fn delta() -> impl Strategy<Value = Option<i16>> {
    prop_oneof![2 => Just(None), 6 => (0i16..256).prop_map(Some), 2 => any::<i16>().prop_map(Some)]
}

fn deltas() -> impl Strategy<Value = Vec<Option<i16>>> {
    let run = (delta(), 1usize..60).prop_map(|(delta, run)| vec![delta; run]);
    prop_oneof![
        prop::collection::vec(delta(), 1..200),
        prop::collection::vec(run, 1..20).prop_map(|runs| runs.concat())
    ]
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        deltas in deltas(), sender_ssrc: u32, ssrc: u32, base: u16, reference in 0u32..1 << 24, feedback_count: u8,
    ) {
        let report = TransportFeedback { sender_ssrc, ssrc, base, reference, feedback_count, deltas };
        let bytes = written(&report);
        prop_assert_eq!(bytes.len() % 4, 0);
        prop_assert_eq!(read(&bytes), Ok(report));
    }

    #[test]
    fn any_bytes_are_refused_or_can_be_written_again(
        deltas in deltas(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut damaged = written(&TransportFeedback { deltas, ..TransportFeedback::default() });
        for (place, value) in flips {
            let length = damaged.len();
            damaged[place.index(length)] = value;
        }
        let headed = [&[0x8f, 205, 0, (noise.len() / 4).saturating_sub(1) as u8][..], &noise].concat();
        for bytes in [&damaged, &noise, &headed] {
            if let Ok(report) = read(bytes) {
                prop_assert!(report.deltas.len() <= 65_535);
                prop_assert_eq!(read(&written(&report)), Ok(report));
            }
        }
    }
}
