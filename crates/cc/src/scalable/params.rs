//! Scalable TCP's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::{Stack, params};

params! {
    /// Every constant of Scalable TCP. `Default` is Kelly's paper.
    pub struct Params {
        a: f64 = 0.01, in 1e-6, 1.0, "Kelly 2003, section 3 (a)", "Packets more for each packet that is acknowledged";
        b: f64 = 0.125, in 0.0, 0.99, "Kelly 2003, section 3 (b)", "Part of the window that a loss takes";
        lwnd: f64 = 16.0, in 0.0, 1e6, "Kelly 2003, section 3 (legacy window)", "Window in packets up to which it is Reno";
        legacy_decrease: bool = true, "Kelly 2003, section 3; ns-2 as measured (off)", "At the legacy window and below a loss takes half, as from Reno";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "kelly2003": "Kelly 2003: a hundredth of a packet more, an eighth of the window less" => Params::default,
        "linux": "Linux 2.6 as ns-2.35 has it: a fiftieth of a packet more, from 50 packets on", over Stack::Linux => || Params { a: 0.02, lwnd: 50.0, legacy_decrease: false, ..Params::default() },
    }
}
