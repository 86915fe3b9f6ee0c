//! The summary of a flow's delays for shared-bottleneck detection (RFC 8382 section 3.1.2) as an RTCP APP packet (RFC 3550
//! section 6.7). RFC 8382 names the figures and gives no form; this one is ours.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |V=2|P|subtype=1|   PT=APP=204  |           length = 9          |
//! |                     SSRC of the packet's sender               |
//! |                          name = "SBD="                        |
//! |                    SSRC of the stream it is of                |
//! |                   interval T in microseconds                  |
//! |B|                 intervals since the first                   |
//! |              skewness in 2^-30, two's complement              |
//! |                   variability in nanoseconds                  |
//! |                       frequency in 2^-31                      |
//! |                          loss in 2^-31                        |
//! ```
//!
//! The name and the subtype together are RFC 8382's identifier "SBD=01". B is 1 while the flow is held to pass a bottleneck.
//! A variability of 2^32 - 1 ns stands for that and more.

use crate::error::{WireError, field};
use crate::rtcp::{HEADER, RtcpPacket};
use alloc::vec::Vec;
use paceline_units::TimeDelta;

/// RTCP packet type: application-defined (RFC 3550 section 6.7).
pub const PACKET_TYPE: u8 = 204;
/// RFC 8382's version of the algorithm.
pub const SUBTYPE: u8 = 1;
/// Name of the APP packet.
pub const NAME: [u8; 4] = *b"SBD=";
/// Bytes of the packet, RTCP header in.
pub const SIZE: usize = HEADER + BODY;
/// SSRC of the sender, name, and seven fields.
const BODY: usize = 9 * 4;

/// The bit beside the count of intervals that says: a bottleneck.
const BOTTLENECK: u32 = 1 << 31;
/// The number for 1 in skewness, and in frequency and loss.
const SKEWNESS_ONE: i32 = 1 << 30;
const SHARE_ONE: u32 = 1 << 31;

/// The summary of a flow's delays as its bytes say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelaySummaryPacket {
    /// SSRC of the RTCP packet's sender, who receives the flow.
    pub sender_ssrc: u32,
    /// SSRC of a stream of the flow.
    pub ssrc: u32,
    /// Interval over which delays are averaged, in whole microseconds.
    pub interval: TimeDelta,
    /// Intervals since the first, below 2^31.
    pub intervals: u32,
    /// Whether the flow is held to pass a bottleneck.
    pub bottleneck: bool,
    /// Skewness of the delays, -1 to 1.
    pub skewness: f64,
    /// Mean absolute deviation of the delays.
    pub variability: TimeDelta,
    /// Significant crossings of the mean for each interval, 0 to 1.
    pub frequency: f64,
    /// Part of the packets that was lost, 0 to 1.
    pub loss: f64,
}

/// Whether an RTCP packet is a summary of delays.
pub fn is_delay_summary(packet: &RtcpPacket<'_>) -> bool {
    packet.packet_type == PACKET_TYPE && packet.count == SUBTYPE && packet.body.get(4..8) == Some(&NAME[..])
}

/// Reads a summary.
///
/// # Errors
/// Another packet, another size, or a figure outside its range.
pub fn decode_packet(packet: &RtcpPacket<'_>) -> Result<DelaySummaryPacket, WireError> {
    if !is_delay_summary(packet) {
        let (what, expected) = ("RTCP packet type", "204 (APP) with subtype 1 and the name SBD=");
        return Err(WireError::Unexpected { what, at: 1, found: packet.packet_type.into(), expected });
    }
    if packet.body.len() != BODY {
        let what = "bytes of a summary of delays, without RTCP header";
        let (found, size) = (packet.body.len() as u64, BODY as u64);
        return Err(WireError::Range { what, found, min: size, max: size });
    }
    let word = |index: usize, what| field(packet.body, index * 4, what).map(u32::from_be_bytes);
    let share = |index: usize, what| {
        let found = word(index, what)?;
        let (at, expected) = (HEADER + index * 4, "at most 2^31");
        let fits = (found <= SHARE_ONE).then(|| f64::from(found) / f64::from(SHARE_ONE));
        fits.ok_or(WireError::Unexpected { what, at, found: found.into(), expected })
    };
    let skewness = field(packet.body, 5 * 4, "skewness").map(i32::from_be_bytes)?;
    if skewness.unsigned_abs() > SKEWNESS_ONE.unsigned_abs() {
        let (at, found, expected) = (HEADER + 5 * 4, u64::from(skewness as u32), "-2^30 to 2^30");
        return Err(WireError::Unexpected { what: "skewness", at, found, expected });
    }
    let counted = word(4, "intervals")?;
    Ok(DelaySummaryPacket {
        sender_ssrc: word(0, "SSRC of the sender")?,
        ssrc: word(2, "SSRC of the stream")?,
        interval: TimeDelta::from_micros(word(3, "interval")?.into()),
        intervals: counted & !BOTTLENECK,
        bottleneck: counted & BOTTLENECK != 0,
        skewness: f64::from(skewness) / f64::from(SKEWNESS_ONE),
        variability: TimeDelta::from_nanos(word(6, "variability")?.into()),
        frequency: share(7, "frequency")?,
        loss: share(8, "loss")?,
    })
}

