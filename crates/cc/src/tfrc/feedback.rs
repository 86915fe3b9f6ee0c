//! The sender's reaction to a feedback packet (RFC 5348 section 4.3).

use super::Tfrc;
use super::receive_limit::ReceiveLimit;
use paceline_units::{Time, TimeDelta};

/// A feedback packet whose values are possible.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Feedback {
    pub(crate) p: f64,
    /// `X_recv`, bytes per second.
    pub(crate) x_recv: f64,
    pub(crate) t_recvdata: Time,
    pub(crate) t_delay: TimeDelta,
    /// `X_drop`, an upper bound of the rate that the other end host wants: CCID 3's alone (RFC 4342 section 5.2).
    pub(crate) x_drop: Option<f64>,
}

impl Tfrc {
    /// Whether this can be true: a rate of loss events within 0 to 1, a packet sent in the time of this flow, and a
    /// round-trip time that is not negative.
    pub(crate) fn is_possible(&self, now: Time, feedback: &Feedback) -> bool {
        let began = self.started.is_some_and(|started| started <= feedback.t_recvdata);
        let round_trip = now.saturating_since(feedback.t_recvdata) - feedback.t_delay;
        let delays = !feedback.t_delay.is_negative() && !round_trip.is_negative();
        began && feedback.t_recvdata <= now && delays && (0.0..=1.0).contains(&feedback.p)
    }

    pub(crate) fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        // Steps 1 and 2.
        let first = self.round_trip.r().is_none();
        let r_sample = now - feedback.t_recvdata - feedback.t_delay;
        self.on_heard(now);
        if first || self.unclear.tells_path(now, feedback.t_recvdata) {
            self.round_trip.on_sample(&self.params, r_sample.as_secs_f64());
        }
        let Some(r) = self.round_trip.r() else { return };
        let data_limited = self.data_limited.covers(feedback.t_recvdata, TimeDelta::from_secs_f64(r));
        // Step 4. After the first round trip section 4.2 stands in its place.
        let p_before = core::mem::replace(&mut self.p, feedback.p);
        if first {
            self.limit = ReceiveLimit::new(now);
            self.tld = now;
            self.set_x(self.initial_rate(r));
        } else {
            // Section 4.3: a receive rate of zero does not tell of a data-limited interval.
            let limited = data_limited && feedback.x_recv > 0.0;
            let recv_limit = self.recv_limit(now, feedback, limited, p_before, r);
            self.update_x(now, recv_limit, r);
        }
        if first && self.p > 0.0 {
            self.update_x(now, f64::INFINITY, r);
        }
        // Steps 3 and 6.
        self.restart_no_feedback(now);
    }

    /// The limit from what the receiver received.
    fn recv_limit(&mut self, now: Time, feedback: &Feedback, limited: bool, p_before: f64, r: f64) -> f64 {
        let factor = self.params.recv_limit_factor;
        if let Some(x_drop) = feedback.x_drop {
            // RFC 4342 section 5.2, step 3: the next round trip's rate is at most X_drop.
            self.limit.replace(now, feedback.x_recv.min(x_drop / factor));
            factor * self.limit.max()
        } else if limited && feedback.p > p_before {
            self.limit.halve();
            self.limit.maximize(now, self.params.data_limited_factor * feedback.x_recv);
            self.limit.max()
        } else if limited {
            self.limit.maximize(now, feedback.x_recv);
            factor * self.limit.max()
        } else {
            let keep = TimeDelta::from_secs_f64(self.params.recv_set_rtts * r);
            self.limit.update(now, feedback.x_recv, keep);
            factor * self.limit.max()
        }
    }

    /// The end of step 4: congestion avoidance by the equation, or slow start.
    pub(super) fn update_x(&mut self, now: Time, recv_limit: f64, r: f64) {
        if self.p > 0.0 {
            let x_bps = self.equation.throughput(self.segment.bytes(), r, self.p);
            self.x_bps = Some(x_bps);
            self.set_x(x_bps.min(recv_limit));
        } else if now.saturating_since(self.tld).as_secs_f64() >= r {
            self.set_x((2.0 * self.x).min(recv_limit).max(self.initial_rate(r)));
            self.tld = now;
        }
    }
}
