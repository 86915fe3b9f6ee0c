//! From a report to bytes.

use super::{
    ArrivalOffset, ArrivalReport, CountForm, Feedback, FeedbackBlock, RawEntry, RawFeedback, SENDER,
    entries_size,
};
use super::{BLOCK_HEADER, FMT, MAX_OFFSET, MAX_REPORTS, PACKET_TYPE, TIMESTAMP};
use crate::clock::{rts_of, ticks_of};
use crate::{WireError, rtcp};
use alloc::vec::Vec;
use paceline_cc::StreamId;
use paceline_units::Bytes;

/// The smallest limit that lets a packet report on something: one block with two entries.
const MIN_SIZE: usize = rtcp::HEADER + SENDER + BLOCK_HEADER + 4 + TIMESTAMP;

/// Appends `feedback` to `out` as one RTCP packet (RFC 8888 section 3.1).
///
/// Times are rounded to the nearest 1/1024 s, which changes nothing for those on [`crate::clock`]'s grid. An arrival
/// more than 8189 steps before `written` becomes 0x1FFE; one that is unknown, or later than `written`, 0x1FFF.
///
/// # Errors
/// More than [`MAX_REPORTS`] packets in a block, more bytes than an RTCP packet holds, or blocks that do not add up to
/// the arrivals. `out` is then as it was. [`encode_split`] takes reports of any size.
pub fn encode(
    feedback: &Feedback,
    sender_ssrc: u32,
    ssrc_of: impl Fn(StreamId) -> u32,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    expect_agreement(feedback)?;
    if let Some(block) = feedback.blocks.iter().find(|block| block.count > MAX_REPORTS) {
        let (found, max) = (block.count.into(), MAX_REPORTS.into());
        return Err(WireError::Range { what: "packets in a report block", found, min: 0, max });
    }
    expect_size(feedback.size(), MIN_SIZE - BLOCK_HEADER - 4)?;
    let written = ticks_of(feedback.written);
    let mut packet = PacketWriter::open(out, sender_ssrc, rts_of(feedback.written) as u32);
    let mut rest = feedback.arrivals.as_slice();
    for block in &feedback.blocks {
        let (arrivals, after) = rest.split_at_checked(block.count as usize).unwrap_or((rest, &[]));
        packet.block(
            ssrc_of(block.stream),
            block.begin as u16,
            CountForm::Count,
            entries_of(arrivals, written),
        );
        rest = after;
    }
    packet.close();
    Ok(())
}

/// Appends a report that was read to `out` as one RTCP packet, in the form in which it was read. Sound packets come back bit by
/// bit, but for what the format leaves to their writer or lets readers ignore: padding of RTCP (P bit), and the bits of a packet
/// that was not received.
///
/// # Errors
/// More than [`MAX_REPORTS`] packets in a block, none in one of a count less one, or more bytes than an RTCP packet holds. `out`
/// is then as it was.
pub fn encode_raw(raw: &RawFeedback, out: &mut Vec<u8>) -> Result<(), WireError> {
    let min = u64::from(raw.form == CountForm::LessOne);
    for block in &raw.blocks {
        let (found, max) = (raw.entries_of(block).len() as u64, MAX_REPORTS.into());
        if !(min..=max).contains(&found) {
            return Err(WireError::Range { what: "packets in a report block", found, min, max });
        }
    }
    let blocks = raw.blocks.iter().map(|block| BLOCK_HEADER + entries_size(raw.entries_of(block).len()));
    let fixed = rtcp::HEADER + SENDER + TIMESTAMP;
    expect_size(Bytes::new((fixed + blocks.sum::<usize>()) as u64), fixed)?;
    let mut packet = PacketWriter::open(out, raw.sender_ssrc, raw.rts);
    for block in &raw.blocks {
        packet.block(block.ssrc, block.begin, raw.form, raw.entries_of(block).iter().copied());
    }
    packet.close();
    Ok(())
}

/// Appends `feedback` to `out` as one RTCP packet or more, back to back, none larger than `limit` (RFC 8888 section
/// 3.1: larger than the path MTU SHOULD be split). [`rtcp::packets`] walks them: each can be sent by itself.
///
/// A block that is cut goes on in the next packet with the next sequence number; all carry the same timestamp.
///
/// # Errors
/// A `limit` below 24 bytes, or blocks that do not add up to the arrivals. `out` is then as it was.
pub fn encode_split(
    feedback: &Feedback,
    sender_ssrc: u32,
    ssrc_of: impl Fn(StreamId) -> u32,
    limit: Bytes,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    split(feedback, (sender_ssrc, CountForm::Count), ssrc_of, limit, out)
}

