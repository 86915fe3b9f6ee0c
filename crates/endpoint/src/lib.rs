//! Both ends of a call whose media an application made: ready-made RTP payloads or whole RTP packets of any codec, sans I/O.
//!
//! Packets wait in the send queues of an [`RtpSender`](paceline_rtp::RtpSender) under its controller's window and pacing, and are handed back when they
//! leave, numbered by the endpoint, or when they are discarded, with the reason. Every packet that is offered comes back once.

mod buffers;
mod error;
mod packet;
mod receiver;
#[cfg(test)]
mod receiver_tests;
mod sender;
mod settings;
mod unannounced;

pub use buffers::{BufferPool, PacketBuffer};
pub use error::StreamError;
pub use paceline_rtp::RepairCounters;
pub use packet::MediaPacket;
pub use receiver::{MediaReceiver, MediaReceiverConfig, MediaReceiverCounters};
pub use sender::{
    DiscardCounters, DiscardReason, DiscardedPacket, MediaCounters, MediaSender, MediaStreamConfig,
    MediaTransmit, RepairConfig, SenderEvent, SentDatagram,
};
pub use settings::{
    CanonicalName, IncomingSettings, ReceiverSettings, RtcpSettings, SenderSettings, Setting, StreamSettings,
};
