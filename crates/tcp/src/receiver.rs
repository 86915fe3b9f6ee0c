//! The end that receives: puts the stream together, and says what is there.

use super::accurate_ecn::MarkCounter;
use super::segment::{Congestion, Flags, SackBlocks, Segment, unwrap};
use super::timestamp::{Heard, Verdict};
use super::{EcnEcho, TcpConfig, WrittenFrame};
use paceline_cc::StreamId;
use paceline_ends::{Follows, PathFacts, Ranges, Reason, Received, ReceivingEnd, Transmit};
use paceline_media::{DisplayedFrame, PlayoutCounters, StreamPlayout};
use paceline_units::{Bytes, CongestionHeader, Ecn, Feedback, Time, TimeDelta};
use std::collections::VecDeque;

/// The most pieces of the stream that are kept beyond the first hole: a guard, far above what any window makes.
const MOST_PIECES: usize = 4096;

/// Receives a stream of bytes, and shows the frames in it to whoever knows where they end.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    config: TcpConfig,
    connection: u16,
    connected: bool,
    /// Offset of the first byte that is missing (RCV.NXT).
    next: u64,
    /// Bytes that are there beyond, in order, apart from each other.
    pieces: Ranges,
    /// Where the pieces that were told last begin, the newest first.
    told: [u64; SackBlocks::MOST],
    duplicate: Option<(u64, u64)>,
    /// Offset behind the last byte of the stream.
    fin: Option<u64>,
    unacknowledged: u32,
    /// Acknowledgements that will not wait.
    quick_acks: u32,
    due: Option<Time>,
    /// A segment to be sent at once, before the acknowledgement that is due.
    first: Option<Segment>,
    /// Flags of acknowledgements about marks.
    echo: Flags,
    marks: MarkCounter,
    /// Word of the next acknowledgement on congestion headers.
    congestion: Congestion,
    heard: Heard,
    window: u64,
    ignored: u64,
    duplicates: u64,
    playout: StreamPlayout,
    displayed: VecDeque<DisplayedFrame>,
}

impl TcpReceiver {
    /// A receiver that has received nothing.
    pub fn new(config: &TcpConfig, connection: u16) -> TcpReceiver {
        let config = if config.handshake { *config } else { config.agreed(config.receiver_ecn) };
        let mut receiver = TcpReceiver {
            config,
            connection,
            connected: !config.handshake,
            next: 0,
            pieces: Ranges::default(),
            told: [0; SackBlocks::MOST],
            duplicate: None,
            fin: None,
            unacknowledged: 0,
            quick_acks: config.quick_acks,
            due: None,
            first: None,
            echo: Flags::NONE,
            marks: MarkCounter::NEW,
            congestion: Congestion::None,
            heard: Heard::default(),
            window: config.receive_window(),
            ignored: 0,
            duplicates: 0,
            playout: StreamPlayout::default(),
            displayed: VecDeque::new(),
        };
        receiver.echo = receiver.first_echo();
        receiver
    }

    /// Segments that changed nothing: of another connection, out of the window, without being connected.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Segments with payload that brought nothing new.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// A frame is whole: all before [`TcpReceiver::readable`] is there.
    pub fn display(&mut self, now: Time, frame: &WrittenFrame) {
        self.displayed.push_back(self.playout.show(now, frame.captured, frame.payload));
    }

