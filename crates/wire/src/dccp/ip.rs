//! A packet that travelled in UDP as it would be by itself on IP: what a capture shows to a dissector.

use super::checksum::{Addresses, IP_PROTOCOL, checksum, header_checksum};
use super::decode::glance;
use crate::WireError;
use alloc::vec::Vec;
use paceline_units::Ecn;

/// Hops that a packet has left: what a sender begins with.
const HOPS: u8 = 64;

/// Appends the packet of a UDP datagram's payload to `out`, under an IP header without options or fragments that bears
/// `ecn`, with the checksum that it does not have in UDP.
///
/// # Errors
/// As for [`super::decode_in_udp`], and what is too long for an IP packet.
pub fn to_ip(bytes: &[u8], addresses: &Addresses, ecn: Ecn, out: &mut Vec<u8>) -> Result<(), WireError> {
    let covered = glance(bytes)?.covered;
    let header = if matches!(addresses, Addresses::V4 { .. }) { 20 } else { 0 };
    let Ok(length) = u16::try_from(bytes.len() + header) else {
        return Err(WireError::Unexpected {
            what: "bytes of DCCP packet",
            at: 0,
            found: bytes.len() as u64,
            expected: "at most 65,515 under IPv4, 65,535 under IPv6",
        });
    };
    let start = out.len();
    match addresses {
        Addresses::V4 { source, destination } => {
            out.extend_from_slice(&[0x45, ecn.bits()]);
            out.extend_from_slice(&length.to_be_bytes());
            // Identification 0, not to be fragmented (RFC 6864), header checksum to come.
            out.extend_from_slice(&[0, 0, 0x40, 0, HOPS, IP_PROTOCOL, 0, 0]);
            out.extend_from_slice(&source.octets());
            out.extend_from_slice(&destination.octets());
            let sum = header_checksum(&out[start..]);
            out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
        }
        Addresses::V6 { source, destination } => {
            out.extend_from_slice(&[0x60, ecn.bits() << 4, 0, 0]);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&[IP_PROTOCOL, HOPS]);
            out.extend_from_slice(&source.octets());
            out.extend_from_slice(&destination.octets());
        }
    }
    let packet = out.len();
    out.extend_from_slice(bytes);
    let sum = checksum(addresses, bytes, covered);
    out[packet + 6..packet + 8].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_checksum_of_a_known_header() {
        // A header that is in many textbooks.
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(header_checksum(&header), 0xb861);
    }
}
