//! De-jitter buffer and playout: when the receiver shows each frame, and where its delay came from.
//!
//! Lives in the receiver endpoint. A frame is complete when its first packet, its marker and all between have arrived.
//! Frames are told apart by their capture time (on the wire: the RTP timestamp), so a frame whose marker was lost, or
//! never sent because the sender discarded its rest, ends where the next one starts. Where the wire does not say which
//! packet is a frame's first, continuity of the sequence does: the packet before it has arrived, or it alone is missing
//! and can only be the marker that the frame before still lacks.
//!
//! Frames are shown in the order of capture. A frame that is complete after its playout time is shown at once and counted
//! late. An incomplete frame is given up when a later one is shown. Nothing is retransmitted or concealed here, and
//! frames of which no packet arrived are unknown.

mod delay;
mod freeze;
mod pending;
mod stream;
mod window;

pub use delay::AdaptiveParams;
pub use stream::StreamPlayout;

use alloc::collections::VecDeque;
use delay::DelayEstimate;
use freeze::FreezeDetector;
use paceline_units::{Bytes, Time, TimeDelta, kinds, params};
use pending::{PendingFrame, PendingFrames};
use window::{Arrival, SequenceWindow};

kinds! {
    /// When a complete frame is shown.
    #[derive(Copy, Eq)]
    pub enum PlayoutConfig {
        /// As soon as it is complete, unless a later frame was shown already; a frame that a whole later frame overtakes is lost
        Immediate("immediate", ImmediatePlayout),
        /// A fixed time after its capture, which needs the sender's clock
        Fixed("fixed", FixedPlayout),
        /// After the smoothed delay of recent frames plus so many mean deviations
        Adaptive("adaptive", AdaptiveParams),
    }
}

params! {
    /// Immediate playout has no parameters.
    #[derive(Copy, Eq)]
    pub struct ImmediatePlayout {}
}

params! {
    /// The parameters of fixed playout.
    #[derive(Copy, Eq)]
    pub struct FixedPlayout {
        delay: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "", "Time from a frame's capture to its display";
    }
}

impl PlayoutConfig {
    /// As soon as a frame is complete: adds no delay of its own, so that what is measured is the sender and the network.
    pub const IMMEDIATE: PlayoutConfig = PlayoutConfig::Immediate(ImmediatePlayout {});

    /// So long after a frame's capture.
    pub fn fixed(delay: TimeDelta) -> PlayoutConfig {
        PlayoutConfig::Fixed(FixedPlayout { delay })
    }
}

impl Default for PlayoutConfig {
    fn default() -> PlayoutConfig {
        PlayoutConfig::IMMEDIATE
    }
}

/// Missing packets in front of a frame that are taken to be its own at most.
const MOST_BEFORE: usize = 64;

/// A media packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrivedPacket {
    /// Extended sequence number of the stream: consecutive over all of its packets that were sent.
    pub sequence: u64,
    /// Capture time of its frame; the same for all packets of a frame and different for each frame.
    pub captured: Time,
    /// Size without the header.
    pub payload: Bytes,
    /// Whether it is its frame's first packet; none where the wire does not say.
    pub first: Option<bool>,
    /// Whether it is its frame's last packet.
    pub marker: bool,
    /// Whether its frame is a key frame; none where the wire does not say.
    pub key: Option<bool>,
    /// When the sender sent it, where known.
    pub sent: Option<Time>,
    /// How long it waited in the queues of links, where known.
    pub wait: Option<TimeDelta>,
}

/// A frame on the display.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DisplayedFrame {
    /// Time of the frame's capture.
    pub captured: Time,
    /// Time of the frame's display.
    pub displayed: Time,
    /// Payload of the frame.
    pub bytes: Bytes,
    /// Whether it is a key frame; none where the wire does not say.
    pub key: Option<bool>,
    /// Packets of the frame.
    pub packets: u64,
    /// Packets of the frame that arrived by its playout time.
    pub in_time: u64,
    /// Whether it was complete only after its playout time.
    pub late: bool,
    /// Where its delay came from.
    pub parts: FrameDelayParts,
}

/// A frame that was given up although some of its packets arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IncompleteFrame {
    /// Time of the frame's capture.
    pub captured: Time,
    /// Whether it is a key frame; none where the wire does not say.
    pub key: Option<bool>,
    /// Payload of the packets that arrived.
    pub bytes: Bytes,
    /// Packets that arrived by its playout time.
    pub in_time: u64,
    /// Packets that arrived later.
    pub late: u64,
    /// Packets that are missing before and between those that arrived.
    pub gaps: u64,
    /// Packets that are missing behind those, up to the next frame of which any arrived; of this frame, and of frames of which none
    /// did. None if its last packet arrived.
    pub behind: Option<u64>,
}

