//! TCP segments as bytes under an IP header (RFC 9293 section 3.1), for captures: nobody here reads them.

use crate::WireError;
use crate::ip::{self, Addresses};
use alloc::vec::Vec;
use paceline_units::Ecn;

/// TCP's number among the protocols of IP.
const IP_PROTOCOL: u8 = 6;
/// Bytes of the header without options.
const HEADER: usize = 20;
/// The control bits among the 16 that begin with the header's length.
const CONTROL_BITS: u16 = 0x01ff;
/// Bytes of the longest options.
const LONGEST_OPTIONS: usize = 40;

/// The header of a segment; its ports are of the packet's direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpHeader {
    /// Port of the segment's sender.
    pub source: u16,
    /// Port of the segment's receiver.
    pub destination: u16,
    /// Sequence number of its first byte, or of its SYN.
    pub sequence: u32,
    /// The next sequence number that is expected; zero on a segment without ACK.
    pub acknowledgment: u32,
    /// Control bits, AE the highest (RFC 9768 section 3.1.1).
    pub flags: u16,
    /// Window as it stands in the header, scaled down.
    pub window: u16,
}

/// An option of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcpOption {
    /// The most payload of a segment (RFC 9293 section 3.7.1).
    MaximumSegmentSize(u16),
    /// Bits by which windows are shifted, 14 at most (RFC 7323 section 2.2).
    WindowScale(u8),
    /// Selective acknowledgements are understood (RFC 2018 section 2).
    SackPermitted,
    /// When the segment left, and what it answers, by the clocks of those who say it (RFC 7323 section 3.2).
    Timestamps(u32, u32),
    /// A block that was received, begin and end; blocks that follow each other are one option (RFC 2018 section 3).
    SackBlock(u32, u32),
}

/// Appends a segment with a payload of so many zeros under an IP header that bears `ecn`.
///
/// # Errors
/// Options of more than 40 bytes, and what is too long for an IP packet. `out` is then as it was.
pub fn encode(
    header: &TcpHeader,
    options: impl Iterator<Item = TcpOption>,
    payload: usize,
    addresses: &Addresses,
    ecn: Ecn,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let options = options_of(options);
    if options.len() > LONGEST_OPTIONS {
        let (what, found, max) = ("bytes of TCP options", options.len() as u64, LONGEST_OPTIONS as u64);
        return Err(WireError::Range { what, found, min: 0, max });
    }
    let head = HEADER + options.len();
    ip::header(addresses, IP_PROTOCOL, ecn, head + payload, out)?;
    let start = out.len();
    out.extend_from_slice(&header.source.to_be_bytes());
    out.extend_from_slice(&header.destination.to_be_bytes());
    out.extend_from_slice(&header.sequence.to_be_bytes());
    out.extend_from_slice(&header.acknowledgment.to_be_bytes());
    out.extend_from_slice(&((head as u16 * 4) << 8 | header.flags & CONTROL_BITS).to_be_bytes());
    out.extend_from_slice(&header.window.to_be_bytes());
    // Checksum to come, no urgent pointer.
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&options);
    out.resize(out.len() + payload, 0);
    let sum = addresses.checksum(IP_PROTOCOL, &out[start..]);
    out[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

/// Options one after the other, padded to whole words by options that say nothing.
fn options_of(options: impl Iterator<Item = TcpOption>) -> Vec<u8> {
    let (mut out, mut blocks) = (Vec::new(), Vec::new());
    for option in options {
        match option {
            TcpOption::MaximumSegmentSize(size) => {
                out.extend_from_slice(&[2, 4]);
                out.extend_from_slice(&size.to_be_bytes());
            }
            TcpOption::WindowScale(bits) => out.extend_from_slice(&[3, 3, bits]),
            TcpOption::SackPermitted => out.extend_from_slice(&[4, 2]),
            TcpOption::Timestamps(value, echo) => {
                out.extend_from_slice(&[8, 10]);
                out.extend_from_slice(&value.to_be_bytes());
                out.extend_from_slice(&echo.to_be_bytes());
            }
            TcpOption::SackBlock(begin, end) => {
                blocks.extend_from_slice(&begin.to_be_bytes());
                blocks.extend_from_slice(&end.to_be_bytes());
            }
        }
    }
    if !blocks.is_empty() {
        out.extend_from_slice(&[5, (blocks.len() + 2).min(255) as u8]);
        out.extend_from_slice(&blocks);
    }
    out.resize(out.len().next_multiple_of(4), 1);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Addresses = Addresses::V4 {
        source: core::net::Ipv4Addr::new(10, 0, 0, 1),
        destination: core::net::Ipv4Addr::new(10, 128, 0, 1),
    };

    #[test]
    fn a_segment_byte_by_byte() {
        let header = TcpHeader {
            source: 49_152,
            destination: 80,
            sequence: 0x0102_0304,
            acknowledgment: 0x0506_0708,
            flags: 0x12,
            window: 0xfffe,
        };
        let options =
            [TcpOption::MaximumSegmentSize(1460), TcpOption::SackPermitted, TcpOption::WindowScale(7)];
        let mut out = vec![];
        encode(&header, options.into_iter(), 3, &HERE, Ecn::Ect0, &mut out).unwrap();
        assert_eq!(out.len(), 20 + 32 + 3);
        assert_eq!(out[..10], [0x45, 2, 0, 55, 0, 0, 0x40, 0, 64, 6]);
        let segment = &out[20..];
        assert_eq!(segment[..16], [0xc0, 0, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0x12, 0xff, 0xfe]);
        assert_eq!(segment[20..], [2, 4, 5, 180, 4, 2, 3, 3, 7, 1, 1, 1, 0, 0, 0]);
        assert_eq!(HERE.checksum(IP_PROTOCOL, segment), 0);
    }

    /// RFC 9768 figures 2 and 3: AE stands beside the reserved bits, and the header's length is untouched by what is no flag.
    #[test]
    fn the_accurate_ecn_flag_is_the_lowest_bit_of_its_byte() {
        let mut out = vec![];
        for (flags, expected) in [(0x1c2, [0x51, 0xc2]), (0x140, [0x51, 0x40]), (0xfe10, [0x50, 0x10])] {
            out.clear();
            let header = TcpHeader { flags, ..TcpHeader::default() };
            encode(&header, core::iter::empty(), 0, &HERE, Ecn::NotEct, &mut out).unwrap();
            assert_eq!(out[32..34], expected, "{flags:x}");
            assert_eq!(HERE.checksum(IP_PROTOCOL, &out[20..]), 0);
        }
    }

    #[test]
    fn blocks_are_one_option_and_five_do_not_fit() {
        let blocks = |count: u32| (0..count).map(|block| TcpOption::SackBlock(block, block + 1));
        let mut out = vec![];
        encode(&TcpHeader::default(), blocks(4), 0, &HERE, Ecn::NotEct, &mut out).unwrap();
        assert_eq!(out[40..52], [5, 34, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!((out.len(), out[75]), (76, 1));
        let whole = out.clone();
        assert!(encode(&TcpHeader::default(), blocks(5), 0, &HERE, Ecn::NotEct, &mut out).is_err());
        assert_eq!(out, whole);
    }
}