    /// Offset of the first byte that is missing: all before it can be read.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.next
    }

    /// A segment arrived; answers the payload that was not there before.
    #[inline(always)]
    fn take_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) -> Bytes {
        if segment.connection != self.connection {
            self.ignored += 1;
            return Bytes::ZERO;
        }
        let odd = Flags::RST.0 | Flags::SYN.0;
        if segment.flags.0 & odd != 0 {
            self.control(now, *segment, ecn);
            return Bytes::ZERO;
        }
        let begin = self.config.initial_sequence.wrapping_add(1);
        let offset = unwrap(self.next, segment.sequence.wrapping_sub(begin));
        let Some(offset) = offset.filter(|_| self.connected && segment.flags.has(Flags::ACK)) else {
            self.ignored += 1;
            return Bytes::ZERO;
        };
        let end = offset + u64::from(segment.payload);
        let fin = segment.flags.has(Flags::FIN);
        if segment.payload == 0 && !fin {
            return Bytes::ZERO;
        }
        if end > self.next + self.window || end < self.next.saturating_sub(self.window) {
            // RFC 9293 section 3.10.7.4: out of the window, an acknowledgement and nothing else.
            self.ignored += 1;
            self.due = Some(now);
            return Bytes::ZERO;
        }
        if self.config.timestamps && !self.heeds(now, segment, offset) {
            self.ignored += 1;
            return Bytes::ZERO;
        }
        self.note_mark(now, segment, ecn);
        if let Congestion::Header(header) = segment.congestion {
            self.note_feedback(header);
        }
        if fin && self.fin.is_none() {
            self.fin = Some(end);
        }
        let (duplicates, missing) = (self.duplicates, !self.pieces.is_empty());
        let new = self.store(now, offset, end);
        self.unacknowledged += 1;
        // RFC 5681 section 4.2: what is out of order, and what fills a hole or a part of it, is acknowledged at once.
        let in_order = !missing && self.pieces.is_empty();
        let delayed = in_order && self.duplicates == duplicates && self.fin.is_none();
        if !delayed || self.unacknowledged >= self.config.ack_every {
            self.due = Some(now);
        } else if self.due.is_none() {
            self.due = Some(now + self.ack_delay());
        }
        new
    }

    /// Whether the segment's timestamp lets it in.
    fn heeds(&mut self, now: Time, segment: &Segment, offset: u64) -> bool {
        let verdict = self.heard.on_segment(segment.timestamp, offset);
        if verdict == Verdict::Old {
            self.due = Some(now);
        }
        verdict == Verdict::Accepted
    }

    /// How long the acknowledgement of what came in order may wait.
    #[inline]
    fn ack_delay(&mut self) -> TimeDelta {
        if self.quick_acks > 0 {
            self.quick_acks -= 1;
            return TimeDelta::ZERO;
        }
        self.config.ack_delay
    }

    /// SYN and RST. A copy, so that the common segment need not lie in memory.
    #[cold]
    fn control(&mut self, now: Time, segment: Segment, ecn: Ecn) {
        if segment.flags.has(Flags::SYN) && segment.sequence == self.config.initial_sequence && self.next == 0
        {
            let flags = Flags::SYN.and(Flags::ACK).and(self.answer_ecn(&segment, ecn));
            self.config.timestamps &= segment.timestamp != 0;
            self.heard.recent = if self.config.timestamps { segment.timestamp } else { 0 };
            self.connected = true;
            self.first = Some(self.segment(flags, self.config.initial_sequence));
            return;
        }
        // RFC 5961 sections 3 and 4 (no text at hand): neither ends the connection, the answer is an acknowledgement,
        // and a reset counts only with the very number that is expected.
        let expected = self.config.initial_sequence.wrapping_add(1).wrapping_add(self.next as u32);
        if self.connected && segment.flags.has(Flags::RST) && segment.sequence == expected {
            self.connected = false;
            (self.due, self.first) = (None, None);
            return;
        }
        self.ignored += 1;
        if self.connected {
            self.due = Some(now);
        }
    }

    /// Flags of ECN in the answer to a SYN that arrived with `ecn`. The first SYN decides (RFC 9768 section 3.1.5).
    fn answer_ecn(&mut self, syn: &Segment, ecn: Ecn) -> Flags {
        if !self.connected && self.config.ecn_echo == EcnEcho::Accurate {
            self.config = self.config.agreed(self.config.receiver_ecn.of_syn(syn.flags));
            self.echo = self.first_echo();
        }
        match self.config.ecn_echo {
            EcnEcho::Accurate => Flags::of_syn_ecn(ecn),
            EcnEcho::Rfc3168 | EcnEcho::Exact => {
                let asked = syn.flags.has(Flags::ECE) && self.config.ect != Ecn::NotEct;
                Flags::NONE.and_if(asked, Flags::ECE)
            }
        }
    }

    /// Flags of acknowledgements before there is a mark.
    fn first_echo(&self) -> Flags {
        if self.config.ecn_echo == EcnEcho::Accurate { self.marks.flags() } else { Flags::NONE }
    }

    /// Sets the flags of acknowledgements from now on. With exact echoes what was held back is acknowledged with the old state first
    /// (RFC 8257 section 3.2).
    #[inline]
    fn note_mark(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let marked = ecn.is_ce() && !self.config.conceals.marks();
        if self.config.ecn_echo != EcnEcho::Rfc3168 {
            return self.note_exactly(now, marked);
        }
        if segment.flags.has(Flags::CWR) {
            self.echo = Flags::NONE;
        }
        self.echo = self.echo.and_if(marked, Flags::ECE);
    }

    /// The same for echoes that are not RFC 3168's.
    #[inline(never)]
    fn note_exactly(&mut self, now: Time, marked: bool) {
        if self.config.ecn_echo == EcnEcho::Accurate {
            if self.marks.on_packet(marked, self.unacknowledged == 0) {
                self.due = Some(now);
            }
            self.echo = self.marks.flags();
        } else if marked != self.echo.has(Flags::ECE) {
            if self.unacknowledged > 0 && self.due.is_some_and(|due| due > now) {
                self.first = Some(self.acknowledgment());
                (self.unacknowledged, self.due) = (0, None);
            }
            self.echo = Flags::NONE.and_if(marked, Flags::ECE);
        }
    }

    fn note_feedback(&mut self, header: CongestionHeader) {
        let before = match (self.congestion, header.kind) {
            (Congestion::Feedback(sum), Feedback::Change) => sum,
            _ => 0.0,
        };
        self.congestion = Congestion::Feedback(before + header.feedback);
    }

    #[inline]
    fn store(&mut self, now: Time, offset: u64, end: u64) -> Bytes {
        if offset == self.next && self.pieces.is_empty() {
            // The common case: the next in order.
            self.next = end;
            return Bytes::new(end - offset);
        }
        self.store_apart(now, offset, end)
    }

    #[cold]
    fn store_apart(&mut self, now: Time, offset: u64, end: u64) -> Bytes {
        let begin = offset.max(self.next);
        if self.config.conceals.losses() && end > begin {
            self.next = end;
            return Bytes::new(end - begin);
        }
        let new = end.saturating_sub(begin) - self.pieces.count_in(begin, end);
        if new == 0 {
            self.duplicate = (end > offset).then_some((offset, end));
            self.due = Some(now);
            self.duplicates += u64::from(end > offset);
            return Bytes::ZERO;
        }
        if offset < begin {
            self.duplicate = Some((offset, begin));
        }
        if begin == self.next {
            self.next = end;
        } else if !self.insert(begin, end) {
            self.ignored += 1;
            return Bytes::ZERO;
        }
        self.next = self.pieces.advance(self.next);
        Bytes::new(new)
    }

    /// Keeps a piece; false if there are too many.
    fn insert(&mut self, begin: u64, end: u64) -> bool {
        if self.pieces.len() >= MOST_PIECES && self.pieces.is_apart(begin, end) {
            return false;
        }
        let (begin, _) = self.pieces.add(begin, end, |_, _| ());
        if self.told[0] != begin {
            // A block told before moves back; its own old place, if it had one, is closed.
            let old = self.told.iter().position(|told| *told == begin).unwrap_or(SackBlocks::MOST - 1);
            self.told.copy_within(0..old, 1);
            self.told[0] = begin;
        }
        true
    }

    #[inline]
    fn acknowledgment(&mut self) -> Segment {
        let flags = Flags::ACK.and(self.echo);
        let told = !self.pieces.is_empty() || self.duplicate.is_some();
        let mut sack = if told { self.blocks() } else { SackBlocks::none() };
        if self.config.timestamps {
            self.heard.acknowledged = self.next;
            sack = sack.beside_a_timestamp();
        }
        let congestion = self.congestion;
        if congestion != Congestion::None {
            self.congestion = Congestion::None;
        }
        Segment { sack, congestion, ..self.segment(flags, self.config.initial_sequence.wrapping_add(1)) }
    }

    #[inline]
    fn segment(&self, flags: Flags, sequence: u32) -> Segment {
        let finished = u64::from(self.fin == Some(self.next));
        Segment {
            connection: self.connection,
            flags,
            sequence,
            acknowledgment: self.sequence(self.next + finished),
            window: self.window as u32,
            timestamp: self.heard.recent,
            ..Segment::default()
        }
    }

    #[inline]
    fn sequence(&self, offset: u64) -> u32 {
        self.config.initial_sequence.wrapping_add(1).wrapping_add(offset as u32)
    }

    /// First a duplicate (RFC 2883 section 4), then the pieces that changed last (RFC 2018 section 4), then others.
    #[cold]
    fn blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::none();
        if let Some((begin, end)) = self.duplicate.take() {
            blocks.push(self.sequence(begin), self.sequence(end));
        }
        let mut written = [u64::MAX; SackBlocks::MOST];
        for (place, told) in self.told.into_iter().enumerate() {
            if let Some((begin, end)) = self.pieces.of(told)
                && !written.contains(&begin)
            {
                blocks.push(self.sequence(begin), self.sequence(end));
                written[place] = begin;
            }
        }
        blocks
    }
}

