//! RTP headers and compound RTCP: vectors by hand, identity, and bytes that are wrong.

use paceline_wire::{WireError, rtcp, rtp};
use proptest::prelude::*;

const HEADER: rtp::RtpHeaderFields = rtp::RtpHeaderFields {
    payload_type: 98,
    ssrc: 0x0102_0304,
    sequence: 0xfffe,
    timestamp: 0xa0b0_c0d0,
    marker: true,
};

#[test]
fn the_header_byte_by_byte() {
    let mut out = vec![0xee];
    rtp::encode(&HEADER, 3, 0, &mut out).unwrap();
    // Appended: V=2; M and 98; sequence; timestamp; SSRC; payload.
    assert_eq!(out, [0xee, 0x80, 0xe2, 0xff, 0xfe, 0xa0, 0xb0, 0xc0, 0xd0, 1, 2, 3, 4, 0, 0, 0]);
}

#[test]
fn padding_byte_by_byte() {
    let mut out = vec![];
    rtp::encode(&HEADER, 2, 3, &mut out).unwrap();
    // V=2 with P; after the payload 3 bytes of padding, whose last one counts them.
    assert_eq!(out, [0xa0, 0xe2, 0xff, 0xfe, 0xa0, 0xb0, 0xc0, 0xd0, 1, 2, 3, 4, 0, 0, 0, 0, 3]);
    let view = rtp::decode(&out).unwrap();
    assert_eq!((view.payload, view.padding), ([0, 0].as_slice(), 3));
    // A packet of nothing but padding: the count may be all there is, and no more than there is.
    for padding in [1, 255] {
        out.clear();
        rtp::encode(&HEADER, 0, padding, &mut out).unwrap();
        let view = rtp::decode(&out).unwrap();
        assert_eq!((view.payload, view.padding), (&[][..], padding));
        assert_eq!(out.pop(), Some(padding));
        assert!(matches!(rtp::decode(&out), Err(WireError::Truncated { .. } | WireError::Padding { .. })));
    }
}

#[test]
fn everything_optional_byte_by_byte() {
    let packet = [
        0xb2, 0x62, 0, 7, 0, 0, 0, 9, 0, 0, 0, 1, // V=2 P X CC=2, no marker, 98
        0, 0, 0, 5, 0, 0, 0, 6, // contributing sources
        0xbe, 0xde, 0, 1, 0x10, 0xaa, 0, 0, // an extension of one word
        1, 2, 3, 0, 2, // payload, and 2 bytes of padding
    ];
    let view = rtp::decode(&packet).unwrap();
    assert_eq!(view.header.sequence, 7);
    assert!(!view.header.marker);
    assert_eq!(view.csrc, [0, 0, 0, 5, 0, 0, 0, 6]);
    let data = [0x10, 0xaa, 0, 0].as_slice();
    assert_eq!(view.extension, Some(rtp::RtpExtension { profile: 0xbede, data }));
    assert_eq!((view.payload, view.padding), ([1, 2, 3].as_slice(), 2));
    for size in 0..28 {
        let error = rtp::decode(&packet[..size]).unwrap_err();
        assert!(matches!(error, WireError::Truncated { .. }), "{size}: {error}");
    }
}

#[test]
fn errors_name_the_byte() {
    let text = |bytes: &[u8]| rtp::decode(bytes).unwrap_err().to_string();
    assert_eq!(text(&[0x80; 5]), "RTP header at byte 0 is cut short: found 5 bytes, expected 12");
    assert_eq!(text(&[0x40; 12]), "version at byte 0: found 1, expected 2");
    let mut packet = [0u8; 14];
    packet[0] = 0xa0;
    packet[13] = 3;
    assert_eq!(text(&packet), "padding count at byte 13: found 3, expected 1 to 2, in RTCP a multiple of 4");
    packet[13] = 0;
    assert!(matches!(rtp::decode(&packet), Err(WireError::Padding { at: 13, found: 0, available: 2 })));
    packet[1] = 200;
    assert_eq!(
        text(&packet),
        "RTP marker and payload type at byte 1: found 200, expected not RTCP's 192 to 223"
    );
}