/// The delay of a frame from capture to display, by where it arose; of the packet of it that arrived last. The parts
/// that are known add up to `displayed - captured` to the nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameDelayParts {
    /// From capture until the packet was sent: encoder, send queue and pacer. None if unknown: then in `path`.
    pub send_queue: Option<TimeDelta>,
    /// Waiting in the queues of links. None if unknown: then in `path`.
    pub link_queue: Option<TimeDelta>,
    /// The rest of the way: serialisation and propagation.
    pub path: TimeDelta,
    /// From its arrival to the display.
    pub dejitter: TimeDelta,
}

impl FrameDelayParts {
    /// The known parts of the frame delay, added.
    pub fn total(&self) -> TimeDelta {
        let known = self.send_queue.unwrap_or(TimeDelta::ZERO) + self.link_queue.unwrap_or(TimeDelta::ZERO);
        known + self.path + self.dejitter
    }
}

/// The fate of frames so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlayoutCounters {
    /// Frames displayed, late ones in.
    pub displayed: u64,
    /// Frames displayed after their playout time.
    pub late: u64,
    /// Frames given up although some of their packets arrived.
    pub incomplete: u64,
    /// Packets that came when their frame had been displayed or given up.
    pub late_packets: u64,
    /// Packets that had arrived before, or are too far from the others to belong.
    pub ignored_packets: u64,
    /// Gaps in the display of at least max(3 m, m + 150 ms), m being the mean of the last 30 (webrtc-stats,
    /// `freezeCount`).
    pub freezes: u64,
    /// Length of these gaps together (webrtc-stats, `totalFreezesDuration`).
    pub freeze_time: TimeDelta,
}

/// The receiver's buffer of one stream.
#[derive(Clone, Debug)]
pub struct Playout {
    config: PlayoutConfig,
    window: SequenceWindow,
    pending: PendingFrames,
    /// Capture time of the newest frame displayed or given up: nothing up to here is taken any more.
    passed: Option<Time>,
    given_up: VecDeque<IncompleteFrame>,
    delay: DelayEstimate,
    freezes: FreezeDetector,
    timeout: Option<Time>,
    shown: VecDeque<DisplayedFrame>,
    counters: PlayoutCounters,
}

impl Playout {
    /// Displayed frames kept for [`Playout::poll`], and given up ones for [`Playout::poll_given_up`]; with nobody asking, the oldest go.
    pub const MAX_SHOWN: usize = 1024;
    /// Frames kept at a time; with more, the oldest is shown early, or given up if incomplete.
    pub const MAX_PENDING: usize = 2048;

    /// An empty buffer.
    pub fn new(config: PlayoutConfig) -> Playout {
        let delay = if let PlayoutConfig::Fixed(params) = config { Some(params.delay) } else { None };
        Playout {
            config,
            window: SequenceWindow::new(),
            pending: PendingFrames::new(delay),
            passed: None,
            given_up: VecDeque::new(),
            delay: DelayEstimate::default(),
            freezes: FreezeDetector::default(),
            timeout: None,
            shown: VecDeque::with_capacity(8),
            counters: PlayoutCounters::default(),
        }
    }

    /// The numbers of the stream go on with `sequence`, whatever came before: its sender has started anew, or packets were
    /// not its own. Waiting packets are dropped, and capture times may go on from anywhere.
    #[cold]
    pub fn resynchronise(&mut self, now: Time, sequence: u64) {
        self.restart(now);
        self.window.continue_with(sequence);
    }

