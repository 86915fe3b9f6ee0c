//! The congestion window in whole packets (RFC 4341 section 5), and what becomes of an unused one (section 5.1).

use super::Params;
use paceline_units::{Bytes, Time, TimeDelta};

/// No window is larger.
const MOST: u64 = 1 << 40;
/// The first `ssthresh`: arbitrarily high.
const NO_THRESHOLD: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(super) struct Window {
    params: Params,
    pub(super) cwnd: u64,
    ssthresh: u64,
    initial: u64,
    /// Packets acknowledged unmarked that the window has not grown for yet.
    acked: u64,
    /// Packets below were sent before the last congestion event was detected: they are part of it.
    reduced_until: u64,
    /// Packets below left while the window was in use.
    used_until: u64,
    /// The most that was in the pipe since the last reduction (`maxFS` of the rate-limited increase), packets.
    pub(super) largest_flight: u64,
    /// Packets below left before the last timeout of a series that lasts; the largest number outside of one.
    timed_out_until: u64,
    /// A slow receiver wants no more until then.
    held_until: Option<Time>,
    /// When the last packet left.
    last_sent: Option<Time>,
    /// Validation: since when the window was not full, and the most that was in the pipe since.
    unused_since: Time,
    most_used: u64,
}

impl Window {
    pub(super) fn new(params: &Params, largest_packet: Bytes) -> Window {
        // RFC 3390 section 1: min(4 MSS, max(2 MSS, 4380 B)).
        let mss = largest_packet.as_u64().max(1);
        let initial = (params.initial_window.as_u64() / mss).max(2).min(params.initial_cwnd);
        Window {
            params: params.clone(),
            cwnd: initial,
            ssthresh: NO_THRESHOLD,
            initial,
            acked: 0,
            reduced_until: 0,
            used_until: 0,
            largest_flight: initial,
            timed_out_until: u64::MAX,
            held_until: None,
            last_sent: None,
            unused_since: Time::ZERO,
            most_used: 0,
        }
    }

    /// Slow start threshold in packets; absent before it was lowered.
    pub(super) fn ssthresh(&self) -> Option<u64> {
        (self.ssthresh != NO_THRESHOLD).then_some(self.ssthresh)
    }

    /// A window that is asked for from outside. Near the window, at most two packets above it or one below, as when a group shares
    /// what an acknowledgement adds, the phase goes on; a jump ends slow start.
    pub(super) fn assign(&mut self, packets: u64) {
        let (packets, slow_start) = (packets.clamp(1, MOST), self.in_slow_start());
        let near = packets <= self.cwnd + 2 && self.cwnd <= packets + 1;
        self.cwnd = packets;
        if !near {
            (self.ssthresh, self.acked) = (packets, 0);
        } else if !slow_start {
            self.ssthresh = self.ssthresh.min(packets);
        }
    }

