//! The rate-shaping buffer, here the send queues of the flow, and the two rates around it (RFC 8698 section 5.2.2).

use super::Params;
use super::reference_rate::Bounds;

/// No adjustment is larger than this part of `r_ref` (equations (11) and (12)).
const MOST: f64 = 0.05;

/// Target of the encoder and rate of sending, in bit/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rates {
    pub(super) r_vin: f64,
    pub(super) r_send: f64,
}

/// Equations (11) to (14), where so many bits wait in the rate-shaping buffer.
pub(super) fn rates(params: &Params, bounds: Bounds, r_ref: f64, waiting: f64) -> Rates {
    let diff = |beta: f64| (MOST * r_ref).min(beta * waiting * params.fps);
    Rates {
        r_vin: (r_ref - diff(params.beta_v)).max(bounds.rmin),
        r_send: (r_ref + diff(params.beta_s)).min(bounds.rmax),
    }
}
