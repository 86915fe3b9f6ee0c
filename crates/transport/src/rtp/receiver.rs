//! The receiver endpoint: notes arrivals, says when to report and what (RFC 8888, or the controller's receiver half),
//! and plays the media out.

use super::clock::ReceiverClock;
use super::half::NoReceiverHalf;
use super::packet::RtpPacket;
use crate::ends::ReceivingEnd;
use paceline_cc::{Arrival, ReceiverHalf, StreamId};
use paceline_media::{ArrivedPacket, DisplayedFrame, Playout, PlayoutConfig, PlayoutCounters};
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};

/// When the receiver reports: after so many packets, so long, or at a frame's end, whichever is first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeedbackConfig {
    /// Packets; at least 1.
    pub packets: u32,
    /// Since the first packet that is not reported yet.
    pub time: TimeDelta,
    /// At a packet with the marker bit.
    pub marker: bool,
    /// The clock of the arrival times.
    pub clock: ReceiverClock,
    /// How many packets before the first new one a report covers again, against lost reports.
    pub overlap: u32,
}

impl Default for FeedbackConfig {
    /// 16 packets, 40 ms, marker, RFC 8888's clock, nothing twice.
    fn default() -> FeedbackConfig {
        FeedbackConfig {
            packets: 16,
            time: TimeDelta::from_millis(40),
            marker: true,
            clock: ReceiverClock::RFC8888,
            overlap: 0,
        }
    }
}

/// What a driver knows of a packet's way, where it knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathFacts {
    /// When it was sent.
    pub sent: Option<Time>,
    /// How long it waited in link queues.
    pub wait: Option<TimeDelta>,
    /// Whether it is the first packet of its frame.
    pub first: Option<bool>,
}

/// Receives the streams of one flow. Where the controller has a receiver half, its reports replace RFC 8888's.
#[derive(Clone, Debug)]
pub struct RtpReceiver<H = NoReceiverHalf> {
    config: FeedbackConfig,
    streams: Vec<ReceivedStream>,
    unreported: u32,
    due: Option<Time>,
    half: Option<H>,
}

#[derive(Clone, Debug)]
struct ReceivedStream {
    /// What became of the packets below `end`, by sequence number modulo its length.
    ring: Vec<ArrivalReport>,
    /// One above the highest sequence number received.
    end: u64,
    /// Lowest sequence number received since the last report; `end` of the last report if none.
    report_from: u64,
    any_new: bool,
    started: bool,
    playout: Playout,
}

/// RFC 8888 section 3.1: no block reports on more packets.
const LONGEST_BLOCK: u64 = 16_384;
/// The least that is remembered of packets.
const SHORTEST_RING: u32 = 256;

impl RtpReceiver {
    /// A receiver of `streams` streams.
    pub fn new(config: FeedbackConfig, streams: u8, playout: PlayoutConfig) -> RtpReceiver {
        RtpReceiver::with_half(config, streams, playout, None)
    }
}

impl<H: ReceiverHalf> RtpReceiver<H> {
    /// A receiver of `streams` streams, and what its controller has at this end.
    pub fn with_half(
        config: FeedbackConfig,
        streams: u8,
        playout: PlayoutConfig,
        half: Option<H>,
    ) -> RtpReceiver<H> {
        // What is reported again takes one half at most, what is new the other.
        let ring = (config.overlap.min(LONGEST_BLOCK as u32) * 2).max(SHORTEST_RING).next_power_of_two();
        let stream = || ReceivedStream {
            ring: vec![ArrivalReport::Missing; ring as usize],
            end: 0,
            report_from: 0,
            started: false,
            any_new: false,
            playout: Playout::new(playout),
        };
        let streams = (0..streams.max(1)).map(|_| stream()).collect();
        RtpReceiver {
            config: FeedbackConfig { packets: config.packets.max(1), ..config },
            streams,
            unreported: 0,
            due: None,
            half,
        }
    }

    /// A packet arrived. True if a report is due at once. Packets of unknown streams are ignored.
    #[inline]
    pub fn on_packet(&mut self, now: Time, packet: &RtpPacket, ecn: Ecn, facts: PathFacts) -> bool {
        let Some(stream) = self.streams.get_mut(usize::from(packet.stream.0)) else { return false };
        if !stream.note(packet.sequence, self.config.clock.read(now), ecn) {
            return false;
        }
        stream.playout.on_packet(
            now,
            &ArrivedPacket {
                sequence: packet.sequence,
                captured: packet.captured,
                payload: packet.payload,
                first: facts.first,
                marker: packet.marker,
                sent: facts.sent,
                wait: facts.wait,
            },
        );
        if self.half.is_some() {
            return self.tell_half(now, packet, ecn, facts);
        }
        self.unreported += 1;
        if self.due.is_none() {
            self.due = Some(now + self.config.time);
        }
        if self.unreported >= self.config.packets || (packet.marker && self.config.marker) {
            self.due = Some(now);
            return true;
        }
        false
    }

    /// Tells the receiver half of an arrival. True if it wants to report at once.
    #[inline]
    fn tell_half(&mut self, now: Time, packet: &RtpPacket, ecn: Ecn, facts: PathFacts) -> bool {
        let Some(half) = &mut self.half else { return false };
        let RtpPacket { stream, sequence, annotation, .. } = *packet;
        let arrival = Arrival { stream, sequence, size: packet.size(), sent: facts.sent, ecn, annotation };
        let at_once = half.on_arrival(now, &arrival);
        self.due = if at_once { Some(now) } else { half.next_timeout() };
        at_once
    }

    /// The receiver half, to look at.
    pub fn receiver_half(&self) -> Option<&H> {
        self.half.as_ref()
    }

