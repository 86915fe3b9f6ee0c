//! A toy: an RTCP APP packet (RFC 3550 section 6.7) called "TOY!" with a bit for each packet, and no times.

use crate::ccfb::{ArrivalOffset, ArrivalReport, Feedback, RawBlock, RawEntry, RawFeedback};
use crate::clock::rts_of;
use crate::format::ReportFormat;
use crate::rtcp::{self, RtcpPacket};
use crate::{WireError, error::field};
use alloc::vec::Vec;
use paceline_cc::StreamId;
use paceline_units::{Bytes, Ecn};

const APP: u8 = 204;
const NAME: [u8; 4] = *b"TOY!";
/// SSRC of the sender, name, report timestamp, SSRC and first number of the stream, number of packets.
const FIXED: usize = 20;

/// The toy format: one stream, 256 packets at most.
pub struct Toy;

impl ReportFormat for Toy {
    fn recognises(packet: &RtcpPacket<'_>) -> bool {
        packet.packet_type == APP && packet.body.get(4..8) == Some(&NAME)
    }

    fn size(feedback: &Feedback) -> Bytes {
        Bytes::new((rtcp::HEADER + FIXED + feedback.arrivals.len().min(256).div_ceil(32) * 4) as u64)
    }

    fn encode(
        feedback: &Feedback,
        sender_ssrc: u32,
        ssrc_of: impl Fn(StreamId) -> u32,
        _limit: Bytes,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let Some(block) = feedback.blocks.first() else { return Ok(()) };
        let arrivals = &feedback.arrivals[..feedback.arrivals.len().min(256)];
        let words = Toy::size(feedback).as_u64() / 4 - 1;
        out.extend([0x80, APP, (words >> 8) as u8, words as u8]);
        out.extend(sender_ssrc.to_be_bytes());
        out.extend(NAME);
        out.extend((rts_of(feedback.written) as u32).to_be_bytes());
        out.extend(ssrc_of(block.stream).to_be_bytes());
        out.extend((block.begin as u16).to_be_bytes());
        out.extend((arrivals.len() as u16).to_be_bytes());
        for word in arrivals.chunks(32) {
            let bits = word.iter().enumerate().filter(|(_, arrival)| **arrival != ArrivalReport::Missing);
            out.extend(bits.fold(0u32, |bits, (at, _)| bits | 1 << at).to_be_bytes());
        }
        Ok(())
    }

    fn decode(packet: &RtcpPacket<'_>, raw: &mut RawFeedback) -> Result<(), WireError> {
        raw.clear();
        raw.rts = u32::from_be_bytes(field(packet.body, 8, "report timestamp")?);
        let ssrc = u32::from_be_bytes(field(packet.body, 12, "SSRC of the stream")?);
        let begin = u16::from_be_bytes(field(packet.body, 16, "first sequence number")?);
        let count = u16::from_be_bytes(field(packet.body, 18, "number of packets")?).min(256);
        for at in 0..usize::from(count) {
            let bits = u32::from_be_bytes(field(packet.body, FIXED + at / 32 * 4, "bits")?);
            let received = bits >> (at % 32) & 1 == 1;
            raw.entries.push(match received {
                true => RawEntry::Received { ato: ArrivalOffset::Unknown, ecn: Ecn::NotEct },
                false => RawEntry::Missing,
            });
        }
        raw.blocks.push(RawBlock { ssrc, begin, entries: 0..raw.entries.len() });
        Ok(())
    }
}
