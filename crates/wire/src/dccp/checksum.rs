//! The Internet checksum over pseudo-header, header and as much data as is covered (RFC 4340 sections 9.1 and 9.2).

use core::net::{Ipv4Addr, Ipv6Addr};

/// DCCP's number among the protocols of IP.
pub const IP_PROTOCOL: u8 = 33;

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

/// Words of 16 bits; an odd byte at the end is padded with zeros.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2);
    words.map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0))).sum()
}

impl Addresses {
    fn pseudo_header(&self, length: usize) -> u64 {
        // Of IPv4 the length has 16 bits, of IPv6 32; as words they add up to the same.
        let length = length as u64;
        let rest = (length >> 16) + (length & 0xffff) + u64::from(IP_PROTOCOL);
        rest + match self {
            Addresses::V4 { source, destination } => sum(&source.octets()) + sum(&destination.octets()),
            Addresses::V6 { source, destination } => sum(&source.octets()) + sum(&destination.octets()),
        }
    }
}

/// The checksum of `packet`, whose first `covered` bytes it covers; the field itself, at byte 6, counts as zero.
pub(super) fn checksum(addresses: &Addresses, packet: &[u8], covered: usize) -> u16 {
    let covered = packet.get(..covered).unwrap_or(packet);
    let field = sum(covered.get(6..8).unwrap_or_default());
    complement(addresses.pseudo_header(packet.len()) + sum(covered) - field)
}

/// The checksum of an IPv4 header whose own field is zero (RFC 791 section 3.1).
pub(super) fn header_checksum(header: &[u8]) -> u16 {
    complement(sum(header))
}

/// The ones' complement of the ones' complement sum.
fn complement(mut total: u64) -> u16 {
    while total > 0xffff {
        total = (total >> 16) + (total & 0xffff);
    }
    !(total as u16)
}

/// Bytes that the checksum covers, with a header of `header` bytes before `payload` bytes (section 9.2); none if the
/// coverage is more than there is.
pub(super) fn covered(coverage: u8, header: usize, payload: usize) -> Option<usize> {
    match usize::from(coverage) {
        0 => Some(header + payload),
        words => Some((words - 1) * 4).filter(|bytes| *bytes <= payload).map(|bytes| header + bytes),
    }
}
