//! Streams that join, change and leave while their flow runs.

use super::config::StreamConfig;
use super::sender::RtpSender;
use super::stream::Stream;
use paceline_cc::{Controller, FlowSetup, Limits, StreamChange, StreamId, StreamSet};
use paceline_ends::SendingEnd;
use paceline_media::{Discarded, SendQueue};
use paceline_units::{Bytes, RandomStream, Time, TimeDelta};
use std::ops::{Deref, DerefMut};

/// For so long after a stream left, reports on it are read: longer than any round trip that a call lives with. A stream that
/// leaves is no loss, and its last packets tell of congestion as all others do.
const LINGER: TimeDelta = TimeDelta::from_secs(3);

/// Where the numbers of streams that join begin.
#[derive(Clone, Debug)]
enum FirstNumber {
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

/// The streams of one flow by their numbers, those that left or are to come among them.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    first_number: FirstNumber,
    /// Streams that join later.
    expected: Vec<(StreamId, StreamConfig)>,
    /// When a stream that left is gone, the first of them; absent if none leaves.
    leaving: Option<Time>,
    /// Whether a stream repairs another: its packets leave first.
    repairing: bool,
}

impl Deref for Streams {
    type Target = [Stream];

    #[inline]
    fn deref(&self) -> &[Stream] {
        &self.streams
    }
}

impl DerefMut for Streams {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Stream] {
        &mut self.streams
    }
}

impl Streams {
    /// Streams that are there from the start; the numbers of their packets begin at 0.
    pub(super) fn new(streams: Vec<Stream>) -> Streams {
        let first_number = FirstNumber::Same(0);
        Streams { streams, first_number, expected: Vec::new(), leaving: None, repairing: false }
    }

    #[inline]
    pub(super) fn by_id(&self, id: StreamId) -> Option<&Stream> {
        self.streams.get(usize::from(id.0))
    }

    #[inline]
    pub(super) fn by_id_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.get_mut(usize::from(id.0))
    }

    /// The stream, if it is there and has not left.
    pub(super) fn present_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.by_id_mut(id).filter(|stream| stream.is_present())
    }

    /// Whether one of them always has something to send.
    pub(super) fn is_greedy(&self) -> bool {
        self.iter().any(Stream::is_bulk)
    }

    /// When the next frame of any stream is captured; `Time::MAX` if none is.
    pub(super) fn next_capture(&self) -> Time {
        self.iter().filter_map(Stream::next_capture).min().unwrap_or(Time::MAX)
    }

    /// The first stream of retransmissions with a packet that waits.
    pub(super) fn next_repair(&self) -> Option<usize> {
        if !self.repairing {
            return None;
        }
        self.iter().position(|stream| stream.is_repair() && stream.waits())
    }

    /// A stream carries from now on what another sends again.
    pub(super) fn set_repair(&mut self, id: StreamId) {
        if let Some(stream) = self.by_id_mut(id) {
            stream.set_repair();
            self.repairing = true;
        }
    }

    /// Numbers the packets of each stream, and of those that join, from `first` on.
    pub(super) fn number_from(&mut self, first: u16) {
        self.first_number = FirstNumber::Same(first);
        self.iter_mut().for_each(|stream| stream.number_from(first));
    }

    /// Draws where the numbers of each stream begin that joins.
    pub(super) fn draw_numbers(&mut self, draws: RandomStream) {
        self.first_number = FirstNumber::Drawn(draws);
    }

    /// The place of a stream that joins: that of one that is gone, or the next. None if there are 64.
    fn free_place(&self) -> Option<usize> {
        let gone = self.iter().position(Stream::is_gone);
        Some(gone.unwrap_or(self.len())).filter(|id| *id < usize::from(StreamSet::CAPACITY))
    }

    /// A stream takes a place, where numbers go on.
    fn enter(&mut self, id: usize, config: StreamConfig, queue: SendQueue) {
        let first = match self.get(id) {
            Some(gone) => gone.next_sequence(),
            None => self.first_number.next(),
        };
        let stream = Stream::new(StreamId(id as u8), config, queue, first);
        match self.get_mut(id) {
            Some(place) => *place = stream,
            None => self.streams.push(stream),
        }
    }

    /// A stream joins later. Whether it is known.
    fn expect(&mut self, id: StreamId) -> bool {
        let Some(stream) = self.by_id_mut(id) else { return false };
        let config = stream.expect_later();
        self.expected.push((id, config));
        true
    }

    /// A stream that was expected joins.
    fn take_expected(&mut self, id: StreamId) -> Option<StreamConfig> {
        let place = self.expected.iter().position(|(expected, _)| *expected == id)?;
        Some(self.expected.swap_remove(place).1)
    }

    /// A stream leaves: what of it is discarded. None if it is not there.
    fn leave(&mut self, now: Time, id: StreamId) -> Option<Discarded> {
        let gone = now + LINGER;
        let discarded = self.present_mut(id)?.leave(gone);
        self.leaving = Some(self.leaving.map_or(gone, |leaving| leaving.min(gone)));
        self.repairing = self.iter().any(Stream::is_repair);
        Some(discarded)
    }

    /// Whether a stream left long enough ago to be gone.
    #[inline]
    pub(super) fn has_gone(&self, now: Time) -> bool {
        self.leaving.is_some_and(|due| due <= now)
    }

    /// Forgets what is in flight of a stream that left long enough ago. Call until there is none.
    fn let_one_go(&mut self, now: Time) -> Option<StreamId> {
        let Some(id) = self.iter().position(|stream| stream.gone_at().is_some_and(|due| due <= now)) else {
            self.leaving = self.iter().filter_map(Stream::gone_at).min();
            return None;
        };
        self[id].go();
        Some(StreamId(id as u8))
    }
}

