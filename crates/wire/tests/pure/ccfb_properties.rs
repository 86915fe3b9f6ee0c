//! RFC 8888 reports: whatever the transport can say comes back, and whatever the network can say does no harm.

use paceline_cc::StreamId;
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::ccfb::{self, CountForm, RawFeedback, RtsUnwrapper};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::clock::{ticks_of, time_of_ticks};
use paceline_wire::{rtcp, unwrap_sequence};
use proptest::prelude::*;

fn ssrc_of(stream: StreamId) -> u32 {
    0xfeed_0000 | u32::from(stream.0)
}

fn stream_of(ssrc: u32) -> Option<StreamId> {
    (ssrc >> 16 == 0xfeed).then_some(StreamId(ssrc as u8))
}

/// An arrival as a receiver may know it, given the tick of the report: also out of range, later, unknown.
fn arrival(written: u64) -> impl Strategy<Value = ArrivalReport> {
    let tick = prop_oneof![
        8 => (0..=8189u64).prop_map(move |ago| Some(written.saturating_sub(ago))),
        1 => (8190..20_000u64).prop_map(move |ago| Some(written.saturating_sub(ago))),
        1 => (1..20_000u64).prop_map(move |after| Some(written + after)),
        1 => Just(None),
    ];
    let received = (tick, 0u8..4).prop_map(|(tick, ecn)| ArrivalReport::Received {
        at: tick.map(time_of_ticks),
        ecn: Ecn::from_bits(ecn),
    });
    prop_oneof![1 => Just(ArrivalReport::Missing), 4 => received]
}

fn feedback() -> impl Strategy<Value = Feedback> {
    // RTS wraps at tick 2^26; sequence numbers begin everywhere, around a wrap too.
    let written = prop_oneof![0..1u64 << 40, (1u64 << 26) - 9000..(1 << 26) + 9000];
    let begin = prop_oneof![0..1u64 << 40, 65_500u64..65_600, 0u64..3];
    let count = prop_oneof![8 => 0usize..70, 1 => 300usize..400];
    let shape = prop::collection::vec((any::<u8>(), begin, count), 0..6);
    (written, shape).prop_flat_map(|(written, shape)| {
        let total = shape.iter().map(|(_, _, count)| count).sum::<usize>();
        let blocks = shape
            .into_iter()
            .map(|(stream, begin, count)| FeedbackBlock {
                stream: StreamId(stream),
                begin,
                count: count as u32,
            })
            .collect::<Vec<_>>();
        prop::collection::vec(arrival(written), total).prop_map(move |arrivals| Feedback {
            written: time_of_ticks(written),
            blocks: blocks.clone(),
            arrivals,
        })
    })
}

/// The part of `feedback` that a peer can know: offsets out of range and arrivals after the report have no time.
fn as_reported(feedback: &Feedback) -> Feedback {
    let mut reported = feedback.clone();
    for arrival in &mut reported.arrivals {
        if let ArrivalReport::Received { at, .. } = arrival {
            *at =
                at.filter(|at| *at <= feedback.written && ticks_of(feedback.written) - ticks_of(*at) <= 8189);
        }
    }
    reported
}

/// Reads one packet; sequence numbers are extended near those of `of`'s blocks, one after the other.
fn read(packet: &[u8], of: &Feedback, rts: &mut RtsUnwrapper) -> Feedback {
    let raw = ccfb::decode(packet).unwrap();
    assert_eq!((raw.sender_ssrc, raw.form), (9, CountForm::Count));
    let mut begins = of.blocks.iter().map(|block| block.begin);
    let mut out = Feedback::default();
    raw.to_feedback(rts, stream_of, |_, s| unwrap_sequence(begins.next().unwrap() + 7, s), &mut out).unwrap();
    out
}

/// Each packet's stream, sequence number and arrival, one by one.
fn packets_of(feedback: &Feedback) -> Vec<(u8, u16, ArrivalReport)> {
    let numbers = feedback
        .blocks
        .iter()
        .flat_map(|b| (0..b.count).map(|i| (b.stream.0, (b.begin + u64::from(i)) as u16)));
    numbers
        .zip(&feedback.arrivals)
        .map(|((stream, sequence), arrival)| (stream, sequence, *arrival))
        .collect()
}

