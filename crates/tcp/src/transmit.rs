//! The next segments to leave: new ones and retransmissions, as window, recovery and the other end's window let them.

use super::scoreboard::State;
use super::segment::{Congestion, Flags, Segment, TCP_HEADER};
use super::sender::{Phase, STREAM, TcpSender};
use super::timestamp::stamp;
use super::{EcnEcho, RecoveryKind};
use paceline_cc::{Controller, Recovery};
use paceline_ends::Transmit;
use paceline_units::{Bytes, Ecn, Time};

/// A segment that leaves again though it is not known to be lost.
#[derive(Clone, Copy, Debug)]
enum Doubtful {
    /// One below a segment that was delivered.
    Between(u64),
    /// The highest that was not delivered: the rescue.
    Highest(u64),
}

impl<C: Controller> TcpSender<C> {
    /// Whether a segment would leave if the pacer let it.
    #[inline]
    pub(super) fn wants_to_send(&self) -> bool {
        match self.phase {
            Phase::Opening { due, .. } => due,
            Phase::Open if self.board.lost > 0 => self.admits(self.config.packet_size, true),
            Phase::Open => self.next_payload().is_some() || self.wants_to_send_doubtful(),
            Phase::Idle | Phase::Closed => false,
        }
    }

    /// Payload of the next new segment, if one may go. There is no Nagle algorithm: what the application wrote leaves
    /// as soon as the window lets it.
    #[inline]
    pub(super) fn next_payload(&self) -> Option<u64> {
        let end = self.board.end_offset;
        let payload = (self.buffer.written - end).min(self.mss);
        if payload == 0 || !self.admits(TCP_HEADER + Bytes::new(payload), false) {
            return None;
        }
        let limited =
            !self.config.limited_transmit && self.progress.duplicates() > 0 && !self.progress.is_fast();
        (self.fits(payload) && !limited).then_some(payload)
    }

    #[inline(always)]
    pub(super) fn open(&mut self, now: Time, resent: bool) -> Transmit<Segment> {
        self.phase = Phase::Opening { due: false, sent: now, resent };
        self.timer.restart(now);
        let asks = match (self.config.ect, self.config.ecn_echo) {
            (Ecn::NotEct, _) => Flags::NONE,
            (_, EcnEcho::Accurate) => Flags::ALL_ECN,
            (_, EcnEcho::Rfc3168 | EcnEcho::Exact) => Flags::ECE.and(Flags::CWR),
        };
        let flags = Flags::SYN.and(asks);
        let segment = Segment { flags, sequence: self.config.initial_sequence, ..self.empty(now) };
        transmit(segment, Ecn::NotEct, now)
    }

    #[inline(always)]
    fn empty(&self, now: Time) -> Segment {
        let timestamp = if self.config.timestamps { stamp(now) } else { 0 };
        Segment { connection: self.connection, flags: Flags::ACK, timestamp, ..Segment::default() }
    }

    /// The congestion header of a segment that carries data.
    fn congestion(&self) -> Congestion {
        let header = if self.has_headers { self.controller.congestion_header() } else { None };
        header.map_or(Congestion::None, Congestion::Header)
    }

    /// The sequence number of the byte at `offset`.
    #[inline]
    fn sequence(&self, offset: u64) -> u32 {
        self.config.initial_sequence.wrapping_add(1).wrapping_add(offset as u32)
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, now: Time, payload: u64) -> Transmit<Segment> {
        let offset = self.board.end_offset;
        let queued = self.buffer.since(offset).unwrap_or(now);
        let last = offset + payload == self.buffer.written;
        let fin = last && self.buffer.is_finished();
        let number = self.board.push(now, payload as u32, fin);
        self.refill(now);
        let flags = self.ecn.take_flags().and_if(fin, Flags::FIN);
        if self.timer.due().is_none() {
            self.start_timer(now);
        }
        if self.config.one_sample {
            self.timer.time_segment(number, now);
        }
        let (sequence, congestion) = (self.sequence(offset), self.congestion());
        let segment = Segment { flags, sequence, payload: payload as u32, congestion, ..self.empty(now) };
        let idle = self.buffer.written == self.board.end_offset;
        self.tell_sent(now, number, segment.size(), idle);
        transmit(segment, self.config.ect, queued)
    }

