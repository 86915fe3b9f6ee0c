//! RTCP packets against bytes worked out by hand from RFC 3550, 4585, 5104, 6679 and 4588, against rtc-rtcp, an implementation
//! that is not ours, and against damage.

use paceline_wire::rtcp::report::{self, ReportBlock, SenderInfo};
use paceline_wire::rtcp::{self, RtcpPacket, bye, ecn, nack, picture, sdes};
use paceline_wire::{WireError, rtx};
use proptest::prelude::*;
use rtc_rtcp::goodbye::Goodbye;
use rtc_rtcp::payload_feedbacks::full_intra_request::FullIntraRequest;
use rtc_rtcp::payload_feedbacks::picture_loss_indication::PictureLossIndication;
use rtc_rtcp::receiver_report::ReceiverReport;
use rtc_rtcp::sender_report::SenderReport;
use rtc_rtcp::source_description::SourceDescription;
use rtc_rtcp::transport_feedbacks::transport_layer_nack::{NackPair, TransportLayerNack};
use rtc_shared::marshal::{Marshal, Unmarshal};

fn one(bytes: &[u8]) -> RtcpPacket<'_> {
    let packet = rtcp::first(bytes).expect("an RTCP packet");
    assert_eq!(packet.bytes.len(), bytes.len(), "and nothing behind it");
    packet
}

const BLOCK: ReportBlock = ReportBlock {
    ssrc: 0x0102_0304,
    fraction_lost: 64,
    cumulative_lost: -2,
    highest_sequence: 0x0001_ffff,
    jitter: 90,
    last_sr: 0x8000_4000,
    delay_since_last_sr: 0x8000,
};
const BLOCK_BYTES: [u8; 24] =
    [1, 2, 3, 4, 64, 0xff, 0xff, 0xfe, 0, 1, 0xff, 0xff, 0, 0, 0, 90, 0x80, 0, 0x40, 0, 0, 0, 0x80, 0];

#[test]
fn a_sender_report_by_hand() {
    let sender = SenderInfo { ntp: 0x1234_8000_4000_0000, rtp_timestamp: 7, packets: 258, octets: 259 };
    let mut out = vec![];
    report::encode(9, Some(&sender), &[BLOCK], &mut out).expect("it fits");
    let head = [0x81, 200, 0, 12, 0, 0, 0, 9, 0x12, 0x34, 0x80, 0, 0x40, 0, 0, 0];
    let counts = [0, 0, 0, 7, 0, 0, 1, 2, 0, 0, 1, 3];
    assert_eq!(out, [&head[..], &counts, &BLOCK_BYTES].concat());
    let read = report::decode(&one(&out)).expect("sound");
    assert_eq!((read.ssrc, read.sender, read.extension), (9, Some(sender), &[][..]));
    assert_eq!(read.blocks().collect::<Vec<_>>(), [BLOCK]);
}

#[test]
fn a_receiver_report_by_hand_with_what_a_profile_adds() {
    let bytes = [&[0x81, 201, 0, 8, 0, 0, 0, 9][..], &BLOCK_BYTES, &[1, 2, 3, 4]].concat();
    let read = report::decode(&one(&bytes)).expect("sound");
    assert_eq!((read.ssrc, read.sender, read.extension), (9, None, &[1, 2, 3, 4][..]));
    assert_eq!(read.blocks().next(), Some(BLOCK));
    let mut out = vec![];
    report::encode(9, None, &[], &mut out).expect("an empty one");
    assert_eq!(out, [0x80, 201, 0, 1, 0, 0, 0, 9]);
    let far = ReportBlock { cumulative_lost: i32::MAX, ..BLOCK };
    out.clear();
    report::encode(9, None, &[far], &mut out).expect("it fits");
    assert_eq!(
        report::decode(&one(&out)).expect("sound").blocks().next().map(|block| block.cumulative_lost),
        Some(0x7f_ffff)
    );
    assert!(report::encode(9, None, &[BLOCK; 32], &mut out).is_err(), "five bits count blocks");
}

#[test]
fn a_report_shorter_than_it_counts_is_refused() {
    let bytes = [0x82, 201, 0, 7].into_iter().chain([0; 4]).chain(BLOCK_BYTES).collect::<Vec<u8>>();
    let error = report::decode(&one(&bytes)).expect_err("two blocks, one is there");
    let expected = WireError::Truncated { what: "report blocks", at: 8, found: 24, expected: 48 };
    assert_eq!(error, expected);
    assert_eq!(error.to_string(), "report blocks at byte 8 is cut short: found 24 bytes, expected 48");
    assert!(report::decode(&one(&[0x80, 200, 0, 1, 0, 0, 0, 9])).is_err(), "without what a sender says");
}

