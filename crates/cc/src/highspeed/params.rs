//! HighSpeed TCP's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::{Stack, params};

params! {
    /// Every constant of HighSpeed TCP. `Default` is RFC 3649.
    pub struct Params {
        low_window: f64 = 38.0, in 1.0, 1e6, "RFC 3649 5 (Low_Window)", "Window in packets up to which it is Reno";
        high_window: f64 = 83_000.0, in 2.0, 1e9, "RFC 3649 5 (High_Window)", "Window in packets at high_p";
        low_p: f64 = 1e-3, in 1e-9, 1.0, "RFC 3649 5 (Low_P)", "Loss ratio at low_window";
        high_p: f64 = 1e-7, in 1e-15, 1.0, "RFC 3649 5 (High_P)", "Loss ratio at high_window";
        high_decrease: f64 = 0.1, in 1e-3, 0.5, "RFC 3649 5 (High_Decrease)", "Part of the window that a loss takes at high_window and above";
        whole_increase: bool = false, "RFC 3649 B (a table in whole packets); ns-2 as measured", "a(w) is rounded up to whole packets";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    ordered low_window <= high_window, high_p <= low_p;
    profiles {
        "rfc3649": "RFC 3649" => Params::default,
        "linux": "The table in whole packets of Linux 2.6, as ns-2.35 has it", over Stack::Linux => || Params { whole_increase: true, ..Params::default() },
    }
}