    /// The retransmission timer starts (RFC 6298 rule 5.1), or what comes before it.
    #[cold]
    fn start_timer(&mut self, now: Time) {
        self.timer.restart(now);
        if self.rack.is_some() {
            self.start_timer_by_time(now);
        }
    }

    /// The lowest segment that is lost leaves again, if it may: its number.
    #[cold]
    pub(super) fn resend(&mut self, now: Time) -> Option<u64> {
        let number = self.board.next_lost()?;
        if !self.admits(self.board.sent(number).size(), true) {
            return None;
        }
        self.progress.on_resent(number);
        self.board.resend(number, now);
        self.note_again(now, number);
        Some(number)
    }

    /// The segment that leaves again though it is not known to be lost, because nothing lost and nothing new may leave:
    /// RFC 6675 section 4, NextSeg rules 3 and 4.
    fn next_doubtful(&self) -> Option<Doubtful> {
        let waiting = (self.buffer.written - self.board.end_offset).min(self.mss);
        let has_new = waiting > 0 && self.fits(waiting);
        if !self.progress.is_fast()
            || self.config.recovery != RecoveryKind::Sack
            || self.board.lost > 0
            || self.board.is_empty()
            || has_new
        {
            return None;
        }
        if let Some(number) = self.board.next_doubtful(self.progress.high_rxt()) {
            return Some(Doubtful::Between(number));
        }
        let may_rescue = self.progress.may_rescue(self.board.first_offset);
        may_rescue.then(|| self.board.highest_missing().map(Doubtful::Highest))?
    }

    fn wants_to_send_doubtful(&self) -> bool {
        self.progress.is_fast()
            && self.admits(self.config.packet_size, false)
            && self.next_doubtful().is_some()
    }

    /// Segments that may be lost keep acknowledgements coming, so that the end of a flight is not left to the timer. The number of
    /// one that leaves again.
    #[cold]
    pub(super) fn send_doubtful(&mut self, now: Time) -> Option<u64> {
        let doubtful = self.next_doubtful()?;
        let (Doubtful::Between(number) | Doubtful::Highest(number)) = doubtful;
        let size = self.board.sent(number).size();
        if !self.admits(size, false) {
            return None;
        }
        match doubtful {
            // Both copies count as in flight until it is known to be lost.
            Doubtful::Between(_) => {
                self.progress.on_resent_in_doubt(number);
                self.board.set(number, State::Twice);
            }
            // It counts as often as before.
            Doubtful::Highest(_) => {
                self.progress.on_rescue();
                self.tell(now, Recovery::Lost { lost: size });
            }
        }
        self.board.leaves_again(number, now);
        self.note_again(now, number);
        Some(number)
    }

    /// A segment of the scoreboard leaves again.
    fn note_again(&mut self, now: Time, number: u64) {
        self.counters.retransmissions += 1;
        // Of another one than the first nobody knows which copy lets an acknowledgement advance.
        let tells = number == self.board.first && self.config.timestamps;
        self.progress.on_again(tells.then(|| stamp(now)));
        self.timer.forget_segment(number);
        if self.timer.due().is_none() {
            self.start_timer(now);
        }
        if self.rack.is_some() {
            self.note_again_by_time(now, number);
        }
        self.tell_sent(now, number, self.board.sent(number).size(), false);
    }

    /// The segment that leaves again. Made apart from what is noted of it, where new ones are made: so it stays out of memory.
    #[inline(always)]
    pub(super) fn again(&self, now: Time, number: u64) -> Transmit<Segment> {
        let sent = *self.board.sent(number);
        let segment = Segment {
            flags: self.ecn.flags().and_if(sent.last, Flags::FIN),
            sequence: self.sequence(sent.start),
            payload: sent.payload,
            congestion: self.congestion(),
            ..self.empty(now)
        };
        // RFC 3168 section 6.1.5: what is sent again is not ECN-capable.
        transmit(segment, Ecn::NotEct, now)
    }
}

/// A segment that leaves now; what it carries waits since `queued`.
#[inline(always)]
fn transmit(segment: Segment, ecn: Ecn, queued: Time) -> Transmit<Segment> {
    Transmit { packet: segment, size: segment.size(), ecn, stream: STREAM, queued }
}
