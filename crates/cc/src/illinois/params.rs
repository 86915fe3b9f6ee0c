//! TCP-Illinois's constants by name.

use crate::window::AvoidanceParams;
use paceline_units::params;

params! {
    /// Every constant of TCP-Illinois. `Default` is the paper.
    pub struct Params {
        alpha_min: f64 = 0.3, in 1e-3, 1e3, "Liu, Basar and Srikant 2008, table 1", "Packets in a round trip at the longest queue delay";
        alpha_max: f64 = 10.0, in 1e-3, 1e3, "Liu, Basar and Srikant 2008, table 1", "Packets in a round trip without a queue";
        beta_min: f64 = 0.125, in 0.0, 0.99, "Liu, Basar and Srikant 2008, table 1", "Part of the window that a loss takes without a queue";
        beta_max: f64 = 0.5, in 0.0, 0.99, "Liu, Basar and Srikant 2008, table 1", "Part of the window that a loss takes with a long queue";
        w_thresh: f64 = 10.0, in 0.0, 1e6, "Liu, Basar and Srikant 2008, table 1 (Wthresh); Linux has 15", "Window in packets below which it is Reno";
        eta_1: f64 = 0.01, in 0.0, 1.0, "Liu, Basar and Srikant 2008, table 1", "Queue delay up to which growth is largest, part of the longest";
        eta_2: f64 = 0.1, in 0.0, 1.0, "Liu, Basar and Srikant 2008, table 1", "Queue delay up to which a loss takes least, part of the longest";
        eta_3: f64 = 0.8, in 0.0, 1.0, "Liu, Basar and Srikant 2008, table 1", "Queue delay from which a loss takes most, part of the longest";
        theta: u64 = 5, in 0.0, 1000.0, "Liu, Basar and Srikant 2008, table 1", "Round trips with a short queue after which growth is largest again";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    ordered alpha_min <= alpha_max, beta_min <= beta_max, eta_2 <= eta_3;
    profiles {
        "2008": "Liu, Basar and Srikant 2008" => Params::default,
    }
}
