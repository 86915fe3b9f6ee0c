//! The end that receives: says what arrived, and delivers messages.

use super::packet::{Backward, Forward, ForwardTsn, Sack};
use super::reassembly::{Message, Reassembly};
use super::{DataChunk, SctpConfig};
use paceline_cc::StreamId;
use paceline_ends::{Follows, PathFacts, Ranges, Reason, Received, ReceivingEnd, Transmit};
use paceline_media::{DisplayedFrame, PlayoutCounters, StreamPlayout};
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::unwrap_u32;
use std::collections::VecDeque;

/// The most ranges of chunks beyond the first hole: a guard, far above what any window makes.
const MOST_RANGES: usize = 4096;
/// The most chunks that are held.
const MOST_AHEAD: u64 = 1 << 18;
/// Gap blocks that fit a packet of 1500 B (RFC 9260 section 3.3.4).
const MOST_GAPS: usize = 363;
/// A gap block's distances have 16 bits.
const FARTHEST: u64 = u16::MAX as u64;

/// Receives messages, and shows them as frames of their streams.
#[derive(Clone, Debug)]
pub struct SctpReceiver {
    config: SctpConfig,
    /// Number of the first chunk that is missing.
    next: u64,
    beyond: Ranges,
    reassembly: Reassembly,
    duplicates: u16,
    unacknowledged: u32,
    due: Option<Time>,
    /// A HEARTBEAT to be answered.
    beat: Option<Time>,
    /// Memory of a SACK that is over.
    spare: Vec<(u16, u16)>,
    ignored: u64,
    /// Playout of each stream of the flow; empty where messages are no frames.
    playouts: Vec<Option<StreamPlayout>>,
    displayed: VecDeque<(StreamId, DisplayedFrame)>,
}

impl SctpReceiver {
    /// A receiver that has received nothing. Messages of the streams that are so told are frames.
    pub fn new(config: &SctpConfig, frames: impl IntoIterator<Item = bool>) -> SctpReceiver {
        let playouts = frames.into_iter().map(|frames| frames.then(StreamPlayout::default)).collect();
        SctpReceiver {
            config: *config,
            next: 0,
            beyond: Ranges::default(),
            reassembly: Reassembly::default(),
            duplicates: 0,
            unacknowledged: 0,
            due: None,
            beat: None,
            spare: Vec::new(),
            ignored: 0,
            playouts,
            displayed: VecDeque::new(),
        }
    }

    /// Packets that changed nothing: beyond the window, or of a stream that there is not.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Payload that waits for other chunks.
    pub fn held(&self) -> Bytes {
        Bytes::new(self.reassembly.held)
    }

    /// A chunk arrived: payload that had not been there.
    fn take_data(&mut self, now: Time, chunk: &DataChunk) -> Bytes {
        let number = unwrap_u32(self.next, chunk.tsn.wrapping_sub(self.config.initial_tsn));
        let Some(number) = number.filter(|number| *number < self.next + MOST_AHEAD && chunk.payload > 0)
        else {
            self.ignored += 1;
            return Bytes::ZERO;
        };
        if number < self.next || self.beyond.of(number).is_some() {
            // RFC 9260 section 6.2: duplicates are told at once.
            self.duplicates = self.duplicates.saturating_add(1).min(MOST_GAPS as u16);
            self.due = Some(now);
            return Bytes::ZERO;
        }
        let room = self.config.receive_window.as_u64().saturating_sub(self.reassembly.held);
        let fits = number == self.next || u64::from(chunk.payload) <= room && self.beyond.len() < MOST_RANGES;
        let known = usize::from(chunk.source) < self.playouts.len();
        if !fits || !known {
            self.ignored += 1;
            self.due = Some(now);
            return Bytes::ZERO;
        }
        let mut chunk = *chunk;
        if self.config.conceals.losses() {
            // Missing chunks never come, so that no message may wait for another.
            chunk.unordered = true;
            self.deliver(now, |reassembly, out| reassembly.skip(number, &[], out));
            self.next = number;
        }
        let missing = !self.beyond.is_empty();
        self.beyond.add(number, number + 1, |_, _| {});
        self.next = self.beyond.advance(self.next);
        self.deliver(now, |reassembly, out| reassembly.add(number, chunk, out));
        self.unacknowledged += 1;
        self.schedule(now, missing || !self.beyond.is_empty());
        Bytes::new(u64::from(chunk.payload))
    }

