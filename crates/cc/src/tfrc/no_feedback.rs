//! The nofeedback timer expires (RFC 5348 section 4.4).

use super::Tfrc;
use crate::silence::Unclear;
use paceline_units::{Time, TimeDelta};

impl Tfrc {
    pub(super) fn on_no_feedback(&mut self, now: Time) {
        let idle = !self.sent_since;
        self.expired |= !idle;
        match self.round_trip.r() {
            // No round-trip time, and no recover_rate either.
            None if idle => {}
            None => self.set_x(self.x / 2.0),
            Some(r) => self.cut(now, r, idle),
        }
        self.restart_no_feedback(now);
    }

    /// Feedback came. After an outage, in which the timer expired, packets that waited for its end tell of that.
    pub(super) fn on_heard(&mut self, now: Time) {
        let (patience, heard) = (self.params.outage_patience, self.heard.replace(now));
        let outage = heard.is_some_and(|heard| now.saturating_since(heard) >= patience);
        if core::mem::take(&mut self.expired) && outage && patience > TimeDelta::ZERO {
            let two_rtts = TimeDelta::from_secs_f64(2.0 * self.round_trip.r().unwrap_or(0.0));
            self.unclear = Unclear::after(now, patience.max(two_rtts));
        }
    }

    fn cut(&mut self, now: Time, r: f64, idle: bool) {
        let (x_recv, recover_rate) = (self.limit.max(), self.initial_rate(r));
        let slow = if self.p > 0.0 { x_recv < recover_rate } else { self.x < 2.0 * recover_rate };
        match self.x_bps.filter(|_| self.p > 0.0) {
            _ if slow && idle => {}
            // There is no X_Bps yet.
            None => self.set_x(self.x / 2.0),
            // 2 X_recv was already limiting the sending rate.
            Some(x_bps) if x_bps > 2.0 * x_recv => self.update_limits(now, x_recv, r),
            Some(x_bps) => self.update_limits(now, x_bps / 2.0, r),
        }
    }

    /// "`Update_Limits`".
    fn update_limits(&mut self, now: Time, timer_limit: f64, r: f64) {
        let timer_limit = timer_limit.max(self.slowest());
        self.limit.replace(now, timer_limit / 2.0);
        self.update_x(now, self.params.recv_limit_factor * self.limit.max(), r);
    }
}
