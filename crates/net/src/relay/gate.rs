//! Where a relay's packets come in and leave: what relays share that read no transport.

use super::packet::RelayedPacket;
use crate::NetError;
use crate::clock::Moment;
use crate::output::NetCounters;
use crate::socket::Inbox;
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

/// What reading at a side came to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taken {
    /// Nothing is left there.
    Nothing,
    /// A packet that goes nowhere, and was counted.
    Refused,
    /// A packet, whose bytes are in the inbox.
    Packet(Incoming),
}

/// A packet that came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    /// How many bytes it has.
    pub length: usize,
    pub ecn: Ecn,
    pub arrived: Moment,
    /// Number of its flow: packets of different flows have different numbers, nearly always.
    pub flow: usize,
}

/// Takes packets in at two sides and lets them out there.
pub(crate) trait Gate {
    /// The next packet that has come in at a side.
    fn read(
        &mut self,
        side: Side,
        now: Time,
        inbox: &mut Inbox,
        counters: &mut NetCounters,
    ) -> Result<Taken, NetError>;

    /// Lets a packet out at a side. Answers whether it left.
    fn send(&mut self, side: Side, packet: &mut RelayedPacket) -> bool;

    /// What to wait for.
    fn sockets(&self) -> Vec<BorrowedFd<'_>>;

    /// What a packet takes on links beside its bytes, where the scenario's flow adds `overhead`.
    fn overhead(&self, overhead: Bytes) -> Bytes;

    /// Whether the run begins without a packet.
    fn begins(&self) -> bool {
        false
    }

    /// Whether who talked through the relay is done. Asked often.
    fn is_done(&mut self) -> bool {
        false
    }

    /// That nothing came in for so long.
    fn nothing_came(&self, seconds: f64) -> NetError;

    /// Takes everything down, and says what was odd.
    fn close(self, counters: &mut NetCounters) -> Vec<String>;
}
