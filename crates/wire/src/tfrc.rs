//! The messages of TFRC's two halves over RTP (RFC 5348 sections 3.2.1 and 3.2.2): a header extension on each data packet,
//! and an RTCP APP packet (RFC 3550 section 6.7) as the receiver's report. RFC 5348 names the fields and gives no form for RTP;
//! an expired draft on RTP with TFRC (draft-gharai-avtcore-rtp-tfrc-01) has the same fields in an extension and in feedback of
//! RTP/AVPF, with numbers that were never assigned. This form is ours.
//!
//! The extension is one element of RFC 8285's one-byte form, with the local identifier 1:
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |         profile = 0xBEDE      |           length = 3          |
//! | ID=1  | len=9 |      send time, nanoseconds modulo 2^48
//!                                                 |  round-trip
//!    time in microseconds, 0: none                |       0       |
//! ```
//!
//! The report:
//!
//! ```text
//! |V=2|P|subtype=1|   PT=APP=204  |           length = 8          |
//! |                     SSRC of the packet's sender               |
//! |                          name = "TFRC"                        |
//! |                    SSRC of the stream it is of                |
//! |               0               | send time of the newest packet
//!                        as its extension says                    |
//! |     t_delay: from its arrival to this report, microseconds    |
//! |                      X_recv in bytes per second               |
//! |                   loss event rate p in 2^-32                  |
//! ```
//!
//! A rate of loss events of 1 is written as 1 - 2^-32; a longer delay and a larger rate than fit as the largest that do.

use crate::error::{WireError, field};
use crate::extension::ONE_BYTE;
use crate::rtcp::{HEADER, RtcpPacket};
use crate::rtp::RtpExtension;
use alloc::vec::Vec;
use paceline_units::{Bitrate, Time, TimeDelta};

/// RTCP packet type: application-defined (RFC 3550 section 6.7).
pub const PACKET_TYPE: u8 = 204;
/// The first form of the report.
pub const SUBTYPE: u8 = 1;
/// Name of the APP packet.
pub const NAME: [u8; 4] = *b"TFRC";
/// Bytes of the report, RTCP header in.
pub const SIZE: usize = HEADER + BODY;
/// Bytes of the header extension, its own header in.
pub const EXTENSION: usize = 16;

/// SSRC of the sender, name, SSRC of the stream, two words of time, and three fields.
const BODY: usize = 8 * 4;
/// The local identifier of the element, and its length less one, as its first byte has them.
const ELEMENT: u8 = 1 << 4 | (CONTENT as u8 - 1);
/// Bytes of the element after its first.
const CONTENT: usize = 10;
/// The bits of a send time that are written.
const SENT_MASK: u64 = (1 << 48) - 1;
/// The number for 1 in a rate of loss events.
const P_ONE: f64 = 4_294_967_296.0;

/// A send time as it is written: the low 48 bits of the nanoseconds of the sender's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendTime(u64);

impl SendTime {
    /// How `sent` is written.
    pub fn of(sent: Time) -> SendTime {
        SendTime(sent.as_nanos() & SENT_MASK)
    }

    /// A time of the sender's clock with these bits, whichever turn of 78 hours it is of: for who does nothing but repeat it.
    pub fn low(self) -> Time {
        Time::from_nanos(self.0)
    }

    /// The newest time up to `now` that is written so; none if the sender's clock has not shown any.
    pub fn until(self, now: Time) -> Option<Time> {
        let behind = now.as_nanos().wrapping_sub(self.0) & SENT_MASK;
        now.as_nanos().checked_sub(behind).map(Time::from_nanos)
    }
}

/// Fields of a TFRC sender's data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// When it was sent.
    pub sent: SendTime,
    /// The sender's round-trip time in whole microseconds; absent before it knows one.
    pub rtt: Option<TimeDelta>,
}

impl Stamp {
    /// The header extension, its own header in. A round-trip time of more than 71 minutes is written as that.
    pub fn extension(&self) -> [u8; EXTENSION] {
        let mut bytes = [0; EXTENSION];
        bytes[..2].copy_from_slice(&ONE_BYTE.to_be_bytes());
        bytes[3] = (EXTENSION as u8 - 4) / 4;
        bytes[4] = ELEMENT;
        bytes[5..11].copy_from_slice(&self.sent.0.to_be_bytes()[2..]);
        let rtt = self.rtt.map_or(0, |rtt| micros(rtt).max(1));
        bytes[11..15].copy_from_slice(&rtt.to_be_bytes());
        bytes
    }

    /// The stamp of an extension; none if it has none of this form. Elements of other identifiers are passed over (RFC 8285
    /// section 4.2).
    pub fn read(extension: &RtpExtension<'_>) -> Option<Stamp> {
        let [s0, s1, s2, s3, s4, s5, r0, r1, r2, r3] = extension.element(ELEMENT >> 4)?.try_into().ok()?;
        let rtt = u32::from_be_bytes([r0, r1, r2, r3]);
        Some(Stamp {
            sent: SendTime(u64::from_be_bytes([0, 0, s0, s1, s2, s3, s4, s5])),
            rtt: (rtt > 0).then(|| TimeDelta::from_micros(rtt.into())),
        })
    }
}

