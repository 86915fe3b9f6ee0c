//! What comes back from the other side.

use crate::StreamId;
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};

/// A report from the receiver.
#[derive(Clone, Copy, Debug)]
pub enum Report<'a> {
    /// What happened to single packets.
    Packets(PacketsReport<'a>),
    /// The message of this algorithm's own receiver half.
    Receiver(ReceiverReport),
    /// CCID 3's feedback packet with its Loss Intervals.
    LossIntervals(LossIntervalsReport<'a>),
    /// What arrived, as [`Report::Packets`] or an interval says, and was not delivered at the other end host (DCCP's
    /// Data Dropped, RFC 4340 section 11.7). Told before the report of the same acknowledgement; each packet once.
    DataDropped(&'a [DroppedPacket]),
    /// The other end host asks not to be sent more than now for a round trip (RFC 4340 section 11.6). Told before the
    /// report of the same acknowledgement.
    SlowReceiver,
    /// What became of the acknowledgements themselves (RFC 4341 section 6.1.1).
    AckPath(AckPathReport),
}

/// Acknowledgements that the path back lost or marked, since this was told last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckPathReport {
    /// Packets without data that are lost; every lost packet, where nobody knows better.
    pub lost: u64,
    /// Packets without data that arrived with a mark.
    pub marked: u64,
}

/// A packet whose data did not reach the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DroppedPacket {
    /// Extended sequence number.
    pub sequence: u64,
    /// Why.
    pub code: DropCode,
}

/// Why data did not reach the application (RFC 4340 table 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropCode {
    /// 0: it was where no data may be.
    ProtocolConstraints,
    /// 1: nobody listens, and nobody will.
    NotListening,
    /// 2: no room at the receiver.
    ReceiveBuffer,
    /// 3, 7 and the reserved 4 to 6: as a mark. A receiver half is told of such a packet as marked.
    Corrupt,
}

impl DropCode {
    /// From the three bits on the wire.
    pub const fn from_bits(bits: u8) -> DropCode {
        match bits & 7 {
            0 => DropCode::ProtocolConstraints,
            1 => DropCode::NotListening,
            2 => DropCode::ReceiveBuffer,
            _ => DropCode::Corrupt,
        }
    }
}

/// CCID 3's feedback packet (RFC 4342 section 6).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossIntervalsReport<'a> {
    /// The newest first; at most [`LossInterval::MOST`] count.
    pub intervals: &'a [LossInterval],
    /// Rate at which data arrived since the last report (section 8.3).
    pub receive_rate: Bitrate,
    /// When the packet of the Acknowledgement Number was sent: the sender's transport remembers it (section 10.1).
    pub newest_sent: Time,
    /// From its arrival to this report (section 8.2).
    pub elapsed: TimeDelta,
}

/// A loss interval (RFC 4342 section 8.6.1), in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossInterval {
    /// Of the lossless part, 24 bits.
    pub lossless_length: u32,
    /// Of the lossy part, 23 bits.
    pub loss_length: u32,
    /// Packets with data, as they count for the loss event rate, 24 bits.
    pub data_length: u32,
}

impl LossInterval {
    /// As many as one option has room for.
    pub const MOST: usize = 28;
    /// The largest length in 24 bits.
    pub const LONGEST: u32 = (1 << 24) - 1;
    /// The largest lossy part.
    pub const LONGEST_LOSS: u32 = (1 << 23) - 1;

    /// All packets in it, data or not.
    pub const fn sequence_length(&self) -> u64 {
        self.lossless_length as u64 + self.loss_length as u64
    }
}

/// What the receiver said of single packets.
#[derive(Clone, Copy, Debug)]
pub struct PacketsReport<'a> {
    /// In order of sequence within a stream. Only packets that were sent appear.
    pub packets: &'a [PacketResult],
    /// The step of the receiver's clock; arrivals are multiples of it.
    pub clock_step: TimeDelta,
}

/// What the receiver said of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketResult {
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Extended sequence number.
    pub sequence: u64,
    /// Size on the link, transport header in.
    pub size: Bytes,
    /// When it was sent, by the sender's clock.
    pub sent: Time,
    /// What the receiver said.
    pub status: Status,
}

/// What the receiver said of a packet. `Missing` is no verdict: the packet may be late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Not there when the report was written.
    Missing,
    /// It arrived.
    Received {
        /// When, by the receiver's clock (any zero, same rate); absent if the receiver did not say.
        arrived: Option<Time>,
        /// Its mark on arrival.
        ecn: Ecn,
    },
}

/// The typed message of an algorithm's own receiver half.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ReceiverReport {
    /// TFRC (RFC 5348 section 3.2.2).
    Tfrc {
        /// Loss event rate, 0 to 1.
        loss_event_rate: f64,
        /// Rate at which data arrived since the last report.
        receive_rate: Bitrate,
        /// Send time of the newest packet that arrived.
        newest_sent: Time,
        /// From its arrival to this report.
        delay: TimeDelta,
    },
    /// CCID 3 (RFC 4342 section 6); its Loss Intervals stand in [`crate::ReceiverHalf::loss_intervals`].
    Ccid3 {
        /// Loss event rate, 0 to 1 (section 8.5).
        loss_event_rate: f64,
        /// Rate at which data arrived since the last report (section 8.3).
        receive_rate: Bitrate,
        /// Send time of the packet with the highest number that arrived; absent if packets do not say. Then the sender's
        /// transport adds it: it knows when it sent the packet of the Acknowledgement Number.
        newest_sent: Option<Time>,
        /// From its arrival to this report (section 8.2).
        elapsed: TimeDelta,
    },
    /// Receiver-estimated maximum bitrate.
    Remb {
        /// The estimate.
        bitrate: Bitrate,
    },
}
