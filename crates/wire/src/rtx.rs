//! Retransmitted packets (RFC 4588): a stream of its own, whose payload is the original sequence number and the original payload.

use crate::WireError;
use crate::error::field;

/// Bytes of the original sequence number before the original payload (RFC 4588 section 4).
pub const OSN: usize = 2;

/// The original sequence number, as it stands before the original payload.
pub fn osn(sequence: u16) -> [u8; OSN] {
    sequence.to_be_bytes()
}

/// The original sequence number and payload of a retransmitted packet's payload.
///
/// # Errors
/// Fewer than two bytes.
pub fn split(payload: &[u8]) -> Result<(u16, &[u8]), WireError> {
    let number = field(payload, 0, "original sequence number")?;
    Ok((u16::from_be_bytes(number), payload.get(OSN..).unwrap_or_default()))
}
