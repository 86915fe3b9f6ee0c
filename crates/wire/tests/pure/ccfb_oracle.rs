//! RFC 8888 reports against rtc-rtcp, an implementation that is not ours, in both directions.
//!
//! Where the two differ, and why that is not a fault of ours:
//! - rtc-rtcp reads num_reports as a count only (erratum 8166). A packet in the old form, count less one, is an error
//!   there, or loses its newest entry; ours reads it in full where the packet proves it.
//! - rtc-rtcp does not take the padding of RTCP (P bit) off: it reads padding as blocks and the timestamp from there.
//! - rtc-rtcp decodes a block of more than 16384 entries, which it would not encode.

use paceline_cc::StreamId;
use paceline_units::Ecn;
use paceline_wire::ccfb::{self, ArrivalOffset, CountForm, RawEntry, RawFeedback};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::clock::time_of_ticks;
use proptest::prelude::*;
use rtc_rtcp::transport_feedbacks::cc_feedback_report as theirs;
use rtc_shared::marshal::{Marshal, Unmarshal};

fn their_block() -> impl Strategy<Value = theirs::CcFeedbackMetricBlock> {
    (any::<bool>(), 0u8..4, 0u16..=0x1fff).prop_map(|(received, ecn, offset)| {
        if !received {
            return theirs::CcFeedbackMetricBlock::default();
        }
        let ecn =
            [theirs::Ecn::NotEct, theirs::Ecn::Ect1, theirs::Ecn::Ect0, theirs::Ecn::Ce][usize::from(ecn)];
        theirs::CcFeedbackMetricBlock { received, ecn, arrival_time_offset: offset }
    })
}

fn their_report() -> impl Strategy<Value = theirs::CcFeedbackReport> {
    let block = (any::<u32>(), any::<u16>(), prop::collection::vec(their_block(), 0..100)).prop_map(
        |(media_ssrc, begin_sequence, metric_blocks)| theirs::CcFeedbackReportBlock {
            media_ssrc,
            begin_sequence,
            metric_blocks,
        },
    );
    (any::<u32>(), prop::collection::vec(block, 0..6), any::<u32>()).prop_map(
        |(sender_ssrc, report_blocks, report_timestamp)| theirs::CcFeedbackReport {
            sender_ssrc,
            report_blocks,
            report_timestamp,
        },
    )
}

/// Our reading of a report in their words.
fn in_their_words(raw: &RawFeedback) -> theirs::CcFeedbackReport {
    let entry = |entry: &RawEntry| match *entry {
        RawEntry::Missing => theirs::CcFeedbackMetricBlock::default(),
        RawEntry::Received { ato, ecn } => theirs::CcFeedbackMetricBlock {
            received: true,
            ecn: match ecn {
                Ecn::NotEct => theirs::Ecn::NotEct,
                Ecn::Ect1 => theirs::Ecn::Ect1,
                Ecn::Ect0 => theirs::Ecn::Ect0,
                Ecn::Ce => theirs::Ecn::Ce,
            },
            arrival_time_offset: match ato {
                ArrivalOffset::Known(ticks) => ticks,
                ArrivalOffset::OverRange => 0x1ffe,
                ArrivalOffset::Unknown => 0x1fff,
            },
        },
    };
    let block = |block: &ccfb::RawBlock| theirs::CcFeedbackReportBlock {
        media_ssrc: block.ssrc,
        begin_sequence: block.begin,
        metric_blocks: raw.entries_of(block).iter().map(entry).collect(),
    };
    theirs::CcFeedbackReport {
        sender_ssrc: raw.sender_ssrc,
        report_blocks: raw.blocks.iter().map(block).collect(),
        report_timestamp: raw.rts,
    }
}

