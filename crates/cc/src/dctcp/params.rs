//! DCTCP's constants by name.

use crate::params::{ParamError, param_set};

param_set! {
    /// Every constant of DCTCP. `Default` is RFC 8257.
    pub struct Params {
        g: Ratio = 0.0625, in 0.0, 1.0, "RFC 8257 3.3 and 4.2 (g)", "Weight of a window of data in alpha";
        alpha_start: Ratio = 1.0, in 0.0, 1.0, "RFC 8257 3.3", "First alpha";
        alpha_reset: Flag = false, in 0.0, 1.0, "RFC 8257 4.1", "A loss takes alpha back to the first";
        cwnd_min: Count = 2, in 1.0, 1000.0, "RFC 5681 eq. 4; RFC 8257 names none", "Smallest window that marks leave, in packets";
        beta: Ratio = 0.5, in 0.0, 1.0, "RFC 8257 3.5, RFC 5681 eq. 4", "What a loss leaves";
        lw: Count = 1, in 1.0, 1000.0, "RFC 8257 3.5", "Window after a timeout in packets";
        l: Ratio = 1.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand; 1 is RFC 5681 eq. 2", "Most packets that one acknowledgement adds in slow start";
        restart_after_idle: Flag = true, in 0.0, 1.0, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
        pacing: Flag = false, in 0.0, 1.0, "ours", "Packets are spaced over the round trip";
        pacing_gain_slow_start: Ratio = 2.0, in 1.0, 100.0, "ours", "Pace in slow start, windows per round trip";
        pacing_gain: Ratio = 1.2, in 1.0, 100.0, "ours", "Pace after it, windows per round trip";
    }
}

/// The named sets of values, the default first.
pub const PROFILES: &[(&str, &str)] = &[("rfc8257", "RFC 8257")];

impl Params {
    /// The named set, if there is one of that name.
    pub fn profile(name: &str) -> Option<Params> {
        (name == "rfc8257").then(Params::default)
    }

    /// Whether the parameters fit each other: always.
    ///
    /// # Errors
    /// None.
    pub fn validate(&self) -> Result<(), ParamError> {
        Ok(())
    }
}
