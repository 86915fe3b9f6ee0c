//! A connection whose losses are found by time: how RACK and probes (RFC 8985) act on scoreboard, timer and controller.

use super::acks::AckSummary;
use super::rack::{Rack, Standing};
use super::scoreboard::State;
use super::segment::{Segment, TCP_HEADER};
use super::sender::TcpSender;
use super::timestamp::is_before;
use super::tlp::{Answer, Outcome};
use paceline_cc::{Controller, Recovery};
use paceline_units::{Bytes, Time, TimeDelta};

/// The purpose of the connection's one timer (section 8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wake {
    /// Packets that may have been overtaken are late now.
    Reordering,
    /// Acknowledgements are overdue.
    Probe,
    /// The retransmission timer.
    Retransmission,
}

impl<C: Controller> TcpSender<C> {
    /// An acknowledgement (section 6.2): what arrived, what is lost by that, and what the timer is for.
    #[inline(never)]
    pub(super) fn take_ack_by_time(&mut self, now: Time, segment: &Segment, offset: u64) {
        let outstanding = !self.board.is_empty();
        let same_window = !self.note_window(segment);
        let was_recovering = self.is_recovering();
        let mut acked = AckSummary { advanced: offset > self.board.first_offset, ..AckSummary::EMPTY };
        self.results.clear();
        let answered = Some(segment.timestamp).filter(|stamp| self.config.timestamps && *stamp != 0);
        let rack = self.by_time();
        (rack.duplicate, rack.answered) = (None, answered);
        while let Some((number, sent)) = self.board.pop(offset) {
            self.deliver(number, &sent, &mut acked);
        }
        if !segment.sack.is_empty() {
            acked = self.take_blocks(now, *segment, offset, acked);
        }
        let duplicate = outstanding && !acked.advanced && same_window && segment.payload == 0;
        self.measure_by_time(now, &acked);
        self.answer_marks(segment, &acked);
        self.report(now, &acked);
        let counts = duplicate && acked.new_blocks;
        let duplicates = self.progress.duplicates().saturating_add(u32::from(counts));
        self.progress.set_duplicates(if acked.advanced { 0 } else { duplicates });
        if acked.advanced
            && let Some(first_again) = self.progress.take_first_again()
            && answered.is_some_and(|answered| is_before(answered, first_again))
        {
            self.take_back(now);
        }
        // The room that a probe took is given back.
        self.progress.set_limit(None);
        if acked.advanced
            && let Some(until) = self.progress.until()
        {
            self.go_on(now, until);
        }
        self.hear_of_probe(now, offset, duplicate && segment.sack.is_empty());
        let (end, recovered) = (self.board.end_offset, was_recovering && !self.is_recovering());
        self.by_time().adapt(offset, end, recovered);
        self.declare_by_time(now);
        if self.progress.prr().is_some() {
            self.proportion(acked.delivered);
        }
        self.count_for_controller();
        if acked.advanced {
            // RFC 6298 rules 5.2 and 5.3.
            let timeout = self.timer.timeout();
            let rack = self.by_time();
            (rack.retransmit_at, rack.tlp.progress_at) = (Some(now + timeout), now);
            self.complete(now);
        }
        self.set_timer_by_time(now);
    }

    /// The first copy of what was sent again has arrived: recovery or timeout were for nothing (RFC 3522), what was declared lost is
    /// under way, and new data goes on.
    #[cold]
    fn take_back(&mut self, now: Time) {
        let before = self.board.in_flight;
        for number in self.board.first..self.board.end {
            let sent = *self.board.sent(number);
            if sent.state == State::Lost {
                self.board.set(number, if sent.resent { State::Resent } else { State::InFlight });
            }
        }
        self.by_time().on_spurious();
        self.counters.spurious += 1;
        self.progress.take_back();
        let found = self.board.in_flight - before;
        if found > Bytes::ZERO {
            self.tell(now, Recovery::Found { found });
        }
        self.tell(now, Recovery::Spurious);
    }

