//! Messages between the flow state exchange of a machine (RFC 8699) and the processes whose flows share by it. RFC 8699
//! leaves open "in which way the entities communicate"; this form is ours.
//!
//! A message is one packet of a local socket that keeps borders and order. It begins with a header of four bytes; numbers are
//! big-endian, and every message has exactly one form.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |      'F'      |      'S'      |   version = 1 |     type      |
//! ```
//!
//! | type | message | body |
//! |---|---|---|
//! | 1 | [`Request::Join`] | an update's body; group: 1, length and a name; 2 and an IPv6 address; or 3, protocol, traffic class, and source and destination, each an IPv6 address and a port; length and kind; length and settings |
//! | 2 | [`Request::Update`] | flow, number; kinds of own rate and of the one taken (1 rate in bit/s, 2 window in bytes, 0 none), two bytes of zero; five fields of 64 bits: own, taken, desired rate in bit/s (2^64 - 1: any), round trip in nanoseconds (0: none), priority as an IEEE 754 number |
//! | 3 | [`Request::Leave`] | flow |
//! | 4 | [`Request::Alive`] | 64 bits that the answer repeats |
//! | 5, version 2 | [`Request::Join`] of a flow whose group follows from delays | the body of type 1; length and settings of the detection |
//! | 6, version 2 | [`Request::Delays`] | flow; 1 if it passes a bottleneck, else 0; three bytes of zero; 64 bits each: intervals, variability in nanoseconds, and skewness, frequency and loss as IEEE 754 numbers |
//! | 129 | [`Reply::Welcome`] | milliseconds after which a silent process has left |
//! | 130 | [`Reply::State`] | flow, number; kind of the assignment (0 none), three bytes of zero; flows of the group; 64 bits each: assignment, sum of the rates, rate of this flow, both in bit/s |
//! | 131 | [`Reply::Refused`] | flow, code, length and text |
//! | 132 | [`Reply::Alive`] | the request's 64 bits |
//!
//! A message has the version in which it came about: an exchange of version 1 refuses those of version 2 by [`Refusal::Version`], and all
//! others mean the same to both. Header and [`Reply::Refused`] stay as they are in later versions, so that whoever speaks another one can be
//! told.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{decode_reply, decode_request};
pub use write::{encode_reply, encode_request};

use alloc::string::String;
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_cc::{Assigned, FlowUpdate};
use paceline_units::{Bitrate, TimeDelta};

/// The version of messages about groups that are declared, and of all replies.
pub const VERSION: u8 = 1;
/// The version of messages about groups that follow from delays.
pub const DETECTING: u8 = 2;
/// No message is longer, in bytes.
pub const MAX_SIZE: usize = 768;
/// The longest name of a group, in bytes.
pub const MAX_NAME: usize = 64;
/// The longest name of a kind of coupling, in bytes.
pub const MAX_KIND: usize = 32;
/// The longest list of settings, in bytes.
pub const MAX_SETTINGS: usize = 255;
/// The longest list of settings of a detection, in bytes.
pub const MAX_DETECTION: usize = 255;
/// The longest text of a refusal, in bytes; a longer one is cut.
pub const MAX_TEXT: usize = 255;
/// The largest rate in bit/s, and window in bytes: no flow counts with more in a group.
pub const MAX_SHARE: u64 = 1_000_000_000_000;
/// The longest round-trip time.
pub const MAX_RTT: TimeDelta = TimeDelta::from_secs(100);

const MAGIC: [u8; 2] = *b"FS";
/// Stands for any desired rate.
const ANY: u64 = u64::MAX;

mod types {
    pub const JOIN: u8 = 1;
    pub const UPDATE: u8 = 2;
    pub const LEAVE: u8 = 3;
    pub const ALIVE: u8 = 4;
    pub const JOIN_DETECTING: u8 = 5;
    pub const DELAYS: u8 = 6;
    pub const WELCOME: u8 = 129;
    pub const STATE: u8 = 130;
    pub const REFUSED: u8 = 131;
    pub const ALIVE_REPLY: u8 = 132;
}

/// The fields of packets that are treated alike along their path: a 5-tuple, and the DSCP and ECN field that go with it
/// (RFC 8699 section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FiveTuple {
    /// Number of the transport protocol, as IP has it.
    pub protocol: u8,
    /// DSCP, and the ECN field as a sender sets it in the two lower bits.
    pub traffic_class: u8,
    /// Address and port that packets leave from.
    pub source: SocketAddr,
    /// Address and port that they go to.
    pub destination: SocketAddr,
}

