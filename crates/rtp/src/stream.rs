//! A stream of the sender endpoint: its source, the packets that wait, and those that left.

use super::config::StreamConfig;
use super::history::SentHistory;
use super::shaper::Shaper;
use super::shares::Claim;
use paceline_cc::{Limits, SendQueueState, SentRun, StreamId};
use paceline_ends::WantedRate;
use paceline_media::{Discarded, Frame, QueuedPacket, SendQueue, Source};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Whether a stream is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Presence {
    /// It joins later, by plan.
    Expected,
    /// It has joined, and may send.
    Present,
    /// It sends no more; what is in flight is reported on until then.
    Leaving(Time),
    /// Reports on it change nothing; another may take its place.
    Gone,
}

/// A stream of one flow.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    source: Source,
    queue: SendQueue,
    history: SentHistory,
    presence: Presence,
    priority: f64,
    target: Bitrate,
    limits: Limits,
    wanted: WantedRate,
    shaper: Shaper,
    /// Bytes that left over its priority, as far as it had some waiting (start-time fair queueing).
    served: f64,
    newest_frame: Bytes,
    key_frame_wanted: bool,
    /// Whether it carries what another stream sends again.
    repairs: bool,
}

impl Stream {
    /// A stream that is there, and whose first packet has the number `first`.
    pub(super) fn new(id: StreamId, config: StreamConfig, queue: SendQueue, first: u64) -> Stream {
        Stream {
            source: config.source,
            queue,
            history: SentHistory::starting_at(first),
            presence: Presence::Present,
            priority: config.priority,
            target: config.target_start,
            limits: Limits { stream: id, ..config.limits },
            wanted: WantedRate::new(Time::ZERO),
            shaper: Shaper::new(),
            served: 0.0,
            newest_frame: Bytes::ZERO,
            key_frame_wanted: false,
            repairs: false,
        }
    }

    /// Its packets are numbered from `first` on. Before anything is sent.
    pub(super) fn number_from(&mut self, first: u16) {
        self.history = SentHistory::starting_at(first.into());
    }
}

/// Its presence.
impl Stream {
    pub(super) fn is_present(&self) -> bool {
        self.presence == Presence::Present
    }

    pub(super) fn is_gone(&self) -> bool {
        self.presence == Presence::Gone
    }

    /// When a stream that left is gone.
    pub(super) fn gone_at(&self) -> Option<Time> {
        if let Presence::Leaving(due) = self.presence { Some(due) } else { None }
    }

    /// It joins later: the configuration that it has then.
    pub(super) fn expect_later(&mut self) -> StreamConfig {
        let source = std::mem::replace(&mut self.source, Source::External);
        let Stream { priority, target, limits, .. } = *self;
        (self.presence, self.priority) = (Presence::Expected, 0.0);
        StreamConfig { source, priority, target_start: target, limits }
    }

    /// It leaves, and is gone at `gone`: packets that wait are discarded.
    pub(super) fn leave(&mut self, gone: Time) -> Discarded {
        self.source = Source::External;
        (self.priority, self.repairs, self.key_frame_wanted) = (0.0, false, false);
        self.presence = Presence::Leaving(gone);
        self.queue.discard_all()
    }

    /// Nothing that it sent is known any more.
    pub(super) fn go(&mut self) {
        self.presence = Presence::Gone;
        // Of a history that begins with the next number, nothing that was sent is known.
        self.history = SentHistory::starting_at(self.history.next_sequence());
    }

    /// Whether it carries what another stream sends again.
    pub(super) fn is_repair(&self) -> bool {
        self.repairs
    }

    /// It has no share from now on.
    pub(super) fn set_repair(&mut self) {
        self.repairs = true;
        self.hold_to(None);
    }
}

/// Its source.
impl Stream {
    /// Whether there is always something to send.
    #[inline]
    pub(super) fn is_bulk(&self) -> bool {
        matches!(self.source, Source::Bulk(_))
    }

    /// It may offer from `now` on.
    pub(super) fn begin(&mut self, now: Time) {
        self.wanted.begin(now);
    }

    pub(super) fn start(&mut self, now: Time) {
        self.begin(now);
        self.source.start(now);
    }

    /// Ends the source, and discards the packets that wait.
    pub(super) fn stop(&mut self) -> Discarded {
        self.source.stop();
        self.queue.discard_all()
    }

    pub(super) fn pause(&mut self) {
        self.source.pause();
    }

    pub(super) fn resume(&mut self, now: Time) {
        self.begin(now);
        self.source.resume(now);
    }

    #[inline]
    pub(super) fn next_capture(&self) -> Option<Time> {
        self.source.next_capture()
    }

    /// The frame that is due at `now`.
    #[inline]
    pub(super) fn capture(&mut self, now: Time) -> Option<Frame> {
        let is_due = self.source.next_capture().is_some_and(|due| due <= now);
        is_due.then(|| self.source.capture(now))
    }

    /// The next part of an endless source, if the queue needs it.
    pub(super) fn refill(&mut self, now: Time) -> Option<Frame> {
        self.source.refill(now, self.queue.payload())
    }

    /// Frames were discarded: those that follow need a key frame.
    pub(super) fn request_key_frame(&mut self, now: Time) {
        self.source.request_key_frame(now);
        self.key_frame_wanted = true;
    }

    /// Whether a key frame was wanted since the last call.
    pub(super) fn take_key_frame_request(&mut self) -> bool {
        std::mem::take(&mut self.key_frame_wanted)
    }
}

