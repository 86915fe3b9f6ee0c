//! The aggregate congestion signal x_curr, and the mode that it leaves the sender (RFC 8698 section 4.2).

use super::Params;
use libm::exp;

/// `rmode`, how the sender moves its rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// Accelerated ramp-up: no loss, no mark and no queue within LOGWIN.
    RampUp = 0,
    /// Gradual update: there was one of these.
    Gradual = 1,
}

/// The receiver's message to the sender (section 5.3). Here both are one, and it is made of reports on packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Feedback {
    pub(super) rmode: Mode,
    /// The aggregate congestion signal, in seconds.
    pub(super) x_curr: f64,
    /// The receiving rate, in bit/s.
    pub(super) r_recv: f64,
}

/// Equation (1), for a path with losses: the delay, in seconds, that a queue delay of so many seconds counts as.
pub(super) fn warped(params: &Params, d_queue: f64) -> f64 {
    let qth = params.qth.as_secs_f64();
    if d_queue < qth { d_queue } else { qth * exp(-params.lambda * (d_queue - qth) / qth) }
}

/// `d_tilde` in seconds, where the last loss counts by `part`: 1 within its expiration window, 0 after the transition that follows.
pub(super) fn d_tilde(params: &Params, d_queue: f64, part: f64) -> f64 {
    part * warped(params, d_queue) + (1.0 - part) * d_queue
}

/// Equation (2): `x_curr` in seconds.
pub(super) fn x_curr(params: &Params, d_tilde: f64, p_mark: f64, p_loss: f64) -> f64 {
    let (mark, loss) = (p_mark / params.pmrref, p_loss / params.plrref);
    d_tilde + params.dmark.as_secs_f64() * mark * mark + params.dloss.as_secs_f64() * loss * loss
}
