//! Transport-wide congestion control as a format of reports: what is written of a [`Feedback`], and what is read as one.

use super::{
    DELTA_STEP_NANOS, FIXED, REFERENCE_STEP_NANOS, TransportFeedback, chunk_of, decode_packet, encode_deltas,
    is_twcc,
};
use crate::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use crate::rtcp::{HEADER, RtcpPacket};
use crate::{ReportFormat, Reporter, TRANSPORT_WIDE, WireError};
use alloc::vec::Vec;
use paceline_cc::StreamId;
use paceline_units::{Bytes, Ecn, Time};
use smallvec::SmallVec;

/// Steps of deltas in one of the reference time.
const STEPS: u64 = REFERENCE_STEP_NANOS / DELTA_STEP_NANOS;
/// Reference times wrap after so many.
const REFERENCES: u64 = 1 << 24;
/// The most packets of one report: what the status count says, and far more than a path's MTU holds.
const MOST: usize = 4096;
/// A packet's bytes in the worst case: a chunk of two bits for each seven, and a delta of two bytes.
const PER_PACKET_X7: u64 = 2 + 7 * 2;

/// The format of transport-wide congestion control. Of a report it tells the blocks of [`TRANSPORT_WIDE`] numbers alone.
pub struct Twcc;

/// The statuses of a report, most of which need no allocation.
type Deltas = SmallVec<[Option<i16>; 64]>;

/// Entries of one RTCP packet for the first of these packets: reference time, deltas. It ends where a delta would not fit.
fn piece(written: Time, arrivals: &[ArrivalReport]) -> (u64, Deltas) {
    let step = |arrival: &ArrivalReport| match arrival {
        ArrivalReport::Received { at: Some(at), .. } => Some(at.as_nanos() / DELTA_STEP_NANOS),
        // There is no status for a packet that arrived at a time that is not known.
        ArrivalReport::Received { at: None, .. } | ArrivalReport::Missing => None,
    };
    let first = arrivals.iter().find_map(step).unwrap_or(written.as_nanos() / DELTA_STEP_NANOS);
    let reference = first / STEPS;
    let mut last = reference * STEPS;
    let mut deltas = Deltas::new();
    for arrival in arrivals.iter().take(MOST) {
        let Some(at) = step(arrival) else {
            deltas.push(None);
            continue;
        };
        let Some(delta) = i16::try_from(at.wrapping_sub(last) as i64).ok() else { break };
        deltas.push(Some(delta));
        last = at;
    }
    (reference, deltas)
}

/// The pieces in which the transport-wide blocks of a report are told, none of more than `most` packets: the first number of
/// each, its reference time and deltas.
fn pieces(feedback: &Feedback, most: usize, mut take: impl FnMut(u64, u64, &[Option<i16>])) {
    let mut rest = &feedback.arrivals[..];
    for block in &feedback.blocks {
        let (mut arrivals, others) = rest.split_at(rest.len().min(block.count as usize));
        rest = others;
        let mut begin = block.begin;
        while !arrivals.is_empty() && block.stream == TRANSPORT_WIDE {
            let (reference, deltas) = piece(feedback.written, &arrivals[..arrivals.len().min(most.max(1))]);
            take(begin, reference, &deltas);
            // The first delta fits: it counts from the reference time.
            begin += deltas.len() as u64;
            arrivals = &arrivals[deltas.len().max(1)..];
        }
    }
}

/// Bytes of a report with these statuses.
fn size_of(deltas: &[Option<i16>]) -> u64 {
    let (mut chunks, mut rest) = (0, deltas);
    while !rest.is_empty() {
        rest = &rest[chunk_of(rest).1..];
        chunks += 2;
    }
    let times: u64 =
        deltas.iter().flatten().map(|delta| if u8::try_from(*delta).is_ok() { 1 } else { 2 }).sum();
    ((HEADER + FIXED) as u64 + chunks + times).next_multiple_of(4)
}

impl ReportFormat for Twcc {
    type Raw = TransportFeedback;

    const TRANSPORT_WIDE: bool = true;
    const ECN: bool = false;
    const TICKS_PER_SECOND: u32 = 4000;

