//! RFC 8888 reports against bytes worked out by hand from section 3.1.

use paceline_cc::StreamId;
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::ccfb::{self, ArrivalOffset, CountForm, RawEntry, RtsUnwrapper};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::clock::time_of_ticks;
use paceline_wire::{FeedbackFormat, Reporter, WireError, rtcp, unwrap_sequence};

const MISSING: ArrivalReport = ArrivalReport::Missing;

fn received(tick: u64, ecn: Ecn) -> ArrivalReport {
    ArrivalReport::Received { at: Some(time_of_ticks(tick)), ecn }
}

fn range(what: &'static str, found: u64, min: u64, max: u64) -> WireError {
    WireError::Range { what, found, min, max }
}

fn ssrc_of(stream: StreamId) -> u32 {
    0x1111_1100 + u32::from(stream.0)
}

fn encode(feedback: &Feedback) -> Vec<u8> {
    let mut out = vec![];
    ccfb::encode(feedback, 0xaabb_ccdd, ssrc_of, &mut out).unwrap();
    assert_eq!(Bytes::new(out.len() as u64), feedback.size());
    out
}

/// Written at 10.5 s, tick 10752: RTS is 10.5 * 65536 = 0x000A8000.
fn two_streams() -> Feedback {
    Feedback {
        written: Time::from_nanos(10_500_000_000),
        blocks: vec![
            FeedbackBlock { stream: StreamId(0), begin: 65_534, count: 3 },
            FeedbackBlock { stream: StreamId(1), begin: 7, count: 0 },
            FeedbackBlock { stream: StreamId(2), begin: 0x1_0005, count: 4 },
        ],
        arrivals: vec![
            received(10_752 - 512, Ecn::Ect1),
            MISSING,
            received(10_752, Ecn::Ce),
            received(10_752 - 8189, Ecn::NotEct),
            received(10_752 - 8190, Ecn::Ect0),
            received(10_753, Ecn::Ect1),
            ArrivalReport::Received { at: None, ecn: Ecn::NotEct },
        ],
    }
}

const TWO_STREAMS: [u8; 52] = [
    0x8b, 205, 0, 12, // V=2, no padding, FMT 11; PT; 13 words less one
    0xaa, 0xbb, 0xcc, 0xdd, // sender
    0x11, 0x11, 0x11, 0x00, 0xff, 0xfe, 0, 3, // SSRC, begin_seq, num_reports
    0xa2, 0x00, // R, ECT(1) = 01, 512: half a second before
    0x00, 0x00, // missing
    0xe0, 0x00, // R, CE, 0: at the timestamp
    0x00, 0x00, // padding of an odd count
    0x11, 0x11, 0x11, 0x01, 0x00, 0x07, 0, 0, // nothing of this stream
    0x11, 0x11, 0x11, 0x02, 0x00, 0x05, 0, 4, //
    0x9f, 0xfd, // R, not-ECT, 8189
    0xdf, 0xfe, // R, ECT(0) = 10, over range
    0xbf, 0xff, // R, ECT(1), later than the timestamp
    0x9f, 0xff, // R, unknown
    0x00, 0x0a, 0x80, 0x00, // 10.5 s
];

#[test]
fn a_report_byte_by_byte() {
    assert_eq!(encode(&two_streams()), TWO_STREAMS);
}

#[test]
fn the_same_report_read() {
    let raw = ccfb::decode(&TWO_STREAMS).unwrap();
    assert_eq!((raw.sender_ssrc, raw.rts, raw.form), (0xaabb_ccdd, 0xa_8000, CountForm::Count));
    let heads: Vec<_> = raw.blocks.iter().map(|b| (b.ssrc, b.begin, b.entries.clone())).collect();
    assert_eq!(heads, [(0x1111_1100, 0xfffe, 0..3), (0x1111_1101, 7, 3..3), (0x1111_1102, 5, 3..7)]);
    let got = |ato, ecn| RawEntry::Received { ato, ecn };
    assert_eq!(
        raw.entries_of(&raw.blocks[2]),
        [
            got(ArrivalOffset::Known(8189), Ecn::NotEct),
            got(ArrivalOffset::OverRange, Ecn::Ect0),
            got(ArrivalOffset::Unknown, Ecn::Ect1),
            got(ArrivalOffset::Unknown, Ecn::NotEct),
        ]
    );
    let mut feedback = Feedback::default();
    raw.to_feedback(
        &mut RtsUnwrapper::default(),
        |ssrc| Some(StreamId(ssrc as u8)),
        |stream, sequence| unwrap_sequence([65_540, 0, 65_550][usize::from(stream.0)], sequence),
        &mut feedback,
    )
    .unwrap();
    let mut expected = two_streams();
    for beyond in [4, 5] {
        let ArrivalReport::Received { at, .. } = &mut expected.arrivals[beyond] else { unreachable!() };
        *at = None;
    }
    assert_eq!(feedback, expected);
}

