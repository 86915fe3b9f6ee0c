//! Packets as bytes: RTP (RFC 3550), congestion control feedback (RFC 8888) and DCCP (RFC 4340). No I/O and no clock.
//!
//! Whatever comes from a network is hostile until parsed: nothing here panics on any input, and nothing allocates more
//! than the input warrants. An error says what was wrong, at which byte, what was found and what was expected.
//!
//! - [`rtp`]: the data packet's header; which datagrams are RTCP.
//! - [`extension`]: the elements of its header extension (RFC 8285), in both directions.
//! - [`rtcp`]: the packets of a compound datagram: reports, names, ends, NACK, PLI, FIR, ECN counts, in both directions.
//! - [`rtx`]: payloads of retransmitted packets.
//! - [`ccfb`]: RFC 8888's report, in both directions.
//! - [`twcc`]: transport-wide congestion control feedback, and the header extension with its numbers, in both directions.
//! - [`delays`]: the summary of a flow's delays for RFC 8382, in both directions.
//! - [`arrivals`]: times of arrival of a probe's packets, in both directions.
//! - [`dccp`]: DCCP's packets under IP and in UDP, in both directions.
//! - [`exchange`]: messages between a flow state exchange (RFC 8699) and the processes of its machine, in both directions.
//! - [`tcp`]: TCP's segments, written for captures.
//! - [`ip`]: headers of IP and UDP.
//! - [`capture`]: files of packets that other programs read.
//! - [`clock`]: the grids of time that go on the wire.
//! - [`timing`]: capture and send time inside dummy payload, for receivers that share the sender's clock.
//! - [`vp8`]: a picture that browsers decode, in frames of any size.
//! - [`SequenceUnwrapper`], [`TimestampUnwrapper`]: numbers that wrap, made numbers that do not.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod arrivals;
pub mod capture;
pub mod ccfb;
pub mod clock;
pub mod dccp;
pub mod delays;
mod error;
pub mod exchange;
pub mod extension;
mod format;
pub mod ip;
pub mod rtcp;
pub mod rtp;
pub mod rtx;
pub mod sctp;
pub mod tcp;
pub mod tfrc;
pub mod timing;
pub mod twcc;
mod unwrap;
pub mod vp8;

pub use error::WireError;
pub use format::{FeedbackFormat, RawReport, ReportFormat, Reporter, TRANSPORT_WIDE};
pub use unwrap::{
    MAX_DROPOUT, MAX_MISORDER, SequenceUnwrapper, TimestampUnwrapper, unwrap_sequence, unwrap_u32,
};
