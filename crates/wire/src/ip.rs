//! IP packets as a capture shows them: headers without options or fragments, and UDP datagrams in them.

use crate::WireError;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};
use paceline_units::Ecn;

/// UDP's number among the protocols of IP.
const UDP: u8 = 17;
/// Bytes of UDP's header.
const UDP_HEADER: usize = 8;
/// Hops that a packet has left: what a sender begins with.
const HOPS: u8 = 64;

/// Source and destination, of which the pseudo-header is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addresses {
    /// Addresses of IPv4.
    V4 {
        /// Address of the sender.
        source: Ipv4Addr,
        /// Address of the receiver.
        destination: Ipv4Addr,
    },
    /// Addresses of IPv6.
    V6 {
        /// Address of the sender.
        source: Ipv6Addr,
        /// Address of the receiver.
        destination: Ipv6Addr,
    },
}

impl Addresses {
    /// The sum of the pseudo-header of a packet of so many bytes (RFC 9293 section 3.1, RFC 8200 section 8.1).
    pub(crate) fn pseudo_header(&self, protocol: u8, length: usize) -> u64 {
        // Of IPv4 the length has 16 bits, of IPv6 32; as words they add up to the same.
        let length = length as u64;
        let rest = (length >> 16) + (length & 0xffff) + u64::from(protocol);
        rest + match self {
            Addresses::V4 { source, destination } => sum(&source.octets()) + sum(&destination.octets()),
            Addresses::V6 { source, destination } => sum(&source.octets()) + sum(&destination.octets()),
        }
    }

    /// The checksum of a whole packet whose own field is zero.
    pub(crate) fn checksum(&self, protocol: u8, packet: &[u8]) -> u16 {
        complement(self.pseudo_header(protocol, packet.len()) + sum(packet))
    }
}

/// Words of 16 bits; an odd byte at the end is padded with zeros.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2);
    words.map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0))).sum()
}

/// The ones' complement of the ones' complement sum.
pub(crate) fn complement(mut total: u64) -> u16 {
    while total > 0xffff {
        total = (total >> 16) + (total & 0xffff);
    }
    !(total as u16)
}

/// Appends the header of a packet that carries `length` bytes of `protocol` and bears `ecn`.
///
/// # Errors
/// Bytes too long for an IP packet. `out` is then as it was.
pub(crate) fn header(
    addresses: &Addresses,
    protocol: u8,
    ecn: Ecn,
    length: usize,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let own = if matches!(addresses, Addresses::V4 { .. }) { 20 } else { 0 };
    let Ok(told) = u16::try_from(length + own) else {
        let (found, expected) = (length as u64, "at most 65,515 under IPv4, 65,535 under IPv6");
        return Err(WireError::Unexpected { what: "bytes under an IP header", at: 0, found, expected });
    };
    let start = out.len();
    match addresses {
        Addresses::V4 { source, destination } => {
            out.extend_from_slice(&[0x45, ecn.bits()]);
            out.extend_from_slice(&told.to_be_bytes());
            // Identification 0, not to be fragmented (RFC 6864), header checksum to come.
            out.extend_from_slice(&[0, 0, 0x40, 0, HOPS, protocol, 0, 0]);
            out.extend_from_slice(&source.octets());
            out.extend_from_slice(&destination.octets());
            let sum = complement(sum(&out[start..]));
            out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
        }
        Addresses::V6 { source, destination } => {
            out.extend_from_slice(&[0x60, ecn.bits() << 4, 0, 0]);
            out.extend_from_slice(&told.to_be_bytes());
            out.extend_from_slice(&[protocol, HOPS]);
            out.extend_from_slice(&source.octets());
            out.extend_from_slice(&destination.octets());
        }
    }
    Ok(())
}

/// Appends a UDP datagram (RFC 768) from and to these ports under an IP header that bears `ecn`.
///
/// # Errors
/// Bytes too long for an IP packet. `out` is then as it was.
pub fn udp(
    addresses: &Addresses,
    (source, destination): (u16, u16),
    ecn: Ecn,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let length = UDP_HEADER + payload.len();
    header(addresses, UDP, ecn, length, out)?;
    let start = out.len();
    for word in [source, destination, length as u16, 0] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    out.extend_from_slice(payload);
    // Zero would say that there is none.
    let sum = match addresses.checksum(UDP, &out[start..]) {
        0 => 0xffff,
        sum => sum,
    };
    out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
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
        assert_eq!(complement(sum(&header)), 0xb861);
    }

    #[test]
    fn the_checksums_of_a_packet_add_up_to_all_ones() {
        let v4 = Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 128, 0, 1].into() };
        let v6 = Addresses::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::UNSPECIFIED };
        for (addresses, own) in [(v4, 20), (v6, 40)] {
            let mut out = vec![7];
            udp(&addresses, (5004, 5006), Ecn::Ce, &[1, 2, 3], &mut out).unwrap();
            let packet = &out[1..];
            assert_eq!(packet.len(), own + 11);
            assert_eq!(addresses.checksum(UDP, &packet[own..]), 0);
            assert!(own == 40 || complement(sum(&packet[..20])) == 0);
            assert_eq!((packet[own + 1], packet[own + 5], &packet[own + 8..]), (0x8c, 11, &[1, 2, 3][..]));
        }
        let mut out = vec![7];
        let error = udp(&v4, (1, 2), Ecn::NotEct, &vec![0; 65_508], &mut out).unwrap_err().to_string();
        assert!(error.contains("found 65516, expected at most 65,515"), "{error}");
        assert_eq!(out, [7]);
    }
}
