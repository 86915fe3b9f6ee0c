//! The send queues: messages of each stream, cut into chunks.

use super::{DataChunk, Order, SCTP_HEADER};
use paceline_cc::{Limits, StreamId};
use paceline_ends::OfferedRate;
use paceline_media::{Frame, Source};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use std::collections::VecDeque;

/// A stream of a flow: where its messages come from.
#[derive(Clone, Debug)]
pub struct StreamConfig {
    /// Source of its messages: a frame is a message, and a file is cut into messages of one chunk.
    pub source: Source,
    /// Share of the stream where the controller names a total; above 0.
    pub priority: f64,
}

/// A message that waits.
#[derive(Clone, Copy, Debug)]
struct Message {
    captured: Time,
    left: u64,
    begun: bool,
}

/// A stream of the flow at its sender.
#[derive(Clone, Debug)]
pub(super) struct OutStream {
    pub source: Source,
    pub priority: f64,
    pub limits: Limits,
    /// The bitrate that its encoder was told.
    pub target: Option<Bitrate>,
    pub offered: OfferedRate,
    /// Whether a plan has it here.
    pub there: bool,
    queue: VecDeque<Message>,
    /// Payload that waits.
    pub queued: u64,
    /// Size of the newest message.
    pub newest: u64,
}

/// The messages of all streams.
#[derive(Clone, Debug)]
pub(super) struct Outbound {
    pub streams: Vec<OutStream>,
    /// Numbers of the next messages, by stream of the association.
    ssns: Vec<u16>,
    order: Order,
    max_payload: u64,
    /// The stream whose message has begun: no other goes between its chunks (RFC 9260 section 6.9).
    begun: Option<usize>,
    /// Messages that came, and messages given up before all of them was sent.
    pub captured: u64,
    pub discarded: u64,
}

impl Outbound {
    /// Streams of which no message was offered yet; chunks carry at most `max_payload` bytes.
    pub fn new(streams: Vec<StreamConfig>, order: Order, max_payload: u64) -> Outbound {
        let streams =
            streams.into_iter().enumerate().map(|(id, StreamConfig { source, priority })| OutStream {
                source,
                priority,
                limits: Limits::none(StreamId(id as u8)),
                target: None,
                offered: OfferedRate::default(),
                there: true,
                queue: VecDeque::new(),
                queued: 0,
                newest: 0,
            });
        let streams: Vec<_> = streams.collect();
        Outbound {
            ssns: vec![0; streams.len()],
            streams,
            order,
            max_payload,
            begun: None,
            captured: 0,
            discarded: 0,
        }
    }

    /// A frame enters its stream's queue: its size on the link.
    pub fn push(&mut self, stream: usize, frame: &Frame) -> Bytes {
        let Some(out) = self.streams.get_mut(stream) else { return Bytes::ZERO };
        let payload = frame.payload.as_u64();
        out.newest = payload;
        let most = if matches!(out.source, Source::Bulk(_)) { self.max_payload } else { payload };
        let mut left = payload;
        while left > 0 {
            let size = left.min(most);
            out.queue.push_back(Message { captured: frame.captured, left: size, begun: false });
            self.captured += 1;
            left -= size;
        }
        out.queued += payload;
        self.on_link(payload)
    }

    /// Size of `payload` bytes on the link, cut into full chunks.
    pub fn on_link(&self, payload: u64) -> Bytes {
        Bytes::new(
            payload.saturating_add(payload.div_ceil(self.max_payload).saturating_mul(SCTP_HEADER.as_u64())),
        )
    }

    /// The length of the file that is all that the association carries, and whether all of it came and none was given up.
    pub fn file(&self) -> Option<(Bytes, bool)> {
        let [OutStream { source: Source::Bulk(bulk), .. }] = self.streams.as_slice() else { return None };
        bulk.length().map(|length| (length, bulk.is_finished() && self.discarded == 0))
    }

    /// Payload that waits in all streams.
    pub fn queued(&self) -> u64 {
        self.streams.iter().map(|stream| stream.queued).sum()
    }

    /// When the oldest message of a stream that waits was captured.
    pub fn oldest(&self, stream: usize) -> Option<Time> {
        self.streams.get(stream)?.queue.front().map(|message| message.captured)
    }

    /// The stream whose message is next: the one that has begun, or the oldest.
    fn next_stream(&self) -> Option<usize> {
        let oldest = |stream: &usize| self.streams[*stream].queue.front().map(|message| message.captured);
        let all = (0..self.streams.len()).filter(|stream| oldest(stream).is_some());
        self.begun.or_else(|| all.min_by_key(oldest))
    }

    /// Payload of the next chunk; none if nothing waits.
    pub fn next_payload(&self) -> Option<u64> {
        let message = self.streams[self.next_stream()?].queue.front()?;
        Some(message.left.min(self.max_payload))
    }

    /// The next chunk, without its number.
    pub fn take(&mut self) -> Option<DataChunk> {
        let index = self.next_stream()?;
        let (order, max_payload) = (self.order, self.max_payload);
        let stream = &mut self.streams[index];
        let message = stream.queue.front_mut()?;
        let payload = message.left.min(max_payload);
        let begins = !std::mem::replace(&mut message.begun, true);
        message.left -= payload;
        stream.queued -= payload;
        let (ends, captured) = (message.left == 0, message.captured);
        let of_association = if order == Order::Association { 0 } else { index };
        let number = &mut self.ssns[of_association];
        let ssn = if order == Order::None { 0 } else { *number };
        if ends {
            stream.queue.pop_front();
            *number = number.wrapping_add(1);
        }
        self.begun = (!ends).then_some(index);
        Some(DataChunk {
            captured,
            tsn: 0,
            payload: payload as u32,
            ssn,
            stream: of_association as u8,
            source: index as u8,
            begins,
            ends,
            unordered: order == Order::None,
        })
    }

    /// Gives up messages that have not begun and are older than `lifetime`. Whether one that has begun is.
    pub fn expire(&mut self, now: Time, lifetime: TimeDelta) -> bool {
        let mut has_begun = false;
        for stream in &mut self.streams {
            if matches!(stream.source, Source::Bulk(_)) {
                continue;
            }
            while let Some(message) =
                stream.queue.front().filter(|message| now.saturating_since(message.captured) > lifetime)
            {
                if message.begun {
                    has_begun = true;
                    break;
                }
                stream.queued -= message.left;
                stream.queue.pop_front();
                self.discarded += 1;
            }
        }
        has_begun
    }

    /// Gives up the rest of the message that has begun: a chunk without payload that ends it.
    pub fn abandon_begun(&mut self) -> Option<DataChunk> {
        let index = self.begun?;
        let stream = self.streams.get_mut(index)?;
        let message = stream.queue.front_mut()?;
        stream.queued -= std::mem::take(&mut message.left);
        self.take()
    }

    /// Drops what waits of a stream, but for the rest of a message that has begun.
    pub fn clear(&mut self, stream: usize) {
        let Some(out) = self.streams.get_mut(stream) else { return };
        out.queue.retain(|message| message.begun);
        out.queued = out.queue.iter().map(|message| message.left).sum();
    }
}
