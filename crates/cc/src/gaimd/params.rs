//! GAIMD's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::params;

params! {
    /// Every constant of GAIMD. `Default` is the pair that the paper proposes.
    pub struct Params {
        alpha: f64 = 0.31, in 1e-6, 1e6, "Yang and Lam 2000 (alpha; 0.31 with beta 7/8)", "Packets more in a round trip";
        beta: f64 = 0.875, in 0.0, 0.999, "Yang and Lam 2000 (beta)", "Part of the window that a loss leaves";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "yang-lam": "Yang and Lam 2000: 0.31 of a packet more, an eighth of the window less" => Params::default,
        "reno": "A packet more and half of the window less, as Reno" => || Params { alpha: 1.0, beta: 0.5, ..Params::default() },
    }
}
