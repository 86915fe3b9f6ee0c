//! Reports from the other side.

use crate::StreamId;
use crate::ccid::CcidReport;
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

/// A report from the receiver.
#[derive(Clone, Copy, Debug)]
pub enum Report<'a> {
    /// The fate of single packets.
    Packets(PacketsReport<'a>),
    /// The message of this algorithm's own receiver half.
    Receiver(ReceiverReport),
    /// DCCP's further reports.
    Ccid(CcidReport<'a>),
    /// Routers' feedback in the congestion headers of the packets that an acknowledgement covers, in bytes per second: the sum of changes of
    /// the rate, or the newest rate ([`paceline_units::Feedback`]). Absent where no router wrote. The report on the packets follows.
    Congestion(Option<f64>),
}

/// The receiver's report on single packets.
#[derive(Clone, Copy, Debug)]
pub struct PacketsReport<'a> {
    /// In order of sequence within a stream. Only packets that were sent appear.
    pub packets: &'a [PacketResult],
    /// The step of the receiver's clock; arrivals are multiples of it.
    pub clock_step: TimeDelta,
    /// Whether no round trip follows from these packets: an acknowledgement covers one that was sent again, or some that
    /// arrived before a hole was filled and were not told until then (Karn's rule, RFC 6298 section 3).
    pub ambiguous: bool,
}

impl<'a> PacketsReport<'a> {
    /// Results of the packets of the stream with this number.
    #[inline]
    pub fn of_stream(&self, stream: usize) -> impl Iterator<Item = &'a PacketResult> + use<'a> {
        self.packets.iter().filter(move |packet| usize::from(packet.stream.0) == stream)
    }
}

/// The receiver's report on one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketResult {
    /// Stream of the packet.
    pub stream: StreamId,
    /// Extended sequence number.
    pub sequence: u64,
    /// Size on the link, transport header in.
    pub size: Bytes,
    /// Time of sending by the sender's clock.
    pub sent: Time,
    /// Whether and how the packet arrived, as the receiver said.
    pub status: Status,
}

/// The receiver's word on a packet. `Missing` is no verdict: the packet may be late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// The packet had not arrived when the report was written.
    Missing,
    /// The packet arrived.
    Received {
        /// Time of arrival by the receiver's clock (any zero, same rate); absent if the receiver did not say.
        arrived: Option<Time>,
        /// ECN field on arrival.
        ecn: Ecn,
    },
}

/// The typed message of an algorithm's own receiver half.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ReceiverReport {
    /// TFRC's feedback packet (RFC 5348 section 3.2.2).
    Tfrc {
        /// Loss event rate, 0 to 1.
        loss_event_rate: f64,
        /// Rate at which data arrived since the last report.
        receive_rate: Bitrate,
        /// Send time of the newest packet that arrived; absent if packets do not say. Then the sender's transport adds
        /// it: it knows when it sent the packet that is acknowledged.
        newest_sent: Option<Time>,
        /// Time from the arrival of that packet to this report.
        delay: TimeDelta,
    },
    /// Receiver-estimated maximum bitrate.
    Remb {
        /// Bitrate that the receiver estimates the path to carry.
        bitrate: Bitrate,
    },
}
