//! Source description: the canonical name of a source (RFC 3550 sections 6.5 and 6.5.1).

use super::{HEADER, RtcpPacket, expect, push};
use crate::WireError;
use alloc::vec::Vec;

/// Packet type of a source description.
pub const PACKET_TYPE: u8 = 202;
/// Type of the item that is the canonical name.
pub const CNAME: u8 = 1;

/// A source description whose bytes are sound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Description<'a> {
    body: &'a [u8],
    chunks: u8,
}

/// An item: of whom, of which type, what.
pub type Item<'a> = (u32, u8, &'a [u8]);

/// Reads a source description.
///
/// # Errors
/// Another packet, fewer chunks than it counts, items that go beyond it or have no end.
pub fn decode<'a>(packet: &RtcpPacket<'a>) -> Result<Description<'a>, WireError> {
    expect(packet, (PACKET_TYPE, None), "202 (a source description)")?;
    let mut rest = Walk { body: packet.body, at: 0, ssrc: None, chunks: packet.count };
    while rest.step()?.is_some() {}
    Ok(Description { body: packet.body, chunks: packet.count })
}

impl<'a> Description<'a> {
    /// The items of all sources.
    pub fn items(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let mut walk = Walk { body: self.body, at: 0, ssrc: None, chunks: self.chunks };
        core::iter::from_fn(move || walk.step().ok().flatten())
    }

    /// The canonical name of a source, if it is told.
    pub fn cname(&self, ssrc: u32) -> Option<&'a [u8]> {
        self.items().find(|(other, kind, _)| *other == ssrc && *kind == CNAME).map(|(.., text)| text)
    }
}

/// Where a reader of chunks is.
struct Walk<'a> {
    body: &'a [u8],
    at: usize,
    /// The source whose items follow.
    ssrc: Option<u32>,
    /// Chunks that have not begun.
    chunks: u8,
}

impl<'a> Walk<'a> {
    /// The next item; none behind the last.
    fn step(&mut self) -> Result<Option<Item<'a>>, WireError> {
        loop {
            let Some(ssrc) = self.ssrc else {
                if self.chunks == 0 {
                    return Ok(None);
                }
                self.chunks -= 1;
                let ssrc = *self.take(4, "SSRC of a chunk")?.first_chunk().unwrap_or(&[0; 4]);
                self.ssrc = Some(u32::from_be_bytes(ssrc));
                continue;
            };
            match self.take(1, "item, or the end of a chunk")? {
                // The list of a chunk's items ends with a zero, and further ones up to the next word.
                [0] => {
                    (self.at, self.ssrc) = (self.at.next_multiple_of(4), None);
                }
                kind => {
                    let length = self.take(1, "length of an item")?;
                    let text = self.take(usize::from(length[0]), "text of an item")?;
                    return Ok(Some((ssrc, kind[0], text)));
                }
            }
        }
    }

    /// The next bytes, as many as asked for.
    fn take(&mut self, size: usize, what: &'static str) -> Result<&'a [u8], WireError> {
        let rest = self.body.get(self.at..).unwrap_or_default();
        let cut = WireError::Truncated { what, at: HEADER + self.at, found: rest.len(), expected: size };
        let taken = rest.get(..size).ok_or(cut)?;
        self.at += size;
        Ok(taken)
    }
}

/// Appends the canonical name of a source.
///
/// # Errors
/// A name of more than 255 bytes.
pub fn encode_cname(ssrc: u32, cname: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    let Ok(length) = u8::try_from(cname.len()) else {
        let found = cname.len() as u64;
        return Err(WireError::Range { what: "bytes of a canonical name", found, min: 0, max: 255 });
    };
    push(out, (PACKET_TYPE, 1), |out| {
        out.extend(ssrc.to_be_bytes());
        out.extend([CNAME, length]);
        out.extend_from_slice(cname);
        out.push(0);
    })
}
