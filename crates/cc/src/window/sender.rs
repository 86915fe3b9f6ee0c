//! The controller around a law: what it is told, and what it answers.

use super::flight::{Flight, Sent};
use super::{Ack, Cause, Law, Marks, Window};
use crate::FlowSetup;
use crate::shortfall::Shortfall;
use crate::spread::Spread;
use crate::{
    Assigned, CeResponse, Controller, Marking, Offered, Pacing, PacketsReport, Recovery, Report,
    SendQueueState, SentPacket, Snapshot, StateVariable, Status, StreamId, TimeoutReason, Update, Verb,
};
use paceline_units::{Bytes, CongestionHeader, Time, TimeDelta};

/// One stream of packets, all of which arrive in the end because the transport sends them again.
const STREAM: StreamId = StreamId(0);

/// A sender with a window that follows the law `L`.
///
/// `assign` overwrites window and threshold: a rate becomes the window of a round trip, once there is one. During recovery it
/// lowers the window only, or in an exchange of rates raises it no higher than it was before the loss. A law names itself what else it
/// overwrites.
#[derive(Clone, Debug)]
pub struct WindowSender<L: Law> {
    law: L,
    window: Window,
    flight: Flight<L::Note>,
    last_sent: Option<Time>,
    /// Window and threshold before the last reduction for a loss.
    before: Option<(f64, f64)>,
    /// Whether the last reduction was for a mark, and its window of data is not over.
    reduced_for_mark: bool,
    /// The first missing packet when the timer expired last.
    timed_out_at: Option<u64>,
    /// End of the packets sent before the timer expired last: until they are acknowledged, the transport repairs.
    repaired_until: u64,
    spread: Spread,
    /// Whether assignments keep the flow at its part of a sum of rates: its shortfall is made up for, and the group's answer to a loss
    /// replaces its own.
    keeps_its_part: bool,
    shortfall: Shortfall,
}