    fn recognises(packet: &RtcpPacket<'_>) -> bool {
        is_twcc(packet)
    }

    fn size(feedback: &Feedback) -> Bytes {
        let mut size = 0;
        pieces(feedback, MOST, |_, _, deltas| size += size_of(deltas));
        Bytes::new(size)
    }

    fn encode(
        feedback: &Feedback,
        reporter: &mut Reporter,
        ssrc_of: impl Fn(StreamId) -> u32,
        limit: Bytes,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let (start, before) = (out.len(), reporter.written);
        let room = limit.as_u64().saturating_sub((HEADER + FIXED) as u64 + 3);
        let most = (room * 7 / PER_PACKET_X7) as usize;
        let mut result = Ok(());
        pieces(feedback, most, |begin, reference, deltas| {
            let report = TransportFeedback {
                sender_ssrc: reporter.ssrc,
                ssrc: ssrc_of(StreamId(0)),
                base: begin as u16,
                reference: (reference % REFERENCES) as u32,
                feedback_count: reporter.written,
                deltas: Vec::new(),
            };
            reporter.written = reporter.written.wrapping_add(1);
            if let Err(error) = encode_deltas(&report, deltas, out) {
                result = Err(error);
            }
        });
        if result.is_err() {
            out.truncate(start);
            reporter.written = before;
        }
        result
    }

    fn decode(packet: &RtcpPacket<'_>, raw: &mut TransportFeedback) -> Result<(), WireError> {
        decode_packet(packet, raw)
    }

