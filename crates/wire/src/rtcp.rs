//! RTCP packets in a datagram (RFC 3550 section 6.1): one after the other, each as long as its header says.

use crate::WireError;
use crate::error::field;
use crate::rtp::expect_version;
use crate::twcc;

/// Bytes of the header that all RTCP packets share.
pub const HEADER: usize = 4;
/// The longest RTCP packet: its length field counts 32-bit words less one in 16 bits.
pub const MAX_SIZE: usize = 4 << 16;

/// An RTCP packet, its content unread (RFC 3550 section 6.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtcpPacket<'a> {
    /// The packet type: 205 is transport-layer feedback.
    pub packet_type: u8,
    /// The 5 bits of report count, source count or feedback message type (FMT).
    pub count: u8,
    /// What follows the header, padding out.
    pub body: &'a [u8],
    /// The whole packet, padding in.
    pub bytes: &'a [u8],
}

/// Reads the packet that `bytes` starts with; more may follow (RFC 3550 section 6.4.1).
///
/// # Errors
/// Another version than 2, a length beyond `bytes`, or padding that does not fit.
pub fn first(bytes: &[u8]) -> Result<RtcpPacket<'_>, WireError> {
    let [head, packet_type, l0, l1] = field(bytes, 0, "RTCP header")?;
    expect_version(head)?;
    let size = (usize::from(u16::from_be_bytes([l0, l1])) + 1) * 4;
    let truncated = WireError::Truncated { what: "RTCP packet", at: 0, found: bytes.len(), expected: size };
    let bytes = bytes.get(..size).ok_or(truncated)?;
    let mut body = &bytes[HEADER..];
    if head & 0x20 != 0 {
        let last = body.last().copied().unwrap_or(0);
        // TWCC's senders count the bytes to the next word alone.
        let counts = last % 4 == 0 || (packet_type == twcc::PACKET_TYPE && head & 0x1f == twcc::FMT);
        let kept = body.len().checked_sub(last.into()).filter(|_| last != 0 && counts);
        body = kept.and_then(|kept| body.get(..kept)).ok_or(WireError::Padding {
            at: size - 1,
            found: last,
            available: body.len(),
        })?;
    }
    Ok(RtcpPacket { packet_type, count: head & 0x1f, body, bytes })
}

/// The packets of a datagram, compound (RFC 3550 section 6.1) or not (RFC 5506), of whatever type.
pub fn packets(datagram: &[u8]) -> Packets<'_> {
    Packets { rest: datagram }
}

/// The packets of a datagram; after one that is wrong there are no more. An error's offsets count from the start of
/// the packet that it is about.
#[derive(Clone, Debug)]
pub struct Packets<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Packets<'a> {
    type Item = Result<RtcpPacket<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let packet = first(self.rest);
        self.rest = packet.ok().and_then(|packet| self.rest.get(packet.bytes.len()..)).unwrap_or_default();
        Some(packet)
    }
}
