//! The sender's reading of SACKs: what arrived, what is missing, and the course of fast recovery.

use super::outstanding::{Sent, State};
use super::packet::Sack;
use super::sender::{STREAM, SctpSender};
use paceline_cc::{Controller, PacketResult, PacketsReport, Recovery, Report, Status};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::unwrap_u32;

/// Summary of a SACK, gathered while it is read.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// One more than the highest number that is newly acknowledged; 0 without any.
    highest: u64,
    /// The highest gap block's end.
    gap_end: u64,
    /// Size of chunks among them that had been declared lost, or given up.
    found: Bytes,
    /// Whether one of them left more than once.
    ambiguous: bool,
    /// Whether the first that is missing moved.
    advanced: bool,
}

impl<C: Controller> SctpSender<C> {
    /// A SACK arrived. An impossible one changes nothing.
    pub(super) fn take_sack(&mut self, now: Time, sack: &Sack) {
        let (first, next) = (self.outstanding.first(), self.outstanding.next());
        let told = unwrap_u32(first, sack.cumulative.wrapping_sub(self.config.initial_tsn).wrapping_add(1));
        // RFC 9260 section 6.2.1, rule D i: an older one says nothing; and nobody can have what was never sent.
        let Some(cumulative) = told.filter(|told| (first..=next).contains(told)) else {
            self.counters.ignored += 1;
            return;
        };
        self.results.clear();
        let mut news = News { advanced: cumulative > first, gap_end: cumulative, ..News::default() };
        while let Some((number, sent)) = self.outstanding.pop(cumulative) {
            self.deliver(now, number, sent, &mut news);
        }
        self.outstanding.gaps.advance(cumulative);
        for (begin, end) in &sack.gaps {
            self.take_gap(now, cumulative, u64::from(*begin), u64::from(*end), &mut news);
        }
        self.mend_if_taken_back();
        self.peer_window = u64::from(sack.a_rwnd).saturating_sub(self.outstanding.unacked);
        if !self.results.is_empty() {
            self.path.on_answer();
        }
        self.report(now, &news);
        self.recover(now, &news);
        self.turn_timer(now, news.advanced);
        self.move_peer_on(now);
    }

    /// A gap block: distances of its first and last chunk from what is acknowledged cumulatively.
    fn take_gap(&mut self, now: Time, cumulative: u64, begin: u64, end: u64, news: &mut News) {
        // The number at distance 1 is the first that is missing, and so in no block.
        let (from, to) = (cumulative + begin - 1.min(begin), cumulative + end);
        if begin < 2 || end < begin || to > self.outstanding.next() {
            self.counters.impossible_blocks += 1;
            return;
        }
        news.gap_end = news.gap_end.max(to);
        let mut new = std::mem::take(&mut self.fresh);
        new.clear();
        self.outstanding.gaps.add(from, to, |begin, end| new.push((begin, end)));
        for number in new.iter().flat_map(|(begin, end)| *begin..*end) {
            if let Some(sent) = self.outstanding.set(number, State::Acked) {
                self.deliver(now, number, sent, news);
            }
        }
        self.fresh = new;
    }

    /// A chunk is acknowledged; `sent` is as it was before.
    fn deliver(&mut self, now: Time, number: u64, sent: Sent, news: &mut News) {
        match sent.state {
            State::Acked => return,
            // It never left.
            State::Abandoned if sent.chunk.payload == 0 => return,
            State::Lost | State::Abandoned => news.found += sent.size(),
            State::InFlight => {}
        }
        news.highest = news.highest.max(number + 1);
        news.ambiguous |= sent.again;
        if !sent.again {
            self.path.on_acked(now, number);
        }
        let status = Status::Received { arrived: None, ecn: Ecn::NotEct };
        let size = sent.size();
        self.results.push(PacketResult { stream: STREAM, sequence: number, size, sent: sent.at, status });
    }

    /// A receiver that says the first is missing cannot have told of it before: it took it back, and gets it again.
    fn mend_if_taken_back(&mut self) {
        let first = self.outstanding.first();
        if self.outstanding.get(first).is_some_and(|sent| sent.state == State::Acked) {
            self.outstanding.gaps.clear();
            for number in first..self.outstanding.next() {
                let Some(sent) = self.outstanding.get(number).filter(|sent| sent.state == State::Acked)
                else {
                    continue;
                };
                let never_left = sent.chunk.payload == 0;
                self.outstanding.set(number, if never_left { State::Abandoned } else { State::Lost });
            }
        }
    }

    fn report(&mut self, now: Time, news: &News) {
        if news.found > Bytes::ZERO {
            self.tell(now, Recovery::Found { found: news.found });
        }
        if self.results.is_empty() {
            return;
        }
        let clock_step = TimeDelta::from_nanos(1);
        let report = PacketsReport { packets: &self.results, clock_step, ambiguous: news.ambiguous };
        let update = self.controller.on_report(now, &Report::Packets(report));
        self.apply(now, update);
    }

    /// RFC 9260 section 7.2.4.
    fn recover(&mut self, now: Time, news: &News) {
        if self.recovery_until.is_some_and(|until| self.outstanding.first() >= until) {
            self.recovery_until = None;
            self.tell(now, Recovery::Left);
        }
        // Only chunks below the highest newly acknowledged are missed; in recovery all that are, if it went on.
        let until = if self.recovery_until.is_some() && news.advanced { news.gap_end } else { news.highest };
        let mut missed = std::mem::take(&mut self.missed);
        missed.clear();
        self.outstanding.missing(until, |number| missed.push(number));
        let mut lost = Bytes::ZERO;
        for number in &missed {
            let Some(sent) = self.outstanding.get_mut(*number) else { continue };
            sent.missed += 1;
            if sent.missed >= self.config.missing_reports && !sent.fast {
                sent.fast = true;
                lost += sent.size();
                self.outstanding.set(*number, State::Lost);
            }
        }
        self.missed = missed;
        if lost == Bytes::ZERO {
            return;
        }
        // Step 3: one packet leaves at once, whatever the window.
        self.forced = true;
        if self.recovery_until.is_some() {
            return self.tell(now, Recovery::Lost { lost });
        }
        self.counters.recoveries += 1;
        self.recovery_until = Some(self.outstanding.next());
        self.tell(now, Recovery::Entered { lost });
    }

    /// Section 6.3.2, rules R2 and R3.
    fn turn_timer(&mut self, now: Time, advanced: bool) {
        if self.outstanding.is_empty() {
            self.path.timer = None;
            self.complete(now);
        } else if advanced {
            self.path.restart(now);
        }
    }
}
