//! BIC's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::{Stack, params};

params! {
    /// Every constant of BIC. `Default` is the paper.
    pub struct Params {
        low_window: f64 = 14.0, in 1.0, 1e6, "Xu, Harfoush and Rhee 2004, section IV (low_window)", "Window in packets below which it is Reno";
        s_max: f64 = 32.0, in 1e-3, 1e6, "Xu, Harfoush and Rhee 2004, section IV (Smax)", "Most packets by which the window grows in a round trip";
        s_min: f64 = 0.01, in 1e-6, 1e3, "Xu, Harfoush and Rhee 2004, section IV (Smin)", "Least packets by which it grows towards the window of the last loss";
        beta: f64 = 0.125, in 0.0, 0.99, "Xu, Harfoush and Rhee 2004, section IV (beta)", "Part of the window that a loss takes";
        divisor: f64 = 2.0, in 1.0, 100.0, "Xu, Harfoush and Rhee 2004, section III (the middle); Linux has 4", "Part of the way to the window of the last loss that a round trip goes: one over this";
        smooth_part: Option<f64> = None, else "max probing doubles", in 1.0, 1e4, "Linux (20)", "Round trips in which the window crosses as many packets as divisor on each side of the last loss; max probing then grows by the distance over divisor - 1";
        ack_ratio: f64 = 1.0, in 0.1, 100.0, "Linux (delayed_ack); ns-2 as measured has 2", "Factor of all growth: packets that an acknowledgement is taken to cover, where it covers one";
        fast_convergence: bool = true, "Xu, Harfoush and Rhee 2004, section III", "A falling maximum is lowered further: room for others";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    ordered s_min <= s_max;
    profiles {
        "2004": "Xu, Harfoush and Rhee 2004" => Params::default,
        "linux": "Linux 2.6 as ns-2.35 has it: a fifth less, a quarter of the way in a round trip", over Stack::Linux => Params::linux,
    }
}

impl Params {
    /// Values of Linux 2.6; beta is 819/1024 there.
    pub fn linux() -> Params {
        Params { s_max: 16.0, beta: 0.2, divisor: 4.0, smooth_part: Some(20.0), ..Params::default() }
    }
}
