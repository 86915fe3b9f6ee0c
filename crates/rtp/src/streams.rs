//! Streams that join, change and leave while their flow runs.

use super::history::SentHistory;
use super::sender::{RtpSender, Stream, StreamConfig};
use paceline_cc::{Controller, FlowSetup, Limits, StreamChange, StreamId, StreamSet};
use paceline_ends::SendingEnd;
use paceline_ends::WantedRate;
use paceline_media::{Discarded, SendQueue, Source};
use paceline_units::{Bytes, RandomStream, Time, TimeDelta};

/// For so long after a stream left, reports on it are read: longer than any round trip that a call lives with. A stream that
/// leaves is no loss, and its last packets tell of congestion as all others do.
const LINGER: TimeDelta = TimeDelta::from_secs(3);

/// Whether a stream is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Presence {
    /// It joins later, by plan.
    Expected,
    /// It has joined, and may send.
    Present,
    /// It sends no more; what is in flight is reported on until then.
    Leaving(Time),
    /// Reports on it change nothing; another may take its place.
    Gone,
}

/// Where the numbers of streams that join begin.
#[derive(Clone, Debug)]
pub(super) enum FirstNumber {
    Same(u16),
    Drawn(RandomStream),
}

impl FirstNumber {
    fn next(&mut self) -> u64 {
        match self {
            FirstNumber::Same(first) => u64::from(*first),
            FirstNumber::Drawn(draws) => draws.next_u64() & 0xffff,
        }
    }
}

impl Stream {
    pub(super) fn new(id: StreamId, config: StreamConfig, queue: SendQueue, history: SentHistory) -> Stream {
        Stream {
            source: config.source,
            queue,
            history,
            presence: Presence::Present,
            priority: config.priority,
            target: config.target_start,
            limits: Limits { stream: id, ..config.limits },
            wanted: WantedRate::new(Time::ZERO),
            served: 0.0,
            newest_frame: Bytes::ZERO,
            key_frame_wanted: false,
            repairs: false,
        }
    }
}

impl<C: Controller> RtpSender<C> {
    /// A stream joins, which sends at once if the flow runs. Numbers go on behind those of a stream that had its identifier
    /// before. None if there are 64 already, or its priority is not one of [`FlowSetup::PRIORITIES`].
    pub fn add_stream(&mut self, now: Time, config: StreamConfig) -> Option<StreamId> {
        if self.broken().is_some() {
            return None;
        }
        self.let_go(now);
        let priority = weight(config.priority)?;
        let free = self.streams.iter().position(|stream| stream.presence == Presence::Gone);
        let id = free.unwrap_or(self.streams.len());
        if id >= usize::from(StreamSet::CAPACITY) {
            return None;
        }
        self.enter(now, id, StreamConfig { priority, ..config });
        Some(StreamId(id as u8))
    }

    /// The stream with this number is not there at the start: the flow's plan has it join later. Before anything is sent.
    pub fn expect(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(usize::from(id.0)) else { return };
        let source = std::mem::replace(&mut stream.source, Source::External);
        let Stream { priority, target, limits, .. } = *stream;
        (stream.presence, stream.priority) = (Presence::Expected, 0.0);
        self.expected.push((id, StreamConfig { source, priority, target_start: target, limits }));
        let update = self.controller.on_stream(Time::ZERO, id, StreamChange::Left);
        self.apply(Time::ZERO, update);
        self.find_greed();
    }

    /// A stream that was expected joins.
    #[cold]
    pub(super) fn join_expected(&mut self, now: Time, id: StreamId) {
        let Some(place) = self.expected.iter().position(|(expected, _)| *expected == id) else { return };
        let (_, config) = self.expected.swap_remove(place);
        if self.broken().is_none() {
            self.enter(now, usize::from(id.0), config);
        }
    }