/// A report of ours that says what theirs does, and whose times are on the grid.
fn in_our_words(report: &theirs::CcFeedbackReport, written: u64) -> Feedback {
    let arrival = |entry: &theirs::CcFeedbackMetricBlock| {
        if !entry.received {
            return ArrivalReport::Missing;
        }
        let at = match entry.arrival_time_offset {
            0x1fff => None,
            0x1ffe => Some(time_of_ticks(written - 9000)),
            ticks => Some(time_of_ticks(written - u64::from(ticks))),
        };
        ArrivalReport::Received { at, ecn: Ecn::from_bits(entry.ecn as u8) }
    };
    let numbered = report.report_blocks.iter().enumerate();
    Feedback {
        written: time_of_ticks(written),
        blocks: numbered
            .map(|(i, block)| FeedbackBlock {
                stream: StreamId(i as u8),
                begin: block.begin_sequence.into(),
                count: block.metric_blocks.len() as u32,
            })
            .collect(),
        arrivals: report.report_blocks.iter().flat_map(|b| &b.metric_blocks).map(arrival).collect(),
    }
}

proptest! {
    /// They write, we read.
    #[test]
    fn we_read_what_they_write(report in their_report()) {
        let raw = ccfb::decode(&report.marshal().unwrap()).unwrap();
        prop_assert_eq!(raw.form, CountForm::Count);
        prop_assert_eq!(in_their_words(&raw), report);
    }

    /// We write, byte for byte what they write, and they read it.
    #[test]
    fn they_read_what_we_write(mut report in their_report(), written in 9000u64..1 << 40) {
        report.report_timestamp = (written * 64) as u32;
        let ours = in_our_words(&report, written);
        let ssrc_of = |stream: StreamId| report.report_blocks[usize::from(stream.0)].media_ssrc;
        let mut bytes = vec![];
        ccfb::encode(&ours, report.sender_ssrc, ssrc_of, &mut bytes).unwrap();
        prop_assert_eq!(&bytes[..], &report.marshal().unwrap()[..]);
        prop_assert_eq!(theirs::CcFeedbackReport::unmarshal(&mut &bytes[..]).unwrap(), report);
    }

    /// Of bytes that look like a report: what both accept, both read alike, but for the differences above.
    #[test]
    fn we_agree_on_bytes_that_both_accept(mut bytes in prop::collection::vec(any::<u8>(), 12..80), small: bool) {
        bytes.truncate(bytes.len() / 4 * 4);
        let length = (bytes.len() / 4 - 1) as u8;
        bytes[..4].copy_from_slice(&[0x8b, 205, 0, length]);
        if small && bytes.len() >= 20 {
            let reports = (bytes.len() as u8 - 20) / 2;
            bytes[14..16].copy_from_slice(&[0, reports]);
        }
        let they = theirs::CcFeedbackReport::unmarshal(&mut &bytes[..]);
        match ccfb::decode(&bytes) {
            Ok(raw) if raw.form == CountForm::Count => prop_assert_eq!(in_their_words(&raw), they.unwrap()),
            Ok(_) => {}
            // We refuse what they read only for padding that is not zero.
            Err(_) => prop_assert!(they.map_or(true, |r| r.report_blocks.iter().any(|b| b.metric_blocks.len() % 2 == 1))),
        }
    }
}

#[test]
fn where_they_differ() {
    let old = |field: u8, entries: u8| {
        let mut bytes = vec![0x8b, 205, 0, 4 + entries / 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, field];
        bytes.extend([0x80, 1].repeat(entries.into()));
        bytes.extend([0, 1, 0, 0]);
        bytes
    };
    // 64 entries with 63 in num_reports: they lose the newest, we do not.
    let they = theirs::CcFeedbackReport::unmarshal(&mut &old(63, 64)[..]).unwrap();
    assert_eq!(they.report_blocks[0].metric_blocks.len(), 63);
    assert_eq!(ccfb::decode(&old(63, 64)).unwrap().entries.len(), 64);
    // 3 entries and padding with 2: they refuse.
    let mut three = old(2, 4);
    three[22..24].fill(0);
    assert!(theirs::CcFeedbackReport::unmarshal(&mut &three[..]).is_err());
    assert_eq!(ccfb::decode(&three).unwrap().entries.len(), 3);
    // RTCP padding: the timestamp is before it.
    let padded = [0xab, 205, 0, 3, 0, 0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 4];
    assert!(theirs::CcFeedbackReport::unmarshal(&mut &padded[..]).is_err());
    assert_eq!(ccfb::decode(&padded).unwrap().rts, 0x0007_0000);
}