/// TFRC's report as its bytes say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TfrcReport {
    /// SSRC of the RTCP packet's sender, who receives the flow.
    pub sender_ssrc: u32,
    /// SSRC of a stream of the flow.
    pub ssrc: u32,
    /// Send time of the newest packet that arrived, as it said it.
    pub newest_sent: SendTime,
    /// Time from its arrival to this report, in whole microseconds (`t_delay`).
    pub delay: TimeDelta,
    /// Rate at which data arrives, in whole bytes per second (`X_recv`).
    pub receive_rate: Bitrate,
    /// Loss event rate, 0 to 1 (`p`).
    pub loss_event_rate: f64,
}

/// Whether an RTCP packet is a report of TFRC's.
pub fn is_report(packet: &RtcpPacket<'_>) -> bool {
    packet.packet_type == PACKET_TYPE && packet.count == SUBTYPE && packet.body.get(4..8) == Some(&NAME[..])
}

/// Reads a report.
///
/// # Errors
/// Another packet, another size, or bits that are reserved.
pub fn decode_packet(packet: &RtcpPacket<'_>) -> Result<TfrcReport, WireError> {
    if !is_report(packet) {
        let (what, expected) = ("RTCP packet type", "204 (APP) with subtype 1 and the name TFRC");
        return Err(WireError::Unexpected { what, at: 1, found: packet.packet_type.into(), expected });
    }
    if packet.body.len() != BODY {
        let what = "bytes of a TFRC report, without RTCP header";
        let (found, size) = (packet.body.len() as u64, BODY as u64);
        return Err(WireError::Range { what, found, min: size, max: size });
    }
    let word = |index: usize, what| field(packet.body, index * 4, what).map(u32::from_be_bytes);
    let sent = u64::from(word(3, "send time")?) << 32 | u64::from(word(4, "send time")?);
    if sent > SENT_MASK {
        let (what, at, expected) = ("reserved bits of a TFRC report", HEADER + 3 * 4, "0");
        return Err(WireError::Unexpected { what, at, found: sent >> 48, expected });
    }
    Ok(TfrcReport {
        sender_ssrc: word(0, "SSRC of the sender")?,
        ssrc: word(2, "SSRC of the stream")?,
        newest_sent: SendTime(sent),
        delay: TimeDelta::from_micros(word(5, "delay")?.into()),
        receive_rate: Bitrate::from_bps(u64::from(word(6, "receive rate")?) * 8),
        loss_event_rate: f64::from(word(7, "loss event rate")?) / P_ONE,
    })
}

/// Appends a report to `bytes`. Figures outside their ranges are written as the nearest that fits, and what is no number as
/// zero.
pub fn encode(report: &TfrcReport, bytes: &mut Vec<u8>) {
    // A conversion from a floating-point number saturates, and makes zero of what is none.
    let p = (report.loss_event_rate * P_ONE) as u32;
    let rate = u32::try_from(report.receive_rate.as_bps() / 8).unwrap_or(u32::MAX);
    bytes.extend([0x80 | SUBTYPE, PACKET_TYPE]);
    bytes.extend((SIZE as u16 / 4 - 1).to_be_bytes());
    bytes.extend(report.sender_ssrc.to_be_bytes());
    bytes.extend(NAME);
    bytes.extend(report.ssrc.to_be_bytes());
    bytes.extend(report.newest_sent.0.to_be_bytes());
    bytes.extend([micros(report.delay), rate, p].into_iter().flat_map(u32::to_be_bytes));
}