#[test]
fn what_was_read_is_written_as_it_was() {
    let written = |raw: &ccfb::RawFeedback| {
        let mut out = vec![7];
        ccfb::encode_raw(raw, &mut out).map(|()| out[1..].to_vec())
    };
    assert_eq!(written(&ccfb::decode(&TWO_STREAMS).unwrap()), Ok(TWO_STREAMS.to_vec()));
    let old = one_block(2, &[0x8001, 0xbffe, 0xffff, 0]);
    let mut raw = ccfb::decode(&old).unwrap();
    assert_eq!((written(&raw), raw.form), (Ok(old), CountForm::LessOne));
    raw.blocks[0].entries = 0..0;
    assert_eq!(written(&raw), Err(range("packets in a report block", 0, 1, 16_384)));
}

#[test]
fn an_empty_report_is_twelve_bytes() {
    let empty = Feedback { written: time_of_ticks(1), ..Feedback::default() };
    assert_eq!(encode(&empty), [0x8b, 205, 0, 2, 0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0, 64]);
}

/// One block of `field` num_reports, then `words` entries, padding in.
fn one_block(field: u16, words: &[u16]) -> Vec<u8> {
    let mut bytes = vec![0x8b, 205, 0, (words.len() / 2 + 4) as u8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9];
    bytes.extend(field.to_be_bytes());
    bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    bytes.extend([0, 1, 0, 0]);
    bytes
}

#[test]
fn the_old_count_is_read_where_the_packet_proves_it() {
    let read = |bytes: &[u8]| ccfb::decode(bytes).map(|raw| (raw.form, raw.entries.len()));
    // The length proves it: one and three packets.
    assert_eq!(read(&one_block(0, &[0x8001, 0])), Ok((CountForm::LessOne, 1)));
    assert_eq!(read(&one_block(2, &[0x8001, 0x8002, 0x8003, 0])), Ok((CountForm::LessOne, 3)));
    // The length does not, but padding that says "received" is none.
    assert_eq!(read(&one_block(1, &[0x8001, 0x8002])), Ok((CountForm::LessOne, 2)));
    assert_eq!(read(&one_block(63, &[0x8001; 64])), Ok((CountForm::LessOne, 64)));
    // Nothing proves it: a count.
    assert_eq!(read(&one_block(1, &[0x8001, 0])), Ok((CountForm::Count, 1)));
    assert_eq!(read(&one_block(1, &[0x8001, 0x7fff])), Ok((CountForm::Count, 1)));
    assert_eq!(read(&one_block(0, &[])), Ok((CountForm::Count, 0)));
    // Neither fits.
    let error = WireError::ReportBlocks { at: 8, found: Some(5), room: 12 };
    assert_eq!(read(&one_block(5, &[0x8001, 0])), Err(error));
    assert_eq!(
        error.to_string(),
        "report block at byte 8: found num_reports 5, expected a count, or a count less one, \
         that fills 12 bytes with the blocks after it"
    );
}