    fn by_time(&mut self) -> &mut Rack {
        let config = &self.config;
        self.rack.get_or_insert_with(|| Box::new(Rack::new(config)))
    }

    /// Whether fast recovery or the recovery from a timeout lasts.
    fn is_recovering(&self) -> bool {
        self.progress.lasts(self.board.first_offset)
    }

    /// Round trips for the retransmission timer and for time itself (section 6.2, steps 1 to 3).
    fn measure_by_time(&mut self, now: Time, acked: &AckSummary) {
        if self.results.is_empty() {
            return;
        }
        self.measure(now, acked);
        let board = &self.board;
        if let Some(rack) = &mut self.rack {
            rack.tlp.sampled |= !acked.ambiguous;
            // The popped result is still where it was: nothing new has left since.
            rack.on_arrived(now, self.results.iter().map(|told| (told.sequence, *board.sent(told.sequence))));
        }
    }

    fn window_by_time(&self) -> TimeDelta {
        let standing = Standing {
            recovering: self.is_recovering(),
            duplicate_acks: self.config.duplicate_acks,
            srtt: self.timer.srtt(),
        };
        self.rack.as_ref().map_or(TimeDelta::ZERO, |rack| rack.window(&self.board, &standing))
    }

    /// Section 6.2 step 5: what is late is lost.
    fn declare_by_time(&mut self, now: Time) {
        let window = self.window_by_time();
        let (mut lost, mut again) = (Bytes::ZERO, false);
        while let Some(rack) = &mut self.rack
            && let Some(number) = rack.next_lost(now, &self.board, window)
        {
            again |= self.board.sent(number).state == State::Resent;
            lost += self.board.sent(number).size();
            self.board.set(number, State::Lost);
        }
        if lost == Bytes::ZERO {
            return;
        }
        let answers_again = !self.config.prr && !self.controller.rules_recovery();
        if again && answers_again && self.progress.is_fast() {
            // Section 9.3: without PRR the loss of a retransmission is answered once more.
            self.tell(now, Recovery::Left);
            return self.tell(now, Recovery::Entered { lost });
        }
        if !self.is_recovering() {
            self.by_time().tlp.reset();
        }
        self.tell_lost(now, lost);
    }

    /// Section 7.4.2: a probe may have repaired a loss that nobody else tells of.
    fn hear_of_probe(&mut self, now: Time, acknowledged: u64, plain_duplicate: bool) {
        let rack = self.by_time();
        let duplicate_end = rack.duplicate.map(|(_, end)| end);
        let answer = Answer { acknowledged, duplicate_end, plain_duplicate };
        if rack.tlp.on_ack(&answer) == Outcome::Repaired && !self.is_recovering() {
            self.counters.recoveries += 1;
            self.tell(now, Recovery::Entered { lost: Bytes::ZERO });
            self.tell(now, Recovery::Left);
        }
    }

    /// A segment left again (section 6.1).
    #[cold]
    pub(super) fn note_again_by_time(&mut self, now: Time, number: u64) {
        let timeout = self.timer.timeout();
        let is_first = number == self.board.first;
        let rack = self.by_time();
        rack.on_sent_again(now, number);
        if is_first {
            // The segment that the timer watches over left just now.
            rack.retransmit_at = Some(now + timeout);
            self.set_timer_by_time(now);
        }
    }

    /// The first segment of a flight left.
    #[cold]
    pub(super) fn start_timer_by_time(&mut self, now: Time) {
        let timer = self.timer.due();
        let rack = self.by_time();
        (rack.retransmit_at, rack.tlp.progress_at) = (timer, now);
        self.set_timer_by_time(now);
    }