impl<L: Law> WindowSender<L> {
    /// A sender that has sent nothing.
    pub fn new(params: &L::Params, setup: &FlowSetup) -> WindowSender<L> {
        let mut window = Window::new(setup);
        let mut law = L::new(params, &mut window);
        law.on_marking(&mut window, if setup.l4s { Marking::L4s } else { Marking::Classic });
        WindowSender {
            law,
            window,
            flight: Flight::new(),
            last_sent: None,
            before: None,
            reduced_for_mark: false,
            timed_out_at: None,
            repaired_until: 0,
            spread: Spread::default(),
            keeps_its_part: false,
            shortfall: Shortfall::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn parts(&mut self) -> (&mut L, &mut Window) {
        (&mut self.law, &mut self.window)
    }

    #[inline(always)]
    fn answer(&mut self) -> Update {
        let allowed = self.window.bytes().saturating_sub(self.window.pipe);
        let mut update = Update::allow(Bytes::new(allowed));
        update.pacing = self.law.pacing_rate(&self.window).map(Pacing::Rate);
        if update.pacing.is_none() && self.spread.is_on() {
            let (window, srtt) = (Bytes::new(self.window.bytes()), self.window.round_trip.smoothed());
            update.pacing = self.spread.pace(self.flight.first(), window, srtt);
        }
        update
    }

    #[inline]
    fn count(&mut self) {
        self.window.pipe = self.flight.pipe;
        self.window.flight_size = self.flight.size;
        self.window.next = self.flight.next();
    }

    #[inline(always)]
    fn on_packets(&mut self, now: Time, report: &PacketsReport<'_>) {
        let mut ack = Ack {
            now,
            delivered: 0,
            marked: 0,
            newest: 0,
            rtt: None,
            flight_before: self.window.pipe,
            may_grow: false,
        };
        let first = self.flight.first();
        let mut marked_anew = false;
        let mut sampled: Option<Time> = None;
        let under_way = if self.shortfall.is_measured() { self.under_way(now, report) } else { 0.0 };
        for packet in report.packets.iter().filter(|packet| packet.stream == STREAM) {
            let Status::Received { ecn, .. } = packet.status else { continue };
            let Some(sent) = self.flight.on_delivered(packet.sequence) else { continue };
            let sent = Sent { again: sent.again || report.ambiguous, ..sent };
            self.law.on_delivered(&self.window, now, packet, &sent);
            ack.delivered = ack.delivered.saturating_add(sent.size);
            ack.newest = ack.newest.max(packet.sequence);
            if ecn.is_ce() {
                ack.marked = ack.marked.saturating_add(sent.size);
                marked_anew |= packet.sequence >= self.window.reduced_until;
            }
            if !sent.again && sampled.is_none_or(|at| sent.at >= at) {
                sampled = Some(sent.at);
            }
        }
        ack.rtt = sampled.map(|at| now.saturating_since(at));
        // RFC 5681 section 3.1: growth is for acknowledgements that advance. After a timeout another hole may hold them up
        // until the timer expires again, and no loss reduces the window meanwhile.
        let held_up = self.flight.first() == first && first < self.repaired_until;
        if ack.delivered > 0 {
            if under_way > 0.0 && !held_up {
                self.measure_shortfall(ack, under_way);
            }
            self.on_ack(ack, marked_anew, held_up);
        }
    }

    /// Bytes that a report says were delivered, each times the seconds until then.
    #[cold]
    fn under_way(&self, now: Time, report: &PacketsReport<'_>) -> f64 {
        let received = report
            .packets
            .iter()
            .filter(|packet| packet.stream == STREAM && packet.status != Status::Missing);
        let sent = received.filter_map(|packet| self.flight.outstanding(packet.sequence));
        sent.map(|sent| sent.size as f64 * now.saturating_since(sent.at).as_secs_f64()).sum()
    }

    /// Packets that wait for a delayed acknowledgement are under way for longer than a round trip, and so much of the flight is not on
    /// the path (Little's law). A flight above the window drains after a reduction, and tells nothing.
    #[cold]
    fn measure_shortfall(&mut self, ack: Ack, under_way: f64) {
        let Some(rtt) = ack.rtt.filter(|_| !self.window.recovering) else { return };
        let (flight, delivered) = (ack.flight_before as f64, ack.delivered as f64);
        let Window { cwnd, mss, .. } = self.window;
        if self.window.was_used_after(ack.newest) && flight <= cwnd + mss {
            let on_path = (rtt.as_secs_f64() * delivered / under_way).min(1.0);
            self.shortfall.measure(cwnd, flight * on_path, delivered, mss);
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, mut ack: Ack, marked_anew: bool, held_up: bool) {
        if let Some(sample) = ack.rtt {
            self.window.round_trip.sample(sample);
        }
        if self.reduced_for_mark && ack.newest >= self.window.reduced_until {
            self.reduced_for_mark = false;
        }
        let heeds_marks = L::MARKS != Marks::Ignored;
        if marked_anew && !self.window.recovering && heeds_marks {
            self.on_mark(ack.now);
            ack.may_grow = L::GROWS_BESIDE_MARKS && !held_up && self.window.was_used_after(ack.newest);
        } else {
            let unmarked = L::GROWS_BESIDE_MARKS || ack.marked == 0 || !heeds_marks;
            let recovering = self.window.recovering || held_up;
            ack.may_grow = unmarked && !recovering && self.window.was_used_after(ack.newest);
        }
        self.count();
        self.law.on_ack(&mut self.window, &ack);
    }

    /// The bytes of this acknowledgement are still in the flight: the mark tells of the window that they were sent in.
    fn on_mark(&mut self, now: Time) {
        self.before = None;
        self.law.on_congestion(&mut self.window, now, Cause::Mark);
        self.window.reduced_until = self.window.next;
        self.reduced_for_mark = true;
    }

    /// A reduction for a loss may be undone: what it overwrites is kept.
    fn keep(&mut self) {
        self.before = Some((self.window.cwnd, self.window.ssthresh));
        self.law.keep();
    }

    fn on_entered(&mut self, now: Time, lost: Bytes) {
        let answered = self.reduced_for_mark && L::MARKS == Marks::AsLoss;
        if !answered && !self.window.recovering {
            self.keep();
            self.law.on_congestion(&mut self.window, now, Cause::Loss);
            self.window.reduced_until = self.window.next;
            self.reduced_for_mark = false;
        }
        self.window.recovering = true;
        self.on_lost(now, lost);
    }

    fn on_lost(&mut self, now: Time, lost: Bytes) {
        self.flight.on_lost(lost);
        self.count();
        if L::HEARS_LOST_PACKETS {
            self.tell_lost_packets(now, lost.as_u64());
        }
        self.law.on_lost(&mut self.window, lost.as_u64());
    }

    /// Tells the law which packets those bytes were.
    fn tell_lost_packets(&mut self, now: Time, mut bytes: u64) {
        while bytes > 0
            && let Some((sequence, sent)) = self.flight.take_lost()
        {
            bytes = bytes.saturating_sub(sent.size.max(1));
            self.law.on_packet_lost(&self.window, now, sequence, &sent);
        }
    }

    fn on_timed_out(&mut self, now: Time) {
        let again = self.timed_out_at == Some(self.flight.first());
        if !again && !self.window.recovering {
            self.keep();
        }
        self.law.on_timed_out(&mut self.window, now, again);
        self.timed_out_at = Some(self.flight.first());
        self.flight.on_timed_out();
        self.count();
        if L::HEARS_LOST_PACKETS {
            self.tell_lost_packets(now, u64::MAX);
        }
        self.window.recovering = false;
        self.window.reduced_until = self.window.next;
        self.repaired_until = self.window.next;
        self.reduced_for_mark = false;
    }

    fn on_spurious(&mut self) {
        self.window.recovering = false;
        self.repaired_until = 0;
        if let Some((cwnd, ssthresh)) = self.before.take().filter(|_| self.law.undoes(&self.window)) {
            self.window.set(self.window.cwnd.max(cwnd));
            self.window.ssthresh = ssthresh;
            self.law.undo(&mut self.window);
        }
    }

    /// RFC 5681 section 4.1: after a pause of a retransmission timeout the window is no larger than the first.
    fn restart_after_idle(&mut self, now: Time) {
        let Some(last_sent) = self.last_sent.filter(|_| self.window.pipe == 0) else { return };
        let idle = now.saturating_since(last_sent);
        if self.window.restart_after_idle && idle > self.window.round_trip.timeout() {
            let restart = self.window.cwnd.min(self.window.initial);
            self.window.set(restart);
        }
    }
}

impl<L: Law> Controller for WindowSender<L> {
    fn on_offered(&mut self, now: Time, _offered: &Offered, _queue: &SendQueueState) -> Update {
        self.restart_after_idle(now);
        self.answer()
    }

    #[inline(always)]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        if packet.stream != STREAM {
            return Update::none();
        }
        let note = self.law.on_sent(&mut self.window, now, packet);
        self.flight.on_sent(now, packet.sequence, packet.size, note);
        self.count();
        self.window.note_use(L::IS_USED_BY_HALF);
        self.last_sent = Some(now);
        self.answer()
    }

    #[inline(always)]
    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        match report {
            Report::Packets(report) => self.on_packets(now, report),
            Report::Congestion(feedback) => self.law.on_congestion_header(*feedback),
            Report::Receiver(_) | Report::Ccid(_) => return Update::none(),
        }
        self.answer()
    }

