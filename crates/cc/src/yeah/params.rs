//! YeAH's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::params;

params! {
    /// Every constant of YeAH-TCP. `Default` is the paper with the values of its Linux module.
    pub struct Params {
        q_max: f64 = 80.0, in 0.0, 1e6, "Baiocchi, Castellani and Vacirca 2007 (Qmax, alpha)", "Packets of its own in the queue up to which it is fast";
        phi: f64 = 8.0, in 1.0, 1e6, "Baiocchi, Castellani and Vacirca 2007 (phi)", "Queue delay up to which it is fast: the smallest round trip over this";
        gamma: f64 = 1.0, in 0.1, 1e3, "Baiocchi, Castellani and Vacirca 2007 (gamma)", "Divisor of the queue that early decongestion takes in a round trip";
        epsilon: f64 = 1.0, in 0.0, 30.0, "Baiocchi, Castellani and Vacirca 2007 (epsilon)", "It takes at most the window over 2 to this power";
        delta: f64 = 3.0, in 0.0, 30.0, "Baiocchi, Castellani and Vacirca 2007 (delta)", "A loss takes at least the window over 2 to this power";
        rho: u64 = 16, in 1.0, 1e6, "Baiocchi, Castellani and Vacirca 2007 (rho)", "Rounds in a row in slow mode that tell of greedy rivals: then a loss takes half";
        zeta: u64 = 50, in 1.0, 1e6, "Baiocchi, Castellani and Vacirca 2007 (zeta)", "Rounds in fast mode after which the rivals' window is forgotten";
        a: f64 = 0.01, in 1e-6, 1.0, "Baiocchi, Castellani and Vacirca 2007; Kelly 2003 (a)", "Packets more in fast mode for each that is acknowledged, where that is more than Reno's";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "2007": "Baiocchi, Castellani and Vacirca 2007" => Params::default,
    }
}
