//! Sender and receiver reports (RFC 3550 sections 6.4.1 and 6.4.2).

use super::{HEADER, RtcpPacket, push, word, words};
use crate::WireError;
use alloc::vec::Vec;

/// Packet type of a sender report.
pub const SENDER_REPORT: u8 = 200;
/// Packet type of a receiver report.
pub const RECEIVER_REPORT: u8 = 201;
/// The most blocks of a report: 5 bits count them.
pub const MOST_BLOCKS: usize = 31;
/// Bytes of a block.
pub const BLOCK: usize = 24;
/// Bytes of what a sender says of itself.
const SENDER_INFO: usize = 20;

/// A sender's figures of its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderInfo {
    /// When the report left: seconds since 1900 in the upper 32 bits, their fraction in the lower (RFC 3550 section 4).
    pub ntp: u64,
    /// The same instant on the stream's media clock.
    pub rtp_timestamp: u32,
    /// Packets sent, modulo 2^32.
    pub packets: u32,
    /// Bytes of payload sent, headers and padding out, modulo 2^32.
    pub octets: u32,
}

/// A receiver's figures of one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReportBlock {
    /// SSRC of the stream.
    pub ssrc: u32,
    /// Packets lost of those expected since the last report, in 1/256.
    pub fraction_lost: u8,
    /// Packets expected less packets received, 24 bits with a sign: duplicates make it negative.
    pub cumulative_lost: i32,
    /// Highest sequence number, below the count of its turns.
    pub highest_sequence: u32,
    /// Interarrival jitter in ticks of the media clock.
    pub jitter: u32,
    /// The middle 32 bits of the NTP time of the stream's last sender report; 0 if none came.
    pub last_sr: u32,
    /// Time since that came, in 1/65536 s; 0 if none did.
    pub delay_since_last_sr: u32,
}

/// The least and the most of 24 bits with a sign.
pub const CUMULATIVE_LOST: core::ops::RangeInclusive<i32> = -0x80_0000..=0x7f_ffff;

/// A report, its blocks unread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report<'a> {
    /// SSRC of the reporter.
    pub ssrc: u32,
    /// The sender's own figures; none in a receiver report.
    pub sender: Option<SenderInfo>,
    /// The blocks, [`BLOCK`] bytes each.
    blocks: &'a [u8],
    /// Bytes that a profile has added behind them.
    pub extension: &'a [u8],
}

/// Whether a packet is a report of either kind.
pub fn is_report(packet: &RtcpPacket<'_>) -> bool {
    matches!(packet.packet_type, SENDER_REPORT | RECEIVER_REPORT)
}

/// Reads a report.
///
/// # Errors
/// Another packet, or one that is shorter than its count of blocks.
pub fn decode<'a>(packet: &RtcpPacket<'a>) -> Result<Report<'a>, WireError> {
    if !is_report(packet) {
        let (what, found) = ("RTCP packet type", packet.packet_type.into());
        return Err(WireError::Unexpected { what, at: 1, found, expected: "200 or 201 (a report)" });
    }
    let ssrc = word(packet, 0, "SSRC of the reporter")?;
    let sender = match packet.packet_type {
        SENDER_REPORT => Some(sender_info(packet)?),
        _ => None,
    };
    let at = 4 + sender.map_or(0, |_| SENDER_INFO);
    let rest = packet.body.get(at..).unwrap_or_default();
    let expected = usize::from(packet.count) * BLOCK;
    let cut = WireError::Truncated { what: "report blocks", at: HEADER + at, found: rest.len(), expected };
    let (blocks, extension) = rest.split_at_checked(expected).ok_or(cut)?;
    Ok(Report { ssrc, sender, blocks, extension })
}

fn sender_info(packet: &RtcpPacket<'_>) -> Result<SenderInfo, WireError> {
    let at = |place: usize| word(packet, 4 + place, "sender information");
    Ok(SenderInfo {
        ntp: u64::from(at(0)?) << 32 | u64::from(at(4)?),
        rtp_timestamp: at(8)?,
        packets: at(12)?,
        octets: at(16)?,
    })
}

impl<'a> Report<'a> {
    /// Report blocks, one for each stream that was received.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = ReportBlock> + use<'a> {
        self.blocks.chunks_exact(BLOCK).map(|block| {
            let mut words = words(block);
            let mut next = || words.next().unwrap_or(0);
            let (ssrc, lost) = (next(), next());
            ReportBlock {
                ssrc,
                fraction_lost: (lost >> 24) as u8,
                cumulative_lost: (lost << 8) as i32 >> 8,
                highest_sequence: next(),
                jitter: next(),
                last_sr: next(),
                delay_since_last_sr: next(),
            }
        })
    }
}

/// Appends a sender report, or a receiver report if there is nothing to say of an own stream. A cumulative loss beyond 24 bits
/// is the least or the most that they say (RFC 3550 appendix A.3).
///
/// # Errors
/// More than [`MOST_BLOCKS`] blocks: further ones go into further receiver reports.
pub fn encode(
    ssrc: u32,
    sender: Option<&SenderInfo>,
    blocks: &[ReportBlock],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    if blocks.len() > MOST_BLOCKS {
        let (found, max) = (blocks.len() as u64, MOST_BLOCKS as u64);
        return Err(WireError::Range { what: "blocks of a report", found, min: 0, max });
    }
    let packet_type = if sender.is_some() { SENDER_REPORT } else { RECEIVER_REPORT };
    push(out, (packet_type, blocks.len() as u8), |out| {
        out.extend(ssrc.to_be_bytes());
        if let Some(sender) = sender {
            out.extend(sender.ntp.to_be_bytes());
            out.extend(
                [sender.rtp_timestamp, sender.packets, sender.octets].map(u32::to_be_bytes).as_flattened(),
            );
        }
        for block in blocks {
            let lost = block.cumulative_lost.clamp(*CUMULATIVE_LOST.start(), *CUMULATIVE_LOST.end());
            let lost = u32::from(block.fraction_lost) << 24 | (lost as u32 & 0xff_ffff);
            let ReportBlock { ssrc, highest_sequence, jitter, last_sr, delay_since_last_sr, .. } = *block;
            let words = [ssrc, lost, highest_sequence, jitter, last_sr, delay_since_last_sr];
            out.extend(words.map(u32::to_be_bytes).as_flattened());
        }
    })
}