    /// A packet arrived. Whether it only extends the newest frame: nothing is shown for it, and [`Playout::next_timeout`] is as it
    /// was.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, packet: &ArrivedPacket) -> bool {
        // Nearly all packets are the next one of the newest frame, and not its last.
        if !packet.marker && self.window.is_next(packet.sequence) && self.pending.extend_newest(now, packet) {
            self.window.advance();
            return true;
        }
        // A copy, so that where the packet is the next one it need not lie in memory.
        let packet = *packet;
        self.on_boundary(now, &packet);
        false
    }

    /// A packet of padding arrived. It belongs to no frame, but the packet behind it starts one.
    #[cold]
    pub fn on_padding(&mut self, now: Time, sequence: u64) {
        match self.window.insert(sequence) {
            Arrival::New => {}
            Arrival::Restart => self.restart(now),
            Arrival::Ignored => {
                self.counters.ignored_packets += 1;
                return;
            }
        }
        let mut any = false;
        for index in 0..self.pending.len() {
            any |= self.complete(now, index);
        }
        if any {
            self.show_due(now);
        }
    }

    /// A packet that starts, ends or completes a frame, or is out of order.
    #[cold]
    #[inline(never)]
    fn on_boundary(&mut self, now: Time, packet: &ArrivedPacket) {
        match self.window.insert(packet.sequence) {
            Arrival::New => {}
            Arrival::Restart => self.restart(now),
            Arrival::Ignored => {
                self.counters.ignored_packets += 1;
                return;
            }
        }
        if self.passed.is_some_and(|passed| packet.captured <= passed) {
            self.counters.late_packets += 1;
            return;
        }
        if self.pending.len() >= Self::MAX_PENDING {
            self.evict_oldest(now);
        }
        let index = self.pending.add(now, packet);
        let this = self.complete(now, index);
        // This packet may be what told where the next frame starts.
        let next = self.complete(now, index + 1);
        if this || next {
            self.show_due(now);
        }
    }

    /// Sets the playout time of frame `index` if it has just become complete.
    fn complete(&mut self, now: Time, index: usize) -> bool {
        let Some(captured) = self.pending.newly_complete(index, &self.window) else {
            return false;
        };
        let due = match self.config {
            PlayoutConfig::Immediate(_) => now,
            PlayoutConfig::Fixed(params) => captured + params.delay,
            PlayoutConfig::Adaptive(params) => captured + self.delay.update(now - captured, &params),
        };
        self.pending.set_complete(index, now, due);
        true
    }

    /// When [`Playout::handle_timeout`] has something to show.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        self.timeout
    }

    /// Shows what is due.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.timeout.is_some_and(|timeout| timeout <= now) {
            self.show_due(now);
        }
    }

    /// The next displayed frame that nobody has fetched.
    #[inline]
    pub fn poll(&mut self) -> Option<DisplayedFrame> {
        self.shown.pop_front()
    }

    /// The next frame given up that nobody has fetched and that was captured before the one that [`Playout::poll`] gives.
    #[inline]
    pub fn poll_given_up(&mut self) -> Option<IncompleteFrame> {
        let next = self.given_up.front()?;
        if self.shown.front().is_some_and(|shown| shown.captured < next.captured) {
            return None;
        }
        self.given_up.pop_front()
    }

    /// Frames that wait and lack packets: they are given up if nothing more arrives.
    pub fn waiting(&self) -> impl Iterator<Item = IncompleteFrame> + '_ {
        let next = self.pending.iter().skip(1).map(Some).chain([None]);
        let frames = self.pending.iter().zip(next).filter(|(frame, _)| frame.complete.is_none());
        frames.map(|(frame, next)| self.incomplete(frame, next))
    }

    /// Counts of frames displayed, late, incomplete and frozen so far.
    #[inline]
    pub fn counters(&self) -> &PlayoutCounters {
        &self.counters
    }

    fn show_due(&mut self, now: Time) {
        self.timeout = None;
        while let Some((index, due)) = self.pending.first_complete() {
            if due > now {
                self.timeout = Some(due);
                return;
            }
            for _ in 0..index {
                self.give_up_oldest();
            }
            self.show_oldest(now);
        }
    }

    fn show_oldest(&mut self, now: Time) {
        let Some(frame) = self.pending.take_oldest() else { return };
        self.passed = Some(frame.captured);
        let late = frame.complete.is_some_and(|complete| complete.at > complete.due);
        self.counters.displayed += 1;
        self.counters.late += u64::from(late);
        if let Some(gap) = self.freezes.on_display(now) {
            self.counters.freezes += 1;
            self.counters.freeze_time += gap;
        }
        if self.shown.len() >= Self::MAX_SHOWN {
            self.shown.pop_front();
        }
        let parts = frame.delay_parts(now);
        let (captured, bytes, key) = (frame.captured, frame.bytes, frame.key);
        let (packets, in_time) = (frame.received, frame.in_time);
        self.shown.push_back(DisplayedFrame {
            captured,
            displayed: now,
            bytes,
            key,
            packets,
            in_time,
            late,
            parts,
        });
    }

    fn give_up_oldest(&mut self) {
        let Some(frame) = self.pending.take_oldest() else { return };
        self.passed = Some(frame.captured);
        self.counters.incomplete += 1;
        if self.given_up.len() >= Self::MAX_SHOWN {
            self.given_up.pop_front();
        }
        let incomplete = self.incomplete(&frame, self.pending.iter().next());
        self.given_up.push_back(incomplete);
    }

    /// A frame that lacks packets, as it is with `next` behind it.
    fn incomplete(&self, frame: &PendingFrame, next: Option<&PendingFrame>) -> IncompleteFrame {
        let end = next.map_or(u64::MAX, |next| next.low);
        let before = (0..frame.low).rev().take_while(|&sequence| !self.window.contains(sequence));
        let before = if frame.lacks_first() { before.take(MOST_BEFORE).count() as u64 } else { 0 };
        IncompleteFrame {
            captured: frame.captured,
            key: frame.key,
            bytes: frame.bytes,
            in_time: frame.in_time,
            late: frame.received - frame.in_time,
            gaps: before + (frame.high - frame.low + 1).saturating_sub(frame.received),
            behind: (!frame.has_end()).then(|| self.window.missing(frame.high.saturating_add(1)..end)),
        }
    }

    fn evict_oldest(&mut self, now: Time) {
        if self.pending.first_complete().is_some_and(|(index, _)| index == 0) {
            self.show_oldest(now);
        } else {
            self.give_up_oldest();
        }
    }

    /// The sender has started anew: what waits goes, and capture times may start from anywhere.
    fn restart(&mut self, now: Time) {
        while self.pending.len() > 0 {
            self.evict_oldest(now);
        }
        self.passed = None;
        self.timeout = None;
        self.delay = DelayEstimate::default();
    }
}

#[cfg(test)]
mod tests;
