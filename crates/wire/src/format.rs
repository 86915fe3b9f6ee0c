//! The formats in which reports on packets travel as RTCP.

use crate::ccfb::{Feedback, RawFeedback, Rfc8888};
use crate::error::WireError;
use crate::rtcp::RtcpPacket;
use alloc::vec::Vec;
use paceline_cc::StreamId;
use paceline_units::Bytes;

/// A format of reports. To add one: a file with a type that implements this, and a line in `formats!`.
pub trait ReportFormat {
    /// Whether an RTCP packet is a report in this format.
    fn recognises(packet: &RtcpPacket<'_>) -> bool;

    /// Size of a report in one piece.
    fn size(feedback: &Feedback) -> Bytes;

    /// Appends a report to `out` as one RTCP packet or more, back to back, none larger than `limit`.
    ///
    /// # Errors
    /// If the report does not fit the format; `out` is then as it was.
    fn encode(
        feedback: &Feedback,
        sender_ssrc: u32,
        ssrc_of: impl Fn(StreamId) -> u32,
        limit: Bytes,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError>;

    /// Reads an RTCP packet into `raw`, which keeps its memory.
    ///
    /// # Errors
    /// If it is no report in this format, or contradicts itself; `raw` is then without blocks.
    fn decode(packet: &RtcpPacket<'_>, raw: &mut RawFeedback) -> Result<(), WireError>;
}

/// A line is: documentation, and `Format = "name in scenarios"`; the type that implements [`ReportFormat`] has the format's name.
macro_rules! formats {
    ($( $(#[$meta:meta])* $format:ident = $name:literal, )*) => {
        paceline_units::names! {
            /// How reports on packets are written.
            pub enum FeedbackFormat { $( $(#[$meta])* $format = $name, )* }
        }

        impl FeedbackFormat {
            /// As [`ReportFormat::recognises`].
            pub fn recognises(self, packet: &RtcpPacket<'_>) -> bool {
                match self { $( FeedbackFormat::$format => $format::recognises(packet), )* }
            }

            /// As [`ReportFormat::size`].
            #[inline]
            pub fn size(self, feedback: &Feedback) -> Bytes {
                match self { $( FeedbackFormat::$format => $format::size(feedback), )* }
            }

            /// As [`ReportFormat::encode`].
            ///
            /// # Errors
            /// As there.
            pub fn encode(
                self,
                feedback: &Feedback,
                sender_ssrc: u32,
                ssrc_of: impl Fn(StreamId) -> u32,
                limit: Bytes,
                out: &mut Vec<u8>,
            ) -> Result<(), WireError> {
                match self { $( FeedbackFormat::$format => $format::encode(feedback, sender_ssrc, ssrc_of, limit, out), )* }
            }

            /// As [`ReportFormat::decode`].
            ///
            /// # Errors
            /// As there.
            pub fn decode(self, packet: &RtcpPacket<'_>, raw: &mut RawFeedback) -> Result<(), WireError> {
                match self { $( FeedbackFormat::$format => $format::decode(packet, raw), )* }
            }
        }
    };
}

formats! {
    /// RFC 8888: for each packet whether it arrived, its ECN field, and when, in steps of 1/1024 s.
    Rfc8888 = "rfc8888",
}
