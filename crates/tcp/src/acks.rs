//! The sender's reading of an acknowledgement: delivery, duplicates, loss, the end of recovery.

use super::prr::Prr;
use super::scoreboard::{Sent, State};
use super::segment::{Flags, SackBlocks, Segment, unwrap};
use super::sender::{Phase, TcpSender};
use super::{EcnEcho, RecoveryKind};
use paceline_cc::{Controller, PacketResult, PacketsReport, Recovery, Report, Status, StreamId};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};

/// Summary of an acknowledgement, gathered while it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSummary {
    /// Bytes on the link that are newly known to have arrived.
    pub delivered: Bytes,
    /// The part of these bytes that had been declared lost.
    pub found: Bytes,
    /// The size of those that were in flight twice.
    pub twice: Bytes,
    /// Time of sending of the oldest packet among them; [`Time::MAX`] without any.
    pub sent: Time,
    /// Whether one of them was sent again, or came before a hole was filled and is told only now.
    pub ambiguous: bool,
    /// Whether the first missing byte moved.
    pub advanced: bool,
    /// Whether a SACK block brought news.
    pub new_blocks: bool,
}

impl AckSummary {
    /// Nothing is said.
    pub const EMPTY: AckSummary = AckSummary {
        delivered: Bytes::ZERO,
        found: Bytes::ZERO,
        twice: Bytes::ZERO,
        sent: Time::MAX,
        ambiguous: false,
        advanced: false,
        new_blocks: false,
    };
}

impl<C: Controller> TcpSender<C> {
    /// A segment of the receiver arrived.
    #[inline(always)]
    pub(super) fn take_segment(&mut self, now: Time, segment: &Segment) {
        if segment.connection != self.connection {
            self.counters.ignored += 1;
            return;
        }
        match self.phase {
            Phase::Open => {}
            Phase::Opening { due: false, sent, resent } => return self.opened(now, *segment, sent, resent),
            _ => {
                self.counters.ignored += 1;
                return;
            }
        }
        // Nothing but the SYN comes from the other side, so the only sequence number that it may use is known. A reset
        // with another one changes nothing (RFC 5961 section 3; no text at hand), nor does a SYN (section 4).
        if segment.flags.has(Flags::RST) && segment.sequence == self.config.initial_sequence.wrapping_add(1) {
            self.phase = Phase::Closed;
            self.timer = None;
            return;
        }
        let odd = Flags::RST.0 | Flags::SYN.0;
        match self.acknowledged(segment) {
            Some(offset) if segment.flags.0 & odd == 0 => match self.config.recovery {
                RecoveryKind::RackTlp => self.take_ack_by_time(now, segment, offset),
                _ => self.take_ack(now, segment, offset),
            },
            _ => self.counters.ignored += 1,
        }
    }

    /// The answer to the SYN. Rare cases take copies, so that the common one stays out of memory.
    #[cold]
    fn opened(&mut self, now: Time, segment: Segment, sent: Time, resent: bool) {
        let expected = self.config.initial_sequence.wrapping_add(1);
        let answers = segment.flags.has(Flags::ACK) && segment.acknowledgment == expected;
        if answers && segment.flags.has(Flags::RST) {
            // RFC 9293 section 3.10.7.3 (no text at hand): refused.
            (self.phase, self.timer) = (Phase::Closed, None);
            return;
        }
        if !answers || !segment.flags.has(Flags::SYN) {
            self.counters.ignored += 1;
            return;
        }
        if resent {
            self.rto.syn_was_lost();
            self.tell(now, Recovery::SynLost);
        } else {
            self.rto.sample(now - sent);
            if let Some(rack) = &mut self.rack {
                rack.on_opened(now, now - sent);
            }
            let update = self.controller.on_opened(now, now - sent);
            self.apply(now, update);
        }
        (self.phase, self.timer) = (Phase::Open, None);
        self.config.timestamps &= segment.timestamp != 0;
        self.peer_window = u64::from(segment.window);
        self.hear_of_ecn(now, &segment);
    }

    /// The offset up to which `segment` acknowledges; none if it acknowledges what was never sent, or less than before.
    #[inline]
    fn acknowledged(&self, segment: &Segment) -> Option<u64> {
        if !segment.flags.has(Flags::ACK) {
            return None;
        }
        let offset = self.offset_of(segment.acknowledgment)?;
        // The FIN takes a number of its own behind the last byte.
        let end = self.board.end_offset;
        let offset = if offset == end + 1 && self.board.ends_data() { end } else { offset };
        (self.board.first_offset <= offset && offset <= end).then_some(offset)
    }