/// Appends a summary to `bytes`. Figures outside their ranges are written as the nearest that fits, and what is no number
/// as zero.
pub fn encode(summary: &DelaySummaryPacket, bytes: &mut Vec<u8>) {
    let whole = |value: i64| u32::try_from(value.max(0)).unwrap_or(u32::MAX);
    // A conversion from a floating-point number saturates, and makes zero of what is none.
    let share = |part: f64| (part.clamp(0.0, 1.0) * f64::from(SHARE_ONE)) as u32;
    let skewness = (summary.skewness.clamp(-1.0, 1.0) * f64::from(SKEWNESS_ONE)) as i32;
    let counted = summary.intervals.min(!BOTTLENECK) | if summary.bottleneck { BOTTLENECK } else { 0 };
    bytes.extend([0x80 | SUBTYPE, PACKET_TYPE]);
    bytes.extend((SIZE as u16 / 4 - 1).to_be_bytes());
    bytes.extend(summary.sender_ssrc.to_be_bytes());
    bytes.extend(NAME);
    let fields = [
        summary.ssrc,
        whole(summary.interval.as_nanos() / 1000),
        counted,
        skewness as u32,
        whole(summary.variability.as_nanos()),
        share(summary.frequency),
        share(summary.loss),
    ];
    bytes.extend(fields.into_iter().flat_map(u32::to_be_bytes));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const SUMMARY: DelaySummaryPacket = DelaySummaryPacket {
        sender_ssrc: 0x0102_0304,
        ssrc: 0x0506_0708,
        interval: TimeDelta::from_millis(350),
        intervals: 61,
        bottleneck: true,
        skewness: -0.5,
        variability: TimeDelta::from_millis(20),
        frequency: 0.25,
        loss: 1.0,
    };

    #[rustfmt::skip]
    const BYTES: [u8; SIZE] = [
        0x81, 204, 0, 9, 1, 2, 3, 4, b'S', b'B', b'D', b'=', 5, 6, 7, 8,
        0x00, 0x05, 0x57, 0x30, 0x80, 0, 0, 61, 0xe0, 0, 0, 0,
        0x01, 0x31, 0x2d, 0x00, 0x20, 0, 0, 0, 0x80, 0, 0, 0,
    ];

    fn written(summary: &DelaySummaryPacket) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(summary, &mut bytes);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<DelaySummaryPacket, WireError> {
        decode_packet(&rtcp::first(bytes)?)
    }

    #[test]
    fn a_summary_is_these_bytes() {
        assert_eq!(written(&SUMMARY), BYTES);
        assert_eq!(read(&BYTES), Ok(SUMMARY));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_place() {
        let with = |at: usize, value: [u8; 4]| {
            let mut bytes = BYTES;
            bytes[at..at + 4].copy_from_slice(&value);
            read(&bytes).map_err(|error| alloc::string::ToString::to_string(&error))
        };
        for (at, value, expected) in [
            (0, [0x82, 204, 0, 9], "subtype 1"),
            (0, [0x81, 205, 0, 9], "204 (APP)"),
            (0, [0x81, 204, 0, 8], "bytes of a summary"),
            (0, [0x81, 204, 0, 10], "cut short"),
            (0, [0x41, 204, 0, 9], "version"),
            (8, *b"SBD-", "name SBD="),
            (24, [0x40, 0, 0, 1], "skewness at byte 24"),
            (24, [0x80, 0, 0, 0], "skewness at byte 24"),
            (32, [0x80, 0, 0, 1], "frequency at byte 32"),
            (36, [0xff, 0xff, 0xff, 0xff], "loss at byte 36"),
        ] {
            let error = with(at, value).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
        assert!(with(24, [0x40, 0, 0, 0]).is_ok() && with(24, [0xc0, 0, 0, 0]).is_ok(), "-1 and 1 fit");
    }

    #[test]
    fn what_cannot_be_is_written_as_the_nearest_that_can() {
        let wild = DelaySummaryPacket {
            intervals: u32::MAX,
            interval: TimeDelta::from_secs(-1),
            skewness: f64::NAN,
            variability: TimeDelta::from_secs(100),
            frequency: f64::INFINITY,
            loss: -3.0,
            ..SUMMARY
        };
        let tame = DelaySummaryPacket {
            intervals: u32::MAX >> 1,
            interval: TimeDelta::ZERO,
            skewness: 0.0,
            variability: TimeDelta::from_nanos(u32::MAX.into()),
            frequency: 1.0,
            loss: 0.0,
            ..SUMMARY
        };
        assert_eq!(read(&written(&wild)), Ok(tame));
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_written_again_as_they_were(
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
            fields in proptest::collection::vec(any::<u8>(), 28),
        ) {
            let _ = read(&bytes);
            let mut bytes = BYTES;
            bytes[12..].copy_from_slice(&fields);
            if let Ok(summary) = read(&bytes) {
                prop_assert_eq!(&written(&summary)[..], &bytes[..]);
                prop_assert!(summary.skewness.abs() <= 1.0 && (0.0..=1.0).contains(&summary.loss));
            }
        }

        #[test]
        fn figures_keep_a_billionth(
            skewness in -1.0f64..=1.0, frequency in 0.0f64..=1.0, loss in 0.0f64..=1.0, bottleneck: bool,
        ) {
            let summary = DelaySummaryPacket { skewness, frequency, loss, bottleneck, ..SUMMARY };
            let again = read(&written(&summary)).expect("what was written can be read");
            for (one, other) in [(again.skewness, skewness), (again.frequency, frequency), (again.loss, loss)] {
                prop_assert!((one - other).abs() < 1e-9);
            }
            prop_assert_eq!((again.bottleneck, again.intervals), (bottleneck, 61));
        }
    }
}