#[test]
fn one_reading_holds_for_the_whole_packet() {
    // 2 is the old form of 3; then 3 cannot be a count.
    let blocks = |second: u16, words: &[u16]| {
        let mut bytes = one_block(2, &[0x8001, 0x8002, 0x8003, 0]);
        bytes.truncate(bytes.len() - 4);
        bytes.extend([0, 0, 0, 3, 0, 0]);
        bytes.extend(second.to_be_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        bytes.extend([0, 1, 0, 0]);
        bytes[3] = (bytes.len() / 4 - 1) as u8;
        bytes
    };
    let old = ccfb::decode(&blocks(3, &[0x8001; 4])).unwrap();
    assert_eq!((old.form, old.blocks.len(), old.entries.len()), (CountForm::LessOne, 2, 7));
    assert!(ccfb::decode(&blocks(4, &[0x8001; 4])).is_err());
}

#[test]
fn what_is_no_report_is_refused() {
    let broken = |at: usize, value: u8| {
        let mut bytes = TWO_STREAMS;
        bytes[at] = value;
        ccfb::decode(&bytes).unwrap_err().to_string()
    };
    assert_eq!(broken(1, 206), "RTCP packet type at byte 1: found 206, expected 205");
    assert_eq!(broken(0, 0x8f), "feedback message type at byte 0: found 15, expected 11");
    assert_eq!(broken(0, 0x4b), "version at byte 0: found 1, expected 2");
    assert_eq!(broken(3, 11), "bytes that the RTCP length at byte 2 says: found 48, expected 52");
    assert_eq!(broken(3, 13), "RTCP packet at byte 0 is cut short: found 52 bytes, expected 56");
    assert_eq!(
        ccfb::decode(&[0x8b, 205, 0, 1, 0, 0, 0, 1]).unwrap_err().to_string(),
        "report timestamp at byte 8 is cut short: found 0 bytes, expected 4"
    );
    assert_eq!(
        ccfb::decode(&[0x8b, 205, 0, 0]).unwrap_err().to_string(),
        "SSRC of the sender at byte 4 is cut short: found 0 bytes, expected 4"
    );
    let stub = [0x8b, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0];
    let error = WireError::ReportBlocks { at: 8, found: None, room: 4 };
    assert_eq!(ccfb::decode(&stub), Err(error));
}

#[test]
fn a_block_reports_on_a_quarter_of_the_numbers_at_most() {
    let of = |count| Feedback {
        written: Time::ZERO,
        blocks: vec![FeedbackBlock { stream: StreamId(0), begin: 0, count }],
        arrivals: vec![MISSING; count as usize],
    };
    let bytes = encode(&of(16_384));
    assert_eq!(ccfb::decode(&bytes).unwrap().entries.len(), 16_384);
    let mut out = vec![1];
    let error = ccfb::encode(&of(16_385), 0, ssrc_of, &mut out).unwrap_err();
    assert_eq!(error, range("packets in a report block", 16_385, 0, 16_384));
    let disagree = Feedback { arrivals: vec![], ..of(1) };
    let error = ccfb::encode(&disagree, 0, ssrc_of, &mut out).unwrap_err();
    assert_eq!(error, range("arrivals of a feedback report, against those of its blocks", 0, 1, 1));
    let many = Feedback {
        blocks: vec![FeedbackBlock { stream: StreamId(0), begin: 0, count: 16_384 }; 8],
        arrivals: vec![MISSING; 8 * 16_384],
        ..Feedback::default()
    };
    let error = ccfb::encode(&many, 0, ssrc_of, &mut out).unwrap_err();
    assert_eq!(error, range("bytes of a feedback packet", 262_220, 12, 262_144));
    assert_eq!(out, [1], "nothing half-written");
    // Read: refused too, however the count is meant.
    let mut wide = vec![0x8b, 205, 0x20, 0x05, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0x40, 0x02];
    wide.resize(0x2006 * 4, 0);
    assert!(matches!(ccfb::decode(&wide), Err(WireError::ReportBlocks { at: 8, found: Some(0x4002), .. })));
}

#[test]
fn a_large_report_is_split_into_contiguous_packets() {
    let feedback = Feedback {
        written: time_of_ticks(5000),
        blocks: vec![
            FeedbackBlock { stream: StreamId(0), begin: 65_530, count: 9 },
            FeedbackBlock { stream: StreamId(1), begin: 3, count: 1 },
        ],
        arrivals: (0..10).map(|i| received(4000 + i, Ecn::NotEct)).collect(),
    };
    let mut out = vec![];
    ccfb::encode_split(&feedback, 1, ssrc_of, Bytes::new(32), &mut out).unwrap();
    let split: Vec<_> = rtcp::packets(&out)
        .map(|packet| {
            let packet = packet.unwrap();
            assert!(packet.bytes.len() <= 32);
            let raw = ccfb::decode(packet.bytes).unwrap();
            assert_eq!(raw.rts, 5000 * 64);
            raw.blocks.iter().map(|b| (b.ssrc & 0xff, b.begin, b.entries.len())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(split, [vec![(0, 65_530, 6)], vec![(0, 0, 3)], vec![(1, 3, 1)]]);
    let error = ccfb::encode_split(&feedback, 1, ssrc_of, Bytes::new(23), &mut vec![]).unwrap_err();
    assert_eq!(error, range("bytes of a feedback packet", 23, 24, 262_144));
}

#[test]
fn a_writer_of_the_older_form_says_one_packet_less() {
    let blocks = [(0u8, 65_530, 9), (1, 3, 0), (2, 3, 2)].map(|(stream, begin, count)| FeedbackBlock {
        stream: StreamId(stream),
        begin,
        count,
    });
    let arrivals = (0..11).map(|i| received(4000 + i, Ecn::NotEct)).collect();
    let feedback = Feedback { written: time_of_ticks(5000), blocks: blocks.to_vec(), arrivals };
    let mut reporter = Reporter { ssrc: 1, form: CountForm::LessOne, ..Reporter::default() };
    let mut out = vec![];
    let limit = Bytes::new(40);
    FeedbackFormat::Rfc8888.encode(&feedback, &mut reporter, ssrc_of, limit, &mut out).unwrap();
    let packets: Vec<_> = rtcp::packets(&out).map(|packet| ccfb::decode(packet.unwrap().bytes)).collect();
    let told: Vec<_> = packets
        .iter()
        .flatten()
        .map(|raw| {
            assert_eq!(raw.form, CountForm::LessOne);
            raw.blocks.iter().map(|b| (b.ssrc & 0xff, b.begin, b.entries.len())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(told, [vec![(0, 65_530, 9)], vec![(2, 3, 2)]], "a block of no packets cannot be said");
    assert_eq!(&out[12..16], &[0xff, 0xfa, 0, 8], "first number, and one packet less");
}

#[test]
fn a_split_begins_no_block_that_it_cannot_fill() {
    let block = |stream, count| FeedbackBlock { stream: StreamId(stream), begin: 0, count };
    let layout = |blocks: Vec<FeedbackBlock>, limit| {
        let total = blocks.iter().map(|b| b.count as usize).sum();
        let feedback = Feedback { written: Time::ZERO, blocks, arrivals: vec![MISSING; total] };
        let mut out = vec![];
        ccfb::encode_split(&feedback, 1, ssrc_of, Bytes::new(limit), &mut out).unwrap();
        let counts = |packet: rtcp::RtcpPacket<'_>| {
            ccfb::decode(packet.bytes).unwrap().blocks.iter().map(|b| b.entries.len()).collect::<Vec<_>>()
        };
        rtcp::packets(&out).map(|packet| counts(packet.unwrap())).collect::<Vec<_>>()
    };
    // 32 bytes after the first block: room for another's 8, and no entry.
    assert_eq!(layout(vec![block(0, 6), block(1, 2)], 40), [[6], [2]]);
    assert_eq!(layout(vec![block(0, 6), block(1, 0)], 40), [[6, 0]]);
    assert_eq!(layout(vec![block(0, 6), block(1, 0)], 39), [[6], [0]]);
    // However large the limit: no more than a quarter of the numbers of a stream in one report.
    assert_eq!(layout(vec![block(0, 40_000)], u64::MAX), [[16_384], [16_384], [7232]]);
}

#[test]
fn far_out_of_range_is_over_range() {
    for ago in [8190, 8191, 8192, 70_000] {
        let feedback = Feedback {
            written: time_of_ticks(100_000),
            blocks: vec![FeedbackBlock { stream: StreamId(0), begin: 0, count: 1 }],
            arrivals: vec![received(100_000 - ago, Ecn::NotEct)],
        };
        assert_eq!(encode(&feedback)[16..18], [0x9f, 0xfe], "{ago}");
    }
}

#[test]
fn the_report_timestamp_wraps_after_eighteen_hours() {
    let mut unwrapper = RtsUnwrapper::default();
    assert_eq!(unwrapper.unwrap(0xffff_ffc0), Some(0xffff_ffc0));
    assert_eq!(unwrapper.unwrap(0x40), Some(0x1_0000_0040));
    assert_eq!(unwrapper.unwrap(0xffff_ffff), Some(0xffff_ffff), "a late report");
    assert_eq!(unwrapper.unwrap(0x80), Some(0x1_0000_0080));
    // Seven hours late, and then one that is near the latest but not near that.
    assert_eq!(unwrapper.unwrap(0x9000_0000), Some(0x9000_0000));
    assert_eq!(unwrapper.unwrap(0x1000_0010), Some(0x1_1000_0010));
    assert_eq!(RtsUnwrapper::starting_near(Time::ZERO).unwrap(u32::MAX), None);
    let raw = ccfb::decode(&one_block(1, &[0x8001, 0])).unwrap();
    let mut out = two_streams();
    let mut late = RtsUnwrapper::starting_near(Time::ZERO);
    let below = ccfb::RawFeedback { rts: u32::MAX, ..raw.clone() };
    let error = below.to_feedback(&mut late, |_| Some(StreamId(0)), |_, s| Some(s.into()), &mut out);
    assert_eq!(error, Err(WireError::BeforeZero { rts: u32::MAX }));
    // Unknown SSRCs and numbers are left out; an arrival before zero is absent.
    raw.to_feedback(&mut late, |_| None, |_, s| Some(s.into()), &mut out).unwrap();
    assert!(out.blocks.is_empty() && out.arrivals.is_empty());
    raw.to_feedback(&mut late, |_| Some(StreamId(0)), |_, _| None, &mut out).unwrap();
    assert!(out.blocks.is_empty() && out.arrivals.is_empty());
    let early = ccfb::RawFeedback { rts: 63, ..raw };
    early.to_feedback(&mut late, |_| Some(StreamId(0)), |_, s| Some(s.into()), &mut out).unwrap();
    assert_eq!(out.arrivals, [ArrivalReport::Received { at: None, ecn: Ecn::NotEct }]);
}
