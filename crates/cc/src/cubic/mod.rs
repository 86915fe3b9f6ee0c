//! CUBIC: the window is a cubic function of the time since the last reduction (RFC 8312).
//!
//! What differs from the text is in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod curve;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::state_variables;
use crate::window::{Ack, Cause, Law, Window, WindowSender};
use crate::{Assigned, SentPacket};
use curve::Curve;
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold, and starts a curve whose plateau they are.
pub type Cubic = WindowSender<CubicLaw>;

/// The window law of CUBIC.
#[derive(Clone, Debug)]
pub struct CubicLaw {
    params: Params,
    curve: Curve,
    /// `W_last_max`, packets.
    last_max: f64,
    /// Seconds in this avoidance in which the window was in use (section 5.8); absent before its first acknowledgement.
    elapsed: Option<f64>,
    last_ack: Time,
    /// No reduction says where the plateau is: it is where avoidance begins (sections 4.7 and 4.8).
    plateau_unknown: bool,
    /// What the last reduction overwrote.
    before: Option<(Curve, f64, Option<f64>, bool)>,
}

impl CubicLaw {
    /// Moves the window in congestion avoidance (sections 4.1 to 4.4).
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        let elapsed = match self.elapsed {
            Some(before) => before + ack.now.saturating_since(self.last_ack).as_secs_f64(),
            None => {
                if core::mem::take(&mut self.plateau_unknown) {
                    self.curve = Curve::flat(&self.params, window.packets());
                }
                0.0
            }
        };
        self.elapsed = Some(elapsed);
        let (cwnd, rtt) = (window.packets(), window.round_trip.seconds());
        if self.params.tcp_friendliness && rtt > 0.0 {
            let reno = self.curve.reno(elapsed, rtt);
            if self.curve.at(elapsed) < reno {
                // Never down: after a lowered plateau the estimate starts below the window.
                return window.set(reno.max(cwnd) * window.mss);
            }
        }
        let target = self.curve.at(elapsed + rtt);
        if target > cwnd {
            let packets = ack.delivered as f64 / window.mss;
            let grown = cwnd + (target - cwnd) / cwnd * packets;
            window.set(grown.min(target) * window.mss);
        }
    }

    /// Begins a new curve below the present window (sections 4.5 and 4.6).
    fn lower_plateau(&mut self, window: &Window, beta: f64) {
        let cwnd = window.packets();
        let lowered = self.params.fast_convergence && cwnd < self.last_max;
        let plateau = if lowered { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        self.last_max = cwnd;
        self.curve = Curve::new(&self.params, plateau, beta);
        if self.params.friendly_from_window {
            self.curve.start_reno_at(cwnd * beta);
        }
        (self.elapsed, self.plateau_unknown) = (None, false);
    }

    /// The window in packets where the curve is flat; absent before there is such a place.
    fn plateau(&self) -> Option<f64> {
        (self.last_max > 0.0 || self.curve.plateau > 0.0).then_some(self.curve.plateau)
    }

    fn threshold(&self, window: &Window, beta: f64) -> f64 {
        (window.cwnd * beta).max(self.params.ssthresh_min as f64 * window.mss)
    }
}

impl Law for CubicLaw {
    type Params = Params;
    type Note = ();

    fn new(params: &Params, window: &mut Window) -> CubicLaw {
        window.pacing = params.pacing;
        window.restart_after_idle = params.restart_after_idle;
        CubicLaw {
            params: params.clone(),
            curve: Curve::new(params, 0.0, params.beta_cubic),
            last_max: 0.0,
            elapsed: None,
            last_ack: Time::ZERO,
            plateau_unknown: true,
            before: None,
        }
    }

    #[inline]
    fn on_sent(&mut self, window: &mut Window, now: Time, _packet: &SentPacket) {
        if window.pipe == 0 {
            // Section 5.8: a time without data is none of the curve's.
            self.last_ack = now;
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.may_grow {
            if window.in_slow_start() {
                window.slow_start(ack, self.params.l);
            } else {
                self.avoid(window, ack);
            }
        }
        self.last_ack = ack.now;
    }

    fn on_congestion(&mut self, window: &mut Window, _now: Time, cause: Cause) {
        let beta = if cause == Cause::Loss { self.params.beta_cubic } else { self.params.beta_ecn };
        self.lower_plateau(window, beta);
        window.ssthresh = self.threshold(window, beta);
        window.set(window.cwnd * beta);
    }

    /// Section 4.7; a threshold that recovery, or the timeout before, has set for the same window of data stays.
    fn on_timed_out(&mut self, window: &mut Window, _now: Time, again: bool) {
        if !again && !window.recovering {
            window.ssthresh = self.threshold(window, self.params.beta_cubic);
        }
        window.set(self.params.lw as f64 * window.mss);
        (self.elapsed, self.plateau_unknown) = (None, true);
    }

    fn keep(&mut self) {
        self.before = Some((self.curve, self.last_max, self.elapsed, self.plateau_unknown));
    }

    fn undo(&mut self, _window: &mut Window) {
        if let Some(before) = self.before.take() {
            (self.curve, self.last_max, self.elapsed, self.plateau_unknown) = before;
        }
    }

    fn on_assigned(&mut self, _window: &mut Window, _assigned: Assigned) {
        (self.elapsed, self.plateau_unknown) = (None, true);
    }

    state_variables! { |self, window|
        cwnd: "packets" = window.packets(), "Congestion window";
        ssthresh: "packets" = window.threshold(), "Slow start threshold; absent before the first loss";
        w_max: "packets" = self.plateau(), "Plateau of the curve; absent before there is one";
        w_last_max: "packets" = (self.last_max > 0.0).then_some(self.last_max), "Window before the last reduction";
        k: "s" = self.plateau().map(|_| self.curve.k), "From the start of the curve to its plateau";
        t: "s" = self.elapsed, "Since the start of the curve; absent outside avoidance";
    }
}