    fn verbs(&self) -> &'static [Verb] {
        L::VERBS
    }

    fn congestion_header(&self) -> Option<CongestionHeader> {
        self.law.congestion_header(&self.window)
    }

    fn on_recovery(&mut self, now: Time, recovery: Recovery) -> Update {
        match recovery {
            Recovery::Entered { lost } => self.on_entered(now, lost),
            Recovery::Lost { lost } => self.on_lost(now, lost),
            Recovery::Found { found } => self.flight.on_found(found),
            Recovery::Left => {
                self.window.recovering = false;
                self.law.on_recovered(&mut self.window, now);
            }
            Recovery::TimedOut => self.on_timed_out(now),
            Recovery::Spurious => self.on_spurious(),
            Recovery::SynLost => self.window.begin_with_one_packet(),
        }
        self.count();
        self.answer()
    }

    fn on_marking(&mut self, _now: Time, marking: Marking) -> Update {
        self.law.on_marking(&mut self.window, marking);
        self.answer()
    }

    fn on_opened(&mut self, _now: Time, rtt: TimeDelta) -> Update {
        self.law.on_opened(&mut self.window, rtt);
        self.answer()
    }

    fn on_rates_exchanged(&mut self) {
        self.keeps_its_part = L::WINDOW_IS_STATE && L::LEAVES_ASSIGNMENTS;
    }

    fn ce_response(&self) -> CeResponse {
        match L::MARKS {
            Marks::Ignored => CeResponse::Ignored,
            Marks::AsLoss | Marks::BesideLoss => CeResponse::Reduces,
        }
    }

    fn share(&self) -> Option<Assigned> {
        let window = match self.law.share() {
            Some(Assigned::Window(bytes)) => bytes.as_f64(),
            Some(rate) => return Some(rate),
            None => self.window.bytes() as f64,
        };
        Some(Assigned::Window(Bytes::new(libm::round(self.shortfall.share(window)) as u64)))
    }

    fn rules_recovery(&self) -> bool {
        L::RULES_RECOVERY
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        let bytes = match assigned {
            Assigned::Window(bytes) => Some(bytes.as_f64()),
            Assigned::Rate(rate) => {
                let srtt = self.window.round_trip.seconds();
                (srtt > 0.0).then(|| rate.as_bps_f64() / 8.0 * srtt)
            }
        };
        let before = self.window.cwnd;
        // After a timeout it lasts until everything is repaired that was outstanding then.
        let timed_out = self.flight.first() < self.repaired_until;
        let recovering = self.window.recovering || timed_out;
        // RFC 6675 section 5: nothing adds to the window before recovery is over. The group's answer to a loss replaces the flow's own,
        // as long as that is no larger than the window before. The sum is not lower by what is not taken.
        let replaced = self.before.filter(|_| self.keeps_its_part && !timed_out);
        let most = replaced.map_or(before, |(cwnd, _)| cwnd.max(before));
        let window = bytes.map(|bytes| self.shortfall.added_to(bytes));
        if L::WINDOW_IS_STATE && recovering && window.is_some_and(|window| window > most) {
            return self.answer();
        }
        if let Some(bytes) = bytes.filter(|_| self.keeps_its_part) {
            self.shortfall.take(bytes);
        }
        if !window.is_some_and(|window| L::WINDOW_IS_STATE && self.window.follow(window)) {
            if let Some(window) = window {
                self.window.set(window);
                self.window.ssthresh = self.window.cwnd;
            }
            self.law.on_assigned(&mut self.window, assigned);
        }
        if self.window.cwnd > before {
            let room = self.window.bytes().saturating_sub(self.window.pipe);
            let largest = Bytes::new(self.window.mss as u64);
            self.spread.raised(Bytes::new(room), largest, self.flight.next());
        }
        self.answer()
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        None
    }

    fn on_timeout(&mut self, _now: Time) -> Update {
        Update::none()
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            window: Some(Bytes::new(self.window.bytes())),
            in_flight: Some(Bytes::new(self.window.pipe)),
            srtt: self.window.round_trip.smoothed(),
            queue_delay: self.law.queue_delay(),
            target: None,
        }
    }

    fn state_variables(&self) -> &'static [StateVariable] {
        self.law.state_variables()
    }

    fn state(&self, values: &mut [Option<f64>]) {
        self.law.state(&self.window, values);
    }
}
