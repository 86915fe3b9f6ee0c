//! Hybla's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::{TimeDelta, params};

params! {
    /// Every constant of TCP Hybla. `Default` is the paper.
    pub struct Params {
        rtt0: TimeDelta = TimeDelta::from_millis(25), in 1e-6, 10.0, "Caini and Firrincieli 2004 (RTT0)", "Round trip of the connection whose rate is the measure";
        rho_max: f64 = 400.0, in 1.0, 1e4, "ours", "Largest rho: a round trip of 10 s over rtt0";
        beta: f64 = 0.5, in 0.0, 0.99, "Caini and Firrincieli 2004; RFC 5681 eq. 4", "Part of the window that a loss leaves";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "2004": "Caini and Firrincieli 2004" => Params::default,
    }
}