/// Its target, and what it could use.
impl Stream {
    pub(super) fn target(&self) -> Bitrate {
        self.target
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn set_limits(&mut self, limits: &Limits) {
        self.limits = *limits;
    }

    pub(super) fn set_priority(&mut self, priority: f64) {
        self.priority = priority;
    }

    /// Tells the encoder its target, within what the application allows.
    pub(super) fn aim(&mut self, now: Time, target: Bitrate) {
        self.target = self.limits.clamp(target);
        self.source.set_target(now, self.target);
    }

    /// The rate that its application could use.
    pub(super) fn desired(&self) -> Option<Bitrate> {
        self.wanted.desired(&self.source, &self.limits)
    }

    /// Whether it shares what the controller names for all.
    pub(super) fn takes_share(&self) -> bool {
        self.is_present() && !self.repairs
    }

    /// Whether its source may come to offer more than it did, being told that it may.
    pub(super) fn may_want_more(&self) -> bool {
        matches!(self.source, Source::External) || self.source.follows_target()
    }

    /// The stream's claim on the total, in bit/s.
    pub(super) fn claim(&self, now: Time) -> Claim {
        let least = self.limits.min.as_bps_f64();
        let wanted = self.wanted.wanted(now).unwrap_or(Bitrate::MAX).min(self.limits.max);
        Claim { weight: self.priority, least, most: wanted.as_bps_f64().max(least) }
    }
}

/// Its send queue.
impl Stream {
    #[inline]
    pub(super) fn queue(&self) -> &SendQueue {
        &self.queue
    }

    /// Whether a packet waits.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Since when a packet that waits may leave by the stream's share, or from when on; absent if none waits.
    #[inline]
    pub(super) fn free_from(&self) -> Option<Time> {
        self.waits().then(|| self.shaper.free_from())
    }

    /// Whether a packet waits that may leave by now.
    #[inline]
    pub(super) fn is_free(&self, now: Time) -> bool {
        self.free_from().is_some_and(|from| from <= now)
    }

    /// Its share of what the flow may send, and what its encoder is told; absent where nothing is shared.
    pub(super) fn hold_to(&mut self, share: Option<Bitrate>) {
        self.shaper.set_share(share);
    }

    /// Bytes that wait behind the newest frame, which is on its way out; none of a source that always has data.
    pub(super) fn late(&self) -> Bytes {
        if self.is_bulk() {
            Bytes::ZERO
        } else {
            self.queue.bytes().saturating_sub(self.queue.newest_frame())
        }
    }

    /// Size of the newest frame that was offered, headers in.
    pub(super) fn newest_frame(&self) -> Bytes {
        self.newest_frame
    }

    pub(super) fn push_frame(&mut self, now: Time, frame: &Frame) {
        let before = self.queue.bytes();
        self.queue.push(now, frame);
        self.newest_frame = self.queue.bytes() - before;
    }

    /// Puts a ready-made packet at the end ([`SendQueue::push_packet`]).
    pub(super) fn push_packet(&mut self, now: Time, frame: &Frame, ends: bool) -> bool {
        let taken = self.queue.push_packet(now, frame, ends);
        if taken {
            self.newest_frame = self.queue.newest_frame();
        }
        taken
    }

    /// `bytes` were put into a queue in which `before` waited. Whether its claim may have changed.
    pub(super) fn note_offered(&mut self, now: Time, bytes: Bytes, before: Bytes) -> bool {
        let told = (self.target, self.may_want_more());
        self.wanted.on_offered(now, bytes, before, told)
    }

    /// Discards the packets that have waited for longer than `age`; all of them if that is absent.
    pub(super) fn discard(&mut self, now: Time, age: Option<TimeDelta>) -> Discarded {
        match age {
            Some(age) => self.queue.discard_older_than(now, age),
            None => self.queue.discard_all(),
        }
    }

    /// The state of the queue, as the controller is told.
    pub(super) fn queue_state(&self, now: Time, stream: StreamId) -> SendQueueState {
        let queue = &self.queue;
        SendQueueState {
            stream,
            bytes: queue.bytes(),
            packets: queue.packets(),
            oldest: queue.oldest().map(|queued| now.saturating_since(queued)),
            newest_frame: queue.newest_frame(),
            greedy: self.is_bulk(),
        }
    }
}

/// The packets that leave, and that left.
impl Stream {
    /// The packet that leaves now.
    #[inline]
    pub(super) fn pop(&mut self, now: Time) -> Option<QueuedPacket> {
        self.queue.pop(now)
    }

    /// A packet leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, size: Bytes) {
        self.history.push(now, size);
    }

    /// The packets of a run leave: answers the first.
    #[inline]
    pub(super) fn pop_run(&mut self, run: &SentRun) -> Option<QueuedPacket> {
        let mut now = run.first;
        for _ in 0..run.count {
            self.history.push(now, run.packet.size);
            now += run.gap;
        }
        self.queue.pop_inner(run.first, run.count)
    }

    /// The sequence number that the next packet takes.
    #[inline]
    pub(super) fn next_sequence(&self) -> u64 {
        self.history.next_sequence()
    }

    /// The packets that left, to complete a report by.
    #[inline]
    pub(super) fn history(&mut self) -> &mut SentHistory {
        &mut self.history
    }

    /// Bytes that left by its priority, and the priority.
    pub(super) fn service(&self) -> (f64, f64) {
        (self.served, self.priority)
    }

    /// It is served with `size`, of which the encoder made this payload. Its service before.
    #[inline]
    pub(super) fn serve(&mut self, now: Time, payload: Bytes, size: Bytes) -> f64 {
        self.shaper.on_sent(now, payload);
        let before = self.served;
        self.served += size.as_u64() as f64 / self.priority;
        before
    }

    /// It is served no later for what it did not want before.
    #[inline]
    pub(super) fn catch_up(&mut self, served: f64) {
        self.served = self.served.max(served);
    }
}