#[test]
fn names_by_hand() {
    let mut out = vec![];
    sdes::encode_cname(5, b"ab@c", &mut out).expect("short");
    assert_eq!(out, [0x81, 202, 0, 3, 0, 0, 0, 5, 1, 4, b'a', b'b', b'@', b'c', 0, 0]);
    // Two chunks: a name that ends with its word, so that a whole word of zeros follows; then another item and a name.
    let chunks = [
        &[0x82, 202, 0, 8, 0, 0, 0, 5, 1, 2, b'x', b'y', 0, 0, 0, 0][..],
        &[0, 0, 0, 6, 6, 3, b'o', b'b', b's', 1, 1, b'z', 0, 0, 0, 0][..],
        &[0, 0, 0, 0],
    ]
    .concat();
    let read = sdes::decode(&one(&chunks)).expect("sound");
    assert_eq!((read.cname(5), read.cname(6), read.cname(7)), (Some(&b"xy"[..]), Some(&b"z"[..]), None));
    assert_eq!(read.items().count(), 3);
    let error = sdes::decode(&one(&[0x81, 202, 0, 2, 0, 0, 0, 5, 1, 3, b'x', b'y'])).expect_err("cut short");
    assert_eq!(error, WireError::Truncated { what: "text of an item", at: 10, found: 2, expected: 3 });
    let endless = [0x81, 202, 0, 2, 0, 0, 0, 5, 1, 2, b'x', b'y'];
    assert!(sdes::decode(&one(&endless)).is_err(), "a chunk ends with a zero");
    assert!(sdes::encode_cname(5, &[b'a'; 256], &mut out).is_err());
}

#[test]
fn an_end_by_hand() {
    let mut out = vec![];
    bye::encode(&[5, 6], Some(b"bye"), &mut out).expect("short");
    assert_eq!(out, [0x82, 203, 0, 3, 0, 0, 0, 5, 0, 0, 0, 6, 3, b'b', b'y', b'e']);
    let read = bye::decode(&one(&out)).expect("sound");
    assert_eq!((read.sources().collect::<Vec<_>>(), read.reason), (vec![5, 6], Some(&b"bye"[..])));
    let none = [0x80, 203, 0, 0];
    assert_eq!(bye::decode(&one(&none)).map(|bye| bye.sources().len()), Ok(0));
    assert!(bye::decode(&one(&[0x82, 203, 0, 1, 0, 0, 0, 5])).is_err(), "two sources, one is there");
    assert!(bye::decode(&one(&[0x80, 203, 0, 1, 4, 1, 1, 1])).is_err(), "a reason of four, three are there");
}

#[test]
fn a_nack_by_hand_over_the_wrap() {
    let mut out = vec![];
    // 65530, the sixteenth behind it (10), and 11 which is the next entry's.
    let lost = [65_530, 65_531, 9, 10, 11, 40];
    assert_eq!(nack::encode((1, 2), lost, &mut out), 6);
    let head = [0x81, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2];
    let entries = [0xff, 0xfa, 0xc0, 0x01, 0, 11, 0, 0, 0, 40, 0, 0];
    assert_eq!(out, [&head[..], &entries].concat());
    assert_eq!(nack::decode(&one(&out)).expect("sound").lost().collect::<Vec<_>>(), lost);
    out.clear();
    assert_eq!((nack::encode((1, 2), [], &mut out), out.len()), (0, 0));
    assert_eq!(
        nack::encode((1, 2), (0..400).map(|n| n * 20), &mut out),
        nack::MOST_ENTRIES,
        "a bounded packet"
    );
    assert_eq!(out.len(), 12 + 4 * nack::MOST_ENTRIES);
    assert!(nack::decode(&one(&[0x81, 205, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2])).is_err(), "asks for nothing");
}

#[test]
fn requests_for_pictures_by_hand() {
    let mut out = vec![];
    let loss = picture::PictureLoss { sender_ssrc: 1, media_ssrc: 2 };
    picture::encode_pli(loss, &mut out);
    assert_eq!(out, [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]);
    assert_eq!(picture::decode_pli(&one(&out)), Ok(loss));
    out.clear();
    picture::encode_fir(1, (2, 7), &mut out);
    assert_eq!(out, [0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 7, 0, 0, 0]);
    assert_eq!(picture::decode_fir(&one(&out)).expect("sound").streams().collect::<Vec<_>>(), [(2, 7)]);
    let error = picture::decode_pli(&one(&out)).expect_err("another message");
    assert_eq!(
        error.to_string(),
        "feedback message type at byte 0: found 4, expected 206 with message type 1 (a picture loss)"
    );
    assert!(picture::decode_fir(&one(&[0x84, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0])).is_err(), "asks nobody");
}

