//! Bytes to packets: step 1 of RFC 4340 section 8.5.

use super::checksum::{checksum, covered};
use super::{Body, Packet, PacketType, Payload, Ports, ResetCode, ResetReason, SequenceNumber, ServiceCode};
use super::{UDP_HEADER, options};
use crate::WireError;
use crate::error::field;
use crate::ip::Addresses;

/// Reads a packet, and its checksum. Reserved fields are not looked at.
///
/// # Errors
/// Whatever must be ignored: fewer than 12 bytes, a reserved type, a data offset that is shorter than the type's header
/// or beyond the packet, short numbers where they must not be, a coverage beyond the payload, a wrong checksum.
pub fn decode(bytes: &[u8], addresses: &Addresses) -> Result<Packet, WireError> {
    let (packet, covered) = read(bytes)?;
    let (found, expected) = (u16::from_be_bytes([bytes[6], bytes[7]]), checksum(addresses, bytes, covered));
    if found != expected {
        return Err(WireError::Unexpected {
            what: "DCCP checksum",
            at: 6,
            found: found.into(),
            expected: "the sum over pseudo-header, header and covered data (RFC 4340 section 9.1)",
        });
    }
    Ok(packet)
}

/// Reads a packet out of a UDP datagram's payload: DCCP's checksum is not looked at (RFC 6773 section 3.3), and that of
/// UDP is the caller's to have checked: it is right and not zero.
///
/// # Errors
/// As for [`decode`], but for the checksum. The smallest UDP length, 20, is the 12 bytes that every packet has.
pub fn decode_in_udp(bytes: &[u8]) -> Result<Packet, WireError> {
    const _: () = assert!(UDP_HEADER + 12 == 20);
    read(bytes).map(|(packet, _)| packet)
}

/// The fields of a packet that can be read before its options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glance {
    /// Source and destination port of DCCP.
    pub ports: Ports,
    /// Type of the packet.
    pub kind: PacketType,
    /// Bytes of the header, options in.
    pub header: usize,
    /// Bytes that its checksum covers, from the first on (RFC 4340 section 9.2).
    pub covered: usize,
}

/// Whether a UDP datagram's payload is a packet, and of which kind: what is enough to pass it on.
///
/// # Errors
/// As for [`decode_in_udp`].
pub fn glance(bytes: &[u8]) -> Result<Glance, WireError> {
    let head: [u8; 12] = field(bytes, 0, "DCCP generic header")?;
    let unexpected = |what, at, found: u8, expected| {
        Err(WireError::Unexpected { what, at, found: found.into(), expected })
    };
    let number = head[8] >> 1 & 15;
    let Some(kind) = PacketType::from_number(number) else {
        return unexpected("DCCP packet type", 8, number, "0 to 9");
    };
    let short = head[8] & 1 == 0;
    if short && !kind.may_be_short() {
        return unexpected("X", 8, 0, "1 on this type (RFC 4340 section 5.1)");
    }
    let header = usize::from(head[4]) * 4;
    let fixed = kind.fixed_header(short);
    if header < fixed || header > bytes.len() {
        return unexpected("data offset", 4, head[4], "the type's header or more, within the packet");
    }
    let coverage = head[5] & 15;
    let Some(covered) = covered(coverage, header, bytes.len() - header) else {
        return unexpected("CsCov", 5, coverage, "no more than the payload (RFC 4340 section 9.2)");
    };
    let ports = Ports {
        source: u16::from_be_bytes([head[0], head[1]]),
        destination: u16::from_be_bytes([head[2], head[3]]),
    };
    Ok(Glance { ports, kind, header, covered })
}

/// Everything but the checksum, and how many bytes that covers.
fn read(bytes: &[u8]) -> Result<(Packet, usize), WireError> {
    let Glance { ports, kind, header, covered } = glance(bytes)?;
    let head: [u8; 12] = field(bytes, 0, "DCCP generic header")?;
    let short = head[8] & 1 == 0;
    let (ccval, coverage) = (head[5] >> 4, head[5] & 15);
    let fixed = kind.fixed_header(short);
    let payload = bytes.get(header..).unwrap_or_default();
    let generic = if short { 12 } else { 16 };
    let sequence = if short { low(bytes, 9)? } else { long(bytes, 10)? };
    let acknowledgment = match (kind.has_acknowledgment(), short) {
        (false, _) => SequenceNumber::ZERO,
        (true, true) => low(bytes, generic + 1)?,
        (true, false) => long(bytes, generic + 2)?,
    };
    let packet = Packet {
        ports,
        ccval,
        coverage,
        short,
        sequence,
        body: body(kind, acknowledgment, field(bytes, fixed - 4, "service or reset code")?),
        options: options::decode(bytes.get(fixed..header).unwrap_or_default()),
        payload: Payload::Bytes(payload.to_vec()),
    };
    Ok((packet, covered))
}

/// `last`: the last word of the fixed header.
fn body(kind: PacketType, acknowledgment: SequenceNumber, last: [u8; 4]) -> Body {
    let service = ServiceCode(u32::from_be_bytes(last));
    let [code, data @ ..] = last;
    Body::new(kind, acknowledgment, service, ResetReason { code: ResetCode(code), data })
}

fn low(bytes: &[u8], at: usize) -> Result<SequenceNumber, WireError> {
    let [a, b, c] = field(bytes, at, "24-bit number")?;
    Ok(SequenceNumber::new(u32::from_be_bytes([0, a, b, c]).into()))
}

fn long(bytes: &[u8], at: usize) -> Result<SequenceNumber, WireError> {
    let [a, b, c, d, e, f] = field(bytes, at, "48-bit number")?;
    Ok(SequenceNumber::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])))
}
