//! RFC 8888 and TWCC reports, summaries of delays and compound RTCP: any bytes are read or refused, and what is read can be
//! written again.
#![cfg_attr(fuzzing, no_main)]

use paceline_cc::StreamId;
use paceline_units::Bytes;
use paceline_wire::ccfb::Feedback;
use paceline_wire::ccfb::{self, ArrivalOffset, CountForm, RawEntry, RawFeedback, RtsUnwrapper};
use paceline_wire::twcc::{self, TransportFeedback};
use paceline_wire::{delays, rtcp, unwrap_sequence};

paceline_fuzz::target!(ccfb_decode);

fn ccfb_decode(data: &[u8]) {
    let _ = ccfb::decode(data).map_err(|error| error.to_string());
    let (mut raw, mut rts) = (RawFeedback::default(), RtsUnwrapper::default());
    let mut walked = 0;
    for packet in rtcp::packets(data).flatten() {
        walked += packet.bytes.len();
        assert!(walked <= data.len());
        if let Ok(summary) = delays::decode_packet(&packet) {
            let mut again = Vec::new();
            delays::encode(&summary, &mut again);
            assert_eq!(&again[4..], packet.body);
        }
        let mut transport = TransportFeedback::default();
        if twcc::decode_packet(&packet, &mut transport).is_ok() {
            let (mut bytes, mut again) = (Vec::new(), TransportFeedback::default());
            twcc::encode(&transport, &mut bytes).expect("what was read can be written");
            let packet = rtcp::first(&bytes).expect("RTCP");
            twcc::decode_packet(&packet, &mut again).expect("what was written can be read");
            assert_eq!(again, transport);
        }
        match ccfb::decode_packet(&packet, &mut raw) {
            Ok(()) => written_again(&raw, packet.bytes.len(), &mut rts),
            Err(_) => assert!(raw.blocks.is_empty() && raw.entries.is_empty()),
        }
    }
}

fn written_again(raw: &RawFeedback, size: usize, rts: &mut RtsUnwrapper) {
    assert!(raw.entries.len() <= size / 2 && raw.blocks.len() <= size / 8);
    let mut feedback = Feedback::default();
    let extend = |_: StreamId, sequence| unwrap_sequence(70_000, sequence);
    if raw.to_feedback(rts, |ssrc| Some(StreamId(ssrc as u8)), extend, &mut feedback).is_err() {
        return;
    }
    assert_eq!(feedback.arrivals.len(), raw.entries.len());
    let ssrc_of = |stream: StreamId| u32::from(stream.0);
    let mut bytes = Vec::new();
    ccfb::encode(&feedback, raw.sender_ssrc, ssrc_of, &mut bytes).expect("what was read can be written");
    let again = ccfb::decode(&bytes).expect("what was written can be read");
    assert_eq!((again.form, again.sender_ssrc), (CountForm::Count, raw.sender_ssrc));
    assert_eq!(again.blocks.len(), raw.blocks.len());
    for (now, then) in again.blocks.iter().zip(&raw.blocks) {
        assert_eq!((now.begin, &now.entries), (then.begin, &then.entries));
    }
    for (now, then) in again.entries.iter().zip(&raw.entries) {
        assert_eq!(said(now), said(then));
    }
    if raw.rts.is_multiple_of(64) {
        assert_eq!(again.rts, raw.rts);
    }
    split(&feedback, raw);
}

/// Split into small packets it says the same of as many packets.
fn split(feedback: &Feedback, raw: &RawFeedback) {
    let limit = 24 + u64::from(raw.rts % 400);
    let mut bytes = Vec::new();
    ccfb::encode_split(feedback, 1, |_| 2, Bytes::new(limit), &mut bytes).expect("a limit of 24 or more");
    let parts = rtcp::packets(&bytes).map(|packet| {
        let packet = packet.expect("packets back to back");
        assert!(packet.bytes.len() as u64 <= limit);
        ccfb::decode(packet.bytes).expect("a report").entries.len()
    });
    assert_eq!(parts.sum::<usize>(), raw.entries.len());
}

/// The facts that survive being written again: the mark, and that a packet arrived. Times do if they are on our grid.
fn said(entry: &RawEntry) -> Option<(paceline_units::Ecn, bool)> {
    match *entry {
        RawEntry::Missing => None,
        RawEntry::Received { ato, ecn } => {
            if let ArrivalOffset::Known(ticks) = ato {
                assert!(ticks <= ccfb::MAX_OFFSET);
            }
            Some((ecn, true))
        }
    }
}
