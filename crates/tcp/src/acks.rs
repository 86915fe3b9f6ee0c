//! The sender's reading of an acknowledgement: delivery, duplicates, loss, the end of recovery.

use super::RecoveryKind;
use super::scoreboard::{Sent, State};
use super::segment::{Congestion, Flags, Segment, unwrap};
use super::sender::{Phase, TcpSender};
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
            self.timer.set(None);
            return;
        }
        if let Congestion::Feedback(feedback) = segment.congestion
            && self.has_headers
        {
            self.tell_feedback(now, feedback);
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

    /// Tells of what routers wrote. An infinite sum has a header into which none did.
    fn tell_feedback(&mut self, now: Time, feedback: f32) {
        let feedback = Some(f64::from(feedback)).filter(|feedback| feedback.is_finite());
        let update = self.controller.on_report(now, &Report::Congestion(feedback));
        self.apply(now, update);
    }

    /// The answer to the SYN. Rare cases take copies, so that the common one stays out of memory.
    #[cold]
    fn opened(&mut self, now: Time, segment: Segment, sent: Time, resent: bool) {
        let expected = self.config.initial_sequence.wrapping_add(1);
        let answers = segment.flags.has(Flags::ACK) && segment.acknowledgment == expected;
        if answers && segment.flags.has(Flags::RST) {
            // RFC 9293 section 3.10.7.3 (no text at hand): refused.
            self.phase = Phase::Closed;
            self.timer.set(None);
            return;
        }
        if !answers || !segment.flags.has(Flags::SYN) {
            self.counters.ignored += 1;
            return;
        }
        if resent {
            self.timer.syn_was_lost();
            self.tell(now, Recovery::SynLost);
        } else {
            self.timer.sample(now - sent);
            if let Some(rack) = &mut self.rack {
                rack.on_opened(now, now - sent);
            }
            let update = self.controller.on_opened(now, now - sent);
            self.apply(now, update);
        }
        self.phase = Phase::Open;
        self.timer.set(None);
        self.config.timestamps &= segment.timestamp != 0;
        self.note_window(&segment);
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
    pub(super) fn offset_of(&self, sequence: u32) -> Option<u64> {
        let begin = self.config.initial_sequence.wrapping_add(1);
        unwrap(self.board.first_offset, sequence.wrapping_sub(begin))
    }

    #[inline(always)]
    fn take_ack(&mut self, now: Time, segment: &Segment, offset: u64) {
        let outstanding = !self.board.is_empty();
        let same_window = !self.note_window(segment);
        let mut acked = AckSummary { advanced: offset > self.board.first_offset, ..AckSummary::EMPTY };
        self.results.clear();
        while let Some((number, sent)) = self.board.pop(offset) {
            self.deliver(number, &sent, &mut acked);
        }
        let duplicate = outstanding && !acked.advanced && same_window && segment.payload == 0;
        if self.config.recovery == RecoveryKind::Sack && !segment.sack.is_empty() {
            acked = self.take_blocks(now, *segment, offset, acked);
        }
        acked.ambiguous |= acked.advanced && self.counts_all() && self.progress.duplicates() > 0;
        self.measure(now, &acked);
        self.answer_marks(segment, &acked);
        self.report(now, &acked);
        self.progress.set_duplicates(match acked.advanced {
            true => 0,
            false => {
                self.progress.duplicates() + u32::from(duplicate && (acked.new_blocks || self.counts_all()))
            }
        });
        self.recover(now, &acked, duplicate);
        if self.counts_all() && self.progress.is_disturbed() {
            self.inflate(&acked, duplicate);
        }
        self.count_for_controller();
        if acked.advanced {
            // RFC 6298 rules 5.2 and 5.3, unless a partial acknowledgement has used up its restart.
            match (self.board.is_empty(), self.keeps_timer()) {
                (true, _) => self.timer.set(None),
                (false, true) => {}
                (false, false) => self.timer.restart(now),
            }
            self.complete(now);
        }
    }

    /// Without selective acknowledgements every duplicate counts.
    fn counts_all(&self) -> bool {
        !self.config.recovery.is_selective()
    }

    /// RFC 6582 section 3.2, step 3: of the partial acknowledgements of a recovery only the first restarts the timer.
    fn keeps_timer(&mut self) -> bool {
        let partial = self.progress.is_fast() && self.config.recovery == RecoveryKind::NewReno;
        partial && self.config.impatient && self.progress.restarts_timer_again()
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

    /// A round trip for the timer, unless nobody knows which segment was answered when (RFC 6298 section 3).
    #[inline(always)]
    pub(super) fn measure(&mut self, now: Time, acked: &AckSummary) {
        let sent = match self.config.one_sample {
            true => self.timed(acked),
            false => (!acked.ambiguous && acked.sent != Time::MAX).then_some(acked.sent),
        };
        if let Some(sent) = sent {
            self.timer.sample(now - sent);
        }
    }

    /// When the one timed segment left, if it is acknowledged and its round trip counts.
    fn timed(&mut self, acked: &AckSummary) -> Option<Time> {
        let sent = self.timer.take_timed(self.board.first)?;
        // The timed segment may have waited behind a hole.
        let waited = acked.ambiguous || self.progress.duplicates() > 0;
        (!waited || self.config.sample_behind_holes).then_some(sent)
    }

    /// Takes the acknowledgement's marks.
    #[inline(always)]
    pub(super) fn answer_marks(&mut self, segment: &Segment, acked: &AckSummary) {
        if self.ecn.heeds(segment.flags) && acked.delivered > Bytes::ZERO {
            self.mark_results(segment.flags);
        }
    }

    /// The newest results are those of marked packets.
    #[inline(never)]
    fn mark_results(&mut self, flags: Flags) {
        let data = (self.board.first_offset, self.board.end_offset);
        let newest = self.ecn.marked(self.config.ecn_echo, flags, data, self.results.len());
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
            && let Some(until) = self.progress.until()
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
        if self.progress.prr().is_some() {
            self.proportion(acked.delivered);
        }
    }

    /// During recovery what leaves is in proportion to what arrived.
    pub(super) fn proportion(&mut self, delivered: Bytes) {
        let window = self.controller.snapshot().window.unwrap_or(Bytes::new(u64::MAX));
        let (in_flight, segment) = (self.board.in_flight, self.config.packet_size);
        if let Some(prr) = self.progress.prr() {
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
            self.progress.extend(self.board.end_offset);
            return;
        }
        if all || self.config.recovery == RecoveryKind::Reno {
            self.progress.leave();
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
            self.progress.force(self.board.sent(first).state == State::Lost);
        }
    }

    /// Duplicates make the window larger. The controller's own is not.
    fn inflate(&mut self, acked: &AckSummary, duplicate: bool) {
        let segments = self.board.end - self.board.first;
        let most = Bytes::new(self.config.packet_size.as_u64().saturating_mul(segments));
        let limit = match self.progress.inflate(&self.config, acked, duplicate, most) {
            Bytes::ZERO => None,
            inflation => self.controller.snapshot().window.map(|window| window + inflation),
        };
        self.progress.set_limit(limit);
    }

    /// RFC 6675 section 5, steps 1 to 3.
    #[inline]
    fn declare_by_blocks(&mut self, acked: &AckSummary) -> Bytes {
        let mut lost = Bytes::ZERO;
        if !acked.new_blocks && self.progress.duplicates() < self.config.duplicate_acks {
            return lost;
        }
        while let Some(number) = self.board.next_to_declare(self.config.duplicate_acks) {
            lost += self.board.sent(number).size();
            // A segment sent again in doubt is not sent a third time.
            let again = self.board.sent(number).state == State::Twice;
            self.board.set(number, if again { State::Resent } else { State::Lost });
        }
        let first = self.board.first;
        let counted = self.progress.duplicates() >= self.config.duplicate_acks && !self.progress.is_fast();
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
        let third = self.progress.duplicates() == self.config.duplicate_acks;
        let echo = self.progress.may_echo(self.board.first_offset);
        if !third || self.progress.is_fast() || echo || self.board.sent(first).state != State::InFlight {
            return Bytes::ZERO;
        }
        if self.config.recovery == RecoveryKind::Tahoe {
            self.counters.recoveries += 1;
            self.lose_everything(now);
            // The duplicates that follow are not the first again: none lets a segment go.
            self.progress.set_duplicates(self.config.duplicate_acks);
            self.timer.restart(now);
            return Bytes::ZERO;
        }
        let lost = self.board.sent(first).size();
        self.board.set(first, State::Lost);
        lost
    }

    /// Tells of what was declared lost, and begins a recovery unless one lasts or what it would be for is older.
    pub(super) fn tell_lost(&mut self, now: Time, lost: Bytes) {
        if self.progress.lasts(self.board.first_offset) {
            return self.tell(now, Recovery::Lost { lost });
        }
        self.counters.recoveries += 1;
        let first = self.board.first;
        self.progress.enter(self.board.end_offset, first, self.board.sent(first).end());
        if self.config.prr && self.config.recovery.is_selective() && !self.controller.rules_recovery() {
            let outstanding = (self.board.end - self.board.first) * self.config.packet_size.as_u64();
            self.progress.begin_prr(Bytes::new(outstanding));
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