#[test]
fn ecn_counts_by_hand() {
    let counts = ecn::EcnCounts { ect0: 258, ect1: 1, ce: 3, not_ect: 4, lost: 5, duplicates: 6 };
    let words = [0, 0, 1, 2, 0, 0, 0, 1, 0, 3, 0, 4, 0, 5, 0, 6];
    let feedback = ecn::EcnFeedback { sender_ssrc: 1, media_ssrc: 2, highest_sequence: 0x1_0007, counts };
    let mut out = vec![];
    ecn::encode_feedback(&feedback, &mut out);
    assert_eq!(out, [&[0x88, 205, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 7][..], &words].concat());
    assert_eq!(ecn::decode_feedback(&one(&out)), Ok(feedback));
    out.clear();
    ecn::encode_summary(1, [(2, counts)].into_iter(), &mut out).expect("it fits");
    assert_eq!(out, [&[0x80, 207, 0, 7, 0, 0, 0, 1, 13, 0, 0, 5, 0, 0, 0, 2][..], &words].concat());
    assert_eq!(ecn::decode_summary(&one(&out)).expect("sound").collect::<Vec<_>>(), [(2, counts)]);
    // A block of another type before it, and a summary whose length is no multiple of five words behind it.
    let others =
        [&[0x80, 207, 0, 11, 0, 0, 0, 1, 4, 0, 0, 1, 9, 9, 9, 9][..], &out[8..], &[13, 0, 0, 1, 0, 0, 0, 7]]
            .concat();
    assert_eq!(ecn::decode_summary(&one(&others)).expect("sound").collect::<Vec<_>>(), [(2, counts)]);
    out[11] = 6;
    assert!(ecn::decode_summary(&one(&out)).is_err(), "goes beyond the packet");
}

#[test]
fn a_retransmission_is_the_number_and_the_payload() {
    assert_eq!(rtx::split(&[&rtx::osn(0x1234)[..], &[5, 6]].concat()), Ok((0x1234, &[5, 6][..])));
    assert_eq!(rtx::split(&[0, 1]), Ok((1, &[][..])));
    assert!(rtx::split(&[0]).is_err());
}

#[test]
fn what_is_no_compound_packet_is_refused() {
    let (mut reported, mut named) = (vec![], vec![]);
    report::encode(9, None, &[BLOCK], &mut reported).expect("it fits");
    sdes::encode_cname(9, b"abc", &mut named).expect("short");
    let compound = [&reported[..], &named].concat();
    assert_eq!(rtcp::expect_compound(&compound), Ok(()));
    let expected = "type of the first RTCP packet at byte 1: found 202, expected 200 or 201 (a report)";
    assert_eq!(rtcp::expect_compound(&named).expect_err("no report").to_string(), expected);
    assert!(rtcp::expect_compound(&compound[..compound.len() - 4]).is_err(), "does not add up");
    assert!(
        rtcp::expect_compound(&[&compound[..], &[0x40, 202, 0, 0]].concat()).is_err(),
        "of another version"
    );
    let padded = [&[0xa0, 201, 0, 2, 0, 0, 0, 9, 0, 0, 0, 4][..], &named].concat();
    assert!(rtcp::expect_compound(&padded).is_err(), "padding in a packet that is not the last");
    assert_eq!(rtcp::expect_compound(&padded[..12]), Ok(()));
    assert!(rtcp::expect_compound(&[]).is_err());
}

fn block() -> impl Strategy<Value = ReportBlock> {
    (any::<[u32; 5]>(), any::<u8>(), -0x80_0000i32..=0x7f_ffff).prop_map(
        |(words, fraction_lost, cumulative_lost)| {
            let [ssrc, highest_sequence, jitter, last_sr, delay_since_last_sr] = words;
            ReportBlock {
                ssrc,
                fraction_lost,
                cumulative_lost,
                highest_sequence,
                jitter,
                last_sr,
                delay_since_last_sr,
            }
        },
    )
}

