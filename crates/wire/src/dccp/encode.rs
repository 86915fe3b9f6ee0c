//! Packets to bytes.

use super::checksum::{checksum, covered};
use super::options;
use super::{Body, LONGEST_HEADER, Packet, Payload, RtpDatagram, SequenceNumber};
use crate::clock::media_ticks_of;
use crate::ip::Addresses;
use crate::{WireError, rtp};
use alloc::vec::Vec;

/// Appends the packet with its checksum to `out`.
///
/// # Errors
/// A header of more than 1020 bytes, an option that cannot be written, CCVal or CsCov above 15, CsCov beyond the payload,
/// and short numbers on a type that must not have them.
pub fn encode(packet: &Packet, addresses: &Addresses, out: &mut Vec<u8>) -> Result<(), WireError> {
    let start = out.len();
    let covered = write(packet, out).inspect_err(|_| out.truncate(start))?;
    let sum = checksum(addresses, &out[start..], covered);
    out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

/// Appends the packet as the payload of a UDP datagram: its own checksum is zero (RFC 6773 section 3.3). The UDP
/// checksum must not be.
///
/// # Errors
/// As for [`encode`].
pub fn encode_in_udp(packet: &Packet, out: &mut Vec<u8>) -> Result<(), WireError> {
    let start = out.len();
    write(packet, out).inspect_err(|_| out.truncate(start)).map(|_| ())
}

/// Writes all but the checksum; answers how many bytes that covers.
fn write(packet: &Packet, out: &mut Vec<u8>) -> Result<usize, WireError> {
    let (header, covered) = check(packet)?;
    let start = out.len();
    out.reserve(header + packet.payload.len());
    out.extend_from_slice(&packet.ports.source.to_be_bytes());
    out.extend_from_slice(&packet.ports.destination.to_be_bytes());
    // At most 255, as the header has at most 1020 bytes.
    out.extend_from_slice(&[(header / 4) as u8, packet.ccval << 4 | packet.coverage, 0, 0]);
    out.push((packet.packet_type() as u8) << 1 | u8::from(!packet.short));
    // Long numbers have a reserved byte before them, and acknowledgement numbers one more.
    let (reserved, size): (&[u8], _) = if packet.short { (&[], 3) } else { (&[0], 6) };
    out.extend_from_slice(reserved);
    number(packet.sequence, size, out);
    if let Some(acknowledgment) = packet.body.acknowledgment() {
        out.push(0);
        out.extend_from_slice(reserved);
        number(acknowledgment, size, out);
    }
    match packet.body {
        Body::Request { service } | Body::Response { service, .. } => {
            out.extend_from_slice(&service.0.to_be_bytes());
        }
        Body::Reset { reason, .. } => {
            out.push(reason.code.0);
            out.extend_from_slice(&reason.data);
        }
        _ => {}
    }
    options::encode(&packet.options, out.len() - start, out)?;
    match &packet.payload {
        Payload::Bytes(bytes) => out.extend_from_slice(bytes),
        Payload::Dummy { size, .. } => out.resize(out.len() + *size as usize, 0),
        Payload::Rtp(datagram) => write_rtp(datagram, out)?,
    }
    Ok(covered)
}

/// Bytes of the header, and bytes that the checksum covers, of a packet that can be written.
fn check(packet: &Packet) -> Result<(usize, usize), WireError> {
    let unexpected = |what, at, found, expected| Err(WireError::Unexpected { what, at, found, expected });
    let header = packet.header_len();
    if header > LONGEST_HEADER {
        return unexpected("bytes of DCCP header", 4, header as u64, "at most 1020 (RFC 4340 section 5)");
    }
    if packet.short && !packet.packet_type().may_be_short() {
        return unexpected("X", 8, 0, "1 on this type (RFC 4340 section 5.1)");
    }
    if packet.ccval > 15 || packet.coverage > 15 {
        let found = u64::from(packet.ccval.max(packet.coverage));
        return unexpected("CCVal or CsCov", 5, found, "at most 15");
    }
    let Some(covered) = covered(packet.coverage, header, packet.payload.len()) else {
        let found = packet.coverage.into();
        return unexpected("CsCov", 5, found, "no more than the payload (RFC 4340 section 9.2)");
    };
    Ok((header, covered))
}

/// An RTP packet without media of its own: payload type 96, SSRC 0. With another header than RTP's there is only media.
fn write_rtp(datagram: &RtpDatagram, out: &mut Vec<u8>) -> Result<(), WireError> {
    let media = datagram.media as usize;
    if usize::from(datagram.header) != rtp::HEADER {
        out.resize(out.len() + usize::from(datagram.header) + media, 0);
        return Ok(());
    }
    let header = rtp::RtpHeaderFields {
        payload_type: 96,
        ssrc: 0,
        sequence: datagram.sequence as u16,
        timestamp: media_ticks_of(datagram.captured) as u32,
        marker: datagram.marker,
    };
    rtp::encode(&header, media, 0, out)
}

/// Writes the low `bytes` bytes of a number.
fn number(number: SequenceNumber, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.as_u64().to_be_bytes()[8 - bytes..]);
}
