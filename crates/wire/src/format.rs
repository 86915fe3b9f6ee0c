//! The formats in which reports on packets travel as RTCP.

use crate::ccfb::{CountForm, Feedback, Rfc8888};
use crate::error::WireError;
use crate::rtcp::RtcpPacket;
use crate::twcc::Twcc;
use alloc::vec::Vec;
use paceline_cc::StreamId;
use paceline_units::{Bytes, Time};

/// Stands for the stream of a block whose numbers are those that all packets of a transport share.
pub const TRANSPORT_WIDE: StreamId = StreamId(u8::MAX);

/// The writer of reports: the facts that a format needs of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reporter {
    /// SSRC of the reports' sender.
    pub ssrc: u32,
    /// Reports that it has written, modulo 256: formats that count them go on from here.
    pub written: u8,
    /// How it counts the packets of a block of RFC 8888.
    pub form: CountForm,
}

/// Assumed time of a receiver's clock before anything is known of it: one and a half turns of the field that wraps last, TWCC's
/// reference time, so that whatever a report says is a time after the clock's zero, and the clock may be set back.
const UNKNOWN_CLOCK: Time = Time::from_nanos((1 << 24) * 3 / 2 * crate::twcc::REFERENCE_STEP_NANOS);

/// A format of reports. To add one: a file with a type that implements this, and a line in `formats!`.
pub trait ReportFormat {
    /// A report as its bytes say.
    type Raw: Clone + core::fmt::Debug + Default;

    /// Whether reports tell of numbers that all packets of a transport share ([`TRANSPORT_WIDE`]), not of each stream's.
    const TRANSPORT_WIDE: bool;
    /// Whether reports tell the ECN field of each packet.
    const ECN: bool;
    /// Steps of the arrival times in a second.
    const TICKS_PER_SECOND: u32;

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
        reporter: &mut Reporter,
        ssrc_of: impl Fn(StreamId) -> u32,
        limit: Bytes,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError>;

    /// Reads an RTCP packet into `raw`, which keeps its memory.
    ///
    /// # Errors
    /// If it is no report in this format, or contradicts itself; `raw` then tells of no packet.
    fn decode(packet: &RtcpPacket<'_>, raw: &mut Self::Raw) -> Result<(), WireError>;

    /// Turns a report into one whose numbers do not wrap, in `out`, which keeps its memory, and answers how many of its streams
    /// `stream_of` does not know. The receiver's clock is expected to show `expected`. `extend` makes a number of a stream, or
    /// of the transport, one that does not wrap.
    ///
    /// # Errors
    /// A time before the clock's zero. `out` is then empty.
    fn complete(
        raw: &Self::Raw,
        expected: Time,
        stream_of: impl FnMut(u32) -> Option<StreamId>,
        extend: impl FnMut(StreamId, u16) -> Option<u64>,
        out: &mut Feedback,
    ) -> Result<u64, WireError>;
}

/// A line is: documentation, and `Format = "name in scenarios"`; the type that implements [`ReportFormat`] has the format's name.
macro_rules! formats {
    ($( $(#[$meta:meta])* $format:ident = $name:literal, )*) => {
        paceline_units::names! {
            /// How reports on packets are written.
            pub enum FeedbackFormat { $( $(#[$meta])* $format = $name, )* }
        }

        /// A report as its bytes say, in any format.
        #[derive(Clone, Debug)]
        pub enum RawReport {
            $( #[doc = concat!("One in the format `", $name, "`.")] $format(<$format as ReportFormat>::Raw), )*
        }

        impl FeedbackFormat {
            /// As [`ReportFormat::TRANSPORT_WIDE`].
            pub const fn is_transport_wide(self) -> bool {
                match self { $( FeedbackFormat::$format => $format::TRANSPORT_WIDE, )* }
            }

            /// As [`ReportFormat::ECN`].
            pub const fn tells_ecn(self) -> bool {
                match self { $( FeedbackFormat::$format => $format::ECN, )* }
            }

            /// As [`ReportFormat::TICKS_PER_SECOND`].
            pub const fn ticks_per_second(self) -> u32 {
                match self { $( FeedbackFormat::$format => $format::TICKS_PER_SECOND, )* }
            }

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
            /// The errors of [`ReportFormat::encode`].
            pub fn encode(
                self,
                feedback: &Feedback,
                reporter: &mut Reporter,
                ssrc_of: impl Fn(StreamId) -> u32,
                limit: Bytes,
                out: &mut Vec<u8>,
            ) -> Result<(), WireError> {
                match self { $( FeedbackFormat::$format => $format::encode(feedback, reporter, ssrc_of, limit, out), )* }
            }

            /// An empty report in this format, to read into.
            pub fn raw(self) -> RawReport {
                match self { $( FeedbackFormat::$format => RawReport::$format(Default::default()), )* }
            }
        }

        impl RawReport {
            /// As [`ReportFormat::decode`].
            ///
            /// # Errors
            /// The errors of [`ReportFormat::decode`].
            pub fn decode(&mut self, packet: &RtcpPacket<'_>) -> Result<(), WireError> {
                match self { $( RawReport::$format(raw) => $format::decode(packet, raw), )* }
            }

            /// As [`ReportFormat::complete`], where nothing may be expected yet of the receiver's clock.
            ///
            /// # Errors
            /// The errors of [`ReportFormat::complete`].
            pub fn complete(
                &self,
                expected: Option<Time>,
                stream_of: impl FnMut(u32) -> Option<StreamId>,
                extend: impl FnMut(StreamId, u16) -> Option<u64>,
                out: &mut Feedback,
            ) -> Result<u64, WireError> {
                let expected = expected.unwrap_or(UNKNOWN_CLOCK);
                match self { $( RawReport::$format(raw) => $format::complete(raw, expected, stream_of, extend, out), )* }
            }
        }
    };
}

formats! {
    /// RFC 8888: for each packet whether it arrived, its ECN field, and when, in steps of 1/1024 s.
    Rfc8888 = "rfc8888",
    /// Transport-wide congestion control: for each packet of the transport whether it arrived, and when, in steps of 250 us.
    Twcc = "twcc",
}