/// Everything that must hold of any bytes, valid or not.
fn does_no_harm(bytes: &[u8]) {
    let mut raw = RawFeedback::default();
    for packet in rtcp::packets(bytes).flatten() {
        if ccfb::decode_packet(&packet, &mut raw).is_err() {
            assert!(raw.blocks.is_empty() && raw.entries.is_empty());
            continue;
        }
        assert!(raw.entries.len() <= bytes.len() / 2);
        assert!(raw.blocks.len() <= bytes.len() / 8);
        let of_blocks: usize = raw.blocks.iter().map(|block| raw.entries_of(block).len()).sum();
        assert_eq!(of_blocks, raw.entries.len());
        let mut written = vec![];
        ccfb::encode_raw(&raw, &mut written).unwrap();
        // Without the bits that readers ignore, an old form may prove itself no longer.
        assert!(raw.form == CountForm::LessOne || ccfb::decode(&written).unwrap() == raw);
        assert_eq!(written[8..16.min(written.len())], packet.bytes[8..16.min(written.len())]);
        let mut feedback = Feedback::default();
        let mut rts = RtsUnwrapper::default();
        raw.to_feedback(
            &mut rts,
            |s| Some(StreamId(s as u8)),
            |_, s| unwrap_sequence(70_000, s),
            &mut feedback,
        )
        .unwrap();
        assert_eq!(feedback.arrivals.len(), raw.entries.len());
        let mut again = vec![];
        ccfb::encode(&feedback, 9, ssrc_of, &mut again).unwrap();
        let reread = ccfb::decode(&again).unwrap();
        // A foreign timestamp between ticks moves offsets by rounding; who arrived does not change.
        assert_eq!((reread.form, reread.entries.len()), (CountForm::Count, raw.entries.len()));
    }
    let _ = ccfb::decode(bytes);
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(feedback in feedback()) {
        let mut out = vec![];
        ccfb::encode(&feedback, 9, ssrc_of, &mut out).unwrap();
        prop_assert_eq!(Bytes::new(out.len() as u64), feedback.size());
        let mut rts = RtsUnwrapper::starting_near(feedback.written);
        prop_assert_eq!(read(&out, &feedback, &mut rts), as_reported(&feedback));
    }

    #[test]
    fn a_split_report_says_the_same(feedback in feedback(), limit in 24u64..400) {
        let mut out = vec![];
        ccfb::encode_split(&feedback, 9, ssrc_of, Bytes::new(limit), &mut out).unwrap();
        let mut said = vec![];
        let mut raw = RawFeedback::default();
        let mut blocks = 0;
        for packet in rtcp::packets(&out) {
            let packet = packet.unwrap();
            prop_assert!(packet.bytes.len() as u64 <= limit);
            ccfb::decode_packet(&packet, &mut raw).unwrap();
            blocks += raw.blocks.len();
            let mut part = Feedback::default();
            let mut rts = RtsUnwrapper::starting_near(feedback.written);
            raw.to_feedback(&mut rts, stream_of, |_, s| Some(s.into()), &mut part).unwrap();
            prop_assert_eq!(part.written, feedback.written);
            said.extend(packets_of(&part));
        }
        prop_assert_eq!(said, packets_of(&as_reported(&feedback)));
        prop_assert!(blocks >= feedback.blocks.len());
    }

    #[test]
    fn a_report_that_fits_is_not_split(feedback in feedback()) {
        let (mut whole, mut split) = (vec![], vec![]);
        ccfb::encode(&feedback, 9, ssrc_of, &mut whole).unwrap();
        let limit = Bytes::new(whole.len().max(24) as u64);
        ccfb::encode_split(&feedback, 9, ssrc_of, limit, &mut split).unwrap();
        prop_assert_eq!(whole, split);
    }

    #[test]
    fn times_off_the_grid_are_rounded_by_half_a_step_at_most(written in 0..1u64 << 50, ago in 0..7_990_000_000u64) {
        let at = Time::from_nanos(written.saturating_sub(ago));
        let feedback = Feedback {
            written: Time::from_nanos(written),
            blocks: vec![FeedbackBlock { stream: StreamId(0), begin: 0, count: 1 }],
            arrivals: vec![ArrivalReport::Received { at: Some(at), ecn: Ecn::NotEct }] };
        let mut out = vec![];
        ccfb::encode(&feedback, 9, ssrc_of, &mut out).unwrap();
        let back = read(&out, &feedback, &mut RtsUnwrapper::starting_near(feedback.written));
        prop_assert!(back.written.as_nanos().abs_diff(written) <= 488_282);
        let ArrivalReport::Received { at: Some(read), .. } = back.arrivals[0] else { panic!("an arrival") };
        prop_assert!(read.as_nanos().abs_diff(at.as_nanos()) <= 488_282);
    }

    /// RTCP padding (P) is no part of the report.
    #[test]
    fn padding_is_ignored(feedback in feedback(), words in 1u8..60) {
        let mut out = vec![];
        ccfb::encode(&feedback, 9, ssrc_of, &mut out).unwrap();
        out.resize(out.len() + usize::from(words) * 4, 0xff);
        *out.last_mut().unwrap() = words * 4;
        out[0] |= 0x20;
        let length = (out.len() / 4 - 1) as u16;
        out[2..4].copy_from_slice(&length.to_be_bytes());
        let mut rts = RtsUnwrapper::starting_near(feedback.written);
        prop_assert_eq!(read(&out, &feedback, &mut rts), as_reported(&feedback));
    }

    /// A peer that writes the count less one, and whose newest packet arrived as it does, is read in full.
    #[test]
    fn the_old_form_is_read(count in 1usize..200, ssrc: u32, begin: u16, rts: u32) {
        let mut bytes = vec![0x8b, 205, 0, 0, 0, 0, 0, 9];
        bytes.extend(ssrc.to_be_bytes());
        bytes.extend(begin.to_be_bytes());
        bytes.extend((count as u16 - 1).to_be_bytes());
        bytes.extend((0..count).flat_map(|i| (0x8000 | i as u16).to_be_bytes()));
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(rts.to_be_bytes());
        let length = (bytes.len() / 4 - 1) as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        let raw = ccfb::decode(&bytes).unwrap();
        prop_assert_eq!((raw.form, raw.entries.len(), raw.blocks.len()), (CountForm::LessOne, count, 1));
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..400), disguise: bool) {
        if disguise && bytes.len() >= 4 {
            let length = (bytes.len() / 4 - 1) as u8;
            bytes[..4].copy_from_slice(&[0x8b, 205, 0, length]);
        }
        does_no_harm(&bytes);
    }

    #[test]
    fn mutated_reports_do_no_harm(
        feedback in feedback(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        whole: bool,
    ) {
        let mut bytes = vec![];
        ccfb::encode(&feedback, 9, ssrc_of, &mut bytes).unwrap();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        does_no_harm(if whole { &bytes } else { &bytes[..cut.index(bytes.len())] });
    }
}
