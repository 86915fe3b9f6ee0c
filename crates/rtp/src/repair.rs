//! Streams of retransmissions at the sender endpoint (RFC 4588): their packets leave before others.

use super::config::StreamConfig;
use super::sender::RtpSender;
use paceline_cc::{Controller, Limits, StreamId};
use paceline_ends::SendingEnd;
use paceline_media::{Frame, Source};
use paceline_units::{Bitrate, Bytes, Time};
use paceline_wire::rtx;

impl<C: Controller> RtpSender<C> {
    /// A stream of retransmissions joins: its packets leave before others, it has no target, and they may be two bytes longer.
    /// None if there are 64 streams.
    pub fn add_repair_stream(&mut self, now: Time, config: StreamConfig) -> Option<StreamId> {
        debug_assert!(matches!(config.source, Source::External), "what is sent again comes from outside");
        let id = self.join(now, config, Bytes::new(rtx::OSN as u64))?;
        self.streams.set_repair(id);
        self.set_limits(now, &Limits { stream: id, min: Bitrate::ZERO, max: Bitrate::ZERO });
        Some(id)
    }

    /// Puts a packet into the queue of a stream of retransmissions: so many bytes behind its header. False if it is larger than the
    /// path takes, or the stream is not there.
    pub fn push_repair(&mut self, now: Time, id: StreamId, payload: Bytes) -> bool {
        let frame = Frame { id: 0, captured: now, payload, key: false };
        self.has_stream(id) && self.offer_packet(now, id, &frame, false)
    }

    /// Packets that wait in the queue of a stream.
    pub fn waiting(&self, id: StreamId) -> u64 {
        self.streams.by_id(id).map_or(0, |stream| stream.queue().packets())
    }
}
