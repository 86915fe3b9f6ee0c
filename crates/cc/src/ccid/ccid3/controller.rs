//! CCID 3's sender half as a controller: what it is told, and what it answers.

use super::Ccid3;
use super::loss_event_rate::loss_event_rate;
use crate::ccid::{CcidReport, DropCode, DroppedPacket, LossIntervalsReport};
use crate::tfrc::feedback::Feedback;
use crate::{
    Allowance, Annotation, Assigned, CeResponse, Controller, Limits, Offered, ReceiverReport, Report,
    SendQueueState, SentPacket, Snapshot, StateVariable, StreamId, TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, Time, TimeDelta};

impl Controller for Ccid3 {
    fn on_offered(&mut self, now: Time, offered: &Offered, queue: &SendQueueState) -> Update {
        let mut update = self.tfrc.on_offered(now, offered, queue);
        self.restrain(&mut update);
        update
    }

    #[inline(always)]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.counter.on_sent(now, self.tfrc.rtt());
        let mut update = self.tfrc.on_sent(now, packet);
        self.restrain(&mut update);
        update
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        match *report {
            Report::Ccid(CcidReport::LossIntervals(ref report)) => self.on_intervals(now, report),
            Report::Receiver(ReceiverReport::Tfrc {
                loss_event_rate,
                receive_rate,
                newest_sent: Some(sent),
                delay,
            }) => self.on_feedback(now, loss_event_rate, receive_rate, (sent, delay)),
            Report::Ccid(CcidReport::DataDropped(dropped)) => self.on_dropped(now, dropped),
            Report::Ccid(CcidReport::SlowReceiver) => {
                self.slow_receiver = true;
                Update::none()
            }
            _ => Update::none(),
        }
    }

    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        self.tfrc.on_send_queue(now, queue)
    }

    fn on_limits(&mut self, now: Time, limits: &Limits) -> Update {
        self.tfrc.on_limits(now, limits)
    }

    fn verbs(&self) -> &'static [Verb] {
        &[Verb::CounterAnnotation]
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Reduces
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        let mut update = self.tfrc.assign(now, assigned);
        self.restrain(&mut update);
        update
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.tfrc.next_timeout()
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        let mut update = self.tfrc.on_timeout(now);
        self.restrain(&mut update);
        update
    }

    #[inline]
    fn annotation(&self, now: Time, _stream: StreamId) -> Option<Annotation> {
        Some(Annotation::Counter(self.counter.value(now, self.tfrc.rtt())))
    }

    fn share(&self) -> Option<Assigned> {
        self.tfrc.share()
    }

    fn snapshot(&self) -> Snapshot {
        self.tfrc.snapshot()
    }

    fn state_variables(&self) -> &'static [StateVariable] {
        self.tfrc.state_variables()
    }

    fn state(&self, values: &mut [Option<f64>]) {
        self.tfrc.state(values);
    }
}

impl Ccid3 {
    fn on_intervals(&mut self, now: Time, report: &LossIntervalsReport<'_>) -> Update {
        let Some(p) = loss_event_rate(&self.averager, report.intervals) else { return Update::none() };
        self.on_feedback(now, p, report.receive_rate, (report.newest_sent, report.elapsed))
    }

    /// A feedback packet; `sent` is when the newest packet that arrived was sent, and how long ago that arrived.
    fn on_feedback(&mut self, now: Time, p: f64, receive_rate: Bitrate, sent: (Time, TimeDelta)) -> Update {
        let x_recv = receive_rate.as_bps_f64() / 8.0;
        let (t_recvdata, t_delay) = sent;
        let p = if p > 0.0 { p.max(self.params.p_min) } else { p };
        let feedback = Feedback { p, x_recv, t_recvdata, t_delay, x_drop: self.x_drop(x_recv) };
        if !self.tfrc.is_possible(now, &feedback) {
            return Update::none();
        }
        (self.no_room, self.slow_receiver) = (0, false);
        // Section 8.1.
        self.counter.on_acknowledged(t_recvdata);
        self.tfrc.on_feedback(now, &feedback);
        let mut update = self.tfrc.answer(now);
        self.restrain(&mut update);
        update
    }

    /// `X_drop` (section 5.2, step 2): what a slow receiver and packets without room leave of the rate.
    fn x_drop(&self, x_inrecv: f64) -> Option<f64> {
        let one = self.tfrc.segment_size() / self.tfrc.rtt()?;
        let left = x_inrecv - self.no_room as f64 * one;
        match (self.no_room, self.slow_receiver) {
            (0, false) => None,
            (0, true) => Some(x_inrecv),
            _ => Some(left.max(x_inrecv.min(one))),
        }
    }

    /// RFC 4340 section 11.7.2. Corrupt packets are marks, and came as such to the receiver half.
    fn on_dropped(&mut self, now: Time, dropped: &[DroppedPacket]) -> Update {
        let of = |code: DropCode| dropped.iter().filter(move |packet| packet.code == code).count() as u64;
        self.not_listening |= of(DropCode::NotListening) > 0;
        let no_room = of(DropCode::ReceiveBuffer);
        if no_room > 0 && self.tfrc.send_fewer(no_room) {
            self.no_room = self.no_room.saturating_add(no_room);
        }
        let mut update = self.tfrc.answer(now);
        self.restrain(&mut update);
        update
    }

    /// Allows nothing to a sender that is not listened to.
    #[inline]
    fn restrain(&self, update: &mut Update) {
        if self.not_listening {
            update.allowance = Some(Allowance::Packets(0));
        }
    }
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
