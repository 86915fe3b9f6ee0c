//! From bytes to a raw report.

use super::{
    BLOCK_HEADER, CountForm, FMT, MAX_REPORTS, PACKET_TYPE, RECEIVED, RawBlock, RawEntry, RawFeedback,
};
use super::{SENDER, TIMESTAMP, entries_size, is_ccfb};
use crate::rtcp::{self, RtcpPacket};
use crate::{WireError, error::field};

/// Reads one RTCP packet, all of `bytes` (RFC 8888 section 3.1). For a datagram, which may be compound, walk
/// [`rtcp::packets`] and hand those that [`is_ccfb`] to [`decode_packet`].
///
/// # Errors
/// No feedback packet of this type, a length field that disagrees with `bytes`, or blocks that do not fill the packet.
pub fn decode(bytes: &[u8]) -> Result<RawFeedback, WireError> {
    let packet = rtcp::first(bytes)?;
    if packet.bytes.len() != bytes.len() {
        let (found, expected) = (packet.bytes.len() as u64, bytes.len() as u64);
        let what = "bytes that the RTCP length at byte 2 says";
        return Err(WireError::Range { what, found, min: expected, max: expected });
    }
    let mut raw = RawFeedback::default();
    decode_packet(&packet, &mut raw)?;
    Ok(raw)
}

/// Reads an RTCP packet into `raw`, which keeps its memory (RFC 8888 section 3.1).
///
/// # Errors
/// As [`decode`]. `raw` is then without blocks.
pub fn decode_packet(packet: &RtcpPacket<'_>, raw: &mut RawFeedback) -> Result<(), WireError> {
    raw.clear();
    if !is_ccfb(packet) {
        return Err(not_feedback(packet));
    }
    let at = rtcp::HEADER;
    let sender: [u8; SENDER] = field(packet.body, 0, "SSRC of the sender").map_err(|_| {
        WireError::Truncated { what: "SSRC of the sender", at, found: packet.body.len(), expected: SENDER }
    })?;
    let after = packet.body.get(SENDER..).unwrap_or_default();
    let Some((blocks, timestamp)) = after.split_last_chunk::<TIMESTAMP>() else {
        let at = at + SENDER;
        return Err(WireError::Truncated {
            what: "report timestamp",
            at,
            found: after.len(),
            expected: TIMESTAMP,
        });
    };
    let form = form_of(blocks)?;
    raw.sender_ssrc = u32::from_be_bytes(sender);
    raw.rts = u32::from_be_bytes(*timestamp);
    raw.form = form;
    for block in (Blocks { rest: blocks, form }).flatten() {
        let first = raw.entries.len();
        raw.entries.extend(block.entries.chunks_exact(2).map(|bits| RawEntry::from_bits([bits[0], bits[1]])));
        let entries = first..raw.entries.len();
        raw.blocks.push(RawBlock { ssrc: block.ssrc, begin: block.begin, entries });
    }
    Ok(())
}

fn not_feedback(packet: &RtcpPacket<'_>) -> WireError {
    if packet.packet_type != PACKET_TYPE {
        let found = packet.packet_type.into();
        return WireError::Unexpected { what: "RTCP packet type", at: 1, found, expected: "205" };
    }
    debug_assert_ne!(packet.count, FMT);
    WireError::Unexpected { what: "feedback message type", at: 0, found: packet.count.into(), expected: "11" }
}

/// How num_reports is to be read so that the blocks fill `blocks` exactly: as a count if they then do.
fn form_of(blocks: &[u8]) -> Result<CountForm, WireError> {
    let misfit = |form| Blocks { rest: blocks, form }.find_map(Result::err);
    let Some(first) = misfit(CountForm::Count) else { return Ok(CountForm::Count) };
    if misfit(CountForm::LessOne).is_none() {
        return Ok(CountForm::LessOne);
    }
    let at = rtcp::HEADER + SENDER + blocks.len() - first.room;
    Err(WireError::ReportBlocks { at, found: first.num_reports, room: first.room })
}

/// The blocks of a report under one reading of num_reports; ends after the first that does not fit.
struct Blocks<'a> {
    rest: &'a [u8],
    form: CountForm,
}

struct Block<'a> {
    ssrc: u32,
    begin: u16,
    /// 2 bytes each.
    entries: &'a [u8],
}

/// A block that does not fit, the bytes there are from its start.
struct Misfit {
    num_reports: Option<u16>,
    room: usize,
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Result<Block<'a>, Misfit>;

    fn next(&mut self) -> Option<Self::Item> {
        let room = self.rest.len();
        if room == 0 {
            return None;
        }
        let block = self.block();
        if block.is_none() {
            let num_reports = self.rest.get(6..BLOCK_HEADER).map(|n| u16::from_be_bytes([n[0], n[1]]));
            self.rest = &[];
            return Some(Err(Misfit { num_reports, room }));
        }
        block.map(Ok)
    }
}

impl<'a> Blocks<'a> {
    /// The next block, if it fits; `rest` is then what follows it.
    fn block(&mut self) -> Option<Block<'a>> {
        let (head, after) = self.rest.split_first_chunk::<BLOCK_HEADER>()?;
        let [s0, s1, s2, s3, b0, b1, n0, n1] = *head;
        let count = usize::from(u16::from_be_bytes([n0, n1])) + usize::from(self.form == CountForm::LessOne);
        if count > MAX_REPORTS as usize {
            return None;
        }
        let (words, rest) = after.split_at_checked(entries_size(count))?;
        let (entries, padding) = words.split_at_checked(count * 2)?;
        // An entry that says "received" is no padding: see CountForm.
        if padding.first().is_some_and(|byte| byte & (RECEIVED >> 8) as u8 != 0) {
            return None;
        }
        self.rest = rest;
        Some(Block {
            ssrc: u32::from_be_bytes([s0, s1, s2, s3]),
            begin: u16::from_be_bytes([b0, b1]),
            entries,
        })
    }
}
