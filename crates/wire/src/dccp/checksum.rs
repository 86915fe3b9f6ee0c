//! The Internet checksum over pseudo-header, header and as much data as is covered (RFC 4340 sections 9.1 and 9.2).

use crate::ip::{Addresses, complement, sum};

/// DCCP's number among the protocols of IP.
pub const IP_PROTOCOL: u8 = 33;

/// The checksum of `packet`, whose first `covered` bytes it covers; the field itself, at byte 6, counts as zero.
pub(super) fn checksum(addresses: &Addresses, packet: &[u8], covered: usize) -> u16 {
    let covered = packet.get(..covered).unwrap_or(packet);
    let field = sum(covered.get(6..8).unwrap_or_default());
    complement(addresses.pseudo_header(IP_PROTOCOL, packet.len()) + sum(covered) - field)
}

/// Bytes that the checksum covers, with a header of `header` bytes before `payload` bytes (section 9.2); none if the
/// coverage is more than there is.
pub(super) fn covered(coverage: u8, header: usize, payload: usize) -> Option<usize> {
    match usize::from(coverage) {
        0 => Some(header + payload),
        words => Some((words - 1) * 4).filter(|bytes| *bytes <= payload).map(|bytes| header + bytes),
    }
}