    /// The offset of a sequence number; none before the beginning.
    #[inline]
    fn offset_of(&self, sequence: u32) -> Option<u64> {
        let begin = self.config.initial_sequence.wrapping_add(1);
        unwrap(self.board.first_offset, sequence.wrapping_sub(begin))
    }

    #[inline(always)]
    fn take_ack(&mut self, now: Time, segment: &Segment, offset: u64) {
        let outstanding = !self.board.is_empty();
        let same_window = u64::from(segment.window) == self.peer_window;
        self.peer_window = u64::from(segment.window);
        let mut acked = AckSummary { advanced: offset > self.board.first_offset, ..AckSummary::EMPTY };
        self.results.clear();
        while let Some((number, sent)) = self.board.pop(offset) {
            self.deliver(number, &sent, &mut acked);
        }
        let duplicate = outstanding && !acked.advanced && same_window && segment.payload == 0;
        if self.config.recovery == RecoveryKind::Sack && !segment.sack.is_empty() {
            acked = self.take_blocks(now, *segment, offset, acked);
        }
        acked.ambiguous |= acked.advanced && self.counts_all() && self.progress.duplicates > 0;
        self.measure(now, &acked);
        self.answer_marks(segment, &acked);
        self.report(now, &acked);
        self.progress.duplicates = match acked.advanced {
            true => 0,
            false => {
                self.progress.duplicates + u32::from(duplicate && (acked.new_blocks || self.counts_all()))
            }
        };
        self.recover(now, &acked, duplicate);
        if self.counts_all() && self.progress.is_disturbed() {
            self.inflate(&acked, duplicate);
        }
        self.count_for_controller();
        if acked.advanced {
            // RFC 6298 rules 5.2 and 5.3, unless a partial acknowledgement has used up its restart.
            self.timer = match (self.board.is_empty(), self.keeps_timer()) {
                (true, _) => None,
                (false, true) => self.timer,
                (false, false) => Some(now + self.rto.timeout),
            };
            self.complete(now);
        }
    }

    /// Without selective acknowledgements every duplicate counts.
    fn counts_all(&self) -> bool {
        !self.config.recovery.is_selective()
    }

    /// RFC 6582 section 3.2, step 3: of the partial acknowledgements of a recovery only the first restarts the timer.
    fn keeps_timer(&mut self) -> bool {
        let partial = self.progress.until.is_some() && self.config.recovery == RecoveryKind::NewReno;
        partial && self.config.impatient && std::mem::replace(&mut self.progress.restarted, true)
    }

    /// A segment is known to have arrived.
    #[inline(always)]
    pub(super) fn deliver(&mut self, number: u64, sent: &Sent, acked: &mut AckSummary) {
        if sent.state != State::InFlight {
            let Some((found, twice)) = unusual(*sent) else { return };
            acked.found += found;
            acked.twice += twice;
        }
        acked.delivered += sent.size();
        acked.ambiguous |= sent.resent;
        acked.sent = acked.sent.min(sent.at);
        let status = Status::Received { arrived: None, ecn: self.config.ect };
        self.results.push(PacketResult {
            stream: StreamId(0),
            sequence: number,
            size: sent.size(),
            sent: sent.at,
            status,
        });
    }

    /// The blocks of an acknowledgement, of which only what was not looked at before costs anything.
    #[cold]
    pub(super) fn take_blocks(
        &mut self,
        now: Time,
        segment: Segment,
        offset: u64,
        mut acked: AckSummary,
    ) -> AckSummary {
        let mut seen = [(0, 0); SackBlocks::MOST];
        for (place, (begin, end)) in segment.sack.iter().enumerate() {
            let range = self
                .offset_of(begin)
                .zip(self.offset_of(end))
                .filter(|(begin, end)| begin < end && *end <= self.board.end_offset);
            let Some((begin, end)) = range else {
                // A duplicate of what is acknowledged lies below, perhaps before anything that has an offset.
                self.counters.impossible_blocks += 1;
                continue;
            };
            if place == 0 && self.is_duplicate(&segment, (begin, end), offset) {
                self.take_duplicate(now, (begin, end));
                continue;
            }
            if begin < offset {
                continue;
            }
            let known = self.seen.iter().find(|(from, to)| begin <= *to && *from <= end && from < to);
            match known.copied() {
                Some((from, to)) => {
                    self.take_range(begin, from.min(end), &mut acked);
                    self.take_range(to.max(begin), end, &mut acked);
                }
                None => self.take_range(begin, end, &mut acked),
            }
            seen[place] = (begin, end);
        }
        self.seen = seen;
        acked
    }