/// A compound packet of everything there is.
fn everything() -> Vec<u8> {
    let mut out = vec![];
    let written = [
        report::encode(9, Some(&SenderInfo::default()), &[BLOCK], &mut out),
        report::encode(9, None, &[BLOCK, BLOCK], &mut out),
        sdes::encode_cname(9, b"abcd@e", &mut out),
        ecn::encode_summary(9, [(2, ecn::EcnCounts::default())].into_iter(), &mut out),
        bye::encode(&[9], Some(b"over"), &mut out),
    ];
    assert!(written.iter().all(Result::is_ok));
    nack::encode((1, 2), [3, 4, 50], &mut out);
    picture::encode_pli(picture::PictureLoss::default(), &mut out);
    picture::encode_fir(1, (2, 3), &mut out);
    ecn::encode_feedback(&ecn::EcnFeedback::default(), &mut out);
    out
}

/// Reads a datagram in all ways, and answers how much it says.
fn read_all(bytes: &[u8]) -> usize {
    let mut said = usize::from(rtcp::expect_compound(bytes).is_ok());
    for packet in rtcp::packets(bytes).flatten() {
        said += report::decode(&packet).map_or(0, |report| report.blocks().len() + report.extension.len());
        said += sdes::decode(&packet).map_or(0, |names| names.items().map(|(.., text)| text.len() + 2).sum());
        said += bye::decode(&packet).map_or(0, |bye| bye.sources().len() + bye.reason.map_or(0, <[u8]>::len));
        said += nack::decode(&packet).map_or(0, |nack| nack.lost().count());
        said += usize::from(picture::decode_pli(&packet).is_ok());
        said += picture::decode_fir(&packet).map_or(0, |request| request.streams().count());
        said += usize::from(ecn::decode_feedback(&packet).is_ok());
        said += ecn::decode_summary(&packet).map_or(0, Iterator::count);
    }
    said
}