impl FiveTuple {
    /// UDP's number.
    pub const UDP: u8 = 17;
}

impl fmt::Display for FiveTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FiveTuple { protocol, traffic_class, source, destination } = self;
        match *protocol {
            FiveTuple::UDP => f.write_str("UDP")?,
            other => write!(f, "protocol {other}")?,
        }
        write!(f, " {source} to {destination}, class {traffic_class}")
    }
}

/// The property that flows must have in common to share.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GroupKey {
    /// A name: printable, 1 to [`MAX_NAME`] bytes.
    Name(String),
    /// The address that their packets go to: whose bottleneck is near a receiver, they pass the same one.
    Destination(IpAddr),
    /// The 5-tuple of their packets: streams that are multiplexed over one pair of sockets, or through one tunnel.
    FiveTuple(FiveTuple),
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupKey::Name(name) => f.write_str(name),
            GroupKey::Destination(address) => write!(f, "to {address}"),
            GroupKey::FiveTuple(tuple) => tuple.fmt(f),
        }
    }
}

/// A value that a controller computed, with its number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Update {
    /// Counts the updates of a flow: an answer says which was the last that it knew.
    pub number: u32,
    /// The update; its flow is counted by the process that sends it.
    pub flow: FlowUpdate,
}

/// A flow that wants to share.
#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    /// The group to share in.
    pub group: GroupKey,
    /// Kind of coupling, as scenarios write it. The first of a group decides; others must have the same.
    pub kind: String,
    /// The kind's parameters: `name=value`, with a space between two.
    pub settings: String,
    /// The settings by which the group's flows are told to share a bottleneck (RFC 8382), in the same form behind the name of a profile;
    /// absent where all flows of the group share.
    pub detection: Option<String>,
    /// The controller's value at the beginning.
    pub update: Update,
}

/// A message of a process.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// A flow begins to share.
    Join(Join),
    /// The controller of a flow that shares has computed a new rate or window.
    Update(Update),
    /// A flow shares no longer.
    Leave {
        /// The flow, as its process counts.
        flow: u32,
    },
    /// The delays of a flow's packets, of the intervals up to now.
    Delays {
        /// The flow, as its process counts.
        flow: u32,
        /// The figures that RFC 8382 compares; possible ones ([`DelaySummary::is_possible`]) alone are read.
        summary: DelaySummary,
    },
    /// The process is there.
    Alive {
        /// Anything; the answer repeats it.
        echo: u64,
    },
}

/// Why a request had no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The bytes are no message.
    Malformed,
    /// The message is of another version.
    Version,
    /// The group has another kind of coupling, other settings or another detection, or there is no such kind.
    Kind,
    /// The flow has not joined, or has left.
    NotJoined,
    /// There is no room for more processes, flows or groups.
    Full,
    /// The process was silent for too long.
    Expired,
}

impl Refusal {
    /// All there are, by their codes from 1 on.
    const ALL: [Refusal; 6] = [
        Refusal::Malformed,
        Refusal::Version,
        Refusal::Kind,
        Refusal::NotJoined,
        Refusal::Full,
        Refusal::Expired,
    ];
}

/// The exchange's state of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// The flow, as its process counts.
    pub flow: u32,
    /// Number of the flow's last update that the exchange knew.
    pub number: u32,
    /// The value that the flow is to take; absent if nothing was assigned since that update.
    pub assigned: Option<Assigned>,
    /// Flows of the group.
    pub members: u32,
    /// Sum of the rates of the group (RFC 8699: `S_CR`).
    pub sum: Bitrate,
    /// Rate that the group gave the flow last (RFC 8699: `FSE_R`).
    pub rate: Bitrate,
}

/// A message of the exchange.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The first message to a process.
    Welcome {
        /// A process that is silent for so long has left; in whole milliseconds.
        expiry: TimeDelta,
    },
    /// The group of a flow has changed, or the flow's own update is known.
    State(State),
    /// A request had no effect.
    Refused {
        /// The flow that it was about, or 0.
        flow: u32,
        /// Rule by which it was refused.
        refusal: Refusal,
        /// The same for people: what was found and what was expected.
        text: String,
    },
    /// The answer to [`Request::Alive`].
    Alive {
        /// The number in the request.
        echo: u64,
    },
}
