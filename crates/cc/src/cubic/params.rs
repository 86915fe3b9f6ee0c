//! CUBIC's constants by name.

use crate::params::{ParamError, param_set};

param_set! {
    /// Every constant of CUBIC. `Default` is RFC 8312.
    pub struct Params {
        c: Ratio = 0.4, in 1e-6, 1e6, "RFC 8312 5.1 (C)", "Growth of the window, packets per cubic second";
        beta_cubic: Ratio = 0.7, in 0.01, 0.99, "RFC 8312 4.5", "What a loss leaves";
        beta_ecn: Ratio = 0.7, in 0.01, 0.99, "RFC 8312 4.5 (as a loss); RFC 8511 has 0.85", "What a mark leaves";
        fast_convergence: Flag = true, in 0.0, 1.0, "RFC 8312 4.6", "A falling W_max is lowered further: room for others";
        tcp_friendliness: Flag = true, in 0.0, 1.0, "RFC 8312 4.2", "No less than Reno would have";
        friendly_from_window: Flag = true, in 0.0, 1.0, "RFC 8312 4.2 with 4.6: which W_max is not said", "What Reno would have starts from the window before the reduction, not from a plateau lowered by fast convergence";
        ssthresh_min: Count = 2, in 1.0, 1000.0, "RFC 8312 4.5", "Smallest threshold in packets";
        lw: Count = 1, in 1.0, 1000.0, "RFC 8312 4.7, RFC 5681 3.1 (LW)", "Window after a timeout in packets";
        l: Ratio = 1.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand; 1 is RFC 5681 eq. 2", "Most packets that one acknowledgement adds in slow start";
        restart_after_idle: Flag = true, in 0.0, 1.0, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
        pacing: Flag = false, in 0.0, 1.0, "ours", "Packets are spaced over the round trip";
        pacing_gain_slow_start: Ratio = 2.0, in 1.0, 100.0, "ours", "Pace in slow start, windows per round trip";
        pacing_gain: Ratio = 1.2, in 1.0, 100.0, "ours", "Pace after it, windows per round trip";
    }
}

/// The named sets of values, the default first.
pub const PROFILES: &[(&str, &str)] = &[("rfc8312", "RFC 8312")];

impl Params {
    /// The named set, if there is one of that name.
    pub fn profile(name: &str) -> Option<Params> {
        (name == "rfc8312").then(Params::default)
    }

    /// Whether the parameters fit each other: always.
    ///
    /// # Errors
    /// None.
    pub fn validate(&self) -> Result<(), ParamError> {
        Ok(())
    }
}
