//! The RTP data packet's bytes (RFC 3550 section 5.1), and which datagrams are RTCP (RFC 5761).

use crate::error::field;
pub use crate::extension::RtpExtension;
use crate::{WireError, extension};
use alloc::vec::Vec;

/// Bytes of the header without contributing sources and extension (RFC 3550 section 5.1).
pub const HEADER: usize = 12;

/// The fields of the header that Paceline's senders set (RFC 3550 section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RtpHeaderFields {
    /// Payload type: 0 to 127, but not 64 to 95 (RFC 5761 section 4).
    pub payload_type: u8,
    /// SSRC: the identifier of the stream's source.
    pub ssrc: u32,
    /// Sequence number: the low 16 bits of the extended one.
    pub sequence: u16,
    /// Timestamp: the low 32 bits of the media clock.
    pub timestamp: u32,
    /// Whether this is the last packet of its frame.
    pub marker: bool,
}

/// A data packet as it came: header fields, and slices of the datagram (RFC 3550 section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtpView<'a> {
    /// Fields of the fixed header.
    pub header: RtpHeaderFields,
    /// Contributing sources, 4 bytes each.
    pub csrc: &'a [u8],
    /// Header extension, if there is one.
    pub extension: Option<RtpExtension<'a>>,
    /// The payload, padding out.
    pub payload: &'a [u8],
    /// Bytes of padding, the byte that counts them in; 0 where the P bit is not set.
    pub padding: u8,
}

/// Whether a datagram on a port that RTP and RTCP share is RTCP: its second byte is 192 to 223 (RFC 5761 section 4).
pub fn is_rtcp(datagram: &[u8]) -> bool {
    matches!(datagram, [first, 192..=223, ..] if first >> 6 == 2)
}

/// Appends a header, `payload_len` zero bytes and `padding` bytes of padding, its count in, to `out` (RFC 3550 section
/// 5.1). With padding the P bit is set.
///
/// # Errors
/// A payload type above 127, or from 64 to 95, which with the marker would read as RTCP.
pub fn encode(
    header: &RtpHeaderFields,
    payload_len: usize,
    padding: u8,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    encode_extended(header, &[], payload_len, padding, out)
}

/// The same with a header extension behind the header, in whole words, its profile and length in (RFC 3550 section 5.3.1);
/// empty: none.
///
/// # Errors
/// As [`encode`].
pub fn encode_extended(
    header: &RtpHeaderFields,
    extension: &[u8],
    payload_len: usize,
    padding: u8,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let body = payload_len + usize::from(padding);
    out.reserve(HEADER + extension.len() + body);
    encode_head(header, &[], extension, padding, out)?;
    out.resize(out.len() + payload_len, 0);
    pad(padding, out);
    Ok(())
}

/// Appends a whole packet: header, contributing sources (15 at most), the header extension, payload, and padding. With an
/// `element` the extension has that too, in place of any under the same identifier ([`extension::write_with`]).
///
/// # Errors
/// As [`encode`].
pub fn encode_packet(
    packet: &RtpView<'_>,
    element: Option<(u8, &[u8])>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let RtpView { header, csrc, extension, payload, padding } = packet;
    let start = out.len();
    encode_head(header, csrc, &[], *padding, out)?;
    let head = out.len();
    match (extension, element) {
        (extension, Some((id, content))) => extension::write_with(extension.as_ref(), id, content, out),
        (Some(extension), None) => extension::write(extension, out),
        (None, None) => {}
    }
    if out.len() > head {
        out[start] |= 0x10;
    }
    out.extend_from_slice(payload);
    pad(*padding, out);
    Ok(())
}

/// Checks that a packet of this payload type cannot be taken for RTCP, whatever its marker.
///
/// # Errors
/// A payload type above 127, or from 64 to 95 (RFC 5761 section 4).
pub fn expect_payload_type(payload_type: u8) -> Result<(), WireError> {
    if matches!(payload_type, 0..=63 | 96..=127) {
        return Ok(());
    }
    Err(WireError::Unexpected {
        what: "RTP payload type",
        at: 1,
        found: payload_type.into(),
        expected: "0 to 63 or 96 to 127 (RFC 5761 section 4)",
    })
}

