//! DCCP's packets (RFC 4340 sections 5 and 9) as structs and as bytes, by themselves on IP or in UDP (RFC 6773).
//!
//! - [`Packet`]: the ten types with their fields; [`DccpOption`]: options as values.
//! - [`encode`], [`decode`]: a packet under IP, with its checksum over the pseudo-header ([`Addresses`](crate::ip::Addresses)).
//! - [`encode_in_udp`], [`decode_in_udp`]: a packet as the payload of a UDP datagram, whose own checksum does.
//! - [`glance`]: whether a datagram's payload is a packet, for who passes it on.
//! - [`to_ip`]: the packet of a datagram as it would be by itself on IP, for captures.
//!
//! A packet that a receiver must ignore is an error here: its caller drops the packet and answers nothing (section 8.5, step 1).

mod checksum;
mod crc32c;
mod decode;
mod encode;
mod ip;
mod option;
mod options;
mod packet;
mod reset;
mod sequence;
mod service;

pub use checksum::IP_PROTOCOL;
pub use crc32c::crc32c;
pub use decode::{Glance, decode, decode_in_udp, glance};
pub use encode::{encode, encode_in_udp};
pub use ip::to_ip;
pub use option::{
    DccpOption, FeatureOption, OPTION_DATA, Options, drop_block, from_time_steps, loss_intervals_option,
    option_type, read_loss_intervals, time_steps,
};
pub use packet::{Body, LONGEST_HEADER, Packet, PacketType, Payload, Ports, RtpDatagram};
pub use reset::{ResetCode, ResetReason};
pub use sequence::SequenceNumber;
pub use service::{ServiceCode, ServiceCodeError};

/// The UDP port of a DCCP-UDP server that serves a whole system; an application's own uses another (RFC 6773 section
/// 3.8).
pub const UDP_PORT: u16 = 6511;

/// Bytes of a UDP header, which RFC 6773 section 3.3 counts in its smallest length.
pub const UDP_HEADER: usize = 8;