    /// When the next report is due; absent if there is nothing to report.
    #[inline]
    pub fn next_report(&self) -> Option<Time> {
        self.due
    }

    /// Writes the report that is due into `feedback`; false if none is.
    #[inline]
    pub fn poll_feedback(&mut self, now: Time, feedback: &mut Feedback) -> bool {
        if self.due.is_none_or(|due| now < due) {
            return false;
        }
        (self.due, self.unreported) = (None, 0);
        feedback.clear();
        feedback.written = self.config.clock.read(now);
        if let Some(half) = &mut self.half {
            feedback.receiver = half.report(now);
            self.due = half.next_timeout().filter(|due| *due > now);
            return feedback.receiver.is_some();
        }
        for (id, stream) in self.streams.iter_mut().enumerate() {
            if stream.any_new {
                stream.report(StreamId(id as u8), self.config.overlap, feedback);
            }
        }
        true
    }

    /// When playout wants to be called.
    #[inline]
    pub fn next_playout(&self) -> Option<Time> {
        match &self.streams[..] {
            [stream] => stream.playout.next_timeout(),
            streams => streams.iter().filter_map(|stream| stream.playout.next_timeout()).min(),
        }
    }

    /// Displays what is due.
    pub fn handle_playout(&mut self, now: Time) {
        self.streams.iter_mut().for_each(|stream| stream.playout.handle_timeout(now));
    }

    /// The next frame that was displayed, and of which stream.
    #[inline]
    pub fn poll_displayed(&mut self) -> Option<(StreamId, DisplayedFrame)> {
        let mut streams = self.streams.iter_mut().enumerate();
        streams.find_map(|(id, stream)| stream.playout.poll().map(|frame| (StreamId(id as u8), frame)))
    }
}

impl<H: ReceiverHalf> ReceivingEnd for RtpReceiver<H> {
    fn playout(&self) -> PlayoutCounters {
        let counters = self.streams.iter().map(|stream| stream.playout.counters());
        counters.fold(PlayoutCounters::default(), |sum, stream| PlayoutCounters {
            incomplete: sum.incomplete + stream.incomplete,
            freezes: sum.freezes + stream.freezes,
            ..sum
        })
    }
}

impl ReceivedStream {
    /// Notes an arrival; of duplicates the first time counts, and CE if any copy has it (RFC 8888 section 3.1). False
    /// for what is too old to report on.
    #[inline]
    fn note(&mut self, sequence: u64, at: Time, ecn: Ecn) -> bool {
        if sequence == u64::MAX {
            return false;
        }
        if sequence == self.end && self.started && self.has_room() {
            // The common case: the next in order.
            let mask = self.ring.len() - 1;
            self.ring[sequence as usize & mask] = ArrivalReport::Received { at: Some(at), ecn };
            self.end += 1;
            self.any_new = true;
            return true;
        }
        if sequence >= self.end {
            self.extend_to(sequence);
        } else if self.end - sequence > self.ring.len() as u64 {
            return false;
        }
        let mask = self.ring.len() - 1;
        let entry = &mut self.ring[sequence as usize & mask];
        match entry {
            ArrivalReport::Missing => *entry = ArrivalReport::Received { at: Some(at), ecn },
            ArrivalReport::Received { ecn: known, .. } if ecn.is_ce() => *known = ecn,
            ArrivalReport::Received { .. } => {}
        }
        if !self.any_new || sequence < self.report_from {
            self.report_from = self.report_from.min(sequence);
        }
        self.any_new = true;
        true
    }

    /// Whether one more packet fits beside those that a report may still cover.
    #[inline]
    fn has_room(&self) -> bool {
        self.end - self.report_from < self.ring.len() as u64 / 2
    }

    /// Makes `sequence` the newest: what lies between is missing.
    #[inline]
    fn extend_to(&mut self, sequence: u64) {
        if !self.started {
            // Senders begin anywhere (RFC 3550 section 5.1): what lies before the first packet was never sent to us.
            (self.started, self.end, self.report_from) = (true, sequence, sequence);
        }
        let gap = sequence - self.end;
        if gap >= LONGEST_BLOCK {
            // Too far to report on what lies between: begin anew from here.
            self.ring.fill(ArrivalReport::Missing);
            self.report_from = sequence;
            self.end = sequence + 1;
            return;
        }
        while sequence + 1 - self.report_from > self.ring.len() as u64 / 2
            && self.ring.len() < LONGEST_BLOCK as usize * 2
        {
            self.grow();
        }
        let mask = self.ring.len() - 1;
        for missing in self.end..=sequence {
            self.ring[missing as usize & mask] = ArrivalReport::Missing;
        }
        self.end = sequence + 1;
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.ring.len();
        let mut larger = vec![ArrivalReport::Missing; old * 2];
        for sequence in self.end.saturating_sub(old as u64)..self.end {
            larger[sequence as usize & (old * 2 - 1)] = self.ring[sequence as usize & (old - 1)];
        }
        self.ring = larger;
    }

    fn report(&mut self, stream: StreamId, overlap: u32, feedback: &mut Feedback) {
        let oldest = self.end.saturating_sub(LONGEST_BLOCK.min(self.ring.len() as u64));
        let begin = self.report_from.saturating_sub(u64::from(overlap)).max(oldest);
        let mask = self.ring.len() - 1;
        feedback.blocks.push(FeedbackBlock { stream, begin, count: (self.end - begin) as u32 });
        feedback.arrivals.extend((begin..self.end).map(|sequence| self.ring[sequence as usize & mask]));
        self.report_from = self.end;
        self.any_new = false;
    }
}
