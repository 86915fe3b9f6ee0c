//! Pace, burst and window from the model (section "Updating Control Parameters").

use super::{Bbr3Law, Phase};
use crate::window::Window;

/// Before a round trip is known the first window leaves as if it were so long, seconds.
const FIRST_RTT: f64 = 1e-3;
/// Packets that `ProbeBW_UP` may have in flight besides.
const PROBE_UP_MORE: f64 = 2.0;
/// A burst is so many packets at least.
const LEAST_QUANTUM: f64 = 2.0;

impl Bbr3Law {
    /// `BBR.bdp`; 0 before the first round trip.
    pub(super) fn bdp(&self) -> f64 {
        self.bw * self.min_rtt.min_rtt.map_or(0.0, |rtt| rtt.as_secs_f64())
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight(&self, window: &Window) -> f64 {
        self.bdp().min(window.cwnd)
    }

    fn min_pipe_cwnd(&self, window: &Window) -> f64 {
        self.params.min_pipe_cwnd as f64 * window.mss
    }

    /// `BDPMultiple`.
    fn bdp_multiple(&self, window: &Window, bw: f64, gain: f64) -> f64 {
        match self.min_rtt.min_rtt {
            Some(min_rtt) => gain * bw * min_rtt.as_secs_f64(),
            None => window.initial,
        }
    }

    /// `QuantizationBudget`, with the offload budget of TCP.
    fn quantization_budget(&self, window: &Window, inflight: f64) -> f64 {
        let offload_budget = self.params.offload_quanta as f64 * self.send_quantum(window);
        let inflight = inflight.max(offload_budget).max(self.min_pipe_cwnd(window));
        inflight + if self.phase == Phase::ProbeBwUp { PROBE_UP_MORE * window.mss } else { 0.0 }
    }

    /// `Inflight`: bytes that `gain` times the path holds at `bw`.
    pub(super) fn inflight(&self, window: &Window, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(window, self.bdp_multiple(window, bw, gain))
    }

    /// `UpdateMaxInflight`. In a group the window has no room for aggregation: it would not be the bandwidth's part then, and once windows
    /// limit, rates are as they are.
    pub(super) fn max_inflight(&self, window: &Window) -> f64 {
        let extra_acked = if self.coupled { 0.0 } else { self.extra_acked.get() };
        let inflight = self.bdp_multiple(window, self.bw, self.cwnd_gain()) + extra_acked;
        self.quantization_budget(window, inflight)
    }

    /// `SetSendQuantum`.
    fn send_quantum(&self, window: &Window) -> f64 {
        let rate = self.pacing_rate.unwrap_or(0.0);
        let quantum = rate * self.params.send_quantum_time.as_secs_f64();
        quantum.min(self.params.send_quantum_max.as_f64()).max(LEAST_QUANTUM * window.mss)
    }

    /// `InitPacingRate` for a round trip, or before one is known.
    pub(super) fn first_pacing_rate(&self, window: &Window, rtt: Option<f64>) -> f64 {
        self.params.startup_pacing_gain * window.initial / rtt.unwrap_or(FIRST_RTT)
    }

    /// `SetPacingRateWithGain`: before the pipe is full the pace does not fall.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * (100.0 - self.params.pacing_margin_percent) / 100.0;
        if rate > 0.0 && (self.full_pipe.reached || self.pacing_rate.is_none_or(|before| rate > before)) {
            self.pacing_rate = Some(rate);
        }
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_cwnd(&self, window: &Window) -> f64 {
        let cwnd = self.bdp_multiple(window, self.bw, self.params.probe_rtt_cwnd_gain);
        cwnd.max(self.min_pipe_cwnd(window))
    }

    /// `SetCwnd`.
    pub(super) fn set_cwnd(&self, window: &mut Window, newly_acked: f64) {
        let max_inflight = self.max_inflight(window);
        let cwnd = window.cwnd + newly_acked;
        if self.full_pipe.reached {
            window.set(cwnd.min(max_inflight));
        } else if window.cwnd < max_inflight || (self.rate.delivered as f64) < window.initial {
            window.set(cwnd);
        }
        window.set(window.cwnd.max(self.min_pipe_cwnd(window)));
        if self.phase == Phase::ProbeRtt {
            window.set(window.cwnd.min(self.probe_rtt_cwnd(window)));
        }
        self.bound_cwnd_for_model(window);
    }

    /// `BoundCwndForModel`.
    fn bound_cwnd_for_model(&self, window: &mut Window) {
        let cap = match self.phase {
            Phase::ProbeBwDown | Phase::ProbeBwRefill | Phase::ProbeBwUp => self.long_term.inflight,
            Phase::ProbeBwCruise | Phase::ProbeRtt => self.long_term.with_headroom(&self.params, window.mss),
            Phase::Startup | Phase::Drain => f64::INFINITY,
        };
        let cap = cap.min(self.short_term.inflight).max(self.min_pipe_cwnd(window));
        window.set(window.cwnd.min(cap));
    }
}