    /// A SACK leaves with each second packet or after a time, and at once while something is missing (section 6.2 and 6.7).
    fn schedule(&mut self, now: Time, at_once: bool) {
        if at_once || self.unacknowledged >= self.config.sack_every {
            self.due = Some(now);
        } else if self.due.is_none() {
            self.due = Some(now + self.config.sack_delay);
        }
    }

    /// RFC 3758 section 3.6. A number ahead of all that may be outstanding is ignored.
    fn take_forward(&mut self, now: Time, forward: &ForwardTsn) {
        let last = unwrap_u32(self.next, forward.cumulative.wrapping_sub(self.config.initial_tsn));
        let until = last.map(|last| last + 1).filter(|until| *until <= self.next + MOST_AHEAD);
        let Some(until) = until.filter(|until| *until > self.next) else {
            self.ignored += 1;
            self.due = Some(now);
            return;
        };
        self.next = self.beyond.advance(until);
        self.deliver(now, |reassembly, out| reassembly.skip(until, &forward.skipped, out));
        self.due = Some(now);
    }

    fn deliver(&mut self, now: Time, change: impl FnOnce(&mut Reassembly, &mut dyn FnMut(Message))) {
        let (playouts, displayed) = (&mut self.playouts, &mut self.displayed);
        let mut show = |message: Message| {
            let source = message.chunk.source;
            if let Some(Some(playout)) = playouts.get_mut(usize::from(source)) {
                let frame = playout.show(now, message.chunk.captured, Bytes::new(message.payload));
                displayed.push_back((StreamId(source), frame));
            }
        };
        change(&mut self.reassembly, &mut show);
    }

    fn sack(&mut self) -> Sack {
        let mut gaps = std::mem::take(&mut self.spare);
        gaps.clear();
        let base = self.next;
        let told = self.beyond.iter().map(|(begin, end)| (begin - base + 1, end - base));
        let told = told.take_while(|(begin, _)| *begin <= FARTHEST).take(MOST_GAPS);
        gaps.extend(told.map(|(begin, end)| (begin as u16, end.min(FARTHEST) as u16)));
        let held = self.reassembly.held;
        Sack {
            cumulative: self.config.initial_tsn.wrapping_add(self.next as u32).wrapping_sub(1),
            a_rwnd: self.config.receive_window.as_u64().saturating_sub(held).min(u32::MAX.into()) as u32,
            gaps,
            duplicates: std::mem::take(&mut self.duplicates),
        }
    }
}

impl ReceivingEnd for SctpReceiver {
    type Data = Forward;
    type Returning = Backward;

    fn next_timeout(&self) -> Option<(Time, Reason)> {
        self.due.map(|due| (due, Reason::DelayedAck))
    }

    fn handle_timeout(&mut self, _now: Time) {}

    fn receive(&mut self, now: Time, packet: Forward, _ecn: Ecn, _facts: PathFacts) -> Received {
        let mut received = Received { follows: Follows::Unknown, ..Received::default() };
        match packet {
            Forward::Data(chunk) => {
                received.stream = StreamId(chunk.source);
                received.payload = self.take_data(now, &chunk);
            }
            Forward::Heartbeat(sent) => self.beat = Some(sent),
            Forward::ForwardTsn(forward) => self.take_forward(now, &forward),
        }
        received
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Backward>> {
        let packet = if let Some(sent) = self.beat.take() {
            Backward::HeartbeatAck(sent)
        } else {
            self.due.filter(|due| *due <= now)?;
            (self.due, self.unacknowledged) = (None, 0);
            Backward::Sack(self.sack())
        };
        Some(Transmit { size: packet.size(), packet, ecn: Ecn::NotEct, stream: StreamId(0), queued: now })
    }

    fn recycle(&mut self, packet: Backward) {
        if let Backward::Sack(sack) = packet {
            self.spare = sack.gaps;
        }
    }

    fn poll_displayed(&mut self) -> Option<(StreamId, DisplayedFrame)> {
        self.displayed.pop_front()
    }

    fn playout(&self) -> PlayoutCounters {
        let counters = self.playouts.iter().flatten().map(StreamPlayout::counters);
        counters.fold(PlayoutCounters::default(), |sum, stream| PlayoutCounters {
            displayed: sum.displayed + stream.displayed,
            freezes: sum.freezes + stream.freezes,
            freeze_time: sum.freeze_time + stream.freeze_time,
            ..sum
        })
    }
}
