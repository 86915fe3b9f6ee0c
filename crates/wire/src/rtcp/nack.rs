//! Packets that a receiver asks for again: generic NACK (RFC 4585 section 6.2.1).

use super::{RtcpPacket, TRANSPORT_FEEDBACK, expect, push, word, words};
use crate::WireError;
use alloc::vec::Vec;

/// Feedback message type of a generic NACK.
pub const FMT: u8 = 1;
/// The most entries that [`encode`] writes: a packet of 1 kB, which fits every path.
pub const MOST_ENTRIES: usize = 253;

/// Packets of one stream that are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nack<'a> {
    /// SSRC of who asks.
    pub sender_ssrc: u32,
    /// SSRC of the stream.
    pub media_ssrc: u32,
    entries: &'a [u8],
}

impl<'a> Nack<'a> {
    /// The sequence numbers, in the order of the packet: a number, then those of the 16 behind it whose bits are set.
    pub fn lost(&self) -> impl Iterator<Item = u16> + use<'a> {
        words(self.entries).flat_map(|entry| {
            let (first, bits) = ((entry >> 16) as u16, entry as u16);
            let behind = (0..16u16).filter(move |bit| bits >> bit & 1 != 0);
            core::iter::once(first).chain(behind.map(move |bit| first.wrapping_add(bit + 1)))
        })
    }
}

/// Whether a packet is a generic NACK.
pub fn is_nack(packet: &RtcpPacket<'_>) -> bool {
    packet.packet_type == TRANSPORT_FEEDBACK && packet.count == FMT
}

/// Reads a generic NACK.
///
/// # Errors
/// Another packet, one that asks for nothing, or whose last entry is cut short.
pub fn decode<'a>(packet: &RtcpPacket<'a>) -> Result<Nack<'a>, WireError> {
    expect(packet, (TRANSPORT_FEEDBACK, Some(FMT)), "205 with message type 1 (a generic NACK)")?;
    let (sender_ssrc, media_ssrc) =
        (word(packet, 0, "SSRC of who asks")?, word(packet, 4, "SSRC of the stream")?);
    word(packet, 8, "entry of a NACK")?;
    Ok(Nack { sender_ssrc, media_ssrc, entries: packet.body.get(8..).unwrap_or_default() })
}

/// Appends a NACK of these sequence numbers, each above the one before or far from it, and answers how many it holds: what
/// does not fit into [`MOST_ENTRIES`] is left out. Without any nothing is written.
pub fn encode(
    (sender_ssrc, media_ssrc): (u32, u32),
    sequences: impl IntoIterator<Item = u16>,
    out: &mut Vec<u8>,
) -> usize {
    let mut sequences = sequences.into_iter().peekable();
    let mut written = 0;
    if sequences.peek().is_none() {
        return 0;
    }
    let fits = push(out, (TRANSPORT_FEEDBACK, FMT), |out| {
        out.extend(sender_ssrc.to_be_bytes());
        out.extend(media_ssrc.to_be_bytes());
        for _ in 0..MOST_ENTRIES {
            let Some(first) = sequences.next() else { break };
            written += 1;
            let mut bits = 0u16;
            while let Some(bit) = sequences.peek().map(|next| next.wrapping_sub(first)).filter(is_behind) {
                bits |= 1 << (bit - 1);
                written += 1;
                sequences.next();
            }
            out.extend(first.to_be_bytes());
            out.extend(bits.to_be_bytes());
        }
    });
    debug_assert!(fits.is_ok(), "so many entries do");
    written
}

/// Whether a number so far ahead is one of the 16 behind.
fn is_behind(ahead: &u16) -> bool {
    (1..=16).contains(ahead)
}
