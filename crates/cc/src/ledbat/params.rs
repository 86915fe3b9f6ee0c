//! LEDBAT's constants by name.

use paceline_units::TimeDelta;
use paceline_units::params;

params! {
    /// Every constant of LEDBAT. `Default` is RFC 6817.
    pub struct Params {
        target: TimeDelta = TimeDelta::from_millis(100), in 1e-3, 0.1, "RFC 6817 2.5 (TARGET)", "Queue delay that it adds at most";
        gain: f64 = 1.0, in 1e-3, 1.0, "RFC 6817 2.5 (GAIN)", "Gain of the window below the target";
        gain_down: f64 = 1.0, in 1e-3, 100.0, "RFC 6817 2.5 (GAIN MAY be higher for decrease)", "Gain of the window above the target";
        allowed_increase: f64 = 1.0, in 1e-3, 100.0, "RFC 6817 2.5 (ALLOWED_INCREASE)", "Packets by which the window may exceed the flight";
        base_history: u64 = 10, in 1.0, 60.0, "RFC 6817 2.5 (BASE_HISTORY)", "Minutes whose smallest delays are remembered";
        current_filter: u64 = 4, in 1.0, 64.0, "RFC 6817 2.5 (CURRENT_FILTER)", "Delays over which the smallest counts, none older than a round trip";
        skew_compensation: bool = true, "RFC 6817 A.2; Moon, Skelly and Towsley 1999", "Skew and steps of the receiver's clock are taken out of one-way delays";
        init_cwnd: u64 = 2, in 1.0, 10.0, "RFC 6817 2.5 (INIT_CWND)", "First window in packets, at most that of the transport";
        min_cwnd: u64 = 2, in 1.0, 10.0, "RFC 6817 2.5 (MIN_CWND)", "Smallest window in packets, but for timeouts";
    }
    ordered gain <= gain_down;
    profiles {
        "rfc6817": "RFC 6817" => Params::default,
    }
}
