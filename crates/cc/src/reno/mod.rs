//! Reno: slow start, congestion avoidance, and half the flight after a loss (RFC 5681, the window side of RFC 6582).
//!
//! Tahoe, Reno, NewReno and SACK are this law under four ways of recovery, which are the transport's: Tahoe's transport
//! tells of every loss as of a timeout. Differences from the texts are in DEVIATIONS.md beside this file and in
//! `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Cause, Law, Window, WindowSender};
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold.
pub type Reno = WindowSender<RenoLaw>;

/// The window law of Reno.
#[derive(Clone, Debug)]
pub struct RenoLaw {
    params: Params,
    /// Whether avoidance adds its part of a packet for each acknowledgement, and nothing else bounds it.
    per_ack: bool,
    /// Bytes acknowledged since the window grew last (RFC 5681 section 3.1).
    acked: f64,
}

impl RenoLaw {
    /// Slow start and congestion avoidance, each where it belongs.
    #[inline(always)]
    pub(crate) fn grow(&mut self, window: &mut Window, ack: &Ack) {
        if window.in_slow_start() {
            // A copy: the acknowledgement of avoidance stays in registers.
            self.slow_start(window, *ack);
        } else {
            self.avoid(window, ack);
        }
    }

    /// Equation 2; counting bytes, what stretched acknowledgements tell of what arrived before a timeout adds a packet (RFC 3465).
    #[cold]
    #[inline(never)]
    fn slow_start(&self, window: &mut Window, ack: Ack) {
        let limit = match self.params.byte_counting {
            true if ack.newest < window.reduced_until => self.params.l.min(1.0),
            true => self.params.l,
            false => 1.0,
        };
        window.slow_start(&ack, limit);
    }

    /// A packet per round trip: when a window of bytes is acknowledged, or in parts with each acknowledgement.
    #[inline(always)]
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        if self.per_ack {
            window.set(window.cwnd + window.mss * window.mss / window.cwnd);
        } else {
            self.avoid_otherwise(window, *ack);
        }
    }

    /// The same by bytes, or within what a flight may become: a packet more than it.
    #[cold]
    #[inline(never)]
    fn avoid_otherwise(&mut self, window: &mut Window, ack: Ack) {
        let mut more = window.mss * window.mss / window.cwnd;
        if self.params.byte_counting {
            self.acked += ack.delivered as f64;
            let is_due = self.acked >= window.cwnd;
            self.acked -= if is_due { window.cwnd } else { 0.0 };
            more = if is_due { window.mss } else { 0.0 };
        }
        let (cwnd, mss) = (window.cwnd + more, window.mss);
        window.grow(&ack, cwnd, |flight| flight + mss);
    }

    /// The threshold after a congestion event (RFC 5681 equation 4).
    fn threshold(&self, window: &Window, beta: f64) -> f64 {
        let from = if self.params.ssthresh_from_window { window.cwnd } else { window.flight() };
        (beta * from).max(self.params.ssthresh_min as f64 * window.mss)
    }

    /// Fast recovery's window, and the window after a mark.
    pub(crate) fn reduce(&mut self, window: &mut Window, cause: Cause) {
        let beta = if cause == Cause::Loss { self.params.beta } else { self.params.beta_ecn };
        window.ssthresh = self.threshold(window, beta);
        self.acked = 0.0;
        window.set(window.ssthresh);
    }

    /// Section 3.1: the loss window, and slow start up to the threshold.
    pub(crate) fn time_out(&mut self, window: &mut Window, again: bool) {
        if !(again && self.params.ssthresh_held) {
            let threshold = self.threshold(window, self.params.beta);
            let keeps = window.recovering && !self.params.ssthresh_from_window;
            window.ssthresh = if keeps { threshold.min(window.ssthresh) } else { threshold };
        }
        self.acked = 0.0;
        window.set(self.params.lw as f64 * window.mss);
    }

    /// RFC 6582 section 3.2, step 3, full acknowledgement.
    pub(crate) fn recovered(&self, window: &mut Window) {
        if self.params.deflate_to_flight {
            let outstanding = (window.pipe as f64).max(window.mss) + window.mss;
            window.set(window.cwnd.min(outstanding));
        }
    }
}

impl Law for RenoLaw {
    type Params = Params;
    type Note = ();

    fn new(params: &Params, window: &mut Window) -> RenoLaw {
        window.pacing = params.pacing;
        window.bound(params.growth);
        window.restart_after_idle = params.restart_after_idle;
        window.whole_packets = params.whole_packets;
        let per_ack = !params.byte_counting && !params.growth.rate_limited_increase;
        RenoLaw { params: params.clone(), per_ack, acked: 0.0 }
    }

    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.may_grow {
            self.grow(window, ack);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _now: Time, cause: Cause) {
        self.reduce(window, cause);
    }

    fn on_recovered(&mut self, window: &mut Window, _now: Time) {
        self.recovered(window);
    }

    fn on_timed_out(&mut self, window: &mut Window, _now: Time, again: bool) {
        self.time_out(window, again);
    }

    window_variables! { |self, window| }
}
