//! Counts of a stream's packets by their ECN field: the feedback packet of RFC 6679 section 5.1, and the summary of section 5.2 in
//! an extended report (RFC 3611).

use super::{HEADER, RtcpPacket, TRANSPORT_FEEDBACK, expect, push, word, words};
use crate::WireError;
use alloc::vec::Vec;

/// Feedback message type of ECN feedback.
pub const FMT: u8 = 8;
/// Packet type of an extended report (RFC 3611 section 2).
pub const EXTENDED_REPORT: u8 = 207;
/// Block type of an ECN summary.
pub const SUMMARY: u8 = 13;
/// Bytes of the summary of one stream.
pub const SUMMARY_ENTRY: usize = 20;

/// Packets of a stream since its receiver first heard it, of which the bytes say the low bits alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnCounts {
    /// Packets with ECT(0).
    pub ect0: u32,
    /// Packets with ECT(1).
    pub ect1: u32,
    /// Packets with CE, duplicates in.
    pub ce: u16,
    /// Packets without ECN.
    pub not_ect: u16,
    /// Packets expected and not received.
    pub lost: u16,
    /// Packets that came again.
    pub duplicates: u16,
}

impl EcnCounts {
    /// The counts in the four words at the front of `words`.
    fn of(mut words: impl Iterator<Item = u32>) -> Option<EcnCounts> {
        let (ect0, ect1, marks, losses) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let (ce, not_ect) = ((marks >> 16) as u16, marks as u16);
        Some(EcnCounts { ect0, ect1, ce, not_ect, lost: (losses >> 16) as u16, duplicates: losses as u16 })
    }

    fn push(&self, out: &mut Vec<u8>) {
        out.extend([self.ect0, self.ect1].map(u32::to_be_bytes).as_flattened());
        out.extend([self.ce, self.not_ect, self.lost, self.duplicates].map(u16::to_be_bytes).as_flattened());
    }
}

/// ECN feedback on one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnFeedback {
    /// SSRC of the reporter.
    pub sender_ssrc: u32,
    /// SSRC of the stream.
    pub media_ssrc: u32,
    /// Highest sequence number, below the count of its turns.
    pub highest_sequence: u32,
    /// Counts of its packets.
    pub counts: EcnCounts,
}

/// Whether a packet is ECN feedback.
pub fn is_feedback(packet: &RtcpPacket<'_>) -> bool {
    packet.packet_type == TRANSPORT_FEEDBACK && packet.count == FMT
}

/// Reads ECN feedback.
///
/// # Errors
/// Another packet, or one that is cut short.
pub fn decode_feedback(packet: &RtcpPacket<'_>) -> Result<EcnFeedback, WireError> {
    expect(packet, (TRANSPORT_FEEDBACK, Some(FMT)), "205 with message type 8 (ECN feedback)")?;
    let at = |place, what| word(packet, place, what);
    let (sender_ssrc, media_ssrc) = (at(0, "SSRC of the reporter")?, at(4, "SSRC of the stream")?);
    let highest_sequence = at(8, "highest sequence number")?;
    at(24, "ECN counters")?;
    let counts = EcnCounts::of(words(packet.body.get(12..).unwrap_or_default())).unwrap_or_default();
    Ok(EcnFeedback { sender_ssrc, media_ssrc, highest_sequence, counts })
}

/// Appends ECN feedback.
pub fn encode_feedback(feedback: &EcnFeedback, out: &mut Vec<u8>) {
    let EcnFeedback { sender_ssrc, media_ssrc, highest_sequence, counts } = *feedback;
    let fits = push(out, (TRANSPORT_FEEDBACK, FMT), |out| {
        out.extend([sender_ssrc, media_ssrc, highest_sequence].map(u32::to_be_bytes).as_flattened());
        counts.push(out);
    });
    debug_assert!(fits.is_ok(), "32 bytes do");
}

/// The ECN summaries of an extended report: SSRC of each stream, and its counts. Blocks of other types are passed over (RFC
/// 3611 section 3), and so are summaries whose length is no multiple of five words (RFC 6679 section 5.2).
///
/// # Errors
/// Another packet, or blocks that go beyond it.
pub fn decode_summary<'a>(
    packet: &RtcpPacket<'a>,
) -> Result<impl Iterator<Item = (u32, EcnCounts)> + use<'a>, WireError> {
    expect(packet, (EXTENDED_REPORT, None), "207 (an extended report)")?;
    word(packet, 0, "SSRC of the reporter")?;
    let body = packet.body;
    let mut at = 4;
    while at < body.len() {
        let length = word(packet, at, "header of a block")? as u16;
        let (found, expected) = (body.len() - at - 4, usize::from(length) * 4);
        if found < expected {
            let what = "block of an extended report";
            return Err(WireError::Truncated { what, at: HEADER + at + 4, found, expected });
        }
        at += 4 + expected;
    }
    let summaries = blocks(body.get(4..).unwrap_or_default())
        .filter(|(kind, data)| *kind == SUMMARY && data.len() % SUMMARY_ENTRY == 0);
    Ok(summaries.flat_map(|(_, data)| data.chunks_exact(SUMMARY_ENTRY)).filter_map(|entry| {
        let mut words = words(entry);
        Some((words.next()?, EcnCounts::of(words)?))
    }))
}

/// The blocks of an extended report, by type.
fn blocks(mut rest: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    core::iter::from_fn(move || {
        let ([kind, _, l0, l1], after) = rest.split_first_chunk()?;
        let (data, behind) = after.split_at_checked(usize::from(u16::from_be_bytes([*l0, *l1])) * 4)?;
        rest = behind;
        Some((*kind, data))
    })
}

/// Appends an extended report with the ECN summary of each stream, or with an empty one, which says that the receiver can.
///
/// # Errors
/// More streams than a packet holds.
pub fn encode_summary(
    sender_ssrc: u32,
    streams: impl ExactSizeIterator<Item = (u32, EcnCounts)>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let words = streams.len() * SUMMARY_ENTRY / 4;
    push(out, (EXTENDED_REPORT, 0), |out| {
        out.extend(sender_ssrc.to_be_bytes());
        out.extend([SUMMARY, 0]);
        out.extend((words as u16).to_be_bytes());
        for (ssrc, counts) in streams {
            out.extend(ssrc.to_be_bytes());
            counts.push(out);
        }
    })
}