    /// The report counts as written when the last of its packets arrived: it says no time of its own.
    fn complete(
        raw: &TransportFeedback,
        expected: Time,
        mut stream_of: impl FnMut(u32) -> Option<StreamId>,
        mut extend: impl FnMut(StreamId, u16) -> Option<u64>,
        out: &mut Feedback,
    ) -> Result<u64, WireError> {
        out.clear();
        if stream_of(raw.ssrc).is_none() {
            return Ok(1);
        }
        let Some(begin) = extend(TRANSPORT_WIDE, raw.base) else { return Ok(0) };
        let near = expected.as_nanos() / REFERENCE_STEP_NANOS;
        // As many turns as bring it nearest to what is expected.
        let ahead = u64::from(raw.reference).wrapping_sub(near) % REFERENCES;
        let reference = match ahead < REFERENCES / 2 {
            true => Some(near.saturating_add(ahead)),
            false => near.checked_sub(REFERENCES - ahead),
        };
        let reference = reference.ok_or(WireError::BeforeZero { rts: raw.reference })?;
        let turns = (reference - u64::from(raw.reference)).saturating_mul(REFERENCE_STEP_NANOS);
        let mut written = None;
        for steps in raw.arrivals() {
            out.arrivals.push(match steps {
                None => ArrivalReport::Missing,
                Some(steps) => {
                    let since = steps.saturating_mul(DELTA_STEP_NANOS as i64);
                    let at = turns.checked_add_signed(since).map(Time::from_nanos);
                    written = written.max(at);
                    ArrivalReport::Received { at, ecn: Ecn::NotEct }
                }
            });
        }
        let count = out.arrivals.len() as u32;
        out.blocks.push(FeedbackBlock { stream: TRANSPORT_WIDE, begin, count });
        out.written = written.unwrap_or(Time::from_nanos(reference.saturating_mul(REFERENCE_STEP_NANOS)));
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp;
    use alloc::vec;
    use proptest::prelude::*;

    fn feedback(begin: u64, arrivals: Vec<ArrivalReport>) -> Feedback {
        let times = arrivals.iter().filter_map(|arrival| match arrival {
            ArrivalReport::Received { at, .. } => *at,
            ArrivalReport::Missing => None,
        });
        let written = times.max().unwrap_or(Time::ZERO);
        let count = arrivals.len() as u32;
        Feedback { written, blocks: vec![FeedbackBlock { stream: TRANSPORT_WIDE, begin, count }], arrivals }
    }

    /// Reads what was written: all packets, one after the other.
    fn read(bytes: &[u8], expected: Time) -> (u64, Vec<ArrivalReport>, u32) {
        let (mut begin, mut arrivals, mut packets) = (None, vec![], 0);
        for packet in rtcp::packets(bytes) {
            let mut raw = TransportFeedback::default();
            let mut out = Feedback::default();
            Twcc::decode(&packet.expect("sound"), &mut raw).expect("sound");
            let extend = |_, base| crate::unwrap_sequence(100_000, base);
            let foreign = Twcc::complete(&raw, expected, |_| Some(StreamId(0)), extend, &mut out);
            assert_eq!(foreign, Ok(0));
            begin.get_or_insert(out.blocks[0].begin);
            arrivals.extend(out.arrivals);
            packets += 1;
        }
        (begin.unwrap_or(0), arrivals, packets)
    }

    fn at(steps: u64) -> ArrivalReport {
        ArrivalReport::Received { at: Some(Time::from_nanos(steps * DELTA_STEP_NANOS)), ecn: Ecn::NotEct }
    }

    #[test]
    fn a_gap_in_time_that_no_delta_says_begins_another_report() {
        let arrivals = vec![at(1000), at(40_000), ArrivalReport::Missing, at(39_999), at(0)];
        let (mut bytes, mut reporter) = (vec![], Reporter { ssrc: 1, written: 255, ..Reporter::default() });
        Twcc::encode(
            &feedback(100_000, arrivals.clone()),
            &mut reporter,
            |_| 9,
            Bytes::new(1200),
            &mut bytes,
        )
        .expect("it fits");
        assert_eq!(read(&bytes, Time::from_secs_f64(10.0)), (100_000, arrivals, 3));
        assert_eq!(reporter.written, 2, "each counts");
    }

    #[test]
    fn a_foreign_report_is_counted_and_says_nothing() {
        let mut out = feedback(1, vec![at(1)]);
        let raw = TransportFeedback { deltas: vec![Some(1)], ..TransportFeedback::default() };
        assert_eq!(Twcc::complete(&raw, Time::ZERO, |_| None, |_, _| Some(1), &mut out), Ok(1));
        assert!(out.arrivals.is_empty());
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_at_any_time_and_in_any_number_of_pieces(
            start in prop_oneof![Just(0u64), 0u64..1 << 40],
            arrivals in prop::collection::vec(prop::option::of(prop_oneof![8 => 0u64..400, 1 => 0u64..100_000]), 1..300),
            limit in 60u64..1500, late in 0u64..10_000,
        ) {
            let arrivals: Vec<_> =
                arrivals.into_iter().map(|steps| steps.map_or(ArrivalReport::Missing, |steps| at(start + steps))).collect();
            let report = feedback(99_990, arrivals.clone());
            let (mut bytes, mut reporter) = (vec![], Reporter::default());
            Twcc::encode(&report, &mut reporter, |_| 9, Bytes::new(limit), &mut bytes).expect("it fits");
            for packet in rtcp::packets(&bytes) {
                prop_assert!(packet.expect("sound").bytes.len() as u64 <= limit);
            }
            let mut whole = vec![];
            Twcc::encode(&report, &mut Reporter::default(), |_| 9, Bytes::new(1 << 20), &mut whole).expect("it fits");
            prop_assert_eq!(Twcc::size(&report), Bytes::new(whole.len() as u64));
            let expected = Time::from_nanos((start + late) * DELTA_STEP_NANOS);
            let (begin, told, _) = read(&bytes, expected);
            prop_assert_eq!((begin, told), (99_990, arrivals));
        }

        #[test]
        fn no_report_panics(reference in 0u32..1 << 24, expected: u64, base: u16, deltas in prop::collection::vec(any::<Option<i16>>(), 0..50)) {
            let raw = TransportFeedback { reference, base, deltas, ..TransportFeedback::default() };
            let mut out = Feedback::default();
            let extend = |_, base| crate::unwrap_sequence(expected, base);
            let _ = Twcc::complete(&raw, Time::from_nanos(expected), |_| Some(StreamId(0)), extend, &mut out);
        }
    }
}