impl ReceivingEnd for TcpReceiver {
    type Data = Segment;
    type Returning = Segment;

    #[inline]
    fn next_timeout(&self) -> Option<(Time, Reason)> {
        self.due.map(|due| (due, Reason::DelayedAck))
    }

    fn handle_timeout(&mut self, _now: Time) {}

    #[inline(always)]
    fn receive(&mut self, now: Time, segment: Segment, ecn: Ecn, _facts: PathFacts) -> Received {
        let payload = self.take_segment(now, &segment, ecn);
        let follows = match self.due {
            Some(due) if due <= now && self.first.is_none() => Follows::Answer(Time::MAX),
            Some(due) if due > now && self.first.is_none() => Follows::Timeout(due),
            _ => Follows::Unknown,
        };
        Received { stream: StreamId(0), payload, follows }
    }

    #[inline(always)]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Segment>> {
        let packet = if self.first.is_some() {
            self.first.take()?
        } else if self.due.is_none_or(|due| now < due) {
            return None;
        } else {
            return self.answer(now);
        };
        Some(transmit(now, packet))
    }

    #[inline(always)]
    fn answer(&mut self, now: Time) -> Option<Transmit<Segment>> {
        (self.due, self.unacknowledged) = (None, 0);
        Some(transmit(now, self.acknowledgment()))
    }

    #[inline]
    fn poll_displayed(&mut self) -> Option<(StreamId, DisplayedFrame)> {
        Some((StreamId(0), self.displayed.pop_front()?))
    }

    fn playout(&self) -> PlayoutCounters {
        self.playout.counters()
    }
}

/// A packet of the receiver. RFC 3168 section 6.1.4: acknowledgements are not ECN-capable.
#[inline(always)]
fn transmit(now: Time, packet: Segment) -> Transmit<Segment> {
    Transmit { packet, size: packet.size(), ecn: Ecn::NotEct, stream: StreamId(0), queued: now }
}
