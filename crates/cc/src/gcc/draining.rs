//! The rate at which what waits to be sent is out in time: libwebrtc's pacer leaves its usual rate for it.

use super::Params;
use super::rates::times;
use crate::{SendQueueState, SentPacket};
use alloc::vec::Vec;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// No queue is to be empty sooner, however long it has waited.
const SHORTEST: TimeDelta = TimeDelta::from_millis(1);

/// A queue is never held back by more: it would never be known whether more can arrive.
const LEAST: Bitrate = Bitrate::from_kbps(10);

/// Watches the send queues of a flow.
#[derive(Clone, Debug)]
pub(super) struct Draining {
    within: TimeDelta,
    limit: f64,
    /// The bytes that wait of each stream, and since when the oldest of them does.
    waiting: Vec<(Bytes, Time)>,
    rate: Bitrate,
    /// The highest rate at which a queue leaves that has waited for half the time.
    most: Bitrate,
}

impl Draining {
    pub(super) fn new(params: &Params) -> Draining {
        let (within, limit) = (params.drain_time, params.drain_limit);
        Draining { within, limit, waiting: Vec::new(), rate: Bitrate::ZERO, most: Bitrate::MAX }
    }

    /// The pace at which what waits is out in time, if the usual one does not do. A packet that waits for long is no frame that has just
    /// come, and leaves no faster than the limit over what arrives.
    pub(super) fn pace(&self, usual: Bitrate) -> Bitrate {
        usual.max(self.rate).min(self.most)
    }

    pub(super) fn on_sent(&mut self, packet: &SentPacket) {
        if let Some((bytes, _)) = self.waiting.get_mut(usize::from(packet.stream.0)) {
            *bytes = bytes.saturating_sub(packet.size);
        }
    }

    /// The state of a send queue.
    pub(super) fn on_queue(&mut self, now: Time, queue: &SendQueueState, incoming: Option<Bitrate>) {
        if self.within == TimeDelta::MAX {
            return;
        }
        let id = usize::from(queue.stream.0);
        if self.waiting.len() <= id {
            self.waiting.resize(id + 1, (Bytes::ZERO, now));
        }
        self.waiting[id] = (queue.bytes, now - queue.oldest.unwrap_or(TimeDelta::ZERO));
        let waiting = self.waiting.iter().filter(|(bytes, _)| *bytes > Bytes::ZERO);
        let (bytes, since) = waiting
            .fold((Bytes::ZERO, now), |(sum, first), (bytes, since)| (sum + *bytes, first.min(*since)));
        // Of a queue that was filled evenly packets have waited for half as long as the oldest in the mean.
        let age = now.saturating_since(since);
        let half = |span: TimeDelta| TimeDelta::from_nanos(span.as_nanos() / 2);
        let left = self.within - half(age);
        let needed = Bitrate::from_bps_f64(bytes.as_bits_f64() / left.max(SHORTEST).as_secs_f64());
        let most = incoming.map_or(Bitrate::MAX, |incoming| times(self.limit, incoming));
        self.rate = needed.min(most);
        self.most = if age >= half(self.within) { most.max(LEAST) } else { Bitrate::MAX };
    }
}