    /// Whether the first block tells of a duplicate: it lies below the acknowledgement, or within the second block
    /// (RFC 2883 section 4).
    fn is_duplicate(&self, segment: &Segment, (begin, end): (u64, u64), offset: u64) -> bool {
        let within = |(from, to): (u32, u32)| {
            self.offset_of(from).zip(self.offset_of(to)).is_some_and(|(from, to)| from <= begin && end <= to)
        };
        end <= offset || segment.sack.iter().nth(1).is_some_and(within)
    }

    /// Whole segments within [begin, end) have arrived.
    fn take_range(&mut self, begin: u64, end: u64, acked: &mut AckSummary) {
        if begin >= end || self.board.is_empty() {
            return;
        }
        let mut number = self.board.find(begin.max(self.board.first_offset));
        while number < self.board.end {
            let sent = *self.board.sent(number);
            if sent.end() > end {
                break;
            }
            if sent.start >= begin && sent.state != State::Delivered {
                self.deliver(number, &sent, acked);
                self.board.set(number, State::Delivered);
                acked.new_blocks = true;
            }
            number += 1;
        }
    }

    /// A copy arrived of what was there. When every retransmission since the reduction has been answered so, none of them
    /// was needed: the reduction was for nothing (RFC 2883 section 5, RFC 3708; no text at hand of the latter).
    fn take_duplicate(&mut self, now: Time, duplicate: (u64, u64)) {
        if let Some(rack) = &mut self.rack {
            rack.duplicate = Some(duplicate);
        }
        match self.progress.unanswered {
            Some(1) => {
                self.progress.unanswered = None;
                self.counters.spurious += 1;
                self.tell(now, Recovery::Spurious);
            }
            Some(count) if count > 1 => self.progress.unanswered = Some(count - 1),
            _ => {}
        }
    }

    /// A round trip for the timer, unless nobody knows which segment was answered when (RFC 6298 section 3).
    #[inline(always)]
    pub(super) fn measure(&mut self, now: Time, acked: &AckSummary) {
        let sent = match self.config.one_sample {
            true => self.timed(acked),
            false => (!acked.ambiguous && acked.sent != Time::MAX).then_some(acked.sent),
        };
        if let Some(sent) = sent {
            self.rto.sample(now - sent);
        }
    }

    /// When the one timed segment left, if it is acknowledged and its round trip counts.
    fn timed(&mut self, acked: &AckSummary) -> Option<Time> {
        let (_, sent) = self.timed.take_if(|(number, _)| *number < self.board.first)?;
        // The timed segment may have waited behind a hole.
        let waited = acked.ambiguous || self.progress.duplicates > 0;
        (!waited || self.config.sample_behind_holes).then_some(sent)
    }

    /// Takes the acknowledgement's marks.
    #[inline(always)]
    pub(super) fn answer_marks(&mut self, segment: &Segment, acked: &AckSummary) {
        if segment.flags.0 & self.heeds.0 != 0 && acked.delivered > Bytes::ZERO {
            self.mark_results(segment.flags);
        }
    }

    /// RFC 3168 section 6.1.2: marks are answered once per window of data; exact ones and counted ones all count.
    #[inline(never)]
    fn mark_results(&mut self, flags: Flags) {
        let newest = match self.config.ecn_echo {
            EcnEcho::Rfc3168 => {
                // Below, a reduction is already said or on its way.
                if self.board.first_offset <= self.answered {
                    return;
                }
                self.answered = self.board.end_offset;
                self.say_reduced = true;
                usize::MAX
            }
            EcnEcho::Exact => usize::MAX,
            // Marks are told where they begin, so that they are on the newest.
            EcnEcho::Accurate => self.marks.on_ack(flags.ace(), self.results.len() as u64) as usize,
        };
        for result in self.results.iter_mut().rev().take(newest) {
            result.status = Status::Received { arrived: None, ecn: Ecn::Ce };
        }
    }

