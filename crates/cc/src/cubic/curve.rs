//! The two windows that CUBIC compares: its own, and the one that Reno would have. Packets and seconds.

use super::Params;

/// Equations 1, 2 and 4 of RFC 8312 for one reduction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Curve {
    c: f64,
    /// `W_max`.
    pub plateau: f64,
    /// `K`.
    pub k: f64,
    reno_start: f64,
    reno_slope: f64,
}

impl Curve {
    /// The curve after a reduction that left `beta`.
    pub fn new(params: &Params, plateau: f64, beta: f64) -> Curve {
        Curve {
            c: params.c,
            plateau,
            k: libm::cbrt(plateau * (1.0 - beta) / params.c),
            reno_start: plateau * beta,
            reno_slope: 3.0 * (1.0 - beta) / (1.0 + beta),
        }
    }

    /// The curve that starts on its plateau: K = 0 (section 4.7).
    pub fn flat(params: &Params, plateau: f64) -> Curve {
        Curve { k: 0.0, ..Curve::new(params, plateau, params.beta_cubic) }
    }

    /// The curve begins at this window (RFC 9438 equation 2).
    pub fn begin_at(&mut self, window: f64) {
        self.k = libm::cbrt((self.plateau - window).max(0.0) / self.c);
    }

    /// Reno's estimate starts here instead of from the plateau.
    pub fn start_reno_at(&mut self, window: f64) {
        self.reno_start = window;
    }

    /// `W_cubic(t)`, equation 1.
    #[inline]
    pub fn at(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        self.c * from_plateau * from_plateau * from_plateau + self.plateau
    }

    /// Packets per round trip by which `W_est` grows.
    pub fn reno_slope(&self) -> f64 {
        self.reno_slope
    }

    /// `W_est(t)`, equation 4.
    #[inline]
    pub fn reno(&self, t: f64, rtt: f64) -> f64 {
        self.reno_start + self.reno_slope * t / rtt
    }
}