/// Whole microseconds, as many as fit.
fn micros(span: TimeDelta) -> u32 {
    u32::try_from(span.as_nanos().max(0) / 1000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{rtcp, rtp};
    use proptest::prelude::*;

    const REPORT: TfrcReport = TfrcReport {
        sender_ssrc: 0x0102_0304,
        ssrc: 0x0506_0708,
        newest_sent: SendTime(0x0a0b_0c0d_0e0f),
        delay: TimeDelta::from_micros(258),
        receive_rate: Bitrate::from_bps(8 * 125_000),
        loss_event_rate: 0.25,
    };

    #[rustfmt::skip]
    const BYTES: [u8; SIZE] = [
        0x81, 204, 0, 8, 1, 2, 3, 4, b'T', b'F', b'R', b'C', 5, 6, 7, 8,
        0, 0, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0, 0, 1, 2, 0, 1, 0xe8, 0x48, 0x40, 0, 0, 0,
    ];

    fn written(report: &TfrcReport) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(report, &mut bytes);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<TfrcReport, WireError> {
        decode_packet(&rtcp::first(bytes)?)
    }

    fn nanos(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn a_report_is_these_bytes() {
        assert_eq!(written(&REPORT), BYTES);
        assert_eq!(read(&BYTES), Ok(REPORT));
    }

    #[test]
    fn a_stamp_is_these_bytes_and_is_found_among_others() {
        let stamp =
            Stamp { sent: SendTime(0x0102_0304_0506), rtt: Some(TimeDelta::from_micros(0x0708_090a)) };
        let bytes = stamp.extension();
        assert_eq!(bytes, [0xbe, 0xde, 0, 3, 0x19, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0]);
        let read = |profile, data: &[u8]| Stamp::read(&RtpExtension { profile, data });
        assert_eq!(read(0xbede, &bytes[4..]), Some(stamp));
        assert_eq!(read(0x1000, &bytes[4..]), None, "the two-byte form is another");
        let mut among = alloc::vec![0, 0x20, 77, 0];
        among.extend(&bytes[4..15]);
        assert_eq!(read(0xbede, &among), Some(stamp), "padding and another element before");
        assert_eq!(read(0xbede, &bytes[4..10]), None, "cut short");
        assert_eq!(read(0xbede, &[0x18, 1, 2, 3, 4, 5, 6, 7, 8, 9]), None, "another length");
        assert_eq!(read(0xbede, &[&[0xf0, 0][..], &bytes[4..]].concat()), None, "behind the end");
        let unknown = Stamp { rtt: None, ..stamp };
        assert_eq!(read(0xbede, &unknown.extension()[4..]), Some(unknown));
    }

    #[test]
    fn a_packet_with_a_stamp_is_rtp_with_the_same_payload() {
        let stamp = Stamp { sent: SendTime(7), rtt: None };
        let header = rtp::RtpHeaderFields { payload_type: 98, sequence: 5, ..Default::default() };
        let mut bytes = Vec::new();
        rtp::encode_extended(&header, &stamp.extension(), 100, 0, &mut bytes).expect("a payload type");
        let view = rtp::decode(&bytes).expect("sound");
        assert_eq!((view.payload.len(), bytes.len()), (100, rtp::HEADER + EXTENSION + 100));
        assert_eq!(Stamp::read(&view.extension.expect("an extension")), Some(stamp));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_place() {
        let with = |at: usize, value: u8| {
            let mut bytes = BYTES;
            bytes[at] = value;
            read(&bytes).map_err(|error| alloc::string::ToString::to_string(&error))
        };
        for (at, value, expected) in [
            (0, 0x82, "subtype 1"),
            (1, 205, "204 (APP)"),
            (3, 7, "bytes of a TFRC report"),
            (3, 9, "cut short"),
            (11, b'c', "name TFRC"),
            (17, 1, "reserved bits of a TFRC report at byte 16"),
        ] {
            let error = with(at, value).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_is_written_as_the_nearest_that_can() {
        let tamed = |report: TfrcReport| read(&written(&report)).expect("it can be read");
        let wild = TfrcReport {
            delay: TimeDelta::from_secs(-1),
            receive_rate: Bitrate::from_bps(u64::MAX),
            loss_event_rate: f64::NAN,
            ..REPORT
        };
        let found = tamed(wild);
        assert_eq!((found.delay, found.receive_rate.as_bps()), (TimeDelta::ZERO, 8 * u64::from(u32::MAX)));
        assert_eq!(found.loss_event_rate, 0.0);
        let found = tamed(TfrcReport { loss_event_rate: 1.0, delay: TimeDelta::from_secs(10_000), ..REPORT });
        assert_eq!((found.loss_event_rate, found.delay.as_nanos()), (1.0 - 1.0 / P_ONE, 4_294_967_295_000));
        let low = tamed(TfrcReport { loss_event_rate: -3.0, ..REPORT });
        assert_eq!(low.loss_event_rate, 0.0);
    }

    #[test]
    fn a_send_time_is_the_newest_that_it_can_be() {
        let turn = SENT_MASK + 1;
        let sent = SendTime::of(nanos(3 * turn + 5));
        assert_eq!(sent.until(nanos(3 * turn + 5)), Some(nanos(3 * turn + 5)));
        assert_eq!(sent.until(nanos(4 * turn + 4)), Some(nanos(3 * turn + 5)));
        assert_eq!(sent.until(nanos(4)), None, "a time that has not come");
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_written_again_as_they_were(
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
            fields in proptest::collection::vec(any::<u8>(), 24),
        ) {
            let _ = read(&bytes);
            let _ = Stamp::read(&RtpExtension { profile: ONE_BYTE, data: &bytes });
            let mut bytes = BYTES;
            bytes[12..].copy_from_slice(&fields);
            bytes[16..18].copy_from_slice(&[0, 0]);
            let report = read(&bytes).expect("every field fits");
            prop_assert_eq!(&written(&report)[..], &bytes[..]);
            prop_assert!((0.0..1.0).contains(&report.loss_event_rate) && !report.delay.is_negative());
        }

        #[test]
        fn a_stamp_is_read_as_it_was_written(sent in 0..=SENT_MASK, rtt in 0u32.., now: u64) {
            let rtt = (rtt > 0).then(|| TimeDelta::from_micros(rtt.into()));
            let stamp = Stamp { sent: SendTime(sent), rtt };
            let data = &stamp.extension()[4..];
            prop_assert_eq!(Stamp::read(&RtpExtension { profile: ONE_BYTE, data }), Some(stamp));
            if let Some(time) = stamp.sent.until(nanos(now)) {
                prop_assert!(time <= nanos(now) && SendTime::of(time) == stamp.sent);
            }
        }
    }
}
