//! Reports to DCCP's controllers alone, beside the reports that every controller knows.

use crate::ReceiverHalf;
use paceline_units::{Bitrate, Time, TimeDelta};

/// Reports of DCCP beside [`crate::Report::Packets`] and [`crate::Report::Receiver`].
#[derive(Clone, Copy, Debug)]
pub enum CcidReport<'a> {
    /// CCID 3's feedback packet with its Loss Intervals.
    LossIntervals(LossIntervalsReport<'a>),
    /// Packets that arrived at the other end host and were not delivered to its application (Data Dropped, RFC 4340
    /// section 11.7). Told before the report of the same acknowledgement; each packet once.
    DataDropped(&'a [DroppedPacket]),
    /// The other end host asks not to be sent more than now for a round trip (RFC 4340 section 11.6). Told before the
    /// report of the same acknowledgement.
    SlowReceiver,
    /// The fate of the acknowledgements themselves (RFC 4341 section 6.1.1).
    AckPath(AckPathReport),
}

/// The receiver half of a CCID: acknowledgements have numbers of the same sequence as data.
pub trait CcidReceiver: ReceiverHalf {
    /// A packet without data arrived. True asks for a report at once.
    fn on_non_data(&mut self, now: Time, sequence: u64) -> bool;

    /// The loss intervals as of the last report (RFC 4342 section 8.6).
    fn loss_intervals(&self) -> LossIntervals<'_>;
}

/// The contents of CCID 3's Loss Intervals option.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossIntervals<'a> {
    /// Skip Length: how many of the highest numbers, the Acknowledgement Number's among them, are in no interval yet.
    pub skip_length: u8,
    /// The loss intervals, the newest first, at most [`LossInterval::MOST`].
    pub intervals: &'a [LossInterval],
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
    /// Extended sequence number of the packet.
    pub sequence: u64,
    /// Reason why the data did not reach the application.
    pub code: DropCode,
}

/// Why data did not reach the application, by the number on the wire (RFC 4340 table 7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum DropCode {
    /// The protocol allows no data there.
    ProtocolConstraints = 0,
    /// The application does not listen, and will not.
    NotListening = 1,
    /// The receiver had no room.
    ReceiveBuffer = 2,
    /// The data was corrupt. Controllers take it for a mark, and a receiver half is told of the packet as marked.
    Corrupt = 3,
    /// The data was corrupt and was delivered nevertheless.
    DeliveredCorrupt = 7,
}

impl DropCode {
    /// The drop code of the three bits on the wire; the reserved ones, 4 to 6, count as corrupt.
    pub const fn from_bits(bits: u8) -> DropCode {
        match bits & 7 {
            0 => DropCode::ProtocolConstraints,
            1 => DropCode::NotListening,
            2 => DropCode::ReceiveBuffer,
            7 => DropCode::DeliveredCorrupt,
            _ => DropCode::Corrupt,
        }
    }
}

/// CCID 3's feedback packet (RFC 4342 section 6).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossIntervalsReport<'a> {
    /// The loss intervals, the newest first; at most [`LossInterval::MOST`] count.
    pub intervals: &'a [LossInterval],
    /// Rate at which data arrived since the last report (section 8.3).
    pub receive_rate: Bitrate,
    /// When the packet of the Acknowledgement Number was sent: the sender's transport remembers it (section 10.1).
    pub newest_sent: Time,
    /// Time from the arrival of that packet to this report (section 8.2).
    pub elapsed: TimeDelta,
}

/// A loss interval (RFC 4342 section 8.6.1), in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossInterval {
    /// Length of the lossless part, 24 bits.
    pub lossless_length: u32,
    /// Length of the lossy part, 23 bits.
    pub loss_length: u32,
    /// Packets with data, as they count for the loss event rate, 24 bits.
    pub data_length: u32,
}

impl LossInterval {
    /// The number of loss intervals that one option has room for.
    pub const MOST: usize = 28;
    /// The largest length that 24 bits hold.
    pub const LONGEST: u32 = (1 << 24) - 1;
    /// The largest length that the 23 bits of the lossy part hold.
    pub const LONGEST_LOSS: u32 = (1 << 23) - 1;

    /// Packets in the interval, data or not.
    pub const fn sequence_length(&self) -> u64 {
        self.lossless_length as u64 + self.loss_length as u64
    }
}