impl<C: Controller> RtpSender<C> {
    /// A stream joins, which sends at once if the flow runs. Numbers go on behind those of a stream that had its identifier
    /// before. None if there are 64 already, or its priority is not one of [`FlowSetup::PRIORITIES`].
    pub fn add_stream(&mut self, now: Time, config: StreamConfig) -> Option<StreamId> {
        self.join(now, config, Bytes::ZERO)
    }

    /// A stream joins whose payloads may be `longer` than those of others.
    pub(super) fn join(&mut self, now: Time, config: StreamConfig, longer: Bytes) -> Option<StreamId> {
        if self.broken().is_some() {
            return None;
        }
        self.let_go(now);
        let priority = weight(config.priority)?;
        let id = self.streams.free_place()?;
        self.enter(now, id, StreamConfig { priority, ..config }, longer);
        Some(StreamId(id as u8))
    }

    /// The stream with this number is not there at the start: the flow's plan has it join later. Before anything is sent.
    pub fn expect(&mut self, id: StreamId) {
        if self.streams.expect(id) {
            let update = self.controller.on_stream(Time::ZERO, id, StreamChange::Left);
            self.apply(Time::ZERO, update);
            self.find_greed();
        }
    }

    /// A stream that was expected joins.
    #[cold]
    pub(super) fn join_expected(&mut self, now: Time, id: StreamId) {
        let Some(config) = self.streams.take_expected(id) else { return };
        if self.broken().is_none() {
            self.enter(now, usize::from(id.0), config, Bytes::ZERO);
        }
    }

    /// A stream takes a place: its own, one that another left, or the next.
    fn enter(&mut self, now: Time, id: usize, config: StreamConfig, longer: Bytes) {
        let (priority, limited, limits) = (config.priority, config.is_limited(), config.limits);
        self.streams.enter(id, config, self.sizes.queue(longer));
        let stream = StreamId(id as u8);
        let update = self.controller.on_stream(now, stream, StreamChange::Joined(priority));
        self.apply(now, update);
        self.find_greed();
        self.streams[id].begin(now);
        if limited {
            self.set_limits(now, &Limits { stream, ..limits });
        } else {
            self.aim(now, id);
            self.share_total(now);
        }
        self.start_stream(now, id);
    }

    /// A stream leaves: what waits of it is discarded, what is in flight is reported on for three seconds more, and what is said
    /// of it later is counted and changes nothing. None if it is not there.
    pub fn remove_stream(&mut self, now: Time, id: StreamId) -> Option<Discarded> {
        let discarded = self.streams.leave(now, id)?;
        self.offering.count_discarded(&discarded);
        self.tell_queue(now, usize::from(id.0));
        let update = self.controller.on_stream(now, id, StreamChange::Left);
        self.apply(now, update);
        self.share_total(now);
        self.find_greed();
        self.offering.find_next_capture(&self.streams);
        Some(discarded)
    }

    /// The weight of a stream is this from now on. False if it is not there, or the weight is not one of [`FlowSetup::PRIORITIES`].
    pub fn set_priority(&mut self, now: Time, id: StreamId, priority: f64) -> bool {
        let (Some(priority), Some(stream)) = (weight(priority), self.streams.present_mut(id)) else {
            return false;
        };
        stream.set_priority(priority);
        let update = self.controller.on_stream(now, id, StreamChange::Priority(priority));
        self.apply(now, update);
        self.share_total(now);
        true
    }

    /// Whether the flow has this stream, and it has not left.
    pub fn has_stream(&self, id: StreamId) -> bool {
        self.streams.by_id(id).is_some_and(Stream::is_present)
    }

    /// Forgets what is in flight of streams that left long enough ago.
    #[cold]
    pub(super) fn let_go(&mut self, now: Time) {
        while let Some(id) = self.streams.let_one_go(now) {
            let update = self.controller.on_stream(now, id, StreamChange::Gone);
            self.apply(now, update);
        }
    }
}

/// A weight that can be shared by.
fn weight(priority: f64) -> Option<f64> {
    FlowSetup::PRIORITIES.contains(&priority).then_some(priority)
}
