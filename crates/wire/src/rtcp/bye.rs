//! Sources that end (RFC 3550 section 6.6).

use super::{HEADER, RtcpPacket, expect, push, words};
use crate::WireError;
use alloc::vec::Vec;

/// Packet type of an end.
pub const PACKET_TYPE: u8 = 203;
/// The most sources that one packet ends.
pub const MOST_SOURCES: usize = 31;

/// Sources that end, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bye<'a> {
    sources: &'a [u8],
    /// Why, for people, where it says so.
    pub reason: Option<&'a [u8]>,
}

impl<'a> Bye<'a> {
    /// The sources that end.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        words(self.sources)
    }
}

/// Reads an end.
///
/// # Errors
/// Another packet, or one that is shorter than its count of sources or the length of its reason.
pub fn decode<'a>(packet: &RtcpPacket<'a>) -> Result<Bye<'a>, WireError> {
    expect(packet, (PACKET_TYPE, None), "203 (an end)")?;
    let expected = usize::from(packet.count) * 4;
    let found = packet.body.len();
    let cut = WireError::Truncated { what: "sources that end", at: HEADER, found, expected };
    let (sources, rest) = packet.body.split_at_checked(expected).ok_or(cut)?;
    let reason = match rest.split_first() {
        None => None,
        Some((&length, text)) => {
            let at = HEADER + expected + 1;
            let (found, expected) = (text.len(), usize::from(length));
            let cut = WireError::Truncated { what: "reason of an end", at, found, expected };
            Some(text.get(..expected).ok_or(cut)?)
        }
    };
    Ok(Bye { sources, reason })
}

/// Appends the end of sources.
///
/// # Errors
/// More than [`MOST_SOURCES`] sources, or a reason of more than 255 bytes.
pub fn encode(sources: &[u32], reason: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), WireError> {
    let range = |what, found: usize, max| Err(WireError::Range { what, found: found as u64, min: 0, max });
    if sources.len() > MOST_SOURCES {
        return range("sources that end", sources.len(), MOST_SOURCES as u64);
    }
    let length = reason.map_or(0, <[u8]>::len);
    let Ok(count) = u8::try_from(length) else { return range("bytes of a reason", length, 255) };
    push(out, (PACKET_TYPE, sources.len() as u8), |out| {
        sources.iter().for_each(|ssrc| out.extend(ssrc.to_be_bytes()));
        if let Some(reason) = reason {
            out.push(count);
            out.extend_from_slice(reason);
        }
    })
}
