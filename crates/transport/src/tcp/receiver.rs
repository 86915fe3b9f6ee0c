//! The end that receives: puts the stream together, and says what is there.

use super::segment::{Flags, SackBlocks, Segment, unwrap};
use super::{EcnEcho, TcpConfig};
use crate::ends::ReceivingEnd;
use paceline_media::PlayoutCounters;
use paceline_units::{Bytes, Ecn, Time};

/// What the receiver made of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpArrival {
    /// Payload that was not there before.
    pub new_payload: Bytes,
    /// Whether all of its payload was there before.
    pub duplicate: bool,
}

/// The most pieces of the stream that are kept beyond the first hole: a guard, far above what any window makes.
const MOST_PIECES: usize = 4096;

/// Receives a stream of bytes.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    config: TcpConfig,
    connection: u16,
    connected: bool,
    /// Offset of the first byte that is missing (RCV.NXT).
    next: u64,
    /// What is there beyond, in order, apart from each other.
    pieces: Vec<(u64, u64)>,
    /// Where the pieces that were told last begin, the newest first.
    told: [u64; SackBlocks::MOST],
    duplicate: Option<(u64, u64)>,
    /// Offset behind the last byte of the stream.
    fin: Option<u64>,
    unacknowledged: u32,
    due: Option<Time>,
    /// A segment to be sent at once, before the acknowledgement that is due.
    first: Option<Segment>,
    echo: bool,
    window: u64,
    ignored: u64,
}

impl TcpReceiver {
    /// A receiver that has received nothing.
    pub fn new(config: &TcpConfig, connection: u16) -> TcpReceiver {
        TcpReceiver {
            config: *config,
            connection,
            connected: !config.handshake,
            next: 0,
            pieces: Vec::new(),
            told: [0; SackBlocks::MOST],
            duplicate: None,
            fin: None,
            unacknowledged: 0,
            due: None,
            first: None,
            echo: false,
            window: config.receive_window(),
            ignored: 0,
        }
    }