fn encode_head(
    header: &RtpHeaderFields,
    csrc: &[u8],
    extension: &[u8],
    padding: u8,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    debug_assert!(
        extension.len().is_multiple_of(4) && csrc.len().is_multiple_of(4) && csrc.len() <= 60,
        "whole words"
    );
    expect_payload_type(header.payload_type)?;
    let sources = (csrc.len() / 4) as u8;
    out.push(2 << 6 | u8::from(padding > 0) << 5 | u8::from(!extension.is_empty()) << 4 | sources);
    out.push(u8::from(header.marker) << 7 | header.payload_type);
    out.extend_from_slice(&header.sequence.to_be_bytes());
    out.extend_from_slice(&header.timestamp.to_be_bytes());
    out.extend_from_slice(&header.ssrc.to_be_bytes());
    out.extend_from_slice(csrc);
    out.extend_from_slice(extension);
    Ok(())
}

/// Appends so many bytes of padding, of which the last counts them.
fn pad(padding: u8, out: &mut Vec<u8>) {
    out.resize(out.len() + usize::from(padding), 0);
    if let (Some(count), 1..) = (out.last_mut(), padding) {
        *count = padding;
    }
}

/// Reads a data packet (RFC 3550 section 5.1; the checks of appendix A.1).
///
/// # Errors
/// Another version than 2, RTCP, and whatever does not fit into the datagram: contributing sources, extension, padding.
pub fn decode(datagram: &[u8]) -> Result<RtpView<'_>, WireError> {
    let head: [u8; HEADER] = field(datagram, 0, "RTP header")?;
    expect_version(head[0])?;
    if is_rtcp(datagram) {
        return Err(WireError::Unexpected {
            what: "RTP marker and payload type",
            at: 1,
            found: head[1].into(),
            expected: "not RTCP's 192 to 223",
        });
    }
    let [_, _, s0, s1, t0, t1, t2, t3, c0, c1, c2, c3] = head;
    let header = RtpHeaderFields {
        payload_type: head[1] & 0x7f,
        ssrc: u32::from_be_bytes([c0, c1, c2, c3]),
        sequence: u16::from_be_bytes([s0, s1]),
        timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
        marker: head[1] & 0x80 != 0,
    };
    let csrc = take(datagram, HEADER, usize::from(head[0] & 0x0f) * 4, "contributing sources")?;
    let mut at = HEADER + csrc.len();
    let mut extension = None;
    if head[0] & 0x10 != 0 {
        let [p0, p1, l0, l1] = field(datagram, at, "header extension")?;
        let words = usize::from(u16::from_be_bytes([l0, l1]));
        let data = take(datagram, at + 4, words * 4, "header extension's data")?;
        extension = Some(RtpExtension { profile: u16::from_be_bytes([p0, p1]), data });
        at += 4 + data.len();
    }
    let body = datagram.get(at..).unwrap_or_default();
    let padding = if head[0] & 0x20 != 0 { padding_of(body, at)? } else { 0 };
    let payload = body.get(..body.len() - usize::from(padding)).unwrap_or_default();
    Ok(RtpView { header, csrc, extension, payload, padding })
}

/// The version, in the first two bits of RTP and RTCP alike, must be 2.
pub(crate) fn expect_version(first: u8) -> Result<(), WireError> {
    if first >> 6 == 2 {
        return Ok(());
    }
    Err(WireError::Unexpected { what: "version", at: 0, found: (first >> 6).into(), expected: "2" })
}

/// Bytes of padding at the end of `body`, which starts at byte `at`: its last byte counts them, itself in.
fn padding_of(body: &[u8], at: usize) -> Result<u8, WireError> {
    let last =
        *body.last().ok_or(WireError::Truncated { what: "padding count", at, found: 0, expected: 1 })?;
    if last == 0 || usize::from(last) > body.len() {
        return Err(WireError::Padding { at: at + body.len() - 1, found: last, available: body.len() });
    }
    Ok(last)
}

fn take<'a>(bytes: &'a [u8], at: usize, size: usize, what: &'static str) -> Result<&'a [u8], WireError> {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.get(..size).ok_or(WireError::Truncated { what, at, found: rest.len(), expected: size })
}