    /// The first deadline, and its time; none while nothing is under way. A probe behind a segment that is `alone` waits longer.
    fn wake_by_time(&self, alone: bool) -> Option<(Time, Wake)> {
        let rack = self.rack.as_ref().filter(|_| !self.board.is_empty())?;
        let retransmit_at = rack.retransmit_at.unwrap_or(Time::MAX);
        if let Some(late_at) = rack.late_at.filter(|late_at| *late_at <= retransmit_at) {
            return Some((late_at, Wake::Reordering));
        }
        let probes = rack.tlp.may_probe() && !self.is_recovering() && self.board.delivered() == 0;
        if !probes || rack.late_at.is_some() || self.board.lost > 0 {
            return Some((retransmit_at, Wake::Retransmission));
        }
        // Section 7.2: from the last new segment, or the last new acknowledgement.
        let newest = self.board.sent(self.board.end - 1).at;
        let patience = rack.tlp.patience(self.timer.srtt(), alone);
        Some(((newest.max(rack.tlp.progress_at) + patience).min(retransmit_at), Wake::Probe))
    }

    /// More segments may follow at once: whether one is alone shows when the timer expires.
    fn set_timer_by_time(&mut self, now: Time) {
        self.wake_at(now, self.wake_by_time(false));
    }

    /// A deadline before `now` is due now.
    fn wake_at(&mut self, now: Time, wake: Option<(Time, Wake)>) {
        self.timer.set(wake.map(|(due, _)| due.max(now)));
    }

    fn is_alone(&self) -> bool {
        self.board.end - self.board.first == 1
    }

    /// The timer expired: whether it was for something else than a retransmission timeout, or too early, since new data
    /// puts a probe off.
    #[cold]
    pub(super) fn is_woken_by_time(&mut self, now: Time) -> bool {
        match self.wake_by_time(self.is_alone()) {
            Some((due, Wake::Retransmission)) if due <= now => return false,
            Some((due, Wake::Reordering)) if due <= now => {
                self.declare_by_time(now);
                self.proportion(Bytes::ZERO);
                self.restart_by_time(now);
            }
            Some((due, Wake::Probe)) if due <= now => {
                self.probe(now);
                self.restart_by_time(now);
            }
            Some(_) | None => {}
        }
        self.wake_at(now, self.wake_by_time(self.is_alone()));
        true
    }

    /// Section 8: the timers exclude each other, so the retransmission timer begins anew behind the others.
    fn restart_by_time(&mut self, now: Time) {
        let timeout = self.timer.timeout();
        self.by_time().retransmit_at = Some(now + timeout);
    }

    /// Section 7.3: a probe leaves, a new segment if there is one, else the highest again.
    fn probe(&mut self, now: Time) {
        let waiting = (self.buffer.written - self.board.end_offset).min(self.mss);
        let has_new = waiting > 0 && self.fits(waiting);
        let mut end = self.board.end_offset;
        if has_new {
            // Room for this one, whatever the window says, until an acknowledgement comes.
            end += waiting;
            if self.next_payload().is_none() {
                self.progress.set_limit(Some(self.board.in_flight + TCP_HEADER + Bytes::new(waiting)));
            }
        } else if let Some(highest) = self.board.highest_missing() {
            let lost = self.board.sent(highest).size();
            self.board.set(highest, State::Lost);
            self.progress.force(true);
            // A duplicate of it takes nothing back.
            self.progress.ignore_duplicates();
            self.tell(now, Recovery::Lost { lost });
        }
        self.by_time().tlp.on_probe(end, !has_new);
    }

    /// Section 6.3: the first segment is lost, and of the others what had its time.
    #[cold]
    pub(super) fn time_out_by_time(&mut self, now: Time) {
        let window = self.window_by_time();
        let Some(rack) = &self.rack else { return };
        for number in self.board.first..self.board.end {
            let sent = *self.board.sent(number);
            let under_way = matches!(sent.state, State::InFlight | State::Resent);
            if under_way && (number == self.board.first || rack.is_overdue(sent.at, window, now)) {
                self.board.set(number, State::Lost);
            }
        }
    }
}
