//! Media: what is sent, where it waits at the sender, and when the receiver shows it.
//!
//! Lives in every world: pure state machines that are handed `now`; no clock, file, socket or environment. Parsers take
//! bytes. Knows nobody but `paceline-units`.
//!
//! - [`Source`] makes [`Frame`]s: an encoder driven by a trace of frame sizes, the models of RFC 8593, constant bit rate,
//!   an endless file, a real encoder outside.
//! - [`vectors`] says what the two sides of many TCP connections send to each other, and when.
//! - [`SendQueue`] holds frames and cuts packets when the sender may send.
//! - [`Playout`] puts frames together at the receiver and says when each is displayed, and where its delay came from.
//!
//! ```
//! use paceline_media::{ArrivedPacket, Cbr, CbrParams, Playout, PlayoutConfig, SendQueue, Source};
//! use paceline_units::{Bytes, Time, TimeDelta};
//!
//! let mut source = Source::Cbr(Cbr::new(CbrParams::default())); // 1 Mbit/s, 50 frames per second
//! let mut queue = SendQueue::new(Bytes::new(1200), Bytes::new(12));
//! let mut playout = Playout::new(PlayoutConfig::IMMEDIATE);
//! source.start(Time::ZERO);
//!
//! let mut sequence = 0;
//! while let Some(now) = source.next_capture().filter(|&due| due < Time::from_secs_f64(1.0)) {
//!     let frame = source.capture(now);
//!     queue.push(now, &frame);
//!     while let Some(packet) = queue.pop(now) {
//!         playout.on_packet(
//!             now + TimeDelta::from_millis(30),
//!             &ArrivedPacket {
//!                 sequence,
//!                 captured: packet.captured,
//!                 payload: packet.payload,
//!                 first: Some(packet.first),
//!                 marker: packet.marker,
//!                 key: Some(packet.key),
//!                 sent: Some(now),
//!                 wait: None,
//!             },
//!         );
//!         sequence += 1;
//!     }
//! }
//! assert_eq!((sequence, playout.counters().displayed), (150, 50)); // 2500 B are three packets
//! ```
//!
//! Not modelled: decoding. A frame is shown although the frame it refers to was lost; the counters of
//! [`Playout`] say how many were.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod bulk;
mod cbr;
mod codec;
mod codec_model;
mod frame;
mod frame_rate;
mod frame_trace;
pub mod generate;
pub mod playout;
mod rfc8593;
mod send_queue;
mod source;
mod text;
mod trace_encoder;
pub mod vectors;

pub use bulk::{Bulk, BulkParams};
pub use cbr::{Cbr, CbrParams};
pub use codec::{Codec, CodecParams, EncodedFrame, FrameEncoder, FrameRequest};
pub use codec_model::{ClipPreset, CodecModel, CodecModelParams, Judged, QualityModel, QualityParams};
pub use frame::{Frame, FrameRun};
pub use frame_rate::FrameRate;
pub use frame_trace::{FrameTrace, FrameTraceFormat, TraceFrame};
pub use generate::{FRAME_PRESETS, FramePreset, FramePresetName, FrameSizeParams, frame_sizes};
pub use playout::{
    AdaptiveParams, ArrivedPacket, DisplayedFrame, FixedPlayout, FrameDelayParts, ImmediatePlayout,
    IncompleteFrame, Playout, PlayoutConfig, PlayoutCounters, StreamPlayout,
};
pub use rfc8593::{FrameLadder, LadderError, Rung, VideoModel, VideoModelKind, VideoModelParams};
pub use send_queue::{Discarded, QueuedPacket, SendQueue};
pub use source::Source;
pub use text::TextError;
pub use trace_encoder::{TraceEncoder, TraceEncoderParams};
pub use vectors::{ConnectionVector, ConnectionVectors};
