//! SCTP packets as bytes under an IP header (RFC 9260 section 3, no text at hand), for captures: nobody here reads them.

use crate::WireError;
use crate::ip::{self, Addresses};
use alloc::vec::Vec;
use paceline_units::Ecn;

/// SCTP's number among the protocols of IP.
const IP_PROTOCOL: u8 = 132;
/// Bytes of the common header.
const HEADER: usize = 12;

/// The common header of a packet; its ports are of the packet's direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SctpHeader {
    /// Port of the packet's sender.
    pub source: u16,
    /// Port of the packet's receiver.
    pub destination: u16,
    /// Verification tag of the association.
    pub tag: u32,
}

/// A chunk of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chunk<'a> {
    /// DATA (section 3.3.1), whose payload is zeros.
    Data {
        /// Whether it begins a message, ends one, and belongs to an unordered one.
        flags: (bool, bool, bool),
        /// Transmission sequence number.
        tsn: u32,
        /// Stream, and number of the message in it.
        stream: (u16, u16),
        /// Payload protocol identifier.
        protocol: u32,
        /// Bytes of payload.
        payload: usize,
    },
    /// SACK (section 3.3.4).
    Sack {
        /// Cumulative TSN Ack.
        cumulative: u32,
        /// Advertised receiver window credit.
        a_rwnd: u32,
        /// Gap Ack Blocks.
        gaps: &'a [(u16, u16)],
        /// How many Duplicate TSNs are told: each is said to be the last cumulative one.
        duplicates: u16,
    },
    /// HEARTBEAT, or its answer (sections 3.3.5 and 3.3.6), with the sender's information.
    Heartbeat {
        /// Whether it is the answer.
        answers: bool,
        /// Heartbeat Information: the sender's own number, which comes back unchanged.
        information: u64,
    },
    /// FORWARD-TSN (RFC 3758 section 3.2, no text at hand).
    ForwardTsn {
        /// New Cumulative TSN.
        cumulative: u32,
        /// Stream and number of skipped messages.
        skipped: &'a [(u8, u16)],
    },
}

/// Appends a packet of one chunk under an IP header that bears `ecn`.
///
/// # Errors
/// A chunk that is too long for its length field or an IP packet. `out` is then as it was.
pub fn encode(
    header: &SctpHeader,
    chunk: &Chunk<'_>,
    addresses: &Addresses,
    ecn: Ecn,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let (kind, flags, body, zeros) = parts(chunk);
    let length = 4 + body.len() + zeros;
    let Ok(told) = u16::try_from(length) else {
        let (what, found, max) = ("bytes of an SCTP chunk", length as u64, u16::MAX.into());
        return Err(WireError::Range { what, found, min: 4, max });
    };
    let padded = length.next_multiple_of(4);
    ip::header(addresses, IP_PROTOCOL, ecn, HEADER + padded, out)?;
    let start = out.len();
    out.extend_from_slice(&header.source.to_be_bytes());
    out.extend_from_slice(&header.destination.to_be_bytes());
    out.extend_from_slice(&header.tag.to_be_bytes());
    // Checksum to come.
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&told.to_be_bytes());
    out.extend_from_slice(&body);
    out.resize(start + HEADER + padded, 0);
    // Section 6.8 and appendix A: the low byte of the CRC goes first.
    let sum = crc32c(&out[start..]);
    out[start + 8..start + 12].copy_from_slice(&sum.to_le_bytes());
    Ok(())
}