    /// Segments that changed nothing: of another connection, out of the window, without being connected.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Offset of the first byte that is missing: all before it can be read.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.next
    }

    /// A segment arrived. Ask [`TcpReceiver::poll_ack`] afterwards.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) -> TcpArrival {
        if segment.connection != self.connection {
            self.ignored += 1;
            return TcpArrival::default();
        }
        let odd = Flags::RST.0 | Flags::SYN.0;
        if segment.flags.0 & odd != 0 {
            self.control(now, segment);
            return TcpArrival::default();
        }
        let begin = self.config.initial_sequence.wrapping_add(1);
        let offset = unwrap(self.next, segment.sequence.wrapping_sub(begin));
        let Some(offset) = offset.filter(|_| self.connected && segment.flags.has(Flags::ACK)) else {
            self.ignored += 1;
            return TcpArrival::default();
        };
        let end = offset + u64::from(segment.payload);
        let fin = segment.flags.has(Flags::FIN);
        if segment.payload == 0 && !fin {
            return TcpArrival::default();
        }
        if end > self.next + self.window || end < self.next.saturating_sub(self.window) {
            // RFC 9293 section 3.10.7.4: out of the window, an acknowledgement and nothing else.
            self.ignored += 1;
            self.due = Some(now);
            return TcpArrival::default();
        }
        self.note_mark(now, segment, ecn);
        if fin && self.fin.is_none() {
            self.fin = Some(end);
        }
        let arrival = self.store(now, offset, end);
        self.unacknowledged += 1;
        let delayed = self.pieces.is_empty() && !arrival.duplicate && self.fin.is_none();
        if !delayed || self.unacknowledged >= self.config.ack_every {
            self.due = Some(now);
        } else if self.due.is_none() {
            self.due = Some(now + self.config.ack_delay);
        }
        arrival
    }

    /// SYN and RST.
    #[cold]
    fn control(&mut self, now: Time, segment: &Segment) {
        if segment.flags.has(Flags::SYN) && segment.sequence == self.config.initial_sequence && self.next == 0
        {
            self.connected = true;
            self.first = Some(self.segment(Flags::SYN.and(Flags::ACK), self.config.initial_sequence));
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

    /// What ECE says from now on. With exact echoes what was held back is acknowledged with the old state first
    /// (RFC 8257 section 3.2).
    #[inline]
    fn note_mark(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        match self.config.ecn_echo {
            EcnEcho::Rfc3168 => {
                if segment.flags.has(Flags::CWR) {
                    self.echo = false;
                }
                self.echo |= ecn.is_ce();
            }
            EcnEcho::Exact if ecn.is_ce() != self.echo => {
                if self.unacknowledged > 0 && self.due.is_some_and(|due| due > now) {
                    self.first = Some(self.acknowledgment());
                    (self.unacknowledged, self.due) = (0, None);
                }
                self.echo = ecn.is_ce();
            }
            EcnEcho::Exact => {}
        }
    }

    #[inline]
    fn store(&mut self, now: Time, offset: u64, end: u64) -> TcpArrival {
        if offset == self.next && self.pieces.is_empty() {
            // The common case: the next in order.
            self.next = end;
            return TcpArrival { new_payload: Bytes::new(end - offset), duplicate: false };
        }
        self.store_apart(now, offset, end)
    }

    #[cold]
    fn store_apart(&mut self, now: Time, offset: u64, end: u64) -> TcpArrival {
        let begin = offset.max(self.next);
        let had = |pieces: &[(u64, u64)]| -> u64 {
            pieces.iter().map(|(from, to)| end.min(*to).saturating_sub(begin.max(*from))).sum()
        };
        let new = end.saturating_sub(begin) - had(&self.pieces).min(end.saturating_sub(begin));
        if new == 0 {
            self.duplicate = (end > offset).then_some((offset, end));
            self.due = Some(now);
            return TcpArrival { new_payload: Bytes::ZERO, duplicate: end > offset };
        }
        if offset < begin {
            self.duplicate = Some((offset, begin));
        }
        if begin == self.next {
            self.next = end;
        } else if !self.insert(begin, end) {
            self.ignored += 1;
            return TcpArrival::default();
        }
        self.join_pieces();
        TcpArrival { new_payload: Bytes::new(new), duplicate: false }
    }

    /// Keeps a piece; false if there are too many.
    fn insert(&mut self, mut begin: u64, mut end: u64) -> bool {
        let from = self.pieces.partition_point(|(_, to)| *to < begin);
        let to = self.pieces.partition_point(|(from, _)| *from <= end);
        if from < to {
            begin = begin.min(self.pieces[from].0);
            end = end.max(self.pieces[to - 1].1);
        } else if self.pieces.len() >= MOST_PIECES {
            return false;
        }
        self.pieces.splice(from..to, [(begin, end)]);
        if self.told[0] != begin {
            // What was told before moves back; its own old place, if it had one, is closed.
            let old = self.told.iter().position(|told| *told == begin).unwrap_or(SackBlocks::MOST - 1);
            self.told.copy_within(0..old, 1);
            self.told[0] = begin;
        }
        true
    }

    /// What now follows without a hole is no piece any more.
    fn join_pieces(&mut self) {
        let mut joined = 0;
        while let Some((begin, end)) = self.pieces.get(joined) {
            if *begin > self.next {
                break;
            }
            self.next = self.next.max(*end);
            joined += 1;
        }
        self.pieces.drain(..joined);
    }

    /// When an acknowledgement is due that nothing else asks for.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    /// The next segment to send back. Call until there is none.
    #[inline(always)]
    pub fn poll_ack(&mut self, now: Time) -> Option<Segment> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        (self.due, self.unacknowledged) = (None, 0);
        Some(self.acknowledgment())
    }

    #[inline]
    fn acknowledgment(&mut self) -> Segment {
        let flags = Flags::ACK.and_if(self.echo, Flags::ECE);
        let mut segment = self.segment(flags, self.config.initial_sequence.wrapping_add(1));
        if !self.pieces.is_empty() || self.duplicate.is_some() {
            self.write_blocks(&mut segment.sack);
        }
        segment
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
            payload: 0,
            sack: SackBlocks::none(),
        }
    }

    #[inline]
    fn sequence(&self, offset: u64) -> u32 {
        self.config.initial_sequence.wrapping_add(1).wrapping_add(offset as u32)
    }

    /// First a duplicate (RFC 2883 section 4), then the pieces that changed last (RFC 2018 section 4), then others.
    #[cold]
    fn write_blocks(&mut self, blocks: &mut SackBlocks) {
        if let Some((begin, end)) = self.duplicate.take() {
            blocks.push(self.sequence(begin), self.sequence(end));
        }
        let mut written = [u64::MAX; SackBlocks::MOST];
        for (place, told) in self.told.into_iter().enumerate() {
            let found = self.pieces.partition_point(|(from, _)| *from <= told);
            let piece = found.checked_sub(1).map(|index| self.pieces[index]);
            if let Some((begin, end)) = piece.filter(|(_, to)| told < *to)
                && !written.contains(&begin)
            {
                blocks.push(self.sequence(begin), self.sequence(end));
                written[place] = begin;
            }
        }
    }
}

impl ReceivingEnd for TcpReceiver {
    fn playout(&self) -> PlayoutCounters {
        PlayoutCounters::default()
    }
}