    /// A stream takes a place: its own, one that another left, or the next.
    fn enter(&mut self, now: Time, id: usize, config: StreamConfig) {
        let (priority, limited, limits) = (config.priority, config.is_limited(), config.limits);
        let first = match self.streams.get(id) {
            Some(gone) => gone.history.next_sequence(),
            None => self.first_number.next(),
        };
        let queue = SendQueue::new(self.max_payload, self.header.size());
        let stream = Stream::new(StreamId(id as u8), config, queue, SentHistory::starting_at(first));
        match self.streams.get_mut(id) {
            Some(place) => *place = stream,
            None => self.streams.push(stream),
        }
        let stream = StreamId(id as u8);
        let update = self.controller.on_stream(now, stream, StreamChange::Joined(priority));
        self.apply(now, update);
        self.find_greed();
        self.streams[id].wanted.begin(now);
        if limited {
            self.set_limits(now, &Limits { stream, ..limits });
        } else {
            self.aim(now, id);
            self.share_total(now);
        }
        if self.runs {
            self.streams[id].source.start(now);
            self.refill(now, id);
            self.find_next_capture();
        }
    }

    /// A stream leaves: what waits of it is discarded, what is in flight is reported on for three seconds more, and what is said
    /// of it later is counted and changes nothing. None if it is not there.
    pub fn remove_stream(&mut self, now: Time, id: StreamId) -> Option<Discarded> {
        let stream = self.present(id)?;
        stream.source = Source::External;
        let discarded = stream.queue.discard_all();
        stream.priority = 0.0;
        stream.repairs = false;
        stream.key_frame_wanted = false;
        let gone = now + LINGER;
        stream.presence = Presence::Leaving(gone);
        self.counters.count(&discarded);
        self.leaving = Some(self.leaving.map_or(gone, |leaving| leaving.min(gone)));
        self.tell_queue(now, usize::from(id.0));
        let update = self.controller.on_stream(now, id, StreamChange::Left);
        self.apply(now, update);
        self.share_total(now);
        self.find_greed();
        self.repairing = self.streams.iter().any(|stream| stream.repairs);
        self.find_next_capture();
        Some(discarded)
    }

    /// The weight of a stream is this from now on. False if it is not there, or the weight is not one of [`FlowSetup::PRIORITIES`].
    pub fn set_priority(&mut self, now: Time, id: StreamId, priority: f64) -> bool {
        let (Some(priority), Some(stream)) = (weight(priority), self.present(id)) else { return false };
        stream.priority = priority;
        let update = self.controller.on_stream(now, id, StreamChange::Priority(priority));
        self.apply(now, update);
        self.share_total(now);
        true
    }

    /// Whether the flow has this stream, and it has not left.
    pub fn has_stream(&self, id: StreamId) -> bool {
        self.streams.get(usize::from(id.0)).is_some_and(|stream| stream.presence == Presence::Present)
    }

    fn present(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.get_mut(usize::from(id.0)).filter(|stream| stream.presence == Presence::Present)
    }

    /// Forgets what is in flight of streams that left long enough ago.
    #[cold]
    pub(super) fn let_go(&mut self, now: Time) {
        self.leaving = None;
        for id in 0..self.streams.len() {
            let stream = &mut self.streams[id];
            let Presence::Leaving(due) = stream.presence else { continue };
            if now < due {
                self.leaving = Some(self.leaving.map_or(due, |leaving| leaving.min(due)));
                continue;
            }
            stream.presence = Presence::Gone;
            // Of a history that begins with the next number, nothing that was sent is known.
            stream.history = SentHistory::starting_at(stream.history.next_sequence());
            let update = self.controller.on_stream(now, StreamId(id as u8), StreamChange::Gone);
            self.apply(now, update);
        }
    }

    fn find_greed(&mut self) {
        self.pacer.set_greedy(self.streams.iter().any(|stream| matches!(stream.source, Source::Bulk(_))));
    }
}

/// A weight that can be shared by.
fn weight(priority: f64) -> Option<f64> {
    FlowSetup::PRIORITIES.contains(&priority).then_some(priority)
}
