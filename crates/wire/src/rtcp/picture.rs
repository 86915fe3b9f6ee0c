//! Pictures that a receiver asks for: Picture Loss Indication (RFC 4585 section 6.3.1) and Full Intra Request (RFC 5104 section
//! 4.3.1).

use super::{HEADER, PAYLOAD_FEEDBACK, RtcpPacket, expect, push, word, words};
use crate::WireError;
use alloc::vec::Vec;

/// Feedback message type of a Picture Loss Indication.
pub const PLI: u8 = 1;
/// Feedback message type of a Full Intra Request.
pub const FIR: u8 = 4;

/// A picture of a stream was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PictureLoss {
    /// SSRC of who says so.
    pub sender_ssrc: u32,
    /// SSRC of the stream.
    pub media_ssrc: u32,
}

/// Whether a packet is a Picture Loss Indication.
pub fn is_pli(packet: &RtcpPacket<'_>) -> bool {
    packet.packet_type == PAYLOAD_FEEDBACK && packet.count == PLI
}

/// Reads a Picture Loss Indication.
///
/// # Errors
/// Another packet, or one that is cut short.
pub fn decode_pli(packet: &RtcpPacket<'_>) -> Result<PictureLoss, WireError> {
    expect(packet, (PAYLOAD_FEEDBACK, Some(PLI)), "206 with message type 1 (a picture loss)")?;
    let (sender_ssrc, media_ssrc) =
        (word(packet, 0, "SSRC of who asks")?, word(packet, 4, "SSRC of the stream")?);
    Ok(PictureLoss { sender_ssrc, media_ssrc })
}

/// Appends a Picture Loss Indication.
pub fn encode_pli(loss: PictureLoss, out: &mut Vec<u8>) {
    let fits = push(out, (PAYLOAD_FEEDBACK, PLI), |out| {
        out.extend(loss.sender_ssrc.to_be_bytes());
        out.extend(loss.media_ssrc.to_be_bytes());
    });
    debug_assert!(fits.is_ok(), "12 bytes do");
}

/// Asks for pictures that need no other ones, of one or more streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntraRequest<'a> {
    /// SSRC of who asks.
    pub sender_ssrc: u32,
    entries: &'a [u8],
}

impl<'a> IntraRequest<'a> {
    /// SSRC of each stream that is asked, and the number of the request: a request that is repeated has the same.
    pub fn streams(&self) -> impl Iterator<Item = (u32, u8)> + use<'a> {
        self.entries.chunks_exact(8).filter_map(|entry| {
            let mut words = words(entry);
            Some((words.next()?, (words.next()? >> 24) as u8))
        })
    }
}

/// Whether a packet is a Full Intra Request.
pub fn is_fir(packet: &RtcpPacket<'_>) -> bool {
    packet.packet_type == PAYLOAD_FEEDBACK && packet.count == FIR
}

/// Reads a Full Intra Request. The SSRC of a stream in its header is not looked at (RFC 5104 section 4.3.1.2).
///
/// # Errors
/// Another packet, or one without a whole entry.
pub fn decode_fir<'a>(packet: &RtcpPacket<'a>) -> Result<IntraRequest<'a>, WireError> {
    expect(packet, (PAYLOAD_FEEDBACK, Some(FIR)), "206 with message type 4 (a full intra request)")?;
    let sender_ssrc = word(packet, 0, "SSRC of who asks")?;
    let entries = packet.body.get(8..).unwrap_or_default();
    if entries.is_empty() || entries.len() % 8 != 0 {
        let (at, found) = (HEADER + 8 + entries.len() / 8 * 8, entries.len() % 8);
        return Err(WireError::Truncated { what: "entry of a full intra request", at, found, expected: 8 });
    }
    Ok(IntraRequest { sender_ssrc, entries })
}

/// Appends a Full Intra Request of one stream, with the number of the request.
pub fn encode_fir(sender_ssrc: u32, (stream, number): (u32, u8), out: &mut Vec<u8>) {
    let fits = push(out, (PAYLOAD_FEEDBACK, FIR), |out| {
        let words = [sender_ssrc, 0, stream, u32::from(number) << 24];
        out.extend(words.map(u32::to_be_bytes).as_flattened());
    });
    debug_assert!(fits.is_ok(), "20 bytes do");
}