/// A chunk's type, its flags, what follows its length, and how many zeros follow that.
fn parts(chunk: &Chunk<'_>) -> (u8, u8, Vec<u8>, usize) {
    let mut body = Vec::new();
    let mut word = |value: u32| body.extend_from_slice(&value.to_be_bytes());
    let pair = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
    match *chunk {
        Chunk::Data { flags: (begins, ends, unordered), tsn, stream, protocol, payload } => {
            [tsn, pair(stream.0, stream.1), protocol].into_iter().for_each(word);
            let flags = u8::from(ends) | u8::from(begins) << 1 | u8::from(unordered) << 2;
            (0, flags, body, payload)
        }
        Chunk::Sack { cumulative, a_rwnd, gaps, duplicates } => {
            let counts = pair(gaps.len().min(usize::from(u16::MAX)) as u16, duplicates);
            [cumulative, a_rwnd, counts].into_iter().for_each(&mut word);
            gaps.iter().for_each(|(begin, end)| word(pair(*begin, *end)));
            (0..duplicates).for_each(|_| word(cumulative));
            (3, 0, body, 0)
        }
        Chunk::Heartbeat { answers, information } => {
            // A parameter of type 1 and its length.
            word(pair(1, 12));
            [(information >> 32) as u32, information as u32].into_iter().for_each(word);
            (4 + u8::from(answers), 0, body, 0)
        }
        Chunk::ForwardTsn { cumulative, skipped } => {
            word(cumulative);
            skipped.iter().for_each(|(stream, ssn)| word(pair(u16::from(*stream), *ssn)));
            (192, 0, body, 0)
        }
    }
}

/// CRC32c (RFC 9260 appendix A): the polynomial 0x1EDC6F41, reflected.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg()))
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const HERE: Addresses = Addresses::V4 {
        source: core::net::Ipv4Addr::new(10, 0, 0, 1),
        destination: core::net::Ipv4Addr::new(10, 128, 0, 1),
    };
    const HEAD: SctpHeader = SctpHeader { source: 5001, destination: 9, tag: 0x0a0b_0c0d };

    /// RFC 3720 appendix B.4 has the CRC of 32 zeros and of the digits (no text at hand).
    #[test]
    fn the_checksum_of_known_bytes() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    fn chunk(chunk: &Chunk<'_>) -> Vec<u8> {
        let mut out = vec![];
        encode(&HEAD, chunk, &HERE, Ecn::Ect0, &mut out).unwrap();
        assert_eq!(out[..10], [0x45, 2, 0, out.len() as u8, 0, 0, 0x40, 0, 64, 132]);
        assert_eq!(out[20..28], [0x13, 0x89, 0, 9, 0x0a, 0x0b, 0x0c, 0x0d]);
        let sum = out[28..32].to_vec();
        out[28..32].fill(0);
        assert_eq!(crc32c(&out[20..]).to_le_bytes(), sum[..]);
        out.split_off(32)
    }

    #[test]
    fn chunks_byte_by_byte() {
        let data =
            Chunk::Data { flags: (true, true, false), tsn: 7, stream: (2, 9), protocol: 3, payload: 2 };
        assert_eq!(chunk(&data), [0, 3, 0, 18, 0, 0, 0, 7, 0, 2, 0, 9, 0, 0, 0, 3, 0, 0, 0, 0]);
        let sack = Chunk::Sack { cumulative: 1, a_rwnd: 65536, gaps: &[(2, 3)], duplicates: 1 };
        let expected = [3, 0, 0, 24, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 2, 0, 3, 0, 0, 0, 1];
        assert_eq!(chunk(&sack), expected);
        let beat = Chunk::Heartbeat { answers: true, information: 1 << 32 | 5 };
        assert_eq!(chunk(&beat), [5, 0, 0, 16, 0, 1, 0, 12, 0, 0, 0, 1, 0, 0, 0, 5]);
        let forward = Chunk::ForwardTsn { cumulative: 4, skipped: &[(1, 258)] };
        assert_eq!(chunk(&forward), [192, 0, 0, 12, 0, 0, 0, 4, 0, 1, 1, 2]);
    }

    #[test]
    fn a_chunk_that_no_packet_holds_is_refused() {
        for payload in [65_500, 65_530] {
            let mut out = vec![1];
            let data =
                Chunk::Data { flags: (true, true, true), tsn: 0, stream: (0, 0), protocol: 0, payload };
            assert!(encode(&HEAD, &data, &HERE, Ecn::NotEct, &mut out).is_err());
            assert_eq!(out, [1]);
        }
    }
}
