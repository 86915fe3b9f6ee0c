//! Arithmetic of bit rates, rounded to whole bits per second as both sources of the algorithm have it.

use paceline_units::{Bitrate, Bytes, TimeDelta};

/// `factor` times `rate`.
pub(super) fn times(factor: f64, rate: Bitrate) -> Bitrate {
    Bitrate::from_bps_f64(libm::round(factor * rate.as_bps_f64()))
}

/// The sum of two rates.
pub(super) fn plus(a: Bitrate, b: Bitrate) -> Bitrate {
    Bitrate::from_bps(a.as_bps().saturating_add(b.as_bps()))
}

/// The difference of two rates, or none.
pub(super) fn minus(a: Bitrate, b: Bitrate) -> Bitrate {
    Bitrate::from_bps(a.as_bps().saturating_sub(b.as_bps()))
}

/// `size` in `span`, which is above zero.
pub(super) fn over(size: Bytes, span: TimeDelta) -> Bitrate {
    Bitrate::from_bps_f64(size.as_bits_f64() / span.as_secs_f64())
}
