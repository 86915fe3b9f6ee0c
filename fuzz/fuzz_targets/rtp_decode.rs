//! RTP headers, RTCP packets, times in payloads and numbers that wrap: any bytes are read or refused.
#![cfg_attr(fuzzing, no_main)]

use paceline_wire::rtcp::{bye, ecn, nack, picture, report, sdes};
use paceline_wire::tfrc::{self, Stamp};
use paceline_wire::{SequenceUnwrapper, TimestampUnwrapper, rtcp, rtp, timing};

paceline_fuzz::target!(rtp_decode);

fn rtp_decode(data: &[u8]) {
    unwrapped(data);
    rtcp::packets(data).flatten().for_each(|packet| read(&packet));
    let _ = rtcp::expect_compound(data);
    for report in rtcp::packets(data).flatten().filter_map(|packet| tfrc::decode_packet(&packet).ok()) {
        let mut again = Vec::new();
        tfrc::encode(&report, &mut again);
        assert_eq!(rtcp::first(&again).and_then(|packet| tfrc::decode_packet(&packet)), Ok(report));
    }
    let view = match rtp::decode(data) {
        Ok(view) => view,
        Err(error) => return drop(error.to_string()),
    };
    assert!(!rtp::is_rtcp(data));
    let extension = view.extension.map_or(0, |extension| 4 + extension.data.len());
    let parts = rtp::HEADER + view.csrc.len() + extension + view.payload.len() + usize::from(view.padding);
    assert_eq!(parts, data.len());
    if let Some(stamp) = view.extension.as_ref().and_then(Stamp::read) {
        let again = stamp.extension();
        assert_eq!(Stamp::read(&rtp::RtpExtension { profile: 0xbede, data: &again[4..] }), Some(stamp));
    }
    if let Some(timing) = timing::read(view.payload) {
        let mut payload = view.payload.to_vec();
        assert!(timing::write(&mut payload, timing));
        assert_eq!(payload, view.payload);
    }
    let mut again = Vec::new();
    if rtp::encode(&view.header, view.payload.len(), view.padding, &mut again).is_ok() {
        let found = rtp::decode(&again).expect("what was written can be read");
        let parts = (found.header, found.payload.len(), found.padding);
        assert_eq!(parts, (view.header, view.payload.len(), view.padding));
    } else {
        assert!((64..96).contains(&view.header.payload_type));
    }
}

fn unwrapped(data: &[u8]) {
    let (mut sequences, mut timestamps) = (SequenceUnwrapper::default(), TimestampUnwrapper::default());
    for bytes in data.chunks_exact(4) {
        let value = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if let Some(sequence) = sequences.unwrap(value as u16) {
            assert_eq!(sequence as u16, value as u16);
        }
        if let Some(timestamp) = timestamps.unwrap(value) {
            assert_eq!(timestamp as u32, value);
        }
    }
}

/// Reads an RTCP packet as each of those that there are.
fn read(packet: &rtcp::RtcpPacket<'_>) {
    let mut again = Vec::new();
    if let Ok(report) = report::decode(packet) {
        let blocks: Vec<_> = report.blocks().collect();
        report::encode(report.ssrc, report.sender.as_ref(), &blocks, &mut again)
            .expect("as many as it counts");
        assert!(packet.bytes[4..].starts_with(&again[4..]), "what was read is written again");
    }
    if let Ok(nack) = nack::decode(packet) {
        assert!(nack.lost().count() <= packet.body.len() / 4 * 17);
    }
    let items = sdes::decode(packet).map_or(0, |names| names.items().map(|(.., text)| text.len() + 2).sum());
    assert!(items <= packet.body.len());
    let sources = bye::decode(packet).map_or(0, |bye| bye.sources().len());
    let streams = picture::decode_fir(packet).map_or(0, |request| request.streams().count());
    let summaries = ecn::decode_summary(packet).map_or(0, Iterator::count);
    assert!(sources.max(streams).max(summaries) <= packet.body.len() / 4);
    if let Ok(feedback) = ecn::decode_feedback(packet) {
        again.clear();
        ecn::encode_feedback(&feedback, &mut again);
        assert!(packet.bytes[4..].starts_with(&again[4..]));
    }
    let _ = picture::decode_pli(packet);
}