    #[inline(always)]
    pub(super) fn report(&mut self, now: Time, acked: &AckSummary) {
        if acked.found > Bytes::ZERO {
            self.tell(now, Recovery::Found { found: acked.found });
        }
        if acked.twice > Bytes::ZERO {
            // One copy arrived; of the other nothing more will be heard.
            self.tell(now, Recovery::Lost { lost: acked.twice });
        }
        if self.results.is_empty() {
            return;
        }
        let report = PacketsReport {
            packets: &self.results,
            clock_step: TimeDelta::from_nanos(1),
            ambiguous: acked.ambiguous,
        };
        let update = self.controller.on_report(now, &Report::Packets(report));
        self.apply(now, update);
    }

    #[inline(always)]
    fn recover(&mut self, now: Time, acked: &AckSummary, duplicate: bool) {
        if acked.advanced
            && let Some(until) = self.progress.until
        {
            self.go_on(now, until);
        }
        let lost = match self.config.recovery {
            RecoveryKind::Sack => self.declare_by_blocks(acked),
            _ if duplicate => self.declare_by_count(now),
            _ => Bytes::ZERO,
        };
        if lost > Bytes::ZERO {
            self.tell_lost(now, lost);
        }
        if self.progress.prr.is_some() {
            self.proportion(acked.delivered);
        }
    }

    /// During recovery what leaves is in proportion to what arrived.
    pub(super) fn proportion(&mut self, delivered: Bytes) {
        let window = self.controller.snapshot().window.unwrap_or(Bytes::new(u64::MAX));
        let (in_flight, segment) = (self.board.in_flight, self.config.packet_size);
        if let Some(prr) = &mut self.progress.prr {
            prr.on_ack(delivered, in_flight, window, segment);
        }
    }

    /// Whether anything is to be repaired, as far as the first segment and those that wait to leave again tell.
    fn has_losses(&self) -> bool {
        self.board.lost > 0 || !self.board.is_empty() && self.board.sent(self.board.first).resent
    }

    /// New data was acknowledged during recovery: it ends, or goes on with the next hole. Where what was sent during it is lost, too,
    /// another begins; a controller that rules its recoveries is told of one that goes on. So is Linux's BBR, which looks
    /// at the state after each acknowledgement.
    pub(super) fn go_on(&mut self, now: Time, until: u64) {
        let all = self.board.first_offset >= until;
        if all && self.controller.rules_recovery() && self.has_losses() {
            self.progress.until = Some(self.board.end_offset);
            self.progress.guard = self.board.end_offset;
            return;
        }
        if all || self.config.recovery == RecoveryKind::Reno {
            (self.progress.until, self.progress.prr, self.progress.forced) = (None, None, false);
            let lost = self.board.count_once();
            if lost > Bytes::ZERO {
                self.tell(now, Recovery::Lost { lost });
            }
            self.tell(now, Recovery::Left);
        } else if self.config.recovery == RecoveryKind::NewReno && !self.board.is_empty() {
            // RFC 6582 section 3.2 step 3: a partial acknowledgement tells of the next hole, which goes at once.
            let first = self.board.first;
            if self.board.sent(first).state == State::InFlight {
                let lost = self.board.sent(first).size();
                self.board.set(first, State::Lost);
                self.tell(now, Recovery::Lost { lost });
            }
            self.progress.forced = self.board.sent(first).state == State::Lost;
        }
    }

    /// Without selective acknowledgements a duplicate says that something left the network, though not what: the window
    /// is larger by as much (RFC 6582 section 3.2 steps 2 to 4, RFC 3042 before the third). The controller's own is not.
    fn inflate(&mut self, acked: &AckSummary, duplicate: bool) {
        let progress = &mut self.progress;
        let (segment, duplicates) = (self.config.packet_size, u64::from(progress.duplicates));
        let third = u64::from(self.config.duplicate_acks);
        let most = Bytes::new(segment.as_u64().saturating_mul(self.board.end - self.board.first));
        progress.inflation = match (progress.until, acked.advanced) {
            (Some(_), false) if duplicates == third => Bytes::new(segment.as_u64() * third),
            (Some(_), false) if duplicate => (progress.inflation + segment).min(most),
            (Some(_), false) => progress.inflation,
            // A partial acknowledgement: less by what it acknowledges, but for one segment.
            (Some(_), true) => progress.inflation - acked.delivered + segment,
            (None, _) if duplicates < third && self.config.limited_transmit => {
                Bytes::new(segment.as_u64() * duplicates)
            }
            (None, _) => Bytes::ZERO,
        };
        progress.limit = match progress.inflation {
            Bytes::ZERO => None,
            inflation => self.controller.snapshot().window.map(|window| window + inflation),
        };
    }

