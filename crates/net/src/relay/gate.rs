//! Where a relay's packets come in and leave: what relays share that read no transport.

use super::packet::RelayedPacket;
use crate::NetError;
use crate::clock::Moment;
use crate::output::NetCounters;
use crate::socket::{Datagram, Inbox};
use paceline_units::{Bytes, Ecn, Time};
use std::os::fd::BorrowedFd;

/// One of a relay's two sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Where the scenario's path begins.
    Left,
    /// Where it ends.
    Right,
}

impl Side {
    pub(crate) const BOTH: [Side; 2] = [Side::Left, Side::Right];

    /// The other one.
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    /// Its name, as people say it.
    pub fn name(self) -> &'static str {
        match self {
            Side::Left => "left",
            Side::Right => "right",
        }
    }
}

/// A packet that came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    /// Its place in the inbox.
    pub place: usize,
    /// How many bytes it has.
    pub length: usize,
    pub ecn: Ecn,
    pub arrived: Moment,
    /// Number of its flow: packets of different flows have different numbers, nearly always.
    pub flow: usize,
}

impl Incoming {
    /// A datagram by its place in the inbox.
    pub fn new(place: usize, datagram: &Datagram<'_>, flow: usize) -> Incoming {
        let (length, ecn, arrived) = (datagram.bytes.len(), datagram.ecn, datagram.arrived);
        Incoming { place, length, ecn, arrived, flow }
    }
}

/// Takes packets in at two sides and lets them out there.
pub(crate) trait Gate {
    /// Reads packets that have come in at a side: their bytes into `inbox`, and those that go on into `incoming`. A packet that goes
    /// nowhere is counted. False if nothing is left there.
    fn read(
        &mut self,
        side: Side,
        now: Time,
        inbox: &mut Inbox,
        incoming: &mut Vec<Incoming>,
        counters: &mut NetCounters,
    ) -> Result<bool, NetError>;

    /// Lets a packet out at a side, at the latest with the next [`Gate::flush`], and counts it.
    fn send(&mut self, side: Side, packet: &mut RelayedPacket, counters: &mut NetCounters);

    /// Lets what waits to leave with others leave.
    fn flush(&mut self, counters: &mut NetCounters);

    /// The sockets to wait for.
    fn sockets(&self) -> Vec<BorrowedFd<'_>>;

    /// Bytes that a packet takes on links beside its own, where the scenario's flow adds `overhead`.
    fn overhead(&self, overhead: Bytes) -> Bytes;

    /// Whether the run begins without a packet.
    fn begins(&self) -> bool {
        false
    }

    /// Whether who talked through the relay is done. Asked often.
    fn is_done(&mut self) -> bool {
        false
    }

    /// Error of a relay to which nothing came for `seconds`.
    fn nothing_came(&self, seconds: f64) -> NetError;

    /// Takes everything down, and says what was odd.
    fn close(self, counters: &mut NetCounters) -> Vec<String>;
}
