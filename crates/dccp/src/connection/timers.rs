//! When to wake, and what has expired.

use super::{Connection, State};
use crate::ccids::Ccids;
use paceline_cc::{Controller, ReceiverHalf};
use paceline_ends::Reason;
use paceline_units::Time;
use paceline_wire::dccp::{ResetCode, ResetReason};

/// Of two timeouts the sooner, the first if they are due together.
#[inline]
fn sooner(next: (Time, Reason), due: Option<Time>, why: Reason) -> (Time, Reason) {
    match due {
        Some(due) if due < next.0 => (due, why),
        _ => next,
    }
}

impl<F: Ccids> Connection<F> {
    /// When to call [`Connection::handle_timeout`], and why.
    pub fn next_timeout(&self) -> Option<(Time, Reason)> {
        if self.state == State::Closed {
            return None;
        }
        let mut next = (Time::MAX, Reason::Expiry);
        if self.state != State::Open || !self.features.is_settled() {
            next = self.handshake_timeout();
        }
        if self.state >= State::PartOpen && self.state != State::TimeWait {
            next = sooner(next, self.acks.due, Reason::DelayedAck);
            let report = self.receiver.as_ref().and_then(ReceiverHalf::next_timeout);
            next = sooner(next, report, Reason::Report);
            if let Some((due, why)) = self.sender.as_ref().and_then(|sender| sender.next_timeout()) {
                next = sooner(next, Some(due), Reason::Controller(why));
            }
            // In PARTOPEN a datagram may wait for room, not for time.
            let fits = || self.state == State::Open || self.fits_with_acknowledgment();
            next = sooner(next, self.data_due().filter(|_| fits()), Reason::Pacing);
        }
        if self.path.due.is_some() || self.config.idle_timeout.is_some() {
            next = self.guard_timeout(next);
        }
        (next.0 != Time::MAX).then_some(next)
    }

    /// When an acknowledgement is due; `Time::MAX` for never.
    #[inline]
    pub(crate) fn ack_due(&self) -> Time {
        self.acks.due.unwrap_or(Time::MAX)
    }

    /// When the connection has something to do next but for an acknowledgement, where that is up to its receiver half and its
    /// controller alone: with [`Connection::ack_due`] it is [`Connection::next_timeout`] then, `Time::MAX` for never. Absent
    /// where anything else is due or waits.
    #[inline]
    pub(crate) fn rest_due(&self) -> Option<Time> {
        let waits = self.pending.report
            || self.state != State::Open
            || !self.features.is_settled()
            || self.pending.has_packets()
            || self.close_requested
            || !self.queue.is_empty()
            || self.path.due.is_some()
            || self.config.idle_timeout.is_some();
        let report = self.receiver.as_ref().and_then(ReceiverHalf::next_timeout).unwrap_or(Time::MAX);
        let controller = self.sender.as_ref().and_then(Controller::next_timeout);
        (!waits).then(|| controller.map_or(report, |(due, _)| due.min(report)))
    }

    /// The next timeout of the state and of negotiation.
    #[cold]
    fn handshake_timeout(&self) -> (Time, Reason) {
        let mut next = (Time::MAX, Reason::Expiry);
        if self.state != State::Open {
            next = sooner(next, self.expiry(), Reason::Expiry);
            next = sooner(next, self.repeat.map(|repeat| repeat.due), Reason::Retransmission);
        }
        if self.state >= State::PartOpen && self.state != State::TimeWait {
            next = sooner(next, self.features.next_timeout(|| self.rtt()), Reason::Negotiation);
        }
        next
    }

    /// The next timeout, when that of path discovery and of a silent connection is counted in.
    #[inline(never)]
    fn guard_timeout(&self, mut next: (Time, Reason)) -> (Time, Reason) {
        if self.state == State::Open {
            next = sooner(next, self.path.due, Reason::PathMtu);
        }
        sooner(next, self.idle_due(), Reason::Idle)
    }

    /// When the state ends by itself.
    fn expiry(&self) -> Option<Time> {
        let lifetime = self.config.maximum_segment_lifetime;
        match self.state {
            State::Request => Some(self.since + self.config.request_patience),
            State::Respond | State::PartOpen | State::CloseReq | State::Closing => {
                Some(self.since + lifetime * 4)
            }
            State::TimeWait => Some(self.since + lifetime * 2),
            State::Open | State::Closed => None,
        }
    }

    fn idle_due(&self) -> Option<Time> {
        let timeout = self.config.idle_timeout.filter(|_| self.state == State::Open)?;
        Some(self.heard.due(timeout))
    }

    /// A timeout is due; ask [`Connection::poll_transmit`] afterwards.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.expiry().is_some_and(|due| due <= now) {
            match self.state {
                State::TimeWait => self.enter(now, State::Closed),
                // Sections 8.1.1, 8.1.3 and 8.1.5; a Close that nobody answers is ours to give up.
                _ => self.reset(now, ResetReason::new(ResetCode::ABORTED)),
            }
            return;
        }
        if self.idle_due().is_some_and(|due| due <= now) {
            if !self.heard.ask() {
                self.reset(now, ResetReason::new(ResetCode::ABORTED));
                return;
            }
            self.pending.sync = Some(None);
        }
        if self.state < State::PartOpen || matches!(self.state, State::Closed | State::TimeWait) {
            return;
        }
        let due = self.sender.as_ref().and_then(|sender| sender.next_timeout());
        if due.is_some_and(|(due, _)| due <= now) {
            self.tell_queue(now);
            self.steer(now, |sender| sender.on_timeout(now));
        }
    }
}
