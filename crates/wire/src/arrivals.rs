//! Times of arrival of a probe's packets, to the nanosecond, as an RTCP APP packet (RFC 3550 section 6.7). RFC 8888 reports carry
//! 1/1024 s, which is more than the noise of a clean network. The form is ours.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |V=2|P|subtype=1|   PT=APP=204  |             length            |
//! |                     SSRC of the probe's sender                |
//! |                          name = "PCLP"                        |
//! |       sequence number         |               0               |  once for
//! |             time of arrival in nanoseconds, by                |  each packet
//! |                     the receiver's clock                      |
//! ```

use crate::error::{WireError, field};
use crate::rtcp::{HEADER, RtcpPacket};
use alloc::vec::Vec;
use paceline_units::Time;

/// RTCP packet type: application-defined (RFC 3550 section 6.7).
const PACKET_TYPE: u8 = 204;
/// Version of the form.
const SUBTYPE: u8 = 1;
/// Name of the APP packet.
const NAME: [u8; 4] = *b"PCLP";
/// Bytes before the first packet, RTCP header in.
const HEAD: usize = HEADER + 8;
/// Bytes of each packet.
const ENTRY: usize = 12;

/// The most packets that a report of at most `bytes` bytes tells of.
pub fn room(bytes: usize) -> usize {
    bytes.saturating_sub(HEAD) / ENTRY
}

/// Whether an RTCP packet is a report on arrivals, of packets with this SSRC.
pub fn is_about(packet: &RtcpPacket<'_>, ssrc: u32) -> bool {
    let is_ours = packet.packet_type == PACKET_TYPE && packet.count == SUBTYPE;
    is_ours
        && packet.body.get(..4) == Some(&ssrc.to_be_bytes()[..])
        && packet.body.get(4..8) == Some(&NAME[..])
}

/// Appends a report to `bytes`: sequence numbers and times of arrival, at most 5000 of them.
pub fn encode(ssrc: u32, arrivals: impl ExactSizeIterator<Item = (u16, Time)>, bytes: &mut Vec<u8>) {
    let arrivals = arrivals.take(5000);
    let words = (HEAD + arrivals.len() * ENTRY) / 4 - 1;
    bytes.extend([0x80 | SUBTYPE, PACKET_TYPE]);
    bytes.extend((words as u16).to_be_bytes());
    bytes.extend(ssrc.to_be_bytes());
    bytes.extend(NAME);
    for (sequence, arrived) in arrivals {
        bytes.extend(sequence.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(arrived.as_nanos().to_be_bytes());
    }
}

/// The sequence numbers and times of arrival of a report. A rest behind the last whole packet is left alone.
///
/// # Errors
/// A packet of another type, or one too short for an SSRC.
pub fn decode<'a>(packet: &RtcpPacket<'a>) -> Result<impl Iterator<Item = (u16, Time)> + use<'a>, WireError> {
    let ssrc: [u8; 4] = field(packet.body, 0, "SSRC")?;
    if !is_about(packet, u32::from_be_bytes(ssrc)) {
        let (what, expected) = ("RTCP packet type", "204 (APP) with subtype 1 and the name PCLP");
        return Err(WireError::Unexpected { what, at: 1, found: packet.packet_type.into(), expected });
    }
    let entries = packet.body.get(8..).unwrap_or_default().chunks_exact(ENTRY);
    Ok(entries.filter_map(|entry| {
        let sequence = u16::from_be_bytes(*entry.first_chunk()?);
        let nanos = u64::from_be_bytes(*entry.get(4..)?.first_chunk()?);
        Some((sequence, Time::from_nanos(nanos)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp;
    use proptest::prelude::*;

    #[test]
    fn a_report_is_these_bytes() {
        let mut bytes = Vec::new();
        encode(100, [(7, Time::from_nanos(258))].into_iter(), &mut bytes);
        let expected =
            [0x81, 204, 0, 5, 0, 0, 0, 100, b'P', b'C', b'L', b'P', 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2];
        assert_eq!(bytes, expected);
        assert_eq!((room(24), room(23), room(0)), (1, 0, 0));
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let mut bytes = Vec::new();
        encode(100, [(7, Time::ZERO)].into_iter(), &mut bytes);
        for (at, value) in [(1, 205), (0, 0x82), (8, b'S')] {
            let mut other = bytes.clone();
            other[at] = value;
            let packet = rtcp::first(&other).expect("RTCP");
            assert!(decode(&packet).is_err() && !is_about(&packet, 100));
        }
        assert!(!is_about(&rtcp::first(&bytes).expect("RTCP"), 101));
        assert!(decode(&rtcp::first(&[0x81, 204, 0, 0]).expect("RTCP")).is_err());
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(arrivals in prop::collection::vec((any::<u16>(), any::<u64>()), 0..50)) {
            let arrivals: Vec<_> = arrivals.into_iter().map(|(number, at)| (number, Time::from_nanos(at))).collect();
            let mut bytes = Vec::new();
            encode(3, arrivals.iter().copied(), &mut bytes);
            prop_assert_eq!(room(bytes.len()), arrivals.len());
            let read: Vec<_> = decode(&rtcp::first(&bytes).expect("RTCP")).expect("a report").collect();
            prop_assert_eq!(read, arrivals);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            for packet in rtcp::packets(&bytes).flatten() {
                let _ = decode(&packet).map(Iterator::count);
            }
        }
    }
}