#[test]
fn rtcp_is_told_from_rtp() {
    assert!(rtp::is_rtcp(&[0x80, 192]) && rtp::is_rtcp(&[0x8b, 205]) && rtp::is_rtcp(&[0x80, 223]));
    assert!(!rtp::is_rtcp(&[0x80, 191]) && !rtp::is_rtcp(&[0x80, 224]) && !rtp::is_rtcp(&[0x40, 205]));
    assert!(!rtp::is_rtcp(&[0x80]) && !rtp::is_rtcp(&[]));
    for payload_type in [64, 95, 128] {
        let mut out = vec![];
        assert!(rtp::encode(&rtp::RtpHeaderFields { payload_type, ..HEADER }, 0, 9, &mut out).is_err());
        assert!(out.is_empty());
    }
}

#[test]
fn a_compound_datagram_is_walked_by_length() {
    // An empty RR, an SDES with 4 bytes of padding, a BYE.
    let datagram = [
        0x80, 201, 0, 1, 0, 0, 0, 1, //
        0xa1, 202, 0, 2, 0, 0, 0, 2, 9, 9, 9, 4, //
        0x80, 203, 0, 0,
    ];
    let packets: Vec<_> = rtcp::packets(&datagram).map(Result::unwrap).collect();
    let seen: Vec<_> = packets.iter().map(|p| (p.packet_type, p.count, p.body, p.bytes.len())).collect();
    let expected: [(u8, u8, &[u8], usize); 3] =
        [(201, 0, &[0, 0, 0, 1], 8), (202, 1, &[0, 0, 0, 2], 12), (203, 0, &[], 4)];
    assert_eq!(seen, expected);
    // The last one cut short: the first two, an error, the end.
    let mut cut = rtcp::packets(&datagram[..22]);
    assert!(cut.next().unwrap().is_ok() && cut.next().unwrap().is_ok());
    let error = WireError::Truncated { what: "RTCP header", at: 0, found: 2, expected: 4 };
    assert_eq!(cut.next(), Some(Err(error)));
    assert_eq!(cut.next(), None);
}

#[test]
fn rtcp_padding_is_checked() {
    let padded = |count| [0xa0, 201, 0, 2, 0, 0, 0, 1, 0, 0, 0, count];
    assert_eq!(rtcp::first(&padded(4)).unwrap().body, [0, 0, 0, 1]);
    assert!(rtcp::first(&padded(8)).unwrap().body.is_empty());
    for count in [0, 1, 2, 3, 5, 12, 255] {
        let error = WireError::Padding { at: 11, found: count, available: 8 };
        assert_eq!(rtcp::first(&padded(count)), Err(error));
    }
    assert!(rtcp::first(&[0xa0, 201, 0, 0]).is_err(), "padding announced, and no byte of it");
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        payload_type in prop_oneof![0u8..64, 96u8..128],
        ssrc: u32, sequence: u16, timestamp: u32, marker: bool, payload_len in 0usize..1500, padding: u8,
    ) {
        let header = rtp::RtpHeaderFields { payload_type, ssrc, sequence, timestamp, marker };
        let mut out = vec![];
        rtp::encode(&header, payload_len, padding, &mut out).unwrap();
        prop_assert_eq!(out.len(), rtp::HEADER + payload_len + usize::from(padding));
        prop_assert!(!rtp::is_rtcp(&out));
        let view = rtp::decode(&out).unwrap();
        prop_assert_eq!(view.header, header);
        prop_assert_eq!((view.csrc, view.extension, view.padding), (&[][..], None, padding));
        prop_assert_eq!(view.payload, &out[rtp::HEADER..rtp::HEADER + payload_len]);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), version: bool) {
        if let (true, Some(first)) = (version, bytes.first_mut()) {
            *first = 0x80 | (*first & 0x3f);
        }
        if let Ok(view) = rtp::decode(&bytes) {
            let extension = view.extension.map_or(0, |e| 4 + e.data.len());
            let parts = view.csrc.len() + extension + view.payload.len() + usize::from(view.padding);
            prop_assert_eq!(rtp::HEADER + parts, bytes.len());
        }
        let walked: usize = rtcp::packets(&bytes).flatten().map(|packet| packet.bytes.len()).sum();
        prop_assert!(walked <= bytes.len());
    }
}
