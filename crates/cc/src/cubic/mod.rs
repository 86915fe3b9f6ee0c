//! CUBIC: the window is a cubic function of the time since the last reduction (RFC 8312 and RFC 9438, by profile).
//!
//! Differences from the text are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod curve;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::observe::window_variables;
use crate::window::{Ack, Cause, Law, Window, WindowSender};
use crate::{Assigned, SentPacket};
use curve::Curve;
use paceline_units::Time;

/// The sender half. `assign` overwrites window and threshold, and starts a curve whose plateau they are.
pub type Cubic = WindowSender<CubicLaw>;

/// Where the window stands on its curve. Windows are packets.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    curve: Curve,
    /// `W_last_max`; `W_max` itself where fast convergence compares with that.
    last_max: f64,
    /// Seconds in this avoidance in which the window was in use (RFC 8312 section 5.8); absent before its first acknowledgement.
    elapsed: Option<f64>,
    /// No reduction says where the plateau is: it is where avoidance begins (RFC 8312 sections 4.7 and 4.8).
    plateau_unknown: bool,
    /// `W_est` of RFC 9438 section 4.3.
    reno: f64,
    /// `cwnd_prior`: the window before the last reduction; 0 before there was one.
    prior: f64,
}

/// The window law of CUBIC.
#[derive(Clone, Debug)]
pub struct CubicLaw {
    params: Params,
    epoch: Epoch,
    /// The epoch that the last reduction overwrote.
    before: Option<Epoch>,
    last_ack: Time,
    /// The smallest round trip in seconds, where that counts.
    least_rtt: f64,
}

impl CubicLaw {
    /// Moves the window in congestion avoidance (RFC 8312 sections 4.1 to 4.4, RFC 9438 sections 4.2 to 4.5).
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        let elapsed = match self.epoch.elapsed {
            Some(before) => before + ack.now.saturating_since(self.last_ack).as_secs_f64(),
            None => {
                self.begin(window.packets());
                0.0
            }
        };
        self.epoch.elapsed = Some(elapsed);
        let (cwnd, rtt) = (window.packets(), window.round_trip.seconds());
        let packets = ack.delivered as f64 / window.mss;
        if self.params.tcp_friendliness && rtt > 0.0 {
            let reno = self.reno(elapsed, rtt, packets / cwnd);
            if self.epoch.curve.at(elapsed) < reno {
                // Never down: after a lowered plateau the estimate starts below the window.
                return self.grow_to(window, ack, reno.max(cwnd));
            }
        }
        let target = self.target(elapsed, rtt, cwnd);
        if target > cwnd {
            let grown = cwnd + (target - cwnd) / cwnd * packets;
            self.grow_to(window, ack, grown.min(target));
        }
    }

    /// The first acknowledgement of an avoidance: its curve begins.
    fn begin(&mut self, cwnd: f64) {
        let epoch = &mut self.epoch;
        if core::mem::take(&mut epoch.plateau_unknown) {
            epoch.curve = Curve::flat(&self.params, cwnd);
        } else if self.params.k_from_window {
            epoch.curve.begin_at(cwnd);
        }
        epoch.reno = cwnd;
    }

    /// The window that Reno would have now, in packets, after an acknowledgement of a `part` of the window.
    fn reno(&mut self, elapsed: f64, rtt: f64, part: f64) -> f64 {
        let epoch = &mut self.epoch;
        if !self.params.friendly_by_acks {
            return epoch.curve.reno(elapsed, rtt);
        }
        // RFC 9438 section 4.3, equation 4; from cwnd_prior on as Reno.
        let alpha = if epoch.reno < epoch.prior { epoch.curve.reno_slope() } else { 1.0 };
        epoch.reno += alpha * part;
        epoch.reno
    }

    /// The window that the curve asks for a round trip ahead (RFC 9438 section 4.2).
    fn target(&self, elapsed: f64, rtt: f64, cwnd: f64) -> f64 {
        let ahead = if self.params.ahead_by_least { self.least_rtt.min(rtt) } else { rtt };
        let target = self.epoch.curve.at(elapsed + ahead);
        self.params.target_limit.map_or(target, |limit| target.min(limit * cwnd))
    }

    /// Grows to `cwnd` packets, but not beyond what the law makes of the largest flight where that counts.
    fn grow_to(&mut self, window: &mut Window, ack: &Ack, cwnd: f64) {
        if !window.grows_unused() {
            return window.set(cwnd * window.mss);
        }
        let flight = window.largest_flight(ack) / window.mss;
        let (elapsed, rtt) = (self.epoch.elapsed.unwrap_or(0.0), window.round_trip.seconds());
        let limit = self.target(elapsed, rtt, flight).max(flight + 1.0);
        let before = window.cwnd;
        window.grow_to(cwnd * window.mss, limit * window.mss);
        if window.cwnd <= before {
            // RFC 9438 section 4.2: a time in which the window may not grow is none of the curve's.
            let since = ack.now.saturating_since(self.last_ack).as_secs_f64();
            self.epoch.elapsed = Some((elapsed - since).max(0.0));
        }
    }

    /// Begins a new curve below the present window (RFC 8312 sections 4.5 and 4.6, RFC 9438 sections 4.6 and 4.7).
    fn lower_plateau(&mut self, window: &Window, beta: f64) {
        let (cwnd, epoch) = (window.packets(), &mut self.epoch);
        let lowered = self.params.fast_convergence && cwnd < epoch.last_max;
        let plateau = if lowered { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        epoch.last_max = if self.params.converges_below_plateau { plateau } else { cwnd };
        epoch.curve = Curve::new(&self.params, plateau, beta);
        if self.params.friendly_from_window {
            epoch.curve.start_reno_at(cwnd * beta);
        }
        (epoch.elapsed, epoch.plateau_unknown, epoch.prior) = (None, false, cwnd);
    }

    /// The window in packets where the curve is flat; absent before there is such a place.
    fn plateau(&self) -> Option<f64> {
        (self.epoch.last_max > 0.0 || self.epoch.curve.plateau > 0.0).then_some(self.epoch.curve.plateau)
    }

    fn threshold(&self, window: &Window, beta: f64) -> f64 {
        let from = if self.params.ssthresh_from_flight { window.flight() } else { window.cwnd };
        (from * beta).max(self.params.ssthresh_min as f64 * window.mss)
    }

    /// The window after a reduction, in bytes (RFC 9438 section 4.6: one packet after a mark).
    fn reduced(&self, window: &Window, beta: f64, cause: Cause) -> f64 {
        match cause {
            _ if !self.params.ssthresh_from_flight => window.cwnd * beta,
            Cause::Loss => self.threshold(window, beta),
            Cause::Mark => window.flight() * beta,
        }
    }
}

