//! The reference rate r_ref: accelerated ramp-up and gradual update (RFC 8698 section 4.3).

use super::Params;
use super::signal::{Feedback, Mode};
use crate::media_streams::MediaStreams;
use libm::fmin;
use paceline_units::TimeDelta;

/// Where the application does not use its rate, or a signal falls, that rises to no more than this times what arrives (RFC 5348 section
/// 4.3).
const UNUSED_LIMIT: f64 = 2.0;

/// `r_ref`, in bit/s, and the signal that it followed last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ReferenceRate {
    /// The reference rate, in bit/s.
    pub(super) r_ref: f64,
    /// The aggregate congestion signal of the feedback before, in seconds.
    x_prev: f64,
    /// For how long ramp-up has raised nothing.
    unused: TimeDelta,
}

/// RMIN and RMAX of all streams together, in bit/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bounds {
    pub(super) rmin: f64,
    pub(super) rmax: f64,
}

impl Bounds {
    pub(super) fn of(streams: &MediaStreams) -> Bounds {
        let (rmin, rmax) = streams.bounds();
        Bounds { rmin, rmax }
    }

    /// Equations (8) and (9).
    pub(super) fn clip(&self, rate: f64) -> f64 {
        rate.min(self.rmax).max(self.rmin)
    }
}

/// Equation (3): the part by which the rate may exceed what arrives.
pub(super) fn gamma(params: &Params, rtt: TimeDelta) -> f64 {
    let loop_delay = (rtt + params.delta + params.dfilt).as_secs_f64();
    fmin(params.gamma_max, params.qbound.as_secs_f64() / loop_delay)
}

/// The signal, in seconds, at which a flow stays at the rate `r_ref`.
pub(super) fn equilibrium(params: &Params, rmax: f64, r_ref: f64) -> f64 {
    params.prio * params.xref.as_secs_f64() * rmax / r_ref
}

impl ReferenceRate {
    pub(super) fn new(r_ref: f64) -> ReferenceRate {
        ReferenceRate { r_ref, x_prev: 0.0, unused: TimeDelta::ZERO }
    }

    /// A feedback message came, `delta` after the one before.
    pub(super) fn on_feedback(
        &mut self,
        params: &Params,
        delta: TimeDelta,
        rtt: TimeDelta,
        feedback: &Feedback,
        bounds: Bounds,
    ) {
        let x_curr = feedback.x_curr;
        if feedback.rmode == Mode::Gradual {
            self.unused = TimeDelta::ZERO;
        }
        let r_ref = match feedback.rmode {
            Mode::RampUp => self.ramp_up(params, delta, rtt, feedback.r_recv),
            Mode::Gradual => self.gradual(params, delta, x_curr, bounds.rmax),
        };
        // A signal at its bound says no more how heavy losses are: at RMAX/50 it would hold any rate.
        let r_ref = if x_curr >= params.x_max.as_secs_f64() { fmin(r_ref, feedback.r_recv) } else { r_ref };
        // As it falls from there, its change alone would raise the rate by a factor.
        let most = self.r_ref.max(UNUSED_LIMIT * feedback.r_recv);
        let r_ref = if x_curr < self.x_prev { fmin(r_ref, most) } else { r_ref };
        (self.r_ref, self.x_prev) = (bounds.clip(r_ref), x_curr);
    }

    /// Equation (4). Where that raises nothing for longer than the rate takes to show in what arrives, the application does not use it,
    /// and the rate itself rises by as much: else speech that needs a tenth of its share would hold a camera at RMIN for ever.
    fn ramp_up(&mut self, params: &Params, delta: TimeDelta, rtt: TimeDelta, r_recv: f64) -> f64 {
        let (factor, before) = (1.0 + gamma(params, rtt), self.r_ref);
        let raised = before.max(factor * r_recv);
        if raised > before {
            self.unused = TimeDelta::ZERO;
            return raised;
        }
        self.unused += delta;
        if self.unused <= params.logwin * 2 + rtt {
            return before;
        }
        self.unused = TimeDelta::ZERO;
        before.max(fmin(factor * before, UNUSED_LIMIT * r_recv))
    }

    /// Equations (5) to (7).
    fn gradual(&self, params: &Params, delta: TimeDelta, x_curr: f64, rmax: f64) -> f64 {
        let tau = params.tau.as_secs_f64();
        let delta = fmin(delta.as_secs_f64(), tau);
        let x_offset = x_curr - equilibrium(params, rmax, self.r_ref);
        let x_diff = x_curr - self.x_prev;
        let offset = params.kappa * (delta / tau) * (x_offset / tau);
        let change = params.kappa * params.eta * (x_diff / tau);
        self.r_ref * (1.0 - offset - change)
    }
}
