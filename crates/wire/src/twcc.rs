//! Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01): RTCP packet type 205, FMT 15,
//! and the header extension that numbers the packets of all streams of a transport together.
//!
//! A report says of consecutive numbers whether each arrived, and when: the first after a reference time in steps of 64 ms,
//! each further after the one before it, in steps of 250 us. It has no ECN field. A status that the draft reserves, received
//! without a time, is refused as libwebrtc does.
//!
//! Padding at the end may be marked by the P bit or not: libwebrtc and pion do both.

use crate::error::{WireError, field};
use crate::extension::ONE_BYTE;
use crate::rtcp::{HEADER, RtcpPacket};
use crate::rtp::RtpExtension;
use alloc::vec::Vec;

pub use crate::rtcp::{TRANSPORT_FEEDBACK as PACKET_TYPE, TRANSPORT_WIDE as FMT};
/// Nanoseconds of a step of the reference time.
pub const REFERENCE_STEP_NANOS: u64 = 64_000_000;
/// Nanoseconds of a step of a delta.
pub const DELTA_STEP_NANOS: u64 = 250_000;

/// SSRCs, base number, status count, reference time and feedback packet count, after the RTCP header.
const FIXED: usize = 16;
/// Symbols of a status vector chunk of one bit and of two bits each.
const ONE_BIT: usize = 14;
const TWO_BITS: usize = 7;
/// The longest run that a chunk says.
const LONGEST_RUN: usize = 0x1fff;
/// Symbols: not received, received with a delta of one byte, received with a delta of two.
const MISSING: u8 = 0;
const SMALL: u8 = 1;
const LARGE: u8 = 2;

/// A report as its bytes say, numbers still wrapped (section 3.1 of the draft).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TransportFeedback {
    /// SSRC of the RTCP packet's sender.
    pub sender_ssrc: u32,
    /// SSRC of a stream of the transport.
    pub ssrc: u32,
    /// Transport-wide number of the first packet.
    pub base: u16,
    /// Time from which the first delta counts, in steps of 64 ms, 24 bits.
    pub reference: u32,
    /// Counts the reports of the transport, so that a lost one is noticed.
    pub feedback_count: u8,
    /// For each packet the time since the one before it that arrived, in steps of 250 us; none if it did not arrive.
    pub deltas: Vec<Option<i16>>,
}

/// Whether an RTCP packet is transport-wide congestion control feedback.
pub fn is_twcc(packet: &RtcpPacket<'_>) -> bool {
    packet.packet_type == PACKET_TYPE && packet.count == FMT
}

impl TransportFeedback {
    /// When each packet arrived, in steps of 250 us from the zero of the reference time, which wraps after 12.4 days; none if
    /// it did not.
    pub fn arrivals(&self) -> impl Iterator<Item = Option<i64>> {
        const STEPS: i64 = (REFERENCE_STEP_NANOS / DELTA_STEP_NANOS) as i64;
        let mut last = i64::from(self.reference) * STEPS;
        self.deltas.iter().map(move |delta| {
            delta.map(|delta| {
                last += i64::from(delta);
                last
            })
        })
    }
}

/// Reads a report into `out`, which keeps its memory.
///
/// # Errors
/// Another packet; no packet; chunks or deltas that end before the packets do, a status that is reserved, or bytes behind them
/// that are no padding. `out` is then without packets.
pub fn decode_packet(packet: &RtcpPacket<'_>, out: &mut TransportFeedback) -> Result<(), WireError> {
    out.deltas.clear();
    let read = read(packet, out);
    if read.is_err() {
        out.deltas.clear();
    }
    read
}

fn read(packet: &RtcpPacket<'_>, out: &mut TransportFeedback) -> Result<(), WireError> {
    if !is_twcc(packet) {
        let (what, expected) = ("RTCP packet type", "205 with FMT 15");
        return Err(WireError::Unexpected { what, at: 1, found: packet.packet_type.into(), expected });
    }
    let fixed: [u8; FIXED] = field(packet.body, 0, "fields of a TWCC report")?;
    let [s0, s1, s2, s3, m0, m1, m2, m3, b0, b1, c0, c1, r0, r1, r2, feedback_count] = fixed;
    let count = usize::from(u16::from_be_bytes([c0, c1]));
    if count == 0 {
        let what = "packet status count of a TWCC report";
        return Err(WireError::Range { what, found: 0, min: 1, max: u16::MAX.into() });
    }
    out.sender_ssrc = u32::from_be_bytes([s0, s1, s2, s3]);
    out.ssrc = u32::from_be_bytes([m0, m1, m2, m3]);
    out.base = u16::from_be_bytes([b0, b1]);
    out.reference = u32::from_be_bytes([0, r0, r1, r2]);
    out.feedback_count = feedback_count;
    let mut at = FIXED;
    while out.deltas.len() < count {
        let chunk = u16::from_be_bytes(field(packet.body, at, "packet status chunk")?);
        read_chunk(chunk, count, HEADER + at, &mut out.deltas)?;
        at += 2;
    }
    for delta in out.deltas.iter_mut().flatten() {
        if *delta == i16::from(SMALL) {
            let [small] = field(packet.body, at, "receive delta")?;
            (*delta, at) = (small.into(), at + 1);
        } else {
            (*delta, at) = (i16::from_be_bytes(field(packet.body, at, "receive delta")?), at + 2);
        }
    }
    let behind = packet.body.len() - at;
    if behind >= 4 {
        let what = "bytes behind the deltas of a TWCC report";
        return Err(WireError::Range { what, found: behind as u64, min: 0, max: 3 });
    }
    Ok(())
}