impl Law for CubicLaw {
    type Params = Params;
    type Note = ();

    fn new(params: &Params, window: &mut Window) -> CubicLaw {
        window.pacing = params.pacing;
        window.bound(params.growth);
        window.restart_after_idle = params.restart_after_idle;
        CubicLaw {
            params: params.clone(),
            epoch: Epoch {
                curve: Curve::new(params, 0.0, params.beta_cubic),
                last_max: 0.0,
                elapsed: None,
                plateau_unknown: true,
                reno: 0.0,
                prior: 0.0,
            },
            before: None,
            last_ack: Time::ZERO,
            least_rtt: f64::INFINITY,
        }
    }

    #[inline]
    fn on_sent(&mut self, window: &mut Window, now: Time, _packet: &SentPacket) {
        if window.pipe == 0 {
            // RFC 8312 section 5.8: a time without data is none of the curve's.
            self.last_ack = now;
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let (true, Some(rtt)) = (self.params.ahead_by_least, ack.rtt) {
            self.least_rtt = self.least_rtt.min(rtt.as_secs_f64());
        }
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
        let reduced = self.reduced(window, beta, cause);
        window.ssthresh = self.threshold(window, beta);
        window.set(reduced);
    }

    /// RFC 8312 section 4.7, RFC 9438 section 4.8; a threshold that recovery, or the timeout before, has set for the same window of data stays.
    fn on_timed_out(&mut self, window: &mut Window, _now: Time, again: bool) {
        if !again && !window.recovering {
            window.ssthresh = self.threshold(window, self.params.beta_cubic);
            self.epoch.prior = window.packets();
        }
        window.set(self.params.lw as f64 * window.mss);
        (self.epoch.elapsed, self.epoch.plateau_unknown) = (None, true);
    }

    fn keep(&mut self) {
        self.before = Some(self.epoch);
    }

    /// RFC 9438 section 4.9.2.
    fn undoes(&self, window: &Window) -> bool {
        !self.params.undo_below || window.packets() < self.epoch.prior
    }

    fn undo(&mut self, _window: &mut Window) {
        if let Some(before) = self.before.take() {
            self.epoch = before;
        }
    }

    fn on_assigned(&mut self, _window: &mut Window, _assigned: Assigned) {
        (self.epoch.elapsed, self.epoch.plateau_unknown) = (None, true);
    }

    window_variables! { |self, window|
        w_max: "packets" = self.plateau(), "Plateau of the curve; absent before there is one";
        w_last_max: "packets" = (self.epoch.last_max > 0.0).then_some(self.epoch.last_max), "Window before the last reduction";
        k: "s" = self.plateau().map(|_| self.epoch.curve.k), "From the start of the curve to its plateau";
        t: "s" = self.epoch.elapsed, "Since the start of the curve; absent outside avoidance";
    }
}
