//! LEDBAT's constants by name.

use crate::params::{ParamError, param_set};
use alloc::string::ToString;
use paceline_units::TimeDelta;

param_set! {
    /// Every constant of LEDBAT. `Default` is RFC 6817.
    pub struct Params {
        target: Time = TimeDelta::from_millis(100), in 1e-3, 0.1, "RFC 6817 2.5 (TARGET)", "Queue delay that it adds at most";
        gain: Ratio = 1.0, in 1e-3, 1.0, "RFC 6817 2.5 (GAIN)", "Gain of the window below the target";
        gain_down: Ratio = 1.0, in 1e-3, 100.0, "RFC 6817 2.5 (GAIN MAY be higher for decrease)", "Gain of the window above the target";
        allowed_increase: Ratio = 1.0, in 1e-3, 100.0, "RFC 6817 2.5 (ALLOWED_INCREASE)", "Packets by which the window may exceed the flight";
        base_history: Count = 10, in 1.0, 60.0, "RFC 6817 2.5 (BASE_HISTORY)", "Minutes whose smallest delays are remembered";
        current_filter: Count = 4, in 1.0, 64.0, "RFC 6817 2.5 (CURRENT_FILTER)", "Delays over which the smallest counts, none older than a round trip";
        init_cwnd: Count = 2, in 1.0, 10.0, "RFC 6817 2.5 (INIT_CWND)", "First window in packets, at most that of the transport";
        min_cwnd: Count = 2, in 1.0, 10.0, "RFC 6817 2.5 (MIN_CWND)", "Smallest window in packets, but for timeouts";
    }
}

/// The named sets of values, the default first.
pub const PROFILES: &[(&str, &str)] = &[("rfc6817", "RFC 6817")];

impl Params {
    /// The named set, if there is one of that name.
    pub fn profile(name: &str) -> Option<Params> {
        (name == "rfc6817").then(Params::default)
    }

    /// Whether the parameters fit each other.
    ///
    /// # Errors
    /// If the window falls more slowly than it grows.
    pub fn validate(&self) -> Result<(), ParamError> {
        if self.gain <= self.gain_down {
            Ok(())
        } else {
            Err(ParamError::Contradiction("gain must not be larger than gain_down".to_string()))
        }
    }
}
