//! RTCP packets in a datagram (RFC 3550 section 6.1): one after the other, each as long as its header says.
//!
//! - [`report`]: sender and receiver reports.
//! - [`sdes`]: the name of a source. [`bye`]: its end.
//! - [`nack`]: packets that are asked for again. [`picture`]: pictures that are.
//! - [`ecn`]: counts of packets by their ECN field.
//!
//! Readers borrow the bytes and check all of them at once; what they answer then cannot fail. Writers append to a buffer.

pub mod bye;
pub mod ecn;
pub mod nack;
pub mod picture;
pub mod report;
pub mod sdes;

use crate::WireError;
use crate::error::field;
use crate::rtp::expect_version;
use alloc::vec::Vec;

/// Packet type of transport-layer feedback (RFC 4585 section 6.1).
pub const TRANSPORT_FEEDBACK: u8 = 205;
/// Feedback message type of transport-wide congestion control (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1).
pub const TRANSPORT_WIDE: u8 = 15;
/// Packet type of payload-specific feedback (RFC 4585 section 6.1).
pub const PAYLOAD_FEEDBACK: u8 = 206;

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
    /// Bytes that follow the header, padding out.
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
        let counts = last % 4 == 0 || (packet_type == TRANSPORT_FEEDBACK && head & 0x1f == TRANSPORT_WIDE);
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

/// Checks that a datagram is a compound packet that a participant of a session may believe (RFC 3550 appendix A.2): it begins with a
/// report without padding, and its packets are all of version 2 and fill it.
///
/// # Errors
/// The first of these rules that it breaks. A datagram that begins with anything else may be reduced in size (RFC 5506): then it is no error
/// of its sender, if that was agreed on.
pub fn expect_compound(datagram: &[u8]) -> Result<(), WireError> {
    let [head, packet_type, ..] = field::<HEADER>(datagram, 0, "RTCP header")?;
    if !matches!(packet_type, report::SENDER_REPORT | report::RECEIVER_REPORT) {
        let (what, found) = ("type of the first RTCP packet", packet_type.into());
        return Err(WireError::Unexpected { what, at: 1, found, expected: "200 or 201 (a report)" });
    }
    if head & 0x20 != 0 && first(datagram)?.bytes.len() < datagram.len() {
        let what = "padding bit of a packet that is not the last";
        return Err(WireError::Unexpected { what, at: 0, found: 1, expected: "0" });
    }
    packets(datagram).find_map(Result::err).map_or(Ok(()), Err)
}

/// Checks that a packet is of this type, and has this count where one is given.
fn expect(
    packet: &RtcpPacket<'_>,
    (packet_type, count): (u8, Option<u8>),
    expected: &'static str,
) -> Result<(), WireError> {
    if packet.packet_type != packet_type {
        let found = packet.packet_type.into();
        return Err(WireError::Unexpected { what: "RTCP packet type", at: 1, found, expected });
    }
    if count.is_some_and(|count| count != packet.count) {
        let found = packet.count.into();
        return Err(WireError::Unexpected { what: "feedback message type", at: 0, found, expected });
    }
    Ok(())
}

/// The big-endian 32 bits at `at` of a packet's body. Errors count from the start of the packet.
fn word(packet: &RtcpPacket<'_>, at: usize, what: &'static str) -> Result<u32, WireError> {
    let cut = |_| {
        let (at, found) = (HEADER + at, packet.body.len().saturating_sub(at));
        WireError::Truncated { what, at, found, expected: 4 }
    };
    field(packet.body, at, what).map(u32::from_be_bytes).map_err(cut)
}

/// The words of `bytes`, whose rest of less than four is left out.
fn words(bytes: &[u8]) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
    bytes.chunks_exact(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
}

/// Appends a packet whose body `write` appends, filled with zeros to whole words.
///
/// # Errors
/// More than [`MAX_SIZE`]; `out` is then as it was.
fn push(
    out: &mut Vec<u8>,
    (packet_type, count): (u8, u8),
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), WireError> {
    let start = out.len();
    out.extend([0x80 | (count & 0x1f), packet_type, 0, 0]);
    write(out);
    let size = (out.len() - start).next_multiple_of(4);
    if size > MAX_SIZE {
        out.truncate(start);
        let (found, max) = (size as u64, MAX_SIZE as u64);
        return Err(WireError::Range { what: "bytes of an RTCP packet", found, min: HEADER as u64, max });
    }
    out.resize(start + size, 0);
    out[start + 2..start + HEADER].copy_from_slice(&((size / 4 - 1) as u16).to_be_bytes());
    Ok(())
}