proptest! {
    #[test]
    fn reports_are_read_as_they_were_written_here_and_elsewhere(
        ssrc: u32, sender in prop::option::of(any::<(u64, u32, u32, u32)>()), blocks in prop::collection::vec(block(), 0..32),
    ) {
        let sender = sender.map(|(ntp, rtp_timestamp, packets, octets)| SenderInfo { ntp, rtp_timestamp, packets, octets });
        let mut out = vec![];
        report::encode(ssrc, sender.as_ref(), &blocks, &mut out).expect("it fits");
        let read = report::decode(&one(&out)).expect("sound");
        prop_assert_eq!((read.ssrc, read.sender), (ssrc, sender));
        prop_assert_eq!(read.blocks().collect::<Vec<_>>(), &blocks[..]);
        let theirs = match sender {
            Some(info) => {
                let theirs = SenderReport::unmarshal(&mut &out[..]).expect("sound");
                prop_assert_eq!((theirs.ntp_time, theirs.rtp_time), (info.ntp, info.rtp_timestamp));
                prop_assert_eq!((theirs.packet_count, theirs.octet_count), (info.packets, info.octets));
                prop_assert_eq!(&theirs.marshal().expect("sound")[..], &out[..]);
                theirs.reports
            }
            None => {
                let theirs = ReceiverReport::unmarshal(&mut &out[..]).expect("sound");
                prop_assert_eq!(&theirs.marshal().expect("sound")[..], &out[..]);
                theirs.reports
            }
        };
        for (ours, theirs) in blocks.iter().zip(&theirs) {
            prop_assert_eq!(ours.cumulative_lost as u32 & 0xff_ffff, theirs.total_lost);
            prop_assert_eq!((ours.ssrc, ours.fraction_lost, ours.jitter), (theirs.ssrc, theirs.fraction_lost, theirs.jitter));
            prop_assert_eq!((ours.highest_sequence, ours.last_sr, ours.delay_since_last_sr), (theirs.last_sequence_number, theirs.last_sender_report, theirs.delay));
        }
    }

    #[test]
    fn names_and_ends_are_read_as_they_were_written_here_and_elsewhere(
        ssrc: u32, text in prop::collection::vec(any::<u8>(), 1..256), sources in prop::collection::vec(any::<u32>(), 0..32),
    ) {
        let mut out = vec![];
        sdes::encode_cname(ssrc, &text, &mut out).expect("it fits");
        prop_assert_eq!(sdes::decode(&one(&out)).expect("sound").cname(ssrc), Some(&text[..]));
        let theirs = SourceDescription::unmarshal(&mut &out[..]).expect("sound");
        prop_assert_eq!((theirs.chunks[0].source, &theirs.chunks[0].items[0].text[..]), (ssrc, &text[..]));
        out.clear();
        bye::encode(&sources, Some(&text), &mut out).expect("it fits");
        let read = bye::decode(&one(&out)).expect("sound");
        prop_assert_eq!((read.sources().collect::<Vec<_>>(), read.reason), (sources.clone(), Some(&text[..])));
        let theirs = Goodbye::unmarshal(&mut &out[..]).expect("sound");
        prop_assert_eq!((theirs.sources, &theirs.reason[..]), (sources, &text[..]));
    }

    #[test]
    fn nacks_and_requests_are_read_as_they_were_written_here_and_elsewhere(
        ssrcs: (u32, u32), first: u16, steps in prop::collection::vec(1u16..40, 0..200), number: u8,
        pairs in prop::collection::vec(any::<(u16, u16)>(), 1..60),
    ) {
        let lost: Vec<u16> = steps.iter().scan(first, |at, step| { *at = at.wrapping_add(*step); Some(*at) }).collect();
        let mut out = vec![];
        prop_assert_eq!(nack::encode(ssrcs, lost.iter().copied(), &mut out), lost.len());
        if !lost.is_empty() {
            prop_assert_eq!(nack::decode(&one(&out)).expect("sound").lost().collect::<Vec<_>>(), lost);
        }
        let nacks = pairs.iter().map(|&(packet_id, lost_packets)| NackPair { packet_id, lost_packets }).collect();
        let theirs = TransportLayerNack { sender_ssrc: ssrcs.0, media_ssrc: ssrcs.1, nacks };
        let bytes = theirs.marshal().expect("sound");
        let read = nack::decode(&one(&bytes)).expect("sound");
        prop_assert_eq!((read.sender_ssrc, read.media_ssrc), ssrcs);
        let meant = theirs.nacks.iter().flat_map(|pair| pair.packet_list());
        prop_assert_eq!(read.lost().collect::<Vec<_>>(), meant.collect::<Vec<_>>());

        out.clear();
        picture::encode_pli(picture::PictureLoss { sender_ssrc: ssrcs.0, media_ssrc: ssrcs.1 }, &mut out);
        let theirs = PictureLossIndication::unmarshal(&mut &out[..]).expect("sound");
        prop_assert_eq!((theirs.sender_ssrc, theirs.media_ssrc), ssrcs);
        out.clear();
        picture::encode_fir(ssrcs.0, (ssrcs.1, number), &mut out);
        let theirs = FullIntraRequest::unmarshal(&mut &out[..]).expect("sound");
        prop_assert_eq!((theirs.sender_ssrc, theirs.fir[0].ssrc, theirs.fir[0].sequence_number), (ssrcs.0, ssrcs.1, number));
    }

    #[test]
    fn ecn_counts_are_read_as_they_were_written(
        ssrcs: (u32, u32), highest_sequence: u32, streams in prop::collection::vec(any::<(u32, u32, u32, [u16; 4])>(), 0..20),
    ) {
        let of = |&(ssrc, ect0, ect1, [ce, not_ect, lost, duplicates]): &(u32, u32, u32, [u16; 4])| {
            (ssrc, ecn::EcnCounts { ect0, ect1, ce, not_ect, lost, duplicates })
        };
        let streams: Vec<_> = streams.iter().map(of).collect();
        let mut out = vec![];
        ecn::encode_summary(ssrcs.0, streams.iter().copied(), &mut out).expect("it fits");
        prop_assert_eq!(ecn::decode_summary(&one(&out)).expect("sound").collect::<Vec<_>>(), &streams[..]);
        for (media_ssrc, counts) in streams {
            let feedback = ecn::EcnFeedback { sender_ssrc: ssrcs.1, media_ssrc, highest_sequence, counts };
            out.clear();
            ecn::encode_feedback(&feedback, &mut out);
            prop_assert_eq!(ecn::decode_feedback(&one(&out)), Ok(feedback));
        }
    }

    /// Nothing panics, and no damage makes a packet say more than its bytes can: a bit of a NACK says the most.
    #[test]
    fn damage_is_an_error_or_says_something_else(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in 0usize..300,
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = everything();
        prop_assert!(read_all(&bytes) > 20);
        flips.iter().for_each(|(at, value)| { let at = at.index(bytes.len()); bytes[at] = *value; });
        bytes.truncate(bytes.len().saturating_sub(cut).max(4));
        for bytes in [bytes, noise] {
            let said = read_all(&bytes);
            prop_assert!(said <= 1 + bytes.len() / 4 * 17, "{} of {} bytes", said, bytes.len());
        }
    }
}