    /// RFC 6675 section 5, steps 1 to 3.
    #[inline]
    fn declare_by_blocks(&mut self, acked: &AckSummary) -> Bytes {
        let mut lost = Bytes::ZERO;
        if !acked.new_blocks && self.progress.duplicates < self.config.duplicate_acks {
            return lost;
        }
        while let Some(number) = self.board.next_to_declare(self.config.duplicate_acks) {
            lost += self.board.sent(number).size();
            // A segment sent again in doubt is not sent a third time.
            let again = self.board.sent(number).state == State::Twice;
            self.board.set(number, if again { State::Resent } else { State::Lost });
        }
        let first = self.board.first;
        let counted = self.progress.duplicates >= self.config.duplicate_acks && self.progress.until.is_none();
        if counted && !self.board.is_empty() && self.board.sent(first).state == State::InFlight {
            lost += self.board.sent(first).size();
            self.board.set(first, State::Lost);
        }
        lost
    }

    /// The third duplicate tells that the first segment is lost (RFC 5681 section 3.2), unless it may be an echo of an
    /// older recovery: of segments that were sent again although they had arrived. Until something new is acknowledged
    /// nobody knows (RFC 6582 section 3.2 step 2, ack_number - 1 > recover).
    fn declare_by_count(&mut self, now: Time) -> Bytes {
        let first = self.board.first;
        let third = self.progress.duplicates == self.config.duplicate_acks;
        let echo = self.progress.guard > 0 && self.board.first_offset <= self.progress.guard;
        if !third || self.progress.until.is_some() || echo || self.board.sent(first).state != State::InFlight
        {
            return Bytes::ZERO;
        }
        if self.config.recovery == RecoveryKind::Tahoe {
            self.counters.recoveries += 1;
            self.lose_everything(now);
            // The duplicates that follow are not the first again: none lets a segment go.
            self.progress.duplicates = self.config.duplicate_acks;
            self.timer = Some(now + self.rto.timeout);
            return Bytes::ZERO;
        }
        let lost = self.board.sent(first).size();
        self.board.set(first, State::Lost);
        lost
    }

    /// Tells of what was declared lost, and begins a recovery unless one lasts or what it would be for is older.
    pub(super) fn tell_lost(&mut self, now: Time, lost: Bytes) {
        if self.progress.until.is_some() || self.board.first_offset < self.progress.guard {
            return self.tell(now, Recovery::Lost { lost });
        }
        let end = self.board.end_offset;
        self.counters.recoveries += 1;
        self.progress.until = Some(end);
        self.progress.guard = end;
        self.progress.forced = true;
        self.progress.restarted = false;
        // RFC 6675 section 5, step 4.3.
        self.progress.high_rxt = self.board.first + 1;
        self.progress.rescue_rxt = self.board.sent(self.board.first).end();
        self.progress.unanswered = Some(0);
        if self.config.prr && self.config.recovery.is_selective() && !self.controller.rules_recovery() {
            let outstanding = (self.board.end - self.board.first) * self.config.packet_size.as_u64();
            self.progress.prr = Some(Prr::begin(Bytes::new(outstanding)));
        }
        self.tell(now, Recovery::Entered { lost });
    }
}

/// Of a segment that arrived and was not simply in flight: the bytes that had been declared lost, and those that were in flight
/// twice; none if it was known to have arrived.
#[cold]
#[inline(never)]
fn unusual(sent: Sent) -> Option<(Bytes, Bytes)> {
    match sent.state {
        State::InFlight | State::Resent => Some((Bytes::ZERO, Bytes::ZERO)),
        State::Delivered => None,
        State::Lost => Some((sent.size(), Bytes::ZERO)),
        State::Twice => Some((Bytes::ZERO, sent.size())),
    }
}
