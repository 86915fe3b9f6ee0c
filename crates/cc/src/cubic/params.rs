//! CUBIC's constants by name.

use crate::window::WindowPacing;
use paceline_units::params;

params! {
    /// Every constant of CUBIC. `Default` is RFC 8312.
    pub struct Params {
        c: f64 = 0.4, in 1e-6, 1e6, "RFC 8312 5.1 (C)", "Growth of the window, packets per cubic second";
        beta_cubic: f64 = 0.7, in 0.01, 0.99, "RFC 8312 4.5", "What a loss leaves";
        beta_ecn: f64 = 0.7, in 0.01, 0.99, "RFC 8312 4.5 (as a loss); RFC 8511 has 0.85", "What a mark leaves";
        fast_convergence: bool = true, "RFC 8312 4.6", "A falling W_max is lowered further: room for others";
        tcp_friendliness: bool = true, "RFC 8312 4.2", "No less than Reno would have";
        friendly_from_window: bool = true, "RFC 8312 4.2 with 4.6: which W_max is not said", "What Reno would have starts from the window before the reduction, not from a plateau lowered by fast convergence";
        ssthresh_min: u64 = 2, in 1.0, 1000.0, "RFC 8312 4.5", "Smallest threshold in packets";
        lw: u64 = 1, in 1.0, 1000.0, "RFC 8312 4.7, RFC 5681 3.1 (LW)", "Window after a timeout in packets";
        l: f64 = 1.0, in 0.1, 100.0, "RFC 3465 (L), no text at hand; 1 is RFC 5681 eq. 2", "Most packets that one acknowledgement adds in slow start";
        restart_after_idle: bool = true, "RFC 5681 4.1 (RW)", "A pause of a retransmission timeout takes the window down to the first";
    }
    /// How packets are spaced.
    with pacing: WindowPacing;
    profiles {
        "rfc8312": "RFC 8312" => Params::default,
    }
}
