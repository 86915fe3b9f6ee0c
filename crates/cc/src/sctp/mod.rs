//! SCTP's window (RFC 9260 section 7.2): slow start by bytes, a packet more for each window of acknowledged bytes, and half after a loss.
//!
//! Which chunks are lost, and when T3-rtx expires, the transport says. Differences from the text are in DEVIATIONS.md beside this file and
//! in `window/DEVIATIONS.md`.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::SentPacket;
use crate::observe::window_variables;
use crate::window::{Ack, Cause, Law, Marks, Window, WindowSender};
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold.
pub type Sctp = WindowSender<SctpLaw>;

/// The window law of SCTP.
#[derive(Clone, Debug)]
pub struct SctpLaw {
    params: Params,
    /// `partial_bytes_acked` (RFC 9260 section 7.2.2).
    partial: f64,
    /// Whether a window at its threshold still is in slow start: until it has been above.
    up_to_threshold: bool,
    last_sent: Option<Time>,
}

impl SctpLaw {
    fn reduce(&mut self, window: &mut Window) {
        let least = self.params.ssthresh_min as f64 * window.mss;
        window.ssthresh = (self.params.beta * window.cwnd).max(least);
        self.partial = 0.0;
        self.up_to_threshold = true;
    }

    /// RFC 9260 section 7.2.1: while no data is sent, the window shrinks once in each retransmission timeout. It is done when data is
    /// there again.
    fn shrink_after_idle(&self, window: &mut Window, now: Time) {
        let Some(last) = self.last_sent.filter(|_| window.flight_size == 0) else { return };
        let timeout = window.round_trip.timeout().as_secs_f64();
        let timeouts = (now.saturating_since(last).as_secs_f64() / timeout) as u32;
        if timeouts == 0 || self.params.idle_factor >= 1.0 {
            return;
        }
        let least = (self.params.idle_least as f64 * window.mss).min(window.cwnd);
        window.ssthresh = window.cwnd;
        let left = libm::pow(self.params.idle_factor, f64::from(timeouts.min(64)));
        window.set((window.cwnd * left).max(least));
    }
}

impl Law for SctpLaw {
    type Params = Params;
    type Note = ();

    /// Nothing tells them over SCTP (RFC 9260 appendix A reserves the chunks).
    const MARKS: Marks = Marks::Ignored;

    fn new(params: &Params, window: &mut Window) -> SctpLaw {
        let packets = |count: u64| count as f64 * window.mss;
        let least = params.initial_bytes.as_f64().max(packets(params.initial_least));
        window.initial = least.min(packets(params.initial_most));
        window.set(window.initial);
        window.ssthresh = params.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.as_f64());
        window.pacing = params.pacing;
        // The law's own rule of pauses holds.
        window.restart_after_idle = false;
        SctpLaw { params: params.clone(), partial: 0.0, up_to_threshold: false, last_sent: None }
    }

    #[inline]
    fn on_sent(&mut self, window: &mut Window, now: Time, _packet: &SentPacket) {
        self.shrink_after_idle(window, now);
        self.last_sent = Some(now);
    }

    /// Sections 7.2.1 and 7.2.2. A window is full that has no room for a packet.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let full = ack.may_grow && ack.flight_before as f64 + window.mss > window.cwnd;
        let acked = ack.delivered as f64;
        if window.in_slow_start() || self.up_to_threshold && window.cwnd == window.ssthresh {
            if full {
                window.set(window.cwnd + acked.min(self.params.l * window.mss));
            }
        } else if !window.recovering {
            self.up_to_threshold = false;
            self.partial += acked;
            if self.partial >= window.cwnd && full {
                self.partial -= window.cwnd;
                window.set(window.cwnd + window.mss);
            }
            self.partial = self.partial.min(window.cwnd);
        }
        // A part of a packet, which only coupling leaves over, would keep a small full window from ever adding up to itself.
        if window.flight_size == 0 && !full {
            self.partial = 0.0;
        }
    }

    /// Section 7.2.3, a loss that a fast retransmission repairs.
    fn on_congestion(&mut self, window: &mut Window, _now: Time, _cause: Cause) {
        self.reduce(window);
        window.set(window.ssthresh);
    }

    /// Section 7.2.3, T3-rtx.
    fn on_timed_out(&mut self, window: &mut Window, _now: Time, _again: bool) {
        self.reduce(window);
        window.set(self.params.timeout_window as f64 * window.mss);
    }

    window_variables! { |self, window|
        partial_bytes_acked: "packets" = self.partial / window.mss, "Acknowledged since the window grew last";
    }
}
