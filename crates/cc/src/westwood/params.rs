//! Westwood+'s constants by name.

use crate::window::AvoidanceParams;
use paceline_units::{TimeDelta, params};

params! {
    /// Every constant of Westwood+. `Default` is the paper's.
    pub struct Params {
        filter: f64 = 0.875, in 0.0, 0.9999, "Grieco and Mascolo 2004 (alpha, 7/8)", "Weight of the past in the bandwidth estimate, for each sample";
        least_interval: TimeDelta = TimeDelta::from_millis(50), in 0.0, 10.0, "Grieco and Mascolo 2004 (50 ms)", "Least time over which a bandwidth sample is taken; else a round trip";
    }
    /// Constants of all laws of this kind.
    with avoidance: AvoidanceParams;
    profiles {
        "2004": "Grieco and Mascolo 2004" => Params::default,
    }
}
