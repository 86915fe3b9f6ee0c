//! A packet that travelled in UDP as it would be by itself on IP: what a capture shows to a dissector.

use super::checksum::{IP_PROTOCOL, checksum};
use super::decode::glance;
use crate::WireError;
use crate::ip::{Addresses, header};
use alloc::vec::Vec;
use paceline_units::Ecn;

/// Appends the packet of a UDP datagram's payload to `out`, under an IP header without options or fragments that bears
/// `ecn`, with the checksum that it does not have in UDP.
///
/// # Errors
/// As for [`super::decode_in_udp`], and what is too long for an IP packet.
pub fn to_ip(bytes: &[u8], addresses: &Addresses, ecn: Ecn, out: &mut Vec<u8>) -> Result<(), WireError> {
    let covered = glance(bytes)?.covered;
    header(addresses, IP_PROTOCOL, ecn, bytes.len(), out)?;
    let packet = out.len();
    out.extend_from_slice(bytes);
    let sum = checksum(addresses, bytes, covered);
    out[packet + 6..packet + 8].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}
