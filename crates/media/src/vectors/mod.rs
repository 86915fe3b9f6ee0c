//! Connection vectors: what two applications say to each other over one TCP connection, in the style of Tmix (Weigle et
//! al., SIGCOMM CCR 36(3), 2006).
//!
//! A vector says when its connection begins, the round trip and the windows of its two sides, and which data units they
//! exchange with which waits between. The side that initiates, a browser say, is the [`Side::Initiator`]; the other one is the
//! [`Side::Acceptor`]. [`ConnectionVectors::parse`] reads Tmix's files, [`web_vectors`] draws pages of the web.

mod read;
mod web;
mod write;

pub use web::{WebParams, web_vectors};

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;
use paceline_units::{Bytes, TimeDelta};

/// A side of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The side that opens the connection.
    Initiator,
    /// The side that accepts the connection.
    Acceptor,
}

impl Side {
    /// The side across.
    #[inline]
    pub const fn other(self) -> Side {
        match self {
            Side::Initiator => Side::Acceptor,
            Side::Acceptor => Side::Initiator,
        }
    }

    /// The place of the side in a pair: initiator, acceptor.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The event that a side waits for before it hands a data unit to TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// This long since it handed over its unit before; for its first unit, since the connection began.
    AfterSent(TimeDelta),
    /// This long since every unit of the other side before this one has arrived.
    AfterReceived(TimeDelta),
}

/// An application data unit (ADU): what a side hands to TCP at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataUnit {
    /// The side that sends the unit.
    pub side: Side,
    /// When the unit is handed over.
    pub wait: Wait,
    /// Payload; 0 stands for the closing of the connection, the last thing that a side does.
    pub size: Bytes,
}

/// The data units of the two sides of one connection, in order.
#[derive(Clone, PartialEq, Debug)]
pub struct ConnectionVector {
    /// When the connection begins, from the beginning of the file.
    pub start: TimeDelta,
    /// Number of the connection in the recording that it comes from.
    pub id: u64,
    /// Whether both sides send by their own clocks (Tmix: concurrent), or one answers the other (sequential).
    pub concurrent: bool,
    /// Receive window that each side advertises: initiator, acceptor.
    pub windows: [Bytes; 2],
    /// Largest segment of each side, payload, where the file says so.
    pub mss: Option<[Bytes; 2]>,
    /// Smallest round trip between the sides.
    pub rtt: TimeDelta,
    /// Ratio of packets lost on the way to the acceptor, and on the way to the initiator.
    pub loss: [f64; 2],
    /// The data units in the order of the file.
    pub units: Vec<DataUnit>,
}

impl ConnectionVector {
    /// Payload that `side` sends.
    pub fn payload(&self, side: Side) -> Bytes {
        self.units.iter().filter(|unit| unit.side == side).map(|unit| unit.size).sum()
    }
}

/// Connection vectors in the order in which they begin. Cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub struct ConnectionVectors {
    vectors: Arc<[ConnectionVector]>,
    warnings: Vec<String>,
}

impl ConnectionVectors {
    /// The most connections of a file.
    pub const MOST: usize = 1_000_000;

    /// The most data units of a file, closings in: a guard of memory.
    pub const MOST_UNITS: usize = 10_000_000;

    /// These vectors; those that begin at the same time stay in their order.
    pub fn new(mut vectors: Vec<ConnectionVector>) -> ConnectionVectors {
        vectors.sort_by_key(|vector| vector.start);
        ConnectionVectors { vectors: vectors.into(), warnings: Vec::new() }
    }

    /// Number of data units, closings apart.
    pub fn data_units(&self) -> u64 {
        self.iter().flat_map(|vector| &vector.units).filter(|unit| unit.size > Bytes::ZERO).count() as u64
    }

    /// Payload that all initiators send, and all acceptors.
    pub fn payload(&self) -> [Bytes; 2] {
        let of = |side| self.iter().map(|vector| vector.payload(side)).sum();
        [of(Side::Initiator), of(Side::Acceptor)]
    }

    /// Oddities of the file.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Deref for ConnectionVectors {
    type Target = [ConnectionVector];

    fn deref(&self) -> &[ConnectionVector] {
        &self.vectors
    }
}

#[cfg(test)]
mod tests;