/// The same, from a writer with an SSRC that counts packets in its form. A count less one cannot say "none": blocks of no packets
/// are left out then.
pub(super) fn split(
    feedback: &Feedback,
    (sender_ssrc, form): (u32, CountForm),
    ssrc_of: impl Fn(StreamId) -> u32,
    limit: Bytes,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    expect_agreement(feedback)?;
    let limit = Bytes::new(limit.as_u64().min(rtcp::MAX_SIZE as u64));
    expect_size(limit, MIN_SIZE)?;
    let limit = limit.as_u64() as usize;
    let written = ticks_of(feedback.written);
    let mut packet = PacketWriter::open(out, sender_ssrc, rts_of(feedback.written) as u32);
    let mut rest = feedback.arrivals.as_slice();
    let told = |block: &&FeedbackBlock| block.count > 0 || form == CountForm::Count;
    for block in feedback.blocks.iter().filter(told) {
        let (mut arrivals, after) = rest.split_at_checked(block.count as usize).unwrap_or((rest, &[]));
        rest = after;
        let (ssrc, mut begin) = (ssrc_of(block.stream), block.begin as u16);
        if packet.room(limit) < BLOCK_HEADER + entries_size(arrivals.len().min(1)) {
            packet = packet.next();
        }
        loop {
            let fit = (packet.room(limit) - BLOCK_HEADER) / 4 * 2;
            let count = arrivals.len().min(fit).min(MAX_REPORTS as usize);
            let (now, later) = arrivals.split_at(count);
            packet.block(ssrc, begin, form, entries_of(now, written));
            if later.is_empty() {
                break;
            }
            (arrivals, begin) = (later, begin.wrapping_add(count as u16));
            packet = packet.next();
        }
    }
    packet.close();
    Ok(())
}

fn expect_agreement(feedback: &Feedback) -> Result<(), WireError> {
    let announced = feedback.blocks.iter().map(|block| u64::from(block.count)).sum();
    let found = feedback.arrivals.len() as u64;
    if announced == found {
        return Ok(());
    }
    let what = "arrivals of a feedback report, against those of its blocks";
    Err(WireError::Range { what, found, min: announced, max: announced })
}

fn expect_size(size: Bytes, min: usize) -> Result<(), WireError> {
    let (found, min, max) = (size.as_u64(), min as u64, rtcp::MAX_SIZE as u64);
    if (min..=max).contains(&found) {
        return Ok(());
    }
    Err(WireError::Range { what: "bytes of a feedback packet", found, min, max })
}

/// An RTCP packet under way: its header is written, its length is not known yet.
struct PacketWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    sender_ssrc: u32,
    rts: u32,
}

impl<'a> PacketWriter<'a> {
    fn open(out: &'a mut Vec<u8>, sender_ssrc: u32, rts: u32) -> PacketWriter<'a> {
        let start = out.len();
        out.extend_from_slice(&[2 << 6 | FMT, PACKET_TYPE, 0, 0]);
        out.extend_from_slice(&sender_ssrc.to_be_bytes());
        PacketWriter { out, start, sender_ssrc, rts }
    }

    /// Bytes left for report blocks.
    fn room(&self, limit: usize) -> usize {
        limit - TIMESTAMP - (self.out.len() - self.start)
    }

    fn block(
        &mut self,
        ssrc: u32,
        begin: u16,
        form: CountForm,
        entries: impl ExactSizeIterator<Item = RawEntry>,
    ) {
        let count = entries.len();
        let told = count - usize::from(form == CountForm::LessOne);
        self.out.extend_from_slice(&ssrc.to_be_bytes());
        self.out.extend_from_slice(&begin.to_be_bytes());
        self.out.extend_from_slice(&(told as u16).to_be_bytes());
        for entry in entries {
            self.out.extend_from_slice(&entry.to_bits().to_be_bytes());
        }
        if count % 2 == 1 {
            self.out.extend_from_slice(&[0, 0]);
        }
    }

    fn close(self) -> &'a mut Vec<u8> {
        self.out.extend_from_slice(&self.rts.to_be_bytes());
        let words = (self.out.len() - self.start) / 4;
        self.out[self.start + 2..self.start + 4].copy_from_slice(&((words - 1) as u16).to_be_bytes());
        self.out
    }

    /// Closes this packet and opens another.
    fn next(self) -> PacketWriter<'a> {
        let (sender_ssrc, rts) = (self.sender_ssrc, self.rts);
        PacketWriter::open(self.close(), sender_ssrc, rts)
    }
}

/// The entries of packets in a report written at tick `written` (RFC 8888 section 3.1).
fn entries_of(arrivals: &[ArrivalReport], written: u64) -> impl ExactSizeIterator<Item = RawEntry> + '_ {
    arrivals.iter().map(move |arrival| {
        let ArrivalReport::Received { at, ecn } = *arrival else { return RawEntry::Missing };
        let ato = match at.map(|at| written.checked_sub(ticks_of(at))) {
            Some(Some(ticks)) if ticks <= MAX_OFFSET.into() => ArrivalOffset::Known(ticks as u16),
            Some(Some(_)) => ArrivalOffset::OverRange,
            Some(None) | None => ArrivalOffset::Unknown,
        };
        RawEntry::Received { ato, ecn }
    })
}