    #[inline]
    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// A packet leaves; `pipe` counts it, `next` is the one after it.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, pipe: u64, next: u64, app_limited: bool, rto: TimeDelta) {
        self.last_sent = Some(now);
        if self.params.rate_limited_increase {
            self.largest_flight = self.largest_flight.max(pipe);
        }
        // Half of a window that doubles validates it (RFC 7661 section 4.3).
        if pipe >= self.cwnd || (self.in_slow_start() && pipe.saturating_mul(2) >= self.cwnd) {
            self.used_until = next;
        }
        if self.params.window_validation {
            self.validate(now, pipe, app_limited, rto);
        }
    }

    /// RFC 2861: a window that was not full for a timeout goes half way to what was used of it.
    fn validate(&mut self, now: Time, pipe: u64, app_limited: bool, rto: TimeDelta) {
        if pipe >= self.cwnd {
            (self.unused_since, self.most_used) = (now, 0);
            return;
        }
        if app_limited {
            self.most_used = self.most_used.max(pipe);
            if now.saturating_since(self.unused_since) >= rto {
                self.remember();
                self.cwnd = self.cwnd.midpoint(self.most_used).max(1);
                (self.unused_since, self.most_used) = (now, 0);
            }
        }
    }

    /// RFC 2861: slow start may come back to three quarters of a window that decays.
    fn remember(&mut self) {
        if let Some(ssthresh) = self.ssthresh() {
            self.ssthresh = ssthresh.max(self.cwnd / 4 * 3);
        }
    }

    /// Something is to be sent and nothing is outstanding: how long was the pause (section 5.1)?
    pub(super) fn on_idle(&mut self, now: Time, rto: TimeDelta) {
        let Some(last_sent) = self.last_sent else { return };
        let idle = now.saturating_since(last_sent);
        if idle <= rto {
            return;
        }
        if self.params.window_validation {
            self.remember();
            let timeouts = idle.as_nanos() / rto.as_nanos().max(1);
            self.cwnd = (self.cwnd >> timeouts.clamp(0, 63)).max(1);
            (self.unused_since, self.most_used) = (now, 0);
        } else if self.params.restart_after_idle {
            self.cwnd = self.cwnd.min(self.initial);
        }
        // The window's changes count from now on.
        self.last_sent = Some(now);
        self.acked = 0;
    }

    /// `packets` were newly acknowledged as received unmarked, `newest` is the last of them.
    #[inline]
    pub(super) fn on_acked(&mut self, now: Time, packets: u64, newest: u64, ack_ratio: u64) {
        let held = self.held_until.is_some_and(|until| now < until);
        if held || (newest >= self.used_until && !self.params.rate_limited_increase) {
            return;
        }
        let before = self.cwnd;
        self.grow(packets, ack_ratio);
        if self.params.rate_limited_increase {
            self.cwnd = self.cwnd.min(self.limit()).max(before);
        }
    }

    /// The window that would follow from one as large as the largest flight (`limit(maxFS)`).
    fn limit(&self) -> u64 {
        let flight = self.largest_flight;
        let more = if self.in_slow_start() { flight / self.params.slow_start_packets.max(1) } else { 1 };
        flight.saturating_add(more)
    }

    #[inline]
    fn grow(&mut self, packets: u64, ack_ratio: u64) {
        if self.in_slow_start() {
            // One for two packets, at most Ack Ratio/2 for one acknowledgement.
            let for_one = self.params.slow_start_packets.max(1);
            self.acked += packets.min(ack_ratio);
            let more = self.acked / for_one;
            self.acked -= for_one * more;
            self.cwnd = self.cwnd.saturating_add(more).min(MOST);
        } else {
            // One for a window of data without lost or marked packets.
            self.acked += packets;
            if self.acked >= self.cwnd {
                self.acked -= self.cwnd;
                self.cwnd = (self.cwnd + 1).min(MOST);
            }
        }
    }

    /// Packet `sequence` was lost or marked; `next` is the next to be sent. True if that begins a congestion event.
    pub(super) fn on_congestion(&mut self, sequence: u64, next: u64) -> bool {
        let same_event = sequence < self.reduced_until;
        if !(same_event && self.params.count_beside_losses) {
            self.acked = 0;
        }
        if same_event {
            return false;
        }
        (self.reduced_until, self.largest_flight) = (next, 0);
        self.cwnd = self.reduced().max(1);
        self.ssthresh = self.cwnd.max(self.params.ssthresh_min);
        true
    }

    /// Packet `newest` is acknowledged: one that left after the last timeout ends the series.
    #[inline]
    pub(super) fn on_heard(&mut self, newest: u64) {
        if newest >= self.timed_out_until {
            self.timed_out_until = u64::MAX;
        }
    }

    /// A transmit timeout. It is repeated if nothing was heard of what left after the last one.
    pub(super) fn on_timed_out(&mut self, next: u64) {
        let again = self.timed_out_until != u64::MAX;
        self.timed_out_until = next;
        if !(again && self.params.ssthresh_held) {
            self.ssthresh = self.reduced().max(self.params.ssthresh_min);
        }
        (self.cwnd, self.acked, self.largest_flight) = (1, 0, 0);
        (self.reduced_until, self.used_until) = (next, next);
    }

    fn reduced(&self) -> u64 {
        (self.cwnd as f64 * self.params.beta) as u64
    }

    /// The receiver had no room for so many packets (section 5.2): one less for each, and slow start ends.
    pub(super) fn on_no_room(&mut self, packets: u64) {
        self.cwnd = self.cwnd.saturating_sub(packets).max(1);
        self.leave_slow_start();
    }

    /// Section 5.2, "exiting slow start".
    pub(super) fn leave_slow_start(&mut self) {
        self.ssthresh = self.ssthresh.min(self.cwnd);
        self.acked = 0;
    }

    /// The receiver is slow (RFC 4340 section 11.6): no growth for a round trip.
    pub(super) fn hold(&mut self, until: Time) {
        self.held_until = Some(until);
        self.leave_slow_start();
    }
}