/// Appends the statuses of a chunk, as many as there are packets: a packet that arrived by its symbol.
fn read_chunk(chunk: u16, count: usize, at: usize, out: &mut Vec<Option<i16>>) -> Result<(), WireError> {
    let status = |symbol: u16| match symbol {
        0 => Ok(None),
        1 | 2 => Ok(Some(symbol as i16)),
        _ => {
            let (what, expected) = ("packet status symbol", "0 to 2");
            Err(WireError::Unexpected { what, at, found: symbol.into(), expected })
        }
    };
    let room = count - out.len();
    match chunk >> 14 {
        0 | 1 => {
            let status = status(chunk >> 13 & 3)?;
            out.resize(out.len() + room.min(usize::from(chunk) & LONGEST_RUN), status);
        }
        2 => {
            for place in (0..ONE_BIT).rev().take(room) {
                out.push(status(chunk >> place & 1)?);
            }
        }
        _ => {
            for place in (0..TWO_BITS).rev().take(room) {
                out.push(status(chunk >> (2 * place) & 3)?);
            }
        }
    }
    Ok(())
}

/// Appends a report to `bytes`, padded to whole words, the padding marked by the P bit.
///
/// # Errors
/// No packet, or more than 65,535. `bytes` is then as it was.
pub fn encode(report: &TransportFeedback, bytes: &mut Vec<u8>) -> Result<(), WireError> {
    encode_deltas(report, &report.deltas, bytes)
}

/// Appends a report with these deltas in place of its own.
fn encode_deltas(
    report: &TransportFeedback,
    deltas: &[Option<i16>],
    bytes: &mut Vec<u8>,
) -> Result<(), WireError> {
    let count = u16::try_from(deltas.len()).ok().filter(|count| *count > 0);
    let Some(count) = count else {
        let (what, found) = ("packets of a TWCC report", deltas.len() as u64);
        return Err(WireError::Range { what, found, min: 1, max: u16::MAX.into() });
    };
    let start = bytes.len();
    bytes.extend([2 << 6 | FMT, PACKET_TYPE, 0, 0]);
    bytes.extend(report.sender_ssrc.to_be_bytes());
    bytes.extend(report.ssrc.to_be_bytes());
    bytes.extend(report.base.to_be_bytes());
    bytes.extend(count.to_be_bytes());
    bytes.extend(&report.reference.to_be_bytes()[1..]);
    bytes.push(report.feedback_count);
    let mut rest = deltas;
    while !rest.is_empty() {
        let (chunk, said) = chunk_of(rest);
        bytes.extend(chunk.to_be_bytes());
        rest = &rest[said..];
    }
    for delta in deltas.iter().flatten() {
        match u8::try_from(*delta) {
            Ok(small) => bytes.push(small),
            Err(_) => bytes.extend(delta.to_be_bytes()),
        }
    }
    let padding = (bytes.len() - start).next_multiple_of(4) - (bytes.len() - start);
    if padding > 0 {
        bytes.resize(bytes.len() + padding, 0);
        bytes[start] |= 0x20;
        if let Some(last) = bytes.last_mut() {
            *last = padding as u8;
        }
    }
    let words = (bytes.len() - start) / 4 - 1;
    bytes[start + 2..start + 4].copy_from_slice(&(words as u16).to_be_bytes());
    Ok(())
}

/// How a status is said.
fn symbol(delta: Option<i16>) -> u8 {
    match delta.map(u8::try_from) {
        None => MISSING,
        Some(Ok(_)) => SMALL,
        Some(Err(_)) => LARGE,
    }
}

/// The chunk for the first of these packets, and how many it tells of.
fn chunk_of(deltas: &[Option<i16>]) -> (u16, usize) {
    let first = symbol(deltas.first().copied().flatten());
    let run = deltas.iter().take(LONGEST_RUN).take_while(|delta| symbol(**delta) == first).count();
    if run > TWO_BITS || run == deltas.len() {
        return (u16::from(first) << 13 | run as u16, run);
    }
    let symbols = |most| deltas.iter().take(most).map(|delta| u16::from(symbol(*delta)));
    let (form, bits, most) = if symbols(ONE_BIT).all(|symbol| symbol <= SMALL.into()) {
        (2u16, 1, ONE_BIT)
    } else {
        (3, 2, TWO_BITS)
    };
    let said = deltas.len().min(most);
    let vector = symbols(most).fold(0, |vector, symbol| vector << bits | symbol);
    (form << 14 | vector << (bits * (most - said)), said)
}

/// Bytes of the header extension, its own header in.
pub const EXTENSION: usize = 8;

/// The header extension with a packet's transport-wide number (section 2 of the draft), one element of RFC 8285's one-byte
/// form with the local identifier that was agreed on, 1 to 14; its own header in.
pub fn extension(id: u8, number: u16) -> [u8; EXTENSION] {
    let ([p0, p1], [n0, n1]) = (ONE_BYTE.to_be_bytes(), number.to_be_bytes());
    [p0, p1, 0, 1, id << 4 | 1, n0, n1, 0]
}

/// The transport-wide number in a header extension; none if it has none under this identifier.
pub fn number_of(extension: &RtpExtension<'_>, id: u8) -> Option<u16> {
    extension.element(id)?.try_into().ok().map(u16::from_be_bytes)
}

#[path = "twcc_format.rs"]
mod format;

pub use format::Twcc;

#[cfg(test)]
#[path = "twcc_tests.rs"]
mod tests;
